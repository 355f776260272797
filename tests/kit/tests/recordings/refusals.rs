//! Refused statements, of which nothing is left: variables of other recordings, and more identifiers than there are.

use crate::{record_small, works};
use tapewright::prelude::*;
use tapewright::{Error, dot, linear_combination, logsumexp, sum};
use tapewright_kit_tests::panics::{panic_of, refused_here};

const NOT_ACTIVE: &str = "which is not active on this thread";

#[test]
fn a_bigger_earlier_recording_gives_no_access_to_a_smaller_later_one() {
    let mut tape = Tape::<Jacobian>::new();
    let late = tape.record(|scope| (0..100_000).map(|k| scope.input(f64::from(k))).last().expect("many"));
    let total = tape.record(|scope| {
        let x = scope.input(1.0);
        refused_here(NOT_ACTIVE, &mut || _ = (late * late).eval());
        refused_here(NOT_ACTIVE, &mut || _ = sum(&[late, late]));
        refused_here("variables of two recordings", &mut || _ = (x * late).eval());
        (x + 1.0).eval()
    });
    assert!(matches!(tape.sweep(&[(&late, 1.0)]), Err(Error::ForeignVariable { .. })));
    let adjoints = tape.sweep(&[(&total, 1.0)]).expect("the variables are the tape's");
    assert!(adjoints.of(&late).is_err());
    let never = Tape::<Jacobian>::new().sweep(&[(&total, 1.0)]).expect_err("nothing recorded");
    assert!(matches!(never, Error::ForeignVariable { recording: 0, .. }));
}

#[test]
fn panics_name_the_line_of_the_statement() {
    type R = Real<Jacobian>;
    let (x, _) = record_small(&mut Tape::<Jacobian>::new());
    let mut y = x[1];
    refused_here(NOT_ACTIVE, &mut || _ = R::from(x[0] * x[1]));
    refused_here(NOT_ACTIVE, &mut || _ = <_ as Into<R>>::into(x[0] * x[1]));
    refused_here(NOT_ACTIVE, &mut || _ = (x[0] * x[1]).eval());
    refused_here(NOT_ACTIVE, &mut || y.assign(x[0] * x[1]));
    refused_here(NOT_ACTIVE, &mut || y += x[0]);
    refused_here(NOT_ACTIVE, &mut || y += &x[0]);
    refused_here(NOT_ACTIVE, &mut || y += 1.0);
    refused_here(NOT_ACTIVE, &mut || y -= x[0] * x[1]);
    refused_here(NOT_ACTIVE, &mut || y *= x[0].sin());
    refused_here(NOT_ACTIVE, &mut || y /= 2.0);
    refused_here(NOT_ACTIVE, &mut || y %= &x[0]);
    refused_here(NOT_ACTIVE, &mut || _ = sum(&x));
    refused_here(NOT_ACTIVE, &mut || _ = dot(&x, &x));
    refused_here(NOT_ACTIVE, &mut || _ = linear_combination(&[1.0, 2.0], &x));
    refused_here(NOT_ACTIVE, &mut || _ = logsumexp(&x));
    assert_eq!(y.value(), 5.0, "a refused assignment assigns nothing");
}

/// Fills a tape of seven identifiers, with two inputs, and returns what it holds: x·yᵏ, k = 1…5.
macro_rules! exhausts {
    ($($name:ident $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            let mut tape = Tape::<$strategy>::new();
            tape.tape_mut().limit_identifiers(7);
            let (x, z) = tape.record(|scope| {
                let x = scope.inputs(&[3.0, 2.0]);
                let mut z = x[0];
                (0..5).for_each(|_| z *= x[1]);
                let full = "out of identifiers: the recording has 7 inputs and statements";
                refused_here(full, &mut || _ = (z * 2.0).eval());
                refused_here(full, &mut || z += x[0]);
                refused_here(full, &mut || _ = sum(&x));
                refused_here(full, &mut || _ = dot(&x, &x));
                assert!(panic_of(&mut || _ = scope.input(1.0)).contains(full));
                assert!(panic_of(&mut || _ = scope.inputs(&[1.0, 2.0])).contains(full));
                (x, z)
            });
            assert_eq!((z.value(), tape.memory().statements), (96.0, 5));
            let swept = tape.sweep(&[(&z, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
            assert_eq!(swept, Ok(vec![32.0, 240.0]));
            works(&mut tape);
            let mut gradient = [0.0; 8];
            let many = panic_of(&mut || _ = tape.gradient(|x| x[0], &[1.0; 8], &mut gradient));
            assert!(many.contains("7 inputs"), "{many}");
            works(&mut tape);
            tape.tape_mut().limit_identifiers(u64::MAX);
            tape.gradient(|x| sum(x), &[1.0; 8], &mut gradient).expect("lengths agree");
            assert_eq!(gradient, [1.0; 8]);
        }
    )* };
}
exhausts! {
    running_out_of_identifiers_loses_nothing_jacobian Jacobian;
    running_out_of_identifiers_loses_nothing_primal_value_u64 PrimalValue<f64, Linear<u64>>;
    running_out_of_identifiers_loses_nothing_continuation Continuation;
}
