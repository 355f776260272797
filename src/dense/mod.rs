//! Jacobian matrices of functions that are generic over the strategy, in forward mode or by a tape, whichever costs
//! less.
//!
//! ```
//! use tapewright::dense::{DenseJacobian, Way};
//! use tapewright::{prelude::*, program};
//!
//! fn polar<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 2] {
//!     [(x[0] * x[1].cos()).into(), (x[0] * x[1].sin()).into()]
//! }
//!
//! let mut driver = DenseJacobian::<Tangent<2>, Jacobian>::new();
//! let (mut values, mut jacobian) = ([0.0; 2], [0.0; 4]);
//! driver.evaluate(&program!(polar), &[2.0, 0.0], &mut values, &mut jacobian)?;
//! assert_eq!((values, jacobian), ([2.0, 0.0], [1.0, 0.0, 0.0, 2.0]));
//! assert_eq!(driver.way(), Some(Way::Forward));
//! # Ok::<(), tapewright::Error>(())
//! ```
//!
//! `function.rs` has the trait of such functions, `choice.rs` the estimate of what the two ways cost, `jacobian.rs` the
//! driver.

mod choice;
mod function;
mod jacobian;

pub use choice::Way;
pub use function::Function;
#[doc(hidden)]
pub use function::{Returned, listed, total};
pub use jacobian::{DenseJacobian, dense_jacobian};
