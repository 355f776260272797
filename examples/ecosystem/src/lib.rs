//! What several examples share. They are beside this folder: `cargo run --release -p tapewright-ecosystem --example
//! soap_film` runs one of them.
#![forbid(unsafe_code)]

use core::fmt;
use std::process::ExitCode;

pub mod adaptors;
pub mod cholesky;
pub mod clock;
pub mod minimize;
pub mod text;

/// The exit code of a program with this result; an error is printed as people read it.
#[must_use]
pub fn exit_code<E: fmt::Display>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The chapter of the book, whose snippets are compiled here: nothing else has these crates.
#[cfg(doctest)]
#[doc = include_str!("../../../book/src/ecosystem.md")]
mod ecosystem {}
