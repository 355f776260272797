//! Kernels over arrays: trees that are evaluated at every point of a range, several points at once in registers, and
//! the loops that gather their adjoints.
//!
//! The engine of `tapewright` builds the trees from closures, and knows which views they belong to; here is what runs.
//! Unsafe code is in the loops, which read without checks what has been checked once for each launch, and in the types
//! of registers. What a tree may read follows from constants of its type, so the traits of trees are sealed.

#![allow(clippy::needless_range_loop, reason = "loops over the four dimensions index several arrays")]

mod alone;
mod blocks;
mod buffer;
mod code;
mod compile;
mod extremum;
mod fetched;
mod forest;
mod forward;
mod gather;
mod grid;
mod interpret;
mod kernel;
mod keys;
mod lane;
mod launch;
mod launched;
mod level;
mod links;
mod memory;
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod neon;
mod nested;
mod operands;
#[cfg(miri)]
mod plain;
mod points;
mod pointwise;
mod program;
mod recorded;
mod replay;
mod reverse;
mod rows;
mod rule;
mod run;
mod scan;
mod script;
mod scripts;
mod search;
mod several;
mod shadow;
mod slopes;
mod steps;
mod sums;
mod sweeps;
mod tangents;
mod text;
mod transfer;
mod tree;
mod version;
mod writer;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

pub(crate) use buffer::Pool;
pub use buffer::{Buffer, NewArray, SharedArray};
pub use code::{Code, NODES};
pub use extremum::{Extremum, extremum};
pub use fetched::Fetched;
pub use grid::{BadRange, Grid};
pub use keys::{Border, Facts, Key, Keys, Kind, LEAVES, OPERANDS, OUTPUTS, RADIUS};
pub(crate) use launch::flow;
pub use launch::{Inspection, Launch, lane_by_lane};
pub use launched::Launched;
pub use level::Level;
pub(crate) use level::{Plain, Registers, at_present_level};
pub use links::{Item, Links, Opaque, Used};
pub use operands::{Kept, Operand};
pub use program::{Again, Assign, Combination, Extreme, Plan, Program, Reduce, Written};
pub use recorded::Recorded;
pub(crate) use replay::not_kept;
pub use replay::{Replayed, Versions};
pub use rows::{RowSums, row_sums};
pub use rule::{
    Comparing, Comparison, Formula, Formula2, LaneFunction, LaneOperator, LaneTernary, Part, Rule, Scalar, Scalar3,
    Slope, Three,
};
pub use run::{run, sum};
pub use scan::{Combine, Combined};
pub use shadow::{Shadow, Shadows};
pub use tangents::Tangents;
pub use text::{Table, text};
pub use transfer::{Indices, Places, Transfer, Way};
pub use tree::{
    Apply, Apply2, Apply3, Compared, Condition, Constant, Element, Joined, Let, Local, New, Node, Number, Select,
};
pub(crate) use version::HeldVersions;
pub use version::{Held, Version};
