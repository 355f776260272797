//! A file without a name, read and written at offsets by several threads.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::fs::File;
use std::io;
use std::path::Path;

/// Early end of a transfer: the bytes transferred, and the error, or `None` if the file ends there.
pub(crate) type Stopped = (usize, Option<io::Error>);

/// A file that disappears when it is dropped, and when the process dies.
///
/// Where the file system allows it, transfers bypass the page cache: slabs are written once and read at most a few
/// times, much later. This requires addresses, lengths and offsets that are multiples of the page, as those of blocks
/// are.
pub(crate) struct Disk {
    through_cache: File,
    direct: Option<File>,
    /// True if the file system accepted the flag, but refused a transfer.
    direct_refused: AtomicBool,
    #[cfg(not(unix))]
    cursor: std::sync::Mutex<()>,
}

impl Disk {
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        let through_cache = platform::create(directory)?;
        Ok(Self {
            direct: platform::reopen_direct(&through_cache),
            through_cache,
            direct_refused: AtomicBool::new(false),
            #[cfg(not(unix))]
            cursor: std::sync::Mutex::new(()),
        })
    }

    /// Makes all further transfers go through the page cache.
    pub(crate) fn use_cache(&mut self) {
        self.direct = None;
    }

    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Stopped> {
        self.transfer(bytes.len(), |file, done| self.write_at(file, &bytes[done..], offset + done as u64))
    }

    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Stopped> {
        self.transfer(bytes.len(), |file, done| self.read_at(file, &mut bytes[done..], offset + done as u64))
    }

    /// Calls `some(file, bytes done)`, which transfers some bytes, until all are done.
    fn transfer(&self, bytes: usize, mut some: impl FnMut(&File, usize) -> io::Result<usize>) -> Result<(), Stopped> {
        let mut done = 0;
        while done < bytes {
            // The rest of an incomplete transfer may start at an address that only the page cache accepts.
            let direct = self.direct.as_ref().filter(|_| done == 0 && !self.direct_refused.load(Relaxed));
            match some(direct.unwrap_or(&self.through_cache), done) {
                Ok(0) => return Err((done, None)),
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if direct.is_some() && error.kind() == io::ErrorKind::InvalidInput => {
                    self.direct_refused.store(true, Relaxed);
                }
                Err(error) => return Err((done, Some(error))),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
impl Disk {
    #[allow(clippy::unused_self, reason = "elsewhere, files have one position, which `self` guards")]
    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(file, bytes, offset)
    }

    #[allow(clippy::unused_self, reason = "elsewhere, files have one position, which `self` guards")]
    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(file, bytes, offset)
    }
}

#[cfg(not(unix))]
impl Disk {
    fn write_at(&self, mut file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        use io::{Seek as _, Write as _};
        let _cursor = self.cursor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(io::SeekFrom::Start(offset))?;
        file.write(bytes)
    }

    fn read_at(&self, mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        use io::{Read as _, Seek as _};
        let _cursor = self.cursor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(io::SeekFrom::Start(offset))?;
        file.read(bytes)
    }
}

mod platform {
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::path::Path;

    /// Flags of `open` as `(O_TMPFILE, O_DIRECT)`, which depend on the processor.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const FLAGS: Option<(i32, i32)> = if cfg!(miri) {
        // Miri stops at flags that it does not know.
        None
    } else if cfg!(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "riscv32",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "s390x"
    )) {
        Some((0o20_200_000, 0o40_000))
    } else if cfg!(any(target_arch = "aarch64", target_arch = "arm")) {
        Some((0o20_040_000, 0o200_000))
    } else if cfg!(any(target_arch = "powerpc", target_arch = "powerpc64")) {
        Some((0o20_040_000, 0o400_000))
    } else {
        None
    };

    /// Creates a file without a name, or if the system cannot, one whose name is removed immediately.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn create(directory: &Path) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let unnamed = FLAGS.and_then(|(tmpfile, _)| {
            OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(tmpfile).open(directory).ok()
        });
        // Not every file system supports unnamed files; any other error occurs again with the named one.
        unnamed.map_or_else(|| create_named(directory), Ok)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn create(directory: &Path) -> io::Result<File> {
        create_named(directory)
    }

    /// Opens the same file again for transfers that bypass the page cache; `None` if the system cannot.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn reopen_direct(file: &File) -> Option<File> {
        use std::os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _};
        let (_, direct) = FLAGS?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        OpenOptions::new().read(true).write(true).custom_flags(direct).open(path).ok()
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn reopen_direct(_: &File) -> Option<File> {
        None
    }

    fn create_named(directory: &Path) -> io::Result<File> {
        static CREATED: AtomicU64 = AtomicU64::new(0);
        let mut attempts = 0;
        loop {
            // A process with the same id may have died before it removed its file, on a system that needs a name.
            let name = format!(".tapewright-{}-{}", std::process::id(), CREATED.fetch_add(1, Relaxed));
            match create_and_forget(&directory.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < 1000 => attempts += 1,
                result => return result,
            }
        }
    }

    #[cfg(unix)]
    fn create_and_forget(path: &Path) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        std::fs::remove_file(path)?;
        Ok(file)
    }

    #[cfg(windows)]
    fn create_and_forget(path: &Path) -> io::Result<File> {
        use std::os::windows::fs::OpenOptionsExt as _;
        const FILE_ATTRIBUTE_TEMPORARY: u32 = 0x100;
        const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
        let flags = FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE;
        OpenOptions::new().read(true).write(true).create_new(true).share_mode(0).custom_flags(flags).open(path)
    }

    #[cfg(not(any(unix, windows)))]
    fn create_and_forget(path: &Path) -> io::Result<File> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        std::fs::remove_file(path)?;
        Ok(file)
    }

    #[cfg(all(test, unix))]
    mod tests {
        use super::{create_named, io};

        #[test]
        fn c19_a_named_file_is_gone_from_its_directory_at_once() {
            let directory = std::env::temp_dir().join(format!("tapewright-named-{}", std::process::id()));
            std::fs::create_dir(&directory).expect("a new directory");
            let file = create_named(&directory).expect("a new file");
            std::os::unix::fs::FileExt::write_all_at(&file, b"kept", 0).expect("room for four bytes");
            assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 0);
            std::fs::remove_dir(&directory).expect("an empty directory");
            assert_eq!(create_named(&directory).expect_err("no directory").kind(), io::ErrorKind::NotFound);
        }
    }
}
