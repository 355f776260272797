//! The seed's example, a chain of sines with a checkpoint at every fourth: rows X1, X2, X4, X6, X7 and X15.

use crate::everywhere::{close, everywhere, float, holds_results_only};
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use tapewright::Number as _;
use tapewright::checkpoint::{Stage, TapePool};
use tapewright::external::{Callback, CallbackAdjoints};
use tapewright::prelude::*;
use tapewright::{External, SweepError};

thread_local! {
    /// Sines computed by this thread.
    static SINES: Cell<usize> = const { Cell::new(0) };
}

fn sines<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = SINES.get();
    let result = f();
    (result, SINES.get() - before)
}

pub(crate) fn repeated_sin<S: Taping>(n: usize, x: &Real<S>) -> Real<S> {
    (0..n).fold(x.clone(), |x, _| {
        SINES.set(SINES.get() + 1);
        x.sin().eval()
    })
}

/// sin(sin(… x)) and Π cos xₖ, in the arithmetic of the value type, last factor first.
fn exact<V: tapewright::Number>(n: usize, x: V) -> (V, V) {
    let states: Vec<V> = std::iter::successors(Some(x), |x| Some(x.sin())).take(n + 1).collect();
    (states[n], states[..n].iter().rev().fold(V::ONE, |slope, x| slope * x.cos()))
}

const DISTANCE: usize = 4;
const LENGTHS: [usize; 6] = [0, 1, 3, 4, 5, 1000];

/// The lengths of the stages.
fn stages(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(DISTANCE).map(move |i| DISTANCE.min(n - i))
}

/// Sweeps the recording twice, with two seeds, and compares with the full tape and with the product of cosines.
fn check<S: Reverse>(n: usize, mut tape: Tape<S>, x: &Real<S>, y: &Real<S>) {
    let full = gradient::<S>(|x| repeated_sin(n, &x[0]), &[x.value()])[0];
    let (value, slope) = exact(n, x.value());
    assert_eq!(y.value(), value);
    close(full, slope, 4 * n);
    for seed in [1.0, -2.0, 1.0].map(float::<S::Value>) {
        let found = tape.sweep(&[(y, seed)]).and_then(|adjoints| adjoints.of(x)).expect("its own");
        assert_eq!(found, seed * full, "{n} sines, a power of 2 for a seed");
    }
}

fn x6_stages<S: Reverse>() {
    for n in LENGTHS {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(float(0.7));
            let y = stages(n)
                .fold(x.clone(), |x, m| Stage::<S>::new().run(&x, |x| repeated_sin(m, x), move |x| repeated_sin(m, x)));
            (x, y)
        });
        holds_results_only(&tape, stages(n).count());
        check(n, tape, &x, &y);
    }
}

/// Stages recorded under another strategy than the tape's.
fn x6_stages_of_another_strategy<S: Reverse>() {
    for n in LENGTHS {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(float(0.7));
            let y = stages(n).enumerate().fold(x.clone(), |x, (k, m)| {
                let plain = |x: &Real<Passive<S::Value>>| repeated_sin(m, x);
                if k % 2 == 0 {
                    Stage::<Jacobian<S::Value>>::new().run(&x, plain, move |x| repeated_sin(m, x))
                } else {
                    Stage::<PrimalValue<S::Value, Reuse>>::new().run(&x, plain, move |x| repeated_sin(m, x))
                }
            });
            (x, y)
        });
        check(n, tape, &x, &y);
    }
}

/// One object for all stages, as the seed has it. The seed's stacks are popped by a sweep; here a stage is known by its
/// number, so that a second sweep finds it, too.
struct Shared<S: Reverse> {
    stages: Mutex<Vec<(usize, S::Value)>>,
    pool: TapePool<S>,
}

impl<S: Reverse> Shared<S> {
    fn compute_stage(self: &Arc<Self>, scope: &mut tapewright::Scope<S>, n: usize, x: &Real<S>) -> Real<S> {
        let mut stages = self.stages.lock().expect("no panic");
        let k = stages.len();
        stages.push((n, x.value()));
        let y = repeated_sin(n, &Real::<Passive<S::Value>>::constant(x.value())).value();
        let this = Arc::clone(self);
        let callback = move |adjoints: &mut CallbackAdjoints<S::Value>| this.compute_adjoint(k, adjoints);
        scope.insert_callback(std::slice::from_ref(x), &[y], callback).remove(0)
    }

    fn compute_adjoint(&self, k: usize, adjoints: &mut CallbackAdjoints<S::Value>) -> Result<(), SweepError> {
        let (n, x) = self.stages.lock().expect("no panic")[k];
        reverse_stage(&self.pool, n, x, adjoints)
    }
}

fn reverse_stage<S: Reverse>(
    pool: &TapePool<S>,
    n: usize,
    x: S::Value,
    adjoints: &mut CallbackAdjoints<S::Value>,
) -> Result<(), SweepError> {
    let seed = adjoints.get_and_reset_output(0);
    let mut nested = pool.nested();
    let x = nested.input(x);
    let y = repeated_sin(n, &x);
    let swept = nested.compute_adjoints(&[(&y, seed)]).and_then(|()| nested.adjoint(&x));
    adjoints.increment_input(0, swept.map_err(|error| SweepError::rule("sines", error))?);
    Ok(())
}

fn x7_one_callback_object_for_all_stages<S: Reverse>() {
    for n in LENGTHS {
        let shared = Arc::new(Shared { stages: Mutex::default(), pool: TapePool::<S>::new() });
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(float(0.7));
            let y = stages(n).fold(x.clone(), |x, m| shared.compute_stage(scope, m, &x));
            (x, y)
        });
        check(n, tape, &x, &y);
        assert_eq!(Arc::strong_count(&shared), 1, "the tape's are gone with it");
    }
}

/// A callback object of its own for each stage.
struct Single<S: Reverse> {
    n: usize,
    x: S::Value,
    pool: TapePool<S>,
}

impl<S: Reverse> Callback<S::Value> for Single<S> {
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, S::Value>) -> Result<(), SweepError> {
        reverse_stage(&self.pool, self.n, self.x, adjoints)
    }
    fn name(&self) -> String {
        format!("{} sines", self.n)
    }
}

fn x7_one_callback_object_per_checkpoint<S: Reverse>() {
    for n in LENGTHS {
        let pool = TapePool::<S>::new();
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(float(0.7));
            let y = stages(n).fold(x.clone(), |x, m| {
                let y = repeated_sin(m, &Real::<Passive<S::Value>>::constant(x.value())).value();
                let single = Single::<S> { n: m, x: x.value(), pool: pool.clone() };
                scope.insert_callback(std::slice::from_ref(&x), &[y], single).remove(0)
            });
            (x, y)
        });
        check(n, tape, &x, &y);
    }
}

/// The seed's order at the call site: tape, input, recording, stages, output, seed, sweep, result.
fn x15_order_at_the_call_site<S: Reverse>() {
    let shared = Arc::new(Shared { stages: Mutex::default(), pool: TapePool::<S>::new() });
    let tape = Tape::<S>::new();
    let mut recording = tape.start();
    let mut scope = recording.scope();
    let x = scope.input(float(0.3));
    let n = 10;
    let mut y = x.clone();
    for i in (0..n).step_by(DISTANCE) {
        y = shared.compute_stage(&mut scope, DISTANCE.min(n - i), &y);
    }
    let mut tape = recording.finish();
    let adjoints = tape.sweep(&[(&y, S::Value::ONE)]).expect("its own");
    let (value, slope) = exact(n, x.value());
    assert_eq!((y.value(), adjoints.of(&x).expect("its own")), (value, slope));
}

fn x1_stages_leave_their_entries_only<S: Reverse>() {
    let record = |stages: usize| {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| {
            let x = scope.input(float(0.7));
            (0..stages).fold(x, |x, _| Stage::<S>::new().run(&x, |x| repeated_sin(100, x), |x| repeated_sin(100, x)))
        });
        holds_results_only(&tape, stages);
        tape.memory()
    };
    let variables = |n: usize| {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| scope.inputs(&vec![float(0.7); n]));
        tape.memory().total().used
    };
    let externals = |stages| record(stages).usage("externals").used;
    let entry = externals(1);
    assert!((1..512).contains(&entry), "{entry} bytes for an entry");
    for stages in [0, 1, 7, 50] {
        let report = record(stages);
        assert_eq!(report.usage("externals").used, stages * entry, "{report}");
        // Their results: variables, and where identifiers are reused, which one each is.
        let rest = report.total().used - stages * entry;
        assert!(rest <= variables(1 + stages) + 32 * stages, "{report}");
    }
}

fn x4_everything_is_computed_twice<S: Reverse>() {
    for n in LENGTHS {
        let mut tape = Tape::<S>::new();
        let ((x, y), forward) = sines(|| {
            tape.record(|scope| {
                let x = scope.input(float(0.7));
                let y = stages(n).fold(x.clone(), |x, m| {
                    Stage::<S>::new().run(&x, |x| repeated_sin(m, x), move |x| repeated_sin(m, x))
                });
                (x, y)
            })
        });
        assert_eq!(forward, n);
        for _ in 0..2 {
            let (found, again) = sines(|| tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)));
            assert_eq!((found, again), (Ok(exact(n, float(0.7)).1), n), "2n with the forward run");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Passive(usize),
    Load(usize),
    /// So many statements were on the nested tape at the end of the stage.
    Record(usize, usize),
    InitOutputs(usize),
    RollBack(usize),
    IncrementInputs(usize),
    Wiped(usize),
}

/// A stage that says what it does.
struct Logged<S: Reverse> {
    k: usize,
    n: usize,
    x: S::Value,
    pool: TapePool<S>,
    log: Arc<Mutex<Vec<Event>>>,
}

impl<S: Reverse> Logged<S> {
    fn log(&self, event: Event) {
        self.log.lock().expect("no panic").push(event);
    }
}

impl<S: Reverse> Callback<S::Value> for Logged<S> {
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, S::Value>) -> Result<(), SweepError> {
        let k = self.k;
        let (n, at) = (self.n, self.x);
        self.log(Event::Load(k));
        {
            let mut nested = self.pool.nested();
            let x = nested.input(at);
            let (y, recorded) = sines(|| repeated_sin(n, &x));
            self.log(Event::Record(k, recorded));
            let seed = adjoints.get_and_reset_output(0);
            self.log(Event::InitOutputs(k));
            nested.compute_adjoints(&[(&y, seed)]).expect("of its own outputs");
            self.log(Event::RollBack(k));
            adjoints.increment_input(0, nested.adjoint(&x).expect("its own"));
            self.log(Event::IncrementInputs(k));
        }
        self.pool.with(|tape| assert_eq!(tape.memory().statements, 0, "the tape of the stage, wiped"));
        self.log(Event::Wiped(k));
        Ok(())
    }
}

fn x2_steps_of_the_roll_back<S: Reverse>() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let pool = TapePool::<S>::new();
    let mut tape = Tape::<S>::new();
    let n = 10;
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(0.7));
        let y = stages(n).enumerate().fold(x.clone(), |x, (k, m)| {
            log.lock().expect("no panic").push(Event::Passive(k));
            let y = repeated_sin(m, &Real::<Passive<S::Value>>::constant(x.value())).value();
            let stage = Logged::<S> { k, n: m, x: x.value(), pool: pool.clone(), log: Arc::clone(&log) };
            scope.insert_callback(std::slice::from_ref(&x), &[y], stage).remove(0)
        });
        (x, y)
    });
    holds_results_only(&tape, 3);
    let stage = |k: usize, n: usize| {
        use Event::{IncrementInputs, InitOutputs, Load, Record, RollBack, Wiped};
        [Load(k), Record(k, n), InitOutputs(k), RollBack(k), IncrementInputs(k), Wiped(k)]
    };
    let sweep = [stage(2, 2), stage(1, 4), stage(0, 4)].concat();
    let mut expected: Vec<Event> = (0..3).map(Event::Passive).collect();
    for _ in 0..2 {
        let slope = tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)).expect("its own");
        assert_eq!(slope, exact(n, float(0.7)).1);
        expected.extend(&sweep);
        assert_eq!(*log.lock().expect("no panic"), expected);
    }
}

/// Stages in a row whose rules are seen by a sweep in the opposite order; the trait's default name is the type's.
#[test]
fn callbacks_have_names() {
    struct Unnamed;
    impl Callback<f64> for Unnamed {
        fn compute_adjoint(&self, _: &mut CallbackAdjoints<'_, f64>) -> Result<(), SweepError> {
            Err(SweepError::rule(Callback::name(self), "on purpose"))
        }
    }
    let mut tape = Tape::<Jacobian>::new();
    let y = tape.record(|scope| {
        let x = scope.input(1.0);
        scope.insert_callback(&[x], &[1.0], Unnamed)[0]
    });
    let error = tape.sweep(&[(&y, 1.0)]).expect_err("on purpose").to_string();
    assert!(error.contains("Unnamed") && error.contains("on purpose"), "{error}");
    let rule: Box<dyn External<f64>> = Box::new(tapewright::Rules::new("a name", |_, _| Ok(())));
    assert_eq!(rule.name(), "a name");
}

everywhere!(
    x1_stages_leave_their_entries_only,
    x2_steps_of_the_roll_back,
    x4_everything_is_computed_twice,
    x6_stages,
    x6_stages_of_another_strategy,
    x7_one_callback_object_for_all_stages,
    x7_one_callback_object_per_checkpoint,
    x15_order_at_the_call_site,
);
