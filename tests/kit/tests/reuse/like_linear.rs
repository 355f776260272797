//! Programs full of assignments, bit for bit as with linear indices, and counted as they are recorded.

use super::length::Random;
use tapewright::{Spilled, dot, prelude::*, sum};
use tapewright_kit_tests::FewPages;
use tapewright_strategies::Counting;

/// One of 18 ways to assign to `t`.
fn assign<S: Taping<Value = f64>>(which: usize, t: &mut Real<S>, a: &Real<S>, b: &Real<S>) {
    match which {
        0 => *t += a,
        1 => *t -= b,
        2 => *t *= a.cos(),
        3 => *t /= a * a + 2.0,
        4 => *t += a * b,
        5 => *t += a * 0.5,
        6 => *t *= 0.75,
        7 => *t += 1.5,
        8 => t.assign(a * b + 0.25),
        9 => t.assign((a * 0.5 + b).eval().sin() * a),
        10 => *t *= a.sin() * 0.5 + b.cos(),
        11 => *t -= a * b * 0.125,
        12 => *t %= 3.0,
        13 => t.assign(a.clone()),
        14 => t.assign(0.375),
        15 => *t = (a - &*t).into(),
        16 => *t *= Real::<S>::from(0.5) * a,
        _ => t.assign((a + b).tanh()),
    }
}

/// Something that copies variables `i`, `j` and `k`, moves them or drops them.
fn shuffle<S: Taping<Value = f64>>(which: usize, v: &mut Vec<Real<S>>, [i, j, k]: [usize; 3]) {
    let (a, b) = (v[j].clone(), v[k].clone());
    match which {
        0 => v[i] += &a,
        1 => v[i].assign(&a * &b),
        2 => v.swap(i, j),
        3 => {
            v.remove(i);
            v.push((&a * 0.5 + &b).into());
        }
        4 => v[i] = a,
        5 => v[i] = (sum(&*v) * 0.125).into(),
        6 => v[i] = (dot(&*v, &*v) * 0.0625).into(),
        7 => v.rotate_left(1),
        8 => {
            let mut copy = v[i].clone();
            copy += &b;
            copy *= 0.5;
            v[j] = copy;
        }
        9 => std::mem::forget(a),
        _ => v.sort_by(|p, q| p.value().total_cmp(&q.value())),
    }
}

/// Calls `each` after each of `n` steps.
fn program<S: Taping<Value = f64>>(
    (seed, n): (u64, usize),
    x: &[Real<S>],
    mut each: impl FnMut(&[Real<S>]),
) -> Vec<Real<S>> {
    let mut random = Random(seed);
    let mut v = x.to_vec();
    v.extend((0..4).map(|_| (&x[0] * 0.5 + &x[1]).eval()));
    if seed % 2 == 0 {
        v.push(Real::from(0.25));
    }
    for _ in 0..n {
        let places @ [i, j, k] = [(); 3].map(|()| random.below(v.len()));
        if random.below(4) == 0 {
            shuffle(random.below(11), &mut v, places);
        } else {
            let mut t = std::mem::replace(&mut v[i], Real::from(0.5));
            let (which, long) = (random.below(18), random.below(4) == 0);
            let times = if long { random.below(20) } else { 1 };
            (0..times).for_each(|_| assign(which, &mut t, &v[j], &v[k]));
            v[i] = t;
        }
        if v[i].value().abs() > 4.0 || !v[i].value().is_finite() {
            v[i] = v[i].sin().into();
        }
        each(&v);
    }
    v
}

/// Values, gradients one by one and two at once, and tangents.
fn derivatives<S: Reverse<Value = f64>>(which: (u64, usize)) -> Vec<u64> {
    let mut tape = Tape::<S>::new();
    let (x, v) = tape.record(|scope| {
        let x = scope.inputs(&[0.3, 0.7, 1.1]);
        let v = program(which, &x, |_| {});
        (x, v)
    });
    let mut found: Vec<f64> = v.iter().map(Real::value).collect();
    for y in &v {
        found.extend(tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("in memory or on disk"));
    }
    for pair in v.windows(2) {
        let adjoints = tape.sweep_lanes::<2>(&[(&pair[0], [1.0, 0.0]), (&pair[1], [0.0, 1.0])]);
        let adjoints = adjoints.expect("in memory or on disk");
        found.extend(x.iter().flat_map(|x| adjoints.of(x).expect("an input")));
    }
    let outputs: Vec<&Real<S>> = v.iter().collect();
    x.iter().for_each(|x| found.extend(tape.jvp(&[(x, 1.0)], &outputs).expect("in memory or on disk")));
    found.iter().map(|number| (number + 0.0).to_bits()).collect() // −0 is 0
}

fn same<L: Reverse<Value = f64>, R: Reverse<Value = f64>>() {
    for seed in 1..60 {
        for n in [30, 200, if seed % 20 == 0 { 6000 } else { 100 }] {
            assert_eq!(derivatives::<L>((seed, n)), derivatives::<R>((seed, n)), "seed {seed}, {n} steps");
        }
    }
}

#[test]
fn derivatives_are_those_with_linear_indices() {
    same::<Hybrid, Hybrid<f64, Reuse, Spilled<FewPages>>>();
    #[cfg(feature = "wide")]
    same::<Continuation, Continuation<f64, Reuse>>();
}

#[test]
fn counted_programs_have_the_identifiers_of_recorded_ones() {
    /// The slots of all variables after each step, 0 for passive ones.
    fn slots<S: Reverse<Value = f64>>(which: (u64, usize)) -> Vec<usize> {
        let mut slots = Vec::new();
        Tape::<S>::new().record(|scope| {
            let x = scope.inputs(&[0.3, 0.7, 1.1]);
            let at = |variable: &Real<S>| S::locate(variable.id()).map_or(0, |(_, slot)| slot);
            program(which, &x, |v| slots.extend(v.iter().map(at)));
        });
        slots
    }
    fn holds<S: Reverse<Value = f64>>() {
        for seed in 1..60 {
            assert_eq!(slots::<S>((seed, 60)), slots::<Counting<f64, Reuse>>((seed, 60)), "seed {seed}");
        }
    }
    holds::<Hybrid<f64, Reuse, Spilled<FewPages>>>();
}
