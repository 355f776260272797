//! The loss of a small recurrent network: `ADBench`'s LSTM objective (Srajer, Kukelova and Fitzgibbon 2018).

use crate::random::{SplitMix64, fingerprint};
use crate::text::{Numbers, read};
use crate::{Checksums, Error, Problem};
use std::path::Path;
use tapewright::{Real, Taping};

/// The fingerprint of `ADBench`'s file `lstm_l2_c1024.txt`.
const L2_C1024: u64 = 0xECC4_9CF6_FEA5_472C;

/// Predicts each row of a sequence from the rows before, by `layers` layers of `width` cells whose weights are
/// diagonal.
///
/// The inputs are, for each layer, eight vectors of weights and biases, then the input weights, the output weights and
/// the output biases: (8·layers + 3)·width numbers. The initial state is passive.
#[derive(Clone, Debug)]
pub struct Lstm {
    layers: usize,
    width: usize,
    inputs: Vec<f64>,
    /// Hidden values, then cell values, of each layer.
    state: Vec<f64>,
    /// Rows of `width` numbers.
    sequence: Vec<f64>,
}

impl Default for Lstm {
    /// The synthetic problem with 2 layers, 14 cells in each, and 1024 rows.
    fn default() -> Self {
        Self::draw(2, 14, 1024)
    }
}

impl Lstm {
    /// A random network with `layers` layers of `width` cells, and a random sequence of `rows` rows of zeros and ones.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when `layers` or `width` is 0, when there are fewer than 2 rows (one to read, one to predict),
    /// and when the problem is too large.
    pub fn synthetic(layers: usize, width: usize, rows: usize) -> Result<Self, Error> {
        Error::unless_at_least("lstm", "the number of layers", layers, 1)?;
        Error::unless_at_least("lstm", "the width", width, 1)?;
        Error::unless_at_least("lstm", "the number of rows", rows, 2)?;
        Error::product("lstm", &[11, layers, width])?;
        Error::product("lstm", &[layers, width, rows])?;
        Ok(Self::draw(layers, width, rows))
    }

    fn draw(layers: usize, width: usize, rows: usize) -> Self {
        let mut random = SplitMix64::new(1997);
        let inputs = (0..(8 * layers + 3) * width).map(|_| random.u01()).collect();
        let state = (0..2 * layers * width).map(|_| random.u01()).collect();
        let sequence = (0..rows * width).map(|_| random.u01().round()).collect();
        Self { layers, width, inputs, state, sequence }
    }

    /// A problem in `ADBench`'s text format: the numbers of layers, of rows and of cells a layer; the inputs; the
    /// initial state; the sequence. All are separated by white space.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], [`Error::Missing`] or [`Error::Trailing`], with the line.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let mut text = Numbers::new(text);
        let layers: usize = text.parse("the number of layers l (a whole number from 1)", |l| *l >= 1)?;
        let rows: usize = text.parse("the number of rows c (a whole number from 2)", |c| *c >= 2)?;
        let width: usize = text.parse("the width b (a whole number from 1)", |b| *b >= 1)?;
        let cells = layers.saturating_mul(width);
        let mut inputs = text.numbers(cells.saturating_mul(8), "a main parameter")?;
        inputs.extend(text.numbers(width.saturating_mul(3), "an extra parameter")?);
        let state = text.numbers(cells.saturating_mul(2), "an entry of the state")?;
        let sequence = text.numbers(rows.saturating_mul(width), "an entry of the sequence")?;
        text.finish()?;
        Ok(Self { layers, width, inputs, state, sequence })
    }

    /// A file in the format of [`from_text`](Self::from_text).
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`], else as `from_text`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_text(&read(path.as_ref())?)
    }

    /// The main parameters, input weights, output weights and output biases.
    fn split<'x, T>(&self, x: &'x [T]) -> (&'x [T], [&'x [T]; 3]) {
        let (main, extra) = x.split_at(8 * self.layers * self.width);
        (main, parts(extra, self.width))
    }

    /// Each row with the row after it.
    fn steps(&self) -> impl DoubleEndedIterator<Item = (&[f64], &[f64])> + ExactSizeIterator {
        self.sequence.chunks_exact(self.width).zip(self.sequence[self.width..].chunks_exact(self.width))
    }

    /// The number of predicted values.
    fn count(&self) -> f64 {
        (self.sequence.len() - self.width) as f64
    }
}

/// A slice cut into parts of `length` elements.
#[inline(always)]
fn parts<const P: usize, T>(x: &[T], length: usize) -> [&[T]; P] {
    core::array::from_fn(|part| &x[part * length..][..length])
}

/// 1/(1 + e⁻ᵃ).
#[inline(always)]
fn sigmoid<S: Taping>(a: &Real<S>) -> Real<S> {
    (1.0 / (1.0 + (-a).exp())).into()
}

/// [`sigmoid`] over `f64`.
#[inline(always)]
fn sigmoid_plain(a: f64) -> f64 {
    1.0 / (1.0 + (-a).exp())
}

/// One step of one layer: updates its hidden and cell values, given its inputs `x`.
#[inline(never)]
fn update<S: Taping>(weights: &[Real<S>], x: &[Real<S>], hidden: &mut [Real<S>], cell: &mut [Real<S>]) {
    let b = x.len();
    let [w_f, w_i, w_o, w_c, b_f, b_i, b_o, b_c] = parts(weights, b);
    let (hidden, cell) = (&mut hidden[..b], &mut cell[..b]);
    for i in 0..b {
        let mut a: Real<S> = (&x[i] * &w_f[i] + &b_f[i]).into();
        let forget = sigmoid(&a);
        a.assign(&hidden[i] * &w_i[i] + &b_i[i]);
        let ingate = sigmoid(&a);
        a.assign(&x[i] * &w_o[i] + &b_o[i]);
        let outgate = sigmoid(&a);
        let change: Real<S> = (&hidden[i] * &w_c[i] + &b_c[i]).tanh().into();
        cell[i] = (&cell[i] * &forget + &ingate * &change).into();
        hidden[i].assign(&outgate * cell[i].tanh());
    }
}

/// [`update`] over `f64`.
#[inline(never)]
fn update_plain(weights: &[f64], x: &[f64], hidden: &mut [f64], cell: &mut [f64]) {
    let b = x.len();
    let [w_f, w_i, w_o, w_c, b_f, b_i, b_o, b_c] = parts(weights, b);
    let (hidden, cell) = (&mut hidden[..b], &mut cell[..b]);
    for i in 0..b {
        let forget = sigmoid_plain(x[i] * w_f[i] + b_f[i]);
        let ingate = sigmoid_plain(hidden[i] * w_i[i] + b_i[i]);
        let outgate = sigmoid_plain(x[i] * w_o[i] + b_o[i]);
        let change = (hidden[i] * w_c[i] + b_c[i]).tanh();
        cell[i] = cell[i] * forget + ingate * change;
        hidden[i] = outgate * cell[i].tanh();
    }
}

/// One step of all layers: updates the state, given the inputs `y` of the first, and returns the last one's hidden
/// values.
#[inline(always)]
fn advance<'s, S: Taping>(main: &[Real<S>], y: &[Real<S>], state: &'s mut [Real<S>]) -> &'s [Real<S>] {
    let b = y.len();
    for (layer, weights) in main.chunks_exact(8 * b).enumerate() {
        let (below, here) = state.split_at_mut(2 * b * layer);
        let x = if layer == 0 { y } else { &below[2 * b * (layer - 1)..][..b] };
        let (hidden, cell) = here.split_at_mut(b);
        update(weights, x, hidden, cell);
    }
    &state[state.len() - 2 * b..][..b]
}

/// [`advance`] over `f64`.
#[inline(always)]
fn advance_plain<'s>(main: &[f64], y: &[f64], state: &'s mut [f64]) -> &'s [f64] {
    let b = y.len();
    for (layer, weights) in main.chunks_exact(8 * b).enumerate() {
        let (below, here) = state.split_at_mut(2 * b * layer);
        let x = if layer == 0 { y } else { &below[2 * b * (layer - 1)..][..b] };
        let (hidden, cell) = here.split_at_mut(b);
        update_plain(weights, x, hidden, cell);
    }
    &state[state.len() - 2 * b..][..b]
}

/// What the reverse sweep needs of one cell in one step: values before it, gates, and tanh of the new cell value.
#[derive(Clone, Copy)]
struct Step {
    x: f64,
    hidden: f64,
    cell: f64,
    forget: f64,
    ingate: f64,
    outgate: f64,
    change: f64,
    squashed: f64,
}

/// [`update_plain`] with a trace.
fn update_traced(weights: &[f64], x: &[f64], hidden: &mut [f64], cell: &mut [f64], trace: &mut Vec<Step>) {
    let [w_f, w_i, w_o, w_c, b_f, b_i, b_o, b_c] = parts(weights, x.len());
    for (i, x) in x.iter().copied().enumerate() {
        let (h, c) = (hidden[i], cell[i]);
        let forget = sigmoid_plain(x * w_f[i] + b_f[i]);
        let ingate = sigmoid_plain(h * w_i[i] + b_i[i]);
        let outgate = sigmoid_plain(x * w_o[i] + b_o[i]);
        let change = (h * w_c[i] + b_c[i]).tanh();
        cell[i] = c * forget + ingate * change;
        let squashed = cell[i].tanh();
        hidden[i] = outgate * squashed;
        trace.push(Step { x, hidden: h, cell: c, forget, ingate, outgate, change, squashed });
    }
}

/// The reverse of one step of one layer: turns the adjoints of its new state into those of the old, adds to those of
/// its weights, and writes those of its inputs to `to_x`.
fn update_adjoint(weights: &[f64], trace: &[Step], to_state: &mut [f64], to_weights: &mut [f64], to_x: &mut [f64]) {
    let b = to_x.len();
    let [w_f, w_i, w_o, w_c, ..]: [_; 8] = parts(weights, b);
    let (to_hidden, to_cell) = to_state.split_at_mut(b);
    for (i, step) in trace.iter().enumerate() {
        let to_outgate = to_hidden[i] * step.squashed;
        let to_new_cell = to_cell[i] + to_hidden[i] * step.outgate * (1.0 - step.squashed * step.squashed);
        let forget = to_new_cell * step.cell * step.forget * (1.0 - step.forget);
        let ingate = to_new_cell * step.change * step.ingate * (1.0 - step.ingate);
        let outgate = to_outgate * step.outgate * (1.0 - step.outgate);
        let change = to_new_cell * step.ingate * (1.0 - step.change * step.change);
        for (gate, (to_argument, argument)) in
            [(forget, step.x), (ingate, step.hidden), (outgate, step.x), (change, step.hidden)].into_iter().enumerate()
        {
            to_weights[gate * b + i] += to_argument * argument;
            to_weights[(4 + gate) * b + i] += to_argument;
        }
        to_x[i] = forget * w_f[i] + outgate * w_o[i];
        to_hidden[i] = ingate * w_i[i] + change * w_c[i];
        to_cell[i] = to_new_cell * step.forget;
    }
}

/// The loss of one prediction; adds to the adjoints of output weights and biases, and pushes those of the hidden
/// values. `scale` is the adjoint of the loss.
fn predict_adjoint(
    (hidden, target, scale): (&[f64], &[f64], f64),
    [weights, biases]: [&[f64]; 2],
    [to_weights, to_biases]: [&mut [f64]; 2],
    to_hidden: &mut Vec<f64>,
) -> f64 {
    let predictions = hidden.iter().zip(weights).zip(biases).map(|((hidden, weight), bias)| hidden * weight + bias);
    let sum = 2.0 + predictions.clone().map(f64::exp).sum::<f64>();
    let total: f64 = target.iter().sum();
    let mut loss = 0.0;
    for (i, prediction) in predictions.enumerate() {
        loss += target[i] * (prediction - sum.ln());
        let to_prediction = scale * (target[i] - total * prediction.exp() / sum);
        to_weights[i] += to_prediction * hidden[i];
        to_biases[i] += to_prediction;
        to_hidden.push(to_prediction * weights[i]);
    }
    loss
}

impl Lstm {
    /// The forward half of the adjoint: the loss, the trace, and the part of the gradient that needs no sweep.
    /// `to_last` takes the adjoints of the last layer's hidden values that each prediction makes.
    fn forward(&self, x: &[f64], gradient: &mut [f64], trace: &mut Vec<Step>, to_last: &mut Vec<f64>) -> f64 {
        let b = self.width;
        let (main, [in_weights, out_weights, out_biases]) = self.split(x);
        let (to_weights, to_biases) = gradient[x.len() - 2 * b..].split_at_mut(b);
        let mut state = self.state.clone();
        let mut below = vec![0.0; b];
        let mut loss = 0.0;
        for (input, target) in self.steps() {
            for ((below, input), weight) in below.iter_mut().zip(input).zip(in_weights) {
                *below = input * weight;
            }
            for (weights, state) in main.chunks_exact(8 * b).zip(state.chunks_exact_mut(2 * b)) {
                let (hidden, cell) = state.split_at_mut(b);
                update_traced(weights, &below, hidden, cell, trace);
                below.copy_from_slice(hidden);
            }
            let (output, to_output) = ([out_weights, out_biases], [&mut *to_weights, &mut *to_biases]);
            loss += predict_adjoint((&below, target, -1.0 / self.count()), output, to_output, to_last);
        }
        -loss / self.count()
    }
}

impl Problem for Lstm {
    fn name(&self) -> &'static str {
        "lstm"
    }

    fn size(&self) -> String {
        format!("{} layers of {} cells, {} rows", self.layers, self.width, self.sequence.len() / self.width)
    }

    fn inputs_into(&self, _: usize, x: &mut Vec<f64>) {
        x.clone_from(&self.inputs);
    }

    fn eval<S: Taping>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        let (main, [in_weights, out_weights, out_biases]) = self.split(x);
        let mut state: Vec<Real<S>> = self.state.iter().map(|entry| Real::from(*entry)).collect();
        let mut y = vec![Real::from(0.0); self.width];
        let mut prediction = y.clone();
        let mut loss = Real::from(0.0);
        for (input, target) in self.steps() {
            for ((y, input), weight) in y.iter_mut().zip(input).zip(in_weights) {
                y.assign(*input * weight);
            }
            let hidden = advance(main, &y, &mut state);
            for (((prediction, hidden), weight), bias) in
                prediction.iter_mut().zip(hidden).zip(out_weights).zip(out_biases)
            {
                prediction.assign(hidden * weight + bias);
            }
            let mut sum = Real::from(0.0);
            for prediction in &prediction {
                sum += prediction.exp();
            }
            let normalizer: Real<S> = (2.0 + &sum).ln().into();
            for prediction in &mut prediction {
                *prediction -= &normalizer;
            }
            for (prediction, target) in prediction.iter().zip(target) {
                loss += *target * prediction;
            }
        }
        (-&loss / self.count()).into()
    }

    fn plain(&self, _: usize, x: &[f64]) -> f64 {
        let (main, [in_weights, out_weights, out_biases]) = self.split(x);
        let mut state = self.state.clone();
        let mut y = vec![0.0; self.width];
        let mut prediction = y.clone();
        let mut loss = 0.0;
        for (input, target) in self.steps() {
            for ((y, input), weight) in y.iter_mut().zip(input).zip(in_weights) {
                *y = input * weight;
            }
            let hidden = advance_plain(main, &y, &mut state);
            for (((prediction, hidden), weight), bias) in
                prediction.iter_mut().zip(hidden).zip(out_weights).zip(out_biases)
            {
                *prediction = hidden * weight + bias;
            }
            let mut sum = 0.0;
            for prediction in &prediction {
                sum += prediction.exp();
            }
            let normalizer = (2.0 + sum).ln();
            for prediction in &mut prediction {
                *prediction -= normalizer;
            }
            for (prediction, target) in prediction.iter().zip(target) {
                loss += target * prediction;
            }
        }
        -loss / self.count()
    }

    fn adjoint(&self, _: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (b, steps) = (self.width, self.steps().len());
        let mut trace = Vec::with_capacity(steps * self.layers * b);
        let mut to_last = Vec::with_capacity(steps * b);
        gradient.fill(0.0);
        let loss = self.forward(x, gradient, &mut trace, &mut to_last);
        let (to_main, to_extra) = gradient.split_at_mut(8 * self.layers * b);
        let mut to_state = vec![0.0; 2 * self.layers * b];
        let mut to_above = vec![0.0; b];
        let traces = trace.chunks_exact(self.layers * b);
        for (((input, _), trace), to_last) in self.steps().zip(traces).zip(to_last.chunks_exact(b)).rev() {
            to_above.copy_from_slice(to_last);
            for (layer, to_state) in to_state.chunks_exact_mut(2 * b).enumerate().rev() {
                for (to_hidden, to_above) in to_state.iter_mut().zip(&to_above) {
                    *to_hidden += to_above;
                }
                let weights = 8 * b * layer..8 * b * (layer + 1);
                let (trace, to_weights) = (&trace[b * layer..][..b], &mut to_main[weights.clone()]);
                update_adjoint(&x[weights], trace, to_state, to_weights, &mut to_above);
            }
            for ((to_weight, to_y), input) in to_extra.iter_mut().zip(&to_above).zip(input) {
                *to_weight += to_y * input;
            }
        }
        loss
    }

    fn checksums(&self) -> Option<Checksums> {
        (fingerprint(&[&self.inputs, &self.state, &self.sequence]) == L2_C1024).then_some(Checksums {
            value: 0.666_665_179_558_852_2,
            sum: -0.038_195_000_973_341_04,
            norm: 0.094_741_380_114_460_62,
        })
    }
}
