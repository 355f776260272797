//! Arrays on a device. Within a budget of bytes: those that were not used for the longest time move to the host, and
//! come back when they are used.

use super::driver::{DeviceError, Driver};
use super::space::MemoryUse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of an array among those of its device.
pub(super) type Id = u64;

/// The arrays on a device.
pub(super) struct Residence<D: Driver>(Mutex<State<D>>);

struct State<D: Driver> {
    arrays: HashMap<Id, Resident<D>>,
    /// Arrays that are on the device, by the time of their last use.
    order: BTreeMap<u64, Id>,
    /// Number of uses so far. No two arrays are used at the same time.
    time: u64,
    memory: MemoryUse,
}

/// An array, wherever it is.
struct Resident<D: Driver> {
    bytes: usize,
    /// Time of the last use.
    time: u64,
    place: Place<D>,
}

enum Place<D: Driver> {
    Device(Arc<D::Array>),
    Host(Vec<u8>),
}

/// Arrays that stay on the device as long as this is borrowed.
pub(super) struct Present<'a, D: Driver>(&'a State<D>);

impl<D: Driver> Present<'_, D> {
    /// The array of this number.
    ///
    /// # Panics
    ///
    /// When it was not asked for.
    pub(super) fn array(&self, id: Id) -> &D::Array {
        match self.0.arrays.get(&id).map(|resident| &resident.place) {
            Some(Place::Device(array)) => array,
            _ => panic!("array {id} is not on the device"),
        }
    }
}

impl<D: Driver> Residence<D> {
    pub(super) fn new(budget: usize) -> Self {
        Self(Mutex::new(State {
            arrays: HashMap::new(),
            order: BTreeMap::new(),
            time: 0,
            memory: MemoryUse { used: 0, peak: 0, moved: 0, budget },
        }))
    }

    fn state(&self) -> MutexGuard<'_, State<D>> {
        // What fails under the lock returns an error, and leaves each array in one place.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes that are there, and begins to look for the peak anew.
    pub(super) fn memory_use(&self) -> MemoryUse {
        let mut state = self.state();
        let found = state.memory;
        state.memory.peak = found.used;
        found
    }

    /// Changes the budget, and moves what exceeds it.
    pub(super) fn set_budget(&self, driver: &D, budget: usize) -> Result<(), DeviceError> {
        let mut state = self.state();
        state.memory.budget = budget;
        while state.memory.used > budget && state.move_oldest(driver, u64::MAX)? {}
        Ok(())
    }

    /// Makes an array with unspecified contents.
    pub(super) fn enter(&self, driver: &D, bytes: usize) -> Result<Id, DeviceError> {
        let mut state = self.state();
        let array = state.allocate(driver, bytes, u64::MAX)?;
        state.time += 1;
        let (time, id) = (state.time, state.time);
        state.order.insert(time, id);
        state.arrays.insert(id, Resident { bytes, time, place: Place::Device(Arc::new(array)) });
        Ok(id)
    }

    /// Frees an array.
    pub(super) fn leave(&self, id: Id) {
        let mut state = self.state();
        let Some(resident) = state.arrays.remove(&id) else { return };
        if matches!(resident.place, Place::Device(_)) {
            state.order.remove(&resident.time);
            state.memory.used -= resident.bytes;
        } else {
            state.memory.moved -= resident.bytes;
        }
        // Freed without the lock, since some drivers wait for what is queued.
        drop(state);
        drop(resident);
    }

    /// Copies an array to the host, after everything that is queued.
    pub(super) fn read(&self, driver: &D, id: Id, to: &mut [u8]) -> Result<(), DeviceError> {
        let array = {
            let mut state = self.state();
            state.touch(id);
            match &state.arrays[&id].place {
                Place::Device(array) => Arc::clone(array),
                Place::Host(bytes) => {
                    to.copy_from_slice(bytes);
                    return Ok(());
                }
            }
        };
        driver.read(&array, to)
    }

    /// Calls `work` with these arrays on the device. Whatever `work` does with them is queued when it returns.
    pub(super) fn with<T>(
        &self,
        driver: &D,
        ids: &[Id],
        work: impl FnOnce(&Present<'_, D>) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let mut state = self.state();
        let since = state.time + 1;
        ids.iter().for_each(|id| state.touch(*id));
        ids.iter().try_for_each(|id| state.bring_in(driver, *id, since))?;
        work(&Present(&state))
    }

    /// Makes an array that is not counted, and moves others to the host if the device has no memory for it.
    pub(super) fn scratch(&self, driver: &D, bytes: usize) -> Result<D::Array, DeviceError> {
        self.state().allocate_beside(driver, bytes, u64::MAX)
    }
}

impl<D: Driver> State<D> {
    /// Notes that an array is used now.
    fn touch(&mut self, id: Id) {
        self.time += 1;
        let resident = self.arrays.get_mut(&id).expect("arrays leave once");
        if matches!(resident.place, Place::Device(_)) {
            self.order.remove(&resident.time);
            self.order.insert(self.time, id);
            resident.time = self.time;
        }
    }

    /// Brings an array to the device; only arrays that were used before `since` may leave it for that.
    fn bring_in(&mut self, driver: &D, id: Id, since: u64) -> Result<(), DeviceError> {
        let bytes = match &self.arrays[&id].place {
            Place::Device(_) => return Ok(()),
            Place::Host(contents) => contents.len(),
        };
        let array = self.allocate(driver, bytes, since)?;
        self.time += 1;
        let Some(resident) = self.arrays.get_mut(&id) else { return Ok(()) };
        if let Place::Host(contents) = &resident.place
            && let Err(error) = driver.write(contents, &array)
        {
            self.memory.used -= bytes;
            return Err(error);
        }
        (resident.place, resident.time) = (Place::Device(Arc::new(array)), self.time);
        self.order.insert(self.time, id);
        self.memory.moved -= bytes;
        Ok(())
    }

    /// Allocates an array within the budget.
    fn allocate(&mut self, driver: &D, bytes: usize, since: u64) -> Result<D::Array, DeviceError> {
        let budget = self.memory.budget;
        while self.memory.used.saturating_add(bytes) > budget {
            if !self.move_oldest(driver, since)? {
                let (device, used) = (driver.name().to_owned(), self.memory.used);
                return Err(DeviceError::OverBudget { device, bytes, used, budget });
            }
        }
        let array = self.allocate_beside(driver, bytes, since)?;
        self.memory.used += bytes;
        self.memory.peak = self.memory.peak.max(self.memory.used);
        Ok(array)
    }

    /// Allocates an array; others move to the host if the device has no memory for it.
    fn allocate_beside(&mut self, driver: &D, bytes: usize, since: u64) -> Result<D::Array, DeviceError> {
        loop {
            match driver.allocate(bytes.max(1)) {
                Err(error @ DeviceError::OutOfMemory { .. }) if !self.move_oldest(driver, since)? => return Err(error),
                Err(DeviceError::OutOfMemory { .. }) => {}
                other => return other,
            }
        }
    }

    /// Moves the array to the host that was not used for the longest time, if that was before `since`. Returns false if
    /// there is none.
    fn move_oldest(&mut self, driver: &D, since: u64) -> Result<bool, DeviceError> {
        let Some((&time, &id)) = self.order.first_key_value() else { return Ok(false) };
        if time >= since {
            return Ok(false);
        }
        let bytes = self.arrays[&id].bytes;
        let mut contents = Vec::new();
        let Ok(()) = contents.try_reserve_exact(bytes) else {
            return Err(DeviceError::failed(driver.name(), "an array cannot move to the host", "no memory there"));
        };
        contents.resize(bytes, 0);
        if let Place::Device(array) = &self.arrays[&id].place {
            driver.read(array, &mut contents)?;
        }
        self.order.remove(&time);
        self.arrays.entry(id).and_modify(|resident| resident.place = Place::Host(contents));
        self.memory.used -= bytes;
        self.memory.moved += bytes;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::driver::{Argument, DeviceError, Driver, Keep};
    use super::{Id, Residence};
    use crate::kernel::memory::device::Precision;
    use crate::kernel::text::Dialect;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, Mutex};

    /// A device with so many bytes of memory, which fails to read if it is told so.
    #[derive(Debug)]
    struct Small {
        free: Arc<AtomicUsize>,
        fails: AtomicBool,
    }

    #[derive(Debug)]
    struct Bytes(Mutex<Vec<u8>>, Arc<AtomicUsize>);

    impl Drop for Bytes {
        fn drop(&mut self) {
            self.1.fetch_add(self.0.get_mut().expect("no panic").len(), Relaxed);
        }
    }

    impl Driver for Small {
        type Array = Bytes;
        type Program = ();
        const DIALECT: Dialect = Dialect::C;

        fn name(&self) -> &'static str {
            "a small device"
        }

        fn has(&self, _: Precision) -> bool {
            true
        }

        fn allocate(&self, bytes: usize) -> Result<Bytes, DeviceError> {
            let device = self.name().to_owned();
            let taken = self.free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(bytes));
            taken.map_err(|_| DeviceError::OutOfMemory { device, bytes })?;
            Ok(Bytes(Mutex::new(vec![0xff; bytes]), Arc::clone(&self.free)))
        }

        fn read(&self, from: &Bytes, to: &mut [u8]) -> Result<(), DeviceError> {
            if self.fails.load(Relaxed) {
                return Err(DeviceError::failed(self.name(), "read", "it was told to"));
            }
            to.copy_from_slice(&from.0.lock().expect("no panic")[..to.len()]);
            Ok(())
        }

        fn write(&self, from: &[u8], to: &Bytes) -> Result<(), DeviceError> {
            to.0.lock().expect("no panic")[..from.len()].copy_from_slice(from);
            Ok(())
        }

        fn copy(&self, from: &Bytes, to: &Bytes, bytes: usize) -> Result<(), DeviceError> {
            let contents = from.0.lock().expect("no panic")[..bytes].to_owned();
            self.write(&contents, to)
        }

        fn clear(&self, array: &Bytes, bytes: usize) -> Result<(), DeviceError> {
            self.write(&vec![0; bytes], array)
        }

        fn build(&self, _: &str, _: Keep<'_>) -> Result<(), DeviceError> {
            Ok(())
        }

        fn identity(&self) -> String {
            String::new()
        }

        fn load(&self, _: &[u8]) -> Result<(), DeviceError> {
            Ok(())
        }

        unsafe fn run(
            &self,
            (): &(),
            _: &str,
            _: &[Argument<'_, Self>],
            _: [usize; 3],
            _: [usize; 3],
        ) -> Result<(), DeviceError> {
            Ok(())
        }
    }

    fn small(bytes: usize) -> Small {
        Small { free: Arc::new(AtomicUsize::new(bytes)), fails: AtomicBool::new(false) }
    }

    fn write(
        residence: &Residence<Small>,
        driver: &Small,
        id: Id,
        number: u8,
        length: usize,
    ) -> Result<(), DeviceError> {
        residence.with(driver, &[id], |present| driver.write(&vec![number; length], present.array(id)))
    }

    fn contents(residence: &Residence<Small>, driver: &Small, id: Id, length: usize) -> Vec<u8> {
        let mut found = vec![0; length];
        residence.read(driver, id, &mut found).expect("read");
        found
    }

    /// Arrays of several lengths are made, written, used together and freed at random, within the budget.
    #[test]
    fn arrays_keep_their_elements_wherever_they_are() {
        const BUDGET: usize = 1000;
        let driver = small(BUDGET + 100);
        let residence = Residence::<Small>::new(BUDGET);
        let (mut seed, mut live, mut moves) = (1_u64, Vec::<(Id, u8, usize)>::new(), 0);
        let mut draw = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).expect("31 bits") % bound
        };
        for round in 0..4000_u32 {
            match draw(4) {
                0 if live.len() < 40 => {
                    let (length, number) = (draw(300), (round % 251) as u8);
                    let id = residence.enter(&driver, length).expect("entered");
                    write(&residence, &driver, id, number, length).expect("written");
                    live.push((id, number, length));
                }
                1 if !live.is_empty() => residence.leave(live.swap_remove(draw(live.len())).0),
                2 if live.len() > 2 => {
                    let ids: Vec<Id> = (0..3).map(|_| live[draw(live.len())].0).collect();
                    let all = residence.with(&driver, &ids, |present| {
                        Ok(ids.iter().map(|id| present.array(*id).0.lock().expect("no panic").len()).sum::<usize>())
                    });
                    assert!(all.is_ok_and(|all| all <= 3 * BUDGET));
                }
                _ if !live.is_empty() => {
                    let (id, number, length) = live[draw(live.len())];
                    assert_eq!(contents(&residence, &driver, id, length), vec![number; length]);
                }
                _ => {}
            }
            let memory = residence.memory_use();
            assert!(memory.peak <= BUDGET, "{memory:?}");
            assert_eq!(memory.used + memory.moved, live.iter().map(|(_, _, length)| length).sum::<usize>());
            moves += usize::from(memory.moved > 0);
        }
        assert!(moves > 1000, "the budget was spent in {moves} rounds");
        live.iter().for_each(|(id, ..)| residence.leave(*id));
        let memory = residence.memory_use();
        assert_eq!((memory.used, memory.moved, driver.free.load(Relaxed)), (0, 0, BUDGET + 100));
    }

    #[test]
    fn what_is_needed_at_once_has_to_fit() {
        let driver = small(10_000);
        let residence = Residence::<Small>::new(100);
        let ids = [0; 3].map(|_| residence.enter(&driver, 40).expect("one at a time"));
        let error = residence.with(&driver, &ids, |_| Ok(())).expect_err("120 bytes");
        let device = "a small device".to_owned();
        assert_eq!(error, DeviceError::OverBudget { device, bytes: 40, used: 80, budget: 100 });
        residence.with(&driver, &ids[..2], |_| Ok(())).expect("80 bytes");
        residence.set_budget(&driver, 50).expect("moved");
        assert_eq!((residence.memory_use().used, residence.memory_use().moved), (40, 80));
        assert!(matches!(residence.enter(&driver, 51), Err(DeviceError::OverBudget { used: 0, .. })));
        residence.set_budget(&driver, 120).expect("nothing to move");
        residence.with(&driver, &ids, |_| Ok(())).expect("120 bytes");
    }

    #[test]
    fn a_device_that_is_full_before_its_budget_is_spent_moves_arrays_too() {
        let driver = small(100);
        let residence = Residence::<Small>::new(10_000);
        let first = residence.enter(&driver, 60).expect("it fits");
        write(&residence, &driver, first, 7, 60).expect("written");
        let second = residence.enter(&driver, 60).expect("the first one moves");
        assert_eq!(residence.memory_use().moved, 60);
        assert_eq!(contents(&residence, &driver, first, 60), [7; 60]);
        let error = residence.with(&driver, &[first, second], |_| Ok(())).expect_err("120 bytes");
        assert!(matches!(error, DeviceError::OutOfMemory { bytes: 60, .. }), "{error}");
        drop(residence.scratch(&driver, 90).expect("the second one moves"));
        assert_eq!(residence.memory_use().moved, 120);
    }

    #[test]
    fn an_array_that_cannot_move_stays() {
        let driver = small(100);
        let residence = Residence::<Small>::new(100);
        let first = residence.enter(&driver, 60).expect("it fits");
        write(&residence, &driver, first, 7, 60).expect("written");
        driver.fails.store(true, Relaxed);
        assert!(matches!(residence.enter(&driver, 60), Err(DeviceError::Failed { .. })));
        driver.fails.store(false, Relaxed);
        assert_eq!(contents(&residence, &driver, first, 60), [7; 60]);
        assert_eq!((residence.memory_use().used, residence.memory_use().moved), (60, 0));
    }
}
