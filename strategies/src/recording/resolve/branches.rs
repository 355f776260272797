//! Branches that may have hidden a derivative, noted in the recordings of their arguments.

use crate::contract::Branch;
use crate::identifier::RecordingId;
use crate::policy::Policy;
use crate::recording::current::branch_report::HiddenBranches;
use crate::recording::current::list::{OwnedTape, change_state, lend, look};
use crate::singular::refuses_singular;
use crate::{Reverse, SweepError, Taping};
use core::cell::Cell;
use core::panic::Location;
use smallvec::SmallVec;

type Here = &'static Location<'static>;

thread_local! {
    /// Branches noted since the innermost [`hidden_branches`] of this thread began.
    static HEARD: Cell<HiddenBranches> = const { Cell::new(HiddenBranches::NONE) };
}

/// Runs `f` and returns the branches on this thread that may have hidden derivatives meanwhile, in all recordings and
/// in forward mode. Works with every function that computes derivatives.
///
/// Branches on other threads are not included. If `f` panics, the branches before the panic count for an outer call.
pub fn hidden_branches<R>(f: impl FnOnce() -> R) -> (R, HiddenBranches) {
    struct Restore(HiddenBranches);
    impl Drop for Restore {
        fn drop(&mut self) {
            let mut all = self.0;
            all.append(HEARD.get());
            HEARD.set(all);
        }
    }
    let restore = Restore(HEARD.replace(HiddenBranches::NONE));
    let result = f();
    let heard = HEARD.get();
    drop(restore);
    (result, heard)
}

/// Notes a comparison in each recording of strategy `S` on this thread that has a variable in it and is not paused.
/// `number` returns the recording of an identifier. Variables of other recordings are constants to a recording.
#[cold]
#[inline(never)]
pub fn note_branch<S: Reverse>(branch: &Branch<'_, S::Value, S::Raw>, number: impl Fn(S::Raw) -> RecordingId) {
    let sides = branch.leaves.map(|side| side.iter().map(|id| number(*id)).collect::<SmallVec<[RecordingId; 4]>>());
    let mut numbers: SmallVec<[RecordingId; 4]> = SmallVec::new();
    for number in sides.iter().flatten() {
        if *number != RecordingId::NONE && !numbers.contains(number) {
            numbers.push(*number);
        }
    }
    for number in numbers {
        if look(number, &[]).is_none_or(|seen| seen.paused) {
            continue;
        }
        S::Policy::tracing(|| trace::<S>(number, branch));
        if branch.hides([0, 1].map(|side: usize| sides[side].contains(&number))) {
            note_hidden::<S>(number, branch.location);
        }
    }
}

fn note_hidden<S: Reverse>(number: RecordingId, here: Here) {
    let statement = || {
        let last = || lend::<S, _>(number, false, |_, externals| externals.notes()?.last_own()).flatten();
        S::Policy::tracing(last).flatten()
    };
    let statement = statement();
    change_state(number, |state| state.branches.note(here, || statement));
    hear(here, statement);
}

fn hear(here: Here, statement: Option<Here>) {
    let mut heard = HEARD.get();
    heard.note(here, || statement);
    HEARD.set(heard);
}

/// Notes source location and margin of a comparison of an active value.
fn trace<S: Reverse>(number: RecordingId, branch: &Branch<'_, S::Value, S::Raw>) {
    let (here, margin) = (branch.location, branch.margin());
    lend::<S, _>(number, false, |_, externals| externals.notes_mut().note_branch(here, margin));
}

/// Notes a comparison in forward mode; `moves` is true for each side that carries tangents.
///
/// # Panics
///
/// When it may have hidden a derivative and the policy is [`Checked`](crate::Checked).
#[cold]
#[inline(never)]
pub(crate) fn note_moving_branch<S: Taping>(branch: &Branch<'_, S::Value, S::Raw>, active: [bool; 2]) {
    if !branch.hides(active) {
        return;
    }
    hear(branch.location, None);
    if refuses_singular::<S>() {
        let (file, line) = (branch.location.file().to_owned(), branch.location.line());
        panic!("{}", SweepError::HiddenBranch { file, line, statement: None });
    }
}

impl<S: Reverse> OwnedTape<S> {
    /// Returns the comparisons of the recording that may have hidden a derivative. A replay does not change them.
    #[must_use]
    pub fn hidden_branches(&self) -> HiddenBranches {
        self.state().branches
    }
}

/// The comparisons at one source location of a recording, under the policy [`Tracing`](crate::policy::Tracing).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TracedBranch {
    /// Source location of the comparison.
    pub location: &'static Location<'static>,
    /// Number of times that the comparison was made.
    pub count: u64,
    /// The smallest distance between the two sides: how far they may move before the program takes another branch.
    pub margin: f64,
}
