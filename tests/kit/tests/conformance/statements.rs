//! How statements are recorded.

use super::identifiers::{Id, Number, slot};
use super::recording::{self, Kind, with_recording};
use super::{Fault, Faulty, has};
use core::mem::ManuallyDrop;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::strategies::Statement;
use tapewright::strategies::contract::{Load, Store, Twin};
use tapewright::strategies::external::TapeCache;
use tapewright::strategies::identifier::{LinearId, RecordingId};
use tapewright::strategies::policy::Strict;
use tapewright::strategies::recording as current;
use tapewright::{External, Nary, SweepError, Taping};

/// An argument of a statement: its partial and its identifier.
type Argument = (f64, LinearId);

thread_local! {
    /// Whether partials are being computed.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A statement whose partials the sweep computes.
pub(crate) struct Late {
    leaves: Vec<(f64, LinearId)>,
    constants: Vec<f64>,
    rebuild: fn(&Self) -> Vec<Argument>,
}

impl Late {
    fn rebuild<B: Twin<Faulty>>(&self) -> Vec<Argument> {
        let mut rest = Rest(self.leaves.iter(), self.constants.iter());
        let mut partials = Vec::new();
        B::load(&mut rest).partials(1.0, &mut pushing(&mut partials));
        partials
    }

    pub(crate) fn arguments(&self) -> usize {
        self.leaves.iter().filter(|(_, id)| id.is_active()).count()
    }

    pub(crate) fn partials(&self) -> Vec<(f64, usize)> {
        slots(&(self.rebuild)(self))
    }
}

/// Adds arguments to a list. A function, so that there is one such closure and not one for each type of statement.
fn pushing(arguments: &mut Vec<Argument>) -> impl FnMut(f64, LinearId) {
    |partial, id| arguments.push((partial, id))
}

/// What a statement consists of.
#[derive(Default)]
struct Parts {
    leaves: Vec<(f64, LinearId)>,
    constants: Vec<f64>,
}

impl Store<Faulty> for Parts {
    fn leaf(&mut self, value: f64, id: LinearId) {
        self.leaves.push((value, id));
    }
    fn constant(&mut self, constant: f64) {
        self.constants.push(constant);
    }
}

struct Rest<'a>(std::slice::Iter<'a, (f64, LinearId)>, std::slice::Iter<'a, f64>);

impl Load<Faulty> for Rest<'_> {
    fn leaf(&mut self) -> (f64, LinearId) {
        *self.0.next().expect("as many as were stored")
    }
    fn constant(&mut self) -> f64 {
        *self.1.next().expect("as many as were stored")
    }
}

/// The identifiers of the arguments.
fn identifiers(leaves: &[(f64, LinearId)]) -> Vec<LinearId> {
    leaves.iter().map(|(_, id)| *id).collect()
}

/// The active arguments, by slot.
fn slots(arguments: &[Argument]) -> Vec<(f64, usize)> {
    arguments.iter().filter(|(_, id)| id.is_active()).map(|(partial, id)| (*partial, slot(*id))).collect()
}

/// The recording that a statement of these arguments belongs to.
#[track_caller]
fn recording_of(arguments: &[Argument]) -> Option<RecordingId> {
    let mut active = arguments.iter().map(|(_, id)| *id).filter(|id| id.is_active());
    if has(Fault::RecordsPassiveStatements) && !arguments.is_empty() && active.clone().next().is_none() {
        return Some(recording::latest());
    }
    if has(Fault::AcceptsAnyVariable) {
        return active.next().map(|_| recording::latest());
    }
    if has(Fault::RecordsForTheProcess) {
        return active.next().map(|_| recording::latest_anywhere());
    }
    if has(Fault::LooksAtOneArgument) {
        return active.next().map(LinearId::number);
    }
    if has(Fault::RecordsBeforeItChecks)
        && let Some(first) = active.clone().next()
    {
        with_recording(first.number(), |tape| tape.push_statement(&[], None));
    }
    let number = current::common_number(active)?;
    let stale = || catch_unwind(AssertUnwindSafe(|| with_recording(number, |_| ()))).is_err();
    (!has(Fault::TakesStaleVariablesForPassive) || !stale()).then_some(number)
}

/// Changes what is recorded.
fn spoil(statement: &'static str, arguments: &mut Vec<Argument>) {
    if has(Fault::DropsAPartial) && arguments.len() > 3 {
        arguments.pop();
    }
    if has(Fault::RoundsPartials) {
        arguments.iter_mut().for_each(|(partial, _)| *partial = (*partial * 1e6).round() / 1e6);
    }
    if has(Fault::DropsNegativePartials) {
        arguments.retain(|(partial, _)| *partial >= 0.0);
    }
    if has(Fault::DropsInfinitePartials) {
        arguments.retain(|(partial, _)| partial.is_finite());
    }
    let all = arguments.clone();
    let times = |id: LinearId| all.iter().filter(|(_, other)| other.index() == id.index()).count();
    if has(Fault::DoublesRepeatedArguments) {
        arguments.iter_mut().filter(|(_, id)| times(*id) > 1).for_each(|(partial, _)| *partial *= 2.0);
    }
    if has(Fault::MergesRepeatedArguments) {
        arguments.dedup_by_key(|(_, id)| id.index());
    }
    if has(Fault::MisplacesPartialsBesidePassive) {
        let active = all.iter().filter(|(_, id)| id.is_active()).map(|(_, id)| *id);
        *arguments = active.zip(all.iter()).map(|(id, (partial, _))| (*partial, id)).collect();
    }
    if has(Fault::RemembersActivity) {
        let known = recording::remembered(statement, all.iter().map(|(_, id)| id.is_active()).collect());
        let mut known = known.into_iter();
        arguments.retain(|_| known.next().unwrap_or(true));
    }
}

/// Records a statement that consists of these variables, and whose partials `compute` finds.
#[track_caller]
fn record(statement: &'static str, leaves: &[LinearId], compute: &dyn Fn() -> Vec<Argument>) -> Id {
    if has(Fault::StaysBusyAfterAPanic) && BUSY.replace(true) {
        return Id::pinned(LinearId::PASSIVE);
    }
    let first = leaves.iter().find(|id| id.is_active()).filter(|_| has(Fault::TakesItsSlotBeforeItComputes));
    let at = first.map(|id| with_recording(id.number(), |tape| tape.next_slot()));
    let mut arguments = compute();
    BUSY.set(false);
    let Some(number) = recording_of(&arguments) else { return Id::pinned(LinearId::PASSIVE) };
    spoil(statement, &mut arguments);
    with_recording(number, |tape| tape.push_statement(&slots(&arguments), at))
}

/// Records a statement whose partials the sweep computes.
#[track_caller]
fn record_late(late: Late) -> Id {
    let number = current::common_number(late.leaves.iter().map(|(_, id)| *id));
    number.map_or_else(Faulty::passive, |number| with_recording(number, |tape| tape.push(Kind::Late(late), None)))
}

/// A rule that is never dropped.
struct Leaked(ManuallyDrop<Box<dyn External<f64>>>);

impl External<f64> for Leaked {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        self.0.reverse(outputs, inputs)
    }
}

impl Taping for Faulty {
    type Value = f64;
    type Id = Id;
    type Raw = LinearId;
    type Variable = Number;
    type Policy = Strict;

    fn passive() -> Id {
        Id::pinned(LinearId::PASSIVE)
    }

    fn raw(id: &Id) -> LinearId {
        id.raw
    }

    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> Id {
        let mut parts = Parts::default();
        statement.store(&mut parts);
        let Parts { leaves, constants } = parts;
        if has(Fault::GoesOnWhereASweepPanicked) {
            return record_late(Late { leaves, constants, rebuild: Late::rebuild::<N::Back> });
        }
        record(core::any::type_name::<N>(), &identifiers(&leaves), &|| {
            let mut arguments = Vec::new();
            statement.partials(1.0, &mut pushing(&mut arguments));
            arguments
        })
    }

    #[track_caller]
    fn record_nary<R: Nary<f64>>(arguments: &[&[Number]], constants: &[f64], _: f64) -> Id {
        let all = || arguments.iter().copied().flatten();
        let values: Vec<f64> = all().map(|x| x.value).collect();
        let leaves: Vec<LinearId> = all().map(|x| x.id.raw).collect();
        let ones = vec![1.0; constants.len()];
        let constants = if has(Fault::IgnoresConstants) { &ones } else { constants };
        let most = match values.len() {
            _ if has(Fault::CutsWideStatements) => 255,
            n if has(Fault::TakesSlicesByPairs) => n / 2 * 2,
            n => n,
        };
        record(core::any::type_name::<R>(), &leaves, &|| {
            let mut partials = vec![0.0; values.len()];
            R::partials(&values, constants, &mut partials);
            partials.into_iter().zip(leaves.iter().copied()).take(most).collect()
        })
    }

    #[track_caller]
    fn is_active(inputs: &[(f64, &Id)]) -> bool {
        current::recording_of::<Self>(inputs.iter().map(|(_, id)| *id)).is_some()
    }

    #[track_caller]
    fn record_external(
        inputs: &[(f64, &Id)],
        outputs: &[f64],
        rule: Box<dyn External<f64>>,
        each: &mut dyn FnMut(f64, Id),
    ) {
        let number = current::recording_of::<Self>(inputs.iter().map(|(_, id)| *id));
        let Some(number) = number else { return outputs.iter().for_each(|value| each(*value, Self::passive())) };
        let leaked = |rule| Box::new(Leaked(ManuallyDrop::new(rule))) as Box<dyn External<f64>>;
        let rule = if has(Fault::LeaksRules) { leaked(rule) } else { rule };
        current::record_external::<Self>(number, inputs, outputs, rule, each);
    }

    #[track_caller]
    fn keep<C: TapeCache + Default + Clone>(
        _: &[&tapewright::strategies::contract::Dependence<f64>],
        inputs: &[(f64, &Id)],
    ) -> Option<C> {
        let number = current::recording_of::<Self>(inputs.iter().map(|(_, id)| *id))?;
        Some(current::with_cache::<Self, C, _>(number, |companion| companion.clone()))
    }
}
