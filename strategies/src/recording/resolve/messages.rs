//! Panics for statements that cannot be recorded.

use crate::identifier::RecordingId;

#[cold]
#[track_caller]
pub(crate) fn stale_comparison(number: RecordingId) -> ! {
    panic!(
        "a comparison has a variable of recording {number}, which is not active on this thread, so that a replay could not tell how \
         it would come out (renew the variable if it is of an earlier part of the recording, or compare its value)"
    )
}

#[cold]
#[track_caller]
pub(crate) fn paused(number: RecordingId) -> ! {
    panic!("recording {number} is paused: it cannot be given inputs, marks or external functions before it goes on")
}

#[cold]
#[track_caller]
pub(crate) fn undeclared(number: RecordingId) -> ! {
    panic!(
        "a stage uses a variable of recording {number} that is not among its inputs: what a stage depends on must be \
         declared as an input, or its derivative would be lost (use the variable's value to treat it as a constant)"
    )
}

#[cold]
#[track_caller]
pub(crate) fn in_use(number: RecordingId) -> ! {
    panic!(
        "the tape of recording {number} is in use: a rule must not record on the tape that is being written (rules compute \
         with numbers)"
    )
}

#[cold]
#[track_caller]
pub(crate) fn two_recordings(a: RecordingId, b: RecordingId) -> ! {
    panic!(
        "this statement has variables of two recordings, {a} and {b}: every active variable of a statement must come \
         from the same recording"
    )
}

#[cold]
#[track_caller]
pub(crate) fn not_active(number: RecordingId, innermost: RecordingId) -> ! {
    let now = if innermost == RecordingId::NONE {
        String::from("no recording is active on this thread")
    } else {
        format!("the innermost recording on this thread is {innermost}")
    };
    panic!(
        "this statement has a variable of recording {number}, which is not active on this thread: it has finished, was \
         reset, or belongs to another thread or strategy ({now})"
    )
}
