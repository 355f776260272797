//! Jacobian matrices of small functions by `Tangent<N>` and by num-dual, beside the functions on plain numbers.
//!
//! The matrices are compared first. Times are thread CPU times, the least of rounds in turns.

use cpu_time::ThreadTime;
use nalgebra::{Const, SVector};
use num_dual::{Derivative, DualSVec64};
use std::hint::black_box;
use tapewright::prelude::*;
use tapewright::{Closed, jacobian_forward_into};
use tapewright_num_dual::{hand, image, payoff, payoff_of_duals};

/// Writes the Jacobian matrix by the vectors of num-dual.
fn by_num_dual<const N: usize, const M: usize>(
    x: &[f64; N],
    f: impl Fn(&[DualSVec64<N>; N]) -> [DualSVec64<N>; M],
    jacobian: &mut [f64],
) {
    let seeded = core::array::from_fn(|k| {
        let mut unit = SVector::<f64, N>::zeros();
        unit[k] = 1.0;
        DualSVec64::new(x[k], Derivative::some(unit))
    });
    for (y, row) in f(&seeded).into_iter().zip(jacobian.chunks_exact_mut(N)) {
        row.copy_from_slice(y.eps.unwrap_generic(Const::<N>, Const::<1>).as_slice());
    }
}

/// Writes the Jacobian matrix of a function over nalgebra's scalars by `Tangent<N>`.
fn by_tangents<const N: usize, const M: usize>(
    x: &[f64; N],
    f: impl Fn(&[Closed<Tangent<N>>; N]) -> [Closed<Tangent<N>>; M],
    jacobian: &mut [f64],
) {
    let f = |x: &[Real<Tangent<N>>]| f(Closed::wrap_slice(x).try_into().expect("as many inputs")).map(Closed::open);
    jacobian_forward_into::<Tangent<N>, _>(f, x, &mut [0.0; M], jacobian).expect("as many entries");
}

/// Writes a Jacobian matrix.
type Way<'a> = &'a mut dyn FnMut(&mut [f64]);

/// A function on plain numbers, by num-dual and by this library; all but the first write `entries` numbers.
struct Job<'a> {
    name: &'static str,
    entries: usize,
    ways: [Way<'a>; 3],
}

/// Prints one line, after the matrices were compared.
fn line(mut job: Job<'_>) {
    let (rounds, repeats) = if cfg!(debug_assertions) { (1, 1) } else { (400, 50) };
    let mut least = [f64::MAX; 3];
    let mut found = [(); 3].map(|()| vec![0.0; job.entries]);
    for _ in 0..rounds {
        for ((way, found), least) in job.ways.iter_mut().zip(&mut found).zip(&mut least) {
            let clock = ThreadTime::now();
            (0..repeats).for_each(|_| way(found));
            *least = least.min(clock.elapsed().as_secs_f64() * 1e9 / f64::from(repeats));
        }
    }
    for (ours, theirs) in found[2].iter().zip(&found[1]) {
        assert!((ours - theirs).abs() <= 1e-12 * (1.0 + theirs.abs()), "{}: {ours}, {theirs} by num-dual", job.name);
    }
    let [plain, theirs, ours] = least;
    println!("| {} | {plain:.0} | {theirs:.0} | {ours:.0} | {:.2} |", job.name, ours / theirs);
}

fn main() {
    println!("| function | plain numbers, ns | num-dual | `Tangent<N>` | of num-dual |");
    println!("|---|--:|--:|--:|--:|");
    let angles = [0.1, -0.4, 0.7, 0.3, -0.2, 0.9];
    line(Job {
        name: "inverse kinematics, 6 × 6, nalgebra",
        entries: 36,
        ways: [
            &mut |_| _ = black_box(hand::<f64>(black_box(&angles))),
            &mut |out| by_num_dual::<6, 6>(black_box(&angles), hand, out),
            &mut |out| by_tangents::<6, 6>(black_box(&angles), hand, out),
        ],
    });
    let seen = [0.2, -0.1, 0.3, 0.1, 0.2, 4.0, 0.5, -0.3, 0.4];
    line(Job {
        name: "reprojection, 2 × 9, nalgebra",
        entries: 18,
        ways: [
            &mut |_| _ = black_box(image::<f64>(black_box(&seen))),
            &mut |out| by_num_dual::<9, 2>(black_box(&seen), image, out),
            &mut |out| by_tangents::<9, 2>(black_box(&seen), image, out),
        ],
    });
    let shocks: Vec<[f64; 2]> = (0..100).map(|k| [(f64::from(k) * 1.7).sin(), (f64::from(k) * 2.3).cos()]).collect();
    let model = [100.0, 0.04, 0.03, 1.5, 0.05, 0.4, -0.6];
    line(Job {
        name: "a path of Heston's model, 100 steps, 1 × 7",
        entries: 7,
        ways: [
            &mut |_| _ = black_box(payoff_of_duals::<f64>(black_box(&model), &shocks)),
            &mut |out| by_num_dual::<7, 1>(black_box(&model), |x| [payoff_of_duals(x, &shocks)], out),
            &mut |out| {
                let f = |x: &[Real<_>]| [payoff(x.try_into().expect("7 inputs"), &shocks)];
                jacobian_forward_into::<Tangent<7>, _>(f, black_box(&model), &mut [0.0], out).expect("7 entries");
            },
        ],
    });
}
