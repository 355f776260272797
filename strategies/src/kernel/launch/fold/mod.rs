//! Folds and scans by a function of two values.
//!
//! An ordered rule combines the elements one after the other. A rule that is declared associative does so in *groups*
//! of fixed length, so the division depends on the number of elements only. The first group, the *head*, is combined
//! in order, as all elements of an ordered rule are. Each group behind it, in the *tail*, is combined on its own first,
//! element k to the *local* value lₖ. The result is yₖ = c ∘ lₖ, where the *carry* c is the result before the group.
//!
//! Sweeps differentiate this computation and not the one in order, so slopes belong to the values even if the rule is
//! not associative. With the adjoint sₖ of each lₖ, in the group from c on:
//!
//! ```text
//! adjoint of c = Σ ȳₖ·∂₁(c, lₖ)        sₖ = ȳₖ·∂₂(c, lₖ) + sₖ₊₁·∂₁(lₖ, xₖ₊₁)        x̄ₖ = sₖ·∂₂(lₖ₋₁, xₖ)
//! ```
//!
//! Targets with a memory carry out scans in groups, with the same operations in the same order: `text::scans`.
//!
//! * `rule`: the function and its partial derivatives. `division`: groups, and loops over several of them side by side.
//! * `chain`: parts of the tail on threads, with a value that is passed from part to part.
//! * `values`, `adjoints`, `tangents`: the loops over head and tail.
//! * `links`: the computation as scalar statements. `launch`: the entry of a recording.

mod adjoints;
mod chain;
mod division;
mod launch;
mod links;
mod rule;
mod tangents;
mod values;

pub use launch::FoldLaunch;
pub use rule::FoldKernel;
