//! A recording belongs to the thread that started it.

use tapewright::prelude::*;

fn main() {
    let recording = Tape::<Jacobian>::new().start();
    std::thread::spawn(move || drop(recording));
}
