//! Compiled programs in files, for the processes that follow.

use super::driver::DeviceError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// First bytes of each file; another number for another form of files or of sources.
const FORM: &[u8] = b"tapewright program 1\n";

/// Folder with compiled programs, which several processes may use at once.
///
/// A file has the [form](FORM), the identity of the compiler and the device, the source and the code, each after its
/// length, and then a checksum of all that. So a file that is cut off, damaged, or of another device is no program.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder that the environment variable `TAPEWRIGHT_PROGRAMS` names.
    pub(super) fn of_environment() -> Result<Option<Self>, DeviceError> {
        let named = std::env::var_os("TAPEWRIGHT_PROGRAMS").filter(|path| !path.is_empty());
        named.map(|path| Self::new(Path::new(&path))).transpose()
    }

    /// Makes the folder, if there is none, and checks that files can be written there.
    pub(super) fn new(path: &Path) -> Result<Self, DeviceError> {
        let folder = Self { path: path.to_owned() };
        let written = fs::create_dir_all(path).and_then(|()| {
            let file = folder.own_file();
            fs::write(&file, FORM).and_then(|()| fs::remove_file(&file))
        });
        written
            .map_err(|error| DeviceError::Folder { folder: path.display().to_string(), reason: error.to_string() })?;
        Ok(folder)
    }

    /// A file that nobody else writes.
    fn own_file(&self) -> PathBuf {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        self.path.join(format!("{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    fn file(&self, head: &[u8]) -> PathBuf {
        self.path.join(format!("{:016x}.program", checksum(head)))
    }

    /// Returns the code of a program, if it is there.
    pub(super) fn read(&self, identity: &str, source: &str) -> Option<Vec<u8>> {
        let head = head(identity, source);
        let file = fs::read(self.file(&head)).ok()?;
        let (content, sum) = file.split_last_chunk()?;
        let (length, code) = content.strip_prefix(&*head)?.split_first_chunk()?;
        let is_whole = u64::from_le_bytes(*sum) == checksum(content) && *length == length_of(code);
        is_whole.then(|| code.to_owned())
    }

    /// Writes the code of a program, in the place of the file that is there: all of it, or nothing.
    pub(super) fn write(&self, identity: &str, source: &str, code: &[u8]) -> io::Result<()> {
        let mut content = head(identity, source);
        let (file, own) = (self.file(&content), self.own_file());
        content.extend(length_of(code));
        content.extend(code);
        content.extend(checksum(&content).to_le_bytes());
        let written = fs::write(&own, content).and_then(|()| fs::rename(&own, file));
        if written.is_err() {
            _ = fs::remove_file(&own);
        }
        written
    }
}

/// What a file begins with.
fn head(identity: &str, source: &str) -> Vec<u8> {
    let mut head = FORM.to_vec();
    for part in [identity, source] {
        head.extend(length_of(part.as_bytes()));
        head.extend(part.as_bytes());
    }
    head
}

fn length_of(bytes: &[u8]) -> [u8; 8] {
    (bytes.len() as u64).to_le_bytes()
}

/// The digest FNV-1a: one changed byte always changes it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{DeviceError, Folder};
    use std::fs;
    use std::path::PathBuf;

    /// A folder that is removed at the end.
    struct Own(PathBuf);

    impl Own {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("tapewright-{name}-{}", std::process::id())))
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn damaged_and_foreign_files_are_no_programs_and_are_replaced() {
        let own = Own::new("damaged");
        let folder = Folder::new(&own.0.join("inside")).expect("a folder");
        assert_eq!(folder.read("card", "text"), None);
        folder.write("card", "text", b"code").expect("written");
        assert_eq!(folder.read("card", "text").expect("there"), b"code");
        for (identity, source) in [("car", "dtext"), ("card", "texts"), ("another", "text"), ("", "cardtext")] {
            assert_eq!(folder.read(identity, source), None, "{identity} {source}");
        }
        let file = fs::read_dir(&folder.path).expect("a folder").next().expect("a file").expect("an entry").path();
        let whole = fs::read(&file).expect("bytes");
        let mut broken: Vec<Vec<u8>> = (0..whole.len()).map(|length| whole[..length].to_vec()).collect();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            broken.push(changed);
        }
        broken.push([&*whole, b"more"].concat());
        for content in broken {
            fs::write(&file, &content).expect("written");
            assert_eq!(folder.read("card", "text"), None, "{content:?}");
        }
        folder.write("card", "text", b"").expect("written");
        assert_eq!(folder.read("card", "text").expect("there"), b"");
        assert_eq!(fs::read_dir(&folder.path).expect("a folder").count(), 1, "nothing is left behind");
    }

    #[test]
    fn threads_write_and_read_whole_files() {
        let own = Own::new("threads");
        let folder = Folder::new(&own.0).expect("a folder");
        std::thread::scope(|scope| {
            for k in 0..4_u8 {
                let folder = &folder;
                scope.spawn(move || {
                    for length in 0..50 {
                        folder.write("card", "text", &vec![k; length * 97]).expect("written");
                        let found = folder.read("card", "text").expect("a whole file");
                        assert!(found.iter().all(|byte| *byte == found[0]));
                    }
                });
            }
        });
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let own = Own::new("no-folder");
        fs::write(&own.0, "a file").expect("written");
        let error = Folder::new(&own.0).expect_err("a file");
        _ = fs::remove_file(&own.0);
        assert!(matches!(&error, DeviceError::Folder { folder, .. } if folder.contains("no-folder")), "{error}");
        assert!(error.to_string().contains("TAPEWRIGHT_PROGRAMS"), "{error}");
    }
}
