//! A launch from its start until it has been recorded.

use super::note::{make_room_for_kernel, note_written};
use super::operands::{AlongSlot, Slot, WrittenView};
use super::views::view::{Points, View, checked_length};
use crate::expr::Real;
use smallvec::SmallVec;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::kernel::ir::{
    AccessSummary, DimensionBits, Grid, Kernel, KernelInfo, Needs, OPERANDS, OUTPUTS, OperandBits,
};
use tapewright_strategies::kernel::launch::{Extremum, KernelLaunch, LaunchSlot, RowSums};
use tapewright_strategies::kernel::memory::{SharedArray, Version};
use tapewright_strategies::kernel::targets::{BoundKernel, Evaluation, Found, KeptOperand, KeptScalar, Operand, Space};
use tapewright_strategies::recording::note_read;
use tapewright_strategies::{Number as _, Taping};

/// A launch that is about to run.
pub(super) struct Start<'s, 'a, S: Taping, const R: usize, M: Space<S::Value>> {
    pub(super) grid: Grid,
    slots: &'s mut [Slot<'a, S, R, M>],
    flow: Flow,
    /// Operands that are active.
    active: OperandBits,
    /// Operands whose values are kept for sweeps and replays.
    kept: Needs,
    /// True if the launch must be replayable.
    replays: bool,
    /// True while the views that are written are being changed.
    begun: bool,
}

/// Dependence of a variable, which is not an array: none.
const fn nothing<'a, V>() -> &'a Dependence<V> {
    &Dependence::Nothing
}

impl<'s, 'a, S: Taping, const R: usize, M: Space<S::Value>> Start<'s, 'a, S, R, M> {
    #[track_caller]
    pub(super) fn new<P: Kernel>(_: &P, range: &Points<R>, slots: &'s mut [Slot<'a, S, R, M>]) -> Self {
        Self::with_plan(P::PLAN, range, slots)
    }

    #[track_caller]
    fn with_plan(plan: &KernelInfo, range: &Points<R>, slots: &'s mut [Slot<'a, S, R, M>]) -> Self {
        let shape = common_shape(slots);
        assert!(
            !<S::Value as tapewright_strategies::Number>::VARIABLE,
            "array kernels cannot be computed over numbers that are variables of a recording, but over `Dual` they can"
        );
        // No closure panics here, which would hide the caller's line.
        let grid = match Grid::new(&shape, &range.0) {
            Ok(grid) => grid,
            Err(bad) => panic!("this launch cannot run: {bad}"),
        };
        for (k, slot) in slots.iter().enumerate() {
            slot.check(k, plan, &grid, &shape);
        }
        let sources = Sources::of(slots);
        let flow = S::flow(&sources.arrays, &sources.inputs);
        drop(sources);
        // Reserve first, so that nothing has been changed if there is no memory.
        make_room_for_kernel::<S>(flow);
        let active = if flow == Flow::Nowhere { 0 } else { bits(slots, Slot::is_active) };
        let (mut kept, replays) = (plan.needs_kept(active), flow.is_kept_for_replays());
        if replays {
            // Replays need the values of passive views.
            kept.views |= bits(slots, |slot| !slot.is_number() && !slot.is_active()) & !plan.replaced(&grid);
        }
        Self { grid, slots, flow, active, kept, replays, begun: false }
    }

    const fn is_passive(&self) -> bool {
        matches!(self.flow, Flow::Nowhere)
    }

    /// The operands of a launch that writes nothing.
    pub(super) fn operands(&self) -> impl Iterator<Item = Operand<'_, S::Value>> {
        self.slots.iter().map(|slot| match slot {
            Slot::Read(view) => Operand::Read(&view.values),
            Slot::Write(to) => Operand::Read(&to.view.values),
            Slot::Along(along) => Operand::Along(along.view.values, along.dimensions(R)),
            Slot::Number(variable) => Operand::Number(variable.peek()),
        })
    }

    /// Records the launch, after the program has run, and returns the tangents of the written views, if tangents are
    /// carried.
    #[track_caller]
    fn note(
        &self,
        kernel: &mut BoundKernel<S::Value>,
        outputs: &[S::Value],
        each: &mut dyn FnMut(S::Value, S::Id),
    ) -> Vec<Dependence<S::Value>> {
        let sources = Sources::of(self.slots);
        let write = &mut |launched: &mut LaunchSlot<'_, _>| self.keep(kernel, launched.kernel());
        note_written::<S>(self.flow, write, &sources.arrays, &sources.inputs, outputs, each)
    }

    /// Writes the data of the launch that a recording keeps, among them the kernel.
    fn keep(&self, kernel: &mut BoundKernel<S::Value>, launch: &mut KernelLaunch<S::Value>) {
        let (plan, mut inputs) = (kernel.plan(), 0..);
        launch.set(core::mem::take(kernel), M::target(), &self.grid);
        let version = |array: &SharedArray<_>| Version::Memory(array.clone());
        for (k, slot) in self.slots.iter().enumerate() {
            let is_kept = AccessSummary::has(self.kept.views, k);
            let of_view = |view: &View<S, R, M>| {
                KeptOperand::of_view(view.dependence.slot(), is_kept.then(|| version(&view.values)))
            };
            launch.keep(match slot {
                Slot::Number(variable) => KeptOperand::of_number(KeptScalar {
                    value: variable.peek(),
                    input: inputs.next().unwrap_or_default(),
                    active: AccessSummary::has(self.active, k),
                }),
                Slot::Along(along) => {
                    let values = is_kept.then(|| version(along.view.values));
                    KeptOperand::of_view(along.view.dependence.slot(), values)
                }
                Slot::Write(to) if plan.writes => KeptOperand {
                    before: to.view.dependence.slot(),
                    after: Some(to.dependence.slot()),
                    values: to.old.as_ref().map(version),
                    new: AccessSummary::has(self.kept.new, k).then(|| version(&to.view.values)),
                    number: None,
                },
                Slot::Write(to) => of_view(to.view),
                Slot::Read(view) => of_view(view),
            });
        }
    }

    /// Sums up each expression, and records the reduction.
    #[track_caller]
    pub(super) fn sum(&self, kernel: &mut BoundKernel<S::Value>, results: &mut [Real<S>]) {
        let mut sums = [S::Value::ZERO; OUTPUTS];
        let sums = &mut sums[..results.len()];
        Evaluation::with((kernel, &self.grid), M::target().memory(), self.operands(), |job| {
            M::target().sums(job, sums);
        });
        self.reduce(kernel, sums, results);
    }

    /// Records a reduction with these values.
    #[track_caller]
    fn reduce(&self, kernel: &mut BoundKernel<S::Value>, values: &[S::Value], results: &mut [Real<S>]) {
        // A replay at other inputs finds another constant.
        if self.is_passive() || kernel.plan().is_constant() && !self.replays {
            return results.iter_mut().zip(values).for_each(|(result, value)| *result = Real::constant(*value));
        }
        let mut results = results.iter_mut();
        self.note(kernel, values, &mut |value, id| {
            *results.next().expect("a result for each value") = Real::from_parts(value, id);
        });
    }

    /// Sums up rows, one for each element of this shape.
    #[track_caller]
    pub(super) fn sum_rows<const Q: usize>(
        &self,
        kernel: &mut BoundKernel<S::Value>,
        shape: [usize; Q],
    ) -> View<S, Q, M> {
        let length = checked_length(&shape, shape.iter().product());
        // A replay at other inputs finds other constants.
        let flow = if kernel.plan().is_constant() && !self.replays { Flow::Nowhere } else { self.flow };
        let mut sums = View::<S, Q, M>::empty(flow, length);
        Evaluation::with((kernel, &self.grid), M::target().memory(), self.operands(), |job| {
            M::target().row_sums(job, &mut sums);
        });
        let sources = Sources::of(self.slots);
        View::recorded(shape, sums, flow, &sources.arrays, &sources.inputs, |to, _| {
            let mut all = KernelLaunch::default();
            self.keep(kernel, &mut all);
            RowSums::new(all, to)
        })
    }

    /// Notes that the caller reads a number that the launch computes, which a recording does not compute again.
    pub(super) fn note_read(&self) {
        if let Flow::Recorded(number) = self.flow {
            note_read(number);
        }
    }

    /// Finds the largest or the smallest value of a reduction, and its point.
    #[track_caller]
    pub(super) fn select(mut self, kernel: &mut BoundKernel<S::Value>, largest: bool) -> (Real<S>, [usize; R]) {
        assert!(
            self.grid.points() > 0,
            "a maximum or minimum is taken over one point at least, and the range {} has none: give a range with \
             points, or leave the call out where there are none",
            self.grid
        );
        let search = |job: Evaluation<'_, _>| M::target().extremum(job, largest);
        let found = Evaluation::with((kernel, &self.grid), M::target().memory(), self.operands(), search);
        let Found { value, element } = found.expect("a target finds an extreme value if there are points");
        let range = self.grid;
        self.grid = self.grid.at(element);
        let (mut result, place) = (Real::undefined(), self.grid.first());
        if !self.replays {
            self.reduce(kernel, &[value], core::slice::from_mut(&mut result));
            return (result, place);
        }
        let sources = Sources::of(self.slots);
        let write = &mut |launched: &mut LaunchSlot<'_, _>| {
            let mut launch = KernelLaunch::default();
            self.keep(kernel, &mut launch);
            launched.set_other(Extremum::new(launch, range, largest));
        };
        let each = &mut |value, id| result = Real::from_parts(value, id);
        note_written::<S>(self.flow, write, &sources.arrays, &sources.inputs, &[value], each);
        (result, place)
    }

    /// Runs a program that writes views, and records it. Without points a launch that is not recorded changes nothing:
    /// an active view does not become a constant.
    #[track_caller]
    pub(super) fn write(&mut self, kernel: &mut BoundKernel<S::Value>) {
        if self.is_passive() && self.grid.points() == 0 {
            return;
        }
        self.prepare_targets(kernel.plan());
        let begun = &mut self.begun;
        Evaluation::with((kernel, &self.grid), M::target().memory(), self.slots.iter_mut().map(Slot::operand), |job| {
            *begun = true;
            M::target().values(job);
        });
        let moving = if self.is_passive() {
            self.targets().for_each(|to| _ = to.put_new_values(false));
            Vec::new()
        } else {
            self.put_new_versions();
            self.note(kernel, &[], &mut |_, _| {})
        };
        self.finish_targets(moving);
    }

    /// Chooses the buffers for new values.
    #[track_caller]
    fn prepare_targets(&mut self, plan: &KernelInfo) {
        self.refuse_half_constant();
        let (grid, flow) = (&self.grid, self.flow);
        // Old values stay if partials need them, or if points read neighbors: these must be there until all are
        // computed.
        let stays = plan.leaves.beside | if self.is_passive() { 0 } else { self.kept.views };
        for (k, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Write(to) = slot {
                to.choose_buffer(AccessSummary::has(stays, k), grid, flow);
            }
        }
    }

    /// Puts the new versions into the views. Old values that are kept stay.
    #[track_caller]
    fn put_new_versions(&mut self) {
        let (kept, flow) = (self.kept.views, self.flow);
        for (k, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Write(to) = slot {
                to.put_new_version(AccessSummary::has(kept, k), flow);
            }
        }
    }

    /// Sets the dependences of the views when nothing can fail any more, with these tangents if tangents are carried.
    fn finish_targets(&mut self, mut moving: Vec<Dependence<S::Value>>) {
        let mut moving = moving.iter_mut();
        for to in self.targets() {
            to.view.set_dependence(core::mem::take(moving.next().unwrap_or(&mut to.dependence)));
        }
        self.begun = false;
    }

    /// The views that are written.
    fn targets(&mut self) -> impl Iterator<Item = &mut WrittenView<'a, S, R, M>> {
        self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Write(to) => Some(to),
            _ => None,
        })
    }

    /// Fails if a part of an active view would become a constant while the recording is paused.
    #[track_caller]
    fn refuse_half_constant(&self) {
        let active = |slot: &Slot<'a, S, R, M>| matches!(slot, Slot::Write(to) if to.view.is_active());
        assert!(
            !self.is_passive() || !self.slots.iter().any(active) || self.grid.is_all(),
            "a part of a view cannot become a constant: the recording is paused, and this launch writes to the range \
             {} of an active view; write all of the view or a passive copy (`view.constant()`), or end the pause first",
            self.grid
        );
    }
}

/// The shape of all views among the operands.
///
/// # Panics
///
/// When they have several shapes, and when there is no view.
#[track_caller]
fn common_shape<S: Taping, const R: usize, M: Space<S::Value>>(slots: &[Slot<'_, S, R, M>]) -> [usize; R] {
    let mut shape = None;
    for (k, found) in slots.iter().enumerate().filter_map(|(k, slot)| Some((k, slot.view()?.shape()))) {
        let expected = *shape.get_or_insert(found);
        assert!(expected == found, "the views of a launch have one shape: operand {k} has {found:?}, not {expected:?}");
    }
    shape.expect("a launch has a view among its operands")
}

/// Arrays and variables that the derivatives of a launch depend on.
struct Sources<'s, 'a, S: Taping> {
    /// Dependences of the operands.
    arrays: SmallVec<[&'s Dependence<S::Value>; OPERANDS]>,
    /// The variables among the operands.
    inputs: SmallVec<[(S::Value, &'a S::Id); OPERANDS]>,
}

impl<'s, 'a, S: Taping> Sources<'s, 'a, S> {
    #[inline(always)]
    fn of<const R: usize, M: Space<S::Value>>(slots: &'s [Slot<'a, S, R, M>]) -> Self {
        let mut all = Self { arrays: SmallVec::new(), inputs: SmallVec::new() };
        for slot in slots {
            all.arrays.push(slot.dependence());
            if let Slot::Number(variable) = slot {
                all.inputs.push((variable.peek(), variable.id()));
            }
        }
        all
    }
}

/// Mask of the operands for which `is` returns true.
#[inline]
fn bits<T>(slots: &[T], is: impl Fn(&T) -> bool) -> OperandBits {
    let bits = slots.iter().enumerate().map(|(k, slot)| OperandBits::from(is(slot)) << k);
    bits.fold(0, |all, bit| all | bit)
}

impl<V> AlongSlot<'_, V> {
    /// Checks that the view, operand `k`, has the lengths of a launch over this shape, and that the kernel reads it.
    #[track_caller]
    fn check(&self, k: usize, plan: &KernelInfo, shape: &[usize]) {
        let named = &self.named[..self.view.shape.len()];
        let expected: SmallVec<[usize; 4]> = named.iter().filter_map(|d| shape.get(*d).copied()).collect();
        assert!(
            *self.view.shape == *expected,
            "operand {k} lies along the dimensions {named:?} of a launch over {shape:?}: it has shape {:?}, not \
             {expected:?}",
            self.view.shape
        );
        assert!(
            AccessSummary::has(plan.leaves.along, k),
            "operand {k} lies along the dimensions {named:?}, and the kernel does not read it: leave it out"
        );
    }

    /// The dimensions that the view lies along, as bits, in a launch of this rank.
    fn dimensions(&self, rank: usize) -> DimensionBits {
        self.named[..self.view.shape.len()].iter().fold(0, |bits, d| bits | 1 << (4 - rank + d))
    }
}

/// Restores or marks the views of a launch that panics in the middle.
impl<S: Taping, const R: usize, M: Space<S::Value>> Drop for Start<'_, '_, S, R, M> {
    fn drop(&mut self) {
        if self.begun {
            self.targets().for_each(WrittenView::give_up);
        }
    }
}

/// Buffer for a launch with this flow of derivatives: `spare` if it fits, else a new one.
#[track_caller]
fn buffer<S: Taping>(flow: Flow, length: usize, spare: Option<SharedArray<S::Value>>) -> SharedArray<S::Value> {
    match spare.filter(|buffer| !buffer.is_shared() && buffer.len() == length) {
        Some(buffer) => buffer,
        // A match and not a closure, which would hide the caller's line.
        None => View::<S, 1>::empty(flow, length).share(),
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> WrittenView<'_, S, R, M> {
    /// Chooses where new values go: to a buffer of their own if the old values must stay, else in place.
    #[track_caller]
    fn choose_buffer(&mut self, stay: bool, grid: &Grid, flow: Flow) {
        if stay || self.view.values.is_shared() {
            let mut apart = buffer::<S>(flow, grid.elements(), self.view.spare.take());
            let (old, new) = (&self.view.values, apart.get_mut().expect("nobody else has a new buffer"));
            new.copy_outside(old, grid);
            self.apart = Some(apart);
        }
    }

    /// Restores the old values of the view, or marks the view if they are lost.
    #[cold]
    fn give_up(&mut self) {
        match self.old.take() {
            Some(old) => self.view.values = old,
            None if self.apart.is_none() => self.view.tear(),
            None => {}
        }
    }

    /// Puts the new values into the view. Returns the old values if `keep` is true.
    #[inline]
    fn put_new_values(&mut self, keep: bool) -> Option<SharedArray<S::Value>> {
        let old = core::mem::replace(&mut self.view.values, self.apart.take()?);
        if keep {
            return Some(old);
        }
        self.view.spare = Some(old).filter(|old| !old.is_shared());
        None
    }

    /// Puts the new version into the view: its values and their dependence. The old values stay if `keep` is true.
    #[inline]
    #[track_caller]
    fn put_new_version(&mut self, keep: bool, flow: Flow) {
        self.old = self.put_new_values(keep);
        self.dependence = self.view.after_a_launch(flow);
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Slot<'_, S, R, M> {
    /// Checks operand `k` of a launch over this grid, whose views have this shape.
    #[inline]
    #[track_caller]
    fn check(&self, k: usize, plan: &KernelInfo, grid: &Grid, shape: &[usize; R]) {
        match self {
            Self::Along(along) => along.check(k, plan, shape),
            _ => {
                // A view may be half written that is not read, and keeps none of its elements.
                if let Some(view) = self.view().filter(|view| view.is_torn())
                    && !AccessSummary::has(plan.replaced(grid), k)
                {
                    view.assert_whole();
                }
            }
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    fn is_active(&self) -> bool {
        match self {
            Self::Number(variable) => S::is_active(&[(variable.peek(), variable.id())]),
            _ => !matches!(self.dependence(), Dependence::Nothing),
        }
    }

    /// Dependence of the operand; that of a variable, which is not an array, is empty.
    fn dependence(&self) -> &Dependence<S::Value> {
        match self {
            Self::Along(along) => along.view.dependence,
            _ => self.view().map_or(nothing(), |view| &view.dependence),
        }
    }

    /// The operand in the form that a program computes with.
    #[inline]
    fn operand(&mut self) -> Operand<'_, S::Value> {
        match self {
            Self::Read(view) => Operand::Read(&view.values),
            Self::Along(along) => Operand::Along(along.view.values, along.dimensions(R)),
            Self::Number(variable) => Operand::Number(variable.peek()),
            Self::Write(WrittenView { view, apart: Some(new), .. }) => {
                Operand::Replace(&view.values, new.get_mut().expect("nobody else has a new buffer"))
            }
            Self::Write(to) => Operand::Update(to.view.values.get_mut().expect("asked before")),
        }
    }
}
