//! A launch from its start until it has been recorded.

use super::note::{make_room_for_kernel, note_written, noted};
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
use tapewright_strategies::{Number as _, Taping};

/// A launch that is about to run.
pub(super) struct Start<'s, 'a, S: Taping, const R: usize, M: Space<S::Value>> {
    pub(super) grid: Grid,
    slots: &'s mut [Slot<'a, S, R, M>],
    /// The variables among the operands.
    inputs: SmallVec<[(S::Value, &'a S::Id); OPERANDS]>,
    flow: Flow,
    /// Operands that are active.
    active: OperandBits,
    /// True if the launch must be replayable.
    replays: bool,
    /// Mask of the operands that are passive views, if the launch must be replayable: replays need their values.
    passive: OperandBits,
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
        let mut shape = None;
        for (k, found) in slots.iter().enumerate().filter_map(|(k, slot)| Some((k, slot.view()?.shape()))) {
            let expected = *shape.get_or_insert(found);
            assert!(
                expected == found,
                "the views of a launch have one shape: operand {k} has {found:?}, not {expected:?}"
            );
        }
        let shape = shape.expect("a launch has a view among its operands");
        assert!(
            !<S::Value as tapewright_strategies::Number>::VARIABLE,
            "array kernels cannot be computed over numbers that are variables of a recording, but over `Dual` they can"
        );
        let grid = Grid::new(&shape, &range.0);
        let grid = grid.unwrap_or_else(|bad| panic!("this launch cannot run: {bad}"));
        let (flow, inputs) = (Flow::Nowhere, SmallVec::new());
        let mut start = Self { grid, slots, inputs, flow, active: 0, replays: false, passive: 0, begun: false };
        start.assert_whole(plan);
        start.assert_along(plan);
        for slot in &*start.slots {
            if let Slot::Number(variable) = slot {
                start.inputs.push((variable.value(), variable.id()));
            }
        }
        start.flow = S::flow(&start.dependences()[..start.slots.len()], &start.inputs);
        // Reserve first, so that nothing has been changed if there is no memory.
        make_room_for_kernel::<S>(start.flow);
        if start.flow != Flow::Nowhere {
            start.active = start.active_operands();
        }
        if start.flow.is_kept_for_replays() {
            start.prepare_replays();
        }
        start
    }

    #[cold]
    fn prepare_replays(&mut self) {
        self.replays = true;
        let is_passive = |slot: &Slot<'a, S, R, M>| match slot {
            Slot::Along(along) => !along.is_active(),
            _ => slot.view().is_some_and(|view| !view.is_active()),
        };
        let places = self.slots.iter().enumerate().filter(|(_, slot)| is_passive(slot));
        self.passive = places.fold(0, |all, (k, _)| all | 1 << k);
    }

    /// Active views and variables among the operands.
    fn active_operands(&self) -> OperandBits {
        let is_active = |slot: &Slot<'a, S, R, M>| match slot {
            Slot::Number(variable) => S::is_active(&[(variable.value(), variable.id())]),
            Slot::Read(view) => view.is_active(),
            Slot::Write(to) => to.view.is_active(),
            Slot::Along(along) => along.is_active(),
        };
        let bits = self.slots.iter().enumerate().map(|(k, slot)| OperandBits::from(is_active(slot)) << k);
        bits.fold(0, |all, bit| all | bit)
    }

    /// Mask of the views whose values from before the launch are kept.
    fn kept(&self, plan: &KernelInfo) -> OperandBits {
        plan.needs_kept(self.active).views
            | if self.passive == 0 { 0 } else { self.passive & !plan.replaced(&self.grid) }
    }

    /// Dependences of the operands; the dependence of a variable is empty.
    fn dependences(&self) -> [&Dependence<S::Value>; OPERANDS] {
        let mut dependences = [nothing(); OPERANDS];
        for (dependence, slot) in dependences.iter_mut().zip(&*self.slots) {
            *dependence = match slot {
                Slot::Along(along) => along.view.dependence,
                _ => slot.view().map_or(nothing(), |view| &view.dependence),
            };
        }
        dependences
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
            Slot::Number(variable) => Operand::Number(variable.value()),
        })
    }

    /// Records the launch, after the program has run, and returns the tangents of the written views, if tangents are
    /// carried.
    #[track_caller]
    fn note<P: Kernel>(
        &self,
        program: &P,
        outputs: &[S::Value],
        each: &mut dyn FnMut(S::Value, S::Id),
    ) -> Vec<Dependence<S::Value>> {
        let write = &mut |launched: &mut LaunchSlot<_>| self.keep(program, launched.kernel());
        let dependences = &self.dependences()[..self.slots.len()];
        note_written::<S>(self.flow, write, dependences, &self.inputs, outputs, each)
    }

    /// Writes the data of the launch that a recording keeps.
    fn keep<P: Kernel>(&self, program: &P, launch: &mut KernelLaunch<S::Value>) {
        launch.set(program, M::target(), &self.grid, self.operands_to_keep(P::PLAN));
    }

    /// Data of the operands that a recording keeps.
    fn operands_to_keep(&self, plan: &KernelInfo) -> impl Iterator<Item = KeptOperand<S::Value>> {
        let (mut inputs, active) = (0, self.active);
        let keep = Needs { views: self.kept(plan), new: plan.needs_kept(active).new };
        self.slots.iter().enumerate().map(move |(k, slot)| {
            let mut kept = slot.kept(plan, k, keep);
            if let Slot::Number(variable) = slot {
                let active = AccessSummary::has(active, k);
                kept.number = Some(KeptScalar { value: variable.value(), input: inputs, active });
                inputs += 1;
            }
            kept
        })
    }

    /// Sums up each expression, and records the reduction.
    #[track_caller]
    pub(super) fn sum<P: Kernel>(&self, program: &P, results: &mut [Real<S>]) {
        let (kernel, mut sums) = (BoundKernel::of(program), [S::Value::ZERO; OUTPUTS]);
        let sums = &mut sums[..results.len()];
        M::target().sums(Evaluation::new(&kernel, &self.grid, self.operands()), sums);
        self.reduce(program, sums, results);
    }

    /// Records a reduction with these values.
    #[track_caller]
    fn reduce<P: Kernel>(&self, program: &P, values: &[S::Value], results: &mut [Real<S>]) {
        // A replay at other inputs finds another constant.
        if self.is_passive() || P::PLAN.is_constant() && !self.replays {
            return results.iter_mut().zip(values).for_each(|(result, value)| *result = Real::constant(*value));
        }
        let mut results = results.iter_mut();
        self.note(program, values, &mut |value, id| {
            *results.next().expect("a result for each value") = Real::from_parts(value, id);
        });
    }

    /// Sums up rows, one for each element of this shape.
    #[track_caller]
    pub(super) fn sum_rows<P: Kernel, const Q: usize>(&self, program: P, shape: [usize; Q]) -> View<S, Q, M> {
        let length = checked_length(&shape, shape.iter().product());
        // A replay at other inputs finds other constants.
        let flow = if P::PLAN.is_constant() && !self.replays { Flow::Nowhere } else { self.flow };
        let (mut found, mut sums) = (vec![S::Value::ZERO; length], View::<S, Q, M>::empty(flow, length));
        let kernel = BoundKernel::of(&program);
        M::target().row_sums(Evaluation::new(&kernel, &self.grid, self.operands()), &mut found);
        sums.assign(&found);
        let mut view = View::on(shape, sums.share());
        let (fresh, to) = view.written(flow, true);
        let mut all = KernelLaunch::default();
        self.keep(&program, &mut all);
        let mut arrays: SmallVec<[_; OPERANDS]> = SmallVec::from_slice(&self.dependences()[..self.slots.len()]);
        arrays.push(nothing());
        let launch = RowSums::new(all, to);
        view.set_dependence(noted::<S>(flow, launch, &arrays, &self.inputs, fresh));
        view
    }

    /// Finds the largest or the smallest value of a reduction, and its point.
    #[track_caller]
    pub(super) fn select<P: Kernel>(mut self, program: P, largest: bool) -> (Real<S>, [usize; R]) {
        assert!(
            self.grid.points() > 0,
            "a maximum or minimum is taken over one point at least, and the range {} has none",
            self.grid
        );
        let kernel = BoundKernel::of(&program);
        let found = M::target().extremum(Evaluation::new(&kernel, &self.grid, self.operands()), largest);
        let Found { value, element } = found.expect("a maximum or minimum is taken over one point at least");
        let range = self.grid;
        self.grid = self.grid.at(element);
        let (mut result, place) = (Real::undefined(), self.grid.first());
        if !self.replays {
            self.reduce(&program, &[value], core::slice::from_mut(&mut result));
            return (result, place);
        }
        let write = &mut |launched: &mut LaunchSlot<_>| {
            let mut launch = KernelLaunch::default();
            self.keep(&program, &mut launch);
            launched.set_other(Extremum::new(launch, range, largest));
        };
        let dependences = &self.dependences()[..self.slots.len()];
        let each = &mut |value, id| result = Real::from_parts(value, id);
        note_written::<S>(self.flow, write, dependences, &self.inputs, &[value], each);
        (result, place)
    }

    /// Runs a program that writes views, and records it. Without points a launch that is not recorded changes nothing:
    /// an active view does not become a constant.
    #[track_caller]
    pub(super) fn write<P: Kernel>(&mut self, program: P) {
        if self.is_passive() && self.grid.points() == 0 {
            return;
        }
        let kept = self.prepare_targets(P::PLAN);
        let kernel = BoundKernel::of(&program);
        let job = Evaluation::new(&kernel, &self.grid, self.slots.iter_mut().map(Slot::operand));
        self.begun = true;
        M::target().values(job);
        let moving = if self.is_passive() {
            self.targets().for_each(|to| _ = to.settle(false));
            Vec::new()
        } else {
            self.advance_targets(kept);
            self.note(&program, &[], &mut |_, _| {})
        };
        self.finish_targets(moving);
    }

    /// Chooses the buffers for new values. Returns the mask of the views whose old values are kept.
    #[track_caller]
    fn prepare_targets(&mut self, plan: &KernelInfo) -> OperandBits {
        self.refuse_half_constant();
        let (grid, flow) = (self.grid, self.flow);
        // Old values stay if partials need them, or if points read neighbors: these must be there until all are
        // computed.
        let kept = self.kept(plan);
        let stays = if self.is_passive() { plan.leaves.beside } else { plan.leaves.beside | kept };
        for (k, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Write(to) = slot {
                to.part(AccessSummary::has(stays, k), &grid, flow);
            }
        }
        kept
    }

    /// Puts the new values into the views. The old values of the views in this mask stay.
    #[track_caller]
    fn advance_targets(&mut self, kept: OperandBits) {
        let flow = self.flow;
        for (k, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Write(to) = slot {
                to.advance(AccessSummary::has(kept, k), flow);
            }
        }
    }

    /// Sets the dependences of the views when nothing can fail any more, with these tangents if tangents are carried.
    fn finish_targets(&mut self, moving: Vec<Dependence<S::Value>>) {
        self.targets().zip(moving).for_each(|(to, dependence)| to.dependence = dependence);
        self.targets().for_each(|to| to.view.set_dependence(core::mem::take(&mut to.dependence)));
        self.begun = false;
    }

    /// Checks that no view is half written that is read, or that keeps some of its elements.
    #[track_caller]
    fn assert_whole(&self, plan: &KernelInfo) {
        for (k, view) in self.slots.iter().enumerate().filter_map(|(k, slot)| Some((k, slot.view()?))) {
            if view.is_torn() && !AccessSummary::has(plan.replaced(&self.grid), k) {
                view.assert_whole();
            }
        }
    }

    /// Checks that views of lower rank have the lengths of the launch, and that the kernel reads them.
    #[track_caller]
    fn assert_along(&self, plan: &KernelInfo) {
        let shape = self.slots.iter().find_map(|slot| Some(slot.view()?.shape())).expect("it has been asked for");
        for (k, slot) in self.slots.iter().enumerate() {
            let Slot::Along(along) = slot else { continue };
            let named = &along.named[..along.view.shape.len()];
            let expected: SmallVec<[usize; 4]> = named.iter().filter_map(|d| shape.get(*d).copied()).collect();
            assert!(
                *along.view.shape == *expected,
                "operand {k} lies along the dimensions {named:?} of a launch over {shape:?}: it has shape {:?}, not \
                 {expected:?}",
                along.view.shape
            );
            assert!(
                AccessSummary::has(plan.leaves.along, k),
                "operand {k} lies along the dimensions {named:?}, and the kernel does not read it: leave it out"
            );
        }
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
            "a part of a view cannot become a constant: the recording is paused, and this launch writes to a range of \
             an active view"
        );
    }
}

impl<V> AlongSlot<'_, V> {
    /// The dimensions that the view lies along, as bits, in a launch of this rank.
    fn dimensions(&self, rank: usize) -> DimensionBits {
        self.named[..self.view.shape.len()].iter().fold(0, |bits, d| bits | 1 << (4 - rank + d))
    }

    const fn is_active(&self) -> bool {
        !matches!(self.view.dependence, Dependence::Nothing)
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
    fn part(&mut self, stay: bool, grid: &Grid, flow: Flow) {
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
    fn settle(&mut self, keep: bool) -> Option<SharedArray<S::Value>> {
        let old = core::mem::replace(&mut self.view.values, self.apart.take()?);
        if keep {
            return Some(old);
        }
        self.view.spare = Some(old).filter(|old| !old.is_shared());
        None
    }

    /// Puts the new values into the view, and sets their dependence; the old values stay if `keep` is true.
    #[track_caller]
    fn advance(&mut self, keep: bool, flow: Flow) {
        self.old = self.settle(keep);
        self.dependence = self.view.after_a_launch(flow);
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Slot<'_, S, R, M> {
    /// Data of operand `k` that a recording keeps, with these values; nothing for a variable.
    #[inline(always)]
    fn kept(&self, plan: &KernelInfo, k: usize, keep: Needs) -> KeptOperand<S::Value> {
        let mut kept = KeptOperand { before: 0, after: None, values: None, new: None, number: None };
        if let Self::Along(along) = self {
            kept.before = along.view.dependence.slot();
            kept.values = AccessSummary::has(keep.views, k).then(|| Version::Memory(along.view.values.clone()));
            return kept;
        }
        let Some(view) = self.view() else { return kept };
        kept.before = view.dependence.slot();
        let version = |values: &SharedArray<_>| Version::Memory(values.clone());
        match self {
            Self::Write(to) if plan.writes => {
                kept.after = Some(to.dependence.slot());
                kept.values = to.old.as_ref().map(version);
                kept.new = AccessSummary::has(keep.new, k).then(|| version(&view.values));
            }
            _ => kept.values = AccessSummary::has(keep.views, k).then(|| version(&view.values)),
        }
        kept
    }

    /// The operand in the form that a program computes with.
    fn operand(&mut self) -> Operand<'_, S::Value> {
        match self {
            Self::Read(view) => Operand::Read(&view.values),
            Self::Along(along) => Operand::Along(along.view.values, along.dimensions(R)),
            Self::Number(variable) => Operand::Number(variable.value()),
            Self::Write(WrittenView { view, apart: Some(new), .. }) => {
                Operand::Replace(&view.values, new.get_mut().expect("nobody else has a new buffer"))
            }
            Self::Write(to) => Operand::Update(to.view.values.get_mut().expect("asked before")),
        }
    }
}
