//! How good the advisor's word is: times that are forecast beside times that are measured, and what is lost by following
//! its recommendation.
//!
//! For each workload, all strategies in memory are measured in turns. That is the truth. Forecasts are made before and after it, and a
//! recommendation is asked for with every budget that makes a difference: the bytes of each strategy, and no limit. What is lost is
//! the time of the strategy that is recommended over the time of the fastest one that fits, less one.
//!
//! ```text
//! cargo bench --bench advisor > benches/results/advisor.md
//! ```

use clap::Parser;
use std::fmt::{Display, Write as _};
use tapewright::advisor::{Comparison, Contest, Forecast, Prediction, Program, Row, forecast, recommend};
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, Workload};
use tapewright_test_support::median;

#[derive(Parser)]
struct Options {
    /// Seconds in which all strategies are measured on a workload.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Small sizes only, to see that all is right.
    #[arg(long)]
    small: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What is found on all workloads.
#[derive(Default)]
struct Findings {
    /// Relative errors of times that are forecast.
    errors: Vec<f64>,
    /// What is lost with each budget.
    losses: Vec<f64>,
    forecasts: Vec<String>,
    recommendations: Vec<String>,
}

impl Findings {
    fn add<P: Problem, E: Display>(&mut self, options: &Options, size: &str, problem: Result<P, E>) {
        let problem = problem.unwrap_or_else(|error| panic!("{error}"));
        let (name, x) = (format!("{} {size}", problem.name()), problem.inputs(0));
        eprintln!("{name}");
        let program = Workload(problem);
        let before: Vec<Forecast> = (0..5).map(|_| forecast(&program, &x)).collect();
        let truth = Contest::new(&program, &x).usual().seconds(options.seconds).run();
        let truth = truth.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(truth.wrong().count(), 0, "{truth}");
        let after = (0..5).map(|_| forecast(&program, &x));
        self.forecast(&name, &before.into_iter().chain(after).collect::<Vec<_>>(), &truth);
        self.recommend(&name, &program, &x, &truth);
    }

    /// Of several forecasts the least counts, as of several measurements: the processor may have been slow.
    fn forecast(&mut self, name: &str, forecasts: &[Forecast], truth: &Comparison) {
        let mut line = format!("| {name} |");
        for row in truth.rows.iter().filter(|row| row.bytes() > 0) {
            let rows = forecasts.iter().map(|forecast| forecast.row(&row.strategy).expect("the same strategies"));
            let is_exact = |expected: &Prediction| (expected.tape, expected.adjoints) == (row.tape, row.adjoints);
            assert!(rows.clone().all(is_exact), "bytes: {}", row.strategy);
            let error = rows.map(|row| row.seconds).fold(f64::INFINITY, f64::min) / row.total - 1.0;
            self.errors.push(error);
            write!(line, " {:+.0} |", 100.0 * error).expect("a string");
        }
        self.forecasts.push(line);
    }

    fn recommend<P: Program>(&mut self, name: &str, program: &P, x: &[f64], truth: &Comparison) {
        let mut budgets: Vec<usize> = truth.rows.iter().map(Row::bytes).filter(|bytes| *bytes > 0).collect();
        budgets.push(usize::MAX);
        budgets.sort_unstable();
        budgets.dedup();
        let mut worst = (0.0, String::from("the fastest that fits, with every budget"));
        for budget in &budgets {
            let said = recommend(program, x, *budget).unwrap_or_else(|error| panic!("{error}"));
            let row = truth.row(&said.strategy).expect("it was measured");
            assert!(said.fits && row.bytes() <= *budget, "{said}");
            let fitting = truth.rows.iter().filter(|row| row.bytes() <= *budget);
            let best = fitting.min_by(|a, b| a.total.total_cmp(&b.total)).expect("the one that is recommended");
            let loss = row.total / best.total - 1.0;
            self.losses.push(loss);
            if loss > worst.0 {
                worst = (loss, format!("`{}` instead of `{}`", row.strategy, best.strategy));
            }
        }
        self.recommendations.push(format!("| {name} | {} | {:.1} | {} |", budgets.len(), 100.0 * worst.0, worst.1));
    }

    fn print(&self) {
        let median = median(self.errors.iter().map(|error| error.abs()).collect());
        let most = self.losses.iter().fold(0.0, |most: f64, loss| most.max(*loss));
        println!("## Times that are forecast: errors in percent\n");
        println!("`J`: `Jacobian`, `P`: `PrimalValue`, `H`: `Hybrid`, `C`: `Continuation`; `R`: with `Reuse`\n");
        println!("| workload | J | P | H | C | J R | P R | H R | C R |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|");
        println!("{}\n\nMedian of the magnitudes: {:.0} %.\n", self.forecasts.join("\n"), 100.0 * median);
        println!("## What is lost by following recommendations\n");
        println!("| workload | budgets | most that is lost (%) | there |\n|---|--:|--:|---|");
        println!("{}\n\nMost of all: {:.1} %.", self.recommendations.join("\n"), 100.0 * most);
    }
}

fn main() {
    let options = Options::parse();
    let mut findings = Findings::default();
    findings.add(&options, "", ExpSq::new(1));
    findings.add(&options, "d = 10, k = 5, n = 50", Gmm::synthetic(10, 5, 50));
    findings.add(&options, "iris", Ok::<_, String>(Gmm::iris()));
    findings.add(&options, "n = 10³", Laplacian::new(1000));
    findings.add(&options, "80 rates, 40 maturities", Libor::new(80, 40, 1));
    findings.add(&options, "2 × 14 cells, 128 rows", Lstm::synthetic(2, 14, 128));
    findings.add(&options, "n = 10⁴", RepeatedSin::new(10_000));
    findings.add(&options, "16² points, 16 steps", Burgers::new(16, 16));
    if !options.small {
        findings.add(&options, "n = 10⁵", Laplacian::new(100_000));
        findings.add(&options, "n = 3 · 10⁶", RepeatedSin::new(3_000_000));
        findings.add(&options, "128² points, 63 steps", Burgers::new(128, 63));
    }
    findings.print();
}
