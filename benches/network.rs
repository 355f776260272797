//! The gradient of a network of two layers, 64-32-10, with respect to its weights: over views, as entries of `linalg`
//! for matrices of variables, and by hand with the products of faer.
//!
//! 1,797 samples; tanh, then the cross-entropy of softmax. All ways are checked against one another first. Thread CPU
//! time, the minimum of rounds in which they take turns. `cargo bench --bench network --features faer`; with the name
//! of a way as an argument it runs that one only, a hundred times, for counts of instructions.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use cpu_time::ThreadTime;
use faer::linalg::matmul::matmul as multiply;
use faer::{Accum, MatMut, MatRef, Par};
use std::hint::black_box;
use tapewright::kernels::{Indices, View, gather, logsumexp, parallel_for, parallel_sum};
use tapewright::linalg::{self, matmul};
use tapewright::{Closed, prelude::*};
use tapewright_problems::Samples;

const INPUTS: usize = 64;
const HIDDEN: usize = 32;
const CLASSES: usize = 10;
/// Where the parts of the weights end: both layers, each with its weights and what is added.
const ENDS: [usize; 4] = [
    INPUTS * HIDDEN,
    (INPUTS + 1) * HIDDEN,
    (INPUTS + 1 + CLASSES) * HIDDEN,
    (INPUTS + 1 + CLASSES) * HIDDEN + CLASSES,
];

/// The four parts of the weights, or of their adjoints.
fn parts(weights: &[f64]) -> [&[f64]; 4] {
    [&weights[..ENDS[0]], &weights[ENDS[0]..ENDS[1]], &weights[ENDS[1]..ENDS[2]], &weights[ENDS[2]..ENDS[3]]]
}

/// A matrix, row after row.
fn rows(numbers: &[f64], columns: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(numbers, numbers.len() / columns, columns)
}

/// Sets a matrix, row after row, to a product, or adds the product.
fn set(to: &mut [f64], columns: usize, accum: Accum, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    let count = to.len() / columns;
    multiply(MatMut::from_row_major_slice_mut(to, count, columns), accum, left, right, 1.0, Par::Seq);
}

/// Value and gradient by hand.
struct ByHand {
    hidden: Vec<f64>,
    outputs: Vec<f64>,
    to_hidden: Vec<f64>,
    gradient: Vec<f64>,
}

impl ByHand {
    fn new(samples: &Samples) -> Self {
        let n = samples.classes.len();
        let [hidden, to_hidden] = [(); 2].map(|()| vec![0.0; n * HIDDEN]);
        Self { hidden, outputs: vec![0.0; n * CLASSES], to_hidden, gradient: vec![0.0; ENDS[3]] }
    }

    #[inline(never)]
    fn run(&mut self, samples: &Samples, weights: &[f64]) -> f64 {
        let (x, [w, b, v, c]) = (rows(&samples.features, INPUTS), parts(weights));
        self.hidden.chunks_exact_mut(HIDDEN).for_each(|row| row.copy_from_slice(b));
        set(&mut self.hidden, HIDDEN, Accum::Add, x, rows(w, HIDDEN));
        self.hidden.iter_mut().for_each(|h| *h = h.tanh());
        self.outputs.chunks_exact_mut(CLASSES).for_each(|row| row.copy_from_slice(c));
        set(&mut self.outputs, CLASSES, Accum::Add, rows(&self.hidden, HIDDEN), rows(v, CLASSES));
        let loss = self.seed(&samples.classes);
        let [dw, rest] = split(&mut self.gradient, ENDS[0]);
        let [db, rest] = split(rest, HIDDEN);
        let [dv, dc] = split(rest, HIDDEN * CLASSES);
        sum_rows(&self.outputs, dc);
        set(dv, CLASSES, Accum::Replace, rows(&self.hidden, HIDDEN).transpose(), rows(&self.outputs, CLASSES));
        set(&mut self.to_hidden, HIDDEN, Accum::Replace, rows(&self.outputs, CLASSES), rows(v, CLASSES).transpose());
        self.to_hidden.iter_mut().zip(&self.hidden).for_each(|(d, h)| *d *= 1.0 - h * h);
        sum_rows(&self.to_hidden, db);
        set(dw, HIDDEN, Accum::Replace, x.transpose(), rows(&self.to_hidden, HIDDEN));
        loss
    }

    /// The loss; replaces outputs by their adjoints.
    fn seed(&mut self, classes: &[usize]) -> f64 {
        let each = self.outputs.chunks_exact_mut(CLASSES).zip(classes);
        each.map(|(row, class)| {
            let (most, own) = (row.iter().copied().fold(f64::NEG_INFINITY, f64::max), row[*class]);
            row.iter_mut().for_each(|z| *z = (*z - most).exp());
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|z| *z /= sum);
            row[*class] -= 1.0;
            most + sum.ln() - own
        })
        .sum()
    }
}

fn split(numbers: &mut [f64], at: usize) -> [&mut [f64]; 2] {
    numbers.split_at_mut(at).into()
}

fn sum_rows(numbers: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    for row in numbers.chunks_exact(sums.len()) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}

/// What is constant: the samples, and the place of each sample's output for its class.
struct Data {
    x: View<Passive, 2>,
    own: Indices,
}

impl Data {
    fn new(samples: &Samples) -> Self {
        let own: Vec<usize> = samples.classes.iter().enumerate().map(|(k, class)| k * CLASSES + class).collect();
        Self { x: View::new([samples.classes.len(), INPUTS], &samples.features), own: Indices::new(&own) }
    }
}

/// The weights as views: both layers, each with its weights and what is added.
struct Weights<S: Taping<Value = f64>> {
    layers: [View<S, 2>; 2],
    added: [View<S, 1>; 2],
}

impl Weights<Passive> {
    fn new(weights: &[f64]) -> Self {
        let [w, b, v, c] = parts(weights);
        Self {
            layers: [View::new([INPUTS, HIDDEN], w), View::new([HIDDEN, CLASSES], v)],
            added: [View::new([HIDDEN], b), View::new([CLASSES], c)],
        }
    }
}

/// The loss over views.
fn loss<S: Taping<Value = f64>>(data: &Data, weights: &Weights<S>) -> Real<S> {
    let Weights { layers: [w, v], added: [b, c] } = weights;
    let mut hidden = matmul(&data.x.constant::<S>(), w);
    parallel_for(hidden.all(), (&mut hidden, b.along::<1>()), |(z, b)| (z.at::<0, 0>() + b.at(),));
    // By itself, so that a sweep computes it again for one operand and not for two.
    parallel_for(hidden.all(), &mut hidden, |z| (z.at::<0, 0>().tanh(),));
    let mut outputs = matmul(&hidden, v);
    parallel_for(outputs.all(), (&mut outputs, c.along::<1>()), |(z, c)| (z.at::<0, 0>() + c.at(),));
    let (all, own): (View<S, 1>, _) = (logsumexp(&outputs, 1), gather(&outputs, &data.own));
    parallel_sum(all.all(), (&all, &own), |(all, own)| all.at::<0>() - own.at::<0>())
}

/// Value and gradient over views.
fn over_views(tape: &mut Tape<Jacobian>, data: &Data, weights: &[f64], gradient: &mut [f64]) -> f64 {
    let [w, b, v, c] = parts(weights);
    let (views, loss) = tape.record(|scope| {
        let layers = [scope.view([INPUTS, HIDDEN], w), scope.view([HIDDEN, CLASSES], v)];
        let views = Weights { layers, added: [scope.view([HIDDEN], b), scope.view([CLASSES], c)] };
        let loss = loss(data, &views);
        (views, loss)
    });
    let adjoints = tape.sweep(&[(&loss, 1.0)]).expect("its own output");
    for (k, (layer, added)) in views.layers.iter().zip(&views.added).enumerate() {
        let start = [0, ENDS[1]][k];
        let (of_layer, of_added) =
            (adjoints.of_view(layer).expect("an input"), adjoints.of_view(added).expect("an input"));
        gradient[start..start + layer.len()].copy_from_slice(&of_layer);
        gradient[start + layer.len()..start + layer.len() + added.len()].copy_from_slice(&of_added);
    }
    loss.value()
}

type Matrix<S> = faer::Mat<Closed<S>>;

/// The loss over matrices of variables.
fn entries<S: Taping<Value = f64>>(samples: &Samples, weights: &[Real<S>]) -> Real<S> {
    let n = samples.classes.len();
    let weights = Closed::wrap_slice(weights);
    let matrix =
        |from: usize, rows, columns| Matrix::from_fn(rows, columns, |i, j| weights[from + i * columns + j].clone());
    let x = Matrix::from_fn(n, INPUTS, |i, j| Closed::constant(samples.features[i * INPUTS + j]));
    let z = linalg::product(&x, &matrix(0, INPUTS, HIDDEN)).expect("they fit");
    let hidden = Matrix::from_fn(n, HIDDEN, |i, j| (&z[(i, j)] + &weights[ENDS[0] + j]).tanh());
    let z = linalg::product(&hidden, &matrix(ENDS[1], HIDDEN, CLASSES)).expect("they fit");
    let term = |(i, class): (usize, &usize)| -> Real<S> {
        let row: Vec<Real<S>> = (0..CLASSES).map(|j| (&z[(i, j)] + &weights[ENDS[2] + j]).open()).collect();
        (tapewright::logsumexp(&row) - &row[*class]).into()
    };
    tapewright::sum(&samples.classes.iter().enumerate().map(term).collect::<Vec<_>>())
}

/// A way to compute the gradient, or the value, and its name.
type Way<'a> = (&'static str, Box<dyn FnMut() + 'a>);

fn seconds(repetitions: usize, f: &mut dyn FnMut()) -> f64 {
    let start = ThreadTime::now();
    (0..repetitions).for_each(|_| f());
    start.elapsed().as_secs_f64() / repetitions as f64
}

fn assert_close(name: &str, (value, gradient): (f64, &[f64]), (expected, slopes): (f64, &[f64])) {
    assert!((value - expected).abs() <= 1e-12 * expected, "{name}: {value} and {expected}");
    let largest = slopes.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
    let worst = gradient.iter().zip(slopes).fold(0.0_f64, |worst, (a, b)| worst.max((a - b).abs()));
    assert!(worst <= 1e-12 * largest, "{name}: {worst} of {largest}");
}

fn main() {
    faer::set_global_parallelism(Par::Seq);
    let (samples, weights) = (Samples::digits(), Samples::weights(ENDS[3], INPUTS));
    let (mut hand, data) = (ByHand::new(&samples), Data::new(&samples));
    let (mut views, mut matrices) = (Tape::<Jacobian>::new(), Tape::<Jacobian>::new());
    let (mut by_views, mut by_entries) = (vec![0.0; ENDS[3]], vec![0.0; ENDS[3]]);
    let expected = hand.run(&samples, &weights);
    let value = over_views(&mut views, &data, &weights, &mut by_views);
    assert_close("views", (value, &by_views), (expected, &hand.gradient));
    let f = |x: &[Real<Jacobian>]| entries(&samples, x);
    let value = matrices.gradient(f, &weights, &mut by_entries).expect("no error");
    assert_close("entries", (value, &by_entries), (expected, &hand.gradient));
    let passive = Weights::new(&weights);
    let mut ways: [Way<'_>; 4] = [
        ("hand", Box::new(|| _ = black_box(hand.run(&samples, black_box(&weights))))),
        ("views", Box::new(|| _ = black_box(over_views(&mut views, &data, black_box(&weights), &mut by_views)))),
        ("value", Box::new(|| _ = black_box(loss(&data, black_box(&passive)).value()))),
        ("entries", Box::new(|| _ = black_box(matrices.gradient(f, black_box(&weights), &mut by_entries)))),
    ];
    if let Some(name) = std::env::args().skip(1).find(|name| !name.starts_with('-')) {
        let way = ways.iter_mut().find(|(way, _)| *way == name).expect("hand, views, value or entries");
        return (0..100).for_each(|_| way.1());
    }
    let mut least = [f64::INFINITY; 4];
    for _ in 0..40 {
        for (least, (_, way)) in least.iter_mut().zip(&mut ways) {
            *least = least.min(seconds(5, way));
        }
    }
    for (least_of, (name, _)) in least.iter().zip(&ways) {
        println!("{name:>8}: {:.3} ms, {:.2} × by hand", least_of * 1e3, least_of / least[0]);
    }
}
