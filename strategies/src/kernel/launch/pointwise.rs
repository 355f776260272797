//! A launch of a kernel as scalar statements, one for each point, for sparsity patterns.

use super::dependencies::{Dependencies, OperandView, Source};
use super::kernel::KernelLaunch;
use crate::kernel::ir::access::{Access, AccessKind, Boundary};
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::KernelInfo;
use crate::{Curvature, Number};
use core::ops::Range;
use smallvec::SmallVec;

/// Dependencies of one expression of a kernel.
pub(crate) struct Expression {
    pub(crate) leaves: SmallVec<[Access; 8]>,
    curvature: Curvature,
}

impl Expression {
    /// Describes all expressions of a kernel.
    pub(crate) fn of(plan: &KernelInfo) -> SmallVec<[Self; 1]> {
        let used = &plan.scripts.used;
        let needs: SmallVec<[_; 8]> = (0..used.len()).map(|leaf| plan.scripts.needs_of(leaf)).collect();
        let expression = |k: usize| {
            let leaves: SmallVec<[usize; 8]> = (0..used.len()).filter(|leaf| needs[*leaf].0 >> k & 1 == 1).collect();
            // A second derivative can be non-zero only if the partial derivative for each access needs the other
            // access.
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

    /// Appends the arguments at a point, given by `of` for each access, and returns the curvature.
    pub(crate) fn link(&self, arguments: &mut Vec<Source>, of: impl FnMut(Access) -> Source) -> Curvature {
        arguments.extend(self.leaves.iter().copied().map(of));
        self.curvature
    }
}

/// Destination of a kernel's values.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// The views that are written.
    Views,
    /// One variable, the sum of all values.
    Variable,
    /// A view with one element for each row.
    Rows(OperandView),
}

/// A launch of a kernel as scalar statements. If values are summed, or may overwrite elements that other points read,
/// the values at all points come first, as intermediate values.
struct OfKernel<'l, V: 'static> {
    launch: &'l KernelLaunch<V>,
    grid: &'l Grid,
    expressions: SmallVec<[Expression; 1]>,
    goal: Goal,
    /// Number of intermediate values.
    values: usize,
    /// For each destination, the range of its statements, after the intermediate values.
    goals: SmallVec<[Range<usize>; 4]>,
}

impl<V: Number> KernelLaunch<V> {
    /// Describes the launch as scalar statements.
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

    /// Returns true if the values go to views whose new slots the launch does not read, so that no intermediate values
    /// are needed.
    fn is_apart(&self, goal: Goal) -> bool {
        let is_read = |slot: usize| self.operands.iter().any(|operand| operand.before == slot);
        let goes_apart = |a: &usize| self.operands[*a].after.is_some_and(|slot| !is_read(slot));
        matches!(goal, Goal::Views) && self.plan().written.iter().all(goes_apart)
    }

    /// Number of statements for a written view: one for each point, or one for each element if the view gets a new
    /// slot.
    fn moved(&self, a: usize) -> usize {
        let kept = &self.operands[a];
        if kept.after == Some(kept.before) { self.grid.points() } else { self.grid.elements() }
    }
}

impl<V: Number> OfKernel<'_, V> {
    /// Returns the value that an access reads at a point.
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

    /// Describes the statement for an element of the view that output `k` is written to.
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
    /// Returns the coordinates of a point of the range, by its number.
    pub(crate) fn point(&self, mut number: usize) -> [isize; 4] {
        let mut point = self.range.lo;
        for d in (0..4).rev() {
            let length = (self.range.hi[d] - self.range.lo[d]).unsigned_abs();
            point[d] += (number % length).cast_signed();
            number /= length;
        }
        point
    }

    /// Returns the number of a point, or `None` if it is outside the range.
    fn number(&self, point: [isize; 4]) -> Option<usize> {
        let range = &self.range;
        let is_inside = (0..4).all(|d| (range.lo[d]..range.hi[d]).contains(&point[d]));
        is_inside
            .then(|| (0..4).fold(0, |n, d| n * (range.hi[d] - range.lo[d]) + point[d] - range.lo[d]).unsigned_abs())
    }

    /// Returns the coordinates of an element.
    fn coordinates(&self, element: usize) -> [isize; 4] {
        self.at(element).range.lo
    }

    /// Returns the position of a point among the elements.
    pub(crate) fn element(&self, point: [isize; 4]) -> usize {
        (0..4).map(|d| point[d] * self.strides()[d]).sum::<isize>().unsigned_abs()
    }

    /// Returns the element that an access reads at a point; `None` if the read gives 0 there.
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
