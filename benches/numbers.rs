//! Packs and duals beside plain numbers: how many times as long a recording and its sweep take, when the numbers have
//! lanes or tangents.
//!
//! Every gradient is checked against plain ones, and every product of a Hessian matrix against differences of
//! gradients, before anything is timed. Medians of ratios of thread CPU times within a turn. Each turn ends with what
//! it began with, once more: what these two differ by is noise, and is the last column.
//!
//! ```text
//! RUSTFLAGS=-Ctarget-cpu=native cargo bench --bench numbers --features packs
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and repetitions"
)]

mod turns;

use clap::Parser;
use std::array::from_fn;
use std::hint::black_box;
use tapewright::kernels::View;
use tapewright::packs::{Pack, datum};
use tapewright::{Dual, Jacobian, Number, PrimalValue, Real, Reverse, Tape};
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Burgers, Gmm, Heston, Libor, Problem};
use tapewright_test_support::median;
use turns::seconds;

#[derive(Parser)]
struct Options {
    /// Turns in which everything is measured.
    #[arg(long, default_value_t = 25)]
    rounds: usize,
    /// Small sizes, to see that all is right: the ratios mean nothing.
    #[arg(long)]
    small: bool,
    /// Only this part: `libor`, `heston`, `gmm`, `burgers` or `kernels`.
    #[arg(long)]
    only: Option<String>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Something to be timed, with its name.
type Timed<'f> = (&'f str, &'f mut dyn FnMut());

/// Lines of the table: each of these beside `base`.
fn lines(options: &Options, workload: &str, (name, base): Timed<'_>, others: &mut [Timed<'_>]) {
    base();
    others.iter_mut().for_each(|(_, run)| run());
    // So often that the base takes 10 ms.
    let repeats = ((0.01 / seconds(&mut *base).max(1e-6)) as usize).max(1);
    let mut ratios = vec![Vec::new(); others.len()];
    let (mut times, mut controls) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds.max(1) {
        let timed = |run: &mut dyn FnMut()| seconds(|| (0..repeats).for_each(|_| run()));
        let first = timed(base);
        ratios.iter_mut().zip(&mut *others).for_each(|(ratios, (_, run))| ratios.push(timed(run) / first));
        controls.push(timed(base) / first);
        times.push(1e3 * first / repeats as f64);
    }
    let (base, control) = (median(times), median(controls));
    for ((other, _), ratios) in others.iter().zip(ratios) {
        println!("| {workload} | {name} | {base:.3} | {other} | {:.3} | {control:.3} |", median(ratios));
    }
}

/// Fails unless two vectors are equal, but for this part of the largest entry.
#[track_caller]
fn assert_close(what: &str, found: impl IntoIterator<Item = f64>, expected: &[f64], part: f64) {
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    for (k, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= part * largest, "{what}, entry {k}: {found}, not {expected}");
    }
}

/// A tape that is kept, with room for a gradient.
struct Kept<S: Reverse> {
    tape: Tape<S>,
    gradient: Vec<S::Value>,
}

impl<S: Reverse> Kept<S> {
    fn new(inputs: usize) -> Self {
        Self { tape: Tape::new(), gradient: vec![S::Value::ZERO; inputs] }
    }

    fn gradient(&mut self, f: impl FnOnce(&[Real<S>]) -> Real<S>, x: &[S::Value]) {
        self.tape.gradient(f, black_box(x), &mut self.gradient).expect("the output belongs to the recording");
    }
}

/// The same entry of eight sets, from set `first` on, in the lanes of packs.
fn packed<const N: usize>(sets: &[Vec<f64>], first: usize) -> Vec<Pack<N>> {
    (0..sets[0].len()).map(|i| Pack(from_fn(|lane| sets[first + lane][i]))).collect()
}

/// A workload of which eight evaluations can share a recording.
trait Eight {
    /// The inputs of each.
    fn sets(&self) -> Vec<Vec<f64>>;
    fn alone<S: Reverse<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S>;
    fn together<S: Reverse<Value = Pack<N>>, const N: usize>(&self, first: usize, x: &[Real<S>]) -> Real<S>;
}

/// Eight paths.
impl Eight for Libor {
    fn sets(&self) -> Vec<Vec<f64>> {
        (0..8).map(|k| self.inputs(k)).collect()
    }
    fn alone<S: Reverse<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(k, x)
    }
    fn together<S: Reverse<Value = Pack<N>>, const N: usize>(&self, first: usize, x: &[Real<S>]) -> Real<S> {
        self.eval_in_lanes(first, x)
    }
}

/// Eight paths. Alone, their normal numbers are literals; in packs, they are data, or passive variables if so wanted.
struct HestonPaths {
    model: Heston,
    passive: bool,
}

/// Time steps of a path of Heston's model.
const STEPS: usize = 100;

impl Eight for HestonPaths {
    fn sets(&self) -> Vec<Vec<f64>> {
        vec![Heston::MODEL.to_vec(); 8]
    }
    fn alone<S: Reverse<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.model.eval(k, x)
    }
    fn together<S: Reverse<Value = Pack<N>>, const N: usize>(&self, first: usize, x: &[Real<S>]) -> Real<S> {
        let paths: [&[f64]; N] = from_fn(|lane| self.model.path(first + lane));
        let normal = |n: usize| Pack(from_fn(|lane| paths[lane][n]));
        if self.passive {
            let normals: Vec<Real<S>> = (0..paths[0].len()).map(|n| Real::constant(normal(n))).collect();
            return self.model.eval_on(x, &normals);
        }
        self.model.along(x, |k, path| {
            let [first, second] = [normal(2 * k), normal(2 * k + 1)].map(datum);
            path.log_spot += &path.root * first;
            path.variance += &path.scaled * (path.correlation * first + &path.other * second);
        })
    }
}

/// Eight sets of inputs, so far apart.
fn apart(problem: &impl Problem, by: f64) -> Vec<Vec<f64>> {
    let mut random = SplitMix64::new(8);
    let x = problem.inputs(0);
    (0..8).map(|_| x.iter().map(|x| x + by * random.symmetric()).collect()).collect()
}

impl Eight for Gmm {
    fn sets(&self) -> Vec<Vec<f64>> {
        apart(self, 0.1)
    }
    fn alone<S: Reverse<Value = f64>>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(0, x)
    }
    fn together<S: Reverse<Value = Pack<N>>, const N: usize>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(0, x)
    }
}

/// As kernels, over one view of all variables.
impl Eight for Burgers {
    fn sets(&self) -> Vec<Vec<f64>> {
        apart(self, 0.003)
    }
    fn alone<S: Reverse<Value = f64>>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        self.eval_by_kernels(&View::of_variables([x.len()], x))
    }
    fn together<S: Reverse<Value = Pack<N>>, const N: usize>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        self.eval_by_kernels(&View::of_variables([x.len()], x))
    }
}

/// Eight evaluations in packs of `N`.
struct Packs<S: Reverse, const N: usize> {
    kept: Kept<S>,
    inputs: Vec<Vec<S::Value>>,
}

impl<S: Reverse<Value = Pack<N>>, const N: usize> Packs<S, N> {
    fn new(sets: &[Vec<f64>]) -> Self {
        Self { kept: Kept::new(sets[0].len()), inputs: (0..8 / N).map(|k| packed(sets, N * k)).collect() }
    }

    fn run(&mut self, problem: &impl Eight, mut each: impl FnMut(usize, &[Pack<N>])) {
        for (k, x) in self.inputs.iter().enumerate() {
            self.kept.gradient(|x| problem.together(N * k, x), x);
            each(N * k, &self.kept.gradient);
        }
    }

    /// Fails unless each lane has the gradient that its evaluation has alone.
    fn check(&mut self, problem: &impl Eight, expected: &[Vec<f64>]) {
        self.run(problem, |first, gradient| {
            for lane in 0..N {
                let what = format!("evaluation {}", first + lane);
                assert_close(&what, gradient.iter().map(|slopes| slopes[lane]), &expected[first + lane], 1e-12);
            }
        });
    }
}

/// Eight gradients, in packs and one by one.
fn packs<S1, S4, S8>(options: &Options, workload: &str, problem: &impl Eight)
where
    S1: Reverse<Value = f64>,
    S4: Reverse<Value = Pack<4>>,
    S8: Reverse<Value = Pack<8>>,
{
    let sets = problem.sets();
    let mut alone = Kept::<S1>::new(sets[0].len());
    let mut one_by_one = |each: &mut dyn FnMut(&[f64])| {
        for (k, x) in sets.iter().enumerate() {
            alone.gradient(|x| problem.alone(k, x), x);
            each(&alone.gradient);
        }
    };
    let mut expected = Vec::new();
    one_by_one(&mut |gradient| expected.push(gradient.to_vec()));
    let (mut fours, mut eight) = (Packs::<S4, 4>::new(&sets), Packs::<S8, 8>::new(&sets));
    fours.check(problem, &expected);
    eight.check(problem, &expected);
    lines(
        options,
        workload,
        ("8 gradients", &mut || one_by_one(&mut |gradient| _ = black_box(gradient))),
        &mut [
            ("2 packs of 4", &mut || fours.run(problem, |_, gradient| _ = black_box(gradient))),
            ("1 pack of 8", &mut || eight.run(problem, |_, gradient| _ = black_box(gradient))),
        ],
    );
}

/// How a workload is recorded.
trait How {
    const NAME: &'static str;
    /// Leaves the gradient in `kept`.
    fn gradient<S: Reverse>(problem: &impl Problem, kept: &mut Kept<S>, x: &[S::Value]);
}

struct ByStatements;
impl How for ByStatements {
    const NAME: &'static str = "statements";
    fn gradient<S: Reverse>(problem: &impl Problem, kept: &mut Kept<S>, x: &[S::Value]) {
        kept.gradient(|x| problem.eval(0, x), x);
    }
}

struct ByKernels;
impl How for ByKernels {
    const NAME: &'static str = "kernels";
    fn gradient<S: Reverse>(problem: &impl Problem, Kept { tape, gradient }: &mut Kept<S>, x: &[S::Value]) {
        let (inputs, output) = tape.record(|scope| {
            let inputs = scope.view([x.len()], black_box(x));
            let output = problem.eval_by_kernels(&inputs);
            (inputs, output)
        });
        let adjoints = tape.sweep(&[(&output, S::Value::ONE)]).expect("the output belongs to the recording");
        gradient.copy_from_slice(&adjoints.of_view(&inputs).expect("the view belongs to the recording"));
    }
}

/// Where a Hessian matrix is multiplied by eight directions.
struct Point {
    x: Vec<f64>,
    /// Entry `i` of direction `k` is at `[i][k]`.
    directions: Vec<[f64; 8]>,
}

impl Point {
    /// Beside the workload's own inputs: on these some velocities of burgers2d are 0, where its slopes jump.
    fn new(problem: &impl Problem) -> Self {
        let mut random = SplitMix64::new(64);
        let x: Vec<f64> = problem.inputs(0).iter().map(|x| x + 0.003).collect();
        let directions = x.iter().map(|_| from_fn(|_| random.symmetric())).collect();
        Self { x, directions }
    }

    /// The point, moving along the first `N` directions.
    fn moving<const N: usize>(&self) -> Vec<Dual<f64, N>> {
        let dual = |(x, d): (&f64, &[f64; 8])| Dual { value: *x, tangents: from_fn(|k| d[k]) };
        self.x.iter().zip(&self.directions).map(dual).collect()
    }

    /// The Hessian matrix times direction `k`, by central differences of gradients that are written by hand.
    fn differences(&self, problem: &impl Problem, k: usize) -> Vec<f64> {
        let step = 1e-7;
        let [mut up, down] = [step, -step].map(|by| {
            let moved: Vec<f64> = self.x.iter().zip(&self.directions).map(|(x, d)| x + by * d[k]).collect();
            let mut gradient = vec![0.0; moved.len()];
            problem.adjoint(0, &moved, &mut gradient);
            gradient
        });
        up.iter_mut().zip(&down).for_each(|(up, down)| *up = (*up - down) / (2.0 * step));
        up
    }

    /// Fails unless a gradient over duals has these values, bit for bit, and the products of the Hessian matrix as
    /// tangents.
    fn check<const N: usize>(&self, problem: &impl Problem, found: &[Dual<f64, N>], gradient: &[f64]) {
        for (i, (found, slope)) in found.iter().zip(gradient).enumerate() {
            assert!(found.value.to_bits() == slope.to_bits(), "slope {i}: {}, not {slope}", found.value);
        }
        for k in 0..N {
            let what = format!("{}, product {k} of {N}", problem.name());
            assert_close(&what, found.iter().map(|dual| dual.tangents[k]), &self.differences(problem, k), 1e-6);
        }
    }
}

/// Products of the Hessian matrix with one vector and with eight, beside the gradient.
fn products<H, S, S1, S8>(options: &Options, strategy: &str, problem: &impl Problem)
where
    H: How,
    S: Reverse<Value = f64>,
    S1: Reverse<Value = Dual<f64, 1>>,
    S8: Reverse<Value = Dual<f64, 8>>,
{
    let point = Point::new(problem);
    let n = point.x.len();
    let (mut plain, mut one, mut eight) = (Kept::<S>::new(n), Kept::<S1>::new(n), Kept::<S8>::new(n));
    let (along_one, along_eight) = (point.moving::<1>(), point.moving::<8>());
    H::gradient(problem, &mut plain, &point.x);
    H::gradient(problem, &mut one, &along_one);
    H::gradient(problem, &mut eight, &along_eight);
    point.check(problem, &one.gradient, &plain.gradient);
    point.check(problem, &eight.gradient, &plain.gradient);
    let workload = format!("{}, {strategy}, {}", title(problem), H::NAME);
    lines(
        options,
        &workload,
        ("gradient", &mut || H::gradient(problem, &mut plain, &point.x)),
        &mut [
            ("1 Hessian product", &mut || H::gradient(problem, &mut one, &along_one)),
            ("8 Hessian products", &mut || H::gradient(problem, &mut eight, &along_eight)),
        ],
    );
}

/// Name and size of a workload.
fn title(problem: &impl Problem) -> String {
    format!("{} ({})", problem.name(), problem.size())
}

fn both_packs(options: &Options, title: &str, problem: &impl Eight) {
    let [first, second] = ["jacobian", "primal_value"].map(|strategy| format!("{title}, {strategy}"));
    packs::<Jacobian, Jacobian<Pack<4>>, Jacobian<Pack<8>>>(options, &first, problem);
    packs::<PrimalValue, PrimalValue<Pack<4>>, PrimalValue<Pack<8>>>(options, &second, problem);
}

type JacobianDual<const N: usize> = Jacobian<Dual<f64, N>>;
type PrimalValueDual<const N: usize> = PrimalValue<Dual<f64, N>>;

fn both_products(options: &Options, problem: &impl Problem) {
    products::<ByStatements, Jacobian, JacobianDual<1>, JacobianDual<8>>(options, "jacobian", problem);
    products::<ByStatements, PrimalValue, PrimalValueDual<1>, PrimalValueDual<8>>(options, "primal_value", problem);
}

fn main() {
    let options = Options::parse();
    let possible = "a possible size";
    let (libor, gmm, burgers) = if options.small {
        (Libor::new(16, 8, 8).expect(possible), Gmm::iris(), Burgers::new(16, 4).expect(possible))
    } else {
        (Libor::default(), Gmm::default(), Burgers::default())
    };
    println!("| workload | base | base, ms | beside it | × base | base again, × base |");
    println!("|---|---|--:|---|--:|--:|");
    let is_wanted = |part: &str| options.only.as_ref().is_none_or(|only| only == part);
    if is_wanted("libor") {
        both_packs(&options, &title(&libor), &libor);
    }
    if is_wanted("heston") {
        for (passive, normals) in [(false, "data"), (true, "passive variables")] {
            let paths = HestonPaths { model: Heston::new(STEPS, 8), passive };
            both_packs(&options, &format!("heston ({STEPS} steps; normal numbers are {normals})"), &paths);
        }
    }
    if is_wanted("gmm") {
        both_packs(&options, &title(&gmm), &gmm);
        both_products(&options, &gmm);
    }
    if is_wanted("burgers") {
        both_products(&options, &burgers);
    }
    if is_wanted("kernels") {
        let workload = format!("{}, jacobian, kernels", title(&burgers));
        packs::<Jacobian, Jacobian<Pack<4>>, Jacobian<Pack<8>>>(&options, &workload, &burgers);
        products::<ByKernels, Jacobian, JacobianDual<1>, JacobianDual<8>>(&options, "jacobian", &burgers);
    }
}
