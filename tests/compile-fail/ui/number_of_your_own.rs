//! Tapes store numbers as plain bytes, so what is a number is the library's business: nobody else can implement what
//! the trait `Number` requires.

#[repr(align(64))]
struct Wide(f64);

impl tapewright::strategies::kernel::Registers for Wide {}

fn main() {
    let _ = Wide(1.0);
}
