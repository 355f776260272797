//! Free space of a file.

use std::collections::BTreeMap;

/// A range of a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Free ranges of a file. Adjacent ranges are merged, and free space at the end is cut off.
#[derive(Default)]
pub(crate) struct Extents {
    /// Lengths of the free ranges, by offset.
    free: BTreeMap<u64, u64>,
    end: u64,
    largest_end: u64,
}

impl Extents {
    /// Allocates a range of `bytes`: from the smallest free range that is large enough, else at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns the size that the file would have, if that exceeds `limit`.
    pub(crate) fn take(&mut self, bytes: u64, limit: u64) -> Result<Extent, u64> {
        let fits = self.free.iter().filter(|(_, free)| **free >= bytes);
        if let Some((&offset, &free)) = fits.min_by_key(|(offset, free)| (**free, **offset)) {
            self.free.remove(&offset);
            if free > bytes {
                self.free.insert(offset + bytes, free - bytes);
            }
            return Ok(Extent { offset, bytes });
        }
        let end = self.end.saturating_add(bytes);
        if end > limit {
            return Err(end);
        }
        let extent = Extent { offset: self.end, bytes };
        self.end = end;
        self.largest_end = self.largest_end.max(end);
        Ok(extent)
    }

    pub(crate) fn give_back(&mut self, extent: Extent) {
        // Grown by the free neighbors, so that free ranges are never adjacent.
        let Extent { mut offset, mut bytes } = extent;
        if let Some((&before, &free)) = self.free.range(..offset).next_back()
            && before + free == offset
        {
            self.free.remove(&before);
            (offset, bytes) = (before, bytes + free);
        }
        if let Some(after) = self.free.remove(&(offset + bytes)) {
            bytes += after;
        }
        if offset + bytes == self.end {
            self.end = offset;
        } else {
            self.free.insert(offset, bytes);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.free.clear();
        self.end = 0;
    }

    /// Bytes in use.
    pub(crate) fn taken(&self) -> u64 {
        self.end - self.free.values().sum::<u64>()
    }

    /// Maximum size that the file has had.
    pub(crate) const fn largest_end(&self) -> u64 {
        self.largest_end
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, Extents};

    #[test]
    fn c19_space_is_found_again_in_the_smallest_hole_that_fits() {
        let mut space = Extents::default();
        let all: Vec<Extent> = [3, 1, 2, 1, 4].map(|n| space.take(n, 11).expect("within the limit")).into();
        assert_eq!(space.take(1, 11), Err(12));
        space.give_back(all[0]);
        space.give_back(all[2]);
        assert_eq!((space.taken(), space.largest_end()), (6, 11));
        assert_eq!(space.take(2, 11), Ok(all[2]), "not the hole of 3");
        assert_eq!(space.take(1, 11), Ok(Extent { offset: 0, bytes: 1 }));
        assert_eq!(space.take(2, 11), Ok(Extent { offset: 1, bytes: 2 }), "the rest of the hole");
    }

    #[test]
    fn c19_holes_merge_and_the_file_shrinks_to_what_is_taken() {
        let mut space = Extents::default();
        let all: Vec<Extent> = (0..6).map(|_| space.take(10, u64::MAX).expect("no limit")).collect();
        for i in [1, 3, 2] {
            space.give_back(all[i]);
        }
        assert_eq!(space.take(30, 60), Ok(Extent { offset: 10, bytes: 30 }));
        for i in [0, 5, 4] {
            space.give_back(all[i]);
        }
        assert_eq!((space.end, space.taken(), space.largest_end()), (40, 30, 60));
        space.clear();
        assert_eq!(space.take(60, 60), Ok(Extent { offset: 0, bytes: 60 }));
    }
}
