//! The speed of the bare disk: slab-sized writes, and slab-sized reads from the end, past the page cache where the
//! system lets us.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

const PAGE: usize = 4096;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
const O_DIRECT: i32 = 0o200_000;
#[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
const O_DIRECT: i32 = 0o40_000;

/// Bytes per second.
#[derive(Clone, Copy)]
pub(super) struct Rates {
    pub(super) write: f64,
    pub(super) read: f64,
}

impl Rates {
    pub(super) fn median(rates: &[Self]) -> Self {
        let of = |pick: fn(&Self) -> f64| tapewright_test_support::median(rates.iter().map(pick).collect());
        Self { write: of(|rates| rates.write), read: of(|rates| rates.read) }
    }
}

/// Writes a file of so many bytes in slabs, and reads it backwards.
pub(super) fn rates(directory: &Path, slab: usize, bytes: usize) -> io::Result<Rates> {
    let path = directory.join(format!("tapewright-disk-{}", std::process::id()));
    let open =
        |flags| OpenOptions::new().read(true).write(true).create(true).truncate(true).custom_flags(flags).open(&path);
    let file = open(O_DIRECT).or_else(|_| open(0))?;
    std::fs::remove_file(&path)?;
    let mut memory = vec![1_u8; slab + PAGE];
    let aligned = memory.as_ptr().align_offset(PAGE);
    let buffer = &mut memory[aligned..aligned + slab];
    let slabs = bytes.div_ceil(slab).max(1);
    let start = Instant::now();
    for k in 0..slabs {
        file.write_all_at(buffer, (k * slab) as u64)?;
    }
    let written = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for k in (0..slabs).rev() {
        file.read_exact_at(buffer, (k * slab) as u64)?;
    }
    let read = start.elapsed().as_secs_f64();
    let bytes = (slabs * slab) as f64;
    Ok(Rates { write: bytes / written, read: bytes / read })
}
