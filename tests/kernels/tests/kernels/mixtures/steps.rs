//! Programs: steps that are chosen by chance, and the kernels, once for views and once for scalar statements.

use core::ops::Range;
use tapewright::Number;
use tapewright::prelude::*;
use tapewright_test_support::Random;

pub(super) type Shape = [usize; 4];

/// A number that is infinite, NaN or 0, or now and then this one.
pub(super) fn odd<V: Number>(random: &mut Random, usual: V) -> V {
    let odd = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0];
    odd.get(random.below(40)).map_or(usual, |odd| V::from_f64(*odd))
}

/// A number between −0.6 and 0.6.
pub(super) fn number<V: Number>(random: &mut Random) -> V {
    V::from_f64(random.float(-0.6, 0.6))
}

/// What a step over variables makes of an element.
pub(super) fn around<S: Taping>(random: &mut Random, x: Real<S>, number: Real<S>) -> Real<S> {
    match random.below(4) {
        0 => Real::constant(x.value()),
        1 => number,
        2 => (x * number).eval(),
        _ => x,
    }
}

pub(super) const KINDS: [&str; 27] = [
    "counted",
    "far",
    "round",
    "zeros",
    "inside",
    "local",
    "linear",
    "chosen",
    "replaced",
    "both",
    "sum",
    "rows",
    "max",
    "min",
    "fold",
    "scan",
    "clone",
    "copy",
    "fill",
    "pick",
    "passive",
    "number",
    "slice",
    "add",
    "put",
    "variables",
    "row",
];

/// The steps whose partials are products of no two numbers that could be 0 and infinite, so that it does not matter how
/// many statements they are.
pub(super) const ODD_KINDS: [&str; 18] = [
    "round",
    "zeros",
    "inside",
    "linear",
    "replaced",
    "sum",
    "rows",
    "max",
    "min",
    "clone",
    "copy",
    "fill",
    "pick",
    "slice",
    "add",
    "put",
    "variables",
    "row",
];

/// A step of a program.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: &'static str,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) z: usize,
    pub(super) number: usize,
    pub(super) range: [Range<usize>; 4],
    pub(super) seed: u64,
    pub(super) a: usize,
    pub(super) b: usize,
}

/// The largest shifts of `inside` along each dimension, up and down.
const INSIDE: [(usize, usize); 4] = [(0, 0), (0, 1), (1, 0), (1, 2)];

impl Step {
    pub(super) fn random(random: &mut Random, shape: Shape, kinds: &[&'static str]) -> Self {
        let [x, y] = [random.below(3), random.below(3)];
        let kind = kinds[random.below(kinds.len())];
        let kind = if kind == "row" && random.below(2) == 0 { "column" } else { kind };
        let may_be_empty = !matches!(kind, "max" | "min" | "rows" | "slice" | "sum");
        let mut along = |length: usize| {
            let [a, b] = [random.below(length + 1), random.below(length + 1)];
            if random.below(2) == 0 || a == b && !may_be_empty { 0..length } else { a.min(b)..a.max(b) }
        };
        let range = shape.map(&mut along);
        let (number, seed) = (random.below(2), random.below(1 << 30) as u64);
        Self { kind, x, y, z: (y + 1) % 3, number, range, seed, a: random.below(997), b: random.below(997) }
    }

    /// The part of the range where the kernel's reads without border rules are inside the views.
    pub(super) fn inside(&self, shape: Shape) -> [Range<usize>; 4] {
        if self.kind != "inside" {
            return self.range.clone();
        }
        core::array::from_fn(|d| {
            let (start, end) = (self.range[d].start.max(INSIDE[d].0), self.range[d].end);
            let end = end.min(shape[d].saturating_sub(INSIDE[d].1));
            if start < end { start..end } else { 0..0 }
        })
    }

    /// One over the number of points.
    pub(super) fn scale(&self) -> f64 {
        1.0 / self.range.iter().map(|range| range.len()).product::<usize>() as f64
    }

    pub(super) fn place(&self, shape: Shape) -> usize {
        self.a % shape.iter().product::<usize>()
    }

    pub(super) fn constants<V: Number>(&self, shape: Shape) -> Vec<V> {
        let mut random = Random::new(self.seed);
        (0..shape.iter().product()).map(|_| number(&mut random)).collect()
    }

    /// The range, and one of the same shape.
    pub(super) fn parts(&self, shape: Shape) -> ([Range<usize>; 4], [Range<usize>; 4]) {
        let mut random = Random::new(self.seed);
        let to = core::array::from_fn(|d| {
            let start = random.below(shape[d] - self.range[d].len() + 1);
            start..start + self.range[d].len()
        });
        (self.range.clone(), to)
    }

    /// The range whose rows are added up, and where the sums go.
    pub(super) fn rows(&self, shape: Shape) -> ([Range<usize>; 4], [Range<usize>; 4]) {
        let (range, mut to) = self.parts(shape);
        let last = self.a % shape[3];
        to[3] = last..last + 1;
        (range, to)
    }

    /// Places, some perhaps twice: as many as `scattered` with repetitions has, or without.
    pub(super) fn gathered(&self, shape: Shape) -> Vec<usize> {
        let n: usize = shape.iter().product();
        let mut random = Random::new(self.seed);
        (0..=self.a % n).map(|_| random.below(n)).collect()
    }

    /// Places, each at most three times, or once.
    pub(super) fn scattered(&self, shape: Shape, repeated: bool) -> Vec<usize> {
        let n: usize = shape.iter().product();
        let mut random = Random::new(self.seed + 1);
        let mut all: Vec<usize> = (0..if repeated { 3 * n } else { n }).map(|k| k % n).collect();
        (1..all.len()).for_each(|k| all.swap(k, random.below(k + 1)));
        all.truncate(1 + self.a % n);
        all
    }
}

/// Kernels that write one view, for views in a module `views` and for statements in a module `plain`.
///
/// Values stay below 0.7 and the sums of the partials' absolute values below 1.05, so that adjoints do not grow.
macro_rules! kernels {
    ($($name:ident = |$x:ident, $y:ident, $s:ident| $body:expr;)*) => {
        pub(super) mod views {
            use core::ops::Range;
            use tapewright::kernels::{Term, View, parallel_for};
            use tapewright::prelude::*;
            use tapewright::strategies::kernel::ir::Node;

            /// e/(1 + e²).
            fn around(e: Term<impl Node>) -> Term<impl Node> {
                e.bind::<0, _>(|e| e / (1.0 + e * e))
            }

            $(fn $name<S: Taping>(at: [Range<usize>; 4], x: &View<S, 4>, y: &mut View<S, 4>, s: &Real<S>) {
                #[allow(unused_variables, reason = "an operand may be left out")]
                parallel_for(at, (x, y, s), |($x, $y, $s)| ($body,));
            })*

            pub(in super::super) type Map<S> = fn([Range<usize>; 4], &View<S, 4>, &mut View<S, 4>, &Real<S>);
            pub(in super::super) fn maps<S: Taping>(kind: &str) -> Option<Map<S>> {
                match kind {
                    $(stringify!($name) => Some($name),)*
                    _ => None,
                }
            }
        }
        pub(super) mod plain {
            pub(in super::super) use super::reductions::*;
            use crate::oracle::{Number, Token};
            use tapewright::prelude::*;

            $(fn $name<S: Strategy>($x: Token<'_, S, 4>, $y: Token<'_, S, 4>, $s: Number<S>) -> Number<S> {
                _ = ($x, $y, $s);
                $body
            })*

            type Map<S> = fn(Token<'_, S, 4>, Token<'_, S, 4>, Number<S>) -> Number<S>;
            pub(in super::super) fn maps<S: Strategy>(kind: &str) -> Option<Map<S>> {
                match kind {
                    $(stringify!($name) => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

kernels! {
    far = |x, y, s| {
        around(0.4 * x.nearest::<7, -7, 3, -1>() * y.nearest::<-2, 0, 1, 5>() + 0.2 * x.at::<0, 0, 0, 0>() * s + 0.1)
    };
    round = |x, y, s| 0.4 * x.periodic::<-7, 2, 0, -7>() - 0.3 * y.periodic::<1, -1, 7, 3>() * s;
    zeros = |x, y, _s| {
        0.4 * x.or_zero::<0, 0, -1, 7>() + 0.3 * y.or_zero::<0, 1, 0, -3>() * x.at::<0, 0, 0, 0>()
            - 0.25 * y.or_zero::<-1, 0, 0, 0>()
    };
    inside = |x, y, _s| {
        0.3 * y.at::<0, 0, 0, 0>() * (x.at::<0, 0, -1, 0>() + x.at::<0, 1, 0, 2>()) + 0.2 * y.at::<0, 0, 0, -1>()
    };
    local = |_x, y, s| 0.6 * y.at::<0, 0, 0, 0>() * y.at::<0, 0, 0, 0>() * s + 0.2 * y.at::<0, 0, 0, 0>();
    linear = |x, y, _s| {
        0.3 * y.nearest::<0, 0, 0, 1>() + 0.3 * y.or_zero::<0, 0, 2, -1>() - 0.3 * x.periodic::<0, 0, 0, -2>()
    };
    chosen = |x, y, s| {
        let here = x.at::<0, 0, 0, 0>();
        here.ge(y.periodic::<0, 0, 1, 0>()).select(0.5 * here * s, (0.4 * y.nearest::<0, 1, 0, 0>()).max(here * 0.25))
    };
    counted = |x, y, s| {
        let (i, j) = (x.index::<3>(), x.index::<1>());
        let here = 0.5 * y.periodic::<0, 0, 0, 1>() / (1.0 + i);
        here.lt(s).and(i.eq(j).not()).select(here, 0.4 * x.or_zero::<0, 1, 0, -1>() * (0.1 * i * j).sin())
    };
    replaced = |_x, _y, s| 0.7 * s;
}

/// The other kernels by statements.
mod reductions {
    use crate::oracle::{Number, Token};
    use tapewright::prelude::*;

    pub(in super::super) fn around<S: Strategy>(e: Number<S>) -> Number<S> {
        e / (1.0 + e * e)
    }
    pub(in super::super) fn first<S: Strategy>(x: Token<'_, S, 4>, y: Token<'_, S, 4>) -> Number<S> {
        0.5 * x.at::<0, 0, 0, 0>() * y.at::<0, 0, 0, 0>() + 0.2 * x.nearest::<0, 0, 1, -1>()
    }
    pub(in super::super) fn second<S: Strategy>(
        z: Token<'_, S, 4>,
        y: Token<'_, S, 4>,
        new: Number<S>,
        s: Number<S>,
    ) -> Number<S> {
        0.3 * new * z.at::<0, 0, 0, 0>() + 0.2 * s * y.or_zero::<0, -1, 0, 1>()
    }
    pub(in super::super) fn term<S: Strategy>(
        x: Token<'_, S, 4>,
        y: Token<'_, S, 4>,
        s: Number<S>,
        scale: f64,
    ) -> Number<S> {
        scale * (x.nearest::<1, 0, 0, -2>() * y.periodic::<0, -1, 0, 3>() + 0.3 * s * x.or_zero::<0, 0, 1, 1>())
    }
    pub(in super::super) fn rule<S: Strategy>(a: Number<S>, b: Number<S>) -> Number<S> {
        0.5 * a + 0.3 * b * a
    }
}
