//! Row S5: what an operation records, beside a closure with a virtual function.

use tapewright::prelude::*;

/// Bytes that a function of two inputs records, with the values of its variables where they are kept.
fn cost<S: Reverse<Value = f64>>(f: impl Fn(&[Real<S>]) -> Real<S>) -> usize {
    let bytes = |f: &dyn Fn(&[Real<S>]) -> Real<S>| {
        let mut tape = Tape::<S>::new();
        let kept = tape.record(|scope| f(&scope.inputs(&[0.5, 0.6])));
        let used = tape.memory().total().used;
        drop(kept);
        used
    };
    bytes(&f) - bytes(&|x| x[0].clone())
}

/// Bytes of x + y, x + 1, x·y, x·2 and exp x.
fn operations<S: Reverse<Value = f64>>() -> [usize; 5] {
    [
        cost::<S>(|x| (&x[0] + &x[1]).into()),
        cost::<S>(|x| (&x[0] + 1.0).into()),
        cost::<S>(|x| (&x[0] * &x[1]).into()),
        cost::<S>(|x| (&x[0] * 2.0).into()),
        cost::<S>(|x| x[0].exp().into()),
    ]
}

/// In C++ the closures take 24, 16, 40, 24 and 24 bytes, and 8 each on the stack of pointers.
const VIRTUAL_CLOSURES: [usize; 5] = [32, 24, 48, 32, 32];

#[test]
fn s5_each_closure_takes_fewer_bytes_than_a_virtual_one() {
    // The address of its function, distinct partials and the identifiers of arguments; with reused identifiers that of
    // the result, too.
    assert_eq!(operations::<Continuation>(), [8 + 8, 8 + 4, 8 + 16 + 8, 8 + 8 + 4, 8 + 8 + 4]);
    assert_eq!(operations::<Continuation<f64, Reuse>>(), operations::<Continuation>().map(|bytes| bytes + 4));
    for ours in [operations::<Continuation>(), operations::<Continuation<f64, Reuse>>()] {
        assert!(ours.iter().zip(VIRTUAL_CLOSURES).all(|(ours, theirs)| *ours < theirs), "{ours:?}");
    }
}

/// Records of values are no closures: with reused identifiers each keeps the value that it overwrites, which a closure
/// does not need, and a literal. So they take up to 9 bytes more than a virtual closure, if no variable is overwritten.
#[test]
fn s5_where_values_and_identifiers_are_reused_an_overwritten_value_and_a_literal_take_9_bytes_more() {
    // A code, the result's identifier, what it overwrites, and its own value; identifiers and literals.
    let values = |a: usize, c: usize| 1 + 4 + 8 + 8 + 4 * a + 8 * c;
    let found = operations::<PrimalValue<f64, Reuse>>();
    assert_eq!(found, [values(2, 0), values(1, 1), values(2, 0), values(1, 1), values(1, 0)]);
    let more = found.iter().zip(VIRTUAL_CLOSURES).map(|(ours, theirs)| ours.saturating_sub(theirs));
    assert_eq!(more.collect::<Vec<_>>(), [0, 9, 0, 1, 0]);
    // `Hybrid` keeps no literal where there are fewer partials.
    assert_eq!(
        operations::<Hybrid<f64, Reuse>>(),
        [values(2, 0), values(1, 0), values(2, 0), values(1, 1), values(1, 0)]
    );
    // Where variables are overwritten, two values are there at a time, and 1000 additions take 1000 bytes more.
    let thousand = cost::<PrimalValue<f64, Reuse>>(|x| (0..1000).fold(x[0].clone(), |y, _| (&y + 1.0).into()));
    assert_eq!(thousand, 1000 * (VIRTUAL_CLOSURES[1] + 1) + 2 * 8);
}
