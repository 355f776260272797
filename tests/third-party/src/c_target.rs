//! A target outside tapewright: kernels as C, which the system's compiler translates while the program runs.
//!
//! [`Compiled`] is the space of its views. Values, sums and adjoints of arithmetic kernels have the bits of the host, by
//! the order of operations in the text and without fused multiplications (`-ffp-contract=off`). What has no text, and
//! extrema, go to the interpreter.
#![allow(unsafe_code, reason = "functions are called that were compiled while the program ran")]

use core::ffi::{c_int, c_long};
use core::ptr;
use libloading::Library;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use tapewright_strategies::Number;
use tapewright_strategies::kernel::Interpreter;
use tapewright_strategies::kernel::ir::OPERANDS;
use tapewright_strategies::kernel::targets::{
    Accumulation, BoundKernel, Division, Evaluation, Found, Gather, How, Inputs, Seed, Space, Target,
};
use tapewright_strategies::kernel::text::{Dialect, Precision};

/// The memory of the host, and [`CCompiler`].
#[derive(Clone, Copy, Debug)]
pub struct Compiled;

impl<V: Real> Space<V> for Compiled {
    fn target() -> &'static dyn Target<V> {
        &CCompiler
    }
}

/// A number that C has.
pub trait Real: Number<Part = Self> {
    /// Name of the type.
    const PRECISION: Precision;
}
impl Real for f64 {
    const PRECISION: Precision = Precision::Double;
}
impl Real for f32 {
    const PRECISION: Precision = Precision::Single;
}

/// The system's compiler of C, as a target.
#[derive(Clone, Copy, Debug)]
pub struct CCompiler;

/// Arguments of the functions of a text, as the text declares them.
#[repr(C)]
struct Job<V> {
    lengths: [c_long; 4],
    lo: [c_long; 4],
    hi: [c_long; 4],
    block: [c_long; 4],
    values: [*const V; OPERANDS],
    new_values: [*const V; OPERANDS],
    seeds: [*const V; OPERANDS],
    weights: [c_long; OPERANDS],
    outputs: [*mut V; OPERANDS],
    adjoints: [*mut V; OPERANDS],
    how: [c_int; OPERANDS],
    scalars: [V; OPERANDS],
}

/// A function of a text.
type Run<V> = unsafe extern "C" fn(*const Job<V>);

fn long(i: isize) -> c_long {
    c_long::try_from(i).expect("a length of an array in memory")
}

impl<V: Real> Job<V> {
    fn new(inputs: Inputs<'_, V>) -> Self {
        let ranges = inputs.grid().ranges();
        Self {
            lengths: inputs.grid().lengths().map(long),
            lo: ranges.clone().map(|range| long(range.start)),
            hi: ranges.map(|range| long(range.end)),
            block: [1; 4],
            values: core::array::from_fn(|k| inputs.values(k)),
            new_values: [ptr::null(); OPERANDS],
            seeds: [ptr::null(); OPERANDS],
            weights: [1; OPERANDS],
            outputs: [ptr::null_mut(); OPERANDS],
            adjoints: [ptr::null_mut(); OPERANDS],
            how: [0; OPERANDS],
            scalars: core::array::from_fn(|k| inputs.scalar(k)),
        }
    }

    /// `uniform` holds the seeds that are one number for all elements.
    fn of_gather<'u>(gather: &Gather<'_, V>, uniform: &'u mut [V; OPERANDS]) -> (Self, &'u [V; OPERANDS]) {
        let mut arguments = Self::new(gather.inputs());
        arguments.new_values = core::array::from_fn(|k| gather.new_values(k));
        for output in 0..gather.inputs().kernel().expressions() {
            let operand = gather.written(output).unwrap_or(0);
            (arguments.seeds[operand], arguments.weights[operand]) = match gather.seed_of(output) {
                Seed::Dense { start, .. } => (start, 1),
                Seed::Rows(start) => (start, 2),
                Seed::Array(_) => unreachable!("the arrays of this target are on the host"),
                Seed::Uniform(seed) => {
                    uniform[operand] = seed;
                    (&raw const uniform[operand], 0)
                }
            }
        }
        (arguments, uniform)
    }
}

impl<V: Real> Target<V> for CCompiler {
    fn values(&self, job: Evaluation<'_, V>) {
        let Some(text) = Text::of(job.inputs().kernel()) else { return Interpreter.values(job) };
        let mut arguments = Job::new(job.inputs());
        arguments.outputs = core::array::from_fn(|k| job.output(k));
        // SAFETY: the job has been checked for what the text reads and writes, and borrows it.
        unsafe { text.run("", &arguments) }
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        let Some(found) = chunk_sums(&job) else { return Interpreter.sums(job, sums) };
        let chunks = job.inputs().chunks();
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = job.inputs().total(&found[k * chunks..][..chunks]);
        }
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        match chunk_sums(&job) {
            Some(found) => job.inputs().row_totals(&found, sums),
            None => Interpreter.row_sums(job, sums),
        }
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        Interpreter.extremum(job, largest)
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        let gather = job.gather();
        let Some(text) = Text::of(gather.inputs().kernel()) else { return Interpreter.gather(job) };
        let mut uniform = [V::ZERO; OPERANDS];
        let (mut arguments, _uniform) = Job::of_gather(gather, &mut uniform);
        for k in 0..OPERANDS {
            if let Some(adjoints) = job.adjoints(k) {
                arguments.adjoints[k] = adjoints.start;
                arguments.how[k] = match adjoints.how {
                    How::Add => 0,
                    How::Store => 1,
                    How::Replace | How::InPlace => 2,
                };
            }
        }
        for k in gather.inputs().kernel().along().filter(|k| job.adjoints(*k).is_some()) {
            let Division { block, blocks, elements } = job.division(k);
            let mut sums = vec![V::ZERO; blocks * elements];
            (arguments.block, arguments.outputs[0]) = (block.map(long), sums.as_mut_ptr());
            // SAFETY: the job has been checked for what the text reads and writes, and borrows it; the sums are as many
            // as the text writes.
            unsafe {
                text.run(&format!("_along{k}"), &arguments);
                text.run(&format!("_along{k}_add"), &arguments);
            }
        }
        // SAFETY: the job has been checked for what the text reads and writes, and borrows it.
        unsafe { text.run("_adjoint", &arguments) }
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        let inputs = job.inputs();
        let Some(text) = Text::of(inputs.kernel()) else { return Interpreter.scalars(job) };
        let (chunks, mut uniform) = (inputs.chunks(), [V::ZERO; OPERANDS]);
        let mut sums = vec![V::ZERO; inputs.kernel().scalars().count() * chunks];
        let (mut arguments, _uniform) = Job::of_gather(job, &mut uniform);
        arguments.outputs[0] = sums.as_mut_ptr();
        // SAFETY: the job has been checked for what the text reads; the sums are as many as the text writes.
        unsafe { text.run("_scalars", &arguments) }
        let mut scalars = [V::ZERO; OPERANDS];
        for (k, sums) in inputs.kernel().scalars().zip(sums.chunks(chunks.max(1))) {
            scalars[k] = inputs.total(sums);
            if job.asks_for_scalar(k) && !scalars[k].as_f64().is_finite() {
                return Interpreter.scalars(job);
            }
        }
        scalars
    }
}

/// Sums of the chunks of a reduction, for each expression; `None` if it has no text.
fn chunk_sums<V: Real>(job: &Evaluation<'_, V>) -> Option<Vec<V>> {
    let inputs = job.inputs();
    let text = Text::of(inputs.kernel())?;
    let mut sums = vec![V::ZERO; inputs.kernel().expressions() * inputs.chunks()];
    let mut arguments = Job::new(inputs);
    arguments.outputs[0] = sums.as_mut_ptr();
    // SAFETY: the job has been checked for what the text reads; the sums are as many as the text writes.
    unsafe { text.run("_sums", &arguments) }
    Some(sums)
}

/// The compiled texts. They stay until the program ends, since functions of theirs may be in use.
static LIBRARIES: LazyLock<Mutex<HashMap<String, &'static Library>>> = LazyLock::new(Mutex::default);

/// Number of kernels that have been compiled so far.
#[must_use]
pub fn compiled_kernels() -> usize {
    LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// The compiled text of a kernel.
#[derive(Clone, Copy)]
struct Text(&'static Library);

impl Text {
    /// Returns the text of a kernel, compiled at its first use; `None` if the kernel has no text.
    ///
    /// # Panics
    ///
    /// When there is no compiler, or it refuses the text.
    fn of<V: Real>(kernel: &BoundKernel<V>) -> Option<Self> {
        let text = kernel.source("kernel", Dialect::C, V::PRECISION).ok()?;
        let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self(libraries.entry(text).or_insert_with_key(|text| Box::leak(Box::new(compiled(text))))))
    }

    /// Calls the function with this suffix. A text has no function for what is not there: nothing is to be done then.
    ///
    /// # Safety
    ///
    /// The function may read and write what the arguments say, which are those of the text's kernel.
    unsafe fn run<V: Real>(self, suffix: &str, arguments: &Job<V>) {
        let name = format!("kernel{suffix}_run");
        // SAFETY: the text declares the function with this signature; the rest is promised by the caller.
        unsafe {
            if let Ok(run) = self.0.get::<Run<V>>(name.as_bytes()) {
                run(arguments);
            }
        }
    }
}

/// Compiles a text and loads it.
fn compiled(text: &str) -> Library {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tapewright-c-target-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    let library = translated(&folder, text);
    // The loaded library stays in memory.
    std::fs::remove_dir_all(&folder).unwrap_or_else(|error| panic!("cannot remove {}: {error}", folder.display()));
    library
}

fn translated(folder: &Path, text: &str) -> Library {
    let (source, library) = (folder.join("kernel.c"), folder.join("kernel.so"));
    std::fs::write(&source, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", source.display()));
    let output = Command::new("cc")
        .args(["-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-o"])
        .args([&library, &source])
        .arg("-lm")
        .output()
        .unwrap_or_else(|error| panic!("cannot run `cc` ({error}): install a compiler of C, such as gcc"));
    assert!(output.status.success(), "cc refuses a kernel: {}\n{text}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: the library consists of functions, which do nothing when it is loaded.
    unsafe { Library::new(&library) }.unwrap_or_else(|error| panic!("cannot load {}: {error}", library.display()))
}
