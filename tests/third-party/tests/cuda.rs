//! Failures of a CUDA device, made by the stand-in of its libraries (`stand-in/cuda.cpp`).
//!
//! Nothing happens unless the stand-in is found where libraries are looked for (`LD_LIBRARY_PATH`).
#![cfg(feature = "cuda")]
#![allow(unsafe_code, reason = "the stand-in is told when to fail")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

mod faults;

use core::ffi::c_int;
use faults::{
    Fault, START, StandIn, fails_everywhere, first_use, lost_and_back, reason, sweeps_are_repeated, use_first, used,
};
use std::path::PathBuf;
use tapewright::Error;
use tapewright::kernels::devices::Cuda;
use tapewright::kernels::{Host, Space, View, parallel_for, parallel_row_sums, parallel_sum};
use tapewright::prelude::*;

const NO_DEVICE: c_int = 100;
const OUT_OF_MEMORY: c_int = 2;
const ILLEGAL_ADDRESS: c_int = 700;
const UNKNOWN: c_int = 999;

/// The stand-in, if it is found where libraries are.
fn stand_in() -> Option<StandIn> {
    StandIn::of("libcuda.so")
}

#[test]
fn every_call_of_the_driver_may_fail() {
    let Some(stand_in) = stand_in() else { return };
    for (function, code, words, least) in [
        (c"cuMemAlloc_v2", OUT_OF_MEMORY, "no memory for an array of", 3),
        (c"cuMemAlloc_v2", UNKNOWN, "cannot be allocated", 3),
        (c"cuMemcpyHtoD_v2", ILLEGAL_ADDRESS, "cannot be written", 3),
        (c"cuMemcpyDtoH_v2", ILLEGAL_ADDRESS, "cannot be read", 3),
        (c"cuLaunchKernel", ILLEGAL_ADDRESS, "cannot be run", 3),
        // Before an array is freed, too, where an error is no error of the program.
        (c"cuCtxSetCurrent", 201, "its context has gone", 11),
    ] {
        let fault = Fault { function, code, goes_on: function == c"cuMemAlloc_v2", words };
        let count = fails_everywhere::<Cuda>(&stand_in, fault);
        assert!(count >= least, "{function:?} is called {count} times");
    }
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
    let Some(stand_in) = stand_in() else { return };
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
    assert_eq!(used::<Cuda>(), 0);
}

#[test]
fn a_sweep_that_has_failed_can_be_repeated() {
    let Some(stand_in) = stand_in() else { return };
    let faults = [
        (c"cuLaunchKernel", 719),
        (c"cuMemAlloc_v2", OUT_OF_MEMORY),
        (c"cuMemcpyDtoH_v2", UNKNOWN),
        (c"cuCtxSetCurrent", 201),
    ];
    sweeps_are_repeated::<Cuda>(&stand_in, &faults);
}

#[test]
fn a_replay_that_has_failed_can_be_repeated() {
    let Some(stand_in) = stand_in() else { return };
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
    let Some(stand_in) = stand_in() else { return };
    let fault = Fault { function: c"cuLaunchKernel", code: ILLEGAL_ADDRESS, goes_on: false, words: "700" };
    lost_and_back::<Cuda>(&stand_in, fault);
}

#[test]
fn groups_are_as_small_as_the_device_has_them() {
    let Some(_stand_in) = stand_in() else { return };
    // The work items of all 1000 points lie along the third dimension, where a block has 64 threads at most.
    let numbers: Vec<f64> = (0..1000_u16).map(f64::from).collect();
    let mut x = View::<Passive, 3>::new([1000, 1, 1], &numbers).in_space::<Cuda>();
    parallel_for(x.all(), &mut x, |x| (2.0 * x.at::<0, 0, 0>(),));
    assert!(x.values().iter().zip(numbers).all(|(found, x)| *found == 2.0 * x));
}

#[test]
fn sums_of_rows_and_single_precision_have_the_bits_of_the_host() {
    let Some(_stand_in) = stand_in() else { return };
    let numbers: Vec<f32> = (0..3 * 9000_u16).map(|k| f32::from(k % 1009) / 64.0 - 7.0).collect();
    let host = View::<Passive<f32>, 2>::new([3, 9000], &numbers);
    let there = host.clone().in_space::<Cuda>();
    let sums: View<Passive<f32>, 1> = parallel_row_sums(host.all(), &host, |x| x.at::<0, 0>() / (x.at::<0, 0>() - 3.3));
    let found: View<Passive<f32>, 1, Cuda> =
        parallel_row_sums(there.all(), &there, |x| x.at::<0, 0>() / (x.at::<0, 0>() - 3.3));
    assert_eq!(found.values(), sums.values());
}

#[test]
#[ignore = "run by the tests of what is not there"]
fn a_first_use() {
    use_first::<Cuda>(stand_in().as_ref());
}

#[test]
fn what_is_not_there_is_named() {
    let Some(_stand_in) = stand_in() else { return };
    let libraries = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let first_use = |libraries, function, code| first_use(&[("LD_LIBRARY_PATH", libraries)], function, code);
    for (function, code, words) in [
        ("cuInit", NO_DEVICE, "the driver does not start (DriverError(CUDA_ERROR_NO_DEVICE"),
        ("cuDeviceGetCount", UNKNOWN, "the driver lists no devices"),
        ("cuDeviceGetName", UNKNOWN, "device 0 does not answer"),
        ("cuDeviceTotalMem_v2", UNKNOWN, "device 0 does not answer"),
    ] {
        let found = first_use(&*libraries, function, code);
        assert!(found.contains("NoDevice") && found.contains(words), "{function}: {found}");
        // The next try works.
        assert!(found.contains("a device"), "{function}: {found}");
    }
    for (function, code) in [("cuDeviceGetAttribute", UNKNOWN), ("cuDevicePrimaryCtxRetain", OUT_OF_MEMORY)] {
        let found = first_use(&*libraries, function, code);
        assert!(found.contains("Failed") && found.contains("a context cannot be made"), "{function}: {found}");
    }
    let found = first_use("", "", 0);
    assert!(found.contains("the driver's library `cuda` was not found") && found.contains("install"), "{found}");
}

#[test]
fn a_driver_without_the_compiler_is_not_enough() {
    let Some(_stand_in) = stand_in() else { return };
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let driver = std::env::split_paths(&libraries).map(|folder| folder.join("libcuda.so")).find(|path| path.exists());
    let folder: PathBuf = std::env::temp_dir().join(format!("tapewright-driver-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(driver.expect("the stand-in"), folder.join("libcuda.so")).expect("a copy");
    let found = first_use(&[("LD_LIBRARY_PATH", folder.to_str().expect("a name"))], "", 0);
    std::fs::remove_dir_all(&folder).expect("no folder");
    assert!(found.contains("the compiler's library `nvrtc` was not found"), "{found}");
}
