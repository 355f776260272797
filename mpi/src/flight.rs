//! Messages that are under way while the program continues, and the check for the thread that may call MPI.
//!
//! The only file with unsafe code.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use mpi::Rank;
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination};

/// Bytes that MPI sends, kept alive until it has sent them.
pub(crate) struct Flight {
    /// The request, until it is complete.
    request: Option<ManuallyDrop<Request<'static, [u8]>>>,
    bytes: NonNull<[u8]>,
}

impl Flight {
    /// Starts to send bytes to a rank.
    pub(crate) fn start(through: &SimpleCommunicator, to: Rank, tag: i32, bytes: Vec<u8>) -> Self {
        let bytes = NonNull::from(Box::leak(bytes.into_boxed_slice()));
        // SAFETY: the bytes lie on the heap until `arrive` frees them, which it does when MPI is done with them, and
        // nobody writes to them. A flight that is dropped before leaks them.
        let sent: &'static [u8] = unsafe { bytes.as_ref() };
        let request = through.process_at_rank(to).immediate_send_with_tag(StaticScope, sent, tag);
        Self { request: Some(ManuallyDrop::new(request)), bytes }
    }

    /// Returns true if the message has left, and frees its bytes then.
    pub(crate) fn has_left(&mut self) -> bool {
        let Some(request) = self.request.take() else { return true };
        match ManuallyDrop::into_inner(request).test() {
            Ok(_) => {
                // SAFETY: the pointer comes from a box. The request was the only one to use it, and is complete and
                // gone; it was in `request` until now, so this happens once.
                drop(unsafe { Box::from_raw(self.bytes.as_ptr()) });
                true
            }
            Err(request) => {
                self.request = Some(ManuallyDrop::new(request));
                false
            }
        }
    }
}

/// Returns true if this is the thread that initialized MPI, which must have been initialized.
pub(crate) fn is_the_thread() -> bool {
    let mut flag = 0;
    // SAFETY: it writes to `flag`, and nothing else.
    unsafe { mpi::ffi::MPI_Is_thread_main(&raw mut flag) };
    flag != 0
}
