//! Statements with their partials, and how derivatives pass through them, in both directions.

use super::number::{Num, Sum};
use core::ops::Range;
use std::rc::Rc;

/// What is on a tape.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A variable, and its partials by others, one for each time that they occur.
    Statement { result: usize, terms: Vec<(usize, Vec<Num>)> },
    /// Variables whose derivatives have a rule. Inputs may be passive.
    Function { inputs: Vec<Option<usize>>, outputs: Vec<usize>, rule: Rule },
}

/// How derivatives pass through a function.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// By partials, output by output.
    Matrix { rows: Vec<Vec<Num>>, forward: bool },
    /// By a sweep over another tape.
    Inner(Rc<Inner>),
    /// In reverse by partials, forward by a sweep.
    Tangents(Vec<Vec<Num>>, Rc<Inner>),
}

/// A part of a program with a tape of its own.
#[derive(Clone, Debug)]
pub(crate) struct Inner {
    pub(crate) tape: Tape,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<Option<usize>>,
}

/// Statements, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    pub(crate) entries: Vec<Entry>,
    pub(crate) variables: usize,
}

impl Tape {
    pub(crate) const fn variable(&mut self) -> usize {
        self.variables += 1;
        self.variables - 1
    }

    pub(crate) fn statement(&mut self, leaves: Vec<(usize, Num)>) -> usize {
        let result = self.variable();
        let mut terms: Vec<(usize, Vec<Num>)> = Vec::new();
        for (x, partial) in leaves {
            match terms.iter_mut().find(|(other, _)| *other == x) {
                Some((_, partials)) => partials.push(partial),
                None => terms.push((x, vec![partial])),
            }
        }
        self.entries.push(Entry::Statement { result, terms });
        result
    }

    pub(crate) fn function(&mut self, inputs: Vec<Option<usize>>, outputs: usize, rule: Rule) -> Vec<usize> {
        let outputs: Vec<usize> = (0..outputs).map(|_| self.variable()).collect();
        self.entries.push(Entry::Function { inputs, outputs: outputs.clone(), rule });
        outputs
    }

    /// Passes these entries, the last first.
    pub(crate) fn reverse(&self, range: Range<usize>, adjoints: &mut [Sum]) {
        for entry in self.entries[range].iter().rev() {
            match entry {
                Entry::Statement { result, terms } => {
                    let adjoint = core::mem::replace(&mut adjoints[*result], Sum::ZERO).get();
                    terms.iter().for_each(|(x, partials)| contribute(&mut adjoints[*x], adjoint, partials));
                }
                Entry::Function { inputs, outputs, rule } => {
                    let taken = |y: &usize| core::mem::replace(&mut adjoints[*y], Sum::ZERO).get();
                    let found = rule.reverse(&outputs.iter().map(taken).collect::<Vec<_>>(), inputs.len());
                    let active = inputs.iter().zip(found).filter_map(|(x, found)| Some((x.as_ref()?, found)));
                    active.for_each(|(x, found)| adjoints[*x].add(found));
                }
            }
        }
    }

    /// Passes all entries, the first first.
    ///
    /// # Errors
    ///
    /// When a function has no rule for that: whether it is sure that a tangent reaches it.
    pub(crate) fn forward(&self, tangents: &mut [Num]) -> Result<(), bool> {
        self.forward_through(tangents, |sure, _| Err(sure))
    }

    /// The same where rounding makes tangents 0, if it may, in front of functions that have no rule for tangents: such
    /// functions are not asked.
    pub(crate) fn forward_past(&self, tangents: &mut [Num]) -> Result<(), bool> {
        self.forward_through(tangents, |sure, outputs| if sure { Err(true) } else { Ok(vec![Num::ZERO; outputs]) })
    }

    fn forward_through(
        &self,
        tangents: &mut [Num],
        without: impl Fn(bool, usize) -> Result<Vec<Num>, bool>,
    ) -> Result<(), bool> {
        for entry in &self.entries {
            match entry {
                Entry::Statement { result, terms } => {
                    let mut sum = Sum::ZERO;
                    // The first argument comes last.
                    let terms = terms.iter().skip(1).chain(terms.first());
                    terms.for_each(|(x, partials)| contribute(&mut sum, tangents[*x], partials));
                    tangents[*result] = sum.get();
                }
                Entry::Function { inputs, outputs, rule } => {
                    let along: Vec<Num> = inputs.iter().map(|x| x.map_or(Num::ZERO, |x| tangents[x])).collect();
                    let sure = || along.iter().any(|x| x.is_zero() == Some(false));
                    let found =
                        rule.forward(&along, outputs.len()).map_or_else(|| without(sure(), outputs.len()), Ok)?;
                    outputs.iter().zip(found).for_each(|(y, found)| tangents[*y] = found);
                }
            }
        }
        Ok(())
    }

    /// Whether there is a function.
    pub(crate) fn has_functions(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::Function { .. }))
    }
}

/// Adds what a statement contributes to an argument that occurs so often, or an argument to a statement. Partials may
/// be added up first, or what they contribute; where that is not the same nothing is known.
fn contribute(to: &mut Sum, seed: Num, partials: &[Num]) {
    let products = || partials.iter().map(|partial| seed.times_between(*partial));
    if partials.len() == 1 {
        return products().for_each(|product| to.add(product));
    }
    let (apart, together) = (sum(products()), seed.times_between(sum(partials.iter().copied())));
    let same = apart.v == together.v || (apart.v.is_nan() && together.v.is_nan());
    if apart.is_unknown() || together.is_unknown() || !(apart.v.is_finite() && together.v.is_finite()) {
        if !same || apart.is_unknown() || together.is_unknown() {
            return to.add(Num::UNKNOWN);
        }
        // One by one, because the finite ones count among those that may overflow.
        return products().for_each(|product| to.add(product));
    }
    products().for_each(|product| to.add(product));
    if !(same && apart.is_exact() && together.is_exact()) {
        to.add(Num { v: 0.0, e: (apart.v - together.v).abs() + together.e + f64::MIN_POSITIVE });
    }
}

/// Whether all are exactly 0.
fn all_zero(numbers: &[Num]) -> bool {
    numbers.iter().all(|x| x.is_zero() == Some(true))
}

fn sum(terms: impl Iterator<Item = Num>) -> Num {
    let mut sum = Sum::ZERO;
    terms.for_each(|term| sum.add(term));
    sum.get()
}

impl Rule {
    fn reverse(&self, outputs: &[Num], inputs: usize) -> Vec<Num> {
        if all_zero(outputs) {
            return vec![Num::ZERO; inputs];
        }
        match self {
            Self::Matrix { rows, .. } | Self::Tangents(rows, _) => (0..inputs)
                .map(|j| sum(rows.iter().zip(outputs).map(|(row, output)| output.times_between(row[j]))))
                .collect(),
            Self::Inner(inner) => inner.reverse(outputs),
        }
    }

    fn forward(&self, inputs: &[Num], outputs: usize) -> Option<Vec<Num>> {
        if all_zero(inputs) {
            return Some(vec![Num::ZERO; outputs]);
        }
        match self {
            Self::Matrix { forward: false, .. } => None,
            Self::Matrix { rows, .. } => Some(
                rows.iter()
                    .map(|row| sum(row.iter().zip(inputs).map(|(partial, input)| input.times_between(*partial))))
                    .collect(),
            ),
            Self::Inner(inner) => inner.forward(inputs),
            Self::Tangents(_, inner) => inner.forward_apart(inputs),
        }
    }
}

impl Inner {
    /// The adjoints of the inputs, given those of the outputs.
    pub(crate) fn reverse(&self, outputs: &[Num]) -> Vec<Num> {
        let mut adjoints = vec![Sum::ZERO; self.tape.variables];
        let active = self.outputs.iter().zip(outputs).filter_map(|(y, seed)| Some((y.as_ref()?, seed)));
        active.for_each(|(y, seed)| adjoints[*y].add(*seed));
        self.tape.reverse(0..self.tape.entries.len(), &mut adjoints);
        self.inputs.iter().map(|x| adjoints[*x].get()).collect()
    }

    /// The tangents of the outputs, given those of the inputs.
    pub(crate) fn forward(&self, inputs: &[Num]) -> Option<Vec<Num>> {
        let mut tangents = vec![Num::ZERO; self.tape.variables];
        self.inputs.iter().zip(inputs).for_each(|(x, tangent)| tangents[*x] = *tangent);
        self.tape.forward(&mut tangents).ok()?;
        Some(self.outputs.iter().map(|y| y.map_or(Num::ZERO, |y| tangents[y])).collect())
    }

    /// The same for a rule that gets no infinite and no NaN tangents: each of them multiplies what the rule makes of 1.
    fn forward_apart(&self, inputs: &[Num]) -> Option<Vec<Num>> {
        let (mut wild, mut tame) = (Vec::new(), inputs.to_vec());
        for (j, tangent) in tame.iter_mut().enumerate().filter(|(_, tangent)| !tangent.v.is_finite()) {
            wild.push((j, core::mem::replace(tangent, Num::ZERO)));
        }
        let mut sums = vec![Sum::ZERO; self.outputs.len()];
        if !all_zero(&tame) {
            sums.iter_mut().zip(self.forward(&tame)?).for_each(|(sum, tangent)| sum.add(tangent));
        }
        for (j, tangent) in wild {
            let along: Vec<Num> = (0..inputs.len()).map(|i| if i == j { Num::ONE } else { Num::ZERO }).collect();
            let slopes = self.forward(&along)?;
            sums.iter_mut().zip(slopes).for_each(|(sum, slope)| sum.add(tangent.times_between(slope)));
        }
        Some(sums.iter().map(Sum::get).collect())
    }

    /// The partials, output by output, by sweeps in reverse.
    pub(crate) fn rows(&self) -> Vec<Vec<Num>> {
        let seeds = |k: usize| (0..self.outputs.len()).map(move |i| if i == k { Num::ONE } else { Num::ZERO });
        (0..self.outputs.len()).map(|k| self.reverse(&seeds(k).collect::<Vec<_>>())).collect()
    }

    /// The partials, output by output, by forward sweeps.
    pub(crate) fn rows_forward(&self) -> Vec<Vec<Num>> {
        let seeds = |j: usize| (0..self.inputs.len()).map(move |i| if i == j { Num::ONE } else { Num::ZERO });
        let columns: Vec<Vec<Num>> = (0..self.inputs.len())
            .map(|j| self.forward(&seeds(j).collect::<Vec<_>>()).expect("functions inside have all rules"))
            .collect();
        (0..self.outputs.len()).map(|k| columns.iter().map(|column| column[k]).collect()).collect()
    }
}
