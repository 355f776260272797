//! Comparisons that may hide a derivative, and how strategies are told of them. See [`Branch`].

use core::marker::PhantomData;
use core::panic::Location;
use smallvec::SmallVec;
use tapewright_strategies::contract::{Branch, Comparison, Store, Tree, is_suspect};
use tapewright_strategies::policy::Policy;
use tapewright_strategies::{Number, Taping};

/// Identifiers in an expression.
struct Leaves<S: Taping>(SmallVec<[S::Raw; 4]>);

impl<S: Taping> Store<S> for Leaves<S> {
    fn leaf(&mut self, _: S::Value, id: S::Raw) {
        self.0.push(id);
    }
    fn constant(&mut self, _: S::Value) {}
}

/// Looks for a variable of which the strategy has to be told.
struct Search<S>(bool, PhantomData<S>);

impl<S: Taping> Store<S> for Search<S> {
    #[inline(always)]
    fn leaf(&mut self, _: S::Value, id: S::Raw) {
        self.0 |= S::can_hide(&id);
    }
    #[inline(always)]
    fn constant(&mut self, _: S::Value) {}
}

#[inline(always)]
fn can_hide<S: Taping>(left: &impl Tree<S>, right: &impl Tree<S>) -> bool {
    let mut search = Search::<S>(false, PhantomData);
    left.store(&mut search);
    right.store(&mut search);
    search.0
}

/// Tells the strategy of a comparison if the policy watches all comparisons, or if the comparison is one of `CLOSED`
/// variables and may hide a derivative. Otherwise no code is compiled.
#[inline(always)]
#[track_caller]
pub(crate) fn note_branch<const CLOSED: bool, S: Taping, A: Tree<S>, B: Tree<S>>(
    left: &A,
    right: &B,
    comparison: Comparison,
) {
    if const { size_of::<S::Raw>() > 0 && (CLOSED || S::Policy::WATCHES) } {
        let (x, y) = (left.value(), right.value());
        let is_suspect = |k| is_suspect(x.lane(k), y.lane(k));
        if (const { S::Policy::WATCHES } || (0..S::Value::LANES).any(is_suspect)) && can_hide(left, right) {
            tell::<S, A, B>(left, right, comparison, Location::caller());
        }
    }
}

#[cold]
#[inline(never)]
fn tell<S: Taping, A: Tree<S>, B: Tree<S>>(
    left: &A,
    right: &B,
    comparison: Comparison,
    location: &'static Location<'static>,
) {
    // Two variables and no array, which would be moved: identifiers of forward mode are long.
    let mut on_left = Leaves::<S>(SmallVec::new());
    let mut on_right = Leaves::<S>(SmallVec::new());
    left.store(&mut on_left);
    right.store(&mut on_right);
    let leaves = [on_left.0.as_slice(), on_right.0.as_slice()];
    S::note_branch(&Branch { values: [left.value(), right.value()], leaves, comparison, location });
}

/// Tells the strategy that a function has a pole, a vertical tangent or no derivative in these closed variables, of
/// which one has this value: an adjoint that is 0 hides the slope. Under [`Checked`](tapewright_strategies::Checked)
/// the statement itself is an error.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn note_singular_point<S: Taping>(value: S::Value, ids: &[S::Raw]) {
    let (comparison, location) = (Comparison::Equal, Location::caller());
    S::note_branch(&Branch { values: [value; 2], leaves: [ids, &[]], comparison, location });
}
