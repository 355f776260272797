//! The examples are beside this file; `cargo run --release --example quickstart` runs one of them.
