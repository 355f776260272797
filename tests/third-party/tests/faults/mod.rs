//! Failures of devices: a stand-in for a library that is told where to fail, and a program that meets the failures.

use core::ffi::{CStr, c_char, c_int};
use libloading::Library;
use std::ffi::{CString, OsStr};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use tapewright::kernels::devices::DeviceSpace;
use tapewright::kernels::{Host, Space, View, parallel_for, parallel_max, parallel_sum};
use tapewright::policy::AllowedIn;
use tapewright::prelude::*;
use tapewright::{Error, SweepError};
use tapewright_strategies::storage::StorageError;

/// The stand-in, used by one test at a time.
pub(crate) struct StandIn {
    fail: unsafe extern "C" fn(*const c_char, c_int, c_int),
    _alone: MutexGuard<'static, ()>,
}

impl StandIn {
    /// Returns the stand-in that this library is, if it is one.
    pub(crate) fn of(library: impl AsRef<OsStr>) -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        static LIBRARY: LazyLock<Mutex<Option<&'static Library>>> = LazyLock::new(Mutex::default);
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.is_none() {
            // SAFETY: loading the library of a driver does nothing else.
            *loaded = unsafe { Library::new(library.as_ref()) }.ok().map(|library| &*Box::leak(Box::new(library)));
        }
        // SAFETY: only stand-ins have a function of this name, which takes these arguments.
        let fail = unsafe { (*loaded)?.get(b"tapewright_fail") }.ok()?;
        let stand_in = Self { fail: *fail, _alone: alone };
        stand_in.works();
        Some(stand_in)
    }

    /// Lets the nth call of a function fail, counted from now; -nth that one and those that follow.
    pub(crate) fn fails(&self, function: &CStr, nth: c_int, code: c_int) {
        // SAFETY: the string is copied.
        unsafe { (self.fail)(function.as_ptr(), nth, code) }
    }

    /// Ends all failures.
    pub(crate) fn works(&self) {
        self.fails(c"", 0, 0);
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.works();
    }
}

pub(crate) const START: [f64; 6] = [0.5, -0.25, 1.0, 0.125, -0.75, 2.0];

/// Two steps with a coefficient, and a product with numbers of the host; Σ x² of the last state, plus its largest value.
pub(crate) fn steps<S: Taping<Value = f64, Policy: AllowedIn<M>>, M: Space<f64>>(
    x: &View<S, 1, M>,
    k: &Real<S>,
) -> Real<S> {
    let mut y = x.clone();
    for _ in 0..2 {
        parallel_for(y.interior(1), (&mut y, k), |(y, k)| (y.at::<-1>() * y.at::<1>() + k * y.at::<0>(),));
    }
    let weights = View::filled([6], 1.5).in_space::<M>();
    parallel_for(y.all(), (&mut y, &weights), |(y, weights)| (y.at::<0>() * weights.at::<0>(),));
    let largest = parallel_max(y.all(), &y, |y| y.at::<0>());
    (largest + parallel_sum(y.all(), &y, |y| y.at::<0>().square())).into()
}

/// Value and gradient.
pub(crate) fn gradient<M: Space<f64>>(tape: &mut Tape<Jacobian>) -> Result<(f64, Vec<f64>), Error> {
    let (x, k, z) = tape.try_record(|scope| {
        let (x, k) = (scope.view([6], &START).in_space::<M>(), scope.input(0.3));
        let z = steps(&x, &k);
        (x, k, z)
    })?;
    let adjoints = tape.sweep(&[(&z, 1.0)])?;
    let mut found = adjoints.of_view(&x)?.to_vec();
    found.push(adjoints.of(&k)?);
    Ok((z.value(), found))
}

/// The words of a failure of the device.
pub(crate) fn reason(error: Error) -> String {
    match error {
        Error::Storage(StorageError::Device { reason, .. })
        | Error::Sweep(SweepError::Storage(StorageError::Device { reason, .. })) => reason,
        other => panic!("{other}"),
    }
}

/// Bytes of arrays on the device.
pub(crate) fn used<M: DeviceSpace>() -> usize {
    M::memory_use().expect("a device").used
}

/// A failure of a function.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) function: &'static CStr,
    pub(crate) code: c_int,
    /// True for allocations. Calls go on to fail, since memory that is short for one array is had by moving others to
    /// the host; and each try has a tape of its own, since a tape keeps its arrays.
    pub(crate) goes_on: bool,
    /// Words of the error.
    pub(crate) words: &'static str,
}

/// Fails at one call after the other of a function until there are no more of them, and returns how often.
pub(crate) fn fails_everywhere<M: DeviceSpace>(stand_in: &StandIn, fault: Fault) -> usize {
    let Fault { function, code, goes_on, words } = fault;
    let expected = gradient::<Host>(&mut Tape::new()).expect("the host");
    let device = M::selected().expect("a device").name;
    let mut tape = Tape::<Jacobian>::new();
    for nth in 1.. {
        if goes_on {
            tape = Tape::new();
        }
        stand_in.fails(function, if goes_on { -nth } else { nth }, code);
        let found = gradient::<M>(&mut tape);
        stand_in.works();
        match found {
            Err(error) => {
                let reason = reason(error);
                assert!(reason.contains(&device) && reason.contains(words), "{function:?} {nth}: {reason}");
            }
            Ok(found) => {
                assert_eq!(found, expected);
                drop(tape);
                assert_eq!(used::<M>(), 0, "{function:?}");
                return usize::try_from(nth).expect("positive") - 1;
            }
        }
        // The tape can be used at once.
        assert_eq!(gradient::<M>(&mut tape).expect("it works"), expected, "{function:?} {nth}");
    }
    unreachable!("a program has an end")
}

/// Lets sweeps fail at the first calls of functions, with these codes, and repeats them.
pub(crate) fn sweeps_are_repeated<M: DeviceSpace>(stand_in: &StandIn, faults: &[(&CStr, c_int)]) {
    let (_, expected) = gradient::<Host>(&mut Tape::new()).expect("the host");
    let device = M::selected().expect("a device").name;
    for (function, code) in faults {
        for nth in 1..4 {
            // The first sweep of a tape allocates its arrays.
            let mut tape = Tape::<Jacobian>::new();
            let (x, k, z) = tape.record(|scope| {
                let (x, k) = (scope.view([6], &START).in_space::<M>(), scope.input(0.3));
                let z = steps(&x, &k);
                (x, k, z)
            });
            stand_in.fails(function, -nth, *code);
            let found = tape.sweep(&[(&z, 1.0)]).and_then(|adjoints| adjoints.of(&k));
            stand_in.works();
            match found {
                Err(error) => assert!(reason(error).contains(&device)),
                Ok(_) => assert!(nth > 1, "{function:?} is called"),
            }
            let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
            assert_eq!(*adjoints.of_view(&x).expect("x"), expected[..6], "{function:?} {nth}");
            assert_eq!(adjoints.of(&k).expect("k"), expected[6]);
        }
    }
}

/// Loses the device at the second call of a function, and has it back later.
pub(crate) fn lost_and_back<M: DeviceSpace>(stand_in: &StandIn, fault: Fault) {
    let expected = gradient::<Host>(&mut Tape::new()).expect("the host");
    let mut tape = Tape::<Jacobian>::new();
    stand_in.fails(fault.function, 2, fault.code);
    for _ in 0..3 {
        let reason = reason(gradient::<M>(&mut tape).expect_err("it is lost"));
        assert!(reason.contains(fault.words) && reason.contains("`clinfo` or `nvidia-smi`"), "{reason}");
        // The host goes on.
        assert_eq!(gradient::<Host>(&mut tape).expect("the host"), expected);
    }
    stand_in.works();
    assert_eq!(gradient::<M>(&mut tape).expect("it works"), expected);
}

/// What another process finds that runs the test `a_first_use` with these variables of its environment, where a
/// function fails.
pub(crate) fn first_use(variables: &[(&str, &str)], function: &str, code: c_int) -> String {
    let mut child = Command::new(std::env::current_exe().expect("a program"));
    child.args(["--exact", "a_first_use", "--ignored", "--nocapture"]);
    child.envs(variables.iter().copied()).env("FAILS", function).env("CODE", code.to_string());
    String::from_utf8_lossy(&child.output().expect("a process").stdout).into_owned()
}

/// Uses a space for the first time in a process, and prints what it finds.
pub(crate) fn use_first<M: DeviceSpace>(stand_in: Option<&StandIn>) {
    if let Some(stand_in) = stand_in {
        let code = std::env::var("CODE").ok().and_then(|code| code.parse().ok()).expect("a code");
        let function = std::env::var("FAILS").expect("a function");
        stand_in.fails(&CString::new(function).expect("no zero byte"), 1, code);
    }
    for result in [M::devices().map(drop), M::selected().map(drop)] {
        println!("{}", result.map_or_else(|error| format!("{error:?}"), |()| String::from("a device")));
    }
    if M::selected().is_ok() {
        let expected = gradient::<Host>(&mut Tape::new()).expect("the host");
        match gradient::<M>(&mut Tape::new()) {
            Ok(found) => println!("the gradient of the host: {}", found == expected),
            Err(error) => println!("{error}"),
        }
    }
}
