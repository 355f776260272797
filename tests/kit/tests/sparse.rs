//! Sparse Jacobian and Hessian matrices against dense ones, and what is refused.

#[path = "sparse/doubts.rs"]
mod doubts;
#[path = "sparse/faults.rs"]
mod faults;
#[path = "sparse/kernels.rs"]
mod kernels;
#[path = "sparse/random.rs"]
mod random;
#[path = "sparse/structure.rs"]
mod structure;
