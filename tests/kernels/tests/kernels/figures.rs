//! The example of Liégeois et al., "Performance Portable Gradient Computations Using Source Transformation", line by line
//! in the vocabulary of kernels.

use super::{at_every_level, bits, close, numbers};
use tapewright::kernels::{View, deep_copy, fill, parallel_for, parallel_sum};
use tapewright::prelude::*;

#[test]
fn figure_3_a_read_becomes_a_write_and_a_write_becomes_a_read() {
    // y(j1 + 1) = 2.6 * x(j1), at one point.
    let (n, j1) = (9, 4);
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, after) = tape.record(|scope| {
        let (x, y) = (scope.view([n], &numbers(n, 1)), scope.view([n], &numbers(n, 2)));
        let mut after = y.clone();
        parallel_for(j1 + 1..j1 + 2, (&x, &mut after), |(x, _)| (2.6 * x.at::<-1>(),));
        (x, y, after)
    });
    assert_eq!(after.values()[j1 + 1], 2.6 * numbers(n, 1)[j1]);
    let seeds = numbers(n, 3);
    let adjoints = tape.sweep_view(&[], (&after, &seeds)).expect("swept");
    for j in 0..n {
        // double _r_d1 = _d_y(j1 + 1); _d_x(j1) += 2.6 * _r_d1; _d_y(j1 + 1) -= _r_d1;
        assert_eq!(adjoints.of_view(&x).expect("x")[j], if j == j1 { 2.6 * seeds[j1 + 1] } else { 0.0 });
        assert_eq!(adjoints.of_view(&y).expect("y")[j], if j == j1 + 1 { 0.0 } else { seeds[j] });
    }
}

#[test]
fn figures_4_to_6_copies_add_to_a_view_and_sum_up_to_a_number() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, a, y, z) = tape.record(|scope| {
        let (x, a) = (scope.view([7], &numbers(7, 1)), scope.input(2.5));
        let [mut y, mut z] = [View::zeros([7]), View::zeros([7])];
        deep_copy(&x, &mut y);
        fill(&a, &mut z);
        (x, a, y, z)
    });
    assert_eq!((y.values(), z.values()), (&*numbers(7, 1), &[2.5; 7][..]));
    assert_eq!(*tape.sweep_view(&[], (&y, &numbers(7, 4))).expect("swept").of_view(&x).expect("x"), *numbers(7, 4));
    let adjoint = tape.sweep_view(&[], (&z, &numbers(7, 5))).expect("swept").of(&a).expect("a");
    assert!(close(adjoint, numbers(7, 5).iter().sum(), 7.0));
}

/// Figure 8: `normRes1DLaplacianSQ(x, b)`.
fn norm_res_1d_laplacian_sq<S: Taping>(mut x: View<S, 1>, b: &View<S, 1>) -> Real<S> {
    let [n] = x.shape();
    let [mut y, mut y2] = [View::zeros([n]), View::zeros([n])];
    // x(j0) = 3*x(j0);
    parallel_for(0..n, &mut x, |x| (3.0 * x.at::<0>(),));
    // y(j) = 2*x(j) - b(j);
    parallel_for(0..n, (&x, b, &mut y), |(x, b, _)| (2.0 * x.at::<0>() - b.at::<0>(),));
    // if (j != 0) y(j) -= x(j-1);
    parallel_for(0..n, (&x, &mut y), |(x, y)| (y.minus(y.index::<0>().ne(0.0).select(x.nearest::<-1>(), 0.0)),));
    // if (j != x.extent(0)-1) y(j) -= x(j+1);
    let last = (n - 1) as f64;
    parallel_for(0..n, (&x, &mut y), |(x, y)| (y.minus(y.index::<0>().ne(last).select(x.nearest::<1>(), 0.0)),));
    // y2(j) = y(j) * y(j);
    parallel_for(0..n, (&y, &mut y2), |(y, _)| (y.at::<0>() * y.at::<0>(),));
    // parallel_sum(sum, y2);
    parallel_sum(0..n, &y2, |y2| y2.at::<0>())
}

/// The same in the two kernels of the figure: the second one uses the new value of y.
fn in_two_kernels<S: Taping>(mut x: View<S, 1>, b: &View<S, 1>) -> Real<S> {
    let [n] = x.shape();
    let [mut y, mut y2] = [View::zeros([n]), View::zeros([n])];
    parallel_for(0..n, &mut x, |x| (3.0 * x.at::<0>(),));
    let last = (n - 1) as f64;
    parallel_for(0..n, (&x, b, &mut y, &mut y2), |(x, b, y, _)| {
        let j = y.index::<0>();
        let value = 2.0 * x.at::<0>() - b.at::<0>();
        let value = j.ne(0.0).select(value - x.nearest::<-1>(), value);
        let value = j.ne(last).select(value - x.nearest::<1>(), value);
        (value, y.new() * y.new())
    });
    parallel_sum(0..n, &y2, |y2| y2.at::<0>())
}

#[test]
fn figure_8_line_by_line_has_the_gradient_of_the_formula() {
    for n in [1, 2, 3, 16, 17, 40, 1000] {
        let (x, b) = (numbers(n, 1), numbers(n, 2));
        // Elements k − 1, so that those before the first one and behind the last one are 0.
        let before = |all: &[f64], k: usize| if k == 0 { 0.0 } else { all.get(k - 1).copied().unwrap_or(0.0) };
        let triple: Vec<f64> = x.iter().map(|x| 3.0 * x).collect();
        let stencil = |all: &[f64], j: usize| 2.0 * all[j] - before(all, j) - before(all, j + 2);
        let residual: Vec<f64> = (0..n).map(|j| stencil(&triple, j) - b[j]).collect();
        for f in [norm_res_1d_laplacian_sq::<Jacobian>, in_two_kernels::<Jacobian>] {
            let (value, of_x, of_b) = at_every_level(|| {
                let mut tape = Tape::<Jacobian>::new();
                let (inputs, sum) = tape.record(|scope| {
                    let inputs = [scope.view([n], &x), scope.view([n], &b)];
                    let sum = f(inputs[0].clone(), &inputs[1]);
                    (inputs, sum)
                });
                let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
                let of = |k: usize| bits(&adjoints.of_view(&inputs[k]).expect("an input"));
                (sum.value().to_bits(), of(0), of(1))
            });
            let expected: f64 = residual.iter().map(|r| r * r).sum();
            assert!(close(f64::from_bits(value), expected, n as f64), "{n}");
            for j in 0..n {
                let slope = 6.0 * stencil(&residual, j);
                assert!(close(f64::from_bits(of_x[j]), slope, 100.0), "{n}: ∂x[{j}]");
                assert!(close(f64::from_bits(of_b[j]), -2.0 * residual[j], 10.0), "{n}: ∂b[{j}]");
            }
        }
    }
}
