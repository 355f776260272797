//! Launches of kernels, and the same written out as statements; roots that are not always found.

use crate::host::Host;
use crate::program::{ARRAYS, CONSTANTS, Kernel, Launch, Op, REGISTERS, Step};
use crate::subject::Subject;
use crate::{loops, stages};
use tapewright::implicit::{Equations, Solver, find_root};
use tapewright::kernels::{View, cumulative_sum, parallel_for, parallel_max, parallel_max_at, parallel_sum};
use tapewright::{Real, Reverse, Strategy, Taping};

/// Variables and views.
pub(crate) type Both<S> = (Vec<Real<S>>, Vec<View<S, 1>>);

/// The variables and arrays that go into a body, or come out: variables, elements of arrays where launches are written
/// out, and views where they are not.
pub(crate) type Parts<S> = (Vec<Real<S>>, Vec<Real<S>>, Vec<View<S, 1>>);

/// Rows of new elements: `|x, y, before, k| expression;` is what element x becomes, given the element y of the other
/// array at the same place, the one before, and a variable; from the first place on that has them all.
macro_rules! maps {
    ($($from:literal: |$x:ident, $y:ident, $before:ident, $k:ident| $map:expr;)*) => {
        /// The rows of maps.
        pub const MAPS: &[&str] = &[$(stringify!($map)),*];

        #[allow(unused_variables, unused_assignments, reason = "no row needs all")]
        fn map<S: Taping<Value = f64>>(row: usize, x: &mut View<S, 1>, y: &View<S, 1>, k: &Real<S>) {
            let (mut number, all) = (0, x.len());
            $(
                if row == number {
                    return parallel_for($from..all, (x, y, k), |($x, $y, $k)| {
                        let ($x, $before, $y) = ($x.at::<0>(), $y.at::<-1>(), $y.at::<0>());
                        ($map,)
                    });
                }
                number += 1;
            )*
        }

        #[allow(unused_variables, unused_assignments, reason = "no row needs all")]
        fn map_written_out<S: Taping<Value = f64>>(row: usize, x: &mut [Real<S>], y: &[Real<S>], k: &Real<S>) {
            let mut number = 0;
            $(
                if row == number {
                    for at in $from..x.len() {
                        let ($x, $y, $before, $k) = (&x[at], &y[at], &y[at.max(1) - 1], k);
                        let new = Real::from($map);
                        x[at] = new;
                    }
                }
                number += 1;
            )*
        }
    };
}

// Few: each takes a second to compile.
maps! {
    1: |x, y, before, k| before.max(x + y * k);
    0: |x, y, before, k| y * k;
    0: |x, y, before, k| (y * k).sin();
}

/// The number of maps that are exact on small whole numbers, the first ones.
pub(crate) const EXACT_MAPS: usize = 2;

/// What variables are made of arrays.
pub const REDUCTIONS: [&str; 2] = ["sum of x * y", "maximum of x"];

/// Makes arrays of the variables that there are, of this length: views, or their elements.
pub(crate) fn make_arrays<S: Taping>(host: &mut Host<S>, length: usize, written_out: bool) {
    let array = |k: usize| -> Vec<Real<S>> { host.registers.iter().cycle().skip(k).take(length).cloned().collect() };
    if written_out {
        host.elements = (0..ARRAYS).flat_map(array).collect();
    } else if length > 0 {
        host.views = (0..ARRAYS).map(|k| View::of_variables([length], &array(k))).collect();
    }
}

/// Does what a step says that has to do with arrays or roots. The variables that it makes.
pub(crate) fn run<S: Subject<Value = f64>>(host: &mut Host<S>, step: &Step) -> Vec<Real<S>> {
    match step.op {
        Op::Launch(launch) if host.elements.is_empty() => by_kernels(&mut host.views, &host.registers, step, launch),
        Op::Launch(launch) => {
            let length = host.elements.len() / ARRAYS;
            let mut arrays: Vec<Vec<Real<S>>> = host.elements.chunks(length).map(<[_]>::to_vec).collect();
            let results = written_out(&mut arrays, &host.registers, step, launch);
            host.elements = arrays.concat();
            host.note_elements();
            results
        }
        _ => vec![root(host, step)],
    }
}

/// Runs a body with arrays as the stage or the loop that a step says. The variables that it makes.
pub(crate) fn apart<S: Subject<Inner = S> + Reverse>(host: &mut Host<S>, step: &Step) -> Vec<Real<S>> {
    let (Op::Stage(_, body) | Op::Loop(_, body)) = &step.op else { unreachable!("{step:?} has no arrays") };
    // Without copies, which would have slots of their own.
    let (variables, views) = (host.arguments(step, body.inputs), core::mem::take(&mut host.views));
    let ((results, new), views) = match &step.op {
        Op::Loop(plan, _) => loops::time_loop_with_views(*plan, body, &variables, views),
        _ => stages::stage_with_views(host.inside(body, step), variables, views),
    };
    host.views = views;
    host.take(step, (results, Vec::new(), new))
}

/// The variables that an array is made of.
fn variables<S: Taping>(length: usize, registers: &[Real<S>], step: &Step) -> Vec<Real<S>> {
    let [start, stride, _] = step.args;
    (0..length).map(|k| registers[(start + k * (1 + stride % 2)) % REGISTERS].clone()).collect()
}

/// The numbers that an array is made of.
fn constants(length: usize, c: f64) -> Vec<f64> {
    (0..length).map(|k| c + CONSTANTS[3 + k % 2]).collect()
}

#[allow(clippy::cast_precision_loss, reason = "a small number")]
#[allow(clippy::redundant_closure_for_method_calls, reason = "kernels are closures of their operands")]
fn by_kernels<S: Taping<Value = f64>>(
    views: &mut [View<S, 1>],
    registers: &[Real<S>],
    step: &Step,
    launch: Launch,
) -> Vec<Real<S>> {
    let Launch { kernel, arrays: [x, y] } = launch;
    let (length, k) = (views[x].len(), &registers[step.args[0]]);
    let place = step.args[1] % length;
    match kernel {
        Kernel::Variables => views[x] = View::of_variables([length], &variables(length, registers, step)),
        Kernel::Constants => views[x] = View::new([length], &constants(length, step.c)),
        Kernel::Copy => views[x] = views[y].clone(),
        Kernel::Sums => views[x] = cumulative_sum(&views[y], 0),
        Kernel::Map(row) if x == y => {
            let before = views[x].clone();
            map(row, &mut views[x], &before, k);
        }
        Kernel::Map(row) => {
            // Without a copy, which would have a slot of its own.
            let [x, y] = views.get_disjoint_mut([x, y]).expect("two arrays");
            map(row, x, y, k);
        }
        Kernel::Reduction(0) => {
            return vec![parallel_sum(views[x].all(), (&views[x], &views[y]), |(x, y)| x.at::<0>() * y.at::<0>())];
        }
        Kernel::Reduction(_) => return vec![parallel_max(views[x].all(), &views[x], |x| x.at::<0>())],
        Kernel::Element => return vec![views[x].variable([place])],
        Kernel::Elements => return views[x].to_variables().into_iter().take(3).collect(),
        Kernel::Number => return vec![Real::from(views[x].values()[place])],
        Kernel::Place => {
            let (_, [place]) = parallel_max_at(views[x].all(), &views[x], |x| x.at::<0>());
            return vec![Real::from(place as f64)];
        }
    }
    Vec::new()
}

#[allow(clippy::cast_precision_loss, reason = "a small number")]
fn written_out<S: Taping<Value = f64>>(
    arrays: &mut [Vec<Real<S>>],
    registers: &[Real<S>],
    step: &Step,
    launch: Launch,
) -> Vec<Real<S>> {
    let Launch { kernel, arrays: [x, y] } = launch;
    let (length, k) = (arrays[x].len(), &registers[step.args[0]]);
    let place = step.args[1] % length;
    let largest =
        |x: &[Real<S>]| (1..x.len()).fold(0, |first, at| if x[at].peek() > x[first].peek() { at } else { first });
    let other = arrays[y].clone();
    match kernel {
        Kernel::Variables => arrays[x] = variables(length, registers, step),
        Kernel::Constants => arrays[x] = constants(length, step.c).into_iter().map(Real::from).collect(),
        Kernel::Copy => arrays[x] = other,
        Kernel::Sums => {
            arrays[x] = other;
            (1..length).for_each(|at| arrays[x][at] = (&arrays[x][at - 1] + &arrays[x][at]).into());
        }
        Kernel::Map(row) => {
            map_written_out(row, &mut arrays[x], &other, k);
        }
        Kernel::Reduction(0) => {
            return vec![arrays[x].iter().zip(&arrays[y]).fold(Real::from(0.0), |sum, (x, y)| (sum + x * y).into())];
        }
        Kernel::Reduction(_) => return vec![arrays[x][largest(&arrays[x])].clone()],
        Kernel::Element => return vec![arrays[x][place].clone()],
        Kernel::Elements => return arrays[x][..length.min(3)].to_vec(),
        Kernel::Number => return vec![Real::from(arrays[x][place].peek())],
        Kernel::Place => return vec![Real::from(largest(&arrays[x]) as f64)],
    }
    Vec::new()
}

/// x² = p, for numbers p that are neither tiny nor huge.
struct Square;

impl Square {
    const fn has_root(p: f64) -> bool {
        p > 1e-6 && p < 1e6
    }
}

impl Equations for Square {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] * x[0] - p[0]).into()]
    }
}

impl Solver for Square {
    fn solve(&self, _: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        Self::has_root(p[0]).then(|| vec![p[0].sqrt()])
    }
}

/// The root of a variable; where there is none, another one times the literal.
fn root<S: Subject<Value = f64>>(host: &Host<S>, step: &Step) -> Real<S> {
    let [x, y, _] = step.args.map(|k| &host.registers[k]);
    let otherwise = || (y * step.c).into();
    if const { !S::INLINE } {
        return find_root(Square, 1.0, core::slice::from_ref(x)).unwrap_or_else(|_| otherwise());
    }
    if Square::has_root(x.peek()) { x.sqrt().into() } else { otherwise() }
}
