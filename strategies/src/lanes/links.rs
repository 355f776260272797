//! What the numbers that a launch writes depend on, one by one: sparsity patterns go through launches as through
//! statements.

use crate::Curvature;

/// A number that a launch reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
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
pub trait Links {
    /// The number of statements.
    fn count(&self) -> usize;
    /// How many numbers of its own the launch has.
    fn own(&self) -> usize;
    /// Appends the arguments of a statement. Returns its result, and in which arguments it is not linear.
    fn link(&self, statement: usize, arguments: &mut Vec<Item>) -> (Item, Curvature);
}
