//! A method that is generic over the strategy cannot be called through `dyn`.

use tapewright::prelude::*;

trait Instrument {
    fn price<S: Strategy>(&self, x: &[Real<S>]) -> Real<S>;
}

struct Book {
    instruments: Vec<Box<dyn Instrument>>,
}

fn main() {}
