//! The examples are beside this file; `cargo run --release --example pendulums` runs one of them.
