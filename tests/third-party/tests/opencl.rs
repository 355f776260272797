//! Failures of an OpenCL device, made by a library in front of its loader (`stand-in/opencl.cpp`).
//!
//! Nothing happens unless `OPENCL_DYLIB_PATH` names that library, and the loader behind it finds a device.
#![cfg(feature = "opencl")]
#![allow(unsafe_code, reason = "the stand-in is told when to fail")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

mod faults;

use core::ffi::c_int;
use faults::{
    Fault, START, StandIn, fails_everywhere, first_use, lost_and_back, reason, sweeps_are_repeated, use_first, used,
};
use tapewright::Error;
use tapewright::kernels::devices::{DeviceSpace, OpenCl};
use tapewright::kernels::{Host, Space, View, parallel_for, parallel_sum};
use tapewright::prelude::*;

const NOT_FOUND: c_int = -1;
const NOT_AVAILABLE: c_int = -2;
const NO_MEMORY_FOR_OBJECT: c_int = -4;
const OUT_OF_RESOURCES: c_int = -5;
const OUT_OF_HOST_MEMORY: c_int = -6;
const EXECUTION_FAILED: c_int = -14;
const NO_CONTEXT: c_int = -34;
const NO_QUEUE: c_int = -36;
const NO_KERNEL: c_int = -46;
const NO_PLATFORM: c_int = -1001;

/// The stand-in, if it is there and has a device behind it.
fn stand_in() -> Option<StandIn> {
    let stand_in = StandIn::of(std::env::var_os("OPENCL_DYLIB_PATH")?)?;
    OpenCl::selected().is_ok().then_some(stand_in)
}

#[test]
fn every_call_of_the_driver_may_fail() {
    let Some(stand_in) = stand_in() else { return };
    for (function, code, words) in [
        (c"clCreateBuffer", NO_MEMORY_FOR_OBJECT, "no memory for an array of"),
        (c"clCreateBuffer", OUT_OF_HOST_MEMORY, "no memory for an array of"),
        (c"clCreateBuffer", NO_CONTEXT, "an array cannot be allocated"),
        (c"clEnqueueWriteBuffer", OUT_OF_RESOURCES, "no memory for an array of"),
        (c"clEnqueueWriteBuffer", NO_QUEUE, "an array cannot be written"),
        (c"clEnqueueReadBuffer", EXECUTION_FAILED, "an array cannot be read"),
        (c"clSetKernelArg", OUT_OF_HOST_MEMORY, "an argument cannot be set"),
        (c"clEnqueueNDRangeKernel", OUT_OF_RESOURCES, "no memory for a launch"),
        (c"clEnqueueNDRangeKernel", EXECUTION_FAILED, "cannot be run"),
    ] {
        let goes_on = function == c"clCreateBuffer";
        let count = fails_everywhere::<OpenCl>(&stand_in, Fault { function, code, goes_on, words });
        assert!(count >= 3, "{function:?} is called {count} times");
    }
}

#[test]
fn a_copy_by_the_driver_may_fail() {
    let Some(stand_in) = stand_in() else { return };
    let mut tape = Tape::<Jacobian>::new();
    let (x, z) = tape.record(|scope| {
        let x = scope.view([6], &START).in_space::<OpenCl>();
        let mut y = View::zeros([6]).in_space::<OpenCl>();
        parallel_for(2..4, (&mut y, &x), |(_, x)| (x.at::<0>().square(),));
        let z = Real::from(parallel_sum(y.all(), &y, |y| y.at::<0>()));
        (x, z)
    });
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    stand_in.fails(c"clEnqueueCopyBuffer", 1, EXECUTION_FAILED);
    let reason = reason(adjoints.view_of(&x).map(drop).expect_err("it fails"));
    assert!(reason.contains("an array cannot be copied"), "{reason}");
    assert_eq!(adjoints.view_of(&x).expect("it works").values(), [0.0, 0.0, 2.0, 0.25, 0.0, 0.0]);
}

#[test]
fn a_kernel_that_is_refused_is_shown_with_numbered_lines_and_the_log_and_compiled_by_the_next_launch() {
    /// A kernel for each failure, which no other test has.
    fn launch<M: Space<f64>>(kernel: usize) -> Result<Vec<f64>, Error> {
        let mut tape = Tape::<Jacobian>::new();
        let (x, z) = tape.try_record(|scope| {
            let x = scope.view([6], &START).in_space::<M>();
            let mut y = x.clone();
            match kernel {
                0 => parallel_for(y.all(), &mut y, |y| (y.at::<0>() * 2.0 - 1.5 / y.at::<0>(),)),
                1 => parallel_for(y.all(), &mut y, |y| (y.at::<0>() * 2.0 - 2.5 / y.at::<0>() + 1.0,)),
                2 => parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>() - 2.5 / y.at::<0>(),)),
                _ => parallel_for(y.all(), &mut y, |y| (y.at::<0>() / y.at::<0>() - 2.5 / y.at::<0>(),)),
            }
            (x, Real::from(parallel_sum(y.all(), &y, |y| y.at::<0>() * y.at::<0>())))
        })?;
        Ok(tape.sweep(&[(&z, 1.0)])?.of_view(&x)?.to_vec())
    }
    let Some(stand_in) = stand_in() else { return };
    for (kernel, (function, code, words)) in [
        (c"a line that is no C", 1, ["refuses a kernel", "   1 #ifndef TW_KERNELS"]),
        (c"clCreateProgramWithSource", OUT_OF_HOST_MEMORY, ["refuses a kernel", "__kernel void kernel_values"]),
        (c"clBuildProgram", OUT_OF_HOST_MEMORY, ["refuses a kernel", "CL_OUT_OF_HOST_MEMORY"]),
        (c"clCreateKernel", NO_KERNEL, ["a kernel cannot be made", "CL_INVALID_KERNEL_NAME"]),
    ]
    .into_iter()
    .enumerate()
    {
        stand_in.fails(function, 1, code);
        let reason = reason(launch::<OpenCl>(kernel).expect_err("it fails"));
        assert!(words.iter().all(|word| reason.contains(word)), "{function:?}: {reason}");
        if kernel == 0 {
            // The compiler names the line, which is the last one.
            let numbers = |line: &str| line.trim_start().split(' ').next().and_then(|word| word.parse::<usize>().ok());
            let last = reason.lines().rev().find_map(numbers).expect("a number");
            assert!(reason.contains(&format!(":{}:", last + 1)), "{last}: {reason}");
        }
        let host = launch::<Host>(kernel).expect("the host");
        assert_eq!(launch::<OpenCl>(kernel).expect("it works"), host);
    }
    assert_eq!(used::<OpenCl>(), 0);
}

#[test]
fn a_sweep_that_has_failed_can_be_repeated() {
    let Some(stand_in) = stand_in() else { return };
    let faults = [
        (c"clCreateBuffer", NO_MEMORY_FOR_OBJECT),
        (c"clEnqueueNDRangeKernel", OUT_OF_RESOURCES),
        (c"clEnqueueReadBuffer", EXECUTION_FAILED),
    ];
    sweeps_are_repeated::<OpenCl>(&stand_in, &faults);
}

#[test]
fn a_device_that_is_lost_fails_until_it_is_back() {
    let Some(stand_in) = stand_in() else { return };
    let words = "CL_DEVICE_NOT_AVAILABLE";
    let fault = Fault { function: c"clEnqueueNDRangeKernel", code: NOT_AVAILABLE, goes_on: false, words };
    lost_and_back::<OpenCl>(&stand_in, fault);
}

#[test]
#[ignore = "run by the tests of what is not there"]
fn a_first_use() {
    let stand_in = std::env::var_os("OPENCL_DYLIB_PATH").and_then(StandIn::of);
    use_first::<OpenCl>(stand_in.as_ref());
}

#[test]
fn what_is_not_there_is_named() {
    let Some(_stand_in) = stand_in() else { return };
    for (function, code, words) in [
        ("clGetPlatformIDs", NO_PLATFORM, "no platform was found"),
        ("clGetDeviceIDs", NOT_FOUND, "no platform has a device"),
    ] {
        let found = first_use(&[], function, code);
        assert!(
            found.contains("NoDevice") && found.contains(words) && found.contains("install"),
            "{function}: {found}"
        );
        // The next try works.
        assert!(
            found.contains("a device\n") && found.contains("the gradient of the host: true"),
            "{function}: {found}"
        );
    }
    for (function, words) in
        [("clCreateContext", "a context cannot be made"), ("clCreateCommandQueue", "a queue cannot be made")]
    {
        let found = first_use(&[], function, OUT_OF_HOST_MEMORY);
        assert!(found.contains("Failed") && found.contains(words), "{function}: {found}");
    }
    // The variable of the space names a device.
    let found = first_use(&[("TAPEWRIGHT_OPENCL", "abacus")], "", 0);
    assert!(found.contains("NotFound { wanted: \"TAPEWRIGHT_OPENCL=abacus\""), "{found}");
    let found = first_use(&[("TAPEWRIGHT_OPENCL", "0")], "", 0);
    assert!(found.contains("the gradient of the host: true"), "{found}");
    // A library that has none of the functions.
    let found = first_use(&[("OPENCL_DYLIB_PATH", "libc.so.6")], "", 0);
    assert!(found.contains("NoDevice") && found.contains("no platform was found"), "{found}");
}

#[test]
fn a_device_without_double_precision_says_so() {
    let Some(_stand_in) = stand_in() else { return };
    let found = first_use(&[("TAPEWRIGHT_NO_DOUBLE", "1")], "", 0);
    assert!(found.contains("has no double precision: use `f32`"), "{found}");
}

#[test]
fn groups_are_as_small_as_the_device_has_them() {
    let Some(_stand_in) = stand_in() else { return };
    for largest in ["1", "16", "100"] {
        let found = first_use(&[("TAPEWRIGHT_LARGEST_GROUP", largest)], "", 0);
        assert!(found.contains("the gradient of the host: true"), "{largest}: {found}");
    }
}
