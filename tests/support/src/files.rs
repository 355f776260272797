//! The file that has no name: where it was made, and where it can be reached while it is open.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory of its own for a test, removed at its end.
#[derive(Debug)]
pub struct Directory(pub PathBuf);

impl Directory {
    /// A new one, of this test and process.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    #[must_use]
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tapewright-faults-{test}-{}", std::process::id()));
        fs::create_dir(&path).expect("a new directory");
        Self(path)
    }

    /// The number of files in it.
    ///
    /// # Panics
    ///
    /// If it is gone.
    #[must_use]
    pub fn entries(&self) -> usize {
        fs::read_dir(&self.0).expect("a directory").count()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).expect("an empty directory of this test");
    }
}

/// The descriptors of `process` for files that were in `directory`, as paths below `/proc`; none where there is no
/// `/proc`.
#[must_use]
pub fn open_files(process: u32, directory: &Path) -> Vec<PathBuf> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let paths = descriptors.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| fs::read_link(path).is_ok_and(|file| file.starts_with(directory))).collect()
}
