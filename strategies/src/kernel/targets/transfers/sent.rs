//! Lists of places in the memory of a device.

use crate::kernel::memory::device::{DeviceArray, DeviceMemory, Precision};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// Arrays that have been made of a list.
#[derive(Default)]
pub(super) struct Sent(Mutex<SmallVec<[Copy; 1]>>);

/// One array, and the memory that it is in.
struct Copy {
    memory: &'static dyn DeviceMemory,
    writes: bool,
    list: SentList,
}

/// A list on a device: integers of 32 bits without a sign.
#[derive(Clone, Debug)]
pub(crate) struct SentList {
    /// For reading elements, the places in order. For writing elements, three lists one after the other: the distinct
    /// places; for each the end of its entries; and the entries as positions in the list, in the order of their places
    /// and, for the same place, in the order of the list.
    pub(crate) array: Arc<dyn DeviceArray>,
    /// Number of places of the first of these lists.
    pub(crate) places: usize,
}

impl Sent {
    /// Returns the list on a device, which is made at its first use; `None` if it has more entries than 32 bits number.
    pub(super) fn list(
        &self,
        memory: &'static dyn DeviceMemory,
        writes: bool,
        places: &[u32],
        bound: usize,
    ) -> Option<SentList> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |copy: &&Copy| core::ptr::addr_eq(copy.memory, memory) && copy.writes == writes;
        if let Some(copy) = all.iter().find(is_it) {
            return Some(copy.list.clone());
        }
        u32::try_from(places.len()).ok()?;
        let list = if writes {
            let (words, places) = by_place(places, bound);
            SentList { array: made(memory, &words), places }
        } else {
            SentList { array: made(memory, places), places: places.len() }
        };
        all.push(Copy { memory, writes, list: list.clone() });
        Some(list)
    }
}

/// Makes an array of these integers, which are as long as numbers in single precision.
fn made(memory: &'static dyn DeviceMemory, words: &[u32]) -> Arc<dyn DeviceArray> {
    let array = memory.allocate(words.len(), Precision::Single);
    array.write(bytemuck::cast_slice(words));
    array
}

/// The three lists for writing elements at places below a bound, and the number of distinct places.
#[allow(clippy::cast_possible_truncation, reason = "the entries of the list have numbers of 32 bits")]
fn by_place(places: &[u32], bound: usize) -> (Vec<u32>, usize) {
    let mut ends = vec![0_u32; bound];
    places.iter().for_each(|place| ends[*place as usize] += 1);
    let (mut start, mut distinct) = (0, 0);
    for end in &mut ends {
        distinct += usize::from(*end > 0);
        start += core::mem::replace(end, start);
    }
    let mut words = vec![0; 2 * distinct + places.len()];
    let (first, entries) = words.split_at_mut(2 * distinct);
    for (position, place) in places.iter().enumerate() {
        let end = &mut ends[*place as usize];
        entries[*end as usize] = position as u32;
        *end += 1;
    }
    let (mut start, mut n) = (0, 0);
    for (place, end) in ends.iter().enumerate().filter(|(_, end)| **end > 0) {
        if *end > start {
            (first[n], first[distinct + n]) = (place as u32, *end);
            (start, n) = (*end, n + 1);
        }
    }
    (words, distinct)
}

#[cfg(test)]
mod tests {
    use super::by_place;

    #[test]
    fn entries_of_a_place_are_in_the_order_of_the_list() {
        assert_eq!(by_place(&[4, 1, 4, 0, 4], 5), (vec![0, 1, 4, 1, 2, 5, 3, 1, 0, 2, 4], 3));
        assert_eq!(by_place(&[2], 3), (vec![2, 1, 0], 1));
        assert_eq!(by_place(&[], 0), (vec![], 0));
    }
}
