//! What programs need of a strategy beyond what all strategies have.

use crate::event::Event;
use crate::fuzz::run;
use crate::host::run_body;
use crate::program::{Body, Case};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tapewright::checkpoint::{Stage, closure_stage};
use tapewright::policy::Strict;
use tapewright::storage::{SpillDefaults, SpillOptions};
use tapewright::strategies::Plain;
use tapewright::{
    Continuation, Error, Hybrid, InMemory, Jacobian, Linear, Passive, PrimalValue, Real, Reuse, Reverse, Shared,
    Spilled, Tangent, Tape, Taping, derivative,
};

/// A few slabs in memory, so that records leave it.
#[derive(Debug)]
pub struct Tight;
impl SpillDefaults for Tight {
    fn options() -> SpillOptions {
        SpillOptions::default().slab(16 << 10).memory(4 * (20 << 10))
    }
}

/// A strategy under which programs run.
pub trait Subject: Taping<Value: Plain, Policy = Strict> {
    /// Whether variables are recorded.
    const TAPED: bool;
    /// Whether a variable of one evaluation panics in another one.
    const TELLS_LEVELS: bool;
    /// The strategy of stages, of blocks and of recordings inside.
    type Inner: Subject<Value = Self::Value> + Reverse;

    /// A stage whose function is a closure over this strategy.
    #[allow(clippy::ptr_arg, reason = "vectors are variables, slices are not")]
    fn closure_stage(body: Arc<Body>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>>;

    /// Whether a recording takes it for a constant, paused or not.
    fn is_constant(x: &Real<Self>) -> bool {
        let _ = x;
        false
    }

    /// Computes with this variable and one of an evaluation inside, which panics unless this one is passive.
    fn confuse(x: &Real<Self>);
}

/// A strategy whose tapes are tested.
pub trait Engine: Subject + Reverse {
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

/// A strategy's name, cases under it in double and single precision, and whether recordings can be replayed.
pub(crate) type Row = (&'static str, fn(&Case) -> Vec<Event>, fn(&Case) -> Vec<Event>, bool);

/// Lists strategies: `Jacobian<V>` becomes `("Jacobian<V>", run::<Jacobian<f64>>, run::<Jacobian<f32>>, false)`.
macro_rules! subjects {
    ($($(#[$attribute:meta])* [$($strategy:tt)*];)*) => {
        pub(crate) const SUBJECTS: &[Row] = &[$(
            $(#[$attribute])*
            { type Under<V> = $($strategy)*; (stringify!($($strategy)*), run::<Under<f64>>, run::<Under<Single>>, Under::<f64>::REPLAYS) },
        )*];
    };
}

/// Numbers of cases in single precision, of which there are none without the feature `wide`.
#[cfg(feature = "wide")]
type Single = f32;
#[cfg(not(feature = "wide"))]
type Single = f64;

subjects! {
    #[cfg(feature = "wide")] [Jacobian<V, Linear, InMemory>];
    [Jacobian<V, Reuse, Spilled<Tight>>];
    [PrimalValue<V, Linear>];
    #[cfg(feature = "wide")] [PrimalValue<V, Reuse>];
    #[cfg(feature = "wide")] [Hybrid<V, Linear>];
    [Continuation<V, Reuse>];
    #[cfg(feature = "wide")] [Jacobian<V, Linear<u64>>];
    #[cfg(feature = "wide")] [Jacobian<V, Linear, Shared>];
    #[cfg(feature = "wide")] [Jacobian<V, Linear, Spilled<Tight>>];
    #[cfg(feature = "wide")] [Jacobian<V, Reuse>];
    #[cfg(feature = "wide")] [PrimalValue<V, Linear, Shared>];
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
/// `impl<V: Plain> Subject for Jacobian<V> { type Inner = PrimalValue<V>; … }` and an implementation of `Engine`.
macro_rules! engines {
    ($($strategy:ty => $inner:ty $(, $replays:ident)?;)*) => { $(
        impl<V: Plain> Subject for $strategy {
            const TAPED: bool = true;
            const TELLS_LEVELS: bool = true;
            type Inner = $inner;
            fn closure_stage(body: Arc<Body>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
                closure_stage(move |x: &Vec<Real<Self>>| run_body(&body, x), inputs)
            }
            fn is_constant(x: &Real<Self>) -> bool {
                Self::locate(x.id()).is_none()
            }
            fn confuse(x: &Real<Self>) {
                Tape::<Self>::new().record(|scope| _ = (scope.input(x.value()) * x).eval());
            }
        }
        impl<V: Plain> Engine for $strategy {
            $(engines! { @ $replays })?
        }
    )* };
    (@ replays) => {
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

engines! {
    Jacobian<V, Linear, InMemory> => PrimalValue<V, Reuse>;
    Jacobian<V, Linear<u64>> => PrimalValue<V, Linear>;
    Jacobian<V, Linear, Shared> => Continuation<V, Linear>;
    Jacobian<V, Linear, Spilled<Tight>> => Hybrid<V, Reuse>;
    Jacobian<V, Reuse> => Jacobian<V, Linear>;
    Jacobian<V, Reuse, Spilled<Tight>> => Hybrid<V, Linear>;
    PrimalValue<V, Linear> => Jacobian<V, Reuse, Spilled<Tight>>, replays;
    PrimalValue<V, Linear, Shared> => Jacobian<V, Linear>, replays;
    PrimalValue<V, Linear, Spilled<Tight>> => Continuation<V, Reuse>, replays;
    PrimalValue<V, Reuse> => Continuation<V, Reuse>;
    PrimalValue<V, Reuse, Spilled<Tight>> => PrimalValue<V, Linear>;
    Hybrid<V, Linear> => PrimalValue<V, Reuse>;
    Hybrid<V, Reuse> => Hybrid<V, Linear>;
    Hybrid<V, Reuse, Spilled<Tight>> => Jacobian<V, Linear>;
    Continuation<V, Linear> => Jacobian<V, Linear>;
    Continuation<V, Reuse> => Hybrid<V, Linear>;
}

impl<V: Plain> Subject for Passive<V> {
    const TAPED: bool = false;
    const TELLS_LEVELS: bool = false;
    type Inner = Jacobian<V, Reuse, Spilled<Tight>>;
    fn closure_stage(body: Arc<Body>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
        run_body(&body, inputs)
    }
    fn confuse(_: &Real<Self>) {}
}

impl<V: Plain, const N: usize> Subject for Tangent<N, V> {
    const TAPED: bool = false;
    const TELLS_LEVELS: bool = true;
    type Inner = PrimalValue<V, Reuse>;
    fn closure_stage(body: Arc<Body>, inputs: &Vec<Real<Self>>) -> Vec<Real<Self>> {
        let again = Arc::clone(&body);
        let taped = move |x: &Vec<Real<Self::Inner>>| run_body(&again, x);
        Stage::<Self::Inner>::new().run(inputs, |x| run_body(&body, x), taped)
    }
    fn confuse(x: &Real<Self>) {
        derivative::<Self>(|y| (y * x).eval(), x.value());
    }
}
