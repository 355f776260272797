//! What a rule may do inside: row X18.

use crate::everywhere::{close, everywhere, float};
use num_complex::Complex;
use tapewright::external::{ByFiniteDifferences, ByTangents};
use tapewright::prelude::*;
use tapewright::strategies::num_traits;
use tapewright::{External, Number, Rules, SweepError, external};

/// (a + b·i)³·exp(i·c), real and imaginary part, in real arithmetic.
fn written_out<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
    let (a, b) = (&x[0], &x[1]);
    let re = (a * a * a - 3.0 * a * b * b).eval();
    let im = (3.0 * a * a * b - b * b * b).eval();
    let (cos, sin) = (x[2].cos().eval(), x[2].sin().eval());
    vec![(&re * &cos - &im * &sin).eval(), (&re * &sin + &im * &cos).eval()]
}

/// The same by a library that knows nothing of derivatives.
fn by_library<V: num_traits::Float + num_traits::FloatConst>(x: &[V]) -> Vec<V> {
    let y = Complex::new(x[0], x[1]).powi(3) * Complex::cis(x[2]);
    vec![y.re, y.im]
}

/// A rule by the library: the adjoint of y = f(z) is z̄ += conj(f′(z))·ȳ.
struct Library<V>(Vec<V>);

impl<V: Number + num_traits::Float> External<V> for Library<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let (z, turn) = (Complex::new(self.0[0], self.0[1]), Complex::cis(self.0[2]));
        let seed = Complex::new(outputs[0], outputs[1]);
        let three = V::from_f64(3.0);
        let to_z = (z * z * turn).scale(three).conj() * seed;
        let to_angle = (Complex::<V>::i() * z.powi(3) * turn).conj() * seed;
        inputs[0] += to_z.re;
        inputs[1] += to_z.im;
        inputs[2] += to_angle.re;
        Ok(())
    }
}

/// Derivatives as formulas.
fn analytic<V: Number>(x: &[V]) -> Rules<V> {
    let (a, b, cos, sin) = (x[0], x[1], x[2].cos(), x[2].sin());
    let three = V::from_f64(3.0);
    // The derivatives of the real and the imaginary part of z³ by a; by b they are those of i times it.
    let (re_a, im_a) = (three * (a * a - b * b), three * (a * b + a * b));
    let (re, im) = (a * a * a - three * a * b * b, three * a * a * b - b * b * b);
    Rules::new("a cube that is turned", move |outputs: &[V], inputs: &mut [V]| {
        // The seeds, turned back.
        let p = outputs[0] * cos + outputs[1] * sin;
        let q = outputs[1] * cos - outputs[0] * sin;
        inputs[0] += p * re_a + q * im_a;
        inputs[1] += q * re_a - p * im_a;
        inputs[2] += q * re - p * im;
        Ok(())
    })
}

const AT: [f64; 3] = [0.8, -0.6, 0.4];

/// The gradient of cos(y₀·x₂) + y₁, where y is computed by an external function with this rule.
fn with<S: Reverse, R: External<S::Value>>(rule: impl Fn(&[S::Value]) -> R) -> Vec<S::Value> {
    gradient::<S>(
        |x| {
            let values: Vec<S::Value> = x.iter().map(Real::value).collect();
            let outputs: Vec<S::Value> =
                written_out::<Passive<S::Value>>(&values.iter().map(|x| Real::constant(*x)).collect::<Vec<_>>())
                    .iter()
                    .map(Real::value)
                    .collect();
            let y = external(x, &outputs, rule(&values));
            ((&y[0] * &x[2]).cos() + &y[1]).into()
        },
        &AT.map(float),
    )
}

fn x18_four_rules_one_gradient<S: Reverse<Value: num_traits::Float + num_traits::FloatConst>>() {
    let expected = gradient::<S>(
        |x| {
            let y = written_out(x);
            ((&y[0] * &x[2]).cos() + &y[1]).into()
        },
        &AT.map(float),
    );
    let epsilon = S::Value::from_f64(<S::Value as num_traits::Float>::epsilon().as_f64().cbrt());
    let tangents = with::<S, _>(|x| ByTangents::new(written_out::<Tangent<8, S::Value>>, x));
    let differences = with::<S, _>(|x| ByFiniteDifferences::new(by_library::<S::Value>, x, epsilon));
    let formulas = with::<S, _>(analytic);
    let library = with::<S, _>(|x| Library(x.to_vec()));
    for j in 0..3 {
        close(tangents[j], expected[j], 64);
        close(formulas[j], expected[j], 64);
        close(library[j], expected[j], 64);
        // An error of ε^(2/3).
        let difference = (differences[j].as_f64() - expected[j].as_f64()).abs();
        assert!(difference <= 20.0 * epsilon.as_f64().powi(2) * expected[j].as_f64().abs().max(1.0), "{difference:e}");
    }
}

/// A rule that runs reverse mode of its own inside, on a tape of its own.
fn x18_reverse_mode_inside_a_rule<S: Reverse<Value: num_traits::Float + num_traits::FloatConst>>() {
    let nested = with::<S, _>(|x| {
        let at = x.to_vec();
        Rules::new("nested", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
            let (_, found) = vjp::<S>(written_out, &at, outputs).map_err(|error| SweepError::rule("nested", error))?;
            inputs.copy_from_slice(&found);
            Ok(())
        })
    });
    let tangents = with::<S, _>(|x| ByTangents::new(written_out::<Tangent<8, S::Value>>, x));
    for j in 0..3 {
        close(nested[j], tangents[j], 64);
    }
}

everywhere!(x18_four_rules_one_gradient, x18_reverse_mode_inside_a_rule);
