//! The examples are beside this file: `cargo run --release -p tapewright-ecosystem --example soap_film` runs one of
//! them.
#![forbid(unsafe_code)]

/// The chapter of the book, whose snippets are compiled here: nothing else has these crates.
#[cfg(doctest)]
#[doc = include_str!("../../book/src/ecosystem.md")]
mod ecosystem {}
