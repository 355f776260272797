//! Sparsity patterns of recordings.

use super::Tape;
use crate::error::Error;
use crate::expr::Real;
use crate::pattern::{Asked, Domain, Found, Memory, Pattern, Small, of_rows};
use tapewright_strategies::Reverse;
use tapewright_strategies::contract::Order;
use tapewright_strategies::recording::Numbering;

/// # Sparsity
impl<S: Reverse> Tape<S> {
    /// The pattern of the Jacobian matrix of these outputs with respect to these inputs: an entry where an output
    /// depends, statement by statement, on an input. Nothing is computed but sets of inputs.
    ///
    /// External functions, stages and time loops are taken to depend on all of their inputs. Launches of [array
    /// kernels](crate::kernels) are followed element by element. A variable among `inputs` that is not an input of the
    /// recording has an empty column, because its adjoint is 0 in every sweep.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when a variable belongs to another recording; [`Error::Sweep`] when there are
    /// messages in the recording, and when the strategy does not tell what statements depend on (all recording
    /// strategies of this library do); [`Error::Storage`] when records cannot be read back from disk.
    pub fn jacobian_pattern(&self, inputs: &[Real<S>], outputs: &[Real<S>]) -> Result<Pattern, Error> {
        self.with_found(|found| {
            self.walk(Asked::Jacobian, (inputs, outputs), found)?;
            let of = |slot: &usize| found.domains.get(*slot).unwrap_or(&Domain::EMPTY);
            Ok(of_rows(inputs.len(), found.outputs.iter().map(of)))
        })
    }

    /// The pattern of the Hessian matrix of this output with respect to these inputs: a symmetric pattern with an entry
    /// where a statement that the output depends on may be non-linear in both inputs.
    ///
    /// [`PrimalValue`](crate::PrimalValue) knows the operators of its statements: `x * y` is not linear in the pair (x,
    /// y) alone, and a sum is linear. So does [`Hybrid`](crate::Hybrid), for statements of which it keeps the values
    /// that partial derivatives are computed from. Other strategies know only that sums and differences of variables
    /// are linear. They treat all pairs of the arguments of other statements as non-linear, even of 2x + y. Every
    /// strategy does so for external functions, for statements whose derivatives were given by the user, and for
    /// functions such as |x|, whose second derivative is 0. Expressions of array kernels are known under every
    /// strategy.
    ///
    /// Functions of slices some of whose arguments are passive are known to be linear in the others if they are, as
    /// long as the tape has met fewer than 208 types of statements: [`linear_combination`](crate::linear_combination)
    /// always, [`dot`](crate::dot) if each product has a passive factor. If they are not linear, all pairs of their
    /// active arguments are treated as non-linear.
    ///
    /// # Errors
    ///
    /// The errors of [`jacobian_pattern`](Self::jacobian_pattern).
    pub fn hessian_pattern(&self, inputs: &[Real<S>], output: &Real<S>) -> Result<Pattern, Error> {
        self.with_found(|found| {
            self.walk(Asked::Hessian, (inputs, core::slice::from_ref(output)), found)?;
            Ok(of_rows(inputs.len(), found.rows.iter()))
        })
    }

    /// Passes the tape's memory for patterns to `f`; new memory while another thread has the tape's.
    fn with_found<R>(&self, f: impl FnOnce(&mut Found) -> R) -> R {
        let kept = self.patterns().try_lock().ok().and_then(|mut kept| kept.take());
        let mut memory: Box<Memory> = kept.unwrap_or_default();
        let mut found = Found::within(&mut memory);
        let outcome = f(&mut found);
        *memory = found.into_memory();
        if let Ok(mut kept) = self.patterns().try_lock() {
            *kept = Some(memory);
        }
        outcome
    }

    /// Marks the variables that the outputs depend on.
    fn needs(&self, asked: Asked, numbering: &Numbering, found: &mut Found) -> Result<(), Error> {
        let Found { needs, outputs, .. } = found;
        for output in outputs {
            needs.live[*output] = true;
            if asked == Asked::Jacobian {
                needs.want(*output);
            }
        }
        self.owned().dependences(numbering, Order::Descending(None, None), |results, arguments, curvature| {
            needs.statement(asked, results, arguments, curvature);
        })?;
        Ok(())
    }

    fn walk(&self, asked: Asked, of: (&[Real<S>], &[Real<S>]), found: &mut Found) -> Result<(), Error> {
        let (inputs, outputs) = of;
        assert!(u32::try_from(inputs.len()).is_ok(), "patterns have fewer than 2^32 columns");
        let numbering = self.owned().numbering()?;
        found.outputs.clear();
        for output in outputs {
            found.outputs.push(self.slot(output)?.unwrap_or(0));
        }
        // If all variables are inputs or outputs, and none reuses the slot of another one, all sets are asked for.
        let (most, records) = (1 + inputs.len() + outputs.len(), S::next_record(self.owned().tape()));
        let all = asked == Asked::Jacobian && numbering.count().max(records) <= most;
        found.needs.begin(all, numbering.count());
        if !all {
            self.needs(asked, &numbering, found)?;
        }
        found.unions.begin(inputs.len());
        found.rows.resize(if asked == Asked::Hessian { inputs.len() } else { 0 }, Domain::EMPTY);
        found.domains.reserve_exact(numbering.count());
        for (k, input) in (0..).zip(inputs) {
            let Some(slot) = self.slot(input)? else { continue };
            let place = found.place(slot);
            if place.len() == 0 {
                place.set(Small::one(k));
            } else {
                found.unions.add(&mut found.domains[slot], &Domain::one(k)); // it is listed twice
            }
        }
        self.owned().dependences(&numbering, Order::Ascending, |results, arguments, curvature| {
            found.statement(asked, results, arguments, curvature);
        })?;
        Ok(())
    }
}
