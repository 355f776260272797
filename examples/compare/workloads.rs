//! The workloads by name.
#![allow(clippy::doc_markdown, reason = "ADBench is a name")]

use crate::beside::Figures;
use crate::cli::Request;
use crate::measure::{self, Outcome};
use crate::plan;
use crate::programs::Sequence;
use crate::strategies::{Run, Strategy, blocks, checkpointed, kernels, kernels_on_device, packs, program};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tapewright::Error;
use tapewright_problems::{Burgers, Checksums, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, total};

/// Facts about a workload that are known before anything is measured.
pub(crate) struct Expected {
    pub(crate) workload: &'static str,
    pub(crate) size: String,
    /// Gradients that make the workload.
    pub(crate) evaluations: usize,
    /// By the hand-written adjoint.
    pub(crate) checksums: Checksums,
}

/// A workload of any type.
pub(crate) trait Workload {
    fn name(&self) -> &'static str;

    /// Facts, and the result that any program must find.
    fn expected(&self) -> Expected;

    /// Measures it under one strategy, as programs are measured that run beside each other.
    fn figures(&self, strategy: Strategy, request: &Request) -> Result<Figures, String>;

    /// Seconds that `measure` will take, roughly.
    fn seconds(&self, request: &Request) -> f64;

    /// Checks and times it under every strategy of the request.
    fn measure(&self, request: &Request) -> Result<Outcome, String>;
}

/// A workload and the strategies that it can run under.
struct Made<P>(Sequence<P>, Vec<Run<P>>);

impl<P: Problem> Made<P> {
    fn wanted(&self, request: &Request) -> Vec<Run<P>> {
        self.1.iter().filter(|(strategy, _)| request.strategies.contains(strategy)).copied().collect()
    }
}

impl<P: Problem> Workload for Made<P> {
    fn name(&self) -> &'static str {
        self.0.problem.name()
    }

    fn expected(&self) -> Expected {
        let problem = &self.0.problem;
        let (value, gradient) = total(problem, |k, x, g| problem.adjoint(k, x, g));
        let checksums = Checksums::of(value, &gradient);
        Expected { workload: self.name(), size: problem.size(), evaluations: problem.evaluations(), checksums }
    }

    fn figures(&self, strategy: Strategy, request: &Request) -> Result<Figures, String> {
        let run = self.1.iter().find(|(found, _)| *found == strategy);
        let run = run.ok_or_else(|| format!("{} cannot run under {}", self.name(), strategy.title()))?;
        measure::figures(&self.0, run, request).map_err(|error| error.to_string())
    }

    fn seconds(&self, request: &Request) -> f64 {
        plan::seconds(&self.0.problem, self.wanted(request).len(), request)
    }

    fn measure(&self, request: &Request) -> Result<Outcome, String> {
        let outcome = measure::measure(&self.0, &self.wanted(request), request);
        outcome.map_err(|why| match why {
            Error::Storage(_) => {
                format!("FAILED: {}: {why}; --directory names another place for the files", self.name())
            }
            _ => format!("FAILED: {}: {why}", self.name()),
        })
    }
}

const NAMES: [&str; 7] = ["burgers2d", "gmm", "laplacian1d", "repeated_sin", "libor", "lstm", "expsq"];

/// Makes the named workloads, or all; those that a file holds from the file.
pub(crate) fn make(
    names: &[String],
    sizes: &HashMap<String, Vec<usize>>,
    data: &[PathBuf],
) -> Result<Vec<Box<dyn Workload>>, String> {
    let known = |name: &String| {
        let error = || format!("no workload is called '{name}'; there are {}", NAMES.join(", "));
        NAMES.iter().copied().find(|known| known == name).ok_or_else(error)
    };
    let mut chosen = names.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    sizes.keys().try_for_each(|name| known(name).map(|_| ()))?;
    let mut files = data.iter().map(|path| read(path, &chosen)).collect::<Result<Vec<_>, _>>()?;
    if chosen.is_empty() {
        chosen = NAMES.to_vec();
    }
    let one = |name: &'static str| match files.iter().position(|(kind, _)| *kind == name) {
        Some(k) => Ok(files.remove(k).1),
        None => sized(name, sizes.get(name).map(Vec::as_slice)),
    };
    let made = chosen.iter().copied().map(one).collect();
    match files.first() {
        None => made,
        Some((kind, _)) if chosen.contains(kind) => Err(format!("--data holds more than one problem for {kind}")),
        Some((kind, _)) => {
            Err(format!("--data holds a problem for {kind}, which is not among the workloads asked for"))
        }
    }
}

/// A workload of a given size, or of the default one.
fn sized(name: &'static str, size: Option<&[usize]>) -> Result<Box<dyn Workload>, String> {
    let made = match (name, size) {
        ("burgers2d", None) => boxed(Ok(Burgers::default()), of_burgers()),
        ("burgers2d", Some(&[n, steps])) => boxed(Burgers::new(n, steps), of_burgers()),
        ("gmm", None) => boxed(Ok(Gmm::iris()), Vec::new()),
        ("gmm", Some(&[d, k, n])) => boxed(Gmm::synthetic(d, k, n), Vec::new()),
        ("laplacian1d", None) => boxed(Ok(Laplacian::default()), vec![kernels()]),
        ("laplacian1d", Some(&[n])) => boxed(Laplacian::new(n), vec![kernels()]),
        ("repeated_sin", None) => boxed(Ok(RepeatedSin::default()), vec![checkpointed()]),
        ("repeated_sin", Some(&[n])) => boxed(RepeatedSin::new(n), vec![checkpointed()]),
        ("libor", None) => boxed(Ok(Libor::default()), vec![packs(), program()]),
        ("libor", Some(&[rates, maturities, paths])) => {
            boxed(Libor::new(rates, maturities, paths), vec![packs(), program()])
        }
        ("lstm", None) => boxed(Lstm::synthetic(2, 14, 512), Vec::new()),
        ("lstm", Some(&[layers, width, rows])) => boxed(Lstm::synthetic(layers, width, rows), Vec::new()),
        ("expsq", None) => boxed(Ok(ExpSq::default()), Vec::new()),
        ("expsq", Some(&[n])) => boxed(ExpSq::new(n), Vec::new()),
        (_, size) => {
            return Err(format!(
                "the size of {name} is not made of {} numbers; see --help",
                size.map_or(0, <[_]>::len)
            ));
        }
    };
    made.map_err(|error| error.to_string())
}

/// Stages, blocks, and kernels, also on a device if there is one.
fn of_burgers() -> Vec<Run<Burgers>> {
    [checkpointed(), blocks(), kernels()].into_iter().chain(kernels_on_device()).collect()
}

/// A workload with those strategies that not every workload can run under.
fn boxed<P: Problem + 'static>(
    problem: Result<P, tapewright_problems::Error>,
    forms: Vec<Run<P>>,
) -> Result<Box<dyn Workload>, tapewright_problems::Error> {
    let runs = Strategy::runs().chain(forms).collect();
    problem.map(|problem| Box::new(Made(Sequence::new(problem), runs)) as Box<dyn Workload>)
}

/// Reads a file of ADBench: which workload it is for, and the workload.
fn read(path: &Path, chosen: &[&str]) -> Result<(&'static str, Box<dyn Workload>), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let at = |error: tapewright_problems::Error| format!("{}: {error}", path.display());
    let wants = |kind: &str, other: &str| chosen.contains(&kind) && !chosen.contains(&other);
    let is_lstm = if wants("lstm", "gmm") { true } else { !wants("gmm", "lstm") && looks_like_lstm(&text) };
    if is_lstm {
        Ok(("lstm", boxed(Lstm::from_text(&text), Vec::new()).map_err(at)?))
    } else {
        Ok(("gmm", boxed(Gmm::from_text(&text), Vec::new()).map_err(at)?))
    }
}

/// Both formats begin with three sizes; how many numbers follow tells them apart.
fn looks_like_lstm(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let sizes: Vec<u128> = words.by_ref().take(3).map_while(|word| word.parse().ok()).collect();
    let &[a, b, c] = &sizes[..] else { return false };
    let numbers = words.count() as u128;
    let times = |factors: &[u128]| factors.iter().fold(1_u128, |product, f| product.saturating_mul(*f));
    let lstm = [times(&[a, 8, c]), times(&[3, c]), times(&[2, a, c]), times(&[b, c])];
    let gmm = [b, times(&[b, a]), times(&[b, a, a.saturating_add(1)]) / 2, times(&[c, a]), 2];
    let distance = |terms: &[u128]| terms.iter().fold(0_u128, |sum, t| sum.saturating_add(*t)).abs_diff(numbers);
    distance(&lstm) < distance(&gmm)
}
