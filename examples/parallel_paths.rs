//! The gradient of a Monte Carlo estimate, path by path on several threads: the same bits however many there are.
//!
//! Each worker has a tape of its own, made when it first needs one and kept. Paths are summed in chunks whose borders
//! do not depend on the number of threads, and the chunks are added in their order.

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::error::Error;
use std::time::Instant;
use tapewright::prelude::*;
use tapewright_problems::{Libor, Problem};

const PATHS: usize = 4000;
/// Paths of a chunk: many enough that handing out chunks costs nothing, few enough that eight threads stay busy.
const CHUNK: usize = 50;

/// A value and its gradient, summed over paths.
#[derive(Clone, Debug, PartialEq)]
struct Sum {
    value: f64,
    gradient: Vec<f64>,
}

impl Sum {
    fn zero(inputs: usize) -> Self {
        Self { value: 0.0, gradient: vec![0.0; inputs] }
    }

    fn add(&mut self, value: f64, gradient: &[f64]) {
        self.value += value;
        self.gradient.iter_mut().zip(gradient).for_each(|(sum, entry)| *sum += entry);
    }
}

/// The paths of one chunk, one recording and one sweep for each.
fn chunk<S: Reverse<Value = f64>>(problem: &Libor, tape: &mut Tape<S>, first: usize) -> Result<Sum, tapewright::Error> {
    let mut x = problem.inputs(first);
    let mut gradient = vec![0.0; x.len()];
    let mut sum = Sum::zero(x.len());
    for path in first..(first + CHUNK).min(PATHS) {
        problem.inputs_into(path, &mut x);
        let value = tape.gradient(|x| problem.eval(path, x), &x, &mut gradient)?;
        sum.add(value, &gradient);
    }
    Ok(sum)
}

/// All paths, on the threads of the present pool.
fn all_paths<S: Reverse<Value = f64>>(problem: &Libor) -> Result<Sum, tapewright::Error> {
    let chunks = (0..PATHS.div_ceil(CHUNK)).into_par_iter();
    let sums = chunks.map_init(Tape::<S>::new, |tape, at| chunk(problem, tape, CHUNK * at));
    // Collected in their order, so that the sums below are added in it.
    let sums: Vec<Sum> = sums.collect::<Result<_, _>>()?;
    let mut total = Sum::zero(problem.inputs(0).len());
    sums.iter().for_each(|sum| total.add(sum.value, &sum.gradient));
    Ok(total)
}

fn main() -> Result<(), Box<dyn Error>> {
    let problem = Libor::new(80, 40, PATHS)?;
    println!("libor: {}, chunks of {CHUNK} paths", problem.size());
    let mut first: Option<(Sum, f64)> = None;
    for threads in [1, 2, 4, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let clock = Instant::now();
        let sum = pool.install(|| all_paths::<Jacobian>(&problem))?;
        let seconds = clock.elapsed().as_secs_f64();
        let (expected, alone) = first.get_or_insert_with(|| (sum.clone(), seconds));
        assert_eq!(sum, *expected, "the number of threads changes no bit");
        println!(
            "{threads} thread(s): {:7.1} ms, {:.2} times as fast as one; value {:.12e}, ∂/∂δ {:.12e}",
            1e3 * seconds,
            *alone / seconds,
            sum.value,
            sum.gradient[0]
        );
    }
    println!("The sums agree bit for bit.");
    Ok(())
}
