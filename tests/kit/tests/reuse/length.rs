//! How many identifiers a recording needs.

use super::{Reusing, churn, each, slot, slots, swept};
use std::collections::{HashMap, HashSet, VecDeque};
use tapewright::prelude::*;

#[test]
fn repeated_sine_needs_four_slots_for_100_000_statements() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[0.5]);
            let y = (0..100_000).fold(x[0].clone(), |y, _| y.sin().into());
            (x, y)
        });
        let chain = (0..100_000).fold((0.5_f64, 1.0), |(v, d), _| (v.sin(), d * v.cos()));
        let gradient = swept(&mut tape, &y, &x)[0];
        assert!((gradient / chain.1 - 1.0).abs() < 1e-9, "{gradient} is not {}", chain.1);
        // Slot 0, the input, and a variable before and after a statement.
        assert_eq!(slots(&tape), 4);
        assert!(tape.memory().usage("adjoints").used < 1000);
        assert_eq!(tape.memory().statements, 100_000);
    }
    each!(holds);
}

#[test]
fn a_recurrence_over_a_window_needs_the_window() {
    fn holds<S: Reusing>() {
        for window in [1, 2, 10, 1000] {
            let mut tape = Tape::<S>::new();
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(&[0.25]);
                let mut kept: VecDeque<Real<S>> = (0..window).map(|_| x[0].clone()).collect();
                for _ in 0..5 * window {
                    kept.push_back((&kept[0] * 0.5 + &kept[window - 1] * 0.25).into());
                    kept.pop_front();
                }
                (x, kept.pop_back().expect("the window is not empty"))
            });
            let mut kept: VecDeque<f64> = vec![1.0; window].into();
            for _ in 0..5 * window {
                kept.push_back(kept[0] * 0.5 + kept[window - 1] * 0.25);
                kept.pop_front();
            }
            let gradient = swept(&mut tape, &y, &x)[0];
            assert!((gradient / kept[window - 1] - 1.0).abs() < 1e-12);
            assert_eq!(slots(&tape), 1 + 1 + window + 1, "slot 0, the input, the window, and the next");
        }
    }
    each!(holds);
}

/// Numbers that look random.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % n as u64).expect("below n")
    }
}

/// A variable with its tangents by both inputs, and a number for the identifier that it must have alone or with its
/// copies.
struct Model<S: Taping> {
    real: Real<S>,
    key: usize,
    tangents: [f64; 2],
}

impl<S: Taping> Model<S> {
    fn copy(&self) -> Self {
        Self { real: self.real.clone(), ..*self }
    }
}

/// Who is alive, and how many at most.
struct Alive {
    copies: HashMap<usize, usize>,
    next: usize,
    most: usize,
}

impl Alive {
    fn made(&mut self) -> usize {
        self.next += 1;
        self.copies.insert(self.next, 1);
        self.most = self.most.max(self.copies.len());
        self.next
    }

    fn copied(&mut self, key: usize) {
        *self.copies.get_mut(&key).expect("alive") += 1;
    }

    fn dropped(&mut self, key: usize) {
        let copies = self.copies.get_mut(&key).expect("alive");
        *copies -= 1;
        if *copies == 0 {
            self.copies.remove(&key);
        }
    }
}

/// A statement of two variables.
fn combined<S: Reusing>(kind: usize, a: &Model<S>, b: &Model<S>, key: usize) -> Model<S> {
    let (u, v) = (a.real.value(), b.real.value());
    let (real, du, dv): (Real<S>, f64, f64) = match kind {
        0 => ((&a.real * 0.5 + &b.real).into(), 0.5, 1.0),
        1 => ((a.real.sin() * b.real.cos()).into(), u.cos() * v.cos(), -u.sin() * v.sin()),
        2 => ((&a.real - &b.real * 0.25).into(), 1.0, -0.25),
        _ => ((a.real.clone().sin() + &a.real * 0.125).into(), u.cos() + 0.125, 0.0),
    };
    let tangents = [0, 1].map(|k| du * a.tangents[k] + dv * b.tangents[k]);
    Model { real, key, tangents }
}

fn runs_as_the_model_does<S: Reusing>(seed: u64) {
    let mut random = Random(seed);
    let mut tape = Tape::<S>::new();
    let mut alive = Alive { copies: HashMap::new(), next: 0, most: 0 };
    let (x, kept) = tape.record(|scope| {
        let x = scope.inputs(&[0.25, 0.75]);
        let mut kept = Vec::new();
        for (k, real) in x.iter().enumerate() {
            let key = alive.made();
            alive.copied(key); // inputs stay
            let tangents = if k == 0 { [1.0, 0.0] } else { [0.0, 1.0] };
            kept.push(Model { real: real.clone(), key, tangents });
        }
        let steps = 20 + random.below(400);
        for _ in 0..steps {
            let (i, j, k) = (random.below(kept.len()), random.below(kept.len()), random.below(4));
            match random.below(8) {
                0..3 => {
                    let key = alive.made();
                    kept.push(combined(k, &kept[i], &kept[j], key));
                }
                3 => {
                    let key = alive.made();
                    let new = combined(k, &kept[i], &kept[j], key);
                    alive.dropped(kept[i].key);
                    kept[i] = new;
                }
                4 => {
                    alive.copied(kept[i].key);
                    kept.push(kept[i].copy());
                }
                _ if kept.len() > 1 => alive.dropped(kept.swap_remove(i).key),
                _ => {}
            }
            let slots: HashSet<usize> = kept.iter().map(|model| slot(&model.real)).collect();
            let keys: HashSet<usize> = kept.iter().map(|model| model.key).collect();
            assert_eq!(slots.len(), keys.len(), "copies share an identifier, others do not");
        }
        (x, kept)
    });
    for model in &kept {
        let gradient = swept(&mut tape, &model.real, &x);
        for (found, expected) in gradient.iter().zip(model.tangents) {
            assert!(
                (found - expected).abs() < 1e-11 * expected.abs().max(1.0),
                "{found} is not {expected}, seed {seed}"
            );
        }
    }
    assert_eq!(slots(&tape), alive.most + 1, "seed {seed}");
}

#[test]
fn any_pattern_of_variables_needs_as_many_slots_as_are_alive_at_once() {
    for seed in 0..300 {
        each!(runs_as_the_model_does, seed);
    }
}

#[test]
fn inputs_keep_their_slots_also_when_they_are_dropped_overwritten_or_late() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (early, late, y) = tape.record(|scope| {
            let mut first = scope.input(2.0);
            let second = scope.input(3.0);
            let copies = [first.clone(), second.clone()];
            let mut y = (&first * &second).eval();
            first = (&first * 10.0).into();
            drop(second);
            churn(&first, 100);
            let temporaries: Vec<_> = (0..50).map(|_| (&first * 2.0).eval()).collect();
            let used: HashSet<usize> = temporaries.iter().map(slot).chain([slot(&first), slot(&y)]).collect();
            drop((temporaries, first));
            let late = scope.input(5.0);
            assert!(!used.contains(&slot(&late)), "an input gets a slot that no variable has had");
            let inputs: HashSet<usize> = copies.iter().chain([&late]).map(slot).collect();
            let late_copy = late.clone();
            y *= &late;
            drop(late);
            for _ in 0..200 {
                let other = (&y + 1.0).eval();
                assert!(!inputs.contains(&slot(&other)));
                y = (other - 1.0).into();
                assert!(!inputs.contains(&slot(&y)));
            }
            churn(&y, 100);
            (copies, late_copy, y)
        });
        let [a, b] = early;
        assert_eq!(swept(&mut tape, &y, &[a, b, late]), [15.0, 10.0, 6.0]);
    }
    each!(holds);
}

#[test]
fn a_recording_after_a_huge_one_starts_at_identifier_1() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let largest = tape.record(|scope| {
            let x = scope.input(1.0);
            let all: Vec<_> = (0..1_000_000).map(|_| (&x + 1.0).eval()).collect();
            all.iter().map(slot).max()
        });
        assert_eq!(largest, Some(1_000_001));
        for _ in 0..3 {
            let (x, y) = tape.record(|scope| {
                let x = scope.input(3.0);
                let y = (&x * &x).eval();
                (x, y)
            });
            assert_eq!((slot(&x), slot(&y)), (1, 2));
            assert_eq!(swept(&mut tape, &y, &[x]), [6.0]);
            assert_eq!(slots(&tape), 3);
        }
    }
    each!(holds);
}

#[test]
fn running_out_of_identifiers_names_the_live_count_and_harms_nothing() {
    macro_rules! holds {
        ($strategy:ty) => {
            let mut tape = Tape::<$strategy>::new();
            tape.tape_mut().limit_identifiers(5);
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(&[2.0, 3.0]);
                let mut y = (&x[0] * &x[1]).eval();
                let more = [(&y + 1.0).eval(), (&y + 2.0).eval()];
                let full = std::panic::AssertUnwindSafe(|| (&y * &y).eval());
                let refused = std::panic::catch_unwind(full).expect_err("the sixth identifier");
                let text = refused.downcast_ref::<String>().expect("a text");
                assert!(text.contains("out of identifiers: 5 variables were alive at once"), "{text}");
                assert!(text.contains("no more than 5"), "{text}");
                assert_eq!((&x[0] + 1.0).value(), 3.0, "values can be had still");
                drop(more);
                for _ in 0..1000 {
                    y = (&y * 0.5 + &x[0] * 3.0).into();
                }
                (x, y)
            });
            // The fixed point of y = y/2 + 3x₀ is 6x₀.
            assert_eq!(y.value(), 12.0);
            let gradient = swept(&mut tape, &y, &x);
            assert!((gradient[0] - 6.0).abs() < 1e-13 && gradient[1] == 2.0 * 0.5_f64.powi(1000), "{gradient:?}");
            assert_eq!(tape.memory().statements, 1003);
            tape.record(|scope| {
                let inputs = std::panic::AssertUnwindSafe(|| scope.inputs(&[1.0; 6]));
                assert!(std::panic::catch_unwind(inputs).is_err(), "six inputs are one too many");
                assert_eq!(scope.inputs(&[1.0; 5]).len(), 5, "none of the six was registered");
            });
        };
    }
    holds!(Jacobian<f64, Reuse>);
    holds!(PrimalValue<f64, Reuse>);
    holds!(Hybrid<f64, Reuse>);
}

#[test]
fn a_variable_can_be_assigned_to_when_all_identifiers_are_taken() {
    macro_rules! holds {
        ($strategy:ty) => {
            let mut tape = Tape::<$strategy>::new();
            tape.tape_mut().limit_identifiers(2);
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(&[0.5]);
                let mut y = (&x[0] * 1.0).eval();
                let passive = Real::<$strategy>::constant(2.0);
                // Segments end among them, and each type is met for the first time.
                for _ in 0..4000 {
                    y += &x[0];
                    y -= &passive * &x[0];
                    y += 2.0 * &x[0];
                }
                let full = std::panic::AssertUnwindSafe(|| (&y * &y).eval());
                assert!(std::panic::catch_unwind(full).is_err(), "a new variable has no identifier");
                (x, y)
            });
            assert_eq!(swept(&mut tape, &y, &x), [4001.0], "{}", stringify!($strategy));
        };
    }
    holds!(Jacobian<f64, Reuse>);
    holds!(PrimalValue<f64, Reuse>);
    holds!(Hybrid<f64, Reuse>);
    holds!(Continuation<f64, Reuse>);
}
