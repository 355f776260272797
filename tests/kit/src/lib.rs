//! Storage for the tests of this package.

use tapewright::{SpillDefaults, SpillOptions};

/// Slabs of 4 KiB, and memory for 16 of them: every recording of more than a few statements goes to disk.
#[derive(Clone, Copy, Debug)]
pub struct FewPages;
impl SpillDefaults for FewPages {
    fn options() -> SpillOptions {
        SpillOptions::default().slab(4096).memory(16 * 4096)
    }
}
