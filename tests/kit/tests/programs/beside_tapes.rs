//! Programs beside a tape for each scenario. Tests of linear algebra use this, too.

use tapewright::prelude::*;
use tapewright::programs::{Evaluations, Program, ProgramReal, scenarios};

/// A program of a function of two parameters and two data in many scenarios, beside tapes.
pub(crate) struct BesideTapes {
    /// The name of the function, for messages.
    pub(crate) name: &'static str,
    pub(crate) width: usize,
    pub(crate) count: usize,
    pub(crate) datum: fn(usize) -> [f64; 2],
    /// How far numbers may differ, as a part of 1 + their size.
    pub(crate) tolerance: f64,
}

impl BesideTapes {
    /// Compares values and gradients of each scenario, and gradients of means, at two sets of parameters, of which the
    /// second meets the recording of the first one. `also` looks at the program and what it found.
    pub(crate) fn check(
        &self,
        on_program: impl Fn(&[ProgramReal], &[ProgramReal]) -> Vec<ProgramReal> + Send + Sync,
        on_tape: impl Fn(&[Real<Jacobian>]) -> Vec<Real<Jacobian>>,
        parameters: [[f64; 2]; 2],
        also: impl Fn(&Program<'_>, &[f64; 2], &Evaluations<f64>),
    ) {
        let Self { name, width, count, datum, tolerance } = *self;
        let close = |found: f64, expected: f64| (found - expected).abs() <= tolerance * (1.0 + expected.abs());
        let program = Program::new(on_program).in_blocks_of(width);
        for p in parameters {
            let found = program.gradients(&p, scenarios(count, 2, |k, d| d.copy_from_slice(&datum(k)))).unwrap();
            let outputs = found.values.len() / count;
            let mut sums = vec![[0.0; 2]; outputs];
            for k in 0..count {
                let x = [p, datum(k)].concat();
                for (output, sums) in sums.iter_mut().enumerate() {
                    let (value, gradient) = value_and_gradient::<Jacobian>(|x| on_tape(x)[output], &x);
                    let at = k * outputs + output;
                    let here = format!("{name}, blocks of {width}, scenario {k}, output {output} at {p:?}");
                    assert!(close(found.values[at], value), "{here}: {} {value}", found.values[at]);
                    let pairs = found.gradients[at].iter().zip(&gradient[2..]);
                    assert!(pairs.clone().all(|(a, b)| close(*a, *b)), "{here}: {pairs:?}");
                    sums.iter_mut().zip(&gradient).for_each(|(sum, slope)| *sum += slope / count as f64);
                }
            }
            for (output, sums) in sums.iter().enumerate() {
                let means = found.mean_gradient(output);
                let is_close = means.iter().zip(sums).all(|(a, b)| close(*a, *b));
                assert!(is_close, "{name}, blocks of {width}, output {output}: {means:?} {sums:?}");
            }
            also(&program, &p, &found);
        }
    }
}
