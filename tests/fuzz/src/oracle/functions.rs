//! The functions of the library's table as methods of the oracle's expressions. Many have formulas of the oracle's own,
//! with the documented conventions. Of the others the rule itself is asked, so that what is done with its numbers is
//! tested to the last bit; the rule is compared with a formula where that is simple.

use super::binary::Bin;
use super::formulas::{Formula, formula};
use super::number::{Num, is_single, round, set_single};
use super::tree::{Node, bin, rule, un, widened};
use super::unary::Un;
use crate::shapes::Product;
use tapewright::strategies::{for_each_function, rules};
use tapewright::{Binary, Float, Ternary, Unary};

/// A rule of some arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Part 0 is the value; part k is the partial for argument number k, counted from 1.
    part: fn(&[f64], usize) -> f64,
    /// What it must be close to.
    formula: Option<Formula>,
}

impl Rule {
    /// The value at these numbers, which all computations of the library find.
    pub(super) fn value(self, x: &[Num]) -> Num {
        around(x, |x| self.believed(x, 0, Num::exact))
    }

    /// The partial for argument number `k`, from 0.
    pub(super) fn partial(self, x: &[Num], k: usize) -> Num {
        around(x, |x| self.believed(x, 1 + k, |partial| Num::near(partial, 16.0)))
    }

    /// A part as the rule says it, or as the formula does where that contradicts.
    fn believed(self, x: &[f64], part: usize, number: impl Fn(f64) -> Num) -> Num {
        let found = (self.part)(x, part);
        let own = self.formula.map_or(Num::UNKNOWN, |formula| formula(x, part));
        if own.agrees(found) { number(found) } else { own }
    }
}

/// What `f` is at numbers that are not known exactly; nothing is known where one may be 0, at which many functions have
/// poles.
fn around(x: &[Num], f: impl Fn(&[f64]) -> Num) -> Num {
    let middle: Vec<f64> = x.iter().map(|x| x.v).collect();
    let at = f(&middle);
    if x.iter().all(|x| x.is_exact()) {
        return at;
    }
    if x.iter().any(|x| x.is_unknown() || x.is_zero().is_none()) {
        return Num::UNKNOWN;
    }
    let corner = |bits: usize| {
        let side = |k: usize| if bits >> k & 1 == 0 { x[k].v - x[k].e } else { x[k].v + x[k].e };
        f(&(0..x.len()).map(side).collect::<Vec<f64>>())
    };
    widened(at, (0..1 << x.len()).map(corner))
}

/// Calls `$call::<V, rule>` in the library's precision.
macro_rules! in_precision {
    ($call:ident $rule:ident $x:ident $part:ident) => {
        if is_single() { $call::<f32, $rule>($x, $part) } else { $call::<f64, $rule>($x, $part) }
    };
}

fn one<R: Unary>(x: &[f64], part: usize) -> f64 {
    fn of<V: Float, R: Unary>(x: &[f64], part: usize) -> f64 {
        let x = V::from_f64(x[0]);
        let value = R::value(x);
        if part == 0 { value.as_f64() } else { R::derivative(x, value).as_f64() }
    }
    in_precision!(of R x part)
}

fn two<R: Binary>(x: &[f64], part: usize) -> f64 {
    fn of<V: Float, R: Binary>(x: &[f64], part: usize) -> f64 {
        let (x, y) = (V::from_f64(x[0]), V::from_f64(x[1]));
        let value = R::value(x, y);
        let found = match part {
            0 => value,
            1 => R::partial_left(x, y, value),
            _ => R::partial_right(x, y, value),
        };
        found.as_f64()
    }
    in_precision!(of R x part)
}

fn three<R: Ternary>(x: &[f64], part: usize) -> f64 {
    fn of<V: Float, R: Ternary>(x: &[f64], part: usize) -> f64 {
        let (x, y, z) = (V::from_f64(x[0]), V::from_f64(x[1]), V::from_f64(x[2]));
        let value = R::value(x, y, z);
        let found = match part {
            0 => value,
            1 => R::partial_first(x, y, z, value),
            2 => R::partial_second(x, y, z, value),
            _ => R::partial_third(x, y, z, value),
        };
        found.as_f64()
    }
    in_precision!(of R x part)
}

/// The functions of one argument that have formulas.
const UNARY: &[(&str, Un)] = &[
    ("abs", Un::Abs),
    ("sqrt", Un::Sqrt),
    ("cbrt", Un::Cbrt),
    ("recip", Un::Recip),
    ("exp", Un::Exp),
    ("exp2", Un::Exp2),
    ("exp_m1", Un::ExpM1),
    ("ln", Un::Ln),
    ("log2", Un::Log2),
    ("log10", Un::Log10),
    ("ln_1p", Un::Ln1p),
    ("sin", Un::Sin),
    ("cos", Un::Cos),
    ("tan", Un::Tan),
    ("asin", Un::Asin),
    ("acos", Un::Acos),
    ("atan", Un::Atan),
    ("sinh", Un::Sinh),
    ("cosh", Un::Cosh),
    ("tanh", Un::Tanh),
    ("asinh", Un::Asinh),
    ("acosh", Un::Acosh),
    ("atanh", Un::Atanh),
    ("to_degrees", Un::ToDegrees),
    ("to_radians", Un::ToRadians),
    ("fract", Un::Fract),
    ("erf", Un::Erf),
    ("erfc", Un::Erfc),
    ("gamma", Un::Gamma),
    ("ln_gamma", Un::LnGamma),
    ("digamma", Un::Digamma),
    ("normal_pdf", Un::NormalPdf),
    ("normal_cdf", Un::NormalCdf),
    ("normal_quantile", Un::NormalQuantile),
    ("sigmoid", Un::Sigmoid),
    ("softplus", Un::Softplus),
];

/// The functions of two arguments that have formulas.
const BINARY: &[(&str, Bin)] = &[
    ("powf", Bin::Pow),
    ("log", Bin::Log),
    ("hypot", Bin::Hypot),
    ("atan2", Bin::Atan2),
    ("max", Bin::Max),
    ("min", Bin::Min),
    ("copysign", Bin::CopySign),
    ("beta", Bin::Beta),
    ("log_add_exp", Bin::LogAddExp),
    ("smooth_abs", Bin::Hypot),
];

fn unary(name: &'static str, part: fn(&[f64], usize) -> f64, x: &Node) -> Node {
    match UNARY.iter().find(|row| row.0 == name) {
        Some((_, op)) => un(*op, x),
        None => rule(Rule { part, formula: formula(name) }, vec![x.clone()]),
    }
}

fn binary(name: &'static str, part: fn(&[f64], usize) -> f64, x: &Node, y: Node) -> Node {
    match BINARY.iter().find(|row| row.0 == name) {
        Some((_, op)) => bin(*op, x, y),
        None => rule(Rule { part, formula: formula(name) }, vec![x.clone(), y]),
    }
}

/// (x, y, z) ↦ x·y²·z.
pub(crate) fn product(x: impl Into<Node>, y: impl Into<Node>, z: impl Into<Node>) -> Node {
    rule(Rule { part: three::<Product>, formula: None }, vec![x.into(), y.into(), z.into()])
}

/// Methods for functions of the table. The row `sin: trigonometric::Sin, registers;` becomes `fn sin(&self) -> Node`.
macro_rules! methods {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        impl Node {
            $(pub(crate) fn $unary(&self) -> Self {
                unary(stringify!($unary), one::<rules::$f1::$r1>, self)
            })*
            $(pub(crate) fn $binary(&self, y: impl Into<Self>) -> Self {
                binary(stringify!($binary), two::<rules::$f2::$r2>, self, y.into())
            })*
            $(pub(crate) fn $ternary(&self, y: impl Into<Self>, z: impl Into<Self>) -> Self {
                let rule = Rule { part: three::<rules::$f3::$r3>, formula: formula(stringify!($ternary)) };
                super::tree::rule(rule, vec![self.clone(), y.into(), z.into()])
            })*
            $(pub(crate) fn $step(&self) -> Self { self.step(f64::$step) })*
        }
    };
}
for_each_function!(methods);

/// A row of the table: the name, the number of arguments, and the rule.
type Row = (&'static str, usize, fn(&[f64], usize) -> f64);

/// Makes a list of the rows of the table.
macro_rules! rows {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        const ROWS: &[Row] = &[
            $((stringify!($unary), 1, one::<rules::$f1::$r1>),)*
            $((stringify!($binary), 2, two::<rules::$f2::$r2>),)*
            $((stringify!($ternary), 3, three::<rules::$f3::$r3>),)*
        ];
    };
}
for_each_function!(rows);

/// Compares the rules with the formulas at some numbers, in one of the precisions: the first contradiction of each
/// part, and for each function for how many parts there was a formula. Those that are operations of the oracle are not
/// among them.
#[must_use]
pub fn compare_rules(points: &[[f64; 3]], single: bool) -> (Vec<String>, Vec<(&'static str, usize)>) {
    let has_operation = |name| UNARY.iter().any(|row| row.0 == name) || BINARY.iter().any(|row| row.0 == name);
    let (mut wrong, mut counts) = (Vec::new(), Vec::new());
    set_single(single);
    for (name, arguments, part) in ROWS.iter().filter(|row| !has_operation(row.0)) {
        let own = |x: &[f64], k: usize| formula(name).map_or(Num::UNKNOWN, |own| own(x, k));
        let mut count = 0;
        for k in 0..=*arguments {
            let known = points.iter().map(|x| x.map(round)).map(|x| (own(&x[..*arguments], k), x));
            let known: Vec<_> = known.filter(|(own, _)| !own.is_unknown()).collect();
            let found = |x: &[f64; 3]| part(&x[..*arguments], k);
            count += known.len();
            wrong.extend(known.iter().find(|(own, x)| !own.agrees(found(x))).map(|(own, x)| {
                format!("part {k} of {name} at {x:?} is {}, by the formula {} ± {}", found(x), own.v, own.e)
            }));
        }
        counts.push((*name, count));
    }
    set_single(false);
    (wrong, counts)
}
