//! Dependencies of each element that a launch writes: sparsity patterns go through launches as through
//! statements.

use crate::Curvature;

/// A view among the operands of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperandView {
    /// Its slot before the launch; 0 if it is passive, or no view.
    pub before: usize,
    /// Its slot afterwards, if it is written.
    pub after: Option<usize>,
    /// Its number of elements.
    pub length: usize,
}

/// A number that a launch reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// One that depends on nothing.
    Nothing,
    /// The variable that is this input of the launch.
    Input(usize),
    /// The variable that is this output of the launch.
    Output(usize),
    /// This element, the second number, of the view in a slot. It depends on nothing if the slot is 0.
    Element(usize, usize),
    /// A number of the launch's own.
    Own(usize),
}

/// A launch as statements of single numbers, in order.
pub trait Dependencies {
    /// The number of statements.
    fn count(&self) -> usize;
    /// How many numbers of its own the launch has.
    fn own(&self) -> usize;
    /// Appends the arguments of a statement. Returns its result, and in which arguments it is not linear.
    fn link(&self, statement: usize, arguments: &mut Vec<Source>) -> (Source, Curvature);
}

/// A launch all of whose results depend on all that it reads, as far as is known, and in no simple way: its only number
/// of its own depends on everything, and each result on that.
#[derive(Clone, Debug)]
pub struct Opaque<'a> {
    /// How many variables it reads, and how many it writes.
    pub variables: (usize, usize),
    /// The views that it reads.
    pub reads: &'a [OperandView],
    /// The views that it writes.
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
