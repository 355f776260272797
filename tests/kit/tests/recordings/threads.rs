//! Recordings in several threads, joined in order. That they do not disturb one another is tested by the conformance kit
//! (`two_threads_record_at_once`).

use tapewright::prelude::*;
use tapewright_problems::{Libor, Problem};

/// Paths in the work of one thread at a time, however many threads there are.
const CHUNK: usize = 4;

/// Value and gradient, summed over the paths of one chunk, on a tape of its own.
fn chunk<S: Reverse<Value = f64>>(problem: &Libor, chunk: usize) -> (f64, Vec<f64>) {
    let mut tape = Tape::<S>::new();
    let mut x = problem.inputs(0);
    let (mut value, mut sums, mut gradient) = (0.0, vec![0.0; x.len()], vec![0.0; x.len()]);
    for k in (chunk * CHUNK..(chunk + 1) * CHUNK).take_while(|k| *k < problem.evaluations()) {
        problem.inputs_into(k, &mut x);
        value += tape.gradient(|x| problem.eval(k, x), &x, &mut gradient).expect("lengths agree");
        sums.iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += g);
    }
    (value, sums)
}

/// The same over all paths: threads take chunks in turn, and the sums are joined in the order of the chunks.
fn total<S: Reverse<Value = f64>>(problem: &Libor, threads: usize) -> (f64, Vec<f64>) {
    let chunks = problem.evaluations().div_ceil(CHUNK);
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let work = |thread: usize| move || (thread..chunks).step_by(threads).map(|c| (c, chunk::<S>(problem, c)));
        let running: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t)().collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    results.sort_by_key(|(chunk, _)| *chunk);
    let mut total = (0.0, vec![0.0; problem.inputs(0).len()]);
    for (_, (value, sums)) in results {
        total.0 += value;
        total.1.iter_mut().zip(sums).for_each(|(sum, g)| *sum += g);
    }
    total
}

#[test]
fn tapes_of_their_own_joined_in_order_give_equal_bits_with_1_2_4_and_8_threads() {
    fn holds<S: Reverse<Value = f64>>(problem: &Libor) {
        let (value, sums) = total::<S>(problem, 1);
        for threads in [2, 4, 8] {
            let (again, others) = total::<S>(problem, threads);
            assert_eq!(again.to_bits(), value.to_bits(), "{threads} threads");
            assert!(sums.iter().zip(&others).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads} threads");
        }
        let mut by_hand = vec![0.0; sums.len()];
        let mut gradient = by_hand.clone();
        for k in 0..problem.evaluations() {
            problem.adjoint(k, &problem.inputs(k), &mut gradient);
            by_hand.iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += g);
        }
        let scale = by_hand.iter().fold(0.0_f64, |scale, g| scale.max(g.abs()));
        assert!(sums.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() <= 1e-11 * scale));
    }
    // 50 paths make 13 chunks, the last of them shorter.
    let problem = Libor::new(20, 10, 50).expect("this size is possible");
    holds::<Jacobian>(&problem);
    holds::<Hybrid<f64, Reuse, Shared>>(&problem);
}
