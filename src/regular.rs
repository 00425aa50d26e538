//! Regular files, opened by name without waiting for what is none: opening a FIFO waits for its writer, and a device never ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

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
