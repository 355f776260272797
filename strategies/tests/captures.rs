//! Where captures lie, how they are aligned, and how many bytes they take.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::{Plus, Var, adjoints, eval, input};
use std::panic::catch_unwind;
use std::sync::Arc;
use tapewright_strategies::contract::{Load, Sink, Store, Taped, Tree, Twin};
use tapewright_strategies::identifier::{IndexType, LinearId};
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::shape::{self, Both, Scaled, Unit};
use tapewright_strategies::tape::Continuations;
use tapewright_strategies::typenum::{U0, U2};
use tapewright_strategies::{Capacity, Continuation, Expression, Float, Linear, Nary, Reverse, Taping};

type S = Continuation;

fn tape() -> OwnedTape<S> {
    OwnedTape::new(Continuations::default())
}

macro_rules! aligned {
    ($($name:ident $align:literal)*) => { $( #[repr(align($align))] struct $name([u8; $align]); )* };
}
aligned! { Two 2 Sixteen 16 Wide 128 Page 4096 }

#[repr(align(64))]
struct Nothing;

/// Asserts that it lies where it must, and holds what it was given.
trait Intact {
    fn assert_intact(&self);
}
macro_rules! intact {
    ($($name:ident $byte:literal)*) => { $(
        impl Intact for $name {
            fn assert_intact(&self) {
                assert_eq!(std::ptr::from_ref(self).addr() % align_of::<Self>(), 0);
                assert!(self.0.iter().all(|byte| *byte == $byte));
            }
        }
    )* };
}
intact! { Two 2 Sixteen 16 Wide 128 Page 40 }
impl Intact for Nothing {
    fn assert_intact(&self) {
        assert_eq!(std::ptr::from_ref(self).addr() % 64, 0);
    }
}

/// Records x ↦ x by a closure that keeps `kept` and looks at it.
fn pass<K: Intact + Send + Sync + 'static>(x: Var, kept: K) -> Var {
    let id = S::record_closure(&[&x.0.id], move |adjoint, x: &mut [f64]| {
        kept.assert_intact();
        x[0] = adjoint;
    });
    Var::new(x.0.value, id)
}

#[test]
fn s6_captures_are_aligned_also_beyond_eight_bytes() {
    let mut tape = tape();
    for _ in 0..2 {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 3.0);
            let mut y = x;
            for _ in 0..12 {
                y = pass(pass(y, Two([2; 2])), Sixteen([16; 16]));
                y = pass(eval::<S, _>(&Plus(y, Var::passive(0.0))), Wide([128; 128]));
                y = pass(pass(y, Page([40; 4096])), Nothing);
            }
            (x, y)
        });
        assert_eq!(adjoints(&tape, y, &[x]), [1.0]);
        let report = S::memory(tape.tape());
        assert_eq!((report.statements, report.arguments), (12 * 6, 12 * 7));
        assert!(report.usage("closures").used > 64 << 10, "more than a segment: {report}");
    }
}

#[test]
fn closures_take_the_documented_bytes() {
    let used = |f: &dyn Fn(Var)| {
        let mut tape = tape();
        tape.record(|number| f(input::<S>(number, 3.0)));
        let report = S::memory(tape.tape());
        let bytes = |stream| report.usage(stream).used;
        (bytes("closures"), bytes("functions"), bytes("destructors"))
    };
    let closure = |f: fn(f64, &mut [f64]), n: usize| {
        used(&move |x| {
            S::record_closure(&vec![&x.0.id; n], f);
        })
    };
    // A function pointer is 8 bytes; then arguments and two numbers of 4 bytes each.
    assert_eq!(closure(|_, _| (), 1), (8 + 12, 8, 0));
    assert_eq!(closure(|_, _| (), 2), (8 + 16, 8, 0));
    let nothing = used(&|x| {
        S::record_closure(&[&x.0.id], |adjoint, x: &mut [f64]| x[0] = adjoint);
    });
    assert_eq!(nothing, (12, 8, 0));
    let with_destructor = used(&|x| {
        let kept = Arc::new(2.0);
        S::record_closure(&[&x.0.id], move |adjoint, x: &mut [f64]| x[0] = adjoint * *kept);
    });
    assert_eq!(with_destructor, (8 + 12, 8, 16));
}

#[test]
fn closures_reach_into_new_segments_and_find_them_again() {
    let (mut tape, kept) = (tape(), Arc::new(0.0));
    for k in 1..=3 {
        let arguments = k * (64 << 10) / 12;
        S::reserve(tape.tape_mut(), Capacity { arguments, ..Capacity::default() });
    }
    let reserved = S::memory(tape.tape()).usage("free").reserved;
    for n in [120, 1, 120] {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 3.0);
            let y = (0..n).fold(x, |y, _| {
                let (kept, ballast) = (kept.clone(), [0.0; 150]);
                let id = S::record_closure(&[&y.0.id], move |adjoint, contributions: &mut [f64]| {
                    contributions[0] = adjoint + *kept + ballast.iter().sum::<f64>();
                });
                Var::new(3.0, id)
            });
            (x, y)
        });
        assert_eq!(adjoints(&tape, y, &[x]), [1.0]);
        let report = S::memory(tape.tape());
        let used = report.usage("closures").used + report.usage("functions").used;
        assert_eq!(used + report.usage("free").reserved, reserved, "the closures lie in the reserved segments");
        assert_eq!((report.statements, report.usage("destructors").used), (n, 16 * n));
        assert_eq!(Arc::strong_count(&kept), 1 + n);
        tape.reset();
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

/// x·y for any value type and width of identifiers.
#[derive(Clone, Copy)]
struct Product<V, I: IndexType>(Taped<V, LinearId<I>>, Taped<V, LinearId<I>>);

impl<V: Float, I: IndexType> Expression<Continuation<V, Linear<I>>> for Product<V, I> {
    type Shape = Both<Scaled<Unit>, Scaled<Unit>>;
    fn value(&self) -> V {
        self.0.value * self.1.value
    }
    fn backward(&self, seed: V, sink: &mut impl Sink<Continuation<V, Linear<I>>>) {
        for (one, other) in [(&self.0, &self.1), (&self.1, &self.0)] {
            sink.factor(seed * other.value);
            sink.leaf(seed * other.value, one.id);
        }
    }
    fn silence(&self, sink: &mut impl Sink<Continuation<V, Linear<I>>>) {
        [self.0.id, self.1.id].into_iter().for_each(|id| sink.leaf(V::zero(), id));
    }
}

impl<V: Float, I: IndexType> Tree<Continuation<V, Linear<I>>> for Product<V, I> {
    type Args = U2;
    type Constants = U0;
    type Back = Self;
    fn store(&self, store: &mut impl Store<Continuation<V, Linear<I>>>) {
        store.leaf(self.0.value, self.0.id);
        store.leaf(self.1.value, self.1.id);
    }
}

impl<V: Float, I: IndexType> Twin<Continuation<V, Linear<I>>> for Product<V, I> {
    const HASH: u32 = 5;
    const CONSTANTS: usize = 0;
    fn load(source: &mut impl Load<Continuation<V, Linear<I>>>) -> Self {
        let mut leaf = || source.leaf();
        let ((x, i), (y, j)) = (leaf(), leaf());
        Self(Taped { value: x, id: i }, Taped { value: y, id: j })
    }
}

/// Σ xᵢ².
struct Squares;
impl<V: Float> Nary<V> for Squares {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::zero(), |sum, x| sum + *x * *x)
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x + *x);
    }
}

/// Closures of each kind over 1 to 5 inputs.
fn aligned_closures<V: Float, I: IndexType>() {
    let mut tape = OwnedTape::<Continuation<V, Linear<I>>>::new(Continuations::default());
    let float = V::from_f64;
    for n in 1..6_u8 {
        let (x, z) = tape.record(|number| {
            let input = |value| {
                let id = recording::with::<Continuation<V, Linear<I>>, _>(number, |tape| {
                    Continuation::<V, Linear<I>>::input(tape, value)
                });
                Taped { value, id }
            };
            let x: Vec<_> = (1..=n).map(|k| input(float(k.into()))).collect();
            let squares = Continuation::<V, Linear<I>>::record_nary::<Squares>(&[&x], &[], V::zero());
            let product = Continuation::<V, Linear<I>>::record(&Product(x[0], x[usize::from(n) - 1]));
            let ids: Vec<_> = x.iter().map(|x| x.id).chain([squares, product]).collect();
            let kept = Sixteen([16; 16]);
            let z = Continuation::<V, Linear<I>>::record_closure(
                &ids.iter().collect::<Vec<_>>(),
                move |adjoint, contributions| {
                    kept.assert_intact();
                    contributions.fill(adjoint + adjoint);
                },
            );
            (x, z)
        });
        let slot = |id| Continuation::<V, Linear<I>>::locate(id).map_or(0, |(_, slot)| slot);
        let mut adjoints = vec![V::zero(); Continuation::<V, Linear<I>>::identifiers(tape.tape())];
        adjoints[slot(&z)] = V::one();
        Continuation::<V, Linear<I>>::reverse(tape.tape(), &mut adjoints).expect("records in memory");
        // z = 2·(Σ xᵢ + Σ xᵢ² + x₁·xₙ).
        let mut expected: Vec<V> = x.iter().map(|x| float(2.0) + float(4.0) * x.value).collect();
        expected[0] += float(2.0) * x[x.len() - 1].value;
        expected[x.len() - 1] += float(2.0) * x[0].value;
        let found: Vec<V> = x.iter().map(|x| adjoints[slot(&x.id)]).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn closures_of_all_widths_are_aligned() {
    aligned_closures::<f64, u32>();
    aligned_closures::<f64, u64>();
    aligned_closures::<f32, u32>();
    aligned_closures::<f32, u64>();
}

/// Reports fewer leaves and factors than its type says, or more.
struct Liar(usize, Var);

impl Expression<S> for Liar {
    type Shape = Both<Scaled<Unit>, Scaled<Unit>>;
    fn value(&self) -> f64 {
        1.0
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<S>) {
        for _ in 0..self.0 {
            sink.factor(seed);
            sink.leaf(seed, self.1.0.id);
        }
    }
    fn silence(&self, sink: &mut impl Sink<S>) {
        self.backward(0.0, sink);
    }
}

impl Tree<S> for Liar {
    type Args = U2;
    type Constants = U0;
    type Back = Product<f64, u32>;
    fn store(&self, store: &mut impl Store<S>) {
        (0..self.0).for_each(|_| store.leaf(1.0, self.1.0.id));
    }
}

#[test]
fn a_statement_that_reports_too_little_or_too_much_is_refused() {
    let mut tape = tape();
    tape.record(|number| {
        let x = input::<S>(number, 3.0);
        for (count, refused) in [(0, true), (1, true), (2, false), (3, true), (1000, true)] {
            assert_eq!(catch_unwind(|| S::record(&Liar(count, x))).is_err(), refused);
        }
    });
    assert_eq!(S::memory(tape.tape()).statements, 1);
}

/// A statement without arguments.
#[derive(Clone, Copy)]
struct Alone;

impl Expression<S> for Alone {
    type Shape = shape::Nothing;
    fn value(&self) -> f64 {
        2.0
    }
    fn backward(&self, _: f64, _: &mut impl Sink<S>) {}
    fn silence(&self, _: &mut impl Sink<S>) {}
}

impl Tree<S> for Alone {
    type Args = U0;
    type Constants = U0;
    type Back = Self;
    fn store(&self, _: &mut impl Store<S>) {}
}

impl Twin<S> for Alone {
    const HASH: u32 = 9;
    const CONSTANTS: usize = 0;
    fn load(_: &mut impl Load<S>) -> Self {
        Self
    }
}

#[test]
fn a_statement_without_arguments_is_passive() {
    let mut tape = tape();
    tape.record(|number| {
        input::<S>(number, 3.0);
        assert!(!S::record(&Alone).is_active());
    });
    assert_eq!(S::memory(tape.tape()).statements, 0);
}
