//! A device as memory of arrays and as a target.

use super::arguments::Arguments;
use super::changes::{self, Boxes, CHANGE};
use super::driver::{Argument, DeviceError, Driver};
use super::programs::{Compiled, NAME, Programs};
use super::space::{MemoryUse, Usable};
use crate::Number;
use crate::kernel::ir::access::OPERANDS;
use crate::kernel::memory::device::{Change, DeviceArray, DeviceMemory, Precision, Region};
use crate::kernel::registers::Registers;
use crate::kernel::targets::{Accumulation, BoundKernel, Division, Evaluation, Found, Gather, Inputs, Target};
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A device, with what has been compiled for it.
pub(super) struct Device<D: Driver> {
    pub(super) driver: D,
    programs: Programs<D>,
    /// Bytes of the arrays that are there.
    used: AtomicUsize,
    /// Most of them at any time.
    most: AtomicUsize,
    /// This device, which stays for the rest of the program.
    itself: OnceLock<&'static Self>,
}

/// Array on a device.
pub(super) struct DeviceVector<D: Driver> {
    device: &'static Device<D>,
    pub(super) raw: D::Array,
    length: usize,
    precision: Precision,
}

impl<D: Driver> DeviceVector<D> {
    fn bytes(&self) -> usize {
        self.length * if self.precision == Precision::Double { 8 } else { 4 }
    }
}

impl<D: Driver> Drop for DeviceVector<D> {
    fn drop(&mut self) {
        self.device.used.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

impl<D: Driver> fmt::Debug for DeviceVector<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers on {}", self.length, self.device.driver.name())
    }
}

/// Ends the program's flow with the error of a device.
#[cold]
#[track_caller]
fn fail(error: &DeviceError) -> ! {
    panic!("{error}")
}

#[track_caller]
fn done<T>(result: Result<T, DeviceError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fail(&error),
    }
}

impl<D: Driver> Device<D> {
    /// Makes a device that stays for the rest of the program.
    pub(super) fn resident(driver: D) -> &'static Self {
        let device: &'static Self = Box::leak(Box::new(Self {
            driver,
            programs: Programs::new(),
            used: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            itself: OnceLock::new(),
        }));
        device.itself.get_or_init(|| device)
    }

    fn itself(&self) -> &'static Self {
        self.itself.get().expect("devices are made resident")
    }

    /// Makes an array of these numbers.
    fn upload<V: Number>(&self, numbers: &[V]) -> D::Array {
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        let array = done(self.driver.allocate(bytes.len().max(1)));
        done(self.driver.write(bytes, &array));
        array
    }
}

impl<D: Driver> fmt::Debug for Device<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.driver, f)
    }
}

impl<D: Driver> Usable for Device<D> {
    fn memory_use(&self) -> MemoryUse {
        let used = self.used.load(Ordering::Relaxed);
        MemoryUse { used, most: self.most.swap(used, Ordering::Relaxed).max(used) }
    }

    fn programs(&self) -> usize {
        self.programs.count()
    }
}

impl<D: Driver> DeviceMemory for Device<D> {
    fn allocate(&self, length: usize, precision: Precision) -> Arc<dyn DeviceArray> {
        let (driver, size) = (&self.driver, if precision == Precision::Double { 8 } else { 4 });
        assert!(
            driver.has(precision),
            "{} has no double precision: use `f32`, or bring the views to the host with `in_space::<Host>()`",
            driver.name()
        );
        let raw = done(driver.allocate((length * size).max(1)));
        let used = self.used.fetch_add(length * size, Ordering::Relaxed) + length * size;
        self.most.fetch_max(used, Ordering::Relaxed);
        Arc::new(DeviceVector { device: self.itself(), raw, length, precision })
    }
}

impl<D: Driver> DeviceArray for DeviceVector<D> {
    fn read(&self, to: &mut [u8]) {
        done(self.device.driver.read(&self.raw, to));
    }

    fn write(&self, from: &[u8]) {
        done(self.device.driver.write(from, &self.raw));
    }

    fn update(&self, change: Change<'_>, region: Region<'_>) -> bool {
        let (Device { driver, programs, .. }, boxes) = (self.device, Boxes::of(region, self.length));
        assert!(changes::fits(region, self.length), "an array has as many elements as the views of a grid");
        if boxes.count() == 0 {
            return true;
        }
        let source = changes::source(D::DIALECT, self.precision);
        let compiled = done(programs.source(driver, source));
        let other: Option<&dyn core::any::Any> = match change {
            Change::Copy(other) | Change::Add(other) => Some(other),
            _ => None,
        };
        let other = other.map(|other| {
            let other = other.downcast_ref::<Self>().expect("both arrays are in the same memory");
            assert!(other.length == self.length && other.precision == self.precision, "two arrays of one shape");
            &other.raw
        });
        let (kind, number) = changes::of(change);
        #[allow(clippy::cast_possible_truncation, reason = "numbers are exact in the array's precision")]
        let single = number as f32;
        let number =
            if self.precision == Precision::Double { bytemuck::bytes_of(&number) } else { bytemuck::bytes_of(&single) };
        let arguments = [
            Argument::Value(bytemuck::bytes_of(&boxes)),
            Argument::Value(bytemuck::bytes_of(&kind)),
            Argument::Value(number),
            Argument::Array(other),
            Argument::Array(Some(&self.raw)),
        ];
        let work = [usize::try_from(boxes.count()).expect("a count of elements"), 1, 1];
        // SAFETY: the function takes these arguments, and the boxes are within the arrays.
        done(unsafe { driver.run(&compiled.program, CHANGE, &arguments, work) });
        true
    }
}

impl<D: Driver> Device<D> {
    #[track_caller]
    fn compiled<V: Number>(&self, kernel: &BoundKernel<V>) -> Arc<Compiled<D>> {
        let precision = if size_of::<V>() == 4 { Precision::Single } else { Precision::Double };
        done(self.programs.kernel(&self.driver, kernel, precision))
    }

    /// Calls the function with this suffix. A source has no function for what is not there: nothing is to be done then.
    ///
    /// # Safety
    ///
    /// The arguments are those of a job of the source's kernel, with sums where the function writes them.
    unsafe fn call<V: Number>(
        &self,
        compiled: &Compiled<D>,
        suffix: &str,
        arguments: &Arguments<D, V>,
        work: [usize; 3],
    ) {
        let function = format!("{NAME}{suffix}");
        if let Some(parameters) = compiled.parameters(&function)
            && !work.contains(&0)
        {
            let list = arguments.list(parameters);
            // SAFETY: promised by the caller.
            done(unsafe { self.driver.run(&compiled.program, &function, &list, work) });
        }
    }

    /// Reads sums that functions have written.
    fn read_sums<V: Number>(&self, sums: &D::Array, count: usize) -> Vec<V> {
        let mut found = vec![V::ZERO; count];
        done(self.driver.read(sums, bytemuck::cast_slice_mut(&mut found)));
        found
    }

    fn array_of_sums<V: Number>(&self, count: usize) -> D::Array {
        done(self.driver.allocate((count * size_of::<V>()).max(1)))
    }

    /// Sums of the chunks of a reduction, for each expression.
    fn chunk_sums<V: Number>(&self, job: &Evaluation<'_, V>) -> Vec<V> {
        let inputs = job.inputs();
        let (compiled, count) = (self.compiled(inputs.kernel()), inputs.kernel().expressions() * inputs.chunks());
        let mut arguments = Arguments::of_evaluation(job);
        arguments.sums = Some(self.array_of_sums::<V>(count));
        // SAFETY: the job has been checked for what the source reads; the sums are as many as it writes.
        unsafe { self.call(&compiled, "_sums", &arguments, work_of_chunks(&inputs)) }
        self.read_sums(arguments.sums.as_ref().expect("as set before"), count)
    }
}

/// Numbers of work items for the points of a range.
fn work_of_range<V: Number>(inputs: &Inputs<'_, V>) -> [usize; 3] {
    let [a, b, c, d] = inputs.grid().ranges().map(|range| range.len());
    [d, c, a * b]
}

/// Numbers of work items for the chunks of a range.
fn work_of_chunks<V: Number>(inputs: &Inputs<'_, V>) -> [usize; 3] {
    let [points, rows, rest] = work_of_range(inputs);
    [points.div_ceil(4096), rows, rest]
}

/// Numbers of work items for all elements of the views.
fn work_of_elements<V: Number>(inputs: &Inputs<'_, V>) -> [usize; 3] {
    let [a, b, c, d] = inputs.grid().lengths().map(isize::unsigned_abs);
    [d, c, a * b]
}

impl<D: Driver, V: Number> Target<V> for Device<D> {
    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        Some(self.itself())
    }

    fn values(&self, job: Evaluation<'_, V>) {
        let (inputs, compiled) = (job.inputs(), self.compiled(job.inputs().kernel()));
        // SAFETY: the job has been checked for what the source reads and writes, and borrows it.
        unsafe { self.call(&compiled, "", &Arguments::of_evaluation(&job), work_of_range(&inputs)) }
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        let (found, chunks) = (self.chunk_sums(&job), job.inputs().chunks());
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = job.inputs().total(&found[k * chunks..][..chunks]);
        }
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        job.inputs().row_totals(&self.chunk_sums(&job), sums);
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        Registers.extremum(job, largest)
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        let gather = job.gather();
        let (inputs, compiled) = (gather.inputs(), self.compiled(gather.inputs().kernel()));
        let mut arguments = Arguments::of_accumulation(&job, |numbers| self.upload(numbers));
        for k in inputs.kernel().along().filter(|k| job.adjoints(*k).is_some()) {
            let Division { block, blocks, elements } = job.division(k);
            arguments.block = block.map(|extent| i64::try_from(extent).expect("at most 64 bits"));
            arguments.sums = Some(self.array_of_sums::<V>(blocks * elements));
            arguments.to = k;
            // SAFETY: the job has been checked for what the source reads and writes, and borrows it; the sums are as many
            // as the source writes.
            unsafe {
                self.call(&compiled, &format!("_along{k}"), &arguments, [elements, blocks, 1]);
                self.call(&compiled, &format!("_along{k}_add"), &arguments, [elements, 1, 1]);
            }
        }
        // SAFETY: the job has been checked for what the source reads and writes, and borrows it.
        unsafe { self.call(&compiled, "_adjoint", &arguments, work_of_elements(&inputs)) }
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        let (inputs, compiled) = (job.inputs(), self.compiled(job.inputs().kernel()));
        let (chunks, count) = (inputs.chunks(), inputs.kernel().scalars().count());
        let mut arguments = Arguments::of_gather(job, |numbers| self.upload(numbers));
        arguments.sums = Some(self.array_of_sums::<V>(count * chunks));
        // SAFETY: the job has been checked for what the source reads; the sums are as many as it writes.
        unsafe { self.call(&compiled, "_scalars", &arguments, work_of_chunks(&inputs)) }
        let sums = self.read_sums::<V>(arguments.sums.as_ref().expect("as set before"), count * chunks);
        let mut scalars = [V::ZERO; OPERANDS];
        for (k, sums) in inputs.kernel().scalars().zip(sums.chunks(chunks.max(1))) {
            scalars[k] = inputs.total(sums);
            if job.asks_for_scalar(k) && !scalars[k].as_f64().is_finite() {
                return Target::scalars(&Registers, job);
            }
        }
        scalars
    }
}
