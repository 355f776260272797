//! Reverse-mode automatic differentiation in which *how a derivative is recorded* is a type parameter.
//!
//! Write one function, generic over the taping strategy `S`; choose the strategy where you call it.
//!
//! ```
//! use tapewright::prelude::*;
//!
//! fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
//!     let t = (x[0].exp() * x[1]).eval(); // a statement: one record
//!     (t * x[1]).eval()
//! }
//!
//! let a = gradient::<Jacobian>(f, &[5.2, -3.9]); // records partials
//! let b = gradient::<PrimalValue>(f, &[5.2, -3.9]); // records how to recompute them
//! let y = f::<Passive>(Real::wrap_slice(&[5.2, -3.9])); // records nothing, at the speed of f64
//! assert!((a[0] - y.value()).abs() < 1e-12 * y.value() && (a[1] - b[1]).abs() < 1e-12 * a[1].abs());
//! ```
//!
//! # Where to look
//!
//! * The book is the module [`guide`]: begin with its [quick start](guide::introduction). [Kernels](guide::kernels),
//!   [checkpoints](guide::checkpointing), [packs](guide::packs) and [programs](guide::programs) make gradients many
//!   times as fast, or as small. If the compiler refuses your function, see [its messages](guide::messages).
//! * One call: [`gradient`], [`value_and_gradient`], [`vjp`], [`jacobian`].
//! * Forward mode, for few inputs: [`derivative`], [`jvp`], [`jvps`], [`jacobian_forward`],
//!   [`jacobian_forward_into`]; its strategy is [`Tangent`].
//! * A tape that is kept and reused: [`Tape`]. It can be swept between positions, with several adjoint vectors at once,
//!   and forward, and recomputed at other inputs.
//! * Loops over arrays, each as one entry on the tape, on threads and devices: [`kernels`].
//! * One function for many scenarios, recorded once: [`programs`]. Several evaluations in one recording: the module
//!   `packs` (feature `packs`).
//! * Jacobian matrices in forward mode or by a tape, whichever costs less: [`dense`].
//! * Least-squares problems: [`residuals`].
//! * Second derivatives: [`hessian`], [`hvp`], [`Tape::hessian_times`], over [`Dual`] numbers.
//! * Jacobian and Hessian matrices that are mostly zeros: [`sparse`].
//! * Variables and expressions: [`Real`], [`Ex`]; statements over slices: [`sum`], [`dot`], [`linear_combination`].
//! * Code that is generic over `num_traits`: [`Closed`]. Complex numbers: [`Complex`].
//! * Matrices, equations and solvers: nalgebra over [`Closed`] and the module `linalg` (features `nalgebra` and
//!   `faer`), and [`implicit`]; rotations that are right at the identity: the module `rotations`.
//! * Functions of your own: [`Unary`], [`Binary`], [`Ternary`], [`Nary`]; whole programs that are not recorded:
//!   [`external()`], [`Rules`].
//! * Long programs in little memory: [`checkpoint!`], the module [`mod@checkpoint`], and the plans in [`schedule`].
//! * Fewer records: [`preaccumulate`], [`statement`]. Are my derivatives right? [`check_gradient!`].
//! * Which lines take the memory, and where did the NaN come from? [`Traced`], [`Tape::trace`]. Points without a
//!   derivative: [`Checked`], [`Subgradient`], [`policy`].
//! * Which strategy for my function: [`advisor`].
//! * Tapes in files, and their budgets: [`Spilled`], [`storage`]. Messages between processes: [`exchange`].
//! * Strategies of your own: [`Taping`], the crate `tapewright-strategies`, which is also the module `strategies` here,
//!   and the feature `conformance` for the kit that tests them.
//!
//! # Features
//!
//! No feature is on by default. Your program needs the version of the other crate that is named here.
//!
//! * `nalgebra`: matrices of nalgebra 0.35 over [`Closed`], and the modules `linalg` and `rotations`.
//! * `faer`: `linalg` with matrices of faer 0.24, and sparse systems.
//! * `num-complex`: conversions between [`Complex`] and the numbers of num-complex 0.4.
//! * `ndarray`: views from and to arrays of ndarray 0.17.
//! * `packs`: `Pack` and `in_packs`, for many evaluations in one recording.
//! * `rayon`: kernels over large arrays, packs, programs and residual blocks on threads.
//! * `opencl`, `cuda`: [kernels on devices](guide::devices). The driver is loaded when the program runs.
//! * `conformance`: the tests that any strategy has to pass.
//!
//! # Generic code
//!
//! `S: Strategy` accepts every strategy whose variables are `Copy` and lets you write `x * y`. `S: Taping` accepts all
//! strategies; write `&x * &y`. Code that computes with [`value`](Ex::value)s as `f64` says `S: Strategy<Value = f64>`,
//! and code that asks for gradients itself `S: Reverse`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "nalgebra"), forbid(unsafe_code))]
// One impl has to write the word; see `closed/simba/`.
#![cfg_attr(feature = "nalgebra", deny(unsafe_code))]

pub mod advisor;
pub mod check;
pub mod checkpoint;
mod closed;
mod complex;
#[cfg(feature = "conformance")]
pub mod conformance;
mod continuation;
pub mod dense;
mod drivers;
mod error;
pub mod exchange;
mod expr;
pub mod external;
mod forward;
// Snippets are compiled and run by the tests of the book.
#[cfg(all(doc, not(doctest)))]
pub mod guide;
pub mod implicit;
pub mod kernels;
#[cfg(any(feature = "nalgebra", feature = "faer"))]
pub mod linalg;
mod math;
mod nary;
#[cfg(feature = "packs")]
pub mod packs;
mod pattern;
mod preaccumulate;
pub mod programs;
pub mod residuals;
#[cfg(feature = "nalgebra")]
pub mod rotations;
pub mod schedule;
mod second;
pub mod sparse;
pub mod tape;
pub mod trace;
pub mod variables;

/// Types that expressions are made of, and traits of operands and arguments. Programs need not name any of
/// them.
pub mod nodes {
    pub use crate::closed::ClosedOperand;
    pub use crate::expr::{Assignable, BackLeaf, Bin, Choice, Compound, Leaf, Literal, Operand, RefLeaf, Tri, Un};
    pub use crate::forward::Inputs;
    pub use tapewright_strategies::rules::{
        Function, Operator, arithmetic, exponential, hyperbolic, power, selection, special, trigonometric,
    };
}
pub mod prelude;

#[doc(inline)]
pub use check::check_gradient;
#[doc(hidden)]
pub use check::with_listed_outputs;
pub use closed::Closed;
pub use complex::Complex;
pub use continuation::continuation;
pub use drivers::{gradient, jacobian, value_and_gradient, vjp};
pub use error::Error;
pub use expr::{Ex, Real, binary, ternary, unary};
#[doc(inline)]
pub use external::{Rules, external, statement, with_partials};
pub use forward::{derivative, jacobian_forward, jacobian_forward_into, jvp, jvps, value_and_derivative};
pub use math::{smooth_max, smooth_min};
pub use nary::{dot, linear_combination, logsumexp, nary, norm, sum};
pub use preaccumulate::{preaccumulate, preaccumulate_by_reverse};
pub use second::{WithTangents, hessian, hvp};
#[doc(inline)]
pub use tape::{Scope, Tape};
pub use tapewright_strategies as strategies;
pub use tapewright_strategies::recording::{hidden_branches, pause};
pub use tapewright_strategies::{
    Binary, Capacity, Checked, Continuation, Dual, External, Float, Forward, Hybrid, InMemory, Jacobian, Linear, Nary,
    Nested, Number, Passive, PrimalValue, Reuse, Reverse, Shared, Spilled, Strategy, Subgradient, SweepError, Tangent,
    Taping, Ternary, Traced, Unary, policy, storage,
};
