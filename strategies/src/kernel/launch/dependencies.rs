//! Dependencies of each element that a launch writes. Sparsity patterns are propagated through launches as through
//! statements.

use crate::rules::Curvature;

/// A view among the operands of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperandView {
    /// Slot of the view before the launch; 0 if it is passive or not a view.
    pub before: usize,
    /// Slot of the view after the launch, if it is written.
    pub after: Option<usize>,
    /// Number of elements.
    pub length: usize,
}

/// A scalar value that a launch reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A value without dependencies.
    Nothing,
    /// The variable with this index among the inputs of the launch.
    Input(usize),
    /// The variable with this index among the outputs of the launch.
    Output(usize),
    /// An element of a view: slot and index. An element of slot 0 has no dependencies.
    Element(usize, usize),
    /// An intermediate value of the launch, by index.
    Own(usize),
}

/// A launch as a sequence of scalar statements.
pub trait Dependencies {
    /// Number of statements.
    fn count(&self) -> usize;
    /// Number of intermediate values.
    fn own(&self) -> usize;
    /// Appends the arguments of a statement. Returns the result and the arguments in which the statement is not linear.
    fn link(&self, statement: usize, arguments: &mut Vec<Source>) -> (Source, Curvature);
}

/// Conservative dependencies: each result of the launch depends nonlinearly on all inputs. One intermediate value
/// depends on all inputs, and each result on that value.
#[derive(Clone, Debug)]
pub struct Opaque<'a> {
    /// Number of variables that the launch reads, and number that it writes.
    pub variables: (usize, usize),
    /// Views that the launch reads.
    pub reads: &'a [OperandView],
    /// Views that the launch writes.
    pub writes: &'a [OperandView],
}

impl Dependencies for Opaque<'_> {
    fn count(&self) -> usize {
        1 + self.variables.1 + self.writes.iter().map(|view| view.length).sum::<usize>()
    }

    fn own(&self) -> usize {
        1
    }

    fn link(&self, statement: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let Some(mut k) = statement.checked_sub(1) else {
            arguments.extend((0..self.variables.0).map(Source::Input));
            for view in self.reads.iter().filter(|view| view.before != 0) {
                arguments.extend((0..view.length).map(|element| Source::Element(view.before, element)));
            }
            return (Source::Own(0), Curvature::Everywhere);
        };
        arguments.push(Source::Own(0));
        if k < self.variables.1 {
            return (Source::Output(k), Curvature::LINEAR);
        }
        k -= self.variables.1;
        for view in self.writes {
            if k < view.length {
                return (Source::Element(view.after.unwrap_or(0), k), Curvature::LINEAR);
            }
            k -= view.length;
        }
        unreachable!("there are as many statements as results")
    }
}
