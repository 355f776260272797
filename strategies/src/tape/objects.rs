//! Objects of users that records hold, and that have to be dropped.

use crate::MemoryUsage;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The objects in records that have to be dropped, in the order of the records: each once, until it is taken out to be
/// dropped. All are taken out before anything is written over them.
#[derive(Default)]
pub(super) struct Objects(pub(super) Vec<Object>);

/// One of them.
pub(super) struct Object {
    pub(super) at: *mut u8,
    /// # Safety
    ///
    /// The object lies there, and nobody uses it any more.
    pub(super) drop: unsafe fn(*mut u8),
}

impl Objects {
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) const fn memory(&self) -> MemoryUsage {
        MemoryUsage::of_vec(&self.0)
    }

    /// Drops all but the first `kept`; all of them, also when some panic.
    pub(super) fn truncate(&mut self, kept: usize) {
        let mut panics = Vec::new();
        while self.0.len() > kept
            && let Some(Object { at, drop }) = self.0.pop()
        {
            // SAFETY: the object was moved there when it was listed, nothing has been written over it since, and as it
            // is listed no more, it is dropped once.
            panics.extend(catch_unwind(AssertUnwindSafe(|| unsafe { drop(at) })).err());
        }
        // While unwinding, a second panic would abort.
        if let Some(panic) = panics.pop()
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.truncate(0);
    }
}
