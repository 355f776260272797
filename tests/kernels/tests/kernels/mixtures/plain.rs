//! The steps by scalar statements: one for each operation of each element.

use super::steps::{Shape, Step, around};
use crate::oracle::{Number, Token, index, points};
use core::ops::Range;
use tapewright::prelude::*;
use tapewright::strategies::Number as _;
use tapewright_test_support::Random;

fn number<S: Strategy>(x: &Real<S>) -> f64 {
    x.value().as_f64()
}

/// Views as lists of variables.
pub(super) struct Plain<S: Strategy> {
    pub(super) shape: Shape,
    pub(super) views: Vec<Vec<Real<S>>>,
    pub(super) numbers: Vec<Real<S>>,
}

type Range4 = [Range<usize>; 4];

impl<S: Strategy> Plain<S> {
    fn token(&self, view: usize, point: Shape) -> Token<'_, S, 4> {
        Token::of(&self.views[view], self.shape, point)
    }

    fn variable(&self, step: &Step) -> Number<S> {
        Number(self.numbers[step.number])
    }

    /// Computes a kernel over the range, and puts the results in place afterwards.
    fn map<const K: usize>(&mut self, range: &Range4, to: [usize; K], kernel: impl Fn(&Self, Shape) -> [Number<S>; K]) {
        let points = points(range);
        let found: Vec<_> = points.iter().map(|point| kernel(self, *point)).collect();
        for (point, found) in points.into_iter().zip(found) {
            let place = index(self.shape, point);
            to.iter().zip(found).for_each(|(view, value)| self.views[*view][place] = value.0);
        }
    }

    pub(super) fn run(&mut self, step: &Step) {
        use super::steps::plain as kernels;
        let Step { kind, x, y, z, ref range, .. } = *step;
        let s = self.variable(step);
        if let Some(kernel) = kernels::maps::<S>(kind) {
            let range = &step.inside(self.shape);
            return self.map(range, [y], |this, p| [kernel(this.token(x, p), this.token(y, p), s)]);
        }
        match kind {
            "both" => self.map(range, [y, z], |this, p| {
                let (first, token) = (kernels::first(this.token(x, p), this.token(y, p)), this.token(z, p));
                [first, kernels::second(token, this.token(y, p), first, s)]
            }),
            "sum" => self.numbers[step.number] = self.sum(step, range),
            "rows" => self.rows(step),
            "max" | "min" => self.numbers[step.number] = self.extremum(step, kind == "max"),
            "fold" => self.numbers[step.number] = self.scan(x).pop().expect("an element"),
            "scan" => self.views[y] = self.scan(x),
            "clone" | "copy" => self.views[y] = self.views[x].clone(),
            "fill" => self.views[y].fill(self.numbers[step.number]),
            "pick" => self.numbers[step.number] = self.views[x][step.place(self.shape)],
            "passive" => self.views[y] = step.constants(self.shape).into_iter().map(Real::constant).collect(),
            "number" => self.numbers[step.number] = kernels::around(s * Number(self.numbers[0])).0,
            _ => self.transfer(step),
        }
    }

    fn transfer(&mut self, step: &Step) {
        let from = self.views[step.x].clone();
        match step.kind {
            "slice" => {
                let (source, to) = step.parts(self.shape);
                let found: Vec<_> = points(&source).iter().map(|p| from[index(self.shape, *p)]).collect();
                for (point, found) in points(&to).into_iter().zip(found) {
                    let place = index(self.shape, point);
                    self.views[step.y][place] = found;
                }
            }
            "add" => {
                for (from_place, place) in step.gathered(self.shape).into_iter().zip(step.scattered(self.shape, true)) {
                    let to = &mut self.views[step.y][place];
                    *to = (*to + from[from_place]).eval();
                }
                let quarter = |x: &mut Real<S>| *x = (Number(*x) * 0.25).0;
                self.views[step.y].iter_mut().for_each(quarter);
            }
            "put" => {
                for (from_place, place) in step.gathered(self.shape).into_iter().zip(step.scattered(self.shape, false))
                {
                    self.views[step.y][place] = from[from_place];
                }
            }
            "variables" => {
                let mut random = Random::new(step.seed);
                self.views[step.y] = from.iter().map(|x| around(&mut random, *x, self.numbers[step.number])).collect();
            }
            "row" | "column" => self.row(step, &from),
            kind => panic!("{kind} is no step"),
        }
    }

    fn row(&mut self, step: &Step, from: &[Real<S>]) {
        let [a, b, c, d] = self.shape;
        let found: Vec<_> = match step.kind {
            "row" => from.chunks(c * d).nth(step.a % (a * b)).expect("a row").to_vec(),
            _ => from.chunks(c * d).map(|row| row[step.a % (c * d)]).collect(),
        };
        let to = self.views[step.y].iter_mut();
        match step.kind {
            "row" => to.skip(step.b % (a * b) * c * d).zip(found).for_each(|(to, from)| *to = from),
            _ => to.skip(step.b % (c * d)).step_by(c * d).zip(found).for_each(|(to, from)| *to = from),
        }
    }

    fn term(&self, step: &Step, point: Shape) -> Number<S> {
        super::steps::plain::term(
            self.token(step.x, point),
            self.token(step.y, point),
            self.variable(step),
            step.scale(),
        )
    }

    /// In the order of `parallel_sum`: rows one after the other, and in each of them sixteen sums, which are added up
    /// in pairs.
    fn sum(&self, step: &Step, range: &Range4) -> Real<S> {
        let zero = Number::from(0.0);
        let mut total = zero;
        let rows = [range[0].clone(), range[1].clone(), range[2].clone(), 0..1];
        for row in points(&rows) {
            let mut sums = [zero; 16];
            for (k, i) in range[3].clone().enumerate() {
                sums[k % 16] = sums[k % 16] + self.term(step, [row[0], row[1], row[2], i]);
            }
            for half in [8, 4, 2, 1] {
                (0..half).for_each(|k| sums[k] = sums[k] + sums[k + half]);
            }
            total = total + sums[0];
        }
        (zero + total).0
    }

    fn rows(&mut self, step: &Step) {
        let (range, to) = step.rows(self.shape);
        let sums: Vec<_> = points(&to)
            .into_iter()
            .zip(points(&[range[0].clone(), range[1].clone(), range[2].clone(), 0..1]))
            .map(|(to, [a, b, c, _])| (to, self.sum(step, &[a..a + 1, b..b + 1, c..c + 1, range[3].clone()])))
            .collect();
        for (point, sum) in sums {
            let place = index(self.shape, point);
            self.views[step.y][place] = sum;
        }
    }

    fn extremum(&self, step: &Step, largest: bool) -> Real<S> {
        let terms = points(&step.range).into_iter().map(|point| self.term(step, point).0);
        let above = |a: &Real<S>, b: &Real<S>| if largest { number(b) > number(a) } else { number(b) < number(a) };
        let better = |a: &Real<S>, b: &Real<S>| above(a, b) || number(a).is_nan() && !number(b).is_nan();
        terms.reduce(|a, b| if better(&a, &b) { b } else { a }).expect("a point")
    }

    fn scan(&self, view: usize) -> Vec<Real<S>> {
        let mut found: Vec<Real<S>> = Vec::new();
        for x in &self.views[view] {
            let next = found.last().map_or(*x, |last| super::steps::plain::rule(Number(*last), Number(*x)).0);
            found.push(next);
        }
        found
    }
}
