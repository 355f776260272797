//! Plain arithmetic without a tape.

use crate::contract::Variable;
use crate::policy::Strict;
use crate::{External, Nary, Number, Statement, Taping};
use core::marker::PhantomData;

/// Plain arithmetic: a variable is laid out as its value, nothing is recorded, and code runs at the speed of floats.
///
/// The primal of a generic function is that function under `Passive`. `Passive` does not implement
/// [`Reverse`](crate::Reverse), so asking it for a gradient does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Passive<V = f64>(PhantomData<V>);

impl<V: Number> Variable<V, ()> for V {
    #[inline(always)]
    fn new(value: V, (): ()) -> Self {
        value
    }
    #[inline(always)]
    fn value(&self) -> V {
        *self
    }
    #[inline(always)]
    fn id(&self) -> &() {
        &()
    }
}

impl<V: Number> Taping for Passive<V> {
    type Value = V;
    type Id = ();
    type Raw = ();
    type Variable = V;
    type Policy = Strict;

    #[inline(always)]
    fn passive() {}

    #[inline(always)]
    fn raw((): &()) {}

    #[inline(always)]
    fn record<N: Statement<Self>>(_: &N) {}

    #[inline(always)]
    fn record_nary<R: Nary<V>>(_: &[&[V]], _: &[V], _: V) {}

    #[inline(always)]
    fn is_active(_: &[(V, &())]) -> bool {
        false
    }

    fn record_external(_: &[(V, &())], outputs: &[V], _: Box<dyn External<V>>, each: &mut dyn FnMut(V, ())) {
        outputs.iter().for_each(|value| each(*value, ()));
    }
}
