//! What a program does not take.

use tapewright::Error;
use tapewright::prelude::*;
use tapewright::programs::{Program, rows};

fn product<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> [Real<S>; 1] {
    [(p[0] * d[0]).eval()]
}

#[test]
fn other_numbers_of_inputs_are_errors() {
    let program = Program::new(product);
    program.values(&[1.0], &[[2.0]]).unwrap();
    let error = program.values(&[1.0, 2.0], &[[2.0]]).unwrap_err();
    assert_eq!(error.to_string(), "lengths differ: 1 parameters of the program, but 2 given");
    let error = program.values(&[1.0], &[[2.0, 3.0]]).unwrap_err();
    assert_eq!(error.to_string(), "lengths differ: 1 data of a scenario of the program, but 2 given");
}

#[test]
fn scenarios_of_different_lengths_are_errors() {
    let sets = [vec![1.0], vec![1.0, 2.0]];
    let error = Program::new(product).values(&[1.0], &sets[..]).unwrap_err();
    assert_eq!(error.to_string(), "lengths differ: 1 data of scenario 0, but 2 data of another");
    let error = Program::new(product).values(&[1.0], rows(&[1.0, 2.0, 3.0], 2)).unwrap_err();
    assert_eq!(error.to_string(), "lengths differ: 2 numbers in complete rows, but 3 in the slice");
}

#[test]
fn variables_of_other_recordings_are_errors() {
    let mut tape = Tape::<tapewright::strategies::Instructions>::new();
    let stranger = tape.record(|scope| scope.input(1.0));
    let error = Program::new(move |_, _| [stranger]).values(&[1.0], &[[2.0]]).unwrap_err();
    assert!(matches!(error, Error::ForeignVariable { .. }), "{error}");
}

#[test]
#[should_panic(expected = "blocks of 12 scenarios: write 1, or a power of two from 8 to 1024")]
fn widths_are_powers_of_two() {
    let _ = Program::<f64>::new(product).in_blocks_of(12);
}
