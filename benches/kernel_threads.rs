//! Array kernels on two threads beside one: the same gradient, by the larger of the threads' processor times.
//!
//! `cargo bench --bench kernel_threads --features rayon`
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use cpu_time::ThreadTime;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::time::Duration;
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright_problems::kernels::norm_res;

const N: usize = 10_000_000;
const ROUNDS: usize = 7;

/// The processor time of each of the pool's threads while `f` runs on one of them.
fn times(pool: &ThreadPool, f: impl FnOnce() + Send) -> Vec<Duration> {
    let now = || pool.broadcast(|_| ThreadTime::now().as_duration());
    let before = now();
    pool.install(f);
    now().into_iter().zip(before).map(|(after, before)| after.saturating_sub(before)).collect()
}

fn main() {
    let numbers: Vec<f64> = (0..N).map(|k| (k * 37 % 101) as f64 / 101.0).collect();
    let mut tapes = [1, 2].map(|threads| {
        (ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"), Tape::<Jacobian>::new())
    });
    let mut ratios = Vec::new();
    let mut gradients: [Vec<f64>; 2] = Default::default();
    for round in 0..=ROUNDS {
        let mut largest = [0.0; 2];
        for (k, (pool, tape)) in tapes.iter_mut().enumerate() {
            let (numbers, gradient) = (&numbers, &mut gradients[k]);
            let times = times(pool, || {
                let (x, sum) = tape.record(|scope| {
                    let (x, b) = (scope.view([N], numbers), scope.view([N], numbers));
                    let (mut q, mut y, mut y2) = (x.clone(), View::zeros([N]), View::zeros([N]));
                    let sum = norm_res(&mut q, &b, &mut y, &mut y2);
                    (x, sum)
                });
                let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
                gradient.clear();
                gradient.extend_from_slice(&adjoints.of_view(&x).expect("x"));
            });
            largest[k] = times.iter().map(Duration::as_secs_f64).fold(0.0, f64::max);
        }
        if round > 0 {
            ratios.push(largest[0] / largest[1]);
            println!("one thread {:.1} ms, two {:.1} ms", largest[0] * 1e3, largest[1] * 1e3);
        }
    }
    assert!(gradients[0] == gradients[1], "the same bits on any number of threads");
    ratios.sort_by(f64::total_cmp);
    println!("laplacian of {N}: two threads are {:.2} × as fast as one, the median of {ROUNDS}", ratios[ROUNDS / 2]);
}
