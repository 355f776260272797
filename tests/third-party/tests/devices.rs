//! Devices: where arrays are, what is copied, and what happens when a device fails.

#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::current;
use tapewright::checkpoint::TimeLoop;
use tapewright::kernels::{Host, Space, View, parallel_for, parallel_sum};
use tapewright::policy::AllowedIn;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::variables::Variables;
use tapewright::{Checked, Error, Reverse, Subgradient, SweepError};
use tapewright_strategies::storage::StorageError;
use tapewright_third_party::remote::{CHANGING, COUNTING, FAILING, Remote};

/// Steps with a coefficient; Σ x² of the last state.
fn steps<S: Taping<Value = f64>, M: Space<f64>>(x: &View<S, 1, M>, k: &Real<S>, count: usize) -> Real<S> {
    let mut y = x.clone();
    for _ in 0..count {
        parallel_for(y.interior(1), (&mut y, k), |(y, k)| (y.at::<-1>() * y.at::<1>() + k * y.at::<0>(),));
    }
    parallel_sum(y.all(), &y, |y| y.at::<0>().square())
}

const START: [f64; 6] = [0.5, -0.25, 1.0, 0.125, -0.75, 2.0];

/// Value and gradient.
fn gradient<M: Space<f64>>(
    tape: &mut Tape<impl Reverse<Value = f64, Policy: AllowedIn<M>>>,
) -> Result<(f64, Vec<f64>), Error> {
    let (x, k, z) = tape.try_record(|scope| {
        let (x, k) = (scope.view([6], &START).in_space::<M>(), scope.input(0.3));
        let z = steps(&x, &k, 3);
        (x, k, z)
    })?;
    let adjoints = tape.sweep(&[(&z, 1.0)])?;
    let mut found = adjoints.of_view(&x)?.to_vec();
    found.push(adjoints.of(&k)?);
    Ok((z.value(), found))
}

#[test]
fn arrays_are_copied_when_the_other_side_needs_them() {
    let mut x = View::<Passive, 1>::new([6], &START).in_space::<Remote<1>>();
    let k = Real::constant(0.3);
    CHANGING.copied();
    let once = steps(&x, &k, 1).value();
    let [written, _] = CHANGING.copied();
    assert!(written >= 1, "the elements are needed there");
    // The elements are there already. What the host computes for this target comes back.
    assert_eq!(steps(&x, &k, 1).value().to_bits(), once.to_bits());
    x.fill_from(0.25);
    assert_eq!(x.values(), [0.25; 6]);
    let x = x.in_space::<Host>();
    assert_eq!(steps(&x, &k, 1).value(), {
        let y = View::<Passive, 1>::filled([6], 0.25);
        steps(&y, &k, 1).value()
    });
}

/// Steps in three memories in turn, with clones that stay behind; Σ of products across them.
fn mixed<M: Space<f64>, N: Space<f64>>() -> (u64, Vec<u64>) {
    let mut tape = Tape::<Jacobian>::new();
    let (x, k, z) = tape.record(|scope| {
        let (x, k) = (scope.view([6], &START), scope.input(0.3));
        let mut y = x.clone().in_space::<M>();
        parallel_for(y.interior(1), (&mut y, &k), |(y, k)| (y.at::<-1>() * y.at::<1>() + k * y.at::<0>(),));
        // The clone stays in the first memory, and the original goes on in another one.
        let (before, mut y) = (y.clone(), y.in_space::<N>());
        let first = x.clone().in_space::<N>();
        parallel_for(y.all(), (&mut y, &first), |(y, x)| (y.at::<0>() * x.at::<0>() - x.nearest::<1>(),));
        let after = y.in_space::<M>();
        let sum: Real<_> = parallel_sum(x.all(), (&before, &after), |(b, a)| b.at::<0>() * a.at::<0>());
        let again = parallel_sum(x.all(), (&x, &before.in_space::<Host>()), |(x, b)| x.at::<0>() * b.at::<0>());
        (x, k, Real::from(sum + again))
    });
    let mut found = Vec::new();
    for seed in [1.0, -0.5] {
        let adjoints = tape.sweep(&[(&z, seed)]).expect("swept");
        found.extend(adjoints.of_view(&x).expect("x").iter().map(|slope| slope.to_bits()));
        found.push(adjoints.of(&k).expect("k").to_bits());
    }
    (z.value().to_bits(), found)
}

#[test]
fn views_go_to_and_fro_between_memories() {
    let host = mixed::<Host, Host>();
    assert_eq!(mixed::<Remote<0>, Host>(), host);
    assert_eq!(mixed::<Host, Remote<1>>(), host);
    assert_eq!(mixed::<Remote<0>, Remote<1>>(), host);
    assert_eq!(mixed::<Remote<1>, Remote<0>>(), host);
}

/// xᵀAx, whose kernel gives one view two sums of adjoints.
fn form<M: Space<f64>>() -> Vec<u64> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, a, z) = tape.record(|scope| {
        let (x, a) =
            (scope.view([3], &START[..3]), scope.view([3, 3], &[1.5, -2.0, 0.5, 3.0, 0.25, 1.0, -1.0, 4.0, 2.0]));
        let (x, a) = (x.in_space::<M>(), a.in_space::<M>());
        let z =
            parallel_sum(a.all(), (x.along::<0>(), &a, x.along::<1>()), |(y, a, x)| y.at() * a.at::<0, 0>() * x.at());
        (x, a, z)
    });
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    let (of_x, of_a) = (adjoints.of_view(&x).expect("x"), adjoints.of_view(&a).expect("a"));
    of_x.iter().chain(&*of_a).map(|slope| slope.to_bits()).collect()
}

#[test]
fn one_view_may_get_two_sums_of_adjoints_from_a_launch() {
    assert_eq!(form::<Remote<0>>(), form::<Host>());
    assert_eq!(form::<Remote<1>>(), form::<Host>());
}

/// Bits of a state after steps against the gradient of its function, which stays in the space.
fn descended<M: Space<f64>>() -> Vec<u64> {
    let mut x = View::<Passive, 1>::new([6], &START).in_space::<M>();
    let mut tape = Tape::<Jacobian>::new();
    for _ in 0..5 {
        let (start, z) = tape.record(|scope| {
            let start = scope.view_from(&x);
            let z = steps(&start, &Real::constant(0.3), 2);
            (start, z)
        });
        let gradient = tape.sweep(&[(&z, 1.0)]).expect("swept").view_of(&start).expect("an input");
        parallel_for(x.all(), (&mut x, &gradient), |(x, g)| (x.at::<0>() - 0.125 * g.at::<0>(),));
    }
    x.values().iter().map(|x| x.to_bits()).collect()
}

/// A state of views in a space, and a variable.
struct Flow<S: Taping, M: Space<S::Value>> {
    height: View<S, 1, M>,
    speed: View<S, 1, M>,
    lost: Real<S>,
}
tapewright::variables!(Flow<S: Taping, M: Space<S::Value>> { height, speed, lost });

/// A step whose speed rubs along the ground.
fn flowed<S: Taping<Value = f64>, M: Space<f64>>(_: usize, friction: &Real<S>, state: &Flow<S, M>) -> Flow<S, M> {
    let (mut height, mut speed) = (state.height.clone(), state.speed.clone());
    parallel_for(height.all(), (&height, &mut speed, friction), |(h, u, k)| {
        (u.at::<0>() * (1.0 - k * u.at::<0>()) - 0.25 * (h.periodic::<1>() - h.periodic::<-1>()),)
    });
    parallel_for(speed.all(), (&speed, &mut height), |(u, h)| {
        (h.at::<0>() - 0.25 * (u.periodic::<1>() - u.periodic::<-1>()),)
    });
    let lost = parallel_sum(speed.all(), &speed, |u| u.at::<0>().square());
    Flow { height, speed, lost: (&state.lost + friction * lost).eval() }
}

/// Bits of the loss and its gradient, over a loop of steps with snapshots.
fn flow<M: Space<f64>>() -> Vec<u64> {
    let mut tape = Tape::<Jacobian>::new();
    let (start, k, lost) = tape.record(|scope| {
        let start = scope.view([6], &START).in_space::<M>();
        let (height, speed) = (start.clone(), View::<_, 1>::zeros([6]).in_space::<M>());
        let (k, state) = (scope.input(0.05), Flow { height, speed, lost: 0.0.into() });
        let steps = TimeLoop::<Jacobian>::new(Revolve::new(12, 3));
        let end = steps.run(&k, &state, flowed, flowed).expect("the loop runs");
        (start, k, end.lost)
    });
    let adjoints = tape.sweep(&[(&lost, 1.0)]).expect("swept");
    let slopes = adjoints.of_view(&start).expect("an input");
    let numbers = [lost.value(), adjoints.of(&k).expect("an input")];
    numbers.iter().chain(&*slopes).map(|number| number.to_bits()).collect()
}

#[test]
fn a_state_may_be_a_struct_of_views_in_any_space() {
    let host = flow::<Host>();
    assert_eq!(flow::<Remote<0>>(), host);
    assert_eq!(flow::<Remote<1>>(), host);
}

/// The types of collections do not say that the policy of another strategy allows their spaces, so launches do.
#[test]
fn views_that_collections_bring_under_another_policy_stay_on_the_device_as_constants_and_say_so() {
    fn launch<S: Reverse<Value = f64>, M: Space<f64>>(x: &View<Passive, 1, M>, is_active: bool) -> Vec<f64> {
        Tape::<S>::new().record(|scope| {
            let k = if is_active { scope.input(0.3) } else { Real::constant(0.3) };
            let mut y = Variables::<Passive>::map(x, &mut |x| Real::<S>::constant(x.value()));
            parallel_for(y.interior(1), (&mut y, &k), |(y, k)| (k * y.at::<-1>() * y.at::<1>(),));
            y.to_vec()
        })
    }
    let host = View::<Passive, 1>::new([6], &START);
    let x = host.clone().in_space::<Remote<1>>();
    let expected = launch::<Jacobian, _>(&host, true);
    assert_eq!(launch::<Jacobian, _>(&x, true), expected);
    assert_eq!(launch::<Checked<Jacobian>, _>(&x, false), expected);
    assert_eq!(launch::<Subgradient<Jacobian>, _>(&x, false), expected);
    for launch in [launch::<Checked<Jacobian>, _>, launch::<Subgradient<Jacobian>, _>] {
        let panic = catch_unwind(AssertUnwindSafe(|| launch(&x, true))).expect_err("it is refused");
        let words = panic.downcast_ref::<String>().expect("words");
        assert!(words.contains("under the policy `Strict` only") && words.contains("such as `Jacobian`"), "{words}");
    }
}

#[test]
fn states_and_gradients_may_stay_on_a_device() {
    let host = descended::<Host>();
    assert_eq!(descended::<Remote<0>>(), host);
    assert_eq!(descended::<Remote<1>>(), host);
    let mut x = View::<Passive, 1>::new([6], &START).in_space::<Remote<3>>();
    parallel_for(x.all(), &mut x, |x| (-x.at::<0>(),));
    let mut tape = Tape::<Jacobian>::new();
    COUNTING.copied();
    let (start, y) = tape.record(|scope| {
        let start = scope.view_from(&x);
        assert_eq!(COUNTING.copied(), [0, 0], "the elements are there");
        let mut y = start.clone();
        parallel_for(y.interior(1), &mut y, |y| (y.at::<-1>() * y.at::<1>(),));
        (start, parallel_sum(y.all(), &y, |y| y.at::<0>().square()))
    });
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
    COUNTING.copied();
    let gradient = adjoints.view_of(&start).expect("an input");
    assert_eq!(COUNTING.copied(), [0, 0], "the adjoints are there");
    assert_eq!(*gradient.values(), *adjoints.of_view(&start).expect("an input"));
    assert!(!gradient.is_active() && gradient.shape() == [6]);
    // Of a passive view and of one that nothing depends on.
    assert_eq!(adjoints.view_of(&View::<_, 1>::zeros([2])).expect("passive").values(), [0.0; 2]);
    let elsewhere = Tape::<Jacobian>::new().record(|scope| scope.view([6], &START));
    assert!(matches!(adjoints.view_of(&elsewhere), Err(Error::ForeignVariable { .. })));
}

#[test]
fn two_threads_may_use_an_array_in_two_memories() {
    let x = View::<Passive, 1>::new([6], &START);
    let expected = steps(&x, &Real::constant(0.3), 2).value().to_bits();
    for _ in 0..20 {
        let x = View::<Passive, 1>::new([6], &START);
        std::thread::scope(|scope| {
            let (a, b) = (x.clone().in_space::<Remote<0>>(), x.clone().in_space::<Remote<1>>());
            let first = scope.spawn(move || steps(&a, &Real::constant(0.3), 2).value().to_bits());
            assert_eq!(steps(&b, &Real::constant(0.3), 2).value().to_bits(), expected);
            assert_eq!(first.join().expect("no panic"), expected);
        });
    }
}

/// Fills a view.
trait Filled {
    fn fill_from(&mut self, number: f64);
}
impl<M: Space<f64>> Filled for View<Passive, 1, M> {
    fn fill_from(&mut self, number: f64) {
        parallel_for(self.all(), &mut *self, |x| (0.0 * x.at::<0>() + number,));
    }
}

/// Number of panics of this thread that are reported while a function runs.
fn reports(of: impl FnOnce()) -> usize {
    static REPORTS: AtomicUsize = AtomicUsize::new(0);
    let (before, thread) = (Arc::new(take_hook()), current().id());
    let others = Arc::clone(&before);
    set_hook(Box::new(move |panic| {
        if current().id() == thread {
            REPORTS.fetch_add(1, Ordering::Relaxed);
        } else {
            others(panic);
        }
    }));
    of();
    set_hook(Box::new(move |panic| before(panic)));
    REPORTS.swap(0, Ordering::Relaxed)
}

#[test]
fn a_device_that_fails_is_an_error_and_nothing_is_lost() {
    assert_eq!(reports(fails_and_goes_on), 0, "errors are returned, and panics not reported");
    // Without a caller that returns errors it is a panic, as others are.
    FAILING.fail_after(0);
    let launch = || steps(&View::<Passive, 1>::new([6], &START).in_space::<Remote<2>>(), &Real::constant(0.3), 1);
    assert_eq!(reports(|| assert!(catch_unwind(AssertUnwindSafe(launch)).is_err())), 1);
    FAILING.fail_after(usize::MAX);
}

fn fails_and_goes_on() {
    let expected = gradient::<Host>(&mut Tape::<Jacobian>::new()).expect("the host");
    let mut tape = Tape::<Jacobian>::new();
    let mut failed = 0;
    for operations in 0.. {
        FAILING.fail_after(operations);
        match gradient::<Remote<2>>(&mut tape) {
            Err(
                Error::Storage(StorageError::Device { reason, .. })
                | Error::Sweep(SweepError::Storage(StorageError::Device { reason, .. })),
            ) => {
                assert!(reason.contains("remote memory") && reason.contains("told to fail"), "{reason}");
                failed += 1;
            }
            Err(other) => panic!("{other}"),
            Ok(found) => {
                assert_eq!(found, expected);
                break;
            }
        }
    }
    assert!(failed > 10, "{failed} operations");
    // A sweep that has failed can be repeated.
    FAILING.fail_after(usize::MAX);
    let (x, z) = tape.record(|scope| {
        let x = scope.view([6], &START).in_space::<Remote<2>>();
        let z = steps(&x, &Real::constant(0.3), 3);
        (x, z)
    });
    FAILING.fail_after(0);
    let error = tape.sweep(&[(&z, 1.0)]).map(drop).expect_err("the memory fails");
    assert!(error.to_string().contains("told to fail"), "{error}");
    FAILING.fail_after(usize::MAX);
    assert_eq!(*tape.sweep(&[(&z, 1.0)]).expect("swept").of_view(&x).expect("x"), expected.1[..6]);
    // Values after a replay are computed when they are asked for.
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.view([6], &START).in_space::<Remote<2>>();
        let mut y = x.clone();
        parallel_for(y.all(), &mut y, |y| (2.0 * y.at::<0>(),));
        (x, y)
    });
    let inputs = tape.new_inputs().view(&x, &[1.0; 6]).expect("as many elements");
    inputs.replay().expect("replayed");
    FAILING.fail_after(0);
    let error = tape.values_of_view(&y).map(drop).expect_err("the memory fails");
    assert!(error.to_string().contains("told to fail"), "{error}");
    FAILING.fail_after(usize::MAX);
    assert_eq!(*tape.values_of_view(&y).expect("values"), [2.0; 6]);
}

#[cfg(feature = "opencl")]
mod opencl {
    use super::{START, gradient, steps};
    use tapewright::Traced;
    use tapewright::kernels::devices::{DeviceError, DeviceKind, DeviceSpace, OpenCl};
    use tapewright::kernels::{Host, View, parallel_for, parallel_max_at, parallel_row_sums, parallel_sum};
    use tapewright::prelude::*;

    #[test]
    fn gradients_have_the_bits_of_the_host() {
        let host = gradient::<Host>(&mut Tape::<Jacobian>::new()).expect("the host");
        assert_eq!(gradient::<OpenCl>(&mut Tape::<Jacobian>::new()).expect("a device"), host);
        assert_eq!(gradient::<OpenCl>(&mut Tape::<Traced<Jacobian>>::new()).expect("a device"), host);
    }

    #[test]
    fn devices_are_listed_and_chosen() {
        let all = OpenCl::devices().expect("a driver");
        assert!(!all.is_empty() && all[0].memory > 0 && !all[0].name.is_empty(), "{all:?}");
        let DeviceError::NotFound { wanted, found } = OpenCl::select("abacus").expect_err("none") else {
            panic!("another error")
        };
        assert_eq!((&*wanted, found.len()), ("abacus", all.len()));
        let selected = OpenCl::selected().expect("a device");
        assert!(all.contains(&selected));
        let number = all.iter().position(|device| *device == selected).expect("it is listed");
        assert_eq!(OpenCl::select(&number.to_string()).expect("the same"), selected);
        let kinds = [DeviceKind::Processor, DeviceKind::Graphics, DeviceKind::Accelerator];
        for (name, kind) in ["cpu", "gpu", "accelerator"].into_iter().zip(kinds) {
            match OpenCl::select(name) {
                Ok(found) => assert_eq!(found.kind, kind),
                Err(DeviceError::NotFound { .. }) => assert!(all.iter().all(|device| device.kind != kind), "{name}"),
                Err(error) => assert!(matches!(error, DeviceError::Selected { .. }), "{error}"),
            }
        }
        // A number is no part of a name, which may have digits.
        assert!(matches!(OpenCl::select("4096"), Err(DeviceError::NotFound { .. })));
    }

    #[test]
    fn views_go_to_and_fro_between_a_device_and_the_host() {
        assert_eq!(super::descended::<OpenCl>(), super::descended::<Host>());
        let host = super::mixed::<Host, Host>();
        assert_eq!(super::mixed::<OpenCl, Host>(), host);
        assert_eq!(super::mixed::<Host, OpenCl>(), host);
        assert_eq!(super::form::<OpenCl>(), super::form::<Host>());
    }

    #[test]
    fn a_function_without_a_formula_is_refused_by_name() {
        let error = Tape::<Jacobian>::new()
            .try_record(|scope| {
                let mut x = scope.view([6], &START).in_space::<OpenCl>();
                parallel_for(x.all(), &mut x, |x| (x.at::<0>().digamma(),));
            })
            .expect_err("no formula");
        let message = error.to_string();
        assert!(message.contains("Digamma") && message.contains("in_space::<Host>()"), "{message}");
    }

    #[test]
    fn drivers_return_what_a_device_refuses() {
        let mut gradient = [0.0; 6];
        let digamma = |x: &[Real<Jacobian>]| {
            let mut view = View::of_variables([6], x).in_space::<OpenCl>();
            parallel_for(view.all(), &mut view, |x| (x.at::<0>().digamma(),));
            Real::from(parallel_sum(view.all(), &view, |x| x.at::<0>()))
        };
        let error = Tape::new().gradient(digamma, &START, &mut gradient).expect_err("no formula");
        assert!(error.to_string().contains("Digamma"), "{error}");
    }

    #[test]
    fn nothing_is_compiled_twice() {
        let run = |n: usize, factor: f64| {
            let x = View::<Passive, 1>::filled([n], factor).in_space::<OpenCl>();
            let mut y = x.clone();
            parallel_for(1..n, (&mut y, &x), |(y, x)| (factor * x.at::<-1>() + 11.5 * y.at::<0>(),));
            parallel_sum(y.all(), &y, |y| factor * y.at::<0>()).value()
        };
        run(10, 1.5);
        let before = OpenCl::compiled_programs().expect("a device");
        for k in 0..200_u32 {
            let (n, factor) = (2 + 25 * usize::try_from(k).expect("small"), 0.5 + f64::from(k) / 64.0);
            let expected = factor_by_hand(n, factor);
            assert!((run(n, factor) - expected).abs() <= 1e-12 * expected);
        }
        // Other tests compile a few kernels at the same time.
        assert!(OpenCl::compiled_programs().expect("a device") < before + 100);
    }

    fn factor_by_hand(n: usize, factor: f64) -> f64 {
        let inner = factor * factor + 11.5 * factor;
        factor * (factor + inner * (f64::from(u32::try_from(n).expect("small")) - 1.0))
    }

    #[test]
    fn states_stay_on_the_device() {
        let x = View::<Passive, 1>::filled([100_000], 0.5).in_space::<OpenCl>();
        let value = steps(&x, &Real::constant(0.3), 4).value();
        assert!(OpenCl::memory_use().expect("a device").peak >= 2 * 800_000, "two states");
        assert_eq!(value.to_bits(), steps(&x.in_space::<Host>(), &Real::constant(0.3), 4).value().to_bits());
    }

    #[test]
    fn extrema_and_sums_of_rows_have_the_places_and_the_bits_of_the_host() {
        let numbers: Vec<f64> = (0..3 * 9000_u32).map(|k| f64::from(k * 7919 % 10_007) / 64.0).collect();
        let host = View::<Passive, 2>::new([3, 9000], &numbers);
        let there = host.clone().in_space::<OpenCl>();
        let (largest, place) = parallel_max_at(host.all(), &host, |x| x.at::<0, 0>());
        let (found, at) = parallel_max_at(there.all(), &there, |x| x.at::<0, 0>());
        assert_eq!((found.value(), at), (largest.value(), place));
        let sums: View<Passive, 1> = parallel_row_sums([0..3, 1..9000], &host, |x| x.at::<0, -1>() * x.at::<0, 0>());
        let found: View<Passive, 1, OpenCl> =
            parallel_row_sums([0..3, 1..9000], &there, |x| x.at::<0, -1>() * x.at::<0, 0>());
        assert_eq!(found.values(), sums.values());
    }
}
