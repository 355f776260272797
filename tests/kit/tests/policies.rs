//! The policies at singular points: every function under each of them, and what `Checked` keeps, and when it forgets it.
//! Rows about statements are in `conventions`.

#[path = "policies/checked.rs"]
mod checked;
#[path = "policies/functions.rs"]
mod functions;
#[path = "policies/replays.rs"]
mod replays;

use tapewright::policy::Strict;
use tapewright::prelude::*;
use tapewright::{Error, SweepError};

/// The message of the panic that this must end in.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).err().expect("it panics");
    panic.downcast_ref::<String>().expect("a message").clone()
}

/// 0 equals −0, and NaN equals NaN.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// An error of a sweep, as the function's name and the line.
fn refusal<T: core::fmt::Debug>(found: Result<T, Error>) -> Option<(String, u32)> {
    match found {
        Ok(_) => None,
        Err(Error::Sweep(SweepError::Singular { function, line, .. })) => Some((function, line)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn strict_is_the_default() {
    fn default<S: Taping<Policy = Strict>>() {}
    default::<Jacobian>();
    default::<PrimalValue>();
    default::<Hybrid>();
    default::<Continuation>();
    default::<Tangent>();
    default::<Passive>();
}
