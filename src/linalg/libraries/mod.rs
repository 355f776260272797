//! Libraries of linear algebra, each a [`Backend`](super::Backend).

#[cfg(feature = "faer")]
mod by_faer;
#[cfg(feature = "nalgebra")]
mod by_nalgebra;

#[cfg(feature = "faer")]
pub use by_faer::Faer;
#[cfg(feature = "nalgebra")]
pub use by_nalgebra::Nalgebra;
