//! Folds and scans as scalar statements.

use super::division::GROUP;
use crate::kernel::ir::access::Access;
use crate::kernel::launch::dependencies::{Dependencies, OperandView, Source};
use crate::kernel::launch::kernel::Expression;
use crate::rules::Curvature;

/// A fold or scan as scalar statements: one for each result in the head, and two for each element behind it, its local
/// value and the result; and one for the result of a fold.
pub(super) struct Chain {
    pub(super) from: OperandView,
    /// View that a scan writes.
    pub(super) to: Option<OperandView>,
    /// Value before the elements of an exclusive scan.
    pub(super) start: Option<Source>,
    /// Number of elements that are combined.
    pub(super) length: usize,
    /// Number of elements in the head.
    pub(super) head: usize,
    pub(super) combination: Expression,
}

impl Chain {
    /// The result up to this element.
    fn result(&self, k: usize) -> Source {
        let place = k + usize::from(self.start.is_some());
        self.to.map_or(Source::Own(k), |to| Source::Element(to.after.unwrap_or(0), place))
    }

    /// The local value of an element behind the head.
    fn local(&self, k: usize) -> Source {
        Source::Own(k - self.head + if self.to.is_none() { self.length } else { 0 })
    }

    fn combined(&self, [a, b]: [Source; 2], to: Source, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        (to, self.combination.link(arguments, |key: Access| if key.operand() == 0 { a } else { b }))
    }

    fn copied(from: Source, to: Source, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        arguments.push(from);
        (to, Curvature::LINEAR)
    }
}

impl Dependencies for Chain {
    fn count(&self) -> usize {
        2 * self.length - self.head + usize::from(self.start.is_some()) + usize::from(self.to.is_none())
    }

    fn own(&self) -> usize {
        self.length - self.head + if self.to.is_none() { self.length } else { 0 }
    }

    fn link(&self, k: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let mut k = k;
        if let (Some(start), Some(to)) = (self.start, self.to) {
            if k == 0 {
                return Self::copied(start, Source::Element(to.after.unwrap_or(0), 0), arguments);
            }
            k -= 1;
        }
        let x = |k| Source::Element(self.from.before, k);
        if k < self.head {
            let before = if k == 0 { self.start } else { Some(self.result(k - 1)) };
            return match before {
                Some(before) => self.combined([before, x(k)], self.result(k), arguments),
                None => Self::copied(x(k), self.result(k), arguments),
            };
        }
        let (behind, is_result) = ((k - self.head) / 2, (k - self.head) % 2 == 1);
        k = self.head + behind;
        if k == self.length {
            return Self::copied(self.result(k - 1), Source::Output(0), arguments);
        }
        let place = behind % GROUP;
        if is_result {
            self.combined([self.result(k - place - 1), self.local(k)], self.result(k), arguments)
        } else if place == 0 {
            Self::copied(x(k), self.local(k), arguments)
        } else {
            self.combined([self.local(k - 1), x(k)], self.local(k), arguments)
        }
    }
}
