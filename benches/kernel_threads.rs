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

/// The processor time that each of the pool's threads has used.
fn now(pool: &ThreadPool) -> Vec<Duration> {
    pool.broadcast(|_| ThreadTime::now().as_duration())
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
            // What is timed is the launches and the sweep, not the making of views and the copying of the gradient.
            let (before, after) = pool.install(|| {
                let (x, sum, before) = tape.record(|scope| {
                    let (x, b) = (scope.view([N], numbers), scope.view([N], numbers));
                    let (mut q, mut y, mut y2) = (x.clone(), View::zeros([N]), View::zeros([N]));
                    let before = now(pool);
                    (x, norm_res(&mut q, &b, &mut y, &mut y2), before)
                });
                let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
                let after = now(pool);
                gradient.clear();
                gradient.extend_from_slice(&adjoints.of_view(&x).expect("x"));
                (before, after)
            });
            let times = after.into_iter().zip(before).map(|(after, before)| after.saturating_sub(before).as_secs_f64());
            largest[k] = times.fold(0.0, f64::max);
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
