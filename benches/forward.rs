//! Forward mode along 8 directions and along one, over every workload, beside the function itself on plain `f64` and
//! under `Passive`; then a statement of four products along 1 to 16 directions, and Snavely's camera along twelve, beside
//! structs of numbers.
//!
//! Every derivative is checked against the hand-written adjoint before it is timed. With `TAPEWRIGHT_TABLE=1` in the
//! environment, the program prints a table instead: medians of thread CPU time, measured in turns.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

#[allow(dead_code, reason = "the residual block is not needed here")]
#[path = "../examples/ecosystem/bundle/camera.rs"]
mod camera;
mod plain;
mod turns;

use camera::image;
use cpu_time::ThreadTime;
use criterion::Criterion;
use plain::{Plain, each, plain_image};
use std::hint::black_box;
use std::time::Duration;
use tapewright::{Passive, Real, Strategy, Tangent, jacobian_forward_into};
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, total};
use tapewright_test_support::median;
use turns::seconds;

/// Random directions: entry `j` of direction `k` at `directions[j][k]`.
fn directions(inputs: usize) -> Vec<[f64; 8]> {
    let mut random = SplitMix64::new(8);
    (0..inputs).map(|_| core::array::from_fn(|_| random.symmetric())).collect()
}

/// All evaluations of a workload along `N` directions, with the inputs they need.
struct Run<'p, P> {
    problem: &'p P,
    x: Vec<f64>,
    directions: Vec<[f64; 8]>,
}

impl<'p, P: Problem> Run<'p, P> {
    fn new(problem: &'p P) -> Self {
        let x = problem.inputs(0);
        let directions = directions(x.len());
        Self { problem, x, directions }
    }

    /// Sums of the values and of the derivatives along the first `N` directions.
    fn forward<const N: usize>(&mut self, inputs: &mut Vec<Real<Tangent<N>>>) -> (f64, [f64; N]) {
        let mut sums = (0.0, [0.0; N]);
        for k in 0..self.problem.evaluations() {
            self.problem.inputs_into(k, &mut self.x);
            inputs.clear();
            let along = |(x, d): (&f64, &[f64; 8])| Real::with_tangent(*x, core::array::from_fn(|k| d[k]));
            inputs.extend(black_box(&self.x).iter().zip(&self.directions).map(along));
            let y = self.problem.eval(k, inputs);
            sums.0 += y.value();
            sums.1.iter_mut().zip(y.tangent()).for_each(|(sum, tangent)| *sum += tangent);
        }
        sums
    }

    fn plain(&mut self) -> f64 {
        let mut sum = 0.0;
        for k in 0..self.problem.evaluations() {
            self.problem.inputs_into(k, &mut self.x);
            sum += self.problem.plain(k, black_box(&self.x));
        }
        sum
    }

    fn passive(&mut self) -> f64 {
        let mut sum = 0.0;
        for k in 0..self.problem.evaluations() {
            self.problem.inputs_into(k, &mut self.x);
            sum += self.problem.eval::<Passive>(k, Real::wrap_slice(black_box(&self.x))).value();
        }
        sum
    }

    /// Fails unless the derivatives are those of the hand-written adjoint.
    fn check(&mut self) {
        let (value, gradient) = total(self.problem, |k, x, g| self.problem.adjoint(k, x, g));
        let (found, tangents) = self.forward::<8>(&mut Vec::new());
        let (_, [alone]) = self.forward::<1>(&mut Vec::new());
        let name = self.problem.name();
        assert!((found - value).abs() <= 1e-12 * value.abs(), "{name}: {found}, {value} by hand");
        let scale: f64 = gradient.iter().map(|g| g.abs()).sum();
        for (k, tangent) in tangents.into_iter().chain([alone]).enumerate() {
            let expected: f64 = gradient.iter().zip(&self.directions).map(|(g, d)| g * d[k % 8]).sum();
            assert!((tangent - expected).abs() <= 1e-12 * scale, "{name}: {tangent} along {k}, {expected} by hand");
        }
    }
}

/// One line of the table: the plain function's time, and the others as multiples of it, medians of ratios within a
/// turn.
fn line<P: Problem>(run: &mut Run<'_, P>) {
    let (mut one, mut eight) = (Vec::new(), Vec::new());
    let clock = ThreadTime::now();
    black_box(run.plain());
    // So often that a turn takes 10 ms.
    let repeats = (10_000_000 / clock.elapsed().as_nanos().max(1000)).max(1);
    let mut columns = [(); 4].map(|()| Vec::new());
    for _ in 0..25 {
        let mut timed = |f: &mut dyn FnMut(&mut Run<'_, P>)| seconds(|| (0..repeats).for_each(|_| f(run)));
        let plain = timed(&mut |run| _ = black_box(run.plain()));
        let passive = timed(&mut |run| _ = black_box(run.passive()));
        let along_one = timed(&mut |run| _ = black_box(run.forward::<1>(&mut one)));
        let along_eight = timed(&mut |run| _ = black_box(run.forward::<8>(&mut eight)));
        let figures = [plain, passive / plain, along_one / plain, along_eight / plain];
        columns.iter_mut().zip(figures).for_each(|(column, figure)| column.push(figure));
    }
    let [plain, passive, along_one, along_eight] = columns.map(median);
    let evaluation = 1e6 * plain / (repeats as f64 * run.problem.evaluations() as f64);
    let (name, size) = (run.problem.name(), run.problem.size());
    println!("| {name} | {size} | {evaluation:.3} | {passive:.2} | {along_one:.2} | {along_eight:.2} |");
}

/// Checks one workload, then times it: with criterion, or as a line of the table.
fn workload(criterion: Option<&mut Criterion>, problem: &impl Problem) {
    let mut run = Run::new(problem);
    run.check();
    let Some(criterion) = criterion else { return line(&mut run) };
    let (mut one, mut eight) = (Vec::new(), Vec::new());
    let mut group = criterion.benchmark_group(format!("forward/{}", problem.name()));
    group.bench_function("plain", |b| b.iter(|| run.plain()));
    group.bench_function("passive", |b| b.iter(|| run.passive()));
    group.bench_function("tangent_1", |b| b.iter(|| run.forward::<1>(&mut one)));
    group.bench_function("tangent_8", |b| b.iter(|| run.forward::<8>(&mut eight)));
    group.finish();
}

fn workloads(mut criterion: Option<&mut Criterion>) {
    workload(criterion.as_deref_mut(), &Burgers::default());
    workload(criterion.as_deref_mut(), &Gmm::iris());
    workload(criterion.as_deref_mut(), &Gmm::synthetic(10, 25, 1000).expect("a possible size"));
    workload(criterion.as_deref_mut(), &Laplacian::default());
    workload(criterion.as_deref_mut(), &RepeatedSin::new(1_000_000).expect("a possible size"));
    workload(criterion.as_deref_mut(), &Libor::new(80, 40, 10).expect("a possible size"));
    workload(criterion.as_deref_mut(), &Lstm::synthetic(2, 14, 1024).expect("a possible size"));
    workload(criterion, &ExpSq::new(1000).expect("a possible size"));
}

/// Products of matrices in a chain.
const PRODUCTS: usize = 40;

/// A chain A ← 0.3·A·B + 0.1·A of 3 × 3 matrices, each entry a statement of four products; the trace in the end.
fn chain<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let b: [[Real<S>; 3]; 3] = core::array::from_fn(|i| core::array::from_fn(|j| x[(i * 3 + j) % x.len()]));
    let mut a = b;
    for _ in 0..PRODUCTS {
        let mut c = a;
        for i in 0..3 {
            for j in 0..3 {
                let product = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
                c[i][j] = (product * 0.3 + a[i][j] * 0.1).into();
            }
        }
        a = c;
    }
    (a[0][0] + a[1][1] + a[2][2]).into()
}

/// [`chain`] over plain structs.
fn plain_chain<const N: usize>(x: &[Plain<N>; N]) -> Plain<N> {
    let b: [[Plain<N>; 3]; 3] = core::array::from_fn(|i| core::array::from_fn(|j| x[(i * 3 + j) % N]));
    let mut a = b;
    for _ in 0..PRODUCTS {
        let mut c = a;
        for i in 0..3 {
            for j in 0..3 {
                let product = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
                c[i][j] = product.scaled(0.3) + a[i][j].scaled(0.1);
            }
        }
        a = c;
    }
    a[0][0] + a[1][1] + a[2][2]
}

/// One line of the second table: ns a statement, least of rounds in turns.
fn statements<const N: usize>() {
    let x: [f64; N] = core::array::from_fn(|k| 0.3 + 0.05 * k as f64);
    let unit = |k: usize| each::<N>(|j| if j == k { 1.0 } else { 0.0 });
    let (mut ours, mut plain) = (f64::MAX, f64::MAX);
    for _ in 0..600 {
        let mut found = [0.0; N];
        let mut expected = [0.0; N];
        ours = ours.min(seconds(|| {
            let x: [Real<Tangent<N>>; N] = core::array::from_fn(|k| Real::with_tangent(black_box(x[k]), unit(k)));
            found = chain(&x).tangent();
        }));
        plain = plain.min(seconds(|| {
            let x: [Plain<N>; N] = core::array::from_fn(|k| Plain(black_box(x[k]), unit(k)));
            expected = plain_chain(&x).1;
        }));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found}, and {expected} by plain structs");
        }
    }
    let [ours, plain] = [ours, plain].map(|seconds| 1e9 * seconds / (9 * PRODUCTS) as f64);
    println!("| {N} | {ours:.1} | {plain:.1} | {:.2} |", ours / plain);
}

/// Prints the second table.
fn all_statements() {
    println!("\n| directions | Tangent, ns a statement | plain structs | ratio |");
    println!("|--:|--:|--:|--:|");
    macro_rules! lines {
        ($($n:literal)*) => { $( statements::<$n>(); )* };
    }
    lines!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

/// A camera, 9 numbers, and a point, 3.
const SEEN: [f64; 12] = [0.08, 0.09, 0.01, 0.2, 0.1, -5.1, 500.0, -0.008, 0.001, 0.2, -0.6, 0.4];

/// Prints the third table: the Jacobian matrix of Snavely's camera, ns, least of rounds in turns.
fn camera_lines() {
    const ROUNDS: usize = 2000;
    const REPEATS: u32 = 200;
    let mut least = [f64::MAX; 4];
    let mut found = [[0.0; 24]; 4];
    for _ in 0..ROUNDS {
        let [values, by_plain, by_hand, by_driver] = &mut found;
        let ways: [&mut dyn FnMut(); 4] = [
            &mut || {
                let x = Real::<Passive>::wrap_slice(black_box(&SEEN));
                values[..2].copy_from_slice(&image(&x[..9], &x[9..]).map(|y| y.value()));
            },
            &mut || {
                let x = *black_box(&SEEN);
                let seeded = |k: usize| Plain(x[k], each::<12>(|j| if j == k { 1.0 } else { 0.0 }));
                let y = plain_image(&core::array::from_fn(seeded), &core::array::from_fn(|k| seeded(9 + k)));
                y.iter().zip(by_plain.chunks_exact_mut(12)).for_each(|(y, row)| row.copy_from_slice(&y.1));
            },
            &mut || {
                let x = *black_box(&SEEN);
                let seed = |k: usize| each::<12>(|j| if j == k { 1.0 } else { 0.0 });
                let x: [Real<Tangent<12>>; 12] = core::array::from_fn(|k| Real::with_tangent(x[k], seed(k)));
                let y = image(&x[..9], &x[9..]);
                y.iter().zip(by_hand.chunks_exact_mut(12)).for_each(|(y, row)| row.copy_from_slice(&y.tangent()));
            },
            &mut || {
                let f = |x: &[Real<_>]| image(&x[..9], &x[9..]);
                jacobian_forward_into::<Tangent<12>, _>(f, black_box(&SEEN), &mut [0.0; 2], by_driver).expect("fits");
            },
        ];
        for (way, least) in ways.into_iter().zip(&mut least) {
            *least = least.min(seconds(|| (0..REPEATS).for_each(|_| way())) / f64::from(REPEATS));
        }
    }
    for (found, expected) in found[2..].iter().flat_map(|way| way.iter().zip(&found[1])) {
        assert!((found - expected).abs() <= 1e-11 * (1.0 + expected.abs()), "{found}, and {expected} by plain structs");
    }
    println!("\n| Snavely's camera, 2 × 12 | ns | of plain structs |");
    println!("|---|--:|--:|");
    let names = ["values alone", "plain structs", "`Real::with_tangent`", "`jacobian_forward_into`"];
    for (name, time) in names.into_iter().zip(least) {
        println!("| {name} | {:.1} | {:.2} |", 1e9 * time, time / least[1]);
    }
}

fn main() {
    if std::env::var_os("TAPEWRIGHT_TABLE").is_some_and(|value| value == "1") {
        println!("| workload | size | plain, µs an evaluation | Passive | Tangent<1> | Tangent<8> |");
        println!("|---|---|--:|--:|--:|--:|");
        workloads(None);
        all_statements();
        return camera_lines();
    }
    let times = (Duration::from_millis(300), Duration::from_secs(1));
    let mut criterion =
        Criterion::default().sample_size(15).warm_up_time(times.0).measurement_time(times.1).configure_from_args();
    workloads(Some(&mut criterion));
    criterion.final_summary();
}
