//! The book: what a program needs to know beyond single items.
//!
//! It is for reading only, and in no program. Formulas are as in the book; drawings are left out.
//!
#![doc = include_str!("contents.md")]
//!
//! The files are generated from the book's chapters, by a test.

/// Lists the chapters. The row `kernels;` becomes `#[doc = include_str!("kernels.md")] pub mod kernels {}`.
macro_rules! chapters {
    ($($name:ident;)*) => {
        $(
            #[doc = include_str!(concat!(stringify!($name), ".md"))]
            pub mod $name {}
        )*
    };
}

chapters! {
    across_machines;
    checkpointing;
    choosing;
    closed;
    containers;
    continuations;
    conventions;
    devices;
    ecosystem;
    equations;
    external;
    forward;
    from_other_tools;
    functions;
    heston;
    index_management;
    introduction;
    kernel_recipes;
    kernels;
    launches;
    matrices;
    messages;
    nan;
    own_strategy;
    packs;
    parallel;
    pendulums;
    poses;
    programs;
    residuals;
    second;
    sparse;
    statements;
    storage;
    sweeps;
    tape_in_60_lines;
    tapes;
    tracing;
    views;
    why_not;
}
