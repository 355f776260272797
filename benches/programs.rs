//! Programs beside tapes: value and gradient of the mean over many scenarios, in units of the plain function.
//!
//! Values and gradients of all forms are compared before anything is timed. Thread CPU time, minima of rounds in which
//! everything is measured in turn. From how many scenarios on a program pays is computed from these times: recording
//! and lowering are what the first run of a program takes longer than its second, and the time of a block that is not
//! full lies on the line between those of a full one and of the shortest.
//!
//! ```text
//! cargo bench --bench programs --features packs
//! cargo bench --bench programs --features packs -- --second
//! cargo bench --bench programs --features packs,nalgebra -- --calls
//! cargo bench --bench programs --features packs,rayon -- --threads
//! ```
#![allow(clippy::cast_precision_loss, reason = "counts of scenarios")]

#[cfg(feature = "nalgebra")]
mod calls;
mod turns;

use clap::Parser;
use std::array::from_fn;
use std::hint::black_box;
use std::ops::Range;
use tapewright::kernels::InstructionSet;
use tapewright::packs::Pack;
use tapewright::programs::{Evaluations, Program, rows};
use tapewright::{Dual, Jacobian, PrimalValue, Real, Reverse, Tape, Taping};
use tapewright_problems::{Heston, Libor, Problem};
use turns::seconds;

#[derive(Parser)]
#[allow(clippy::struct_excessive_bools, reason = "options of a command")]
struct Options {
    /// Rounds in which everything is measured.
    #[arg(long, default_value_t = 25)]
    rounds: usize,
    /// Scenarios of each measurement, a multiple of 8.
    #[arg(long, default_value_t = 1024)]
    scenarios: usize,
    /// Scenarios in a block.
    #[arg(long, value_delimiter = ',', default_values_t = [8, 64, 128])]
    widths: Vec<usize>,
    /// Measures second derivatives.
    #[arg(long)]
    second: bool,
    /// Measures functions with calls of external functions.
    #[cfg(feature = "nalgebra")]
    #[arg(long)]
    calls: bool,
    /// Measures programs on one thread and on two, beside arithmetic without memory.
    #[cfg(feature = "rayon")]
    #[arg(long)]
    threads: bool,
    /// Runs programs on registers of 256 bits at most: AVX2 on x86-64.
    #[arg(long)]
    narrow: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A function of parameters and of data, as a rule normal numbers, which differ between scenarios.
trait Model: Sync {
    fn title(&self) -> String;
    fn parameters(&self) -> Vec<f64>;
    fn normals(&self, k: usize) -> &[f64];
    /// The sum over the first scenarios.
    fn plain(&self, count: usize, x: &[f64]) -> f64;
    /// Any scenario, without branches.
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S>;
    /// One scenario, whose normal numbers are constants.
    fn alone<S: Taping<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        let normals: Vec<Real<S>> = self.normals(k).iter().map(|z| Real::constant(*z)).collect();
        self.any(x, &normals)
    }
}

/// A model over any type of numbers.
trait OverNumbers: Model {
    fn any_over<S: Taping>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S>;
    fn alone_over<S: Taping>(&self, k: usize, x: &[Real<S>]) -> Real<S>;
}

/// Time steps of a path of Heston's model.
const STEPS: usize = 100;

impl Model for Libor {
    fn title(&self) -> String {
        "libor, 80 rates, 40 maturities".to_owned()
    }
    fn parameters(&self) -> Vec<f64> {
        self.inputs(0)
    }
    fn normals(&self, k: usize) -> &[f64] {
        self.path(k)
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        (0..count).map(|k| Problem::plain(self, k, black_box(x))).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        self.eval_on(x, normals)
    }
    fn alone<S: Taping<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(k, x)
    }
}

impl Model for Heston {
    fn title(&self) -> String {
        format!("Heston, {STEPS} steps")
    }
    fn parameters(&self) -> Vec<f64> {
        Self::MODEL.to_vec()
    }
    fn normals(&self, k: usize) -> &[f64] {
        self.path(k)
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        let one = |k| self.plain(k, black_box(x).try_into().expect("the model has seven parameters"));
        (0..count).map(one).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        self.eval_on(x, normals)
    }
    fn alone<S: Taping<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(k, x)
    }
}

macro_rules! over_numbers {
    ($($model:ty),*) => { $(
        impl OverNumbers for $model {
            fn any_over<S: Taping>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
                self.eval_on(x, normals)
            }
            fn alone_over<S: Taping>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
                self.eval(k, x)
            }
        }
    )* };
}
over_numbers!(Libor, Heston);

/// The mean over scenarios and its gradient.
#[derive(Default)]
struct Mean {
    value: f64,
    gradient: Vec<f64>,
}

impl Mean {
    /// Fails unless both are the same to 12 digits.
    fn check(&self, name: &str, expected: &Self) {
        let largest = |x: &[f64]| x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let off = (self.value - expected.value).abs();
        assert!(off <= 1e-12 * expected.value.abs(), "{name}: {}, not {}", self.value, expected.value);
        assert_eq!(self.gradient.len(), expected.gradient.len(), "{name}");
        let off: Vec<f64> = self.gradient.iter().zip(&expected.gradient).map(|(a, b)| a - b).collect();
        assert!(largest(&off) <= 1e-12 * largest(&expected.gradient), "{name}: gradients differ by {}", largest(&off));
    }
}

/// A way to the mean over all scenarios: its name, and what is timed.
struct Form<'m> {
    name: String,
    run: Box<dyn FnMut() -> Mean + 'm>,
}

fn plain<'m>(model: &'m impl Model, x: &'m [f64], count: usize) -> Form<'m> {
    let run = move || Mean { value: model.plain(count, black_box(x)) / count as f64, gradient: Vec::new() };
    Form { name: "plain function, values only".to_owned(), run: Box::new(run) }
}

fn tape<'m, S: Reverse<Value = f64>>(name: &str, model: &'m impl Model, x: &'m [f64], count: usize) -> Form<'m> {
    let (mut tape, mut of_path) = (Tape::<S>::new(), vec![0.0; x.len()]);
    let run = move || {
        let mut mean = Mean { value: 0.0, gradient: vec![0.0; x.len()] };
        for k in 0..count {
            let value = tape.gradient(|x| model.alone(k, x), black_box(x), &mut of_path);
            mean.value += value.expect("the output belongs to the recording") / count as f64;
            mean.gradient.iter_mut().zip(&of_path).for_each(|(sum, slope)| *sum += slope / count as f64);
        }
        mean
    };
    Form { name: format!("`{name}`, recorded for each path"), run: Box::new(run) }
}

fn packs<'m, S: Reverse<Value = Pack<8>>>(
    name: &str,
    model: &'m impl OverNumbers,
    x: &[f64],
    count: usize,
) -> Form<'m> {
    let x: Vec<Pack<8>> = x.iter().map(|x| Pack([*x; 8])).collect();
    let (mut tape, mut of_pack) = (Tape::<S>::new(), x.clone());
    let run = move || {
        let mut mean = Mean { value: 0.0, gradient: vec![0.0; x.len()] };
        for first in (0..count).step_by(8) {
            let steps = model.normals(first).len();
            let normals: Vec<Real<S>> =
                (0..steps).map(|n| Real::constant(Pack(from_fn(|lane| model.normals(first + lane)[n])))).collect();
            let value = tape.gradient(|x| model.any_over(x, &normals), black_box(&x), &mut of_pack);
            let value = value.expect("the output belongs to the recording");
            mean.value += (0..8).map(|lane| value[lane]).sum::<f64>() / count as f64;
            for (sum, slopes) in mean.gradient.iter_mut().zip(&of_pack) {
                *sum += (0..8).map(|lane| slopes[lane]).sum::<f64>() / count as f64;
            }
        }
        mean
    };
    Form { name: format!("`{name}<Pack<8>>`, recorded for each pack"), run: Box::new(run) }
}

fn program_of<M: Model>(model: &M, width: usize) -> Program<'_> {
    Program::new(|p, d| [model.any(p, d)]).in_blocks_of(width)
}

fn mean_of(found: &Evaluations<f64>) -> Mean {
    Mean { value: found.mean(0), gradient: found.mean_gradient(0) }
}

/// A program in blocks of this many scenarios.
fn program<'m>(model: &'m impl Model, x: &'m [f64], normals: &'m [f64], width: usize) -> Form<'m> {
    let (program, columns) = (program_of(model, width), model.normals(0).len());
    let run = move || mean_of(&program.gradient(black_box(x), rows(normals, columns)).expect("it is a program"));
    Form { name: format!("program, blocks of {width}"), run: Box::new(run) }
}

fn program_values<'m>(model: &'m impl Model, x: &'m [f64], normals: &'m [f64]) -> Form<'m> {
    let (program, columns) = (program_of(model, 64), model.normals(0).len());
    let run = move || {
        let found = program.values(black_box(x), rows(normals, columns)).expect("it is a program");
        Mean { value: found.mean(0), gradient: Vec::new() }
    };
    Form { name: "program, blocks of 64, values only".to_owned(), run: Box::new(run) }
}

/// As many scenarios are computed at once, at least: a line of numbers.
const FEWEST: usize = 8;

/// Seconds of the first run of a program over a block, of the second, and of one over the shortest block. Recording and
/// lowering make the difference of the first two.
fn runs(model: &impl Model, x: &[f64], normals: &[f64], width: usize) -> [f64; 3] {
    let (program, columns) = (program_of(model, width), model.normals(0).len());
    let run = |count: usize| {
        seconds(|| program.gradient(x, rows(&normals[..count * columns], columns)).expect("it is a program"))
    };
    [run(width), run(width), run(FEWEST)]
}

/// What a program takes in seconds: to be prepared, for each scenario in full blocks, and for the shortest block.
struct Seconds {
    preparation: f64,
    width: usize,
    each: f64,
    shortest: f64,
}

impl Seconds {
    /// The time for this many scenarios.
    fn of(&self, count: usize) -> f64 {
        let Self { preparation, width, each, shortest } = *self;
        let (full, rest) = (count / width * width, (count % width).next_multiple_of(FEWEST));
        let slope = (width as f64 * each - shortest) / width.saturating_sub(FEWEST).max(1) as f64;
        let rest = if rest == 0 { 0.0 } else { shortest + (rest - FEWEST) as f64 * slope };
        preparation + full as f64 * each + rest
    }

    /// The number of scenarios from which on a program takes less time than something that takes `other` seconds for
    /// each.
    fn pays_from(&self, other: f64) -> String {
        const MOST: usize = 100_000;
        match (1..=MOST).rev().find(|n| self.of(*n) >= *n as f64 * other) {
            Some(MOST) => "–".to_owned(),
            last => (last.unwrap_or(0) + 1).to_string(),
        }
    }
}

/// Measures the ways to the mean that all models have, and others, of which the fastest is one to compare with.
fn compare<'m>(model: &'m impl Model, options: &Options, (what, others): (&str, Vec<Form<'m>>)) {
    let (x, count, widths) = (model.parameters(), options.scenarios, &options.widths);
    let normals: Vec<f64> = (0..count).flat_map(|k| model.normals(k).to_vec()).collect();
    let mut forms = vec![
        plain(model, &x, count),
        tape::<Jacobian>("Jacobian", model, &x, count),
        tape::<PrimalValue>("PrimalValue", model, &x, count),
    ];
    let tapes = 1..forms.len();
    forms.extend(others);
    let others = tapes.end..forms.len();
    forms.push(program_values(model, &x, &normals));
    let first_program = forms.len();
    forms.extend(widths.iter().map(|width| program(model, &x, &normals, *width)));
    let (value, expected) = ((forms[0].run)().value, (forms[1].run)());
    for Form { name, run } in &mut forms {
        let found = run();
        let gradient = if found.gradient.is_empty() { Vec::new() } else { expected.gradient.clone() };
        found.check(name, &Mean { value, gradient });
    }

    let (mut least, mut of_runs) = (vec![f64::INFINITY; forms.len()], vec![[f64::INFINITY; 3]; widths.len()]);
    for _ in 0..options.rounds.max(1) {
        for (least, form) in least.iter_mut().zip(&mut forms) {
            *least = least.min(seconds(|| (form.run)()) / count as f64);
        }
        for (least, width) in of_runs.iter_mut().zip(widths) {
            let found = runs(model, &x, &normals, *width);
            least.iter_mut().zip(found).for_each(|(least, found)| *least = least.min(found));
        }
    }
    let fastest = |forms: &Range<usize>| least[forms.clone()].iter().copied().reduce(f64::min);
    let rivals: Vec<(&str, f64)> = [("the tape", &tapes), (what, &others)]
        .into_iter()
        .filter_map(|(what, forms)| Some((what, fastest(forms)?)))
        .collect();
    let each_rival = |text: &dyn Fn(&str, f64) -> String| -> String {
        rivals.iter().map(|(what, time)| text(what, *time)).collect()
    };
    let titles = each_rival(&|what, _| format!(" × {what} |"));
    let pays = each_rival(&|what, _| format!(" pays beside {what} |"));
    println!("| {} | µs a path | × plain |{titles} ms to prepare |{pays}", model.title());
    println!("|---|--:|--:|{}--:|{}", "--:|".repeat(rivals.len()), "--:|".repeat(rivals.len()));
    for (k, (form, each)) in forms.iter().zip(&least).enumerate() {
        let ratios = each_rival(&|_, time| format!(" {:.2} |", each / time));
        let line = format!("| {} | {:.2} | {:.2} |{ratios}", form.name, 1e6 * each, each / least[0]);
        let of_program = k.checked_sub(first_program).map_or_else(
            || "  |".repeat(1 + rivals.len()),
            |k| {
                let [first, second, shortest] = of_runs[k];
                let seconds = Seconds { preparation: first - second, width: widths[k], each: *each, shortest };
                let pays = each_rival(&|_, time| format!(" {} |", seconds.pays_from(time)));
                format!(" {:.2} |{pays}", 1e3 * seconds.preparation)
            },
        );
        println!("{line}{of_program}");
    }
    println!();
}

/// Compares a model with packs, too.
fn compare_with_packs(model: &impl OverNumbers, options: &Options) {
    let (x, count) = (model.parameters(), options.scenarios);
    let forms = vec![
        packs::<Jacobian<Pack<8>>>("Jacobian", model, &x, count),
        packs::<PrimalValue<Pack<8>>>("PrimalValue", model, &x, count),
    ];
    compare(model, options, ("packs of 8", forms));
}

/// The Hessian matrix of the mean times a vector: over tapes of duals that are recorded for each path, and by a program
/// over duals.
fn compare_second(model: &impl OverNumbers, options: &Options) {
    type Second = Dual<f64, 1>;
    let (x, count) = (model.parameters(), options.scenarios);
    let direction: Vec<[f64; 1]> = (0..x.len()).map(|k| [1.0 / (k + 1) as f64]).collect();
    let normals: Vec<f64> = (0..count).flat_map(|k| model.normals(k).to_vec()).collect();
    let mut tape = Tape::<Jacobian<Second>>::new();
    let by_tape = || {
        let mut mean = Mean { value: 0.0, gradient: vec![0.0; x.len()] };
        let (mut gradient, mut product) = (vec![0.0; x.len()], vec![[0.0]; x.len()]);
        for k in 0..count {
            let f = |x: &[Real<Jacobian<Second>>]| model.alone_over(k, x);
            let value = tape.hessian_times(f, black_box(&x), &direction, &mut gradient, &mut product);
            mean.value += value.expect("the lengths are right") / count as f64;
            mean.gradient.iter_mut().zip(&product).for_each(|(sum, [entry])| *sum += entry / count as f64);
        }
        mean
    };
    let mut forms = vec![
        plain(model, &x, count),
        Form { name: "`Jacobian<Dual<f64, 1>>`, recorded for each path".to_owned(), run: Box::new(by_tape) },
    ];
    for width in options.widths.iter().copied() {
        let program = Program::<Second>::new(|p, d| [model.any_over(p, d)]).in_blocks_of(width);
        let (normals, x, direction) = (&normals, &x, &direction);
        let run = move || {
            let found = program.hessian_times(black_box(x), direction, rows(normals, model.normals(0).len()));
            let found = found.expect("it is a program");
            let gradient = found.mean_gradient(0).iter().map(|slope| slope.tangents[0]).collect();
            Mean { value: found.mean(0).value, gradient }
        };
        forms.push(Form { name: format!("program over `Dual<f64, 1>`, blocks of {width}"), run: Box::new(run) });
    }
    let expected = (forms[1].run)();
    forms.iter_mut().skip(2).for_each(|form| (form.run)().check(&form.name, &expected));
    let mut least = vec![f64::INFINITY; forms.len()];
    for _ in 0..options.rounds.max(1) {
        for (least, form) in least.iter_mut().zip(&mut forms) {
            *least = least.min(seconds(|| (form.run)()) / count as f64);
        }
    }
    println!("| {}: the Hessian of the mean times a vector | µs a path | × plain | × the tape |", model.title());
    println!("|---|--:|--:|--:|");
    for (form, each) in forms.iter().zip(&least) {
        println!("| {} | {:.2} | {:.2} | {:.2} |", form.name, 1e6 * each, each / least[0], each / least[1]);
    }
    println!();
}

#[cfg(feature = "rayon")]
mod threads {
    use super::{Model, Options, black_box, mean_of, program_of, rows};
    use cpu_time::ThreadTime;
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    use rayon::{ThreadPool, ThreadPoolBuilder};

    /// Processor time that the busier thread of a pool needs for this.
    fn busier(pool: &ThreadPool, work: impl FnOnce() + Send) -> f64 {
        let now = || pool.broadcast(|_| ThreadTime::now().as_duration());
        let before = now();
        pool.install(work);
        let times = now().into_iter().zip(before).map(|(after, before)| after.saturating_sub(before).as_secs_f64());
        times.fold(0.0, f64::max)
    }

    /// Arithmetic of 32 numbers that are in registers, in as many pieces as the scenarios have chunks.
    fn arithmetic(chunks: usize) -> f64 {
        let piece = |k: usize| {
            let mut numbers = [k as f64; 32];
            for _ in 0..500_000 {
                numbers.iter_mut().for_each(|x| *x = *x * 0.999_999 + 1e-9);
            }
            numbers.iter().sum::<f64>()
        };
        (0..chunks).into_par_iter().map(piece).sum()
    }

    /// Prints what a program gains from a second thread, and what arithmetic does.
    pub(super) fn compare(model: &impl Model, options: &Options) {
        let (x, columns) = (model.parameters(), model.normals(0).len());
        let chunks = options.scenarios.div_ceil(1024);
        let normals: Vec<f64> = (0..options.scenarios).flat_map(|k| model.normals(k).to_vec()).collect();
        let program = program_of(model, 64).in_parallel();
        let run = || mean_of(&program.gradient(black_box(&x), rows(&normals, columns)).expect("it is a program"));
        let pools = [1, 2].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"));
        let [one, two] = pools.each_ref().map(|pool| pool.install(run));
        assert!(one.value.to_bits() == two.value.to_bits() && one.gradient == two.gradient, "the same bits");
        let forms: [(&str, &(dyn Fn() + Sync)); 2] = [
            ("arithmetic without memory", &|| _ = black_box(arithmetic(chunks))),
            ("program, blocks of 64", &|| _ = black_box(run())),
        ];
        let mut least = [[f64::INFINITY; 2]; 2];
        for _ in 0..options.rounds.max(1) {
            for (least, (_, run)) in least.iter_mut().zip(&forms) {
                for (least, pool) in least.iter_mut().zip(&pools) {
                    *least = least.min(busier(pool, run));
                }
            }
        }
        let gains = least.map(|[one, two]| one / two);
        println!(
            "| {}, {} paths | ms on one thread | on two | gain | × that of arithmetic |",
            model.title(),
            normals.len() / columns
        );
        println!("|---|--:|--:|--:|--:|");
        for (((name, _), [one, two]), gain) in forms.iter().zip(least).zip(gains) {
            println!("| {name} | {:.1} | {:.1} | {gain:.2} | {:.2} |", 1e3 * one, 1e3 * two, gain / gains[0]);
        }
        println!();
    }
}

fn main() {
    let options = Options::parse();
    if options.narrow {
        println!("Programs on registers of the set {:?}.\n", InstructionSet::Middle.set());
    }
    assert!(options.scenarios.is_multiple_of(8) && options.scenarios >= 128, "{} scenarios", options.scenarios);
    #[cfg(feature = "nalgebra")]
    if options.calls {
        calls::compare(&options);
        return;
    }
    let (libor, heston) = (Libor::new(80, 40, options.scenarios), Heston::new(STEPS, options.scenarios));
    let libor = libor.expect("the size is possible");
    if options.second {
        compare_second(&libor, &options);
        compare_second(&heston, &options);
        return;
    }
    #[cfg(feature = "rayon")]
    if options.threads {
        threads::compare(&libor, &options);
        threads::compare(&heston, &options);
        return;
    }
    compare_with_packs(&libor, &options);
    compare_with_packs(&heston, &options);
}
