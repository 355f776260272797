//! Expressions of the oracle: they have the operators and methods of expressions of the library.

use super::binary::{self, Bin};
use super::functions::Rule;
use super::number::{Num, round};
use super::unary::{self, Un};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

thread_local! {
    /// What comparisons of variables, and steps, came out as.
    static GUARDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static NAN_SIGN: Cell<bool> = const { Cell::new(false) };
}

/// Notes an outcome.
pub(crate) fn guard(active: bool, outcome: u64) {
    if active {
        GUARDS.with_borrow_mut(|guards| guards.push(outcome));
    }
}

/// Puts back what was taken.
pub(crate) fn put_guards(guards: Vec<u64>) {
    GUARDS.set(guards);
}

/// Takes what was noted.
pub(crate) fn take_guards() -> Vec<u64> {
    GUARDS.take()
}

/// Whether the sign of a NaN, which is not defined, has decided anything since this was asked last.
pub(crate) fn take_nan_sign() -> bool {
    NAN_SIGN.take()
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Node(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    value: Num,
    /// Whether it depends on a variable that is not passive.
    active: bool,
    /// Whether it is a part of the statement above it also in closed arithmetic.
    part: bool,
    kind: Kind,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A variable, by number.
    Leaf(usize),
    /// A number.
    Literal,
    /// A function of an expression.
    Un(Un, Node),
    /// A function of two.
    Bin(Bin, Node, Node),
    /// A rule of some.
    Rule(Rule, Vec<Node>),
}

fn node(value: Num, active: bool, kind: Kind) -> Node {
    Node(Rc::new(Inner { value, active, part: false, kind }))
}

/// A passive variable, which in an expression is as a literal.
pub(crate) fn passive(c: f64) -> Node {
    Node::from(c)
}

/// The larger one rounded off.
pub(crate) fn smooth_max(x: &Node, y: &Node, w: f64) -> Node {
    bin(Bin::Max, x, y) + bin(Bin::Rounding, bin(Bin::Apart, x, y), w)
}

/// The smaller one rounded off.
pub(crate) fn smooth_min(x: &Node, y: &Node, w: f64) -> Node {
    bin(Bin::Min, x, y) - bin(Bin::Rounding, bin(Bin::Apart, y, x), w)
}

/// x·exp(−x²).
pub(crate) fn wave(x: impl Into<Node>) -> Node {
    un(Un::Wave, x)
}

/// x²·y.
pub(crate) fn square_times(x: impl Into<Node>, y: impl Into<Node>) -> Node {
    bin(Bin::SquareTimes, x, y)
}

impl Node {
    /// A variable.
    pub(crate) fn variable(number: usize, value: Num, active: bool) -> Self {
        node(value, active, Kind::Leaf(number))
    }

    pub(crate) fn value(&self) -> Num {
        self.0.value
    }

    pub(crate) fn is_active(&self) -> bool {
        self.0.active
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    pub(crate) fn is_part(&self) -> bool {
        self.0.part
    }

    /// The same as a part of the statement above it.
    fn part(self) -> Self {
        let Inner { value, active, kind, .. } = &*self.0;
        Self(Rc::new(Inner { value: *value, active: *active, part: true, kind: kind.clone() }))
    }

    /// Whether both are the same expression.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The active leaves, from left to right, with their partials. Expressions below this one for which `cut` gives
    /// something are leaves: that variable, or a passive one.
    pub(crate) fn partials(&self, cut: &mut dyn FnMut(&Self) -> Option<Option<usize>>) -> Vec<(usize, Num)> {
        let mut leaves = Vec::new();
        self.descend(Some(Num::ONE), &mut leaves, cut);
        leaves
    }

    /// Goes down with the derivative by this expression; `None` for one that was not selected.
    fn descend(
        &self,
        seed: Option<Num>,
        leaves: &mut Vec<(usize, Num)>,
        cut: &mut dyn FnMut(&Self) -> Option<Option<usize>>,
    ) {
        if let Some(variable) = cut(self) {
            leaves.extend(variable.map(|number| (number, seed.unwrap_or(Num::ZERO))));
            return;
        }
        match &self.0.kind {
            _ if !self.is_active() => {}
            Kind::Literal => {}
            Kind::Leaf(number) => leaves.push((*number, seed.unwrap_or(Num::ZERO))),
            Kind::Un(Un::Neg, x) => x.descend(seed.map(Num::neg), leaves, cut),
            Kind::Un(op, x) => x.descend(seed.map(|seed| seed.times(un_slope(*op, x.value()))), leaves, cut),
            Kind::Bin(op, x, y) => {
                let (left, right) = bin_slopes(*op, x.value(), y.value());
                let undecided = left.is_some() && right.is_some() && op.selects();
                let linear = matches!(op, Bin::Plus | Bin::Minus | Bin::Apart);
                let down = |slope: Option<Num>| match (seed, slope) {
                    (Some(seed), Some(slope)) if linear && slope.v < 0.0 => Some(-seed),
                    (Some(seed), Some(_)) if linear => Some(seed),
                    (Some(seed), Some(slope)) => Some(seed.times(slope)),
                    _ => None,
                };
                let first = leaves.len();
                x.descend(down(left), leaves, cut);
                y.descend(down(right), leaves, cut);
                if undecided {
                    // The slopes of the one that is not selected are 0, even below a NaN.
                    leaves[first..].iter_mut().for_each(|(_, partial)| *partial = Num::UNKNOWN);
                }
            }
            Kind::Rule(rule, arguments) => {
                let at: Vec<Num> = arguments.iter().map(Self::value).collect();
                for (k, x) in arguments.iter().enumerate() {
                    x.descend(seed.map(|seed| seed.times(rule.partial(&at, k))), leaves, cut);
                }
            }
        }
    }

    /// A step function: a passive number, of which comparisons are told.
    pub(super) fn step(&self, step: impl Fn(f64) -> f64) -> Self {
        let x = self.value();
        let at = step(x.v);
        let sure = x.is_exact() || (step(x.v - x.e) == at && step(x.v + x.e) == at);
        let value = if sure { Num::exact(at) } else { Num::UNKNOWN };
        guard(self.is_active(), if at.is_nan() { u64::MAX } else { at.to_bits() });
        node(value, false, Kind::Literal)
    }
}

fn un_slope(op: Un, x: Num) -> Num {
    around(x, |x| unary::slope(op, x))
}

fn un_value(op: Un, x: Num) -> Num {
    if op == Un::Neg { -x } else { around(x, |x| unary::value(op, x)) }
}

/// What `f` is at a number that is not known exactly; nothing is known where it may be 0, at which many functions have
/// poles.
fn around(x: Num, f: impl Fn(f64) -> Num) -> Num {
    let middle = f(x.v);
    if x.is_exact() || middle.is_unknown() {
        return middle;
    }
    if x.is_unknown() || x.is_zero().is_none() {
        return Num::UNKNOWN;
    }
    widened(middle, [f(x.v - x.e), f(x.v + x.e)])
}

/// A number that is known where its arguments are in the middle, given what it is at the ends of their ranges.
pub(super) fn widened(middle: Num, ends: impl IntoIterator<Item = Num>) -> Num {
    let spread = ends.into_iter().fold(0.0_f64, |most, end| {
        let distance = (end.v - middle.v).abs() + end.e;
        if distance.is_nan() { f64::INFINITY } else { most.max(distance) }
    });
    if !middle.v.is_finite() || spread == f64::INFINITY {
        return Num::UNKNOWN;
    }
    Num::within(middle.v, middle.e + 2.0 * spread)
}

/// Whether numbers may be where many functions have poles; logarithms have them at base 1, too, and remainders jump.
fn may_be_pole(op: Bin, x: Num, y: Num) -> bool {
    let is_near = op == Bin::Log && (y.v - 1.0).abs() <= y.e || op == Bin::Modulo && binary::jumps(x, y);
    x.is_zero().is_none() || y.is_zero().is_none() || is_near
}

/// [`around`] for two numbers.
fn around2(x: Num, y: Num, may_be_pole: bool, f: impl Fn(f64, f64) -> Num) -> Num {
    let middle = f(x.v, y.v);
    if (x.is_exact() && y.is_exact()) || middle.is_unknown() {
        return middle;
    }
    if x.is_unknown() || y.is_unknown() || may_be_pole {
        return Num::UNKNOWN;
    }
    let (a, b, c, d) = (x.v - x.e, x.v + x.e, y.v - y.e, y.v + y.e);
    widened(middle, [f(a, c), f(a, d), f(b, c), f(b, d)])
}

/// The slopes of a function; `None` for the argument that it does not return, if it returns one.
fn bin_slopes(op: Bin, x: Num, y: Num) -> (Option<Num>, Option<Num>) {
    if let Some(left) = binary::selects(op, x.v, y.v) {
        let chosen = |a: Num| if a.is_exact() && a.v.is_nan() { a } else { Num::ONE };
        // A number is told from NaN, too, whatever its error is.
        let (known, nan) = (!x.is_unknown() && !y.is_unknown(), x.v.is_nan() || y.v.is_nan());
        if (x.is_exact() && y.is_exact()) || (known && nan) || (x.v - y.v).abs() > x.e + y.e {
            return if left { (Some(chosen(x)), None) } else { (None, Some(chosen(y))) };
        }
        return (Some(Num::UNKNOWN), Some(Num::UNKNOWN));
    }
    match op {
        Bin::Times => (Some(y), Some(x)),
        Bin::Plus => (Some(Num::ONE), Some(Num::ONE)),
        Bin::Minus | Bin::Apart => (Some(Num::ONE), Some(-Num::ONE)),
        _ => {
            let may_be_pole = may_be_pole(op, x, y);
            let left = around2(x, y, may_be_pole, |x, y| binary::slopes(op, x, y).0);
            (Some(left), Some(around2(x, y, may_be_pole, |x, y| binary::slopes(op, x, y).1)))
        }
    }
}

pub(super) fn un(op: Un, x: impl Into<Node>) -> Node {
    let x = x.into();
    let (value, active) = (un_value(op, x.value()), x.is_active());
    node(value, active, Kind::Un(op, x))
}

pub(super) fn rule(rule: Rule, arguments: Vec<Node>) -> Node {
    let value = rule.value(&arguments.iter().map(Node::value).collect::<Vec<Num>>());
    let active = arguments.iter().any(Node::is_active);
    node(value, active, Kind::Rule(rule, arguments))
}

pub(super) fn bin(op: Bin, x: impl Into<Node>, y: impl Into<Node>) -> Node {
    let (x, y) = (x.into(), y.into());
    if op == Bin::CopySign && (y.value().is_unknown() || y.value().v.is_nan()) {
        NAN_SIGN.set(true);
    }
    let has_poles = !matches!(op, Bin::Plus | Bin::Minus | Bin::Times | Bin::Max | Bin::Min);
    let may_be_pole = has_poles && may_be_pole(op, x.value(), y.value());
    let value = around2(x.value(), y.value(), may_be_pole, |x, y| binary::value(op, x, y));
    let active = x.is_active() || y.is_active();
    node(value, active, Kind::Bin(op, x, y))
}

impl From<f64> for Node {
    fn from(number: f64) -> Self {
        node(Num::exact(round(number)), false, Kind::Literal)
    }
}

impl From<&Self> for Node {
    fn from(other: &Self) -> Self {
        other.clone()
    }
}

/// Implements an operator for all forms of operands. `Add add Plus AddAssign add_assign` becomes `impl<B: Into<Node>>
/// Add<B> for Node` and so on.
macro_rules! operators {
    ($($trait:ident $method:ident $op:ident $assign:ident $assign_method:ident;)*) => { $(
        impl<B: Into<Node>> $trait<B> for Node {
            type Output = Self;
            fn $method(self, right: B) -> Self { bin(Bin::$op, self, right) }
        }
        impl<B: Into<Node>> $trait<B> for &Node {
            type Output = Node;
            fn $method(self, right: B) -> Node { bin(Bin::$op, self, right) }
        }
        impl $trait<Node> for f64 {
            type Output = Node;
            fn $method(self, right: Node) -> Node { bin(Bin::$op, self, right) }
        }
        impl $trait<&Node> for f64 {
            type Output = Node;
            fn $method(self, right: &Node) -> Node { bin(Bin::$op, self, right) }
        }
        impl<B: Into<Node>> $assign<B> for Node {
            fn $assign_method(&mut self, right: B) { *self = bin(Bin::$op, &*self, right); }
        }
    )* };
}
operators! {
    Add add Plus AddAssign add_assign;
    Sub sub Minus SubAssign sub_assign;
    Mul mul Times MulAssign mul_assign;
    Div div Over DivAssign div_assign;
    Rem rem Modulo RemAssign rem_assign;
}

impl Neg for Node {
    type Output = Self;
    fn neg(self) -> Self {
        un(Un::Neg, self)
    }
}
impl Neg for &Node {
    type Output = Node;
    fn neg(self) -> Node {
        un(Un::Neg, self)
    }
}

impl Node {
    pub(crate) fn abs_sub(&self, y: impl Into<Self>) -> Self {
        bin(Bin::AbsSub, self, y)
    }

    pub(crate) fn powi(&self, n: i32) -> Self {
        un(Un::Powi(n), self)
    }

    pub(crate) fn clamp(&self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        bin(Bin::AtMost, bin(Bin::AtLeast, self, low).part(), high)
    }

    pub(crate) fn rem_euclid(&self, y: &Self) -> Self {
        let remainder = self % y;
        let below = remainder.value().v < 0.0;
        guard(remainder.is_active(), u64::from(below));
        if !(self.value().is_exact() && y.value().is_exact()) {
            return remainder * node(Num::UNKNOWN, false, Kind::Literal);
        }
        if below { remainder.part() + y.abs().part() } else { remainder }
    }

    pub(crate) fn div_euclid(&self, y: &Self) -> Self {
        let quotient = (self / y).trunc().value().v;
        let up = y.value().v > 0.0;
        guard(y.is_active(), u64::from(up));
        let remainder = self % y;
        let below = remainder.value().v < 0.0;
        guard(remainder.is_active(), u64::from(below));
        if !(self.value().is_exact() && y.value().is_exact()) {
            return node(Num::UNKNOWN, false, Kind::Literal);
        }
        let down = if up { 1.0 } else { -1.0 };
        Self::from(if below { quotient - down } else { quotient })
    }

    pub(crate) fn mul_add(&self, a: impl Into<Self>, b: impl Into<Self>) -> Self {
        self * a.into() + b.into()
    }

    pub(crate) fn assign(&mut self, other: impl Into<Self>) {
        *self = other.into();
    }
}
