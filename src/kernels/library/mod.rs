//! Functions of complete views: along a dimension, and convolutions.
//!
//! Each is an `ArrayRule`, which `entry` records; products, in `linalg`, are recorded in the same way. `lines` takes a
//! view apart into lines along a dimension.

mod convolution;
pub(crate) mod entry;
pub(crate) mod lines;
mod softmax;
mod sums;

pub use convolution::{Outside, convolve};
pub use softmax::{logsumexp, softmax};
pub use sums::cumulative_sum;
