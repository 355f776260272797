//! Problems on threads.

use crate::bundle::scene;
use tapewright::residuals::{Cauchy, Linearization};

#[test]
fn results_have_the_same_bits_for_any_number_of_threads() {
    let problem = scene(8, 400, Cauchy::new(2.0));
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
        pool.install(|| {
            let mut at = Linearization::new(&problem).expect("free blocks");
            at.evaluate(problem.start()).expect("finite");
            assert_eq!(problem.cost(problem.start()), Ok(at.cost()));
            let cost = at.cost().to_bits();
            (cost, bits(at.residuals()), bits(at.jacobian().values()), bits(&at.normal_matrix().diagonal()))
        })
    };
    let alone = run(1);
    [2, 3, 7].iter().for_each(|threads| assert!(run(*threads) == alone, "{threads} threads"));
}
