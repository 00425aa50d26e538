//! Regular files, opened by name without waiting for what is none: opening a FIFO waits for its writer, and a device never ends. And written, all
//! of them or nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Opens a regular file; none if there is something else. A directory is opened too, where that can be, and says itself that it cannot be read.
///
/// # Errors
/// What the system refuses.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = match options.open(path) {
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => return Ok(None), // a socket
        opened => opened?,
    };
    let kind = file.metadata()?.file_type();
    Ok((kind.is_file() || kind.is_dir()).then_some(file))
}

/// Writes a file, all of it or nothing. One that is there is replaced; a link, which may lead anywhere, and what is no file are not.
///
/// # Errors
/// What the system refuses, and something else in the way.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Its own words would name the new file, which nobody has heard of.
    let new = beside(directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("there is no such directory"),
        kind => kind.into(),
    })?;
    match path.symlink_metadata() {
        Ok(old) if old.is_symlink() => return Err(io::Error::other("it is a link")),
        Ok(old) if old.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(old) if !old.is_file() => return Err(io::Error::other("it is not a regular file")),
        Ok(old) if old.permissions().readonly() => return Err(io::Error::other("it is read-only")),
        Ok(old) => std::fs::set_permissions(new.path(), old.permissions())?, // what others may not read, they may not read now
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    std::fs::write(new.path(), text)?;
    new.persist(path)?;
    Ok(())
}

/// A new file that is to take another's place: others may read it as they may read any new file.
///
/// # Errors
/// What the system refuses.
pub fn beside(directory: &Path) -> io::Result<NamedTempFile> {
    let builder = &mut tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less what the user's umask takes away
    builder.tempfile_in(directory)
}
