//! Closures of `Continuation` in their arena: what they capture, and how many bytes they take, beside what closures in
//! C++ and records of the other strategies take for the same statements.

use tapewright::prelude::*;
use tapewright::strategies::IndexManager;
use tapewright::{Number, linear_combination};

#[test]
fn arrays_lie_in_the_arena() {
    let mut tape = Tape::<Continuation>::new();
    for n in [1_u32, 2, 1000, 100_000] {
        let count = n as usize;
        let coefficients = vec![0.5; count];
        let (x, y) = tape.record(|scope| {
            let x = scope.input(3.0);
            (x, linear_combination(&coefficients, &vec![x; count]))
        });
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.5 * f64::from(n)));
        // Partials and identifiers, and how many there are if that is not the closure's type.
        assert_eq!(tape.memory().usage("closures").used, 12 * count + if n > 27 { 4 } else { 0 });
    }
}

/// A statement of two variables.
type OfTwo<S> = fn(&Real<S>, &Real<S>) -> Real<S>;

/// exp(x)·y·y, the example of the literature.
fn example<S: Taping>(x: &Real<S>, y: &Real<S>) -> Real<S> {
    (x.exp() * y * y).into()
}

/// Bytes of the closure and of its pointer on the stack.
fn closure_and_pointer<V: Number, M: IndexManager>(f: OfTwo<Continuation<V, M>>) -> (usize, usize) {
    let mut tape = Tape::<Continuation<V, M>>::new();
    tape.record(|scope| {
        let x = scope.inputs(&[0.5, 0.6].map(V::from_f64));
        f(&x[0], &x[1])
    });
    let report = tape.memory();
    assert_eq!(report.statements, 1);
    (report.usage("closures").used + report.usage("results").used, report.usage("functions").used)
}

/// Bytes in C++: 24 + 8 for x + y, 16 + 8 for x + 1, 40 + 8 for x·y, 24 + 8 for x·2 and for exp x, and those of one
/// exponential and two products for the example.
#[test]
fn closures_capture_partials_and_identifiers_and_nothing_else() {
    type Row<V, M> = (&'static str, [usize; 2], OfTwo<Continuation<V, M>>);
    fn holds<V: Number, M: IndexManager>() {
        // With reused identifiers, that of the result, too.
        let result = usize::from(core::mem::needs_drop::<M::Id>());
        let statements: [Row<V, M>; 8] = [
            ("x + y", [2, 0], |x, y| (x + y).into()),
            ("x + 1", [1, 0], |x, _| (x + 1.0).into()),
            ("x·y", [2, 2], |x, y| (x * y).into()),
            ("x·2", [1, 1], |x, _| (x * 2.0).into()),
            ("exp x", [1, 1], |x, _| x.exp().into()),
            ("exp(x)·y·y", [3, 3], example),
            ("x·(y − x)", [3, 2], |x, y| (x * (y - x)).into()),
            ("x·y with y passive", [2, 2], |x, _| (x * Real::constant(V::from_f64(0.5))).into()),
        ];
        for (name, [a, d], statement) in statements {
            let captured = size_of::<V>() * d + size_of::<M::Index>() * (a + result);
            assert_eq!(closure_and_pointer::<V, M>(statement), (captured, 8), "{name}");
        }
    }
    holds::<f64, Linear>();
    holds::<f32, Linear<u64>>();
    holds::<f64, Reuse>();
}

#[test]
fn the_stack_keeps_its_capacity() {
    let mut tape = Tape::<Continuation>::new();
    let chain = |x: &[Real<Continuation>]| (0..300_000).fold(x[0], |y, _| (y + x[0]).into());
    let mut reserved = 0;
    for _ in 0..3 {
        tape.gradient(chain, &[1.0], &mut [0.0]).expect("lengths agree");
        assert_eq!(tape.memory().usage("functions").used, 8 * 300_000);
        let recorded = tape.memory().total().reserved;
        assert!(reserved == 0 || reserved == recorded);
        tape.reset();
        let report = tape.memory();
        assert_eq!((report.usage("functions").used, report.usage("closures").used), (0, 0));
        reserved = report.total().reserved;
        assert_eq!(reserved, recorded);
    }
}

/// Bytes in the records of a function, with the values of its variables where they are kept.
fn cost<S: Reverse<Value = f64>>(f: OfTwo<S>) -> usize {
    let bytes = |f: OfTwo<S>| {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| f(&scope.input(0.5), &scope.input(0.6)));
        tape.memory().total().used
    };
    bytes(f) - bytes(|x, _| x.clone())
}

#[test]
fn each_operation_records_fewer_bytes_than_a_virtual_closure_and_the_example_than_objects_on_a_heap() {
    /// Asserts it, with so many more bytes allowed for an operation.
    fn at_most<S: Reverse<Value = f64>>(more: usize) {
        let operations: [(OfTwo<S>, usize); 5] = [
            (|x, y| (x + y).into(), 24 + 8),
            (|x, _| (x + 1.0).into(), 16 + 8),
            (|x, y| (x * y).into(), 40 + 8),
            (|x, _| (x * 2.0).into(), 24 + 8),
            (|x, _| x.exp().into(), 24 + 8),
        ];
        for (k, (operation, theirs)) in operations.into_iter().enumerate() {
            let ours = cost(operation);
            assert!(ours <= theirs + more, "{ours} bytes for {k} under {}", core::any::type_name::<S>());
        }
        let four = cost::<S>(|x, y| {
            let p = (x.exp().eval() * y).eval();
            ((&p * y).eval() + 0.0).into()
        });
        let one = cost::<S>(example);
        assert!(one <= 184 && four <= 184, "{one} and {four} bytes");
    }
    at_most::<Jacobian<f64, Reuse>>(0);
    at_most::<PrimalValue>(0);
    at_most::<Hybrid>(0);
    at_most::<Continuation<f64, Reuse>>(0);
    // Reused identifiers need the value that was overwritten: where all variables stay alive that saves nothing.
    at_most::<PrimalValue<f64, Reuse>>(9);
}
