//! The intermediate representation of kernels. Everything here is computed at compile time, in constants of types.
//!
//! ```text
//! expression  a closure's result as a type, e.g. BinaryNode<Plus, Element<0, …>, Element<1, …>>
//!     │  associated constants
//! instruction instructions of one expression, a list         access   which operand is read, at which offset
//!     │
//! body        all expressions of a kernel, one list           builder  appends instructions, reuses equal ones
//!     │
//! program     three lists: values, tangents, adjoints of each access   (by differentiate)
//!     │
//! listing     the lists as constants of a type, which `registers` compiles
//! ```
//!
//! * `kernel`: how the results are used (assigned, summed, searched), and the facts about a kernel known before a
//!   launch.
//! * `function`: functions of kernels, with a SIMD formula or a scalar rule. `grid`: shapes and ranges of points.
//!
//! Called by all other rooms and by the engine's `kernels::expression`. Nothing here may know how a list is executed.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod builder;
pub(crate) mod differentiate;
pub(crate) mod expression;
pub(crate) mod function;
pub(crate) mod grid;
pub(crate) mod instruction;
pub(crate) mod kernel;
pub(crate) mod listing;
pub(crate) mod program;

pub use access::{
    Access, AccessKind, AccessSet, AccessSummary, Boundary, DimensionBits, LEAVES, Needs, OPERANDS, OUTPUTS,
    OperandBits, RADIUS,
};
pub use expression::{
    Along, BinaryNode, Compared, Condition, Constant, Coordinate, Element, Joined, Let, Local, Negated, New, Node,
    Number, Select, TernaryNode, UnaryNode,
};
pub use function::{BinaryFormula, Comparing, Comparison, KernelBinary, KernelTernary, KernelUnary, UnaryFormula};
pub use grid::{BadRange, Grid};
pub use instruction::{Code, NODES};
pub use kernel::{Assign, Combination, Extreme, Kernel, KernelInfo, LoopKind, Reduce, Written};
