//! `S: Strategy` is all that generic code needs: in functions, structs, closures, methods and iterators.

use tapewright::prelude::*;

struct Model<S: Strategy> {
    weights: Vec<Real<S>>,
    bias: Real<S>,
}

impl<S: Strategy> Model<S> {
    fn at(&self, x: &[f64]) -> Real<S> {
        let mut total = self.bias;
        for (w, x) in self.weights.iter().zip(x) {
            total += *w * *x;
        }
        total.tanh().into()
    }
}

fn twelve_terms<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[1] + x[1].sin() * 2.0 - x[0] / (x[1] + 3.0) + x[0].powi(2) * x[1].exp() - (x[0] - x[1]) * (x[0] + x[1])
        + x[0].max(x[1]) * x[0].hypot(1.0))
    .into()
}

fn loss<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let model = Model { weights: x[1..].to_vec(), bias: x[0] };
    let square = |r: Real<S>| r * r;
    let mut sum: Real<S> = [[1.0, 2.0], [3.0, 4.0]].iter().map(|row| square(model.at(row))).sum();
    sum /= 2.0;
    sum = if sum > 1.0 { (sum - 1.0).sqrt().into() } else { sum };
    (sum + twelve_terms(&x[..2])).into()
}

fn main() {
    let x = [0.5, -0.25, 0.125];
    let (by_jacobian, by_primal) = (gradient::<Jacobian>(loss, &x), gradient::<PrimalValue>(loss, &x));
    assert!(by_jacobian.iter().zip(&by_primal).all(|(a, b)| (a - b).abs() < 1e-14));
    let (_, by_tangent) = jacobian_forward::<Tangent<8>>(|x| vec![loss(x)], &x);
    assert!(by_jacobian.iter().zip(&by_tangent[0]).all(|(a, b)| (a - b).abs() < 1e-14));
    assert!(loss::<Passive>(Real::wrap_slice(&x)).value().is_finite());
}
