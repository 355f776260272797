//! A device as memory of arrays and as a target.

use super::changes::{self, Boxes, CHANGE, Listed, MOVE, Moves, PUT, TAKE, Whole};
use super::driver::{Argument, DeviceError, Driver};
use super::folder::Folder;
use super::programs::Programs;
use super::residence::{Id, Present, Residence};
use super::scratch::{ScratchArray, Spares};
use super::space::{MemoryUse, OpenDevice};
use crate::Number;
use crate::error::refusal;
use crate::kernel::ir::access::OPERANDS;
use crate::kernel::launch::Indexing;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::device::{Change, DeviceArray, DeviceMemory, Precision, Region, device_failed};
use crate::kernel::targets::scans::{Scan, ScanStep};
use crate::kernel::targets::transfers::movement::DeviceValues;
use crate::kernel::targets::transfers::sent::SentList;
use crate::kernel::targets::{
    Accumulation, BoundKernel, Evaluation, Found, Gather, Inputs, Movement, Propagation, Seed, Side, Target, counts,
};
use crate::kernel::text::{Array, Call, Calls};
use bytemuck::Pod;
use core::any::Any;
use core::{fmt, ptr};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// A device, with what has been compiled for it.
pub(super) struct Device<D: Driver> {
    pub(super) driver: D,
    programs: Programs<D>,
    /// Functions for changes of arrays, in double and in single precision.
    changes: [OnceLock<Arc<D::Program>>; 2],
    residence: Residence<D>,
    spares: Spares<D>,
    /// This device, which stays for the rest of the program.
    itself: OnceLock<&'static Self>,
}

/// Array on a device.
pub(super) struct DeviceVector<D: Driver> {
    device: &'static Device<D>,
    id: Id,
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
        self.device.residence.leave(self.id);
    }
}

impl<D: Driver> fmt::Debug for DeviceVector<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers on {}", self.length, self.device.driver.name())
    }
}

#[track_caller]
fn or_fail<T>(result: Result<T, DeviceError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => device_failed(error.to_string()),
    }
}

impl<D: Driver> Device<D> {
    /// Makes a device that stays for the rest of the program. Its arrays may take half of its memory.
    pub(super) fn resident(driver: D, memory: u64) -> &'static Self {
        refusal::device_is_used();
        let device: &'static Self = Box::leak(Box::new(Self {
            driver,
            programs: Programs::new(),
            changes: [const { OnceLock::new() }; 2],
            residence: Residence::new(usize::try_from(memory / 2).unwrap_or(usize::MAX)),
            spares: Spares::new(),
            itself: OnceLock::new(),
        }));
        device.itself.get_or_init(|| device)
    }

    fn itself(&self) -> &'static Self {
        self.itself.get().expect("devices are made resident")
    }

    /// The functions for changes of arrays.
    fn changes(&self, precision: Precision) -> &D::Program {
        self.changes[usize::from(precision == Precision::Single)].get_or_init(|| {
            let source = changes::source(D::DIALECT, precision);
            #[cfg(all(tapewright_on_device, feature = "cuda"))]
            super::nvrtc::check(&changes::source(crate::kernel::text::Dialect::Cuda, precision));
            or_fail(self.programs.source(&self.driver, source))
        })
    }

    /// Checks that the arrays of a job are on this device.
    ///
    /// # Panics
    ///
    /// When they are not, because a target with another memory has passed the job on.
    #[track_caller]
    fn check(&self, memory: Option<&'static dyn DeviceMemory>) {
        let is_here = memory.is_some_and(|memory| ptr::addr_eq(memory, self));
        assert!(
            is_here,
            "the arrays of this job are in {memory:?} and not on {}: only a target whose `memory` is this device may pass \
             it a job",
            self.driver.name()
        );
    }
}

impl<D: Driver> fmt::Debug for Device<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.driver, f)
    }
}

impl<D: Driver> OpenDevice for Device<D> {
    fn memory_use(&self) -> MemoryUse {
        self.residence.memory_use()
    }

    fn set_budget(&self, bytes: usize) -> Result<(), DeviceError> {
        self.residence.set_budget(&self.driver, bytes)
    }

    fn programs(&self) -> [usize; 2] {
        self.programs.count()
    }

    fn keep_programs_in(&self, folder: Folder) {
        self.programs.keep_in(folder);
    }
}

impl<D: Driver> DeviceMemory for Device<D> {
    fn allocate(&self, length: usize, precision: Precision) -> Arc<dyn DeviceArray> {
        let (driver, size) = (&self.driver, precision.bytes());
        if !driver.has(precision) {
            or_fail::<()>(Err(DeviceError::NoDouble { device: driver.name().to_owned() }));
        }
        let id = or_fail(self.residence.enter(driver, length * size));
        Arc::new(DeviceVector { device: self.itself(), id, length, precision })
    }
}

impl<D: Driver> DeviceArray for DeviceVector<D> {
    fn read(&self, to: &mut [u8]) {
        assert_eq!(to.len(), self.bytes(), "an array is read completely");
        or_fail(self.device.residence.read(&self.device.driver, self.id, to));
    }

    fn write(&self, from: &[u8]) {
        assert_eq!(from.len(), self.bytes(), "an array is written completely");
        let driver = &self.device.driver;
        or_fail(self.device.residence.with(driver, &[self.id], |present| driver.write(from, present.array(self.id))));
    }

    fn update(&self, change: Change<'_>, region: Region<'_>) -> bool {
        assert!(changes::fits(region, self.length), "an array has as many elements as the views of a grid");
        let boxes = Boxes::of(region, self.length);
        if boxes.count() == 0 {
            return true;
        }
        let length = if matches!(change, Change::Rows(_)) { boxes.rows() } else { self.length };
        let other = self.other(change, length);
        let ids: SmallVec<[Id; 2]> = other.into_iter().chain([self.id]).collect();
        let whole = if matches!(region, Region::All) { Whole::of(change) } else { None };
        or_fail(self.device.residence.with(&self.device.driver, &ids, |present| {
            let (x, y) = (other.map(|other| present.array(other)), present.array(self.id));
            match (whole, x) {
                (Some(Whole::Clear), _) => self.device.driver.clear(y, self.bytes()),
                (Some(Whole::Copy), Some(x)) => self.device.driver.copy(x, y, self.bytes()),
                (Some(Whole::Function(function)), _) => {
                    self.run(function, &[bytemuck::bytes_of(&boxes.count())], change, (x, y), boxes.count())
                }
                _ => {
                    let kind = changes::code_of(change).0;
                    let values = [bytemuck::bytes_of(&boxes), bytemuck::bytes_of(&kind)];
                    self.run(CHANGE, &values, change, (x, y), boxes.count())
                }
            }
        }));
        true
    }
}

impl<D: Driver> DeviceVector<D> {
    /// Number of the other array of a change, which has this length.
    fn other(&self, change: Change<'_>, length: usize) -> Option<Id> {
        let other: &dyn Any = match change {
            Change::Copy(other) | Change::Add(other) | Change::Rows(other) => other,
            Change::Fill(_) | Change::AddNumber(_) => return None,
        };
        let other = other.downcast_ref::<Self>().expect("both arrays are in the same memory");
        assert!(other.length == length && other.precision == self.precision, "two arrays of one shape");
        Some(other.id)
    }

    /// Runs a function for a change of this many elements, with these values, the number of the change, and arrays.
    fn run(
        &self,
        function: &str,
        values: &[&[u8]],
        change: Change<'_>,
        (x, y): (Option<&D::Array>, &D::Array),
        count: i64,
    ) -> Result<(), DeviceError> {
        let (_, number) = changes::code_of(change);
        let word = self.precision.word(number);
        let number = &bytemuck::bytes_of(&word)[..self.precision.bytes()];
        let values = values.iter().copied().chain([number]).map(Argument::Value);
        let arguments: SmallVec<[_; 5]> = values.chain([Argument::Array(x), Argument::Array(Some(y))]).collect();
        let items = [usize::try_from(count).expect("a count of elements"), 1, 1];
        let program = self.device.changes(self.precision);
        // SAFETY: the function takes these arguments, and the elements that are changed are in the arrays.
        unsafe { self.device.driver.run(program, function, &arguments, items, [128, 1, 1]) }
    }
}

/// Arrays that exist only while a job is carried out.
struct Scratch<'a, D: Driver> {
    parts: Option<ScratchArray<'a, D>>,
    places: Option<ScratchArray<'a, D>>,
    sums: Option<ScratchArray<'a, D>>,
    found: Option<ScratchArray<'a, D>>,
}

/// An array of a job: one of a view, of a sweep, or one that was made for this job.
enum JobArray<'a, D: Driver> {
    Nothing,
    Shared(Arc<dyn DeviceArray>),
    Scratch(&'a D::Array),
}

impl<D: Driver> JobArray<'_, D> {
    fn of(array: Option<Arc<dyn DeviceArray>>) -> Self {
        array.map_or(Self::Nothing, Self::Shared)
    }

    /// Number of the array, if it is one of a view or of a sweep.
    ///
    /// # Panics
    ///
    /// When the array is on a device of another driver.
    fn id(&self) -> Option<Id> {
        let Self::Shared(array) = self else { return None };
        let array: &dyn Any = &**array;
        Some(array.downcast_ref::<DeviceVector<D>>().expect("arrays of a job are in the memory of its target").id)
    }

    /// The raw array.
    fn raw<'p>(&'p self, present: &'p Present<'_, D>) -> Option<&'p D::Array> {
        match self {
            Self::Nothing => None,
            Self::Scratch(array) => Some(array),
            Self::Shared(_) => self.id().map(|id| present.array(id)),
        }
    }
}

impl<D: Driver> Device<D> {
    /// Makes the calls that carry out a job. `given` returns the array of an operand.
    ///
    /// # Safety
    ///
    /// The calls are those of a job of this kernel, which has been checked and borrows its operands.
    unsafe fn carry_out<V: Number>(
        &self,
        kernel: &BoundKernel<V>,
        calls: &Calls,
        given: impl Fn(Array) -> JobArray<'static, D>,
    ) -> Scratch<'_, D> {
        let program = or_fail(self.programs.kernel(&self.driver, kernel, calls.purpose));
        let allocate = |length: usize, bytes: usize| {
            let allocate = |bytes| self.residence.scratch(&self.driver, bytes);
            (length > 0).then(|| or_fail(self.spares.array(length * bytes, allocate)))
        };
        let size = size_of::<V>();
        let scratch = Scratch {
            parts: allocate(calls.parts, size),
            places: allocate(calls.places, 8),
            sums: allocate(calls.sums, size),
            found: allocate(calls.found, 8),
        };
        let calls: Vec<_> = calls.calls.iter().filter(|call| !call.items.contains(&0)).collect();
        let arrays_of = |call: &&Call| -> SmallVec<[JobArray<'_, D>; 8]> {
            let array = |array: &Option<Array>| {
                let own = match array {
                    None => return JobArray::Nothing,
                    Some(Array::Parts) => &scratch.parts,
                    Some(Array::Places) => &scratch.places,
                    Some(Array::Sums) => &scratch.sums,
                    Some(Array::Found) => &scratch.found,
                    Some(operand) => return given(*operand),
                };
                own.as_deref().map_or(JobArray::Nothing, JobArray::Scratch)
            };
            call.arrays.iter().map(array).collect()
        };
        let arrays: Vec<_> = calls.iter().map(arrays_of).collect();
        let ids: SmallVec<[Id; 16]> = arrays.iter().flatten().filter_map(JobArray::id).collect();
        or_fail(self.residence.with(&self.driver, &ids, |present| {
            calls.iter().zip(&arrays).try_for_each(|(call, arrays)| {
                let mut arguments = vec![Argument::Value(bytemuck::cast_slice(&call.launch))];
                arguments.extend(arrays.iter().map(|array| Argument::Array(array.raw(present))));
                let entered = counts::Region::begin();
                // SAFETY: promised by the caller; other arrays are as long as the calls say.
                let run = unsafe { self.driver.run(&program, &call.function, &arguments, call.items, call.group) };
                entered.end();
                run
            })
        }));
        drop(arrays);
        scratch
    }

    /// Carries out a job that computes values, or sums of rows in an array of totals.
    fn evaluate<V: Number>(
        &self,
        job: &Evaluation<'_, V>,
        calls: &Calls,
        totals: Option<Arc<dyn DeviceArray>>,
    ) -> Scratch<'_, D> {
        self.check(job.inputs().memory());
        let given = |array| match array {
            Array::Values(k) => JobArray::of(job.inputs().array(k)),
            Array::Output(k) => JobArray::of(job.output_array(k)),
            Array::Totals => JobArray::of(totals.clone()),
            other => unreachable!("an evaluation has no {other:?}"),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        unsafe { self.carry_out(job.inputs().kernel(), calls, given) }
    }

    /// The array of a gather, except those of adjoints.
    fn gathered<V: Number>(gather: &Gather<'_, V>, array: Array) -> JobArray<'static, D> {
        match array {
            Array::Values(k) => JobArray::of(gather.inputs().array(k)),
            Array::NewValues(k) => JobArray::of(gather.new_array(k)),
            Array::Seeds(k) => match gather.seed_of(k) {
                Seed::Array(array) | Seed::RowArray(array) => JobArray::Shared(array),
                Seed::Uniform(_) => JobArray::Nothing,
                Seed::Dense { .. } | Seed::Rows(_) => {
                    unreachable!("the seeds of a job are in the memory of its target")
                }
            },
            other => unreachable!("a gather has no {other:?}"),
        }
    }

    /// Runs a function that moves elements, with these values and arrays, for this many work items.
    fn move_elements<V: Number>(&self, function: &str, values: &[&[u8]], arrays: &[&JobArray<'_, D>], items: usize) {
        let entered = counts::Region::begin();
        if items > 0 {
            let program = self.changes(Precision::of::<V>());
            let ids: SmallVec<[Id; 3]> = arrays.iter().filter_map(|array| array.id()).collect();
            or_fail(self.residence.with(&self.driver, &ids, |present| {
                let values = values.iter().map(|value| Argument::Value(value));
                let arrays = arrays.iter().map(|array| Argument::Array(array.raw(present)));
                let arguments: SmallVec<[_; 5]> = values.chain(arrays).collect();
                // SAFETY: the function takes these arguments; a movement has checked that the places are in their
                // array, and that there is a value for each of them.
                unsafe { self.driver.run(program, function, &arguments, [items, 1, 1], [128, 1, 1]) }
            }));
        }
        entered.end();
    }

    /// Adds up the sums of chunks that calls have written, if there are sums that they belong to.
    fn totals<V: Number>(&self, inputs: &Inputs<'_, V>, scratch: &Scratch<'_, D>, calls: &Calls, sums: &mut [V]) {
        if sums.is_empty() {
            return;
        }
        let (chunks, found) = (inputs.chunks(), self.download::<V>(scratch.sums.as_deref(), calls.sums));
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = inputs.total(&found[k * chunks..][..chunks]);
        }
    }

    /// Reads numbers that calls have written.
    fn download<T: Pod>(&self, from: Option<&D::Array>, count: usize) -> Vec<T> {
        let mut found = vec![T::zeroed(); count];
        if let Some(from) = from {
            or_fail(self.driver.read(from, bytemuck::cast_slice_mut(&mut found)));
        }
        found
    }
}

impl<D: Driver, V: Number> Target<V> for Device<D> {
    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        Some(self.itself())
    }

    fn values(&self, job: Evaluation<'_, V>) {
        self.evaluate(&job, &Calls::of_values(&job), None);
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        let calls = Calls::of_sums(&job);
        self.totals(&job.inputs(), &self.evaluate(&job, &calls, None), &calls, sums);
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut Buffer<V>) {
        let memory = self.itself();
        sums.place_new(Some(memory));
        self.evaluate(&job, &Calls::of_row_sums(&job), Some(sums.on_device(memory)));
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        let calls = Calls::of_extremum(&job, largest);
        let scratch = self.evaluate(&job, &calls, None);
        let values: Vec<V> = self.download(scratch.sums.as_deref(), calls.sums);
        let places = self.download(scratch.found.as_deref(), calls.found);
        Calls::best(&values, &places, largest)
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        let gather = job.gather();
        self.check(gather.inputs().memory());
        let given = |array| match array {
            Array::Adjoints(k) => JobArray::of(job.adjoints(k).and_then(|adjoints| adjoints.array)),
            other => Self::gathered(gather, other),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        unsafe { self.carry_out(gather.inputs().kernel(), &Calls::of_gather(&job), given) };
    }

    fn tangents(&self, job: Propagation<'_, V>) {
        let (inputs, calls) = (job.inputs(), Calls::of_tangents(&job));
        self.check(inputs.memory());
        let given = |array| match array {
            Array::Values(k) => JobArray::of(inputs.array(k)),
            Array::NewValues(k) => JobArray::of(job.new_array(k)),
            Array::Tangents(k) => JobArray::of(job.tangents_array(k)),
            Array::NewTangents(k) => JobArray::of(job.output_array(k)),
            other => unreachable!("tangents have no {other:?}"),
        };
        // SAFETY: the job has been checked, and borrows its operands.
        let scratch = unsafe { self.carry_out(inputs.kernel(), &calls, given) };
        self.totals(&inputs, &scratch, &calls, job.into_sums());
    }

    fn transfer(&self, mut job: Movement<'_, V>) {
        let (takes, adds) = (job.selects() == Side::Source, job.adds());
        let list = match job.places() {
            Indexing::Range(_) => None,
            // A list that is too long for the device is one of the host.
            Indexing::List(list) => match list.sent_to(self.itself(), !takes) {
                None => return job.carry_out(),
                found => found,
            },
        };
        let places = job.places();
        let (values, to) = job.sent_to(self.itself());
        let (from, number) = match values {
            DeviceValues::Each(array) => (JobArray::<D>::Shared(array), V::ZERO),
            DeviceValues::All(number) => (JobArray::Nothing, number),
        };
        let (is_uniform, to) = (from.id().is_none(), JobArray::<D>::Shared(to));
        let number = bytemuck::bytes_of(&number);
        if let Indexing::Range(selection) = places {
            let moves = Moves::new(selection, (takes, adds), is_uniform);
            let values = [bytemuck::bytes_of(&moves), number];
            return self.move_elements::<V>(MOVE, &values, &[&from, &to], selection.count());
        }
        let SentList { array, places } = list.expect("it is on the device");
        let (listed, list) = (Listed::new(places, adds, is_uniform), JobArray::<D>::Shared(array));
        let (listed, arrays) = (bytemuck::bytes_of(&listed), [&list, &from, &to]);
        if takes {
            self.move_elements::<V>(TAKE, &[listed], &arrays, places);
        } else {
            self.move_elements::<V>(PUT, &[listed, number], &arrays, places);
        }
    }

    fn scan(&self, job: Scan<'_, V>) -> bool {
        let (memory, calls, groups) = (self.itself(), Calls::of_scan(&job), job.length.div_ceil(job.group));
        let read = |buffer: &Buffer<V>| {
            buffer.place(Some(memory));
            buffer.on_device(memory)
        };
        let write = |buffer: &mut Buffer<V>, is_new: bool| {
            _ = if is_new { buffer.place_new(Some(memory)) } else { buffer.place_mut(Some(memory)) };
            buffer.on_device(memory)
        };
        let ([x, y], [from, to], of_start) = match job.step {
            ScanStep::Values { x, results, .. } => ([Some(x), None], [None, Some(write(results, true))], None),
            ScanStep::Adjoints { values, seeds, sums, is_fresh, of_start } => {
                (values, [Some(read(seeds)), Some(write(sums, is_fresh))], Some(of_start))
            }
            ScanStep::Tangents { values, tangents, results, .. } => {
                (values, [Some(read(tangents)), Some(write(results, true))], None)
            }
        };
        let [x, y] = [x, y].map(|values| values.map(read));
        let given = |array| match array {
            Array::Values(_) => JobArray::of(x.clone()),
            Array::NewValues(_) => JobArray::of(y.clone()),
            Array::Seeds(_) | Array::Tangents(_) => JobArray::of(from.clone()),
            Array::Output(_) | Array::Adjoints(_) | Array::NewTangents(_) => JobArray::of(to.clone()),
            other => unreachable!("a scan has no {other:?}"),
        };
        // SAFETY: the arrays have as many elements as the job says, and are borrowed.
        let scratch = unsafe { self.carry_out(job.kernel, &calls, given) };
        if let Some(of_start) = of_start.filter(|_| job.is_exclusive) {
            *of_start = self.download::<V>(scratch.sums.as_deref(), calls.sums)[groups];
        }
        true
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        self.check(job.inputs().memory());
        let (inputs, chunks) = (job.inputs(), job.inputs().chunks());
        let sums = |calls: &Calls| {
            // SAFETY: the job has been checked, and its operands are borrowed.
            let scratch = unsafe { self.carry_out(inputs.kernel(), calls, |array| Self::gathered(job, array)) };
            self.download::<V>(scratch.sums.as_deref(), calls.sums)
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
