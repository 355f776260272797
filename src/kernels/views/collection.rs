//! Views as parts of the variables of a stage.

use super::view::View;
use crate::expr::Real;
use crate::variables::{Variables, ViewParts, ViewRef};
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::targets::Space;

/// A view has no variables: its elements go from strategy to strategy unchanged, without a copy.
impl<S: Taping, const R: usize, M: Space<S::Value>> Variables<S> for View<S, R, M> {
    type With<T: Taping<Value = S::Value>> = View<T, R, M>;

    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        let _ = f;
    }

    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> View<T, R, M> {
        self.map_with(f, &mut |view: ViewRef<'_, S::Value>| view.constant())
    }

    fn visit_views<'a>(&'a self, f: &mut impl FnMut(ViewRef<'a, S::Value>))
    where
        S: 'a,
    {
        f(self.as_leaf());
    }

    fn map_with<T: Taping<Value = S::Value>>(
        &self,
        _: &mut impl FnMut(&Real<S>) -> Real<T>,
        g: &mut impl FnMut(ViewRef<'_, S::Value>) -> ViewParts<S::Value>,
    ) -> View<T, R, M> {
        let ViewParts { values, dependence, shares } = g(self.as_leaf());
        let mut view = View::on(self.shape(), values);
        view.set_dependence(dependence);
        if shares {
            self.share_slot();
            view.share_slot();
        }
        view
    }
}
