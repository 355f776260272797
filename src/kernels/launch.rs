//! Launches of kernels.

use super::operands::{Body, Modes, Operands, Reads, Slot, Writes};
use super::term::Term;
use super::view::{Points, View};
use crate::expr::Real;
use smallvec::SmallVec;
use std::sync::Arc;
use tapewright_strategies::lanes::{
    Assign, Buffer, Element, Facts, Grid, Kept, Launch, Node, Number, Operand, Program, Recorded, Reduce, Written,
    extremum, run, sum,
};
use tapewright_strategies::{Dependence, Flow, Taping};

/// Computes expressions at every point of a range, and writes them to the operands that are given as `&mut`, in their order.
///
/// The closure is called once, with a token for each operand, and returns a tuple with an expression for each of those.
/// Reads see the values from before the launch, also of views that are written: `y = y·y` and stencils in place are right, and an
/// operand that is read and written is named once. What lies outside the range stays as it is.
///
/// It is recorded if an operand is active, as one entry whatever the number of points.
///
/// ```
/// use tapewright::{kernels::{View, parallel_for}, prelude::*};
///
/// // A step of the heat equation, in place.
/// let mut t = View::<Passive, 2>::new([3, 3], &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
/// parallel_for(t.interior(1), &mut t, |t| {
///     let c = t.at::<0, 0>();
///     (c + 0.1 * (t.at::<1, 0>() + t.at::<-1, 0>() + t.at::<0, 1>() + t.at::<0, -1>() - 4.0 * c),)
/// });
/// assert_eq!(t.values()[4], 0.6);
/// ```
///
/// # Panics
///
/// When the views have different shapes, when the range goes beyond them, or a read without a border rule does, and as statements do:
/// when operands belong to two recordings, or to one that is not active on this thread.
#[track_caller]
pub fn parallel_for<S: Taping, const R: usize, O: Operands<S, R>, B: Body>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> B,
) where
    Assign<O::Written, B::Nodes>: Program,
{
    const {
        let (written, expressions) = (<O::Written as Written>::OPERANDS.len(), B::COUNT);
        assert!(
            expressions >= written,
            "a kernel returns an expression for each operand that is written (`&mut`): some are missing"
        );
        assert!(
            expressions <= written,
            "a kernel returns an expression for each operand that is written (`&mut`): there are too many"
        );
        let in_order = <Assign<O::Written, B::Nodes> as Program>::IN_ORDER;
        assert!(in_order, "`new` gives the value of an output that stands before the expression which uses it");
    }
    let program = Assign::<O::Written, _>::new(kernel(O::tokens()).nodes());
    let mut launch = Start::new(range.into(), operands);
    launch.write(program);
}

/// The sum of an expression over every point of a range. It is the same number at every level of instructions and for any number of
/// threads: points are added in fixed groups.
///
/// # Panics
///
/// As [`parallel_for`].
#[track_caller]
pub fn parallel_sum<S: Taping, const R: usize, O: Operands<S, R>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Real<S> {
    let program = Reduce(kernel(O::tokens()).0);
    let launch = Start::new(range.into(), operands);
    let value = sum(&program, &launch.grid, &mut launch.inputs());
    launch.reduce(program, launch.grid, value)
}

/// The largest value of an expression over a range, whose adjoint goes to the first point at which it is found; a NaN is found only if
/// there is nothing else.
///
/// # Panics
///
/// When the range is empty, and as [`parallel_for`].
#[track_caller]
pub fn parallel_max<S: Taping, const R: usize, O: Operands<S, R>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Real<S> {
    let program = Reduce(kernel(O::tokens()).0);
    Start::new(range.into(), operands).select(program, true)
}

/// The smallest value of an expression over a range, as [`parallel_max`].
///
/// # Panics
///
/// As [`parallel_max`].
#[track_caller]
pub fn parallel_min<S: Taping, const R: usize, O: Operands<S, R>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Real<S> {
    let program = Reduce(kernel(O::tokens()).0);
    Start::new(range.into(), operands).select(program, false)
}

/// Copies all elements of a view to another one of the same shape.
///
/// # Panics
///
/// As [`parallel_for`].
#[track_caller]
pub fn deep_copy<S: Taping, const R: usize>(from: &View<S, R>, to: &mut View<S, R>) {
    let program = Assign::<Modes<(Reads, Writes)>, _>::new((Element::<0, 0, 0, 0, 0, 0>,));
    Start::new(Points(to.all()), (from, to)).write(program);
}

/// Writes a variable to all elements of a view.
///
/// # Panics
///
/// As [`parallel_for`].
#[track_caller]
pub fn fill<S: Taping, const R: usize>(from: &Real<S>, to: &mut View<S, R>) {
    let program = Assign::<Modes<(Reads, Writes)>, _>::new((Number::<0>,));
    Start::new(Points(to.all()), (from, to)).write(program);
}

/// Σ xᵢ·yᵢ.
///
/// # Panics
///
/// As [`parallel_for`].
#[must_use]
#[track_caller]
pub fn dot<S: Taping, const R: usize>(x: &View<S, R>, y: &View<S, R>) -> Real<S> {
    let product = Term(Element::<0, 0, 0, 0, 0, 0>) * Term(Element::<1, 0, 0, 0, 0, 0>);
    parallel_sum(x.all(), (x, y), |_| product)
}

/// Σ xᵢ².
///
/// # Panics
///
/// As [`parallel_for`].
#[must_use]
#[track_caller]
pub fn norm_squared<S: Taping, const R: usize>(x: &View<S, R>) -> Real<S> {
    parallel_sum(x.all(), x, |_| Term(Element::<0, 0, 0, 0, 0, 0>).square())
}

/// A buffer for what is written to a view that is not written in place.
type New<S> = Option<Arc<Buffer<<S as Taping>::Value>>>;

/// A launch that is about to run.
struct Start<'a, S: Taping, const R: usize> {
    grid: Grid,
    slots: SmallVec<[Slot<'a, S, R>; 4]>,
    flow: Flow,
}

/// What a variable is as an array: none.
const fn nothing<'a, V>() -> &'a Dependence<V> {
    &Dependence::Nothing
}

/// Has a launch recorded that has run, or its tangents carried; what is written then depends on what is returned.
#[track_caller]
pub(super) fn note<S: Taping, const W: usize>(
    flow: Flow,
    launch: impl Launch<S::Value>,
    arrays: &[&Dependence<S::Value>],
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    each: &mut dyn FnMut(S::Value, S::Id),
) -> SmallVec<[Dependence<S::Value>; W]> {
    match flow {
        Flow::Nowhere => {
            outputs.iter().for_each(|value| each(*value, S::passive()));
            SmallVec::new()
        }
        Flow::Recorded(number) => {
            S::record_launch(number, inputs, outputs, Box::new(launch), each);
            SmallVec::new()
        }
        Flow::Carried => S::carry_launch(&launch, arrays, inputs, outputs, each).into(),
    }
}

impl<'a, S: Taping, const R: usize> Start<'a, S, R> {
    #[track_caller]
    fn new<O: Operands<S, R> + 'a>(range: Points<R>, operands: O) -> Self {
        let slots = operands.slots();
        let mut shape = None;
        for (k, found) in slots.iter().enumerate().filter_map(|(k, slot)| Some((k, slot.view()?.shape()))) {
            let expected = *shape.get_or_insert(found);
            assert!(
                expected == found,
                "the views of a launch have one shape: operand {k} has {found:?}, not {expected:?}"
            );
        }
        let shape = shape.expect("a launch has a view among its operands");
        let grid = Grid::new(&shape, &range.0);
        let grid = grid.unwrap_or_else(|bad| panic!("this launch cannot run: {bad}"));
        let mut start = Self { grid, slots, flow: Flow::Nowhere };
        start.flow = {
            let ids: SmallVec<[&S::Id; 4]> = start.variables().map(|(_, id)| id).collect();
            S::flow(&start.dependences(), &ids)
        };
        start
    }

    /// What the operands depend on; variables depend on nothing that arrays know.
    fn dependences(&self) -> SmallVec<[&Dependence<S::Value>; 8]> {
        self.slots.iter().map(|slot| slot.view().map_or(nothing(), |view| &view.dependence)).collect()
    }

    fn variables(&self) -> impl Iterator<Item = (S::Value, &S::Id)> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Number(variable) => Some((variable.value(), variable.id())),
            _ => None,
        })
    }

    const fn is_passive(&self) -> bool {
        matches!(self.flow, Flow::Nowhere)
    }

    /// The operands of a launch that writes nothing.
    fn inputs(&self) -> SmallVec<[Operand<'_, S::Value>; 8]> {
        let operand = |slot| match slot {
            &Slot::Read(view) => Operand::Read(&view.values),
            Slot::Write(view) => Operand::Read(&view.values),
            Slot::Number(variable) => Operand::Number(variable.value()),
        };
        self.slots.iter().map(operand).collect()
    }

    /// What a recording keeps of the operands of this program, before it runs.
    fn kept<P: Program>(&self) -> SmallVec<[Kept<S::Value>; 4]> {
        let mut inputs = 0;
        let kept = |(k, slot): (usize, &Slot<'a, S, R>)| {
            let mut kept = Kept { before: 0, after: None, values: None, new: None, number: None };
            if let Slot::Number(variable) = slot {
                kept.number = Some((variable.value(), inputs));
                inputs += 1;
            }
            if let Some(view) = slot.view() {
                kept.before = view.recorded_slot();
                kept.values = Facts::has(P::KEPT.views, k).then(|| Arc::clone(&view.values));
            }
            kept
        };
        self.slots.iter().enumerate().map(kept).collect()
    }

    /// Records a reduction with this value.
    #[track_caller]
    fn reduce<P: Program>(&self, program: P, grid: Grid, value: S::Value) -> Real<S> {
        if self.is_passive() || P::USED.is_empty() {
            return Real::constant(value);
        }
        let (mut result, launch) = (Real::undefined(), Recorded::new(program, grid, self.kept::<P>()));
        let variables: SmallVec<[(S::Value, &S::Id); 4]> = self.variables().collect();
        let mut each = |value, id| result = Real::from_parts(value, id);
        note::<S, 0>(self.flow, launch, &self.dependences(), &variables, &[value], &mut each);
        result
    }

    /// Finds the largest or the smallest value of a reduction.
    #[track_caller]
    fn select<P: Program>(self, program: P, largest: bool) -> Real<S> {
        let found = extremum(&program, &self.grid, &mut self.inputs(), largest);
        let (value, element) = found.expect("a maximum or minimum is taken over one point at least");
        self.reduce(program, self.grid.at(element), value)
    }

    /// A buffer for what is to be written to a view.
    fn buffer(&self, spare: Option<Arc<Buffer<S::Value>>>) -> Arc<Buffer<S::Value>> {
        let length = self.grid.elements();
        let usable =
            |buffer: &mut Arc<Buffer<S::Value>>| Arc::get_mut(buffer).is_some_and(|buffer| buffer.len() == length);
        if let Some(buffer) = spare.and_then(|mut buffer| usable(&mut buffer).then_some(buffer)) {
            return buffer;
        }
        let mut found = None;
        if let Flow::Recorded(number) = self.flow {
            S::with_arrays(number, &mut |arrays| found = Some(Arc::new(arrays.buffer(length))));
        }
        found.unwrap_or_else(|| Arc::new(Buffer::zeros(length)))
    }

    /// Runs a program that writes, and records it.
    #[track_caller]
    fn write<P: Program>(&mut self, program: P) {
        self.refuse_half_constant();
        // What partials need is kept first: a view whose values are kept is not written in place.
        let mut kept = if self.is_passive() { SmallVec::new() } else { self.kept::<P>() };
        let mut news = SmallVec::<[New<S>; 8]>::new();
        for k in 0..self.slots.len() {
            let beside = Facts::has(P::LEAVES.beside, k);
            let apart = match &mut self.slots[k] {
                Slot::Write(view) => (beside || Arc::get_mut(&mut view.values).is_none()).then(|| view.spare.take()),
                _ => None,
            };
            news.push(apart.map(|spare| self.buffer(spare)));
        }
        self.run(&program, &mut news);
        for (slot, new) in self.slots.iter_mut().zip(news) {
            if let (Slot::Write(view), Some(new)) = (slot, new) {
                view.spare = Some(core::mem::replace(&mut view.values, new)).filter(|old| Arc::strong_count(old) == 1);
            }
        }
        let mut written = self.give_slots::<P>(&mut kept);
        if !self.is_passive() {
            let launch = Recorded::new(program, self.grid, kept);
            let variables: SmallVec<[(S::Value, &S::Id); 4]> = self.variables().collect();
            let moving = note::<S, 1>(self.flow, launch, &self.dependences(), &variables, &[], &mut |_, _| {});
            if self.flow == Flow::Carried {
                written = moving.into_iter().collect();
            }
        }
        let views = self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Write(view) => Some(view),
            _ => None,
        });
        views.zip(written).for_each(|(view, dependence)| view.set_dependence(dependence));
    }

    /// Fails if a part of an active view would become a constant while the recording is paused.
    #[track_caller]
    fn refuse_half_constant(&self) {
        let active = |slot: &Slot<'a, S, R>| matches!(slot, Slot::Write(view) if view.is_active());
        let part = self.grid.points() > 0 && !self.grid.is_all();
        assert!(
            !self.is_passive() || !part || !self.slots.iter().any(active),
            "a part of a view cannot become a constant: the recording is paused, and this launch writes to a range of an active view"
        );
    }

    #[track_caller]
    fn run<P: Program>(&mut self, program: &P, news: &mut [New<S>]) {
        let grid = self.grid;
        let mut operands: SmallVec<[Operand<'_, S::Value>; 8]> = SmallVec::new();
        for (slot, new) in self.slots.iter_mut().zip(news) {
            operands.push(match (slot, new) {
                (Slot::Read(view), _) => Operand::Read(&view.values),
                (Slot::Number(variable), _) => Operand::Number(variable.value()),
                (Slot::Write(view), Some(new)) => {
                    let new = Arc::get_mut(new).expect("nobody else has a new buffer");
                    grid.outside(|piece| new[piece.clone()].copy_from_slice(&view.values[piece]));
                    Operand::Replace(&view.values, new)
                }
                (Slot::Write(view), None) => Operand::Update(Arc::get_mut(&mut view.values).expect("asked before")),
            });
        }
        run(program, &grid, &mut operands);
    }

    /// What the views that were written will depend on, as their slots in a recording are known.
    fn give_slots<P: Program>(&self, kept: &mut [Kept<S::Value>]) -> SmallVec<[Dependence<S::Value>; 1]> {
        let mut written = SmallVec::new();
        for (k, slot) in self.slots.iter().enumerate() {
            let Slot::Write(view) = slot else { continue };
            let dependence = match self.flow {
                Flow::Nowhere | Flow::Carried => Dependence::Nothing,
                Flow::Recorded(_) if view.is_active() && !view.is_copied() => view.dependence.clone(),
                Flow::Recorded(number) => {
                    let mut slot = 0;
                    S::with_arrays(number, &mut |arrays| slot = arrays.slot());
                    Dependence::Recorded { number, slot }
                }
            };
            if let Some(kept) = kept.get_mut(k) {
                kept.after = Some(if let Dependence::Recorded { slot, .. } = dependence { slot } else { 0 });
                kept.new = Facts::has(P::KEPT.new, k).then(|| Arc::clone(&view.values));
            }
            written.push(dependence);
        }
        written
    }
}
