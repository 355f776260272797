//! Recordings with launches are computed again at other inputs: as if they had been made there, or not at all.

mod refused;

use super::{at_every_level, bits, numbers};
use tapewright::checkpoint::closure_stage;
use tapewright::kernels::{
    Indices, View, deep_copy, fill, gather, norm_squared, parallel_fold, parallel_for, parallel_max, parallel_min,
    parallel_row_sums, parallel_scan, parallel_sum, scatter, scatter_add,
};
use tapewright::prelude::*;
use tapewright::{Error, SweepError, pause};

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
fn agrees(program: impl Fn(&[Real<S>], &mut Views) -> Results + Sync) {
    for length in LENGTHS {
        agrees_from(&at(length, 0), &program);
    }
}

fn agrees_from(start: &At, program: &(impl Fn(&[Real<S>], &mut Views) -> Results + Sync)) {
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
fn several_outputs_and_ranges_that_write_a_part() {
    agrees(|k, x| {
        let [u, w] = x else { unreachable!("two views") };
        let n = u.len();
        let mut y = View::new([n], &numbers(n, 4));
        let mut z = View::zeros([n]);
        parallel_for(1..3, (&*u, &mut y, &mut z, &k[2]), |(x, y, z, k)| {
            (x.at::<1>() * k + y.at::<0>(), y.new() * z.at::<0>() + x.at::<0>().exp())
        });
        parallel_for(2..4, (&mut y, &mut *w, &*u), |(y, w, x)| {
            (y.at::<-1>() * w.at::<0>(), (w.at::<0>() + y.new()) * x.at::<0>())
        });
        // Nothing, all of it without reading it, and a constant.
        parallel_for(2..2, (&mut *u, &k[0]), |(x, k)| (x.at::<0>() * k,));
        parallel_for(y.all(), (&mut y.clone(), &k[1]), |(_, k)| (k * k,));
        parallel_for(0..2, (&mut *u, &k[0]), |(x, k)| (x.at::<0>().lt(k).select(3.0, 2.0),));
        (vec![norm_squared(&y), norm_squared(&z), norm_squared(w), norm_squared(u)], vec![y, z])
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
fn transfers() {
    agrees(|k, x| {
        let n = x[0].len();
        let mixed = [k[0], Real::constant(0.5), k[1], (k[2] * k[0]).eval()];
        let mut four = View::of_variables([4], &mixed);
        parallel_for(four.all(), (&mut four, &k[2]), |(f, k)| (f.at::<0>() * k,));
        x[0].set(0..2, &four.slice(1..3));
        let mut constants = View::new([n], &numbers(n, 8));
        constants.set(1..3, &x[0].slice(2..4));
        x[1].set(3..5, &View::new([2], &[0.25, -0.5]));
        let list = Indices::new(&[4, 0, 4, 2]);
        let mut picked = gather(&x[0], &list);
        scatter_add(&picked, &Indices::new(&[0, 0, 3, 1]), &mut x[1]);
        let mut sums = View::new([n], &numbers(n, 5));
        scatter_add(&four, &Indices::new(&[1, 2, 1, 0]), &mut sums);
        scatter(&View::new([2], &[1.5, 2.5]), &Indices::new(&[3, 0]), &mut picked);
        let square = four.reshape([2, 2]);
        let (row, column) = (square.row(1), square.column(0));
        let mut copy = View::zeros([n]);
        deep_copy(&sums, &mut copy);
        let mut full = View::zeros([2]);
        fill(&k[1], &mut full);
        let mut outputs = copy.to_variables();
        outputs.push((outputs[0] * x[0].variable([1])).eval());
        outputs.extend([norm_squared(&row), norm_squared(&column), norm_squared(&full), norm_squared(&picked)]);
        (outputs, vec![four, constants, picked, sums, copy, full, row, column])
    });
}

#[test]
fn folds_and_scans() {
    agrees(|k, x| {
        parallel_for(x[0].all(), (&mut x[0], &k[0]), |(x, k)| (x.at::<0>() + k,));
        let (product, sum) = (parallel_fold(&x[0], |a, b| a * b), parallel_fold(&x[0], |a, b| a + b));
        let running = parallel_scan(&x[0], |a, b| a * 0.5 + a * b);
        let sums = parallel_scan(&x[1], |a, b| a + b);
        let mut largest = parallel_scan(&running, |a, b| a.max(b));
        parallel_for(1..4, (&mut largest, &k[1]), |(l, k)| (l.at::<0>() * k,));
        (vec![product, sum, norm_squared(&largest), norm_squared(&sums)], vec![running, sums, largest])
    });
}

#[test]
fn sums_of_rows() {
    agrees(|k, x| {
        let n = x[0].len();
        let mut square = View::new([3, n], &numbers(3 * n, 2));
        for i in 0..2 {
            square.set([i..i + 1, 0..n], &x[i].reshape([1, n]));
        }
        let table = View::new([3, n], &numbers(3 * n, 5));
        let range = [0..3, 1..4];
        let mut sums: View<S, 1> = parallel_row_sums(range.clone(), (&square, &table, &k[0]), |(s, t, k)| {
            s.at::<0, 0>() * s.or_zero::<-1, 1>() * k + t.at::<0, 0>()
        });
        parallel_for(0..2, &mut sums, |s| (s.at::<0>().exp(),));
        let counts: View<S, 1> = parallel_row_sums(square.all(), &square, |s| s.at::<0, 0>().lt(0.1).select(1.0, 0.0));
        let largest = parallel_max(counts.all(), (&counts, &sums), |(c, s)| c.at::<0>() + 0.0 * s.at::<0>());
        let weighted = parallel_sum(sums.all(), (&sums, &counts), |(s, c)| s.at::<0>() * c.at::<0>());
        (vec![weighted, largest], vec![sums])
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

/// One operation of a random program on these views, some of which may be clones of each other, and these variables.
fn operation(code: [usize; 5], clones: bool, views: &mut Vec<View<S, 1>>, variables: &mut Vec<Real<S>>) {
    let [what, a, b, k, from] = code;
    let (a, b, k) = (a % views.len(), b % views.len(), k % variables.len());
    if a == b {
        return;
    }
    let (k, n) = (variables[k], views[a].len());
    let (from, to) = (from % n, (from % n + 1 + b).min(n));
    let mut other = core::mem::replace(&mut views[b], View::zeros([n]));
    let range = from..to;
    match what % 14 {
        0 => parallel_for(range, (&mut views[a], &k), |(x, k)| (x.at::<0>() * k + 0.25,)),
        1 => parallel_for(range, (&mut views[a], &other), |(x, y)| (x.or_zero::<1>() + y.periodic::<2>().sin(),)),
        2 => parallel_for(0..n, (&mut views[a], &other, &k), |(_, y, k)| (k - y.at::<0>(),)),
        3 => parallel_for(range, (&mut views[a], &mut other), |(x, y)| {
            (0.5 * x.at::<0>() * y.at::<0>(), x.new() + y.nearest::<-1>())
        }),
        // Inputs that are not cloned keep their slots when they are written.
        4 if clones || b > 1 => views.push(other.clone()),
        5 => views.push(View::new([n], &numbers(n, a + 2))),
        6 if views.len() > 3 && a > 1 => drop(core::mem::replace(&mut views[a], View::new([n], &numbers(n, b)))),
        7 => variables.push(parallel_sum(range, (&views[a], &k), |(x, k)| 0.1 * x.at::<0>() * k)),
        8 => variables.push(parallel_max(range, (&views[a], &other), |(x, y)| x.at::<0>() * y.at::<0>())),
        9 => views.push(parallel_scan(&views[a], |a, b| 0.5 * a + 0.5 * b.cos())),
        10 => views[a].set(range.clone(), &other.slice(range)),
        11 => scatter_add(&other.slice(0..2), &Indices::new(&[from, n - 1]), &mut views[a]),
        12 => variables.push((k * views[a].variable([from])).eval()),
        13 => deep_copy(&other, &mut views[a]),
        _ => {}
    }
    views[b] = other;
}

#[test]
fn random_programs() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as usize
    };
    for number in 0..150 {
        let codes: Vec<[usize; 5]> = (0..14).map(|_| core::array::from_fn(|_| random())).collect();
        let clones = number % 2 == 0;
        let program = |k: &[Real<S>], x: &mut Views| {
            let mut variables = k.to_vec();
            let own = |x: &mut View<S, 1>| if clones { x.clone() } else { core::mem::replace(x, View::zeros([1])) };
            let mut views: Vec<_> = x.iter_mut().map(own).collect();
            views.push(View::new([views[0].len()], &numbers(views[0].len(), 3)));
            codes.iter().for_each(|code| operation(*code, clones, &mut views, &mut variables));
            if !clones {
                x.iter_mut().zip(views.drain(..2)).for_each(|(x, view)| *x = view);
            }
            (variables.split_off(k.len()), views)
        };
        for length in LENGTHS {
            agrees_from(&at(length, 0), &program);
        }
    }
}
