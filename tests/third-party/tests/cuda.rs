//! Failures of a CUDA device, made by the stand-in of its libraries (`stand-in/cuda.cpp`).
//!
//! Nothing happens unless the stand-in is found where libraries are looked for (`LD_LIBRARY_PATH`).
#![cfg(feature = "cuda")]
#![allow(unsafe_code, reason = "the stand-in is told when to fail")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use core::ffi::{CStr, c_char, c_int};
use libloading::Library;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use tapewright::kernels::devices::{Cuda, DeviceSpace};
use tapewright::kernels::{Host, Space, View, parallel_for, parallel_max, parallel_row_sums, parallel_sum};
use tapewright::prelude::*;
use tapewright::{Error, SweepError};
use tapewright_strategies::storage::StorageError;

const NO_DEVICE: c_int = 100;
const OUT_OF_MEMORY: c_int = 2;
const ILLEGAL_ADDRESS: c_int = 700;
const UNKNOWN: c_int = 999;

/// The stand-in, used by one test at a time, and where it is.
struct StandIn {
    fail: unsafe extern "C" fn(*const c_char, c_int, c_int),
    _alone: MutexGuard<'static, ()>,
}

impl StandIn {
    /// Returns the stand-in, if it is there.
    fn new() -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        static LIBRARY: LazyLock<Option<Library>> = LazyLock::new(|| {
            // SAFETY: loading the library of a driver does nothing else.
            unsafe { Library::new("libcuda.so") }.ok()
        });
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: only the stand-in has a function of this name, which takes these arguments.
        let fail = unsafe { LIBRARY.as_ref()?.get(b"tapewright_fail") }.ok()?;
        let stand_in = Self { fail: *fail, _alone: alone };
        stand_in.works();
        Some(stand_in)
    }

    /// Lets the nth call of a function fail, counted from now; -nth that one and those that follow.
    fn fails(&self, function: &CStr, nth: c_int, code: c_int) {
        // SAFETY: the string is copied.
        unsafe { (self.fail)(function.as_ptr(), nth, code) }
    }

    /// Ends all failures.
    fn works(&self) {
        self.fails(c"", 0, 0);
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.works();
    }
}

const START: [f64; 6] = [0.5, -0.25, 1.0, 0.125, -0.75, 2.0];

/// Two steps with a coefficient, and a coefficient on the host; Σ x² of the last state, plus its largest value.
fn steps<S: Taping<Value = f64>, M: Space<f64>>(x: &View<S, 1, M>, k: &Real<S>) -> Real<S> {
    let mut y = x.clone();
    for _ in 0..2 {
        parallel_for(y.interior(1), (&mut y, k), |(y, k)| (y.at::<-1>() * y.at::<1>() + k * y.at::<0>(),));
    }
    let largest = parallel_max(y.all(), &y, |y| y.at::<0>());
    (largest + parallel_sum(y.all(), &y, |y| y.at::<0>().square())).into()
}

/// Value and gradient.
fn gradient<M: Space<f64>>(tape: &mut Tape<Jacobian>) -> Result<(f64, Vec<f64>), Error> {
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
fn reason(error: Error) -> String {
    match error {
        Error::Storage(StorageError::Device { reason, .. })
        | Error::Sweep(SweepError::Storage(StorageError::Device { reason, .. })) => reason,
        other => panic!("{other}"),
    }
}

fn used() -> usize {
    Cuda::memory_use().expect("a device").used
}

/// Fails at one call after the other of a function until there are no more of them, and returns how often.
fn fails_everywhere(stand_in: &StandIn, function: &CStr, code: c_int, words: &str) -> usize {
    let expected = gradient::<Host>(&mut Tape::new()).expect("the host");
    let mut tape = Tape::<Jacobian>::new();
    for nth in 1.. {
        // Memory that is short for one array is had by moving others to the host.
        stand_in.fails(function, if code == OUT_OF_MEMORY { -nth } else { nth }, code);
        let found = gradient::<Cuda>(&mut tape);
        stand_in.works();
        match found {
            Err(error) => {
                let reason = reason(error);
                assert!(
                    reason.contains("stand-in for a card") && reason.contains(words),
                    "{function:?} {nth}: {reason}"
                );
            }
            Ok(found) => {
                assert_eq!(found, expected);
                drop(tape);
                assert_eq!(used(), 0, "{function:?}");
                return usize::try_from(nth).expect("positive") - 1;
            }
        }
        // The tape can be used at once.
        assert_eq!(gradient::<Cuda>(&mut tape).expect("it works"), expected, "{function:?} {nth}");
    }
    unreachable!("a program has an end")
}

#[test]
fn every_call_of_the_driver_may_fail() {
    let Some(stand_in) = StandIn::new() else { return };
    for (function, code, words) in [
        (c"cuMemAlloc_v2", OUT_OF_MEMORY, "no memory for an array of"),
        (c"cuMemAlloc_v2", UNKNOWN, "cannot be allocated"),
        (c"cuMemcpyHtoD_v2", ILLEGAL_ADDRESS, "cannot be written"),
        (c"cuMemcpyDtoH_v2", ILLEGAL_ADDRESS, "cannot be read"),
        (c"cuLaunchKernel", ILLEGAL_ADDRESS, "cannot be run"),
    ] {
        let count = fails_everywhere(&stand_in, function, code, words);
        assert!(count >= 3, "{function:?} is called {count} times");
    }
    // Before an array is freed, too, where an error is no error of the program.
    assert!(fails_everywhere(&stand_in, c"cuCtxSetCurrent", 201, "its context has gone") > 10);
}

#[test]
fn a_kernel_that_cannot_be_compiled_or_loaded_is_compiled_by_the_next_launch() {
    /// A kernel for each function that fails, which no other test has.
    fn launch<M: Space<f64>>(kernel: usize) -> Result<Vec<f64>, Error> {
        let mut tape = Tape::<Jacobian>::new();
        let (x, z) = tape.try_record(|scope| {
            let x = scope.view([6], &START).in_space::<M>();
            let mut y = x.clone();
            match kernel {
                0 => parallel_for(y.all(), &mut y, |y| (y.at::<0>() * 2.0 - 1.0 / y.at::<0>(),)),
                1 => parallel_for(y.all(), &mut y, |y| (y.at::<0>() * 2.0 - 2.0 / y.at::<0>() + 1.0,)),
                2 => parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>() - 2.0 / y.at::<0>() + 1.0,)),
                _ => parallel_for(y.all(), &mut y, |y| (y.at::<0>() / y.at::<0>() - 2.0 / y.at::<0>() + 1.0,)),
            }
            (x, Real::from(parallel_sum(y.all(), &y, |y| y.at::<0>() * y.at::<0>())))
        })?;
        Ok(tape.sweep(&[(&z, 1.0)])?.of_view(&x)?.to_vec())
    }
    let Some(stand_in) = StandIn::new() else { return };
    for (kernel, (function, code, words)) in [
        (c"nvrtcCreateProgram", 1, ["NVRTC has failed", "NVRTC_ERROR_OUT_OF_MEMORY"]),
        (c"nvrtcCompileProgram", 6, ["refuses a kernel:\ntold to fail", "extern \"C\" __global__ void"]),
        (c"cuModuleLoadData", 218, ["a program cannot be loaded", "218"]),
        (c"cuModuleGetFunction", 500, ["was not found", "500"]),
    ]
    .into_iter()
    .enumerate()
    {
        stand_in.fails(function, 1, code);
        let reason = reason(launch::<Cuda>(kernel).expect_err("it fails"));
        assert!(words.iter().all(|word| reason.contains(word)), "{function:?}: {reason}");
        let host = launch::<Host>(kernel).expect("the host");
        assert_eq!(launch::<Cuda>(kernel).expect("it works"), host);
    }
    assert_eq!(used(), 0);
}

#[test]
fn a_sweep_that_has_failed_can_be_repeated() {
    let Some(stand_in) = StandIn::new() else { return };
    let mut tape = Tape::<Jacobian>::new();
    let (x, k, z) = tape.record(|scope| {
        let (x, k) = (scope.view([6], &START).in_space::<Cuda>(), scope.input(0.3));
        let z = steps(&x, &k);
        (x, k, z)
    });
    let (_, expected) = gradient::<Host>(&mut Tape::new()).expect("the host");
    for (function, code) in [
        (c"cuLaunchKernel", 719),
        (c"cuMemAlloc_v2", OUT_OF_MEMORY),
        (c"cuMemcpyDtoH_v2", UNKNOWN),
        (c"cuCtxSetCurrent", 201),
    ] {
        for nth in 1..4 {
            stand_in.fails(function, -nth, code);
            let found = tape.sweep(&[(&z, 1.0)]).and_then(|adjoints| adjoints.of(&k));
            stand_in.works();
            if let Err(error) = found {
                assert!(reason(error).contains("stand-in for a card"));
            } else {
                assert!(nth > 1, "{function:?} is called");
            }
            let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
            assert_eq!(*adjoints.of_view(&x).expect("x"), expected[..6], "{function:?} {nth}");
            assert_eq!(adjoints.of(&k).expect("k"), expected[6]);
        }
    }
}

#[test]
fn a_replay_that_has_failed_can_be_repeated() {
    let Some(stand_in) = StandIn::new() else { return };
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.view([6], &START).in_space::<Cuda>();
        let mut y = x.clone();
        parallel_for(y.all(), &mut y, |y| (2.0 * y.at::<0>(),));
        (x, y)
    });
    for (numbers, function) in [(3.0, c"cuMemcpyDtoH_v2"), (4.0, c"cuLaunchKernel"), (5.0, c"cuMemcpyHtoD_v2")] {
        stand_in.fails(function, 1, ILLEGAL_ADDRESS);
        let replayed = tape.new_inputs().view(&x, &[numbers; 6]).expect("as many elements").replay();
        let found = replayed.and_then(|()| tape.values_of_view(&y).map(drop));
        assert!(reason(found.expect_err("it fails")).contains("stand-in for a card"), "{function:?}");
        stand_in.works();
        tape.new_inputs().view(&x, &[numbers; 6]).expect("as many elements").replay().expect("replayed");
        assert_eq!(*tape.values_of_view(&y).expect("values"), [2.0 * numbers; 6]);
    }
}

#[test]
fn a_device_that_is_lost_fails_until_it_is_back() {
    let Some(stand_in) = StandIn::new() else { return };
    let expected = gradient::<Host>(&mut Tape::new()).expect("the host");
    let mut tape = Tape::<Jacobian>::new();
    stand_in.fails(c"cuLaunchKernel", 2, ILLEGAL_ADDRESS);
    for _ in 0..3 {
        let reason = reason(gradient::<Cuda>(&mut tape).expect_err("it is lost"));
        assert!(reason.contains("700") && reason.contains("`nvidia-smi`"), "{reason}");
        // The host goes on.
        assert_eq!(gradient::<Host>(&mut tape).expect("the host"), expected);
    }
    stand_in.works();
    assert_eq!(gradient::<Cuda>(&mut tape).expect("it works"), expected);
}

#[test]
fn sums_of_rows_and_single_precision_have_the_bits_of_the_host() {
    let Some(_stand_in) = StandIn::new() else { return };
    let numbers: Vec<f32> = (0..3 * 9000_u16).map(|k| f32::from(k % 1009) / 64.0 - 7.0).collect();
    let host = View::<Passive<f32>, 2>::new([3, 9000], &numbers);
    let there = host.clone().in_space::<Cuda>();
    let sums: View<Passive<f32>, 1> = parallel_row_sums(host.all(), &host, |x| x.at::<0, 0>() / (x.at::<0, 0>() - 3.3));
    let found: View<Passive<f32>, 1, Cuda> =
        parallel_row_sums(there.all(), &there, |x| x.at::<0, 0>() / (x.at::<0, 0>() - 3.3));
    assert_eq!(found.values(), sums.values());
}

/// What another process finds that uses CUDA for the first time, with libraries from this folder, and where a function
/// fails.
fn first_use(libraries: &str, function: &str, code: c_int) -> String {
    let mut child = Command::new(std::env::current_exe().expect("a program"));
    child.args(["--exact", "a_first_use", "--ignored", "--nocapture"]);
    child.env("LD_LIBRARY_PATH", libraries).env("FAILS", function).env("CODE", code.to_string());
    String::from_utf8_lossy(&child.output().expect("a process").stdout).into_owned()
}

#[test]
#[ignore = "run by the tests of what is not there"]
fn a_first_use() {
    let stand_in = StandIn::new();
    if let Some(stand_in) = &stand_in {
        let code = std::env::var("CODE").ok().and_then(|code| code.parse().ok()).expect("a code");
        let function = std::env::var("FAILS").expect("a function");
        stand_in.fails(&std::ffi::CString::new(function).expect("no zero byte"), 1, code);
    }
    for result in [Cuda::devices().map(drop), Cuda::selected().map(drop)] {
        println!("{}", result.map_or_else(|error| format!("{error:?}"), |()| String::from("a device")));
    }
}

#[test]
fn what_is_not_there_is_named() {
    let Some(_stand_in) = StandIn::new() else { return };
    let libraries = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    for (function, code, words) in [
        ("cuInit", NO_DEVICE, "the driver does not start (DriverError(CUDA_ERROR_NO_DEVICE"),
        ("cuDeviceGetCount", UNKNOWN, "the driver lists no devices"),
        ("cuDeviceGetName", UNKNOWN, "device 0 does not answer"),
        ("cuDeviceTotalMem_v2", UNKNOWN, "device 0 does not answer"),
    ] {
        let found = first_use(&libraries, function, code);
        assert!(found.contains("NoDevice") && found.contains(words), "{function}: {found}");
        // The next try works.
        assert!(found.contains("a device"), "{function}: {found}");
    }
    for (function, code) in [("cuDeviceGetAttribute", UNKNOWN), ("cuDevicePrimaryCtxRetain", OUT_OF_MEMORY)] {
        let found = first_use(&libraries, function, code);
        assert!(found.contains("Failed") && found.contains("a context cannot be made"), "{function}: {found}");
    }
    let found = first_use("", "", 0);
    assert!(found.contains("the driver's library `cuda` was not found") && found.contains("install"), "{found}");
}

#[test]
fn a_driver_without_the_compiler_is_not_enough() {
    let Some(_stand_in) = StandIn::new() else { return };
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let driver = std::env::split_paths(&libraries).map(|folder| folder.join("libcuda.so")).find(|path| path.exists());
    let folder: PathBuf = std::env::temp_dir().join(format!("tapewright-driver-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(driver.expect("the stand-in"), folder.join("libcuda.so")).expect("a copy");
    let found = first_use(folder.to_str().expect("a name"), "", 0);
    std::fs::remove_dir_all(&folder).expect("no folder");
    assert!(found.contains("the compiler's library `nvrtc` was not found"), "{found}");
}
