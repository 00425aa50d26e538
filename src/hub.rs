//! Fetching models from the hub: the only thing here that uses the network by itself, and only when asked.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hf_hub::Cache;
use hf_hub::api::sync::{ApiBuilder, ApiError};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, quote, shorten};

/// What a pruner needs.
const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];
/// Before each attempt after a connection broke.
const PAUSES: [Duration; 3] = [Duration::from_millis(300), Duration::from_secs(1), Duration::from_secs(3)];
/// The published checkpoint.
const SWE_PRUNER: &str = "ayanami-kitasan/code-pruner";

/// Which model to fetch, and from where.
#[derive(Debug, Clone)]
pub struct Request {
    /// `swe-pruner`, or a repository of the hub, `owner/name`.
    pub model: String,
    /// The hub, if not the one in HF_ENDPOINT or the public one.
    pub endpoint: Option<String>,
    /// Where models are kept, if not in HF_HOME or the hub's own cache, where Python's tools find them too.
    pub cache: Option<PathBuf>,
    /// Whether to draw a progress bar on stderr.
    pub progress: bool,
}

/// Fetches a model, or what is missing of it, and returns the directory to give as `--model`.
///
/// # Errors
/// A hub that cannot be reached or lacks the model, a file that is not what the hub said, a full disk: in one sentence.
pub fn pull(request: &Request) -> Result<PathBuf> {
    let repository = if request.model == "swe-pruner" { SWE_PRUNER } else { &request.model };
    if repository.split('/').filter(|part| !part.is_empty()).count() != 2 {
        let message = format!("{} is not a model; give swe-pruner, or a repository of the hub such as {SWE_PRUNER}.", quote(repository));
        return Err(Error::bad_argument(message));
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut api = match &request.cache {
        Some(cache) => ApiBuilder::from_cache(Cache::new(cache.clone())),
        None if variable("HF_HOME").is_some() || std::env::home_dir().is_some() => ApiBuilder::from_env(),
        None => return Err(Error::bad_argument("There is no home directory to keep models in; give --cache DIR.")),
    };
    if let Some(endpoint) = request.endpoint.clone().or_else(|| variable("HF_ENDPOINT")) {
        api = api.with_endpoint(endpoint.trim_end_matches('/').to_owned());
    }
    if let Some(token) = variable("HF_TOKEN") {
        api = api.with_token(Some(token));
    }
    // Its own retries append to what they have already written.
    let api = api.with_progress(request.progress).with_retries(0).build().map_err(|error| failed(repository, &error.to_string()))?;
    let repo = api.model(repository.to_owned());
    // Twice, as files that were there before may be those of an earlier version than the one that was fetched now.
    let mut directory = PathBuf::new();
    for _ in 0..2 {
        for file in FILES {
            let path = patiently(|| repo.get(file)).map_err(|error| failed(repository, &explain(file, &error)))?;
            verify(&path).map_err(|problem| failed(repository, &format!("{file} {problem}")))?;
            directory = path.parent().unwrap_or(Path::new(".")).to_owned();
        }
        if FILES.iter().all(|file| directory.join(file).exists()) {
            return Ok(directory);
        }
    }
    Err(failed(repository, &format!("its files are of different versions in {}", quote(&directory.display().to_string()))))
}

/// Tries again where a connection broke, each time from where the last one ended.
fn patiently<T>(get: impl Fn() -> std::result::Result<T, ApiError>) -> std::result::Result<T, ApiError> {
    let broke = |error: &ApiError| match error {
        ApiError::RequestError(error) => !matches!(**error, ureq::Error::StatusCode(_) | ureq::Error::HostNotFound),
        ApiError::IoError(error) => error.kind() != io::ErrorKind::StorageFull,
        _ => false,
    };
    let mut pauses = PAUSES.iter();
    loop {
        match (get(), pauses.next()) {
            (Err(error), Some(pause)) if broke(&error) => std::thread::sleep(*pause),
            (done, _) => return done,
        }
    }
}

fn failed(repository: &str, problem: &str) -> Error {
    Error::failed(format!(
        "{} could not be fetched: {}; fetched by other means, its {} in one directory will do, given as --model DIR.",
        quote(repository),
        shorten(problem),
        FILES.join(", ")
    ))
}

fn explain(file: &str, error: &ApiError) -> String {
    match error {
        ApiError::RequestError(error) => match **error {
            ureq::Error::StatusCode(404) => format!("the hub has no {file} of it"),
            ureq::Error::StatusCode(401 | 403) => format!("the hub wants a token for {file} (HF_TOKEN)"),
            ref error => format!("the hub cannot be reached ({error})"),
        },
        ApiError::IoError(error) if error.kind() == io::ErrorKind::StorageFull => {
            format!("the disk is full, and {file} goes on from here next time")
        }
        ApiError::IoError(error) => format!("{file} broke off ({error}), and goes on from here next time"),
        error => format!("{file}: {error}"),
    }
}

/// Large files are kept under their SHA-256: one that has another is removed, so that it is fetched again.
fn verify(path: &Path) -> std::result::Result<(), String> {
    let blob = path.canonicalize().map_err(|error| format!("could not be found again ({error})"))?;
    let name = blob.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    let mut hash = Sha256::new();
    File::open(&blob)
        .and_then(|mut file| io::copy(&mut file, &mut HashWriter(&mut hash)))
        .map_err(|error| format!("could not be read again ({error})"))?;
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == name.to_lowercase() {
        return Ok(());
    }
    let removed = std::fs::remove_file(path).and_then(|()| std::fs::remove_file(&blob));
    Err(format!("is not what the hub announced (its SHA-256 is {found}){}", if removed.is_ok() { " and was removed" } else { "" }))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
