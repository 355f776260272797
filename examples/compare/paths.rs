//! Files and directories of the request, tried before anything is measured.

use crate::cli::Request;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::path::Path;
use tapewright::storage::{SpillOptions, StorageError};
use tapewright::{Error, Jacobian, Linear, Spilled, Tape};

/// Fails, and names the option, if a file cannot be written or a directory cannot hold the files of spilled tapes.
pub(crate) fn check(request: &Request) -> Result<(), String> {
    for (option, path) in [("--csv", &request.csv), ("--svg", &request.svg)] {
        if let Some(path) = path {
            let opened = OpenOptions::new().create(true).append(true).open(path);
            opened.map_err(|error| refused(option, path, &error))?;
        }
    }
    if !request.strategies.iter().any(|strategy| strategy.is_spilled()) {
        return Ok(());
    }
    let options = SpillOptions::default().directory(&request.directory);
    match Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options) {
        Ok(_) => Ok(()),
        Err(Error::Storage(StorageError::Io { text, .. })) => Err(refused("--directory", &request.directory, &text)),
        Err(error) => Err(refused("--directory", &request.directory, &error)),
    }
}

/// The message for a path that cannot be used.
pub(crate) fn refused(option: &str, path: &Path, why: &dyn Display) -> String {
    format!("{option} {}: {why}", path.display())
}
