//! Recordings with launches are computed again at other inputs: as if they had been made there, or not at all.

mod refused;

use super::{at_every_level, bits, numbers};
use tapewright::checkpoint::closure_stage;
use tapewright::kernels::{View, norm_squared, parallel_for, parallel_max, parallel_min, parallel_sum};
use tapewright::prelude::*;
use tapewright::{Error, SweepError, checkpoint, pause};

type S = PrimalValue;
type Views = [View<S, 1>];
/// The variables that a program computes, and views that it leaves behind beside its inputs.
type Results = (Vec<Real<S>>, Vec<View<S, 1>>);

/// Values of inputs: three variables and two views.
#[derive(Clone)]
struct At {
    variables: Vec<f64>,
    views: [Vec<f64>; 2],
}

/// Lengths of views: short rows are computed point by point, others in groups of lanes and what is left over.
const LENGTHS: [usize; 2] = [5, 37];

fn at(length: usize, seed: usize) -> At {
    At { variables: numbers(3, 7 * seed + 1), views: [numbers(length, 3 * seed + 2), numbers(length, 5 * seed + 3)] }
}

/// A recording of a program.
struct Made {
    tape: Tape<S>,
    variables: Vec<Real<S>>,
    views: Vec<View<S, 1>>,
    results: Results,
}

fn made(guarded: bool, at: &At, program: impl Fn(&[Real<S>], &mut Views) -> Results) -> Made {
    let mut tape = Tape::<S>::new();
    tape.set_guards(guarded);
    let (variables, views, results) = tape.record(|scope| {
        let variables = scope.inputs(&at.variables);
        let mut views: Vec<_> = at.views.iter().map(|view| scope.view([view.len()], view)).collect();
        let results = program(&variables, &mut views);
        (variables, views, results)
    });
    Made { tape, variables, views, results }
}

impl Made {
    fn replay(&mut self, at: &At) -> Result<(), Error> {
        let mut new = self.tape.new_inputs();
        for (input, value) in self.variables.iter().zip(&at.variables) {
            new = new.variable(input, *value)?;
        }
        for (input, values) in self.views.iter().zip(&at.views) {
            new = new.view(input, values)?;
        }
        new.replay()
    }

    /// All values, adjoints and tangents.
    fn found(&mut self) -> Vec<Vec<u64>> {
        let (outputs, ends) = &self.results;
        let mut found = Vec::new();
        for view in self.views.iter().chain(ends) {
            found.push(bits(&self.tape.values_of_view(view).expect("of it")));
        }
        let directions: Vec<_> = self.variables.iter().map(|x| (x, 0.5)).collect();
        for y in outputs {
            found.push(bits(&[self.tape.value_of(y).expect("of it")]));
            let adjoints = self.tape.sweep(&[(y, 1.0)]).expect("swept");
            found.push(bits(&adjoints.of_all(&self.variables).expect("of it")));
            found.extend(self.views.iter().map(|view| bits(&adjoints.of_view(view).expect("of it"))));
            found.push(bits(&self.tape.jvp(&directions, &[y]).expect("swept")));
        }
        for end in ends.iter().filter(|end| end.is_active()) {
            let seeds = numbers(end.len(), 9);
            let adjoints = self.tape.sweep_view(&[], (end, &seeds)).expect("swept");
            found.push(bits(&adjoints.of_all(&self.variables).expect("of it")));
            found.extend(self.views.iter().map(|view| bits(&adjoints.of_view(view).expect("of it"))));
        }
        found
    }
}

/// Replays a program at some points, of some inputs too, and compares everything with recordings there: bit for bit.
fn agrees(program: impl Fn(&[Real<S>], &mut Views) -> Results) {
    LENGTHS.iter().for_each(|length| agrees_from(&at(*length, 0), &program));
}

fn agrees_from(start: &At, program: &impl Fn(&[Real<S>], &mut Views) -> Results) {
    let length = start.views[0].len();
    let mut replayed = made(true, start, program);
    let mut now = start.clone();
    let compare = |replayed: &mut Made, now: &At, what: &str| {
        let expected = made(true, now, program).found();
        assert_eq!(replayed.found(), expected, "{what} of {length} elements");
        assert_eq!(made(false, now, program).found(), expected, "guards change nothing");
    };
    compare(&mut replayed, &now, "as recorded");
    for seed in 1..4 {
        now = at(length, seed);
        replayed.replay(&now).expect("replayed");
        compare(&mut replayed, &now, "all inputs");
    }
    now.variables[1] = 0.25;
    replayed.tape.replay(&[(&replayed.variables[1], 0.25)]).expect("replayed");
    compare(&mut replayed, &now, "one variable");
    now.views[0] = numbers(length, 77);
    let new = replayed.tape.new_inputs().view(&replayed.views[0], &now.views[0]).expect("an input");
    new.replay().expect("replayed");
    compare(&mut replayed, &now, "one view");
    replayed.replay(start).expect("replayed");
    compare(&mut replayed, start, "back");
}

#[test]
fn launches_in_place_and_stencils() {
    at_every_level(|| {
        agrees(|k, x| {
            let [u, w] = x else { unreachable!("two views") };
            for _ in 0..3 {
                parallel_for(u.interior(1), (&mut *u, &k[0]), |(u, k)| {
                    (u.at::<0>() + k * (u.at::<-1>() - 2.0 * u.at::<0>() + u.at::<1>()),)
                });
                parallel_for(u.all(), (&mut *u, &*w, &k[1]), |(u, w, k)| {
                    ((u.at::<0>() * w.or_zero::<1>()).sin() * k + w.nearest::<-2>(),)
                });
                parallel_for(w.all(), (&mut *w, &*u), |(w, u)| (w.at::<0>() * u.periodic::<1>(),));
            }
            (vec![norm_squared(u), parallel_sum(1..4, &*w, |w| w.at::<1>() * w.at::<-1>())], vec![])
        });
    });
}

#[test]
fn clones_keep_what_they_hold() {
    agrees(|k, x| {
        let mut a = x[0].clone();
        parallel_for(a.all(), (&mut a, &k[0]), |(a, k)| (a.at::<0>() * a.at::<0>() * k,));
        let b = a.clone();
        parallel_for(0..4, (&mut a, &x[0]), |(a, x)| (a.at::<0>() * x.at::<1>(),));
        let c = a.clone();
        parallel_for(1..3, (&mut a, &b), |(a, b)| (a.at::<-1>() * b.at::<0>(),));
        // The input itself, while clones of it are about; and a second clone of a clone, written in place.
        let d = x[1].clone();
        let mut e = d.clone();
        parallel_for(1..4, (&mut e, &c), |(e, c)| (e.at::<0>() + c.at::<0>() * e.at::<1>(),));
        parallel_for(e.all(), &mut e, |e| (e.at::<0>().cos(),));
        let sum = parallel_sum(x[1].all(), (&a, &b, &c, &d, &e), |(a, b, c, d, e)| {
            a.at::<0>() * b.at::<0>() + c.at::<0>() * d.at::<0>() * e.at::<0>()
        });
        (vec![sum], vec![a, b, c, d, e])
    });
}

#[test]
fn passive_views_captured_numbers_and_passive_scalars() {
    agrees(|k, x| {
        let n = x[0].len();
        let weights = View::new([n], &numbers(n, 6));
        let (captured, passive) = (0.75, Real::constant(1.25));
        let mut table = weights.clone();
        // A linear kernel: sweeps do not need the weights' values, nor those of `x`.
        parallel_for(x[0].all(), (&mut x[0], &weights, &passive), move |(x, w, p)| {
            (x.at::<0>() + captured * w.at::<0>() + p,)
        });
        let sum = parallel_sum(weights.all(), (&x[0], &table, &passive, &k[0]), |(x, t, p, k)| {
            x.at::<0>() * t.at::<0>() * p + k * 2.5
        });
        // Passive until now: read, and partly written.
        parallel_for(1..4, (&mut table, &x[1], &weights), |(t, x, w)| (t.at::<1>() + x.at::<0>() + w.at::<0>(),));
        let paused = pause(|| {
            let mut paused = x[1].clone();
            parallel_for(paused.all(), &mut paused, |p| (p.at::<0>().square(),));
            paused
        });
        drop(paused);
        (vec![sum, parallel_sum(table.all(), &table, |t| t.at::<0>())], vec![table, weights])
    });
}

#[test]
fn choices_in_kernels_need_no_guards() {
    agrees(|k, x| {
        let [u, w] = &mut *x else { unreachable!("two views") };
        parallel_for(u.all(), (&mut *u, &*w, &k[0]), |(x, w, k)| {
            let (x, w) = (x.at::<0>(), w.at::<0>());
            (x.lt(w).select(x * k, w.abs()).max(0.1 * w),)
        });
        // Neither the count nor the constant reduction has a derivative, but they are other numbers elsewhere.
        let count = parallel_sum(x[0].all(), (&x[0], &k[1]), |(x, k)| x.at::<0>().lt(k).select(1.0, 0.0));
        let largest = parallel_max(x[1].all(), &x[1], |x| x.at::<0>().lt(0.0).select(-1.0, 2.0));
        let used = (count * largest * k[2] + norm_squared(&x[0])).eval();
        (vec![used, count, largest], vec![])
    });
}

#[test]
fn the_point_of_an_extremum_moves() {
    agrees(|k, x| {
        let w = View::new(x[0].shape(), &numbers(x[0].len(), 4));
        let largest = parallel_max(x[0].all(), (&x[0], &w, &k[0]), |(x, w, k)| x.at::<0>() * w.at::<0>() * k);
        parallel_for(x[0].interior(1), (&mut x[0], &largest), |(x, m)| (x.at::<1>() * x.at::<-1>() - m,));
        let smallest = parallel_min(1..4, (&x[0], &x[1]), |(x, w)| x.or_zero::<4>() + w.at::<1>() * w.at::<0>());
        (vec![smallest, largest], vec![])
    });
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.view([3], &[1.0, 3.0, 3.0]);
        let y = parallel_max(x.all(), &x, |x| x.at::<0>());
        (x, y)
    });
    for (values, value, adjoints) in [
        ([1.0, 3.0, 3.0], 3.0, [0.0, 1.0, 0.0]),
        ([4.0, 3.0, 4.0], 4.0, [1.0, 0.0, 0.0]),
        ([f64::NAN, 3.0, 5.0], 5.0, [0.0, 0.0, 1.0]),
    ] {
        tape.new_inputs().view(&x, &values).and_then(|new| new.replay()).expect("replayed");
        assert_eq!(tape.value_of(&y).expect("of it"), value);
        assert_eq!(*tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("of it"), adjoints);
    }
}
