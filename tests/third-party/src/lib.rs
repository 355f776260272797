//! A taping strategy outside tapewright, against the contract crate alone.
