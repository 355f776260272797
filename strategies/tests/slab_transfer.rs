//! Slabs copied to another memory space and back, by the public interface only.

use tapewright_strategies::storage::SlabStack;

/// A stack of which the newest elements are on the host. When its window is full, the slabs are copied to a second
/// buffer, which stands for the memory of a device; when the window is empty, the newest part of the buffer is copied
/// back.
struct Mirrored {
    host: SlabStack<f64, 16, 64>,
    device: Vec<f64>,
    window: usize,
    copied: usize,
}

impl Mirrored {
    const fn new(window: usize) -> Self {
        Self { host: SlabStack::new(), device: Vec::new(), window, copied: 0 }
    }

    fn push(&mut self, value: f64) {
        if self.host.len() == self.window {
            self.host.slabs().for_each(|slab| self.device.extend_from_slice(slab));
            self.copied += self.host.len();
            self.host.clear();
        }
        self.host.push(value);
    }

    fn pop(&mut self) -> Option<f64> {
        if self.host.is_empty() {
            let from = self.device.len().saturating_sub(self.window);
            self.host.extend_from_slice(&self.device[from..]);
            self.device.truncate(from);
            self.copied += self.host.len();
        }
        self.host.pop()
    }
}

#[test]
fn c16_slabs_are_copied_to_another_memory_space_and_back() {
    let (rounds, most) = if cfg!(miri) { (8, 500) } else { (200, 2000) };
    let (mut stack, mut vec) = (Mirrored::new(16 + 3 * 64), Vec::new());
    for round in 0..rounds {
        // Up by more than down, by amounts that meet the window everywhere.
        for k in 0..(round * 617 + 91) % most {
            stack.push(f64::from(k * round));
            vec.push(f64::from(k * round));
        }
        (0..(round * 411 + 5) % (most * 3 / 4)).for_each(|_| assert_eq!(stack.pop(), vec.pop()));
        assert!(stack.host.len() <= stack.window);
        assert_eq!(stack.host.len() + stack.device.len(), vec.len());
    }
    assert!(stack.copied > 10 * stack.window, "{} elements were copied", stack.copied);
    while let Some(value) = vec.pop() {
        assert_eq!(stack.pop(), Some(value));
    }
    assert_eq!(stack.pop(), None);
}
