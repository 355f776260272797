//! Memory that the host cannot read, like a device's: arrays are copied there and back.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tapewright_strategies::Number;
use tapewright_strategies::kernel::ir::OPERANDS;
use tapewright_strategies::kernel::memory::{Buffer, Change, DeviceArray, DeviceMemory, Region, device_failed};
use tapewright_strategies::kernel::targets::{Accumulation, Evaluation, Found, Gather, Propagation, Space, Target};
use tapewright_strategies::kernel::text::Precision;
use tapewright_strategies::kernel::{Interpreter, Registers};

/// Memory that counts what is copied to it and back.
#[derive(Debug)]
pub struct RemoteMemory {
    /// True if changes of elements are carried out here.
    changes: bool,
    written: AtomicUsize,
    read: AtomicUsize,
    /// Number of operations before one fails.
    left: AtomicUsize,
}

impl RemoteMemory {
    const fn new(changes: bool) -> Self {
        Self { changes, written: AtomicUsize::new(0), read: AtomicUsize::new(0), left: AtomicUsize::new(usize::MAX) }
    }

    /// Lets the operation after this many fail, and all later ones; `usize::MAX` for none.
    pub fn fail_after(&self, operations: usize) {
        self.left.store(operations, Ordering::Relaxed);
    }

    /// This memory, which is one of the four.
    fn itself(&self) -> &'static Self {
        MEMORIES.into_iter().find(|memory| core::ptr::eq(*memory, self)).expect("one of the four")
    }

    /// Counts an operation.
    fn count(&self, operation: &str) {
        let next = |left: usize| if left == usize::MAX { None } else { Some(left.saturating_sub(1)) };
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) == Ok(0) {
            device_failed(format!("the remote memory cannot {operation} an array: it was told to fail"));
        }
    }

    /// Number of arrays that have been copied there and back since the last call.
    pub fn copied(&self) -> [usize; 2] {
        [&self.written, &self.read].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

impl DeviceMemory for RemoteMemory {
    fn allocate(&self, length: usize, precision: Precision) -> Arc<dyn DeviceArray> {
        self.count("allocate");
        let size = if precision == Precision::Double { 8 } else { 4 };
        // What is there is unspecified: not zero.
        let bytes = Mutex::new(vec![0x7f; length * size]);
        Arc::new(RemoteArray { memory: self.itself(), precision, bytes })
    }
}

/// An array in [`RemoteMemory`].
#[derive(Debug)]
struct RemoteArray {
    memory: &'static RemoteMemory,
    precision: Precision,
    bytes: Mutex<Vec<u8>>,
}

impl RemoteArray {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the elements in a region by those that `new` returns for the old ones and their numbers.
    fn replace(&self, region: Region<'_>, new: impl Fn(usize, f64) -> f64) {
        let mut all: Vec<f64> = Vec::new();
        let mut bytes = self.bytes();
        match self.precision {
            Precision::Double => all.extend(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes))),
            Precision::Single => {
                all.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_ne_bytes(*bytes))));
            }
        }
        let mut piece = |piece: core::ops::Range<usize>| {
            for k in piece {
                all[k] = new(k, all[k]);
            }
        };
        match region {
            Region::All => piece(0..bytes.len() / if self.precision == Precision::Double { 8 } else { 4 }),
            Region::Inside(grid) => grid.inside(piece),
            Region::Outside(grid) => grid.outside(piece),
        }
        bytes.clear();
        for number in all {
            match self.precision {
                Precision::Double => bytes.extend(number.to_ne_bytes()),
                #[allow(clippy::cast_possible_truncation, reason = "it is a sum of two numbers of this type, rounded")]
                Precision::Single => bytes.extend((number as f32).to_ne_bytes()),
            }
        }
    }

    fn numbers(&self) -> Vec<f64> {
        let bytes = self.bytes();
        match self.precision {
            Precision::Double => bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect(),
            Precision::Single => {
                bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_ne_bytes(*bytes))).collect()
            }
        }
    }
}

impl DeviceArray for RemoteArray {
    fn read(&self, to: &mut [u8]) {
        self.memory.count("read");
        self.memory.read.fetch_add(1, Ordering::Relaxed);
        to.copy_from_slice(&self.bytes());
    }

    fn write(&self, from: &[u8]) {
        self.memory.count("write");
        self.memory.written.fetch_add(1, Ordering::Relaxed);
        self.bytes().copy_from_slice(from);
    }

    fn update(&self, change: Change<'_>, region: Region<'_>) -> bool {
        if !self.memory.changes {
            return false;
        }
        let of = |other: &dyn DeviceArray| {
            let other: &dyn Any = other;
            other.downcast_ref::<Self>().expect("an array of this memory").numbers()
        };
        match change {
            Change::Fill(number) => self.replace(region, |_, _| number),
            Change::AddNumber(number) => self.replace(region, |_, old| old + number),
            Change::Copy(other) => {
                let other = of(other);
                self.replace(region, |k, _| other[k]);
            }
            Change::Add(other) => {
                let other = of(other);
                self.replace(region, |k, old| old + other[k]);
            }
            // Not here: the host does it.
            Change::Rows(_) => return false,
        }
        true
    }
}

/// Memory whose arrays are changed by the host.
pub static PLAIN: RemoteMemory = RemoteMemory::new(false);
/// Memory that fails when it is told to.
pub static FAILING: RemoteMemory = RemoteMemory::new(false);
/// Memory whose arrays are changed there.
pub static CHANGING: RemoteMemory = RemoteMemory::new(true);
/// Memory that one test counts the copies of. Its arrays are changed there.
pub static COUNTING: RemoteMemory = RemoteMemory::new(true);

/// Number of the memory of a space: [`PLAIN`], [`CHANGING`], [`FAILING`] or [`COUNTING`].
pub const MEMORIES: [&RemoteMemory; 4] = [&PLAIN, &CHANGING, &FAILING, &COUNTING];

/// Targets with arrays in one of the [`MEMORIES`], which pass jobs on to the host.
#[derive(Clone, Copy, Debug)]
pub struct Remote<const MEMORY: usize>;

impl<V: Number, const MEMORY: usize> Space<V> for Remote<MEMORY> {
    fn target() -> &'static dyn Target<V> {
        &Self
    }
}

impl<V: Number, const MEMORY: usize> Target<V> for Remote<MEMORY> {
    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        Some(MEMORIES[MEMORY])
    }

    fn values(&self, job: Evaluation<'_, V>) {
        assert!(job.inputs().values(0).is_null(), "a device has no addresses");
        Registers.values(job);
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        Registers.sums(job, sums);
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut Buffer<V>) {
        Interpreter.row_sums(job, sums);
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        Registers.extremum(job, largest)
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        Registers.gather(job);
    }

    fn tangents(&self, job: Propagation<'_, V>) {
        assert!(job.tangents(0).is_null(), "a device has no addresses");
        Registers.tangents(job);
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        Target::scalars(&Registers, job)
    }
}
