//! A device as memory of arrays and as a target.

use super::changes::{self, Boxes, CHANGE};
use super::driver::{Argument, DeviceError, Driver};
use super::programs::Programs;
use super::space::{MemoryUse, Usable};
use crate::Number;
use crate::kernel::ir::access::OPERANDS;
use crate::kernel::memory::device::{Change, DeviceArray, DeviceMemory, Precision, Region, device_failed};
use crate::kernel::targets::{Accumulation, BoundKernel, Evaluation, Found, Gather, Seed, Target};
use crate::kernel::text::{Array, Calls};
use bytemuck::Pod;
use core::any::Any;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use smallvec::SmallVec;
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
        self.length * self.precision.bytes()
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

#[track_caller]
fn done<T>(result: Result<T, DeviceError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => device_failed(error.to_string()),
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

    /// Makes an array of these bytes.
    fn upload(&self, bytes: &[u8]) -> D::Array {
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
        let (driver, size) = (&self.driver, precision.bytes());
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
        let other: Option<&dyn Any> = match change {
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
        done(unsafe { driver.run(&compiled, CHANGE, &arguments, work, [128, 1, 1]) });
        true
    }
}

/// Arrays that exist only while a job is carried out.
struct Scratch<D: Driver> {
    parts: D::Array,
    places: D::Array,
    sums: D::Array,
    found: D::Array,
    totals: D::Array,
}

/// An array of a job: one of a view, of a sweep, or one that was made for this job.
enum Given<D: Driver> {
    Nothing,
    Shared(Arc<dyn DeviceArray>),
    Own(D::Array),
}

impl<D: Driver> Given<D> {
    fn of(array: Option<Arc<dyn DeviceArray>>) -> Self {
        array.map_or(Self::Nothing, Self::Shared)
    }

    /// The raw array.
    ///
    /// # Panics
    ///
    /// When the array is on a device of another driver.
    fn raw(&self) -> Option<&D::Array> {
        match self {
            Self::Nothing => None,
            Self::Own(array) => Some(array),
            Self::Shared(array) => {
                let array: &dyn Any = &**array;
                let vector = array.downcast_ref::<DeviceVector<D>>();
                Some(&vector.expect("arrays of a job are in the memory of its target").raw)
            }
        }
    }
}

impl<D: Driver> Device<D> {
    #[track_caller]
    fn program<V: Number>(&self, kernel: &BoundKernel<V>) -> Arc<D::Program> {
        done(self.programs.kernel(&self.driver, kernel))
    }

    /// Makes the calls that carry out a job. `given` returns the array of an operand.
    ///
    /// # Safety
    ///
    /// The calls are those of a job of this kernel, which has been checked and borrows its operands.
    unsafe fn carry_out<V: Number>(
        &self,
        kernel: &BoundKernel<V>,
        calls: &Calls,
        given: impl Fn(Array) -> Given<D>,
    ) -> Scratch<D> {
        let program = self.program(kernel);
        let allocate = |length: usize, bytes: usize| done(self.driver.allocate((length * bytes).max(1)));
        let size = size_of::<V>();
        let scratch = Scratch {
            parts: allocate(calls.parts, size),
            places: allocate(calls.places, 8),
            sums: allocate(calls.sums, size),
            found: allocate(calls.found, 8),
            totals: allocate(calls.totals, size),
        };
        for call in calls.calls.iter().filter(|call| !call.items.contains(&0)) {
            let arrays: SmallVec<[_; 8]> = call
                .arrays
                .iter()
                .map(|array| {
                    array.map_or(Given::Nothing, |array| match array {
                        Array::Parts | Array::Places | Array::Sums | Array::Found | Array::Totals => Given::Nothing,
                        operand => given(operand),
                    })
                })
                .collect();
            let mut arguments = vec![Argument::Value(bytemuck::cast_slice(&call.launch))];
            for (array, given) in call.arrays.iter().zip(&arrays) {
                arguments.push(Argument::Array(match array {
                    Some(Array::Parts) => Some(&scratch.parts),
                    Some(Array::Places) => Some(&scratch.places),
                    Some(Array::Sums) => Some(&scratch.sums),
                    Some(Array::Found) => Some(&scratch.found),
                    Some(Array::Totals) => Some(&scratch.totals),
                    _ => given.raw(),
                }));
            }
            let entered = crate::kernel::targets::counts::Region::begin();
            // SAFETY: promised by the caller; other arrays are as long as the calls say.
            done(unsafe { self.driver.run(&program, &call.function, &arguments, call.items, call.group) });
            entered.end();
        }
        scratch
    }

    /// Carries out a job that computes values.
    fn evaluate<V: Number>(&self, job: &Evaluation<'_, V>, calls: &Calls) -> Scratch<D> {
        let given = |array| match array {
            Array::Values(k) => Given::of(job.inputs().array(k)),
            Array::Output(k) => Given::of(job.output_array(k)),
            other => unreachable!("an evaluation has no {other:?}"),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        unsafe { self.carry_out(job.inputs().kernel(), calls, given) }
    }

    /// The array of a gather, except those of adjoints.
    fn gathered<V: Number>(&self, gather: &Gather<'_, V>, array: Array) -> Given<D> {
        match array {
            Array::Values(k) => Given::of(gather.inputs().array(k)),
            Array::NewValues(k) => Given::of(gather.new_array(k)),
            Array::Seeds(k) => match gather.seed_of(k) {
                Seed::Array(array) => Given::Shared(array),
                Seed::Rows(_) => Given::Own(self.upload(bytemuck::cast_slice(gather.seeds_of_rows()))),
                Seed::Uniform(_) => Given::Nothing,
                Seed::Dense { .. } => unreachable!("the seeds of a job are in the memory of its target"),
            },
            other => unreachable!("a gather has no {other:?}"),
        }
    }

    /// Reads numbers that calls have written.
    fn download<T: Pod>(&self, from: &D::Array, count: usize) -> Vec<T> {
        let mut found = vec![T::zeroed(); count];
        done(self.driver.read(from, bytemuck::cast_slice_mut(&mut found)));
        found
    }
}

impl<D: Driver, V: Number> Target<V> for Device<D> {
    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        Some(self.itself())
    }

    fn values(&self, job: Evaluation<'_, V>) {
        self.evaluate(&job, &Calls::of_values(&job));
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        let (calls, chunks) = (Calls::of_sums(&job), job.inputs().chunks());
        let found: Vec<V> = self.download(&self.evaluate(&job, &calls).sums, calls.sums);
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = job.inputs().total(&found[k * chunks..][..chunks]);
        }
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        let calls = Calls::of_row_sums(&job);
        sums.copy_from_slice(&self.download(&self.evaluate(&job, &calls).totals, calls.totals));
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        let calls = Calls::of_extremum(&job, largest);
        let scratch = self.evaluate(&job, &calls);
        let (values, places) = (self.download(&scratch.sums, calls.sums), self.download(&scratch.found, calls.found));
        Calls::best::<V>(&values, &places, largest)
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        let gather = job.gather();
        let given = |array| match array {
            Array::Adjoints(k) => Given::of(job.adjoints(k).and_then(|adjoints| adjoints.array)),
            other => self.gathered(gather, other),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        unsafe { self.carry_out(gather.inputs().kernel(), &Calls::of_gather(&job), given) };
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        let (inputs, chunks) = (job.inputs(), job.inputs().chunks());
        let sums = |calls: &Calls| {
            // SAFETY: the job has been checked, and its operands are borrowed.
            let scratch = unsafe { self.carry_out(inputs.kernel(), calls, |array| self.gathered(job, array)) };
            self.download::<V>(&scratch.sums, calls.sums)
        };
        let (mut scalars, found) = ([V::ZERO; OPERANDS], sums(&Calls::of_scalars(job)));
        for (index, k) in inputs.kernel().scalars().enumerate().filter(|(_, k)| job.asks_for_scalar(*k)) {
            scalars[k] = inputs.total(&found[index * chunks..][..chunks]);
            if !scalars[k].as_f64().is_finite() {
                scalars[k] = sums(&Calls::of_scalars_in_order(job))[index];
            }
        }
        scalars
    }
}
