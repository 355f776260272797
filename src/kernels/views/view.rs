//! Views: arrays of variables.

use crate::variables::ViewRef;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::memory::{Buffer, Elements, SharedArray, Tangents};
use tapewright_strategies::kernel::{Host, targets::Space};
use tapewright_strategies::policy::AllowedIn;
use tapewright_strategies::recording::note_read;
use tapewright_strategies::{Forward, Number as _, Taping};

/// An array of rank `R`, from 1 to 4, whose elements are variables of strategy `S`. Along the last dimension elements
/// are adjacent in memory. The target of space `M` runs launches over the view; all views of a launch are in one space.
///
/// ```
/// use tapewright::{kernels::{View, parallel_for, parallel_sum}, prelude::*};
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, sum) = tape.record(|scope| {
///     let x = scope.view([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
///     let mut y = x.clone();
///     parallel_for(y.all(), &mut y, |y| (y.at::<0, 0>() * y.at::<0, 0>(),));
///     let sum = parallel_sum(y.all(), &y, |y| y.at::<0, 0>());
///     (x, sum)
/// });
/// assert_eq!(tape.sweep(&[(&sum, 1.0)])?.of_view(&x)?[..], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// A view is a handle: a clone shares the elements until one of the two is written. A view is passive, a constant,
/// until a launch of a kernel writes active values to it, unless it is an input, made by
/// [`Scope::view`](crate::Scope::view). An active view belongs to a recording, as variables do, and has a slot there
/// for its adjoints, whatever its number of elements.
///
/// A clone of a view is like a copy of a variable: a view that has been cloned gets another slot when it is written,
/// and the clone keeps the old one. So a clone of an input from before the first launch still stands for the input
/// afterwards. A view that was not cloned keeps its slot: adjoints that are asked for after a sweep belong to the
/// elements that it had when it was made.
///
/// # After a panic
///
/// A rule of yours may panic in the middle of a launch, and the program may catch that. Nothing of the launch has been
/// recorded then, and each view that it was to write is as it was before; or, if the launch was writing to it in place,
/// it is *half written*, and is marked. Any use of the elements or the derivatives of a half-written view panics: a
/// launch or transfer that reads it or writes to a part of it, [`values`](Self::values), a stage that takes it, a seed
/// in it or its adjoints. The complete view can be written again, by [`fill`](crate::kernels::fill),
/// [`deep_copy`](crate::kernels::deep_copy), [`set`](Self::set) of all points, or a launch over all points that does
/// not read it; or replaced by another view. Clones from before the launch are not affected.
///
/// ```
/// use std::panic::{AssertUnwindSafe, catch_unwind};
/// use tapewright::{Float, Unary, kernels::{View, deep_copy, parallel_for, parallel_sum}, prelude::*};
///
/// /// 1/x, which refuses 0.
/// struct Inverse;
/// impl Unary for Inverse {
///     fn value<V: Float>(x: V) -> V {
///         assert!(x != V::ZERO, "0 has no inverse");
///         V::ONE / x
///     }
///     fn derivative<V: Float>(_: V, y: V) -> V {
///         -y * y
///     }
/// }
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = scope.view([2], &[1.0, 0.0]);
///     let mut y = View::zeros([2]);
///     parallel_for(y.all(), (&x, &mut y), |(x, _)| (2.0 * x.at::<0>(),));
///     let mut launch = || parallel_for(y.all(), &mut y, |y| (y.at::<0>().unary::<Inverse>(),));
///     assert!(catch_unwind(AssertUnwindSafe(&mut launch)).is_err());
///     if catch_unwind(AssertUnwindSafe(|| _ = y.values())).is_err() {
///         deep_copy(&x, &mut y); // it is half written
///     }
///     let y = parallel_sum(y.all(), &y, |y| y.at::<0>().square());
///     (x, y)
/// });
/// assert!(tape.sweep(&[(&y, 1.0)])?.of_view(&x)?.iter().all(|slope| slope.is_finite()));
/// # Ok::<(), tapewright::Error>(())
/// ```
pub struct View<S: Taping, const R: usize, M: Space<S::Value> = Host> {
    shape: [usize; R],
    pub(crate) values: SharedArray<S::Value>,
    /// Buffer with the values from before a launch that could not write in place, reused by the next such launch.
    pub(crate) spare: Option<SharedArray<S::Value>>,
    /// Dependence of the elements.
    pub(crate) dependence: Dependence<S::Value>,
    /// True if another view may have the same slot.
    copied: AtomicBool,
    /// True after the panic of a launch that was writing to the view, so that its elements are unknown.
    torn: bool,
    strategy: PhantomData<fn() -> (S, M)>,
}

impl<S: Taping, const R: usize> View<S, R> {
    /// A passive view of this shape with these elements, the last dimension running fastest.
    ///
    /// # Panics
    ///
    /// When there are not as many elements as the shape says, and when the shape has a dimension of length 0.
    #[must_use]
    #[track_caller]
    pub fn new(shape: [usize; R], elements: &[S::Value]) -> Self {
        Self::on(shape, SharedArray::new(Buffer::copy_of(checked(&shape, elements))))
    }

    /// A passive view with the same value everywhere.
    ///
    /// # Panics
    ///
    /// When the shape has a dimension of length 0.
    #[must_use]
    #[track_caller]
    pub fn filled(shape: [usize; R], number: S::Value) -> Self {
        let mut buffer = Buffer::zeros(length(&shape));
        buffer.fill(number);
        Self::on(shape, SharedArray::new(buffer))
    }

    /// A passive view of zeros.
    ///
    /// # Panics
    ///
    /// When the shape has a dimension of length 0.
    #[must_use]
    #[track_caller]
    pub fn zeros(shape: [usize; R]) -> Self {
        Self::on(shape, SharedArray::new(Buffer::zeros(length(&shape))))
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> View<S, R, M> {
    pub(crate) fn on(shape: [usize; R], values: SharedArray<S::Value>) -> Self {
        const { assert!(R >= 1 && R <= 4, "views have one to four dimensions") };
        let (dependence, copied) = (Dependence::Nothing, AtomicBool::new(false));
        Self { shape, values, spare: None, dependence, copied, torn: false, strategy: PhantomData }
    }

    /// This view as a member of a collection.
    ///
    /// # Panics
    ///
    /// When the view is half written.
    #[track_caller]
    pub(crate) fn as_leaf(&self) -> ViewRef<'_, S::Value> {
        self.assert_whole();
        ViewRef { shape: &self.shape, values: &self.values, dependence: &self.dependence }
    }

    /// Sets the dependence of the elements, after they were written.
    pub(crate) fn set_dependence(&mut self, dependence: Dependence<S::Value>) {
        (self.dependence, self.torn) = (dependence, false);
        self.copied.store(false, Ordering::Relaxed);
    }

    /// Notes that another view has the same slot, so that writing takes a new one.
    pub(super) fn share_slot(&self) {
        self.copied.store(true, Ordering::Relaxed);
    }

    /// Dependence of the view after a launch that writes to it, with this flow of derivatives.
    #[track_caller]
    pub(crate) fn after_a_launch(&self, flow: Flow) -> Dependence<S::Value> {
        let keeps_its_slot = self.is_active() && !self.copied.load(Ordering::Relaxed);
        match flow {
            Flow::Recorded(_) if keeps_its_slot => self.dependence.clone(),
            _ => flow.fresh::<S>(),
        }
    }

    /// Returns true if the views share their elements and their derivatives: none was written since one was cloned.
    pub(crate) fn is_clone_of(&self, other: &Self) -> bool {
        let of = |view: &Self| (view.values.address(), view.is_active(), view.dependence.slot());
        of(self) == of(other)
    }

    /// Marks the view as half written, because a launch that was writing to it has panicked.
    pub(crate) const fn tear(&mut self) {
        self.torn = true;
    }

    pub(crate) const fn is_torn(&self) -> bool {
        self.torn
    }

    /// Checks that no launch has left the view half written.
    ///
    /// # Panics
    ///
    /// When a launch has.
    #[inline]
    #[track_caller]
    pub(crate) fn assert_whole(&self) {
        assert!(
            !self.torn,
            "this view of shape {:?} is half written: the launch that wrote to it has panicked. Write all of it anew, \
             with `deep_copy` from a copy say, or replace it by another view",
            self.shape
        );
    }

    /// The length along each dimension.
    #[must_use]
    pub const fn shape(&self) -> [usize; R] {
        self.shape
    }

    /// A constant view with these elements, under any strategy with the same value type: data is converted once, and
    /// shared by all tapes. The elements are not copied before one of the views is written.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
    ///
    /// let data = View::<Passive, 1>::new([3], &[1.0, 2.0, 3.0]);
    /// let residual = data.constant::<Jacobian>();
    /// assert!(!residual.is_active() && residual.values() == data.values());
    /// ```
    ///
    /// # Panics
    ///
    /// When [`values`](Self::values) does.
    #[must_use]
    #[track_caller]
    pub fn constant<T: Taping<Value = S::Value, Policy: AllowedIn<M>>>(&self) -> View<T, R, M> {
        self.note_reading();
        View::on(self.shape, self.values.clone())
    }

    /// The view in another space, whose target runs its launches from now on. Elements and derivatives are the same,
    /// and nothing is recorded. Elements are copied to the memory of a device by the first launch there that uses them,
    /// and adjoints by sweeps.
    ///
    /// ```
    /// use tapewright::{kernels::{Host, View}, prelude::*};
    ///
    /// let x: View<Passive, 1, Host> = View::<Passive, 1>::zeros([3]).in_space();
    /// assert_eq!(x.len(), 3);
    /// ```
    #[must_use]
    pub fn in_space<N: Space<S::Value>>(self) -> View<S, R, N>
    where
        S::Policy: AllowedIn<N>,
    {
        let Self { shape, values, spare, dependence, copied, torn, .. } = self;
        View { shape, values, spare, dependence, copied, torn, strategy: PhantomData }
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if there are no elements, which is never so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Values of all elements, the last dimension running fastest: a slice, or a vector if the numbers are duals or
    /// packs. Derivatives are not followed through them. A [program](crate::programs) records each scenario alone
    /// where values of active views are read, since what they decide leaves no guard.
    ///
    /// # Panics
    ///
    /// When the view is half written: see [above](View#after-a-panic).
    #[must_use]
    #[track_caller]
    pub fn values(&self) -> Elements<'_, S::Value> {
        self.note_reading();
        self.values.elements()
    }

    /// A copy of the values.
    ///
    /// # Panics
    ///
    /// When [`values`](Self::values) does.
    #[must_use]
    #[track_caller]
    pub fn to_vec(&self) -> Vec<S::Value> {
        self.note_reading();
        self.values.to_vec()
    }

    /// Notes that elements are read as numbers.
    #[track_caller]
    fn note_reading(&self) {
        self.assert_whole();
        self.dependence.number().into_iter().for_each(note_read);
    }

    /// Returns true if the view depends on inputs of a recording, or carries tangents in forward mode.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        !matches!(self.dependence, Dependence::Nothing)
    }

    /// The range of all points.
    #[must_use]
    pub fn all(&self) -> [Range<usize>; R] {
        self.shape.map(|length| 0..length)
    }

    /// The range of the points that are at least `margin` away from all borders; empty if there are none.
    ///
    /// ```
    /// use tapewright::{kernels::View, prelude::*};
    ///
    /// let x = View::<Passive, 2>::zeros([4, 5]);
    /// assert_eq!((x.interior(1), x.interior(3)), ([1..3, 1..4], [0..0, 0..0]));
    /// ```
    #[must_use]
    pub fn interior(&self, margin: usize) -> [Range<usize>; R] {
        self.shape.map(|length| if length >= 2 * margin { margin..length - margin } else { 0..0 })
    }

    /// The id of the recording and the slot in it; `None` if the view is passive.
    ///
    /// # Panics
    ///
    /// When the view is half written.
    #[track_caller]
    pub(crate) fn place(&self) -> Option<(RecordingId, usize)> {
        self.assert_whole();
        match self.dependence {
            Dependence::Recorded { number, slot } => Some((number, slot)),
            _ => None,
        }
    }

    /// A view of the same elements, in the same order, with another shape.
    ///
    /// ```
    /// use tapewright::{kernels::View, prelude::*};
    ///
    /// let element = |x: &[Real<Jacobian>]| {
    ///     let matrix = View::of_variables([6], x).reshape([2, 3]);
    ///     assert_eq!(matrix.row(1).values(), [4.0, 5.0, 6.0]);
    ///     matrix.variable([1, 0])
    /// };
    /// assert_eq!(gradient::<Jacobian>(element, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    /// ```
    /// # Panics
    ///
    /// When the new shape has another number of elements, and in the cases listed at [`values`](Self::values).
    #[must_use]
    #[track_caller]
    pub fn reshape<const Q: usize>(&self, shape: [usize; Q]) -> View<S, Q, M> {
        self.assert_whole();
        let (from, to) = (self.len(), length(&shape));
        assert!(from == to, "a view of shape {:?} has {from} elements, so it cannot have shape {shape:?}", self.shape);
        self.share_slot();
        let mut view = View::on(shape, self.values.clone());
        view.dependence = self.dependence.clone();
        view.share_slot();
        view
    }
}

impl<S: Forward, const R: usize> View<S, R> {
    /// A view with these elements that carries tangents, in forward mode: `tangents(k)` are the tangents along
    /// direction `k`, the last dimension running fastest.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
    ///
    /// let x = View::<Tangent<1>, 1>::moving([3], &[1.0, 2.0, 3.0], |_| vec![0.0, 1.0, 0.0]);
    /// let energy = parallel_sum(x.all(), &x, |x| x.at::<0>().square());
    /// assert_eq!((energy.value(), energy.tangent()), (14.0, [4.0]));
    /// ```
    ///
    /// # Panics
    ///
    /// When there are not as many elements or tangents as the shape says, and when the shape has a dimension of length
    /// 0.
    #[must_use]
    #[track_caller]
    pub fn moving(shape: [usize; R], elements: &[S::Value], mut tangents: impl FnMut(usize) -> Vec<S::Value>) -> Self {
        let mut view = Self::new(shape, elements);
        let directions = (0..S::DIRECTIONS).map(|k| Some(Buffer::copy_of(checked(&shape, &tangents(k)))));
        view.dependence = Dependence::Moving(Tangents::new(directions));
        view
    }
}

impl<S: Forward, const R: usize, M: Space<S::Value>> View<S, R, M> {
    /// The tangents of all elements along direction `k`, the last dimension running fastest.
    ///
    /// # Panics
    ///
    /// When the view belongs to another evaluation than the one that runs, when the view is half written, and unless
    /// `k` < [`Forward::DIRECTIONS`].
    #[must_use]
    #[track_caller]
    pub fn tangents(&self, k: usize) -> Vec<S::Value> {
        self.assert_whole();
        assert!(k < S::DIRECTIONS, "there are {} directions, so there is none with number {k}", S::DIRECTIONS);
        let Dependence::Moving(tangents) = &self.dependence else { return vec![S::Value::ZERO; self.len()] };
        tangents.assert_present();
        tangents.along(k).map_or_else(|| vec![S::Value::ZERO; self.len()], Buffer::to_vec)
    }
}

/// Number of elements of this shape.
#[track_caller]
fn length(shape: &[usize]) -> usize {
    assert!(
        !shape.contains(&0),
        "a view of shape {shape:?} has no elements: give each dimension a length of 1 at least"
    );
    let product = shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
    // No closure panics here, which would hide the caller's line.
    let Some(product) = product else { panic!("a view of shape {shape:?} has more elements than there can be") };
    product
}

/// The number of elements of this shape, which must be `found`.
#[track_caller]
pub(crate) fn checked_length(shape: &[usize], found: usize) -> usize {
    let expected = length(shape);
    assert!(expected == found, "a view of shape {shape:?} has {expected} elements, not {found}");
    expected
}

/// The elements, if there are as many as the shape says.
#[track_caller]
pub(crate) fn checked<'e, V>(shape: &[usize], elements: &'e [V]) -> &'e [V] {
    checked_length(shape, elements.len());
    elements
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Clone for View<S, R, M> {
    fn clone(&self) -> Self {
        self.share_slot();
        Self {
            shape: self.shape,
            values: self.values.clone(),
            spare: None,
            dependence: self.dependence.clone(),
            copied: AtomicBool::new(true),
            torn: self.torn,
            strategy: PhantomData,
        }
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> fmt::Debug for View<S, R, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_active() { "active" } else { "passive" };
        let half = if self.torn {
            "half written, "
        } else {
            self.note_reading();
            ""
        };
        write!(f, "View of shape {:?}, {kind}, {half}{:?}", self.shape, &*self.values.elements())
    }
}

/// The points of a launch: a range along each dimension.
///
/// Made from an array of ranges, such as [`View::all`] returns, or from a single range for views of rank 1.
#[derive(Clone, Debug)]
pub struct Points<const R: usize>(pub(crate) [Range<usize>; R]);

impl<const R: usize> From<[Range<usize>; R]> for Points<R> {
    fn from(ranges: [Range<usize>; R]) -> Self {
        Self(ranges)
    }
}

impl From<Range<usize>> for Points<1> {
    fn from(range: Range<usize>) -> Self {
        Self([range])
    }
}
