//! TODO

pub(crate) mod chart;
pub(crate) mod comparison;
pub(crate) mod contest;
pub(crate) mod entrant;
pub(crate) mod forward;
pub(crate) mod names;
pub(crate) mod rounds;
