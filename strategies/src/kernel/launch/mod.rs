//! Launches as entries of a recording.
//!
//! `entry` is the trait [`Launch`](crate::kernel::Launch): what a recording asks of an entry, reverse and forward
//! sweeps, replays, sparsity, bytes. Its implementors:
//!
//! * `kernel`: a launch of a kernel, with `pointwise`, the same as scalar statements;
//! * `row_sums`, `extremum`, `fold`: reductions with an output for each row, the point found, or a rule of two numbers;
//! * `copy`: gather, scatter and copies between views and variables.
//!
//! `dependencies` tells what each written element depends on, for sparsity patterns. `replay` has the values of views
//! during a replay. `slot` is one place in the recording's list, which reuses the memory of an old launch.
//!
//! The engine makes launches, `recording` keeps them and calls them; they know neither.

pub(crate) mod copy;
pub(crate) mod dependencies;
pub(crate) mod entry;
pub(crate) mod extremum;
pub(crate) mod fold;
pub(crate) mod kernel;
pub(crate) mod pointwise;
pub(crate) mod replay;
pub(crate) mod row_sums;
pub(crate) mod slot;
