//! Storage that spills to a store of this program, small enough for an interpreter that checks memory accesses and
//! looks for races.

#[allow(dead_code, reason = "shared with other tests")]
#[path = "../../tests/kit/tests/contract/nodes.rs"]
mod common;

use common::{Linear, Lit, Plus, Times, adjoints, eval, input};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::storage::{ScratchFile, SpillOptions, SpillStore, SpilledStack, StorageError};
use tapewright_strategies::{Jacobian, PrimalValue, Spilled, Spills, SweepError};

/// A second buffer.
#[derive(Clone, Default)]
struct Device {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Whether it changes a bit of what it returns.
    lies: Arc<AtomicBool>,
}

impl Device {
    /// Slabs of a page, and memory for three of them at most.
    fn options(&self) -> SpillOptions {
        let device = self.clone();
        SpillOptions::default().slab(4096).memory(2 * 8192).store(move || Ok(device.clone()))
    }

    fn lie(&self, lies: bool) {
        self.lies.store(lies, Ordering::Relaxed);
    }
}

impl SpillStore for Device {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut buffer = self.bytes.lock().expect("nobody panics under the lock");
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let length = buffer.len().max(start + bytes.len());
        buffer.resize(length, 0);
        buffer[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let buffer = self.bytes.lock().expect("nobody panics under the lock");
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        bytes.copy_from_slice(buffer.get(start..start + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        if self.lies.load(Ordering::Relaxed) {
            bytes[bytes.len() / 2] ^= 1;
        }
        Ok(())
    }
}

/// x·(x + ¼)ⁿ, one statement for each factor.
fn power<S: Linear + Spills>(statements: i32) {
    let device = Device::default();
    let mut tape = OwnedTape::<S>::new(S::spilled(device.options()).expect("the device is there"));
    for _ in 0..2 {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 0.749);
            (x, (0..statements).fold(x, |y, _| eval::<S, _>(&Plus(Times(x, y), Times(Lit(0.25), y)))))
        });
        assert!(S::usage(tape.tape()).on_disk > 4096, "{:?}", S::usage(tape.tape()));
        let expected = 0.999_f64.powi(statements) + 0.749 * f64::from(statements) * 0.999_f64.powi(statements - 1);
        assert!((adjoints(&tape, y, &[x])[0] / expected - 1.0).abs() < 1e-10);
        device.lie(true);
        let mut all = vec![1.0; S::identifiers(tape.tape())];
        let Err(SweepError::Storage(StorageError::Corrupt { path, .. })) = S::reverse(tape.tape(), &mut all) else {
            panic!("bytes that were never written")
        };
        assert!(path.as_os_str().is_empty());
        device.lie(false);
    }
}

#[test]
fn c16_records_come_back_from_a_second_buffer() {
    power::<Jacobian<f64, tapewright_strategies::Linear, Spilled>>(if cfg!(miri) { 1000 } else { 20_000 });
    power::<PrimalValue<f64, tapewright_strategies::Linear, Spilled>>(if cfg!(miri) { 1000 } else { 20_000 });
}

#[test]
fn c16_a_stack_spills_to_a_second_buffer() {
    let device = Device::default();
    let mut stack = SpilledStack::open(device.options()).expect("the device is there");
    let elements = if cfg!(miri) { 4000 } else { 100_000_u64 };
    (0..elements).for_each(|k| stack.push(k * k).expect("room"));
    device.lie(true);
    assert!(matches!(stack.get(3), Err(StorageError::Corrupt { .. })));
    device.lie(false);
    assert_eq!(stack.get(3), Ok(Some(9)));
    (0..elements).rev().for_each(|k| assert_eq!(stack.pop(), Ok(Some(k * k))));
    assert_eq!(stack.pop(), Ok(None));
}

#[test]
fn c16_a_scratch_file_may_be_a_store() {
    let device = Device::default();
    let file = ScratchFile::create(&device.options().disk(100)).expect("the device is there");
    let checksum = file.write_checked(b"a state", 64).expect("room");
    let mut back = [0; 7];
    file.read_checked(&mut back, 64, checksum, "the state").expect("it is there");
    assert_eq!(&back, b"a state");
    device.lie(true);
    let error = file.read_checked(&mut back, 64, checksum, "the state").expect_err("another byte");
    assert!(error.to_string().starts_with("the state is corrupt: the 7 bytes that the store"), "{error}");
    let error = file.write_at(&[1; 40], 64).expect_err("beyond the budget");
    assert!(error.to_string().contains("in the store of the program"), "{error}");
    let error = file.read_at(&mut back, 1 << 20).expect_err("nothing is there");
    assert!(matches!(error, StorageError::Io { operation: "read a slab", .. }), "{error:?}");
}

#[test]
fn c16_options_with_a_store_are_equal_to_their_clones() {
    let options = Device::default().options();
    assert_eq!(options, options.clone());
    assert_ne!(options, Device::default().options());
    assert_ne!(options, SpillOptions::default().slab(4096).memory(2 * 8192));
    assert_ne!(options, options.clone().slab(8192));
    assert!(format!("{options:?}").contains("store"));
}
