//! The estimate of what a Jacobian matrix costs in forward mode and by a tape.

/// A way to a Jacobian matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Runs in forward mode, as many directions in each as the strategy has.
    Forward,
    /// A recording, and sweeps over it.
    Tape,
}

/// What the estimate is made of. All numbers are counts, so that a choice is the same on every machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Directions of one run of forward mode.
    pub(super) directions: usize,
    /// Statements of a recording, and their arguments.
    pub(super) statements: usize,
    pub(super) arguments: usize,
}

// The figures are fifths of a nanosecond, fitted to `benches/jacobians.rs`: its last column shows what they are worth.

/// Time of a statement in one run of forward mode.
const STATEMENT: u64 = 30;
/// Time of an argument in one run of forward mode, without its directions.
const ARGUMENT: u64 = 3;
/// Time of each direction of an argument in one run of forward mode.
const DIRECTION: u64 = 1;
/// Time of a statement in a recording. If there is one output, its sweep is included.
const RECORDED: u64 = 150;
/// Time of a statement in a sweep for several outputs.
const SWEPT: u64 = 70;
/// Time of an argument in a recording, and in each of these sweeps.
const ARGUMENT_ON_TAPE: u64 = 3;
/// Maximum number of outputs of one sweep.
const LANES: usize = 8;

impl Size {
    /// Returns the way that costs less; forward mode where both cost the same.
    pub(super) fn cheaper(self) -> Way {
        if self.forward() <= self.tape() { Way::Forward } else { Way::Tape }
    }

    fn forward(self) -> u64 {
        let directions = self.directions as u64;
        let runs = self.inputs.div_ceil(self.directions).max(1) as u64;
        runs * (STATEMENT * self.statements as u64 + (ARGUMENT + DIRECTION * directions) * self.arguments as u64)
    }

    fn tape(self) -> u64 {
        let sweeps = if self.outputs > 1 { self.outputs.div_ceil(LANES) as u64 } else { 0 };
        (RECORDED + SWEPT * sweeps) * self.statements as u64 + ARGUMENT_ON_TAPE * (1 + sweeps) * self.arguments as u64
    }
}
