//! Stores of the program in the place of files: the same gradients, and clear errors whatever a store does.

use super::faults::{assert_all_is_there, assert_records_again, fill};
use super::{AT, MEMORY, SLAB, Spilling, TAKEN, each, each_spilled, gradients, gradients_in_memory, options, recorded};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::storage::{SpillOptions, SpillStore, StorageError};
use tapewright::{Error, Spilled};

/// A second buffer, to which bytes are copied. The test and the tape share it.
#[derive(Clone, Default)]
struct Device(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    bytes: Vec<u8>,
    fault: Fault,
    copied_in: u64,
    copied_out: u64,
}

/// What the device does wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    /// It has room for so many bytes.
    Full(usize),
    WritesPanic,
    /// After so many that do not.
    ReadsFail(usize),
    ReadsPanic,
    /// It returns, and has not touched what it was to fill.
    Nothing,
    Zeros,
    /// One bit of a record is another one.
    OneBit,
    /// The bytes of the slab before, or behind if there is none.
    AnotherSlab,
    /// The first half of what was written, and what was there before.
    Half,
    /// Three bits that the checksum of files does not notice: the highest one of a word, and two in the next word of
    /// the same lane that undo what the first one does to the sum.
    Forged,
}

impl Device {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn becomes(&self, fault: Fault) {
        self.contents().fault = fault;
    }

    fn options(&self) -> SpillOptions {
        let device = self.clone();
        options().store(move || Ok(device.clone()))
    }
}

impl SpillStore for Device {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut contents = self.contents();
        let start = usize::try_from(offset).expect("it is in memory");
        let end = start + bytes.len();
        match contents.fault {
            Fault::Full(room) if end > room => return Err(io::Error::other("the device is full")),
            Fault::WritesPanic => panic!("the device is gone"),
            _ => {}
        }
        let length = contents.bytes.len().max(end);
        contents.bytes.resize(length, 0);
        contents.bytes[start..end].copy_from_slice(bytes);
        contents.copied_in += bytes.len() as u64;
        Ok(())
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut contents = self.contents();
        let start = usize::try_from(offset).expect("it is in memory");
        let kept = &contents.bytes[start..start + bytes.len()];
        match contents.fault {
            Fault::ReadsFail(0) => return Err(io::ErrorKind::ConnectionReset.into()),
            Fault::ReadsFail(left) => {
                bytes.copy_from_slice(kept);
                contents.fault = Fault::ReadsFail(left - 1);
            }
            Fault::ReadsPanic => panic!("the device is gone"),
            Fault::Nothing => return Ok(()),
            Fault::Zeros => bytes.fill(0),
            Fault::AnotherSlab => {
                let other = if start == 0 { SLAB } else { start - SLAB };
                bytes.copy_from_slice(&contents.bytes[other..other + bytes.len()]);
            }
            Fault::Half => bytes[..kept.len() / 2].copy_from_slice(&kept[..kept.len() / 2]),
            _ => bytes.copy_from_slice(kept),
        }
        match contents.fault {
            Fault::OneBit => bytes[1001] ^= 0x04,
            Fault::Forged => {
                bytes[512 + 7] ^= 0x80;
                bytes[576 + 7] ^= 0x80;
                bytes[576 + 3] ^= 0x80;
            }
            _ => {}
        }
        contents.copied_out += bytes.len() as u64;
        Ok(())
    }
}

fn on_a_device<M: Reverse<Value = f64>, S: Spilling>() {
    let expected = gradients_in_memory::<M>(10_000, 0);
    let device = Device::default();
    let mut tape = Tape::<S>::spilled(device.options()).expect("the device is there");
    for _ in 0..2 {
        let (x, y) = recorded(&mut tape, 10_000, 0);
        assert_eq!(gradients(&mut tape, &x, &y), expected);
        let usage = tape.spill_usage();
        let contents = device.contents();
        assert_eq!((usage.written, usage.file_bytes), (contents.copied_in, contents.bytes.len() as u64));
        assert!(usage.written > 2 * MEMORY as u64 && usage.read > usage.on_disk, "{usage:?}");
        assert_eq!(usage.read, contents.copied_out);
        assert!(usage.peak_resident <= MEMORY + TAKEN + usage.in_flight_limit, "{usage:?}");
    }
    drop(tape);
    assert_eq!(Arc::strong_count(&device.0), 1, "the store is dropped with the tape");
}

#[test]
fn gradients_by_way_of_a_second_buffer_are_those_in_memory_bit_for_bit() {
    each!(on_a_device);
}

/// What a sweep says when the device returns bytes in this way.
fn is_clear(fault: Fault, error: &Error) -> bool {
    let text = error.to_string();
    match error {
        Error::Storage(StorageError::Io { operation: "read a slab", kind: io::ErrorKind::ConnectionReset, .. }) => {
            fault == Fault::ReadsFail(0) && text.contains("cannot read a slab in the store of the program")
        }
        Error::Storage(StorageError::Io { operation: "read a slab", .. }) => {
            fault == Fault::ReadsPanic && text.contains("the store panicked")
        }
        Error::Storage(StorageError::Corrupt { what, bytes, .. }) => {
            let named = what.starts_with("slab ") && *bytes == SLAB as u64;
            named && text.contains("the store of the program") && text.contains("record again")
        }
        _ => false,
    }
}

fn never_wrong<M: Reverse<Value = f64>, S: Spilling>() {
    let expected = gradients_in_memory::<M>(5000, 0);
    let device = Device::default();
    let mut tape = Tape::<S>::spilled(device.options()).expect("the device is there");
    let (x, y) = recorded(&mut tape, 5000, 0);
    let faults = [
        Fault::ReadsFail(0),
        Fault::ReadsPanic,
        Fault::Zeros,
        Fault::OneBit,
        Fault::AnotherSlab,
        Fault::Half,
        Fault::Forged,
    ];
    for fault in faults.into_iter().chain([Fault::Nothing]) {
        device.becomes(fault);
        for _ in 0..2 {
            let error = tape.sweep(&[(&y[0], 1.0)]).map(|_| ()).expect_err("bytes that were never written");
            assert!(is_clear(fault, &error), "{fault:?}: {error:?}: {error}");
        }
        let error = tape.sweep_lanes(&[(&y[0], [1.0, 2.0])]).map(|_| ()).expect_err("bytes that were never written");
        assert!(is_clear(fault, &error), "{fault:?}: {error:?}");
        let error = tape.jvp(&[(&x[0], 1.0)], &[&y[0]]).expect_err("bytes that were never written");
        assert!(is_clear(fault, &error), "{fault:?}: {error:?}");
        device.becomes(Fault::None);
        assert_eq!(gradients(&mut tape, &x, &y), expected, "after {fault:?}");
    }
    device.becomes(Fault::Zeros);
    let position = tape.position();
    tape.resume(|scope| super::steps(&scope.renew_all(&x).expect("of this recording"), 5000, 0));
    let error = tape.reset_to(&position).expect_err("bytes that were never written");
    assert!(is_clear(Fault::Zeros, &error), "{error:?}");
    device.becomes(Fault::None);
    let (x, y) = recorded(&mut tape, 5000, 0);
    assert_eq!(gradients(&mut tape, &x, &y), expected, "the next recording is safe");
}

#[test]
fn a_store_that_returns_other_bytes_or_none_is_an_error_and_never_a_derivative() {
    each!(never_wrong);
}

#[test]
fn a_replay_over_other_bytes_is_an_error() {
    let device = Device::default();
    let mut tape = Tape::<PrimalValue<f64, Linear, Spilled>>::spilled(device.options()).expect("the device is there");
    let (x, y) = recorded(&mut tape, 5000, 0);
    device.becomes(Fault::Zeros);
    let Err(Error::Storage(StorageError::Corrupt { .. })) = tape.replay(&[(&x[0], 0.4)]) else { panic!("replayed") };
    let Err(Error::Storage(StorageError::Corrupt { .. })) = tape.sweep(&[(&y[1], 1.0)]) else { panic!("swept") };
    device.becomes(Fault::None);
    tape.replay(&[(&x[0], AT[0])]).expect("readable");
    assert_eq!(gradients(&mut tape, &x, &y), gradients_in_memory::<PrimalValue>(5000, 0));
}

fn gives_out_no_identifier_twice<S: Spilling>() {
    let mut errors = 0;
    for reads in 0..1000 {
        let device = Device::default();
        let mut tape = Tape::<S>::spilled(device.options()).expect("the device is there");
        let (x, _) = recorded(&mut tape, 2000, 0);
        let position = tape.position();
        tape.resume(|scope| {
            let x = scope.renew_all(&x).expect("of this recording");
            let _: Vec<Real<S>> = (0..200).map(|k| (&x[0] * f64::from(k)).into()).collect();
            super::steps(&x, 2000, 0);
        });
        device.becomes(Fault::ReadsFail(reads));
        let outcome = tape.reset_to(&position);
        device.becomes(Fault::None);
        errors += usize::from(outcome.is_err());
        let (u, y) = tape.resume(|scope| {
            let u = scope.inputs(&[1.0625; 100]);
            let y = u.iter().fold(Real::from(1.0), |y: Real<S>, u| (&y * u).into());
            (u, y)
        });
        let adjoints = tape.sweep(&[(&y, 1.0)]).expect("readable");
        for u in &u {
            let found = adjoints.of(u).expect("its own");
            assert!((found / 1.0625_f64.powi(99) - 1.0).abs() < 1e-12, "{found} after {reads} reads");
        }
        if outcome.is_ok() {
            break;
        }
    }
    assert!((1..1000).contains(&errors), "{errors} errors");
}

#[test]
fn a_part_that_is_forgotten_after_some_of_its_slabs_have_been_read_is_forgotten_or_not() {
    each_spilled!(gives_out_no_identifier_twice);
}

fn loses_nothing<S: Spilling>(fault: Fault, says: &str) {
    let device = Device::default();
    let mut tape = Tape::<S>::spilled(device.options()).expect("the device is there");
    for _ in 0..2 {
        device.becomes(fault);
        let (error, input, kept) = fill(&mut tape);
        let Error::Storage(StorageError::Io { operation: "write a slab", path, bytes, .. }) = &error else {
            panic!("{error:?}")
        };
        assert!(path.as_os_str().is_empty() && *bytes == SLAB as u64, "{error:?}");
        let text = error.to_string();
        assert!(text.contains("cannot write a slab in the store of the program") && text.contains(says), "{text}");
        assert_all_is_there(&mut tape, &input, &kept);
        let usage = tape.spill_usage();
        assert!(usage.peak_resident <= MEMORY + TAKEN + usage.in_flight_limit, "{usage:?}");
        device.becomes(Fault::None);
        assert_records_again(&mut tape);
    }
}

#[test]
fn a_store_that_is_full_or_panics_is_an_error_that_loses_nothing() {
    each_spilled!(loses_nothing, Fault::Full(20 * SLAB), "the device is full");
    each_spilled!(loses_nothing, Fault::WritesPanic, "the store panicked");
}

#[test]
fn the_disk_budget_is_that_of_stores_too() {
    let budget = 20 * SLAB as u64;
    let options = Device::default().options().disk(budget);
    let mut tape = Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options).expect("the device is there");
    let (error, input, kept) = fill(&mut tape);
    assert!(matches!(error, Error::Storage(StorageError::DiskBudget { .. })), "{error:?}");
    assert!(error.to_string().contains("in the store of the program"), "{error}");
    assert_all_is_there(&mut tape, &input, &kept);
}

#[test]
fn a_store_that_cannot_be_opened_is_an_error() {
    fn holds<S: Spilling>() {
        let open = || Err::<Device, _>(io::Error::new(io::ErrorKind::NotConnected, "no device"));
        let error = Tape::<S>::spilled(options().store(open)).expect_err("there is none");
        let Error::Storage(StorageError::Io { operation: "open the store", kind, .. }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(*kind, io::ErrorKind::NotConnected);
        assert!(error.to_string().contains("cannot open the store of the program: no device"), "{error}");
        let error = Tape::<S>::spilled(options().store(|| -> io::Result<Device> { panic!("no driver") }));
        assert!(error.expect_err("there is none").to_string().contains("the store panicked"));
    }
    each_spilled!(holds);
}

/// A store that takes part in the recording that it serves.
struct Meddler<S: Spilling> {
    device: Device,
    recording: ThreadId,
    variable: Arc<Mutex<Option<Real<S>>>>,
}

impl<S: Spilling> SpillStore for Meddler<S>
where
    Real<S>: Send,
{
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        // So that the thread that records tries again.
        if thread::current().id() != self.recording {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if let Some(x) = &*self.variable.lock().unwrap_or_else(PoisonError::into_inner) {
            let _statement: Real<S> = (x.sin() * x).into();
        }
        self.device.write(bytes, offset)
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.device.read(bytes, offset)
    }
}

fn meddled_with<S: Spilling>()
where
    Real<S>: Send,
{
    let variable = Arc::default();
    let recording = thread::current().id();
    let of_the_store = Arc::clone(&variable);
    let open = move || {
        let variable = Arc::clone(&of_the_store);
        Ok(Meddler::<S> { device: Device::default(), recording, variable })
    };
    let mut tape = Tape::<S>::spilled(options().store(open)).expect("the device is there");
    let mut first = None;
    let result = tape.try_record(|scope| {
        let x = scope.input(0.5);
        first = Some(x.clone());
        *variable.lock().expect("not poisoned") = Some(x.clone());
        let _last = (0..100_000).fold(x, |y, _| y.cos().into());
    });
    let error = result.expect_err("a store must not record");
    assert!(error.to_string().contains("the store panicked"), "{error}");
    *variable.lock().unwrap_or_else(PoisonError::into_inner) = None;
    drop(first);
    assert_records_again(&mut tape);
}

#[test]
fn a_store_that_records_on_the_tape_it_serves_is_an_error() {
    meddled_with::<Jacobian<f64, Linear, Spilled>>();
    #[cfg(feature = "wide")]
    meddled_with::<PrimalValue<f64, Linear, Spilled>>();
}

fn energy<S: Taping<Value = f64>>(x: &View<S, 1>) -> Real<S> {
    let mut u = x.clone();
    for _ in 0..40 {
        parallel_for(1..511, &mut u, |u| (u.at::<0>() + 0.1 * u.at::<0>() * (u.at::<-1>() - u.at::<1>()),));
    }
    parallel_sum(u.all(), &u, |u| u.at::<0>().square())
}

fn slopes<S: Reverse<Value = f64>>(tape: &mut Tape<S>) -> Result<Vec<u64>, Error> {
    let start: Vec<f64> = (0..512).map(|k| (f64::from(k) * 1e-2).sin()).collect();
    let (x, y) = tape.try_record(|scope| {
        let x = scope.view([512], &start);
        let y = energy(&x);
        (x, y)
    })?;
    Ok(tape.sweep(&[(&y, 1.0)])?.of_view(&x)?.iter().map(|slope| slope.to_bits()).collect())
}

fn arrays_on_a_device<M: Reverse<Value = f64>, S: Spilling>() {
    let expected = slopes(&mut Tape::<M>::new()).expect("in memory");
    let devices: Arc<Mutex<Vec<Device>>> = Arc::default();
    let opened = Arc::clone(&devices);
    let options = options().store(move || {
        let device = Device::default();
        opened.lock().expect("not poisoned").push(device.clone());
        Ok(device)
    });
    let mut tape = Tape::<S>::spilled(options).expect("the device is there");
    assert_eq!(slopes(&mut tape).expect("room"), expected);
    let usage = tape.spill_usage();
    assert!(usage.arrays_on_disk > MEMORY as u64, "{usage:?}");
    let arrays = {
        let devices = devices.lock().expect("not poisoned");
        assert_eq!(devices.len(), 2, "one for records, one for arrays");
        devices[1].clone()
    };
    for fault in [Fault::Zeros, Fault::OneBit, Fault::ReadsFail(0)] {
        arrays.becomes(fault);
        let error = slopes(&mut tape).expect_err("an array that was never kept");
        assert!(matches!(error, Error::Storage(_)), "{fault:?}: {error:?}");
        arrays.becomes(Fault::None);
        assert_eq!(slopes(&mut tape).expect("room"), expected, "after {fault:?}");
    }
}

#[test]
fn arrays_of_launches_go_to_a_store_of_their_own() {
    each!(arrays_on_a_device);
}
