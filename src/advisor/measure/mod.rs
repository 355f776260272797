//! Measuring a program under several strategies.
//!
//! `contest` names the entrants, `entrant` runs one of them, `rounds` times them in turns, and `comparison` is the
//! result, which `chart` draws. `forward` is forward mode as an entrant, `names` the names of strategies.

pub(crate) mod chart;
pub(crate) mod comparison;
pub(crate) mod contest;
pub(crate) mod entrant;
pub(crate) mod forward;
pub(crate) mod names;
pub(crate) mod rounds;
