//! Recording of functions of complete views.

use crate::kernels::note::make_room;
use crate::kernels::views::view::View;
use crate::variables::ViewRef;
use smallvec::SmallVec;
use std::borrow::Cow;
use tapewright_strategies::contract::Dependence;
use tapewright_strategies::kernel::launch::{ArrayRule, OperandView, RuleLaunch, ViewValues};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::{Number, Taping};

/// Applies a rule to one or two views, and records that as one entry.
#[track_caller]
pub(crate) fn apply<S: Taping, M: Space<S::Value>, const R: usize>(
    rule: impl ArrayRule<S::Value>,
    operands: &[ViewRef<'_, S::Value>],
    shape: [usize; R],
) -> View<S, R, M> {
    let dependences: SmallVec<[_; 2]> = operands.iter().map(|view| view.dependence).collect();
    let flow = S::flow(&dependences, &[]);
    make_room::<S>(flow);
    let mut buffer = View::<S, R, M>::empty(flow, shape.iter().product());
    let numbers = |k: usize| operands.get(k).map_or(Cow::Borrowed(&[][..]), |view| view.values.to_cow());
    buffer.change(|result| rule.values([&numbers(0), &numbers(1)], result));
    View::recorded(shape, buffer, flow, &dependences, &[], |to, result| {
        let read: SmallVec<[ViewValues<'_, _>; 2]> = operands.iter().map(|view| (operand(view), view.values)).collect();
        let active =
            [0, 1].map(|k| operands.get(k).is_some_and(|view| !matches!(view.dependence, Dependence::Nothing)));
        RuleLaunch::new(rule, &read, (to, result), active, flow.is_kept_for_replays())
    })
}

fn operand<V: Number>(view: &ViewRef<'_, V>) -> OperandView {
    OperandView { before: view.dependence.slot(), after: None, length: view.values.len() }
}
