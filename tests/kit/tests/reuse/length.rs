//! How many identifiers a recording needs.

use super::{One, churn, slot, slots, swept};
use std::collections::{HashMap, HashSet};
use tapewright::prelude::*;
use tapewright_kit_tests::panics::{panic_of, panics};

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

/// A variable, and a number for the identifier that it must have alone or with its copies.
struct Model {
    real: Real<One>,
    key: usize,
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

/// Variables are made, assigned over, copied and dropped at random.
fn runs_as_the_model_does(seed: u64) {
    let mut random = Random(seed);
    let mut tape = Tape::<One>::new();
    let mut alive = Alive { copies: HashMap::new(), next: 0, most: 0 };
    let (x, last) = tape.record(|scope| {
        let x = scope.inputs(&[0.25, 0.75]);
        let mut kept = Vec::new();
        for real in x.iter().cloned() {
            let key = alive.made();
            alive.copied(key); // inputs stay
            kept.push(Model { real, key });
        }
        let steps = 20 + random.below(400);
        for _ in 0..steps {
            let (i, j) = (random.below(kept.len()), random.below(kept.len()));
            match random.below(8) {
                which @ 0..4 => {
                    let key = alive.made();
                    let new = Model { real: (kept[i].real.sin() + &kept[j].real * 0.5).into(), key };
                    if which < 3 {
                        kept.push(new);
                    } else {
                        alive.dropped(kept[i].key);
                        kept[i] = new;
                    }
                }
                4 => {
                    alive.copied(kept[i].key);
                    kept.push(Model { real: kept[i].real.clone(), ..kept[i] });
                }
                _ if kept.len() > 1 => alive.dropped(kept.swap_remove(i).key),
                _ => {}
            }
            let slots: HashSet<usize> = kept.iter().map(|model| slot(&model.real)).collect();
            let keys: HashSet<usize> = kept.iter().map(|model| model.key).collect();
            assert_eq!(slots.len(), keys.len(), "copies share an identifier, others do not");
        }
        (x, kept.swap_remove(0).real)
    });
    swept(&mut tape, &last, &x);
    assert_eq!(slots(&tape), alive.most + 1, "seed {seed}");
}

#[test]
fn any_pattern_of_variables_needs_as_many_slots_as_are_alive_at_once() {
    for seed in 0..300 {
        runs_as_the_model_does(seed);
    }
}

#[test]
fn inputs_keep_their_slots_also_when_they_are_dropped_overwritten_or_late() {
    type S = One;
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

#[test]
fn a_recording_after_a_huge_one_starts_at_identifier_1() {
    type S = One;
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

#[test]
fn running_out_of_identifiers_names_the_live_count_and_harms_nothing() {
    let mut tape = Tape::<One>::new();
    tape.tape_mut().limit_identifiers(5);
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let mut y = (&x[0] * &x[1]).eval();
        let more = [(&y + 1.0).eval(), (&y + 2.0).eval()];
        let text = panic_of(&mut || _ = (&y * &y).eval());
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
        assert!(panics(&mut || _ = scope.inputs(&[1.0; 6])), "six inputs are one too many");
        assert_eq!(scope.inputs(&[1.0; 5]).len(), 5, "none of the six was registered");
    });
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
                assert!(panics(&mut || _ = (&y * &y).eval()), "a new variable has no identifier");
                (x, y)
            });
            assert_eq!(swept(&mut tape, &y, &x), [4001.0], "{}", stringify!($strategy));
        };
    }
    holds!(PrimalValue<f64, Reuse>);
    holds!(Hybrid<f64, Reuse>);
    holds!(Continuation<f64, Reuse>);
}
