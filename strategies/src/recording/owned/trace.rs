//! Notes taken while recording under the policy [`Tracing`](crate::policy::Tracing), and their evaluation.

use crate::contract::{Order, RecordKind, RecordView, Store};
use crate::external::{Deed, Entry, NonFinite, NonFiniteKind, Notes};
use crate::identifier::RecordingId;
use crate::number::all_finite;
use crate::policy::Policy;
use crate::recording::current::list::OwnedTape;
use crate::recording::resolve::branches::TracedBranch;
use crate::recording::resolve::statement::{with, with_parts};
use crate::singular::partials_of_slice;
use crate::{Capacity, MemoryUsage, Nary, Number, Replay, Reverse, Statement, SweepError};
use core::cell::Cell;
use core::panic::Location;
use std::borrow::Cow;

type Here = &'static Location<'static>;

thread_local! {
    /// The source location given to statements, if it is not the one at which they are recorded.
    static INSTEAD: Cell<Option<Here>> = const { Cell::new(None) };
}

/// Runs `f`, whose statements are noted with the source location `there` under the policy
/// [`Tracing`](crate::policy::Tracing). For functions that record in closures, which do not know their caller's
/// location.
#[inline(always)]
pub fn on_behalf_of<P: Policy, R>(there: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Here>);
    impl Drop for Restore {
        fn drop(&mut self) {
            INSTEAD.set(self.0);
        }
    }
    match P::tracing(|| Restore(INSTEAD.replace(INSTEAD.get().or(Some(there))))) {
        Some(_restore) => f(),
        None => f(), // an option that is dropped behind `f` would be kept in memory meanwhile
    }
}

/// Notes the source location of the statement which the recording with this id has just recorded. Also notes its value,
/// or its partial with respect to an active argument, if that is the first non-finite one of the recording.
///
/// For strategies that support the policy [`Tracing`](crate::policy::Tracing).
///
/// # Panics
///
/// In the cases listed at [`with`].
#[inline(always)]
#[track_caller]
pub fn note_statement<S: Reverse, N: Statement<S>>(
    number: RecordingId,
    statement: &N,
    is_active: impl Fn(&S::Raw) -> bool,
    here: Here,
) {
    // All uses of the statement are inlined: if it were passed to a function by reference, it could not stay in
    // registers.
    let value = statement.value();
    let mut nought = nought_if_finite(value);
    statement.partials(S::Value::ONE, &mut |partial, _| nought += nought_if_finite(partial));
    if let Some((record, here)) = note_numbers::<S>(number, nought.is_nought(), here) {
        let mut found = NonFinite::new(NonFiniteKind::Value, value, Some(here));
        statement.store(&mut Operands(&mut found));
        let mut k = 0;
        statement.partials(S::Value::ONE, &mut |partial, id| {
            if all_finite(value) && found.argument.is_none() && !all_finite(partial) && is_active(&id) {
                (found.kind, found.number, found.argument) = (NonFiniteKind::Partial, partial, Some(k));
            }
            k += 1;
        });
        // A non-finite partial with respect to a constant does not count.
        if !all_finite(found.number) {
            set_first::<S>(number, record, found);
        }
    }
}

/// Returns x − x: 0 for finite values, and otherwise NaN, which stays to the end of a sum.
#[inline(always)]
#[allow(clippy::eq_op, reason = "infinities and NaN are to become NaN")]
fn nought_if_finite<V: Number>(x: V) -> V {
    x - x
}

/// Notes source location and first non-finite value or partial, as [`note_statement`] does, for a function of slices
/// with this value. `arguments` are values, with true for active ones.
///
/// # Panics
///
/// In the cases listed at [`note_statement`].
#[track_caller]
pub fn note_nary<S: Reverse, R: Nary<S::Value>>(
    number: RecordingId,
    (values, is_active): (Vec<S::Value>, &[bool]),
    constants: &[S::Value],
    value: S::Value,
    here: Here,
) {
    let (mut partials, mut culprit) = (Vec::new(), None);
    if all_finite(value) && !R::UNIT {
        partials.resize(values.len(), S::Value::ZERO);
        partials_of_slice::<S::Policy, R, _>(&values, constants, &mut partials, &[]);
        culprit = partials.iter().zip(is_active).position(|(partial, active)| !all_finite(*partial) && *active);
    }
    if let Some((record, here)) = note_numbers::<S>(number, all_finite(value) && culprit.is_none(), here) {
        let kind = if culprit.is_some() { NonFiniteKind::Partial } else { NonFiniteKind::Value };
        let found = NonFinite::new(kind, culprit.map_or(value, |k| partials[k]), Some(here));
        let found = NonFinite { argument: culprit, arguments: values, literals: constants.to_vec(), ..found };
        set_first::<S>(number, record, found);
    }
}

/// Notes the source location of the last record.
#[track_caller]
pub(crate) fn note<S: Reverse>(number: RecordingId, here: Here) {
    note_numbers::<S>(number, true, here);
}

/// Notes the source location of the last record; `finite` is true if its value and partials are. Returns the number of
/// the record and its location if it is the first for which they are not.
#[inline(never)]
#[track_caller]
fn note_numbers<S: Reverse>(number: RecordingId, finite: bool, here: Here) -> Option<(usize, Here)> {
    let here = INSTEAD.get().unwrap_or(here);
    with_parts::<S, _>(number, |tape, externals| {
        let next = S::next_record(tape);
        let notes = externals.notes_mut();
        notes.note(next - 1, next, here);
        (!finite && notes.all_finite()).then_some((next - 1, here))
    })
}

#[cold]
#[inline(never)]
#[track_caller]
fn set_first<S: Reverse>(number: RecordingId, record: usize, found: NonFinite<S::Value>) {
    with_parts::<S, _>(number, |_, externals| externals.notes_mut().set_first(Some((record, found))));
}

/// Receives the operands of a statement.
struct Operands<'a, V>(&'a mut NonFinite<V>);

impl<S: crate::Taping> Store<S> for Operands<'_, S::Value> {
    #[inline(always)]
    fn leaf(&mut self, value: S::Value, _: S::Raw) {
        self.0.arguments.push(value);
    }
    #[inline(always)]
    fn constant(&mut self, constant: S::Value) {
        self.0.literals.push(constant);
    }
}

/// Calls [`with`] with an `f` that registers inputs with these values. Under the policy
/// [`Tracing`](crate::policy::Tracing) notes the caller's source location as that of the registration.
///
/// # Panics
///
/// In the cases listed at [`with`].
#[inline(always)]
#[track_caller]
pub fn with_inputs<S: Reverse, R>(number: RecordingId, values: &[S::Value], f: impl FnOnce(&mut S::Tape) -> R) -> R {
    let here = Location::caller();
    let before = S::Policy::tracing(|| with::<S, _>(number, |tape| (S::next_record(tape), S::identifiers(tape))));
    let inputs = with::<S, R>(number, f);
    if let Some((record, slot)) = before {
        S::Policy::tracing(|| {
            with_parts::<S, _>(number, |_, externals| externals.notes_mut().note_inputs(slot, values.len(), here));
            note_entry::<S>(number, record, values, None, here);
        });
    }
    inputs
}

/// Notes the source location of the records from number `from` on, of results with these values and arguments, or,
/// without arguments, of the inputs that were noted last.
#[track_caller]
pub(crate) fn note_entry<S: Reverse>(
    number: RecordingId,
    from: usize,
    values: &[S::Value],
    arguments: Option<&[(S::Value, &S::Id)]>,
    here: Here,
) {
    let here = INSTEAD.get().unwrap_or(here);
    with_parts::<S, _>(number, |tape, externals| {
        let notes = externals.notes_mut();
        notes.note(from, S::next_record(tape), here);
        let culprit = values.iter().position(|value| !all_finite(*value));
        if let Some(k) = culprit
            && notes.all_finite()
        {
            let found = NonFinite::new(NonFiniteKind::Value, values[k], Some(here));
            let input = arguments.is_none().then(|| notes.inputs_before() + k);
            let arguments = arguments.unwrap_or_default().iter().map(|(value, _)| *value).collect();
            notes.set_first(Some((from, NonFinite { input, arguments, ..found })));
        }
    });
}

/// An external function or launch of a recording, as a trace shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name of the function; `"launch"` for a launch.
    pub name: Cow<'static, str>,
    /// Slots of the arguments, 0 for passive ones.
    pub arguments: Vec<usize>,
    /// Slots of the results.
    pub results: Vec<usize>,
}

/// Notes on recordings under the policy [`Tracing`](crate::policy::Tracing).
impl<S: Reverse> OwnedTape<S> {
    /// Calls `each` with all records, last first, and the source location of each.
    ///
    /// # Errors
    ///
    /// The errors of [`Reverse::visit`].
    pub fn visit(&self, mut each: impl FnMut(&RecordView<'_, S::Value>, Option<Here>)) -> Result<(), SweepError> {
        S::visit(self.tape(), Order::Descending(None, None), &mut |record| {
            each(record, self.externals().notes().and_then(|notes| notes.place(record.number)));
            Ok(())
        })
    }

    /// Returns the source location of the registration of the input in this slot.
    #[must_use]
    pub fn place_of_input(&self, slot: usize) -> Option<Here> {
        self.externals().notes()?.place_of_input(slot)
    }

    /// Returns the nanoseconds between the record with this number and the one before it, if [time is
    /// taken](Self::set_timed); 0 otherwise.
    #[must_use]
    pub fn nanoseconds(&self, number: usize) -> u32 {
        self.externals().notes().map_or(0, |notes| notes.time(number))
    }

    /// Reserves memory for the notes on an empty recording that will have this size.
    ///
    /// # Panics
    ///
    /// When the allocator has not enough memory.
    #[track_caller]
    pub fn reserve_notes(&mut self, capacity: Capacity) {
        // Inputs have record numbers, too.
        let records = || capacity.inputs.saturating_add(capacity.statements);
        S::Policy::tracing(|| self.parts_mut().1.notes_mut().reserve(records()));
    }

    /// Starts or stops taking the time between records.
    pub fn set_timed(&mut self, timed: bool) {
        let notes = self.parts_mut().1.notes_mut();
        notes.timed = timed;
        notes.go_on();
    }

    /// Returns true if time was taken in the recording, or is taken from now on.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.externals().notes().is_some_and(Notes::has_times)
    }

    /// Returns the first non-finite value or partial of the recording; if all are finite, the first non-finite adjoint
    /// of the first sweep that met one.
    #[must_use]
    pub fn first_non_finite(&self) -> Option<&NonFinite<S::Value>> {
        let notes = self.externals().notes()?;
        notes.first().or_else(|| notes.adjoint.get())
    }

    /// Returns the comparisons of active values, by source location.
    #[must_use]
    pub fn branches(&self) -> Vec<TracedBranch> {
        let branches = self.externals().notes().into_iter().flat_map(Notes::branches);
        branches.map(|(location, count, margin)| TracedBranch { location, count, margin }).collect()
    }

    /// Returns the bytes of the notes.
    #[must_use]
    pub fn trace_bytes(&self) -> MemoryUsage {
        self.externals().notes().map(Notes::bytes).unwrap_or_default()
    }

    /// Returns true if all external functions of the recording have a forward rule. Calls each function's rule with the
    /// tangent 1 for all inputs.
    #[must_use]
    pub fn has_forward_rules(&self) -> bool {
        self.externals().list.iter().all(|entry| match &entry.deed {
            Deed::Function(rule) => {
                let mut outputs = vec![S::Value::ZERO; entry.outputs.len()];
                let inputs = vec![S::Value::ONE; entry.inputs.len()];
                inputs.is_empty() || rule.forward(&inputs, &mut outputs).is_ok()
            }
            Deed::Launch(_) => true,
        })
    }

    /// Returns the external function or launch with this index.
    ///
    /// # Panics
    ///
    /// When there is none with this index.
    #[must_use]
    pub fn call(&self, external: usize) -> Call {
        let Entry { inputs, outputs, deed, .. } = &self.externals().list[external];
        let name = match deed {
            Deed::Function(rule) => rule.name().into(),
            Deed::Launch(_) => "launch".into(),
        };
        Call { name, arguments: inputs.iter().collect(), results: outputs.iter().collect() }
    }
}

impl<S: Replay> OwnedTape<S> {
    /// Searches again for the first non-finite value or partial, after all values have been recomputed.
    pub(crate) fn look_again(&mut self) -> Result<(), SweepError> {
        let (tape, externals) = self.parts_mut();
        let (values, notes) = (S::values(tape), externals.notes_mut());
        let mut first = None;
        S::visit(tape, Order::Descending(None, None), &mut |record| {
            let RecordKind::Statement { result } = record.kind else { return Ok(()) };
            let mut partials = Vec::new();
            (record.partials)(&mut partials);
            let active = || record.arguments.iter().zip(&partials).filter(|(slot, _)| **slot != 0);
            let culprit = active().position(|(_, partial)| !all_finite(*partial));
            let (kind, number) = match culprit {
                _ if !all_finite(values[result]) => (NonFiniteKind::Value, values[result]),
                Some(k) => (NonFiniteKind::Partial, *active().nth(k).expect("it is among them").1),
                None => return Ok(()),
            };
            let argument = culprit.filter(|_| kind == NonFiniteKind::Partial);
            let arguments = active().map(|(slot, _)| values[*slot]).collect();
            let found = NonFinite::new(kind, number, notes.place(record.number));
            first = Some((record.number, NonFinite { argument, arguments, ..found }));
            Ok(())
        })?;
        // Inputs and results of external functions have no statement.
        let bad = values.iter().skip(1).position(|value| !all_finite(*value)).map(|slot| slot + 1);
        if let Some(slot) = bad.filter(|slot| first.as_ref().is_none_or(|(at, _)| slot < at)) {
            let location = notes.place(slot).or_else(|| notes.place_of_input(slot));
            let found = NonFinite::new(NonFiniteKind::Value, values[slot], location);
            first = Some((slot, NonFinite { input: notes.number_of_input(slot), ..found }));
        }
        notes.set_first(first);
        Ok(())
    }
}
