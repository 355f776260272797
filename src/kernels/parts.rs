//! Parts of views: ranges of elements, possibly with steps, and views of them that are written.

use super::views::view::{Points, View};
use core::fmt;
use core::iter::StepBy;
use core::ops::Range;
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::launch::{Indexing, Selection};
use tapewright_strategies::kernel::targets::Space;

/// A part of a view: a range along each dimension, possibly with a step.
///
/// Made from an array of ranges, or of ranges with steps such as `(0..9).step_by(2)`, or from a single one for views of
/// rank 1.
///
/// ```
/// use tapewright::{kernels::{Part, View}, prelude::*};
///
/// let x = View::<Passive, 1>::new([5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
/// let (inner, odd): (Part<1>, Part<1>) = ((1..4).into(), (0..5).step_by(2).into());
/// assert_eq!((x.slice(inner).values(), x.slice(odd).values()), (&[2.0, 3.0, 4.0][..], &[1.0, 3.0, 5.0][..]));
/// ```
#[derive(Clone, Debug)]
pub struct Part<const R: usize> {
    ranges: [Range<usize>; R],
    steps: [usize; R],
}

impl<const R: usize> From<[Range<usize>; R]> for Part<R> {
    fn from(ranges: [Range<usize>; R]) -> Self {
        Self { ranges, steps: [1; R] }
    }
}

impl<const R: usize> From<Points<R>> for Part<R> {
    fn from(points: Points<R>) -> Self {
        points.0.into()
    }
}

impl From<Range<usize>> for Part<1> {
    fn from(range: Range<usize>) -> Self {
        [range].into()
    }
}

impl<const R: usize> From<[StepBy<Range<usize>>; R]> for Part<R> {
    fn from(stepped: [StepBy<Range<usize>>; R]) -> Self {
        let mut steps = [1; R];
        let mut d = 0;
        let ranges = stepped.map(|mut places| {
            let (count, first) = (places.len(), places.next());
            let step = first.zip(places.next()).map_or(1, |(first, second)| second - first);
            steps[d] = step;
            d += 1;
            first.map_or(0..0, |first| first..first + (count - 1) * step + 1)
        });
        Self { ranges, steps }
    }
}

impl From<StepBy<Range<usize>>> for Part<1> {
    fn from(stepped: StepBy<Range<usize>>) -> Self {
        [stepped].into()
    }
}

impl<const R: usize> fmt::Display for Part<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.ranges)?;
        if self.steps == [1; R] { Ok(()) } else { write!(f, " in steps of {:?}", self.steps) }
    }
}

impl<const R: usize> Part<R> {
    /// The number of elements along each dimension.
    pub(super) fn shape(&self) -> [usize; R] {
        core::array::from_fn(|d| self.ranges[d].len().div_ceil(self.steps[d]))
    }

    /// The indices of the elements in a view of this shape.
    ///
    /// # Panics
    ///
    /// When the range goes beyond the view, or has no elements.
    #[track_caller]
    pub(super) fn places(&self, shape: &[usize; R]) -> Indexing {
        // No closure panics here, which would hide the caller's line.
        let selection = match Selection::new(shape, &self.ranges, &self.steps) {
            Ok(selection) => selection,
            Err(bad) => panic!("this range cannot be used: {bad}"),
        };
        assert!(
            selection.count() > 0,
            "the part {self} of a view of shape {shape:?} has no elements, and a view has one at least: give ranges \
             with elements, or leave the call out where there are none"
        );
        Indexing::Range(selection)
    }

    /// An element that is in both parts.
    fn common(&self, other: &Self) -> Option<[usize; R]> {
        let mut point = [0; R];
        for (d, at) in point.iter_mut().enumerate() {
            let mut places = self.ranges[d].clone().step_by(self.steps[d]);
            let (range, step) = (&other.ranges[d], other.steps[d]);
            *at = places.find(|i| range.contains(i) && (i - range.start).is_multiple_of(step))?;
        }
        Some(point)
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> View<S, R, M> {
    /// Passes a part of the view to `f` as a view of its own, and puts its elements back if `f` has written to it.
    ///
    /// Launches over a part cost what its elements cost, and a recording keeps elements of the part and not of the
    /// complete view. The elements of the part are copied, before `f` and after it: where all operands of a launch
    /// are read and written at the same points, a launch over a range of the complete views copies nothing.
    ///
    /// If `f` panics, the view is as it was.
    ///
    /// ```
    /// use tapewright::{kernels::{View, dot, parallel_for}, prelude::*};
    ///
    /// let mut x = View::<Passive, 2>::new([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// x.with_part([0..2, 0..1], |column| *column += 10.0);
    /// assert_eq!(x.values(), [11.0, 2.0, 3.0, 14.0, 5.0, 6.0]);
    /// x.with_part([(0..2).step_by(1), (0..3).step_by(2)], |corners| {
    ///     parallel_for(corners.all(), corners, |x| (-x.at::<0, 0>(),));
    /// });
    /// assert_eq!(x.values(), [-11.0, 2.0, -3.0, -14.0, 5.0, -6.0]);
    ///
    /// // Derivatives go through the part.
    /// let inner = |x: &[Real<Jacobian>]| {
    ///     let mut x = View::of_variables([4], x);
    ///     x.with_part(1..3, |inner| *inner *= 3.0);
    ///     dot(&x, &View::filled([4], 1.0))
    /// };
    /// assert_eq!(gradient::<Jacobian>(inner, &[1.0; 4]), [1.0, 3.0, 3.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the range is empty or goes beyond the view; when `f` replaces the part by a view of another shape or leaves
    /// it half written; and when [`set`](Self::set) does.
    #[track_caller]
    pub fn with_part<T>(&mut self, part: impl Into<Part<R>>, f: impl FnOnce(&mut Self) -> T) -> T {
        self.with_parts([part], |[part]| f(part))
    }

    /// Passes several parts of the view to `f`, as [`with_part`](Self::with_part) does with one. No two of them may
    /// share an element, so a launch can read some and write others.
    ///
    /// ```
    /// use tapewright::{kernels::View, prelude::*};
    ///
    /// let mut u = View::<Passive, 1>::new([4], &[1.0, 2.0, 10.0, 20.0]);
    /// u.with_parts([0..2, 2..4], |[left, right]| *right += &*left);
    /// assert_eq!(u.values(), [1.0, 2.0, 11.0, 22.0]);
    ///
    /// let last = |u: &[Real<Jacobian>]| {
    ///     let mut u = View::of_variables([4], u);
    ///     u.with_parts([0..2, 2..4], |[left, right]| *right += &*left);
    ///     u.variable([3])
    /// };
    /// assert_eq!(gradient::<Jacobian>(last, &[1.0, 2.0, 10.0, 20.0]), [0.0, 1.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When two parts share an element, and when [`with_part`](Self::with_part) does.
    #[track_caller]
    pub fn with_parts<const K: usize, T>(
        &mut self,
        parts: [impl Into<Part<R>>; K],
        f: impl FnOnce([&mut Self; K]) -> T,
    ) -> T {
        let parts = parts.map(Into::<Part<R>>::into);
        for (k, part) in parts.iter().enumerate() {
            for (j, other) in parts[..k].iter().enumerate() {
                if let Some(point) = part.common(other) {
                    panic!(
                        "parts {j} and {k} of a view of shape {:?} overlap: both have the element {point:?} ({other} \
                         and {part}); take parts without common elements, or one after the other",
                        self.shape()
                    );
                }
            }
        }
        // A loop and not a closure, which would hide the caller's line.
        let mut views: [Option<Self>; K] = [const { None }; K];
        for (view, part) in views.iter_mut().zip(&parts) {
            *view = Some(self.taken(part.places(&self.shape()), part.shape()));
        }
        let mut views = views.map(|view| view.expect("it has just been made"));
        // What is shared is not written in place: a part that was written has another array afterwards.
        let before = views.each_ref().map(Self::clone);
        let result = f(views.each_mut());
        for ((part, view), before) in parts.into_iter().zip(&views).zip(before) {
            if !view.is_clone_of(&before) {
                drop(before);
                self.set(part, view);
            }
        }
        result
    }
}
