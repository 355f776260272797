//! Sparsity patterns of derivatives: the entries of a Jacobian or Hessian matrix that a recording may make.

mod compressed;
mod domains;
mod structure;

pub use compressed::Pattern;
pub(crate) use domains::{Domain, Small};
pub(crate) use structure::{Asked, Found, Memory, of_rows};
