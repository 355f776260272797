//! rayon: how long do machines last, and what shortens their lives? The likelihood of 40,000 lifetimes, its samples on
//! several threads, with the same bits on any number of them.
//!
//! A lifetime follows Weibull's distribution; machines that still run are censored. A worker of rayon has a tape of its
//! own for each run of chunks that it takes. A chunk of samples is a recording, and the gradients of the chunks are
//! added in their order.
//!
//! `cargo run --release -p tapewright-ecosystem --example lifetimes`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::error::Error;
use tapewright::linear_combination;
use tapewright::prelude::*;
use tapewright_problems::random::SplitMix64;

const MACHINES: usize = 40_000;
/// A constant, load, temperature, vibration and age.
const FEATURES: usize = 5;
/// A weight for each feature, and the logarithm of the shape of the distribution.
const UNKNOWNS: usize = FEATURES + 1;
/// Samples of a recording: it stays in the cache.
const CHUNK: usize = 250;

/// A machine: what is known of it, for how long it ran, and whether it broke then.
struct Sample {
    features: [f64; FEATURES],
    log_time: f64,
    broke: f64,
}

impl Sample {
    /// A lifetime by inversion of the distribution, cut off where the observation ended.
    fn new(random: &mut SplitMix64, truth: &[f64; UNKNOWNS]) -> Self {
        let features = core::array::from_fn(|k| if k == 0 { 1.0 } else { random.normal() });
        let scale: f64 = features.iter().zip(truth).map(|(x, w)| x * w).sum();
        let life = scale + (-random.u01().ln()).ln() / truth[FEATURES].exp();
        let end = (8.0 * random.u01()).ln();
        Self { features, log_time: life.min(end), broke: f64::from(life < end) }
    }
}

/// −ln of the likelihood of a sample: e^z − broke·(ln k + z − ln t), where z = k·(ln t − x·w) and k is the shape.
fn term<S: Strategy>(sample: &Sample, unknowns: &[Real<S>], shape: &Real<S>) -> Real<S> {
    let (weights, log_shape) = (&unknowns[..FEATURES], unknowns[FEATURES]);
    let z = (*shape * (sample.log_time - linear_combination(&sample.features, weights))).eval();
    (z.exp() - sample.broke * (log_shape + z - sample.log_time)).eval()
}

/// The same for a chunk of samples.
fn chunk<S: Strategy>(samples: &[Sample], unknowns: &[Real<S>]) -> Real<S> {
    let shape = unknowns[FEATURES].exp().eval();
    let mut sum = Real::from(0.0);
    for sample in samples {
        sum += term(sample, unknowns, &shape);
    }
    sum
}

/// The mean over all samples and its gradient, on the threads of the present pool.
fn mean(samples: &[Sample], unknowns: &[f64; UNKNOWNS]) -> Result<(f64, [f64; UNKNOWNS]), tapewright::Error> {
    let chunks = samples.par_chunks(CHUNK).map_init(Tape::<Jacobian>::new, |tape, samples| {
        let mut gradient = [0.0; UNKNOWNS];
        let value = tape.gradient(|unknowns| chunk(samples, unknowns), unknowns, &mut gradient)?;
        Ok((value, gradient))
    });
    // Collected in the order of the chunks, whoever was ready first.
    let chunks: Vec<(f64, [f64; UNKNOWNS])> = chunks.collect::<Result<_, tapewright::Error>>()?;
    let add = |(sum, slopes): (f64, [f64; UNKNOWNS]), (value, gradient): &(f64, [f64; UNKNOWNS])| {
        (sum + value, core::array::from_fn(|k| slopes[k] + gradient[k]))
    };
    let (sum, slopes) = chunks.iter().fold((0.0, [0.0; UNKNOWNS]), add);
    Ok((sum / samples.len() as f64, slopes.map(|slope| slope / samples.len() as f64)))
}

/// The gradient by hand: the slope by z is e^z − broke, and z has the slopes −k·x and z.
fn by_hand(samples: &[Sample], unknowns: &[f64; UNKNOWNS]) -> [f64; UNKNOWNS] {
    let shape = unknowns[FEATURES].exp();
    let mut sums = [0.0; UNKNOWNS];
    for Sample { features, log_time, broke } in samples {
        let z = shape * (log_time - features.iter().zip(unknowns).map(|(x, w)| x * w).sum::<f64>());
        let slope = z.exp() - broke;
        (0..FEATURES).for_each(|k| sums[k] -= slope * shape * features[k]);
        sums[FEATURES] += slope * z - broke;
    }
    sums.map(|sum| sum / samples.len() as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let truth = [1.0, -0.3, -0.2, -0.1, 0.0, 0.4];
    let mut random = SplitMix64::new(11);
    let samples: Vec<Sample> = (0..MACHINES).map(|_| Sample::new(&mut random, &truth)).collect();
    let broken: f64 = samples.iter().map(|sample| sample.broke).sum();
    println!("{MACHINES} machines, {broken} of them broke; recordings of {CHUNK}");

    let at = [0.8, 0.0, 0.0, 0.0, 0.0, 0.1];
    let mut first = None;
    for threads in [1, 2, 4, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let found = pool.install(|| mean(&samples, &at))?;
        println!("{threads} thread(s): loss {:.15}, slope of the shape {:+.15}", found.0, found.1[FEATURES]);
        assert_eq!(found, *first.get_or_insert(found), "the number of threads changes no bit");
    }
    let (_, gradient) = first.ok_or("there were threads")?;
    let difference = (0..UNKNOWNS).map(|k| (gradient[k] - by_hand(&samples, &at)[k]).abs()).fold(0.0, f64::max);
    println!("the gradient is the one of the closed form, up to {difference:.1e}");
    assert!(difference < 1e-13, "the gradient is wrong");

    // What made the data is where the gradient is 0, up to chance: a slope has the standard error
    // √(curvature/machines).
    let (_, gradient) = mean(&samples, &truth)?;
    let slope = gradient.iter().map(|g| g.abs()).fold(0.0, f64::max);
    println!("at what the data were made with, no slope is more than {slope:.4}");
    assert!(slope < 5.0 * truth[FEATURES].exp() / (MACHINES as f64).sqrt(), "the data were made otherwise");
    Ok(())
}
