//! What programs need of a strategy beyond what all strategies have.

use crate::event::Event;
use crate::fuzz::run;
use crate::host::{Host, Inside, run_body};
use crate::launches;
use crate::program::{BlockKind, Case, Op, StageKind, Step};
use crate::shapes;
use core::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tapewright::checkpoint::{Stage, closure_stage};
use tapewright::policy::Strict;
use tapewright::storage::{SpillDefaults, SpillOptions};
use tapewright::strategies::{InRegisters, Instructions, Plain};
use tapewright::{
    Continuation, Error, Hybrid, InMemory, Jacobian, Linear, Passive, PrimalValue, Real, Reuse, Reverse, Shared,
    Spilled, Tangent, Tape, Taping, derivative,
};

/// A few slabs in memory, so that records leave it.
#[derive(Debug)]
pub(crate) struct Tight;
impl SpillDefaults for Tight {
    fn options() -> SpillOptions {
        SpillOptions::default().slab(16 << 10).memory(4 * (20 << 10))
    }
}

/// A width of numbers.
pub(crate) trait Width: Plain {
    /// Statement `k` of the library's table of functions, which is compiled for double precision alone: rules in single
    /// precision are compared with formulas in `tests/formulas.rs`.
    fn function<S: Taping<Value = Self>>(k: usize, arguments: [&Real<S>; 3], c: f64) -> Real<S> {
        let _ = (arguments, c);
        unreachable!("function {k} of the table in single precision")
    }

    /// A step that has to do with arrays or roots, which is compiled for double precision alone.
    fn launch<S: Subject<Value = Self>>(host: &mut Host<S>, step: &Step) -> Vec<Real<S>> {
        let _ = host;
        unreachable!("{step:?} in single precision")
    }
}
impl Width for f64 {
    fn function<S: Taping<Value = Self>>(k: usize, [x, y, z]: [&Real<S>; 3], c: f64) -> Real<S> {
        shapes::real::function::<S>(k, x, y, z, c)
    }
    fn launch<S: Subject<Value = Self>>(host: &mut Host<S>, step: &Step) -> Vec<Real<S>> {
        launches::run(host, step)
    }
}
impl Width for f32 {}

/// A strategy under which programs run.
pub(crate) trait Subject: Taping<Value: Width, Policy = Strict> {
    /// Whether it has the statements of the library's table of functions.
    const FUNCTIONS: bool = true;
    /// Whether variables are recorded.
    const TAPED: bool;
    /// Whether it has loops that are told the number of steps: others would be compiled for nothing else.
    const COUNTS: bool = false;
    /// Whether bodies are run where they stand if the host says so.
    const INLINE: bool = false;
    /// Whether there are derivatives that are computed inside, and become constants.
    const NESTS: bool = true;
    /// The strategy of stages, of blocks and of recordings inside.
    type Inner: Subject<Value = Self::Value> + Reverse;

    /// A stage whose function is a closure over this strategy.
    #[allow(clippy::ptr_arg, reason = "vectors are variables, slices are not")]
    fn closure_stage(inside: Inside<Self>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>>;

    /// A stage or a loop with arrays, which programs have alone; the variables that it makes.
    fn apart(host: &mut Host<Self>, step: &Step) -> Vec<Real<Self>> {
        let _ = host;
        unreachable!("{step:?} with arrays under a strategy without them")
    }

    /// A step with arrays, or with a root, which programs and what they are compared with have alone; the variables
    /// that it makes.
    fn launch(host: &mut Host<Self>, step: &Step) -> Vec<Real<Self>> {
        let _ = host;
        unreachable!("{step:?} under a strategy without it")
    }

    /// Statement `k` of the library's table of functions.
    fn function(k: usize, arguments: [&Real<Self>; 3], c: f64) -> Real<Self> {
        Self::Value::function(k, arguments, c)
    }

    /// Whether a recording takes it for a constant, paused or not.
    fn is_constant(x: &Real<Self>) -> bool {
        let _ = x;
        false
    }

    /// Computes with this variable and one of an evaluation inside, which panics unless this one is passive.
    fn confuse(x: &Real<Self>);
}

/// A strategy whose tapes are tested.
pub(crate) trait Engine: Subject + Reverse {
    /// Whether recordings can be replayed.
    const REPLAYS: bool = false;
    /// `Tape::set_guards`.
    fn set_guards(tape: &mut Tape<Self>, keep: bool) {
        let _ = (tape, keep);
    }
    /// `Tape::replay`.
    ///
    /// # Errors
    ///
    /// As there.
    fn replay(tape: &mut Tape<Self>, inputs: &[(&Real<Self>, Self::Value)]) -> Result<(), Error> {
        let _ = (tape, inputs);
        Ok(())
    }
    /// `Tape::value_of`.
    ///
    /// # Errors
    ///
    /// As there.
    fn value_of(tape: &Tape<Self>, variable: &Real<Self>) -> Result<Self::Value, Error> {
        let _ = tape;
        Ok(variable.value())
    }
}

/// What a recording with guards has in place, and not apart with a tape of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlace {
    /// Nothing: there are no guards.
    Nothing,
    /// Stages whose function is a closure over the strategy.
    Closures,
    /// All stages, loops that are told the number of steps, and blocks that are swept in reverse.
    All,
}

impl InPlace {
    fn of<E: Engine>() -> Self {
        match (E::REPLAYS, TypeId::of::<E>() == TypeId::of::<E::Inner>()) {
            (false, _) => Self::Nothing,
            (true, false) => Self::Closures,
            (true, true) => Self::All,
        }
    }

    /// Whether it has this operation in place.
    pub(crate) fn has(self, op: &Op) -> bool {
        match op {
            Op::Stage(StageKind::Checkpoint | StageKind::Tuple, _) | Op::Block(BlockKind::Reverse, _) => {
                self == Self::All
            }
            Op::Stage(..) => self != Self::Nothing,
            Op::Loop(plan, _) => self == Self::All && plan.is_told(),
            _ => false,
        }
    }
}

/// A strategy under which cases are run.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Cases under it.
    pub(crate) double: fn(&Case) -> Vec<Event>,
    pub(crate) single: Option<fn(&Case) -> Vec<Event>>,
    /// Whether recordings can be replayed.
    pub(crate) replays: bool,
    /// What recordings with guards have in place.
    pub(crate) in_place: fn() -> InPlace,
    /// Whether it has the statements of the library's table of functions.
    pub(crate) functions: bool,
}

/// Lists strategies: `[Jacobian<V>] single;` becomes `Row { name: "Jacobian<V>", double: run::<Jacobian<f64>>, … }`.
macro_rules! subjects {
    ($($(#[$attribute:meta])* [$($strategy:tt)*] $($single:ident)?;)*) => {
        pub(crate) const SUBJECTS: &[Row] = &[$(
            $(#[$attribute])*
            {
                type Under<V> = $($strategy)*;
                Row {
                    name: stringify!($($strategy)*),
                    double: run::<Under<f64>>,
                    single: subjects!(@ $($single)?),
                    replays: Under::<f64>::REPLAYS,
                    in_place: InPlace::of::<Under<f64>>,
                    functions: Under::<f64>::FUNCTIONS,
                }
            },
        )*];
    };
    (@) => { None };
    (@ single) => { Some(run::<Under<Single>>) };
}

/// Numbers of cases in single precision, of which there are none without the feature `wide`.
#[cfg(feature = "wide")]
pub(crate) type Single = f32;
#[cfg(not(feature = "wide"))]
pub(crate) type Single = f64;

// In single precision one strategy of each kind, each index manager and each layer: what is compiled for a width is
// arithmetic, and the length of records.
subjects! {
    [Jacobian<V, Reuse, Spilled<Tight>>] single;
    [PrimalValue<V, Linear>] single;
    [Hybrid<V, Linear>] single;
    [Continuation<V, Reuse>] single;
    #[cfg(feature = "wide")] [PrimalValue<V, Linear, Shared>] single;
    #[cfg(feature = "wide")] [Jacobian<V, Linear, InMemory>];
    #[cfg(feature = "wide")] [PrimalValue<V, Reuse>];
    #[cfg(feature = "wide")] [Jacobian<V, Linear<u64>>];
    #[cfg(feature = "wide")] [Jacobian<V, Linear, Shared>];
    #[cfg(feature = "wide")] [Jacobian<V, Linear, Spilled<Tight>>];
    #[cfg(feature = "wide")] [Jacobian<V, Reuse>];
    #[cfg(feature = "wide")] [PrimalValue<V, Linear, Spilled<Tight>>];
    #[cfg(feature = "wide")] [PrimalValue<V, Reuse, Spilled<Tight>>];
    #[cfg(feature = "wide")] [Hybrid<V, Reuse>];
    #[cfg(feature = "wide")] [Hybrid<V, Reuse, Spilled<Tight>>];
    #[cfg(feature = "wide")] [Continuation<V, Linear>];
}

/// Whether using this variable in an evaluation inside panics.
pub(crate) fn leaks<S: Subject>(x: &Real<S>) -> bool {
    catch_unwind(AssertUnwindSafe(|| S::confuse(x))).is_err()
}

/// Strategies with a tape, and the strategies of their stages. The row `Jacobian<V> => PrimalValue<V>;` becomes
/// `impl<V: Width> Subject for Jacobian<V> { type Inner = PrimalValue<V>; … }` and an implementation of `Engine`. Those
/// behind `expressions` do not have the statements of the library's table of functions.
macro_rules! engines {
    ($($statements:ident { $($strategy:ty => $inner:ty $(, $($can:ident)+)?;)* })*) => { $($(
        impl<V: Width> Subject for $strategy {
            engines! { @ $statements }
            const TAPED: bool = true;
            type Inner = $inner;
            $($(engines! { @ as_subject $can })+)?
            fn closure_stage(inside: Inside<Self>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
                closure_stage(move |x: &Vec<Real<Self>>| inside.run(x), inputs)
            }
            fn is_constant(x: &Real<Self>) -> bool {
                Self::locate(x.id()).is_none()
            }
            fn confuse(x: &Real<Self>) {
                Tape::<Self>::new().record(|scope| _ = (scope.input(x.peek()) * x).eval());
            }
        }
        impl<V: Width> Engine for $strategy {
            $($(engines! { @ as_engine $can })+)?
        }
    )*)* };
    (@ all) => {};
    (@ expressions) => {
        const FUNCTIONS: bool = false;
        fn function(k: usize, _: [&Real<Self>; 3], _: f64) -> Real<Self> {
            unreachable!("function {k} of the table under a strategy without it")
        }
    };
    (@ as_subject replays) => {};
    (@ as_subject launches) => {
        const COUNTS: bool = true;
        const INLINE: bool = true;
        fn launch(host: &mut Host<Self>, step: &Step) -> Vec<Real<Self>> {
            V::launch(host, step)
        }
    };
    (@ as_engine launches) => {};
    (@ as_engine replays) => {
        const REPLAYS: bool = true;
        fn set_guards(tape: &mut Tape<Self>, keep: bool) {
            tape.set_guards(keep);
        }
        fn replay(tape: &mut Tape<Self>, inputs: &[(&Real<Self>, V)]) -> Result<(), Error> {
            tape.replay(inputs)
        }
        fn value_of(tape: &Tape<Self>, variable: &Real<Self>) -> Result<V, Error> {
            tape.value_of(variable)
        }
    };
}

// Stages of strategies with all statements are recorded under such strategies, those of the first rows of `SUBJECTS`
// under one another: otherwise more would be compiled in single precision, and without the feature `wide`. One strategy
// with replays has stages of its own, which a recording with guards has in place.
engines! {
    all {
        PrimalValue<V, Linear> => PrimalValue<V, Linear>, replays launches;
        Continuation<V, Reuse> => Hybrid<V, Linear>;
        Hybrid<V, Linear> => PrimalValue<V, Linear>;
        Jacobian<V, Linear, InMemory> => PrimalValue<V, Reuse>;
        PrimalValue<V, Reuse> => Jacobian<V, Reuse>;
        Jacobian<V, Reuse> => Hybrid<V, Reuse>;
        Hybrid<V, Reuse> => Continuation<V, Linear>;
        Continuation<V, Linear> => Jacobian<V, Linear>;
    }
    expressions {
        Jacobian<V, Reuse, Spilled<Tight>> => Continuation<V, Reuse>;
        PrimalValue<V, Linear, Shared> => Jacobian<V, Reuse, Spilled<Tight>>, replays;
        Jacobian<V, Linear<u64>> => PrimalValue<V, Linear, Shared>;
        Jacobian<V, Linear, Shared> => Continuation<V, Linear>;
        Jacobian<V, Linear, Spilled<Tight>> => Hybrid<V, Reuse>;
        PrimalValue<V, Linear, Spilled<Tight>> => Continuation<V, Reuse>, replays;
        PrimalValue<V, Reuse, Spilled<Tight>> => PrimalValue<V, Linear>;
        Hybrid<V, Reuse, Spilled<Tight>> => Jacobian<V, Linear>;
    }
}

impl<V: Width + InRegisters> Subject for Instructions<V> {
    const TAPED: bool = true;
    const COUNTS: bool = true;
    const NESTS: bool = false;
    type Inner = Self;
    fn closure_stage(inside: Inside<Self>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
        closure_stage(move |x: &Vec<Real<Self>>| inside.run(x), inputs)
    }
    fn apart(host: &mut Host<Self>, step: &Step) -> Vec<Real<Self>> {
        launches::apart(host, step)
    }
    fn launch(host: &mut Host<Self>, step: &Step) -> Vec<Real<Self>> {
        V::launch(host, step)
    }
    fn confuse(_: &Real<Self>) {}
}

impl<V: Width> Subject for Passive<V> {
    const TAPED: bool = false;
    const INLINE: bool = true;
    type Inner = Hybrid<V, Linear>;
    fn closure_stage(inside: Inside<Self>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
        inside.run(inputs)
    }
    fn launch(host: &mut Host<Self>, step: &Step) -> Vec<Real<Self>> {
        V::launch(host, step)
    }
    fn confuse(_: &Real<Self>) {}
}

impl<V: Width, const N: usize> Subject for Tangent<N, V> {
    const TAPED: bool = false;
    type Inner = PrimalValue<V, Linear>;
    fn closure_stage(inside: Inside<Self>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
        let (body, again) = (Arc::clone(&inside.body), inside.body);
        let taped = move |x: &Vec<Real<Self::Inner>>| run_body(&again, x);
        Stage::<Self::Inner>::new().run(inputs, |x| run_body(&body, x), taped)
    }
    fn confuse(x: &Real<Self>) {
        derivative::<Self>(|y| (y * x).eval(), x.peek());
    }
}
