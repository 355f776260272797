//! Launches as entries of a recording.
//!
//! `entry` is the trait [`Launch`]: everything a recording asks of a launch, i.e. reverse and forward sweeps, replays,
//! sparsity and bytes. Its implementors:
//!
//! * `kernel`: a launch of a kernel, which describes itself as scalar statements, too, and by `ready` prepares gathers
//!   that run alone or together with others;
//! * `row_sums`, `extremum`, `fold`: reductions to a value for each row, to an extreme value, and by a function of two
//!   values;
//! * `copy`: gather, scatter and copies between views and variables;
//! * `array_rule`: functions of complete arrays with derivatives of their own, such as products of matrices.
//!
//! `dependencies` describes the dependencies of each written element, for sparsity patterns. `replay` holds the values
//! of views during a replay. `slot` is one entry in the recording's list, which reuses the memory of an old launch.
//!
//! The engine makes launches, `recording` keeps and calls them; nothing here knows of either.

pub(crate) mod array_rule;
pub(crate) mod copy;
pub(crate) mod dependencies;
pub(crate) mod entry;
pub(crate) mod extremum;
pub(crate) mod fold;
pub(crate) mod kernel;
pub(crate) mod ready;
pub(crate) mod replay;
pub(crate) mod row_sums;
pub(crate) mod slot;

pub use crate::kernel::targets::transfers::indexing::{Base, Indexing, Indices, Values};
pub use crate::kernel::targets::transfers::selection::Selection;
pub use array_rule::{ArrayRule, KeptArrays, RuleLaunch, ViewValues, are_finite, contribution};
pub use copy::{Direction, Transfer, copy_out};
pub use dependencies::{Dependencies, Opaque, OperandView, Source};
pub use entry::{Inspection, Launch, lane_by_lane};
pub use extremum::Extremum;
pub use fold::{FoldKernel, FoldLaunch};
pub use kernel::KernelLaunch;
pub use replay::{ReplayResult, ReplayState};
pub use row_sums::RowSums;
pub use slot::LaunchSlot;
