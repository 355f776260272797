//! The methods of [`OwnedTape`](crate::recording::OwnedTape): operations on a recording while it does not record.
//!
//! * `lifecycle`: positions, resets, settings and bytes. `entries`: external functions, launches and inputs that are
//!   views.
//! * `sweep`: reverse and forward sweeps, which call the tape for its records and the entries for theirs. `replay`:
//!   values recomputed at other inputs. `dependencies`: dependences of results on arguments, for sparsity.
//! * `trace` and `non_finite`: the policy [`Tracing`](crate::policy::Tracing).
//!
//! Called by the engine's `Tape`; imports from `current` and `resolve`.

pub(crate) mod dependencies;
pub(crate) mod entries;
pub(crate) mod lifecycle;
pub(crate) mod non_finite;
pub(crate) mod replay;
pub(crate) mod sweep;
pub(crate) mod trace;
