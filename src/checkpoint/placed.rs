//! Entries on the tape for stages and loops, with views.

use super::rerun;
use crate::expr::Real;
use crate::external;
use crate::kernels::note;
use crate::variables::{Variables, ViewParts, ViewRef};
use smallvec::SmallVec;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::kernel::launch::{Dependencies, Inspection, Launch, Opaque, OperandView, lane_by_lane};
use tapewright_strategies::kernel::memory::{Buffer, NewArray, ReadCache, Shadow, Shadows};
use tapewright_strategies::{External, MemoryUsage, Number, SweepError, Taping};

/// An external function that passes on adjoints and tangents of views, too.
pub(super) trait Nested<V: Number>: External<V> {
    /// Computes the adjoints of the inputs from the adjoints of the outputs, which have a shadow for each view:
    /// adjoints of variables are added to `inputs`, shadows of views are returned.
    fn reverse_views(
        &self,
        outputs: &[V],
        views: Vec<Shadow<V>>,
        inputs: &mut [V],
    ) -> Result<Vec<Shadow<V>>, SweepError>;
    /// Computes the tangents of the outputs from the tangents of the inputs.
    fn forward_views(
        &self,
        inputs: &[V],
        views: Vec<Shadow<V>>,
        outputs: &mut [V],
    ) -> Result<Vec<Shadow<V>>, SweepError>;
}

/// A rule, and the slots of the views that it reads and writes. The rule is behind a pointer, so that this is compiled
/// once and not for each stage of a program.
struct Placed<V: Number> {
    rule: Box<dyn Nested<V>>,
    inputs: Vec<OperandView>,
    outputs: Vec<OperandView>,
    /// Numbers of variables that the rule reads, and that it returns.
    variables: (usize, usize),
    /// True if the rule exchanges something with other processes, so that no sweep must leave it out.
    always: bool,
}

impl<V: Number> Launch<V> for Placed<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let taken = self.outputs.iter().map(|view| shadows.take(view.after.unwrap_or(0)));
        let seeds: Vec<Shadow<V>> = taken.collect();
        let nothing_arrives = outputs.iter().all(|seed| seed.is_nought());
        if !self.always && nothing_arrives && seeds.iter().all(|seed| matches!(seed, Shadow::Unset)) {
            return Ok(());
        }
        let found = self.rule.reverse_views(outputs, seeds, inputs)?;
        self.inputs.iter().zip(found).for_each(|(view, shadow)| shadows.give(view.before, shadow));
        Ok(())
    }

    fn reverse_lanes(&self, outputs: &[V], inputs: &mut [V], shadows: &mut [Shadows<V>]) -> Result<(), SweepError> {
        if self.always && self.inputs.is_empty() && self.outputs.is_empty() {
            return self.rule.reverse_lanes(shadows.len(), outputs, inputs);
        }
        lane_by_lane(self, outputs, inputs, shadows)
    }

    fn always(&self) -> bool {
        self.always
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        self.inputs.iter().chain(&self.outputs).copied().collect()
    }

    /// Takes all outputs to depend on all inputs, because the tape has no records of the inside.
    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        if self.always {
            return Err(SweepError::Unsupported {
                what: "a stage or time loop of the recording contains messages, which tell no sparsity pattern".into(),
            });
        }
        Ok(Box::new(Opaque { variables: self.variables, reads: &self.inputs, writes: &self.outputs }))
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        _: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        let given = views.iter().take(self.inputs.len());
        let given =
            given.map(|view| view.map_or(Shadow::Unset, |tangents| Shadow::Dense(NewArray::new(tangents.clone()))));
        let found = self.rule.forward_views(inputs, given.collect(), outputs)?;
        assert!(found.len() == results.len(), "a stage returns other views the second time");
        for (result, shadow) in results.iter_mut().zip(found) {
            match shadow {
                Shadow::Unset => result.fill(V::ZERO),
                Shadow::Uniform(tangent) => result.fill(tangent),
                Shadow::Dense(tangents) => result.copy_from(&tangents),
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let lists = (self.inputs.capacity() + self.outputs.capacity()) * size_of::<OperandView>();
        lists + self.rule.owned_bytes()
    }

    fn snapshots(&self) -> MemoryUsage {
        self.rule.snapshots()
    }

    fn inspect(&self) -> Inspection {
        Inspection::default()
    }
}

/// Returns how the derivatives of a function with these inputs are passed on, and true if the function is to be
/// recorded. Without views, variables alone decide; a function that has exchanged anything is recorded in any case.
#[track_caller]
pub(super) fn flow<S: Taping>(
    arguments: &[(S::Value, &S::Id)],
    views: &[ViewRef<'_, S::Value>],
    has_views: bool,
    exchanged: bool,
) -> (Flow, bool) {
    if exchanged {
        let flow = S::innermost();
        return (flow, flow != Flow::Nowhere);
    }
    if !has_views {
        return (Flow::Nowhere, S::is_active(arguments));
    }
    let flow = S::flow(&dependences(views), arguments);
    (flow, flow != Flow::Nowhere)
}

/// Dependences of these views.
pub(super) fn dependences<'v, V>(views: &[ViewRef<'v, V>]) -> Vec<&'v Dependence<V>> {
    views.iter().map(|view| view.dependence).collect()
}

/// Puts a rule on the tape of its inputs, or carries their tangents through it, and returns the outputs, whose values
/// are `made`. A rule that has exchanged anything goes where exchanges go. If there are no derivatives to pass on, the
/// outputs are constants.
#[track_caller]
pub(super) fn put<S, T, Y>(
    arguments: &[(S::Value, &S::Id)],
    views: &[ViewRef<'_, S::Value>],
    made: &Y,
    (rule, exchanged): (Box<dyn Nested<S::Value>>, bool),
) -> Y::With<S>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    Y: Variables<T>,
{
    let has_views = !views.is_empty() || !made.views().is_empty();
    let (flow, active) = flow::<S>(arguments, views, has_views, exchanged);
    if !active {
        return rerun::constants(made);
    }
    if exchanged || has_views {
        return record::<S, T, Y>(flow, arguments, views, made, (rule, exchanged));
    }
    rerun::rebuild(made, &external::record::<S>(arguments, &made.values(), rule), rerun::same_values)
}

/// [`put`] for a rule with views, or a rule that no sweep must leave out.
#[track_caller]
fn record<S, T, Y>(
    flow: Flow,
    arguments: &[(S::Value, &S::Id)],
    views: &[ViewRef<'_, S::Value>],
    made: &Y,
    (rule, always): (Box<dyn Nested<S::Value>>, bool),
) -> Y::With<S>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    Y: Variables<T>,
{
    let used = |view: &ViewRef<'_, S::Value>| {
        let before = view.dependence.slot();
        OperandView { before, after: None, length: view.values.len() }
    };
    let inputs = views.iter().map(used).collect();
    let mut fresh: Vec<Dependence<S::Value>> = Vec::new();
    let mut outputs = Vec::new();
    made.visit_views(&mut |view| {
        let dependence = flow.fresh::<S>();
        outputs.push(OperandView { before: 0, after: Some(dependence.slot()), length: view.values.len() });
        fresh.push(dependence);
    });
    let nothing = Dependence::Nothing;
    let dependences = views.iter().map(|view| view.dependence);
    let dependences: Vec<_> = dependences.chain(outputs.iter().map(|_| &nothing)).collect();
    let mut variables = Vec::new();
    let mut each = |value, id| variables.push(Real::<S>::from_parts(value, id));
    let values = made.values();
    let launch = Placed { rule, inputs, outputs, variables: (arguments.len(), values.len()), always };
    let moving = note::<S>(flow, launch, &dependences, arguments, &values, &mut each);
    let mut dependences = if moving.is_empty() { fresh } else { moving }.into_iter();
    let view = &mut |view: ViewRef<'_, S::Value>| ViewParts {
        dependence: dependences.next().unwrap_or_default(),
        ..view.constant()
    };
    rerun::rebuild_with(made, &variables, view, rerun::same_values)
}
