//! A nested recording belongs to the thread that started it.

use tapewright::checkpoint::TapePool;
use tapewright::prelude::*;

fn main() {
    let pool = TapePool::<Jacobian>::new();
    let nested = pool.nested();
    std::thread::spawn(move || drop(nested));
}
