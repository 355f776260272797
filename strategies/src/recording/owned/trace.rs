//! Notes taken while a recording is made under the policy [`Tracing`](crate::Tracing), and what is made of it.

use crate::external::{Deed, Entry, NonFinite, NonFiniteKind, Notes};
use crate::number::all_finite;
use crate::recording::current::list::OwnedTape;
use crate::recording::resolve::branches::TracedBranch;
use crate::recording::resolve::statement::{with, with_parts};
use crate::{
    Capacity, MemoryUsage, Nary, Number, Order, Policy, RecordKind, RecordView, RecordingId, Replay, Reverse,
    Statement, Store, SweepError, partials_of_slice,
};
use core::cell::Cell;
use core::panic::Location;
use std::borrow::Cow;

type Here = &'static Location<'static>;

thread_local! {
    /// Where statements are said to be made, if it is not where they are recorded.
    static INSTEAD: Cell<Option<Here>> = const { Cell::new(None) };
}

/// Runs `f`, whose statements belong to a line elsewhere: under the policy [`Tracing`](crate::Tracing) it is noted that
/// they were made at that line. For functions that record in closures, which do not know who has called.
#[inline(always)]
pub fn on_behalf_of<P: Policy, R>(there: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Here>);
    impl Drop for Restore {
        fn drop(&mut self) {
            INSTEAD.set(self.0);
        }
    }
    let _restore = P::tracing(|| Restore(INSTEAD.replace(INSTEAD.get().or(Some(there)))));
    f()
}

/// Notes that the statement which the recording with this number has just recorded was made here, and its value or a
/// partial by an active argument if that is the first which is not finite.
///
/// For strategies that take the policy [`Tracing`](crate::Tracing).
///
/// # Panics
///
/// As [`with`].
#[inline(always)]
#[track_caller]
pub fn note_statement<S: Reverse, N: Statement<S>>(
    number: RecordingId,
    statement: &N,
    is_active: impl Fn(&S::Raw) -> bool,
    here: Here,
) {
    // All that is done with the statement is inlined: if it were lent to a function, it could not stay in registers.
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
        // The partial by a constant does not count.
        if !all_finite(found.number) {
            set_first::<S>(number, record, found);
        }
    }
}

/// x − x: 0 for finite numbers alone, and in a sum NaN stays to the end.
#[inline(always)]
#[allow(clippy::eq_op, reason = "infinities and NaN are to become NaN")]
fn nought_if_finite<V: Number>(x: V) -> V {
    x - x
}

/// [`note_statement`] for a function of slices with this value, of active and passive arguments.
///
/// # Panics
///
/// As [`note_statement`].
#[track_caller]
pub fn note_nary<S: Reverse, R: Nary<S::Value>>(
    number: RecordingId,
    arguments: impl Iterator<Item = (S::Value, bool)>,
    constants: &[S::Value],
    value: S::Value,
    here: Here,
) {
    let (mut partials, mut culprit) = (Vec::new(), None);
    let arguments: Vec<_> = arguments.collect();
    let values: Vec<S::Value> = arguments.iter().map(|(value, _)| *value).collect();
    if all_finite(value) && !R::UNIT {
        partials.resize(values.len(), S::Value::ZERO);
        partials_of_slice::<S::Policy, R, _>(&values, constants, &mut partials, []);
        culprit = partials.iter().zip(&arguments).position(|(partial, (_, active))| !all_finite(*partial) && *active);
    }
    if let Some((record, here)) = note_numbers::<S>(number, all_finite(value) && culprit.is_none(), here) {
        let kind = if culprit.is_some() { NonFiniteKind::Partial } else { NonFiniteKind::Value };
        let found = NonFinite::new(kind, culprit.map_or(value, |k| partials[k]), Some(here));
        let found = NonFinite { argument: culprit, arguments: values, literals: constants.to_vec(), ..found };
        set_first::<S>(number, record, found);
    }
}

/// Notes that the last record was made here.
#[track_caller]
pub(crate) fn note<S: Reverse>(number: RecordingId, here: Here) {
    note_numbers::<S>(number, true, here);
}

/// Notes that the last record was made here, whose numbers are all finite or not. Returns its number, and what was
/// noted, if it is the first for which they are not.
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

/// Where operands of a statement go.
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

/// [`with`] for an `f` that registers inputs with these values. Under the policy [`Tracing`](crate::Tracing) it is
/// noted that they were registered where this is called.
///
/// # Panics
///
/// As [`with`].
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

/// Notes that the records from this number on were made here, of results with these values and arguments, or, without
/// arguments, of the inputs that were noted last.
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

/// An external function or a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's name; `"launch"` for a launch.
    pub name: Cow<'static, str>,
    /// The slots of its arguments, 0 for passive ones.
    pub arguments: Vec<usize>,
    /// The slots of its results.
    pub results: Vec<usize>,
}

/// What is noted of recordings under the policy [`Tracing`](crate::Tracing).
impl<S: Reverse> OwnedTape<S> {
    /// Gives `each` all records, last first, with the line on which each was made.
    ///
    /// # Errors
    ///
    /// As [`Reverse::visit`].
    pub fn visit(&self, mut each: impl FnMut(&RecordView<'_, S::Value>, Option<Here>)) -> Result<(), SweepError> {
        S::visit(self.tape(), Order::Descending(None, None), &mut |record| {
            each(record, self.externals().notes().and_then(|notes| notes.place(record.number)));
            Ok(())
        })
    }

    /// Where the input in this slot was registered.
    #[must_use]
    pub fn place_of_input(&self, slot: usize) -> Option<Here> {
        self.externals().notes()?.place_of_input(slot)
    }

    /// The nanoseconds between the record with this number and the one before it, if [time is
    /// taken](Self::set_timed).
    #[must_use]
    pub fn nanoseconds(&self, number: usize) -> u32 {
        self.externals().notes().map_or(0, |notes| notes.time(number))
    }

    /// Makes room for what is noted of an empty recording that gets as large as this.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory for that.
    #[track_caller]
    pub fn reserve_notes(&mut self, capacity: Capacity) {
        // Inputs have numbers, too.
        let records = || capacity.inputs.saturating_add(capacity.statements);
        S::Policy::tracing(|| self.parts_mut().1.notes_mut().reserve(records()));
    }

    /// Whether the time between records is taken from now on.
    pub fn set_timed(&mut self, timed: bool) {
        let notes = self.parts_mut().1.notes_mut();
        notes.timed = timed;
        notes.go_on();
    }

    /// Whether it was taken in the recording, or is from now on.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.externals().notes().is_some_and(Notes::has_times)
    }

    /// The first value or partial of the recording that is not finite; if all are, the first adjoint in the first sweep
    /// that met one.
    #[must_use]
    pub fn first_non_finite(&self) -> Option<&NonFinite<S::Value>> {
        let notes = self.externals().notes()?;
        notes.first().or_else(|| notes.adjoint.get())
    }

    /// Comparisons of active numbers, by line.
    #[must_use]
    pub fn branches(&self) -> Vec<TracedBranch> {
        let branches = self.externals().notes().into_iter().flat_map(Notes::branches);
        branches.map(|(location, count, margin)| TracedBranch { location, count, margin }).collect()
    }

    /// Bytes of what is noted.
    #[must_use]
    pub fn trace_bytes(&self) -> MemoryUsage {
        self.externals().notes().map(Notes::bytes).unwrap_or_default()
    }

    /// Whether all external functions of the recording have a forward rule: each is asked for the tangents of its
    /// results where all inputs move.
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

    /// The external function or launch with this number.
    ///
    /// # Panics
    ///
    /// When there is none.
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
    /// Looks again for the first value or partial that is not finite, after all have been computed anew.
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
