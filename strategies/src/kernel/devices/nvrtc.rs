//! NVRTC, the compiler of CUDA C++.

use core::ffi::{CStr, c_char};
use cudarc::nvrtc::{result, sys};
use std::ffi::CString;
use std::sync::LazyLock;

/// Returns true if the library is there.
pub(super) fn is_there() -> bool {
    // SAFETY: the library is looked for, whose loading does nothing else.
    static IS_THERE: LazyLock<bool> = LazyLock::new(|| unsafe { sys::is_culib_present() });
    *IS_THERE
}

/// Version of the compiler, empty if it does not say it.
pub(super) fn version() -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the version is written to two numbers.
    match unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result() {
        Ok(()) => format!("{major}.{minor}"),
        Err(_) => String::new(),
    }
}

/// Option without which multiplications and additions are fused.
pub(super) const NOT_FUSED: &str = "--fmad=false";

/// Compiles CUDA C++ to PTX for an architecture (an option such as `--gpu-architecture=compute_80`), without a fused
/// operation. The error is the compiler's output.
pub(super) fn compile(source: &str, architecture: &str) -> Result<Vec<c_char>, String> {
    let text = |error: result::NvrtcError| format!("NVRTC has failed: {error}");
    let code = CString::new(source).map_err(|error| error.to_string())?;
    let program = result::create_program(&code, None).map_err(text)?;
    // SAFETY: the program has just been made, and is destroyed once, at the end.
    unsafe {
        let compiled = result::compile_program(program, &[architecture, NOT_FUSED]);
        let log = || match result::get_program_log(program) {
            Ok(log) => CStr::from_ptr(log.as_ptr()).to_string_lossy().into_owned(),
            Err(error) => text(error),
        };
        let code = match compiled {
            Ok(()) => result::get_ptx(program).map_err(text),
            Err(_) => Err(log()),
        };
        _ = result::destroy_program(program);
        code
    }
}

/// For tests: compiles a source for two architectures, if the compiler is there.
///
/// # Panics
///
/// When the compiler refuses it.
#[cfg(tapewright_on_device)]
pub(super) fn check(source: &str) {
    use core::sync::atomic::{AtomicUsize, Ordering};
    static CHECKED: AtomicUsize = AtomicUsize::new(0);
    if is_there() {
        for architecture in ["--gpu-architecture=compute_80", "--gpu-architecture=compute_90"] {
            if let Err(log) = compile(source, architecture) {
                panic!("NVRTC refuses a kernel for {architecture}:\n{log}\n{source}");
            }
        }
        println!("kernel {} has passed NVRTC", CHECKED.fetch_add(1, Ordering::Relaxed) + 1);
    }
}
