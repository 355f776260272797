//! Transfers of elements from one view to another, and between views and variables.

use super::note::{make_room, note, noted};
use super::parts::Part;
use super::views::view::{View, checked_length};
use crate::expr::Real;
use smallvec::SmallVec;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::kernel::Host;
use tapewright_strategies::kernel::ir::OPERANDS;
use tapewright_strategies::kernel::launch::{
    Base, Direction, Indexing, Indices, Launch, OperandView, Transfer, Values, copy_out,
};
use tapewright_strategies::kernel::memory::{Buffer, NewArray, SharedArray};
use tapewright_strategies::kernel::targets::{Movement, Space};
use tapewright_strategies::{Number as _, Taping};

impl<S: Taping, const R: usize> View<S, R> {
    /// A view of these variables, the last dimension running fastest.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
    ///
    /// // Every driver takes functions of variables, so kernels can be used inside them.
    /// fn energy<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    ///     let x = View::of_variables([x.len()], x);
    ///     parallel_sum(x.interior(1), &x, |x| (x.at::<1>() - x.at::<-1>()).square())
    /// }
    /// let gradient = tapewright::gradient::<Jacobian>(|x| energy(x), &[1.0, 2.0, 4.0, 4.0]);
    /// assert_eq!(gradient, [-6.0, -4.0, 6.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are not as many variables as the shape says, when the shape has a dimension of length 0, and in the
    /// cases listed at [`Ex::eval`](crate::Ex::eval).
    #[must_use]
    #[track_caller]
    pub fn of_variables(shape: [usize; R], variables: &[Real<S>]) -> Self {
        let length = checked_length(&shape, variables.len());
        let inputs: Vec<(S::Value, &S::Id)> = variables.iter().map(|x| (x.peek(), x.id())).collect();
        let flow = S::flow(&[], &inputs);
        make_room::<S>(flow);
        let mut buffer = Self::empty(flow, length);
        inputs.iter().enumerate().for_each(|(k, (value, _))| buffer.set(k, *value));
        let whole = Part::from(shape.map(|length| 0..length)).places(&shape);
        Self::recorded(shape, buffer, flow, &[], &inputs, |to, _| {
            Transfer::new(Host::target(), (Direction::Load, whole), OperandView::default(), to)
        })
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> View<S, R, M> {
    /// A variable for each element, the last dimension running fastest.
    ///
    /// ```
    /// use tapewright::{kernels::View, prelude::*};
    ///
    /// let product = |x: &[Real<Jacobian>]| -> Real<Jacobian> {
    ///     let mut x = View::of_variables([2], x);
    ///     x += 1.0;
    ///     let [a, b] = <[_; 2]>::try_from(x.to_variables()).expect("two elements");
    ///     assert_eq!((a.value(), b.value()), (2.0, 3.0));
    ///     (a * b).into()
    /// };
    /// assert_eq!(gradient::<Jacobian>(product, &[1.0, 2.0]), [3.0, 2.0]);
    /// ```
    /// # Panics
    ///
    /// When statements do.
    #[must_use]
    #[track_caller]
    pub fn to_variables(&self) -> Vec<Real<S>> {
        self.variables_of(&self.all().into())
    }

    /// The element at this point, as a variable.
    ///
    /// ```
    /// use tapewright::{kernels::View, prelude::*};
    ///
    /// let element = |x: &[Real<Jacobian>]| {
    ///     let element = View::of_variables([2, 2], x).variable([1, 0]);
    ///     assert_eq!(element.value(), 3.0);
    ///     element
    /// };
    /// assert_eq!(gradient::<Jacobian>(element, &[1.0, 2.0, 3.0, 4.0]), [0.0, 0.0, 1.0, 0.0]);
    /// ```
    /// # Panics
    ///
    /// When the point is not in the view, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
    #[must_use]
    #[track_caller]
    pub fn variable(&self, point: [usize; R]) -> Real<S> {
        let shape = self.shape();
        assert!((0..R).all(|d| point[d] < shape[d]), "the point {point:?} is not in a view of shape {shape:?}");
        self.variables_of(&point.map(|i| i..i + 1).into()).pop().expect("it is one element")
    }

    #[track_caller]
    fn variables_of(&self, part: &Part<R>) -> Vec<Real<S>> {
        self.assert_whole();
        let places = part.places(&self.shape());
        let mut values = vec![S::Value::ZERO; places.count()];
        copy_out(M::target(), &places, &self.values, &mut values);
        let mut variables = Vec::with_capacity(values.len());
        let launch = Transfer::new(M::target(), (Direction::Store, places), self.read(), OperandView::default());
        let flow = S::flow(&[&self.dependence], &[]);
        let mut each = |value, id| variables.push(Real::from_parts(value, id));
        note::<S>(flow, launch, &[&self.dependence], &[], &values, &mut each);
        variables
    }

    /// A view of the elements in a range along each dimension, possibly with steps. It has elements of its own.
    ///
    /// ```
    /// use tapewright::{kernels::{View, norm_squared}, prelude::*};
    ///
    /// let x = View::<Passive, 2>::new([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(x.slice([0..2, 1..3]).values(), [2.0, 3.0, 5.0, 6.0]);
    /// assert_eq!(x.row(1).values(), [4.0, 5.0, 6.0]);
    /// assert_eq!(x.column(0).values(), [1.0, 4.0]);
    ///
    /// let squares = |x: &[Real<Jacobian>]| norm_squared(&View::of_variables([4], x).slice((0..4).step_by(2)));
    /// assert_eq!(gradient::<Jacobian>(squares, &[1.0, 2.0, 3.0, 4.0]), [2.0, 0.0, 6.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the range is empty or goes beyond the view, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
    #[must_use]
    #[track_caller]
    pub fn slice(&self, part: impl Into<Part<R>>) -> Self {
        let part = part.into();
        self.taken(part.places(&self.shape()), part.shape())
    }

    /// Puts the elements of another view into a range of this view, possibly with steps. Elements outside the range
    /// stay unchanged. [`with_part`](Self::with_part) changes elements that are there.
    ///
    /// ```
    /// use tapewright::{kernels::{View, norm_squared}, prelude::*};
    ///
    /// let mut x = View::<Passive, 2>::zeros([2, 3]);
    /// x.set([0..1, 1..3], &View::filled([1, 2], 7.0));
    /// assert_eq!(x.values(), [0.0, 7.0, 7.0, 0.0, 0.0, 0.0]);
    ///
    /// // What is replaced has no derivative any more.
    /// let squares = |x: &[Real<Jacobian>]| {
    ///     let mut x = View::of_variables([3], x);
    ///     let first = x.slice(0..1);
    ///     x.set(2..3, &first);
    ///     norm_squared(&x)
    /// };
    /// assert_eq!(gradient::<Jacobian>(squares, &[1.0, 2.0, 3.0]), [4.0, 4.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the range has another shape than the other view, or goes beyond this one, and in the cases listed at
    /// [`Ex::eval`](crate::Ex::eval).
    #[track_caller]
    pub fn set(&mut self, part: impl Into<Part<R>>, elements: &Self) {
        let part = part.into();
        let (expected, found) = (part.shape(), elements.shape());
        assert!(expected == found, "a range of shape {expected:?} cannot hold a view of shape {found:?}");
        self.transfer(Direction::Put, part.places(&self.shape()), elements);
    }

    /// This view as the source of a transfer.
    pub(super) fn read(&self) -> OperandView {
        OperandView { before: self.dependence.slot(), after: None, length: self.len() }
    }

    /// The view of new elements, recorded as the entry that `launch` makes of the view's slots and of its elements.
    /// `arrays` are the dependences of the views that it reads, `inputs` the variables.
    #[track_caller]
    pub(crate) fn recorded<L: Launch<S::Value>>(
        shape: [usize; R],
        elements: NewArray<S::Value>,
        flow: Flow,
        arrays: &[&Dependence<S::Value>],
        inputs: &[(S::Value, &S::Id)],
        launch: impl FnOnce(OperandView, &SharedArray<S::Value>) -> L,
    ) -> Self {
        let mut view = Self::on(shape, elements.share());
        let fresh = flow.fresh::<S>();
        let launch = launch(OperandView { before: 0, after: Some(fresh.slot()), length: view.len() }, &view.values);
        let mut all: SmallVec<[_; OPERANDS]> = SmallVec::from_slice(arrays);
        all.push(&view.dependence);
        let dependence = noted::<S>(flow, launch, &all, inputs, fresh);
        drop(all);
        view.set_dependence(dependence);
        view
    }

    /// A buffer with unspecified contents, if possible one of the recording's.
    #[track_caller]
    pub(crate) fn empty(flow: Flow, length: usize) -> NewArray<S::Value> {
        let mut found = None;
        if let Flow::Recorded(number) = flow {
            S::with_arrays(number, &mut |arrays| found = Some(arrays.buffer(length)));
        }
        found.unwrap_or_else(|| NewArray::new(Buffer::unspecified(length)))
    }

    /// A new view of the elements at these indices.
    #[track_caller]
    pub(super) fn taken<const Q: usize>(&self, places: Indexing, shape: [usize; Q]) -> View<S, Q, M> {
        self.assert_whole();
        let length = checked_length(&shape, places.count());
        let flow = S::flow(&[&self.dependence], &[]);
        make_room::<S>(flow);
        let mut buffer = Self::empty(flow, length);
        M::target().transfer(Movement::take(&places, &self.values, false, &mut buffer));
        View::recorded(shape, buffer, flow, &[&self.dependence], &[], |to, _| {
            Transfer::new(M::target(), (Direction::Take, places), self.read(), to)
        })
    }

    /// Puts elements at these indices, or adds them to the elements that are there.
    #[track_caller]
    fn transfer<const Q: usize>(&mut self, way: Direction, places: Indexing, from: &View<S, Q, M>) {
        from.assert_whole();
        let replaces = way == Direction::Put && places.count() == self.len();
        if !replaces {
            self.assert_whole();
        }
        let flow = S::flow(&[&self.dependence, &from.dependence], &[]);
        assert!(
            flow != Flow::Nowhere || !self.is_active() || replaces,
            "a part of a view cannot become a constant: the recording is paused, and this writes to {} of the {} \
             elements of an active view; write all of the view or a passive copy (`view.constant()`), or end the pause \
             first",
            places.count(),
            self.len()
        );
        make_room::<S>(flow);
        // The values of a passive view are in no other place from which a replay could take them.
        let passive = |dependence: &Dependence<_>| flow.is_kept_for_replays() && dependence.slot() == 0;
        let passive =
            [passive(&from.dependence).then_some(&from.values), passive(&self.dependence).then_some(&self.values)];
        let passive = passive.map(Option::<&SharedArray<_>>::cloned);
        let fresh = self.values.is_shared().then(|| Self::empty(flow, self.len()));
        let kept = self.after_a_launch(flow);
        let to = OperandView { after: Some(kept.slot()), ..self.read() };
        let launch = Transfer::new(M::target(), (way, places.clone()), from.read(), to).keeping(passive);
        // Recorded before anything is written, so that the view is unchanged if the recording is refused.
        let dependence = noted::<S>(flow, launch, &[&from.dependence, &self.dependence], &[], kept);
        let write = |base, to: &mut Buffer<S::Value>| {
            let how = (way == Direction::Add, base);
            M::target().transfer(Movement::put(&places, Values::Each(&from.values), how, to));
        };
        if let Some(mut buffer) = fresh {
            write(if replaces { Base::Kept } else { Base::CopyOf(&self.values) }, &mut buffer);
            self.values = buffer.share();
        } else {
            write(Base::Kept, self.values.get_mut().expect("nobody else has it"));
        }
        self.set_dependence(dependence);
    }
}

impl<S: Taping, M: Space<S::Value>> View<S, 2, M> {
    /// A row, as a view of rank 1 with elements of its own.
    ///
    /// # Panics
    ///
    /// When there is no such row, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
    #[must_use]
    #[track_caller]
    pub fn row(&self, i: usize) -> View<S, 1, M> {
        let [_, columns] = self.shape();
        self.taken(Part::from([i..i + 1, 0..columns]).places(&self.shape()), [columns])
    }

    /// A column, as a view of rank 1 with elements of its own.
    ///
    /// # Panics
    ///
    /// When there is no such column, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
    #[must_use]
    #[track_caller]
    pub fn column(&self, j: usize) -> View<S, 1, M> {
        let [rows, _] = self.shape();
        self.taken(Part::from([0..rows, j..j + 1]).places(&self.shape()), [rows])
    }
}

/// The indices of a list, checked to be in this view.
#[track_caller]
fn listed<S: Taping, const R: usize, M: Space<S::Value>>(view: &View<S, R, M>, indices: &Indices) -> Indexing {
    let (length, bound) = (view.len(), indices.bound());
    assert!(
        bound <= length,
        "index {} is beyond a view of {length} elements, whose indices are 0 to {}",
        bound.wrapping_sub(1),
        length.wrapping_sub(1)
    );
    Indexing::List(indices.clone())
}

/// The elements of a view at a list of indices, counted in the order of [`View::values`]: element k of the result is
/// `x[indices[k]]`.
///
/// ```
/// use tapewright::{kernels::{Indices, View, gather, norm_squared, scatter_add}, prelude::*};
///
/// let x = View::<Passive, 1>::new([3], &[1.0, 2.0, 4.0]);
/// let edges = Indices::new(&[0, 1, 1, 2]);
/// assert_eq!(gather(&x, &edges).values(), [1.0, 2.0, 2.0, 4.0]);
///
/// let mut sums = View::zeros([3]);
/// scatter_add(&gather(&x, &edges), &edges, &mut sums);
/// assert_eq!(sums.values(), [1.0, 4.0, 4.0]);
///
/// // An element that is taken twice gets two adjoints.
/// let squares = |x: &[Real<Jacobian>]| norm_squared(&gather(&View::of_variables([3], x), &edges));
/// assert_eq!(gradient::<Jacobian>(squares, &[1.0, 2.0, 4.0]), [2.0, 8.0, 8.0]);
/// ```
///
/// # Panics
///
/// When the list is empty or has an index beyond the view, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
#[must_use]
#[track_caller]
pub fn gather<S: Taping, const R: usize, M: Space<S::Value>>(x: &View<S, R, M>, indices: &Indices) -> View<S, 1, M> {
    assert!(
        !indices.is_empty(),
        "the list of indices has no elements, and a view has one at least: leave `gather` out where nothing is taken"
    );
    x.taken(listed(x, indices), [indices.len()])
}

/// Puts the elements of a view at a list of indices of another view: `to[indices[k]] = x[k]`.
///
/// ```
/// use tapewright::{kernels::{Indices, View, norm_squared, scatter}, prelude::*};
///
/// let squares = |x: &[Real<Jacobian>]| {
///     let (x, mut to) = (View::of_variables([2], x), View::filled([3], 1.0));
///     scatter(&x, &Indices::new(&[2, 0]), &mut to);
///     assert_eq!(to.values(), [5.0, 1.0, 3.0]);
///     norm_squared(&to)
/// };
/// assert_eq!(gradient::<Jacobian>(squares, &[3.0, 5.0]), [6.0, 10.0]);
/// ```
/// # Panics
///
/// When an index is in the list twice, or is beyond the view that is written, when `x` has not as many elements as the
/// list, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
#[track_caller]
pub fn scatter<S: Taping, const Q: usize, const R: usize, M: Space<S::Value>>(
    x: &View<S, Q, M>,
    indices: &Indices,
    to: &mut View<S, R, M>,
) {
    if let Some((first, second)) = indices.twins() {
        let place = indices.get(first);
        panic!("elements {first} and {second} would both be put at place {place} (use `scatter_add` to add them up)");
    }
    counted(x, indices);
    to.transfer(Direction::Put, listed(to, indices), x);
}

/// Adds the elements of a view to the elements at a list of indices of another view, in order: `to[indices[k]] +=
/// x[k]`. The order at each element is that of the list for any number of threads, so the sums have the same bits.
///
/// ```
/// use tapewright::{kernels::{Indices, View, norm_squared, scatter_add}, prelude::*};
///
/// let squares = |x: &[Real<Jacobian>]| {
///     let (x, mut to) = (View::of_variables([3], x), View::filled([2], 1.0));
///     scatter_add(&x, &Indices::new(&[1, 0, 1]), &mut to);
///     assert_eq!(to.values(), [3.0, 5.0]);
///     norm_squared(&to)
/// };
/// assert_eq!(gradient::<Jacobian>(squares, &[1.0, 2.0, 3.0]), [10.0, 6.0, 10.0]);
/// ```
/// # Panics
///
/// When an index is beyond the view that is written, when `x` has not as many elements as the list, and in the cases
/// listed at [`Ex::eval`](crate::Ex::eval).
#[track_caller]
pub fn scatter_add<S: Taping, const Q: usize, const R: usize, M: Space<S::Value>>(
    x: &View<S, Q, M>,
    indices: &Indices,
    to: &mut View<S, R, M>,
) {
    counted(x, indices);
    to.transfer(Direction::Add, listed(to, indices), x);
}

#[track_caller]
fn counted<S: Taping, const R: usize, M: Space<S::Value>>(x: &View<S, R, M>, indices: &Indices) {
    let (elements, places) = (x.len(), indices.len());
    assert!(
        elements == places,
        "a view of {elements} elements cannot be scattered to {places} places: give an index for each element, \
         {elements} in all"
    );
}
