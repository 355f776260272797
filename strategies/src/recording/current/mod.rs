//! TODO

pub(crate) mod announced;
pub(crate) mod branch_report;
pub(crate) mod ids;
pub(crate) mod list;
pub(crate) mod pause;
pub(crate) mod singular;
pub(crate) mod state;
