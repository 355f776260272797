//! Programs as data, and what is done with their recordings.

use std::sync::Arc;

/// The number of variables that a program, or a body in it, works on.
pub const REGISTERS: usize = 8;

/// The values of variables that are no inputs, at first: passive variables.
pub const CONSTANTS: [f64; REGISTERS] = [0.75, -1.25, 0.5, 2.0, 1.5, -0.375, 1.0, 0.25];

/// One step: what is done with three variables and a literal, and the variable that gets the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is done.
    pub op: Op,
    /// The variables.
    pub args: [usize; 3],
    /// The literal.
    pub c: f64,
    /// The first variable that gets a result.
    pub target: usize,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A statement of the table [`shapes`](crate::shapes::TEXTS).
    Shape(usize),
    /// A function of the library, of the table [`functions`](crate::shapes::FUNCTIONS).
    Table(usize),
    /// An assignment of the table [`updates`](crate::shapes::UPDATES).
    Update(usize),
    /// Closed arithmetic of the table [`closed`](crate::shapes::CLOSED).
    Closed(usize),
    /// A function of slices.
    Slice(Slice),
    /// A statement with given partials.
    Given(usize),
    /// A fold of an iterator over so many variables: a sum, or a product.
    Fold {
        /// Whether it is a sum.
        sum: bool,
        /// The number of variables.
        length: usize,
    },
    /// A copy of a variable.
    Copy,
    /// A passive variable with the literal as value.
    Constant,
    /// An external function.
    External(Function),
    /// A callback.
    Callback(Function),
    /// A stage.
    Stage(StageKind, Arc<Body>),
    /// A time loop.
    Loop(Plan, Arc<Body>),
    /// A preaccumulated block.
    Block(BlockKind, Arc<Body>),
    /// Steps that are not recorded.
    Pause(Vec<Step>),
    /// Something with arrays.
    Launch(Launch),
    /// A root that a solver looks for, and does not always find.
    Root,
    /// A derivative that is computed inside, and becomes a constant.
    Nested(NestedKind, Arc<Body>),
    /// Steps that are repeated so often.
    Repeat(usize, Vec<Step>),
    /// A branch on a comparison.
    Branch(Question, Vec<Step>, Vec<Step>),
    /// The next late input.
    Input,
    /// A variable is used in an evaluation inside: that panics.
    Leak,
    /// A copy of a variable is kept as an output.
    Hold,
    /// The position is kept.
    Mark,
}

/// A function of slices of the variables `start`, `start + stride`, …
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Which function.
    pub function: SliceFunction,
    /// The number of arguments; twice as many for inner products.
    pub length: usize,
    /// The first variable.
    pub start: usize,
    /// The distance to the next.
    pub stride: usize,
}

impl Slice {
    /// The variables.
    pub fn registers(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { length, start, stride, .. } = *self;
        (0..length).map(move |k| (start + k * stride + k / REGISTERS) % REGISTERS)
    }

    /// The coefficient of element `k`.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
    pub fn coefficient(k: usize, c: f64) -> f64 {
        c - 0.25 * ((k % 5) as f64)
    }
}

/// Functions of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceFunction {
    /// The sum.
    Sum,
    /// The inner product of the elements and of their neighbors.
    Dot,
    /// A linear combination.
    Combination,
    /// ln Σ exp.
    LogSumExp,
    /// Σ x²/(4·n), a rule of the program's own.
    MeanSquare,
}

/// The number of arrays.
pub const ARRAYS: usize = 3;

/// What is done with arrays: the first one gets a result, where the result is an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What is done.
    pub kernel: Kernel,
    /// The arrays.
    pub arrays: [usize; 2],
}

/// What is done with arrays x and y, and with variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// x is made of variables.
    Variables,
    /// x is made of constants.
    Constants,
    /// x becomes a copy of y.
    Copy,
    /// x becomes the cumulative sum of y.
    Sums,
    /// x becomes what a row of [`MAPS`](crate::launches::MAPS) makes of both and of a variable.
    Map(usize),
    /// A variable by a row of [`REDUCTIONS`](crate::launches::REDUCTIONS).
    Reduction(usize),
    /// An element of x as a variable.
    Element,
    /// All elements of x as variables.
    Elements,
    /// An element of x as a number.
    Number,
    /// The place of the largest element of x.
    Place,
}

/// A function with several outputs whose derivatives are given by rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// (x, y) ↦ (x·y, x + y); x ↦ (sin x, cos x); (x, y, z) ↦ (x·y·z, z − x).
    pub kind: usize,
    /// Whether there is a forward rule.
    pub forward: bool,
    /// Whether there is a replay rule.
    pub replay: bool,
}

impl Function {
    /// The numbers of inputs and outputs.
    #[must_use]
    pub const fn counts(self) -> (usize, usize) {
        [(2, 2), (1, 2), (3, 2)][self.kind % 3]
    }
}

/// Steps on variables of their own, the first of which are inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The number of inputs, 1 to 3.
    pub inputs: usize,
    /// The steps.
    pub steps: Vec<Step>,
    /// The number of outputs, which are the first variables afterwards.
    pub outputs: usize,
}

/// How a body becomes a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// `checkpoint!`.
    Checkpoint,
    /// `Stage` with a tuple of inputs, not checked.
    Tuple,
    /// `closure_stage`, where there is a tape.
    Closure,
    /// The same, which runs the steps twice if a variable from outside, the third one, is above the literal.
    Outside,
    /// The same, which has results only if its first output is above the literal.
    Missing,
}

/// How the inside of a block is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// `preaccumulate`.
    Forward,
    /// `preaccumulate_by_reverse`.
    Reverse,
    /// `external` with `ByTangents`.
    Tangents,
}

/// What computes a derivative inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedKind {
    /// A tape.
    Tape,
    /// A nested recording of a pool.
    Pool,
    /// Forward mode.
    Forward,
}

/// How a time loop is reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which schedule.
    pub schedule: usize,
    /// Whether the loop is told its number of steps, and not asked after each.
    pub known: bool,
    /// The number of steps.
    pub steps: usize,
    /// The budget of snapshots.
    pub budget: usize,
}

/// What a branch asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// x < y.
    Less,
    /// x·c ≥ y.
    ScaledAtLeast,
    /// x ≤ c.
    AtMostLiteral,
    /// c > x.
    LiteralAbove,
    /// x == y.
    Equal,
    /// x != c.
    NotLiteral,
    /// x and y are in order.
    Ordered,
    /// The value of x is above c.
    ValueAbove,
    /// x, closed, is not 0.
    NotZero,
    /// x, closed, is not 1.
    NotOne,
}

/// A program and what is done with its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The values of the inputs.
    pub inputs: Vec<f64>,
    /// How many of them are there from the start; at least 1.
    pub early: usize,
    /// The program.
    pub steps: Vec<Step>,
    /// Whether the recording keeps guards.
    pub guards: bool,
    /// Whether the program is begun once before, and panics at the end.
    pub aborts: bool,
    /// Whether the drivers are called, too.
    pub drivers: bool,
    /// What is done.
    pub actions: Vec<Action>,
}

/// Seeds of outputs, by number, modulo how many there are.
pub type Seeds = Vec<(usize, f64)>;

/// Something that is done with a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A reverse sweep, in one of several ways.
    Sweep {
        /// How.
        how: usize,
        /// The seeds.
        seeds: Seeds,
    },
    /// A sweep with several vectors.
    Lanes {
        /// Whether the tape's own vectors are used.
        own: bool,
        /// The seeds of outputs, one for each lane.
        seeds: Vec<(usize, Vec<f64>)>,
        /// The number of lanes.
        width: usize,
    },
    /// A forward sweep with these tangents of inputs.
    Forward {
        /// Whether the tape's own vector is used.
        own: bool,
        /// The tangents of the first inputs.
        tangents: Vec<f64>,
    },
    /// Sweeps from position to position.
    Between {
        /// Whether the vector is reset at first.
        reset: bool,
        /// The seeds at the end.
        seeds: Seeds,
        /// Positions, by number, modulo how many there are, and seeds of outputs that exist there.
        stops: Vec<(usize, Seeds)>,
        /// Whether the last sweep goes to the start.
        finish: bool,
    },
    /// The recording goes on.
    Resume {
        /// More inputs, for steps that ask for them.
        inputs: Vec<f64>,
        /// More of the program.
        steps: Vec<Step>,
    },
    /// What lies behind the end of an earlier part is forgotten.
    ResetTo(usize),
    /// The recording is computed again with these values of the first inputs.
    Replay(Vec<f64>),
    /// Outputs of another recording are seeded.
    Foreign,
    /// A sweep in which rules fail.
    Fault {
        /// Whether they panic.
        panics: bool,
        /// The number of lanes; 1 for a sweep of its own.
        width: usize,
        /// The seeds.
        seeds: Seeds,
    },
    /// The memory report is made.
    Memory,
}

/// Recordings, one after the other, on one tape.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Whether numbers have single precision.
    pub single: bool,
    /// Whether statements of [`FUNCTIONS`](crate::shapes::FUNCTIONS) may be among the steps.
    pub functions: bool,
    /// The recordings.
    pub recordings: Vec<Recording>,
}
