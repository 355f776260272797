//! The contract between statements and strategies, by nodes of expressions that know nothing of `Real`. All of it is
//! small enough for an interpreter that checks memory accesses, and `.ci/miri.sh` runs most.

/// Runs tests under a strategy of each kind, each in a module of its own.
macro_rules! under_each {
    ($($(#[$condition:meta])? $name:ident)*) => {
        mod jacobian { $( $(#[$condition])? #[test] fn $name() { super::$name::<tapewright_strategies::Jacobian>(); } )* }
        mod primal_value { $( $(#[$condition])? #[test] fn $name() { super::$name::<tapewright_strategies::PrimalValue>(); } )* }
        mod continuation { $( $(#[$condition])? #[test] fn $name() { super::$name::<tapewright_strategies::Continuation>(); } )* }
    };
}

#[path = "contract/continuations.rs"]
mod continuations;
#[path = "contract/nodes.rs"]
mod nodes;
#[path = "contract/recordings.rs"]
mod recordings;
#[path = "contract/records.rs"]
mod records;
#[path = "contract/soundness.rs"]
mod soundness;
#[path = "contract/sweeps.rs"]
mod sweeps;
