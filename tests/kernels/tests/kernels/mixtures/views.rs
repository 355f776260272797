//! The steps by views.

use super::steps::{Shape, Step, around, views as kernels};
use tapewright::Number;
use tapewright::kernels::{
    Indices, View, deep_copy, fill, gather, parallel_fold, parallel_for, parallel_max, parallel_min, parallel_row_sums,
    parallel_scan, parallel_sum, scatter, scatter_add,
};
use tapewright::prelude::*;
use tapewright_test_support::Random;

/// Three views of one shape, and two numbers.
pub(super) struct Views<S: Taping> {
    pub(super) views: Vec<View<S, 4>>,
    pub(super) numbers: Vec<Real<S>>,
}

impl<S: Taping> Clone for Views<S> {
    fn clone(&self) -> Self {
        Self { views: self.views.clone(), numbers: self.numbers.clone() }
    }
}

/// The expression of reductions.
macro_rules! term {
    ($scale:ident) => {
        |(x, y, s)| {
            let product = x.nearest::<1, 0, 0, -2>() * y.periodic::<0, -1, 0, 3>();
            $scale * (product + 0.3 * s * x.or_zero::<0, 0, 1, 1>())
        }
    };
}

impl<S: Taping> Views<S> {
    fn shape(&self) -> Shape {
        self.views[0].shape()
    }

    pub(super) fn run(&mut self, step: &Step) {
        let Step { kind, x, y, .. } = *step;
        let shape = self.shape();
        if matches!(kind, "sum" | "max" | "min" | "fold" | "pick" | "number") {
            self.numbers[step.number] = self.number(step);
            return;
        }
        if kind == "both" {
            return self.both(step);
        }
        // Out of the list, so that another one can be read; a view that is read and written is a clone of itself.
        let mut to = core::mem::replace(&mut self.views[y], View::zeros(shape));
        let clone = (x == y).then(|| to.clone());
        let from = clone.as_ref().unwrap_or(&self.views[x]);
        let s = &self.numbers[step.number];
        match kind {
            "scan" => to = parallel_scan(from, |a, b| 0.5 * a + 0.3 * b * a),
            "clone" => to = from.clone(),
            "copy" => deep_copy(from, &mut to),
            "fill" => fill(s, &mut to),
            "passive" => to = View::new(shape, &step.constants(shape)),
            "rows" => {
                let ((range, at), scale) = (step.rows(shape), step.scale());
                let sums: View<S, 3> = parallel_row_sums(range, (from, &to, s), term!(scale));
                let [a, b, c] = sums.shape();
                to.set(at, &sums.reshape([a, b, c, 1]));
            }
            _ => match kernels::maps::<S>(kind) {
                Some(kernel) => kernel(step.inside(shape), from, &mut to, s),
                None => transfer(step, from, &mut to, s),
            },
        }
        self.views[y] = to;
    }

    fn both(&mut self, step: &Step) {
        let from = self.views[step.x].clone();
        let [y, z] = [step.y, step.z].map(|k| core::mem::replace(&mut self.views[k], View::zeros(from.shape())));
        let (mut y, mut z, s) = (y, z, &self.numbers[step.number]);
        parallel_for(step.range.clone(), (&from, &mut y, &mut z, s), |(x, y, z, s)| {
            let first = 0.5 * x.at::<0, 0, 0, 0>() * y.at::<0, 0, 0, 0>() + 0.2 * x.nearest::<0, 0, 1, -1>();
            (first, 0.3 * y.new() * z.at::<0, 0, 0, 0>() + 0.2 * s * y.or_zero::<0, -1, 0, 1>())
        });
        (self.views[step.y], self.views[step.z]) = (y, z);
    }

    fn number(&self, step: &Step) -> Real<S> {
        let (x, y, s) = (&self.views[step.x], &self.views[step.y], &self.numbers[step.number]);
        let (range, scale) = (step.range.clone(), step.scale());
        match step.kind {
            "sum" => parallel_sum(range, (x, y, s), term!(scale)),
            "max" => parallel_max(range, (x, y, s), term!(scale)),
            "min" => parallel_min(range, (x, y, s), term!(scale)),
            "fold" => parallel_fold(x, |a, b| 0.5 * a + 0.3 * b * a),
            "pick" => {
                let (place, [_, b, c, d]) = (step.place(x.shape()), x.shape());
                x.variable([place / d / c / b, place / d / c % b, place / d % c, place % d])
            }
            _ => {
                let e = (s * &self.numbers[0]).eval();
                let one = Real::constant(S::Value::from_f64(1.0));
                (&e / (&e * &e + one)).eval()
            }
        }
    }
}

fn transfer<S: Taping>(step: &Step, from: &View<S, 4>, to: &mut View<S, 4>, s: &Real<S>) {
    let shape @ [a, b, c, d] = to.shape();
    match step.kind {
        "slice" => {
            let (source, at) = step.parts(shape);
            to.set(at, &from.slice(source));
        }
        "add" => {
            let part = gather(from, &Indices::new(&step.gathered(shape)));
            scatter_add(&part, &Indices::new(&step.scattered(shape, true)), to);
            parallel_for(to.all(), to, |to| (0.25 * to.at::<0, 0, 0, 0>(),));
        }
        "put" => {
            let part = gather(from, &Indices::new(&step.gathered(shape)));
            scatter(&part, &Indices::new(&step.scattered(shape, false)), to);
        }
        "variables" => {
            let mut random = Random::new(step.seed);
            let x = from.to_variables();
            let x: Vec<_> = x.into_iter().map(|x| around(&mut random, x, s.clone())).collect();
            *to = View::of_variables(shape, &x);
        }
        kind => {
            let (matrix, mut other) = (from.reshape([a * b, c * d]), to.reshape([a * b, c * d]));
            let (from, at) =
                if kind == "row" { (step.a % (a * b), step.b % (a * b)) } else { (step.a % (c * d), step.b % (c * d)) };
            if kind == "row" {
                other.set([at..at + 1, 0..c * d], &matrix.row(from).reshape([1, c * d]));
            } else {
                other.set([0..a * b, at..at + 1], &matrix.column(from).reshape([a * b, 1]));
            }
            *to = other.reshape(shape);
        }
    }
}
