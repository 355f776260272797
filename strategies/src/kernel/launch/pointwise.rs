//! A launch of a kernel as scalar statements, one for each point: for sparsity patterns.

use super::dependencies::{Dependencies, OperandView, Source};
use super::kernel::KernelLaunch;
use crate::kernel::ir::access::{Access, AccessKind, Boundary};
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::KernelInfo;
use crate::{Curvature, Number};
use core::ops::Range;
use smallvec::SmallVec;

/// What an expression of a kernel depends on.
pub(crate) struct Expression {
    pub(crate) leaves: SmallVec<[Access; 8]>,
    curvature: Curvature,
}

impl Expression {
    /// All expressions of a kernel.
    pub(crate) fn of(plan: &KernelInfo) -> SmallVec<[Self; 1]> {
        let used = &plan.scripts.used;
        let needs: SmallVec<[_; 8]> = (0..used.len()).map(|leaf| plan.scripts.needs_of(leaf)).collect();
        let expression = |k: usize| {
            let leaves: SmallVec<[usize; 8]> = (0..used.len()).filter(|leaf| needs[*leaf].0 >> k & 1 == 1).collect();
            // A mixed derivative is not 0 only if each of both partials needs the other leaf.
            let meet = |a: usize, b: usize| needs[a].1 >> b & needs[b].1 >> a & 1 == 1;
            let mut curvature = Curvature::LINEAR;
            for (row, a) in leaves.iter().enumerate() {
                for (column, b) in leaves.iter().enumerate().skip(row) {
                    if meet(*a, *b) {
                        curvature = curvature.and((row, row + 1), (column, column + 1));
                    }
                }
            }
            Self { leaves: leaves.iter().map(|leaf| used.get(*leaf)).collect(), curvature }
        };
        (0..plan.expressions).map(expression).collect()
    }

    /// With leaves that are numbers, given by `of`: an item for each.
    pub(crate) fn link(&self, arguments: &mut Vec<Source>, of: impl FnMut(Access) -> Source) -> Curvature {
        arguments.extend(self.leaves.iter().copied().map(of));
        self.curvature
    }
}

/// Where the values of a kernel go.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// To the views that are written.
    Views,
    /// To one variable, all of them.
    Variable,
    /// To a view, which has an element for each row.
    Rows(OperandView),
}

/// A launch of a kernel as statements. First come the values at all points, as numbers of its own, if other points may
/// read what stands where they go, or if they are summed.
struct OfKernel<'l, V: 'static> {
    launch: &'l KernelLaunch<V>,
    grid: &'l Grid,
    expressions: SmallVec<[Expression; 1]>,
    goal: Goal,
    /// The number of values that come first.
    values: usize,
    /// Of what comes behind the values, the statements for each goal.
    goals: SmallVec<[Range<usize>; 4]>,
}

impl<V: Number> KernelLaunch<V> {
    /// It as statements.
    pub(crate) fn statements(&self, goal: Goal) -> Box<dyn Dependencies + '_> {
        let (grid, expressions) = (&self.grid, Expression::of(self.plan()));
        let values = if self.is_apart(goal) { 0 } else { grid.points() * expressions.len() };
        let mut end = values;
        let mut next = |count: usize| {
            end += count;
            end - count..end
        };
        let goals = match goal {
            Goal::Views => self.plan().written.iter().map(|a| next(self.moved(*a))).collect(),
            Goal::Variable => SmallVec::from_iter([next(1)]),
            Goal::Rows(to) => SmallVec::from_iter([next(to.length)]),
        };
        Box::new(OfKernel { launch: self, grid, expressions, goal, values, goals })
    }

    /// Whether values go to views, into slots that the launch does not read.
    fn is_apart(&self, goal: Goal) -> bool {
        let is_read = |slot: usize| self.operands.iter().any(|operand| operand.before == slot);
        let goes_apart = |a: &usize| self.operands[*a].after.is_some_and(|slot| !is_read(slot));
        matches!(goal, Goal::Views) && self.plan().written.iter().all(goes_apart)
    }

    /// How many elements of a view that is written are told where they come from: if it goes on in another slot, all.
    fn moved(&self, a: usize) -> usize {
        let kept = &self.operands[a];
        if kept.after == Some(kept.before) { self.grid.points() } else { self.grid.elements() }
    }
}

impl<V: Number> OfKernel<'_, V> {
    /// What stands at a leaf of the expressions at a point.
    fn leaf(&self, point: [isize; 4], key: Access) -> Source {
        let kept = &self.launch.operands[key.operand()];
        match key.kind() {
            AccessKind::Read => {
                let element = self.grid.element_beside(point, key);
                element.map_or(Source::Nothing, |element| Source::Element(kept.before, element))
            }
            _ => kept.number.as_ref().map_or(Source::Nothing, |(_, input)| Source::Input(*input)),
        }
    }

    /// An element of the view that output `k` goes to, and in which arguments it is not linear.
    fn element(&self, k: usize, at: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let kept = &self.launch.operands[self.launch.plan().written[k]];
        let (count, after) = (self.expressions.len(), kept.after.unwrap_or(0));
        let is_forked = kept.after != Some(kept.before);
        let (element, point) = if is_forked {
            (at, self.grid.number(self.grid.coordinates(at)))
        } else {
            (self.grid.element(self.grid.point(at)), Some(at))
        };
        let result = Source::Element(after, element);
        arguments.push(match point {
            Some(number) if self.values == 0 => {
                let point = self.grid.point(number);
                return (result, self.expressions[k].link(arguments, |key| self.leaf(point, key)));
            }
            Some(point) => Source::Own(point * count + k),
            None => Source::Element(kept.before, element),
        });
        (result, Curvature::LINEAR)
    }
}

impl<V: Number> Dependencies for OfKernel<'_, V> {
    fn count(&self) -> usize {
        self.goals.last().map_or(0, |last| last.end)
    }

    fn own(&self) -> usize {
        self.values
    }

    fn link(&self, statement: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let count = self.expressions.len();
        let Some(k) = self.goals.iter().position(|goal| goal.contains(&statement)) else {
            let point = self.grid.point(statement / count);
            let curvature = self.expressions[statement % count].link(arguments, |key| self.leaf(point, key));
            return (Source::Own(statement), curvature);
        };
        let at = statement - self.goals[k].start;
        let result = match self.goal {
            Goal::Views => return self.element(k, at, arguments),
            Goal::Variable => {
                arguments.extend((0..self.grid.points()).map(Source::Own));
                Source::Output(0)
            }
            Goal::Rows(to) => {
                let length = self.grid.points() / to.length;
                arguments.extend((at * length..(at + 1) * length).map(Source::Own));
                Source::Element(to.after.unwrap_or(0), at)
            }
        };
        (result, Curvature::LINEAR)
    }
}

impl Grid {
    /// The coordinates of a point of the range, by its number.
    pub(crate) fn point(&self, mut number: usize) -> [isize; 4] {
        let mut point = self.range.lo;
        for d in (0..4).rev() {
            let length = (self.range.hi[d] - self.range.lo[d]).unsigned_abs();
            point[d] += (number % length).cast_signed();
            number /= length;
        }
        point
    }

    /// The number of a point, if it is in the range.
    fn number(&self, point: [isize; 4]) -> Option<usize> {
        let range = &self.range;
        let is_inside = (0..4).all(|d| (range.lo[d]..range.hi[d]).contains(&point[d]));
        is_inside
            .then(|| (0..4).fold(0, |n, d| n * (range.hi[d] - range.lo[d]) + point[d] - range.lo[d]).unsigned_abs())
    }

    /// The coordinates of an element.
    fn coordinates(&self, element: usize) -> [isize; 4] {
        self.at(element).range.lo
    }

    /// The place of a point among the elements.
    pub(crate) fn element(&self, point: [isize; 4]) -> usize {
        (0..4).map(|d| point[d] * self.strides()[d]).sum::<isize>().unsigned_abs()
    }

    /// The element that a read gives at a point; none where the read gives 0.
    fn element_beside(&self, mut point: [isize; 4], key: Access) -> Option<usize> {
        for d in 0..4 {
            let (at, length) = (point[d] + key.shift(d), self.shape()[d]);
            point[d] = match key.border() {
                _ if (0..length).contains(&at) => at,
                Boundary::Inside | Boundary::Zero => return None,
                Boundary::Nearest => at.clamp(0, length - 1),
                Boundary::Periodic => at.rem_euclid(length),
            };
        }
        Some(self.element(point))
    }
}
