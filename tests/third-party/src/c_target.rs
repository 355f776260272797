//! A target outside tapewright: kernels as C, which the system's compiler translates while the program runs.
//!
//! [`Compiled`] is the space of its views. Values, sums and adjoints of arithmetic kernels have the bits of the host, by
//! the order of operations in the text and without fused multiplications (`-ffp-contract=off`). What has no text goes to
//! the interpreter.
#![allow(unsafe_code, reason = "functions are called that were compiled while the program ran")]

use core::any::TypeId;
use core::ffi::c_void;
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
use tapewright_strategies::kernel::memory::Buffer;
use tapewright_strategies::kernel::targets::{
    Accumulation, BoundKernel, Evaluation, Found, Gather, Inputs, Propagation, Seed, Space, Target,
};
use tapewright_strategies::kernel::text::{Array, Calls, Dialect, Purpose};

/// The memory of the host, and [`CCompiler`].
#[derive(Clone, Copy, Debug)]
pub struct Compiled;

impl<V: Real> Space<V> for Compiled {
    fn target() -> &'static dyn Target<V> {
        &CCompiler
    }
}

/// A number that C has.
pub trait Real: Number<Part = Self> {}
impl Real for f64 {}
impl Real for f32 {}

/// The system's compiler of C, as a target.
#[derive(Clone, Copy, Debug)]
pub struct CCompiler;

/// A function of a text.
type Run = unsafe extern "C" fn(*const u64, *const *mut c_void);

/// Arrays that exist only while a job is carried out.
struct Scratch<V> {
    parts: Vec<V>,
    places: Vec<i64>,
    sums: Vec<V>,
    found: Vec<i64>,
    totals: Vec<V>,
}

impl<V: Real> Scratch<V> {
    /// Makes the calls that carry out a job. `address` returns the address of an operand's array.
    ///
    /// # Safety
    ///
    /// The calls are those of a job of the text's kernel, which has been checked and borrows its operands.
    unsafe fn of(text: Text, calls: &Calls, address: impl Fn(Array) -> *mut V) -> Self {
        let zeros = |length| vec![V::ZERO; length];
        let mut all = Self {
            parts: zeros(calls.parts),
            places: vec![0; calls.places],
            sums: zeros(calls.sums),
            found: vec![0; calls.found],
            totals: zeros(calls.totals),
        };
        for call in &calls.calls {
            let mut address = |array: Array| match array {
                Array::Parts => all.parts.as_mut_ptr().cast(),
                Array::Places => all.places.as_mut_ptr().cast(),
                Array::Sums => all.sums.as_mut_ptr().cast(),
                Array::Found => all.found.as_mut_ptr().cast(),
                Array::Totals => all.totals.as_mut_ptr().cast(),
                operand => address(operand).cast(),
            };
            let arrays: Vec<_> = call.arrays.iter().map(|array| array.map_or(ptr::null_mut(), &mut address)).collect();
            // SAFETY: promised by the caller; other arrays are as long as the calls say.
            unsafe { text.run(&call.function, &call.launch, &arrays) }
        }
        all
    }
}

/// Address of an array of an evaluation.
fn evaluated<V: Real>(job: &Evaluation<'_, V>) -> impl Fn(Array) -> *mut V {
    |array| match array {
        Array::Values(k) => job.inputs().values(k).cast_mut(),
        Array::Output(k) => job.output(k),
        other => unreachable!("an evaluation has no {other:?}"),
    }
}

/// Adds up the sums of chunks.
fn totals<V: Real>(inputs: &Inputs<'_, V>, found: &[V], sums: &mut [V]) {
    let chunks = inputs.chunks();
    for (k, sum) in sums.iter_mut().enumerate() {
        *sum = inputs.total(&found[k * chunks..][..chunks]);
    }
}

/// Address of an array of a gather, except those of adjoints.
fn gathered<V: Real>(gather: &Gather<'_, V>, array: Array) -> *mut V {
    match array {
        Array::Values(k) => gather.inputs().values(k).cast_mut(),
        Array::NewValues(k) => gather.new_values(k).cast_mut(),
        Array::Seeds(k) => match gather.seed_of(k) {
            Seed::Dense { start, .. } | Seed::Rows(start) => start.cast_mut(),
            Seed::Uniform(_) => ptr::null_mut(),
            Seed::Array(_) | Seed::RowArray(_) => unreachable!("the arrays of this target are on the host"),
        },
        other => unreachable!("a gather has no {other:?}"),
    }
}

impl<V: Real> Target<V> for CCompiler {
    fn values(&self, job: Evaluation<'_, V>) {
        let Some(text) = Text::of(job.inputs().kernel(), Purpose::Launches) else { return Interpreter.values(job) };
        // SAFETY: the job has been checked, and borrows its operands.
        unsafe { Scratch::of(text, &Calls::of_values(&job), evaluated(&job)) };
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        let Some(text) = Text::of(job.inputs().kernel(), Purpose::Launches) else { return Interpreter.sums(job, sums) };
        // SAFETY: the job has been checked, and borrows its operands.
        let found = unsafe { Scratch::of(text, &Calls::of_sums(&job), evaluated(&job)) }.sums;
        totals(&job.inputs(), &found, sums);
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut Buffer<V>) {
        let Some(text) = Text::of(job.inputs().kernel(), Purpose::Launches) else {
            return Interpreter.row_sums(job, sums);
        };
        // SAFETY: the job has been checked, and borrows its operands.
        let found = unsafe { Scratch::of(text, &Calls::of_row_sums(&job), evaluated(&job)) };
        sums.assign(&found.totals);
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        let Some(text) = Text::of(job.inputs().kernel(), Purpose::Launches) else {
            return Interpreter.extremum(job, largest);
        };
        // SAFETY: the job has been checked, and borrows its operands.
        let found = unsafe { Scratch::of(text, &Calls::of_extremum(&job, largest), evaluated(&job)) };
        Calls::best(&found.sums, &found.found, largest)
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        let gather = job.gather();
        let Some(text) = Text::of(gather.inputs().kernel(), Purpose::Launches) else { return Interpreter.gather(job) };
        let address = |array| match array {
            Array::Adjoints(k) => job.adjoints(k).map_or(ptr::null_mut(), |adjoints| adjoints.start),
            other => gathered(gather, other),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        unsafe { Scratch::of(text, &Calls::of_gather(&job), address) };
    }

    fn tangents(&self, job: Propagation<'_, V>) {
        let inputs = job.inputs();
        let Some(text) = Text::of(inputs.kernel(), Purpose::ForwardSweeps) else { return Interpreter.tangents(job) };
        let address = |array| match array {
            Array::Values(k) => inputs.values(k).cast_mut(),
            Array::NewValues(k) => job.new_values(k).cast_mut(),
            Array::Tangents(k) => job.tangents(k).cast_mut(),
            Array::NewTangents(k) => job.output(k),
            other => unreachable!("tangents have no {other:?}"),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        let found = unsafe { Scratch::of(text, &Calls::of_tangents(&job), address) }.sums;
        totals(&inputs, &found, job.into_sums());
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        let inputs = job.inputs();
        let Some(text) = Text::of(inputs.kernel(), Purpose::Launches) else { return Interpreter.scalars(job) };
        // SAFETY: the job has been checked, and its operands are borrowed.
        let sums = |calls: &Calls| unsafe { Scratch::of(text, calls, |array| gathered(job, array)) }.sums;
        let (mut scalars, chunks, found) = ([V::ZERO; OPERANDS], inputs.chunks(), sums(&Calls::of_scalars(job)));
        for (index, k) in inputs.kernel().scalars().enumerate().filter(|(_, k)| job.asks_for_scalar(*k)) {
            scalars[k] = inputs.total(&found[index * chunks..][..chunks]);
            if !scalars[k].as_f64().is_finite() {
                scalars[k] = sums(&Calls::of_scalars_in_order(job))[index];
            }
        }
        scalars
    }
}

/// The compiled texts. They stay until the program ends, since functions of theirs may be in use.
static LIBRARIES: LazyLock<Mutex<HashMap<String, &'static Library>>> = LazyLock::new(Mutex::default);
/// Compiled texts by the key of the kernel; `None` if it has no text.
static KERNELS: LazyLock<Mutex<HashMap<Key, Option<Text>>>> = LazyLock::new(Mutex::default);
/// Key of a kernel over numbers of a type.
type Key = ((usize, bool), Purpose, TypeId);

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
    fn of<V: Real>(kernel: &BoundKernel<V>, purpose: Purpose) -> Option<Self> {
        let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
        *kernels.entry((kernel.source_key(), purpose, TypeId::of::<V>())).or_insert_with(|| {
            let text = kernel.source(Dialect::C, purpose).ok()?;
            let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
            Some(Self(libraries.entry(text).or_insert_with_key(|text| Box::leak(Box::new(compiled(text))))))
        })
    }

    /// Calls a function of the text.
    ///
    /// # Safety
    ///
    /// The arguments are those that [`Calls`] says for a job of the text's kernel, and the arrays may be read and
    /// written.
    unsafe fn run(self, function: &str, launch: &[u64], arrays: &[*mut c_void]) {
        let name = format!("{function}_run");
        // SAFETY: the text declares the function with this signature; the rest is promised by the caller.
        unsafe {
            let run = self.0.get::<Run>(name.as_bytes()).unwrap_or_else(|error| panic!("no function {name}: {error}"));
            run(launch.as_ptr(), arrays.as_ptr());
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
