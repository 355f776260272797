//! The examples are beside this file; `cargo run --release -p tapewright-ecosystem --example soap_film` runs one of them.
#![forbid(unsafe_code)]
