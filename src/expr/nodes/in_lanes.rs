//! Partials lane by lane.

use tapewright_strategies::contract::Sink;
use tapewright_strategies::policy::is_singular;
use tapewright_strategies::rules::{Function, Operator};
use tapewright_strategies::{Number, Taping, Ternary};

/// A sink that counts partials in some lanes only, and passes on 0 in the others.
pub(crate) struct InLanes<'a, S: Taping> {
    pub(crate) sink: &'a mut dyn Sink<S>,
    pub(crate) counts: &'a dyn Fn(usize) -> bool,
}

impl<S: Taping> InLanes<'_, S> {
    fn only(&self, partial: S::Value) -> S::Value {
        S::Value::from_lanes(|k| if (self.counts)(k) { partial.lane(k) } else { Number::ZERO })
    }
}

impl<S: Taping> Sink<S> for InLanes<'_, S> {
    fn factor(&mut self, factor: S::Value) {
        self.sink.factor(self.only(factor));
    }
    fn leaf(&mut self, partial: S::Value, id: S::Raw) {
        self.sink.leaf(self.only(partial), id);
    }
    fn singular(&mut self, function: &'static str, leaves: usize) {
        self.sink.singular(function, leaves);
    }
    fn counts(&self, lane: usize) -> bool {
        (self.counts)(lane) && self.sink.counts(lane)
    }
}

/// Returns true if the function `O` of one argument is singular in a lane.
#[inline(always)]
pub(crate) fn is_singular_of_one<S: Taping, O: Function>(
    partial: S::Value,
    x: S::Value,
    value: S::Value,
    lane: usize,
) -> bool {
    let x = x.lane(lane);
    is_singular::<S::Policy, _>(partial.lane(lane), &[x], value.lane(lane), || O::singular(x.as_f64()))
}

/// Returns true if the function `O` of two arguments is singular in a lane.
#[inline(always)]
pub(crate) fn is_singular_of_two<S: Taping, O: Operator>(
    partial: S::Value,
    (x, y): (S::Value, S::Value),
    value: S::Value,
    lane: usize,
) -> bool {
    let (x, y) = (x.lane(lane), y.lane(lane));
    let is_pole = || O::singular(x.as_f64(), y.as_f64());
    is_singular::<S::Policy, _>(partial.lane(lane), &[x, y], value.lane(lane), is_pole)
}

/// Returns true if the function `R` of three arguments is singular in a lane.
#[inline(always)]
pub(crate) fn is_singular_of_three<S: Taping, R: Ternary>(
    partial: S::Value,
    arguments: [S::Value; 3],
    value: S::Value,
    lane: usize,
) -> bool {
    let arguments = arguments.map(|x| x.lane(lane));
    let is_pole = || {
        let [x, y, z] = arguments.map(Number::as_f64);
        R::singular(x, y, z)
    };
    is_singular::<S::Policy, _>(partial.lane(lane), &arguments, value.lane(lane), is_pole)
}
