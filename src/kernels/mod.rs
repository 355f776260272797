//! Array kernels: complete loops as statements, computed at every point of a range.
//!
//! A [`View`] is an array of variables. A *launch*, such as [`parallel_for`], calls a closure once, with a token for
//! each operand; the closure returns an expression that is then computed at every point of a range, several points in
//! one SIMD register. A recording keeps one entry for a launch, not one for each point, and the arrays whose values the
//! partials need; a linear kernel keeps nothing. In a reverse sweep each element gathers the contributions of the
//! points that read it.
//!
//! [`View::with_part`] passes a part of a view to launches, and [`View::along`] makes an operand of a view of lower
//! rank. [`softmax`], [`logsumexp`], [`cumulative_sum`] and [`convolve`] are functions of complete views with
//! derivatives of their own; [`linalg`](crate::linalg) has products.
//!
//! ```
//! use tapewright::kernels::{View, parallel_for, parallel_sum};
//! use tapewright::prelude::*;
//!
//! /// Σ (A·x)ᵢ² with 2 on the diagonal of A and −1 beside it.
//! fn energy<S: Taping<Value = f64>>(x: &View<S, 1>) -> Real<S> {
//!     let mut y = View::zeros(x.shape());
//!     parallel_for(x.all(), (x, &mut y), |(x, _)| {
//!         (2.0 * x.at::<0>() - x.or_zero::<-1>() - x.or_zero::<1>(),)
//!     });
//!     parallel_sum(y.all(), &y, |y| y.at::<0>().square())
//! }
//!
//! let x = [1.0, 2.0, 4.0];
//! assert_eq!(energy::<Passive>(&View::new([3], &x)).value(), 37.0);
//!
//! let mut tape = Tape::<Jacobian>::new();
//! let (x, sum) = tape.record(|scope| {
//!     let x = scope.view([3], &x);
//!     let sum = energy(&x);
//!     (x, sum)
//! });
//! let adjoints = tape.sweep(&[(&sum, 1.0)])?;
//! assert_eq!(*adjoints.of_view(&x)?, [2.0, -16.0, 26.0]);
//! # Ok::<(), tapewright::Error>(())
//! ```

pub(crate) mod expression;
pub(crate) mod views;

mod assign;
mod launch;
pub(crate) mod library;
mod note;
mod operands;
mod parts;
mod scan;
mod start;
mod text;
mod transfer;

pub use expression::functions::{
    Absolute, Adds, At, ByRule, ByRule2, ByRule3, Divides, Maximum, Minimum, Multiplies, Negation, Root, Square,
    Subtracts,
};
pub use expression::term::{Argument, Term, Where};
pub use expression::token::{Field, Field1, Field2, Field3, Field4, Repeated};
pub use launch::{
    deep_copy, dot, fill, norm_squared, parallel_for, parallel_max, parallel_max_at, parallel_min, parallel_min_at,
    parallel_row_sums, parallel_sum, parallel_sums,
};
pub use library::{Outside, convolve, cumulative_sum, logsumexp, softmax};
pub(crate) use note::{make_room, note};
pub use operands::{Along, AlongSlot, Body, Mode, Modes, Operand, Operands, Reads, Slot, Writes, WrittenView};
pub use parts::Part;
pub use scan::{Associative, Combines, associative, parallel_exclusive_scan, parallel_fold, parallel_scan};
#[cfg(any(feature = "opencl", feature = "cuda"))]
pub use tapewright_strategies::kernel::devices;
pub use tapewright_strategies::kernel::ir::Node;
pub use tapewright_strategies::kernel::launch::Indices;
pub use tapewright_strategies::kernel::memory::Elements;
pub use tapewright_strategies::kernel::targets::{self, LoopCounts, Space, counted};
pub use tapewright_strategies::kernel::text::{Dialect, NoText};
pub use tapewright_strategies::kernel::{Host, InstructionSet};
pub use tapewright_strategies::kernel::{Interpreter, Registers};
pub use text::{parallel_for_text, parallel_sum_text};
pub use transfer::{gather, scatter, scatter_add};
#[cfg(feature = "ndarray")]
pub(crate) use views::arrays::elements;
pub(crate) use views::view::checked;
pub use views::view::{Points, View};
