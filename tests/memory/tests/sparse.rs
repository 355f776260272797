//! Sparse matrices of a kept tape allocate nothing the second time, and patterns take memory for entries.

use tapewright::prelude::*;
use tapewright::sparse::{SparseHessian, SparseJacobian};
use tapewright::{Continuation, Dual, Hybrid, Reuse};
use tapewright_test_support::counting::{Counting, allocations, peak};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Products of neighbors, `wide` times each.
fn neighbors<S: Taping>(x: &[Real<S>], wide: usize, outputs: &mut Vec<Real<S>>) {
    for pair in x.windows(2) {
        (0..wide).for_each(|_| outputs.push((&pair[0] * &pair[1]).into()));
    }
}

fn jacobians<S: Reverse<Value = f64>>(inputs: usize, wide: usize) {
    let (point, mut outputs, mut variables) = (vec![0.5; inputs], Vec::new(), Vec::new());
    let mut tape = Tape::<S>::new();
    let mut kept = None;
    for round in 0..4 {
        outputs.clear();
        variables.clear();
        tape.record(|scope| {
            scope.inputs_into(&point, &mut variables);
            neighbors(&variables, wide, &mut outputs);
        });
        let jacobian =
            kept.get_or_insert_with(|| SparseJacobian::new(&tape, &variables, &outputs).expect("there is a pattern"));
        let (matrix, calls) = allocations(|| jacobian.evaluate(&mut tape, &variables, &outputs).map(|_| ()));
        assert!(matrix.is_ok() && (round < 2 || calls == 0), "{calls} allocations in round {round}");
        assert!(jacobian.matrix().values().iter().all(|value| *value == 0.5));
    }
}

#[test]
fn a_second_jacobian_by_rows_allocates_nothing() {
    jacobians::<Jacobian>(3000, 1);
    jacobians::<PrimalValue>(3000, 1);
    jacobians::<PrimalValue<f64, Reuse>>(3000, 1);
    jacobians::<Hybrid>(3000, 1);
    jacobians::<Continuation>(3000, 1);
}

#[test]
fn a_second_jacobian_by_columns_allocates_nothing() {
    jacobians::<Jacobian>(3, 3000);
    jacobians::<PrimalValue>(3, 3000);
}

#[test]
fn a_second_hessian_allocates_nothing() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let mut sum = Real::from(0.0);
        x.windows(2).for_each(|x| sum += &x[0] * &x[1]);
        sum
    }
    let point = vec![0.5; 3000];
    let mut tape = Tape::<PrimalValue<Dual<f64, 2>>>::new();
    let mut hessian = SparseHessian::new(&mut tape, f, &point).expect("there is a pattern");
    let mut gradient = vec![0.0; point.len()];
    for round in 0..3 {
        let (value, calls) = allocations(|| hessian.evaluate(&mut tape, f, &point, &mut gradient));
        assert!(value.is_ok() && (round == 0 || calls == 0), "{calls} allocations in round {round}");
    }
    assert!(hessian.matrix().values().iter().all(|value| *value == 1.0));
}

/// A thousand steps over a line of cells: what intermediate variables depend on is forgotten when nobody asks again.
#[test]
fn patterns_take_memory_for_entries_and_not_for_steps() {
    let cells = 500;
    let of_steps = |steps: usize| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&vec![0.5; cells]);
            let mut y = x.clone();
            for _ in 0..steps {
                y = (0..cells).map(|k| (y[k] * 0.5 + y[(k + 1) % cells] * y[k]).into()).collect();
            }
            (x, y)
        });
        let (pattern, bytes) = peak(|| tape.jacobian_pattern(&x, &y).expect("there is a pattern"));
        assert_eq!(pattern.entries(), cells * (steps + 1).min(cells));
        // Flags and counters are no sets: 32 bytes for each statement.
        bytes.saturating_sub(32 * steps * cells)
    };
    let (few, many) = (of_steps(30), of_steps(300));
    assert!(many < 12 * few, "{few} bytes for 30 steps, {many} for 300, with ten times as many entries");
}

/// Of a recording with variables between inputs and outputs, too.
#[test]
fn a_second_pattern_takes_memory_for_itself_alone() {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y, sum) = tape.record(|scope| {
        let x = scope.inputs(&vec![0.5; 3000]);
        let (mut y, mut z) = (Vec::new(), Vec::new());
        neighbors(&x, 1, &mut y);
        neighbors(&y, 1, &mut z);
        let sum = tapewright::sum(&z);
        (x, z, sum)
    });
    let mut reserved = 0;
    for round in 0..3 {
        let (of_outputs, calls) = allocations(|| tape.jacobian_pattern(&x, &y));
        assert!(round == 0 || calls == 2, "{calls} allocations in round {round}");
        assert_eq!(of_outputs.map(|pattern| pattern.entries()), Ok(3 * 2998));
        let (of_sum, calls) = allocations(|| tape.hessian_pattern(&x, &sum).map(|pattern| pattern.entries()));
        assert!(round == 0 || calls == 2, "{calls} allocations in round {round}");
        assert_eq!(of_sum, Ok(5 * 3000 - 8));
        let now = tape.memory().total().reserved;
        assert!(round == 0 || now == reserved, "{reserved} bytes, and {now} in round {round}");
        reserved = now;
    }
    assert!(tape.memory().to_string().contains("patterns"), "{}", tape.memory());
}
