//! Sparse Jacobian matrices, several rows or columns in one sweep.

use super::coloring::{ByColor, Coloring};
use super::matrix::SparseMatrix;
use super::probe::{Sums, weight};
use super::rows::RowByRow;
use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::pattern::Pattern;
use crate::tape::Tape;
use tapewright_strategies::{Float, Reverse};

/// Number of rows, or columns, in one sweep.
const WIDTH: usize = 8;

/// A Jacobian matrix that is mostly zeros, with the data to compute it again for other inputs: its pattern, and a
/// coloring of its rows or columns.
///
/// Rows without a column in common are computed by one adjoint vector, columns without a row in common along one
/// direction of a forward sweep; eight of either go through the recording at once, and take as much memory as eight
/// adjoint vectors. So the number of sweeps depends on how full rows or columns are, not on how many there are.
///
/// Before that, rows are tried one after the other, each over the records that it depends on: where these are few, as
/// in a sum over many small functions of shared parameters, all rows together cost about a sweep. From the first
/// evaluation on that would pass more records than sweeps in colors, colors are taken. Which rows were found together
/// is kept for the next evaluation, which takes less then, with as many adjoint vectors of its own.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::sparse::SparseJacobian;
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> { x.windows(2).map(|x| (x[1] * x[0]).into()).collect() }
///
/// let mut tape = Tape::<Jacobian>::new();
/// let mut record = |tape: &mut Tape<Jacobian>, x: &[f64]| tape.record(|scope| {
///     let x = scope.inputs(x);
///     let y = f(&x);
///     (x, y)
/// });
/// let (x, y) = record(&mut tape, &[1.0, 2.0, 3.0, 4.0]);
/// let mut jacobian = SparseJacobian::new(&tape, &x, &y)?;
/// assert_eq!(jacobian.sweeps(), 2);
/// assert_eq!(jacobian.evaluate(&mut tape, &x, &y)?.values(), [2.0, 1.0, 3.0, 2.0, 4.0, 3.0]);
/// let (x, y) = record(&mut tape, &[5.0, 6.0, 7.0, 8.0]);
/// assert_eq!(jacobian.evaluate(&mut tape, &x, &y)?.values(), [6.0, 5.0, 7.0, 6.0, 8.0, 7.0]);
/// # Ok::<(), tapewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparseJacobian<V> {
    matrix: SparseMatrix<V>,
    coloring: Coloring,
    /// True if columns are colored, for forward sweeps.
    forward: bool,
    /// The rows by color; or, if columns are colored, row and index of each entry by the color of its column.
    by_color: ByColor<(usize, usize)>,
    /// Row by row, each by the records that it depends on, if these are few.
    rows: RowByRow<V>,
    seeds: Vec<V>,
    found: Vec<V>,
    sums: Sums,
}

impl<V: Float> SparseJacobian<V> {
    /// Finds the pattern of a recording, see [`Tape::jacobian_pattern`], and colors it.
    ///
    /// # Errors
    ///
    /// The errors of [`Tape::jacobian_pattern`].
    pub fn new<S: Reverse<Value = V>>(tape: &Tape<S>, inputs: &[Real<S>], outputs: &[Real<S>]) -> Result<Self, Error> {
        Ok(Self::with_pattern(tape.jacobian_pattern(inputs, outputs)?))
    }

    /// Takes a pattern that is known, and colors it. The pattern may have more entries than necessary.
    #[must_use]
    pub fn with_pattern(pattern: Pattern) -> Self {
        // A coloring takes about as many colors as the fullest row, or column, has entries.
        let forward = prefers_forward(pattern.fullest_row(), pattern.fullest_column());
        let coloring = if forward { Coloring::of_columns(&pattern) } else { Coloring::of_rows(&pattern) };
        let matrix = SparseMatrix::zero(pattern);
        let (by_color, rows, sums) = (ByColor::default(), RowByRow::default(), Sums::default());
        Self { matrix, coloring, forward, by_color, rows, seeds: Vec::new(), found: Vec::new(), sums }
    }

    /// The matrix of the latest evaluation; zeros before that.
    #[must_use]
    pub const fn matrix(&self) -> &SparseMatrix<V> {
        &self.matrix
    }

    /// The matrix of the latest evaluation.
    #[must_use]
    pub fn into_matrix(self) -> SparseMatrix<V> {
        self.matrix
    }

    /// The coloring of rows, or of columns if they are computed by forward sweeps.
    #[must_use]
    pub const fn coloring(&self) -> &Coloring {
        &self.coloring
    }

    /// Returns true if columns are colored, and computed by forward sweeps along several directions; rows are computed
    /// by sweeps with several adjoint vectors.
    #[must_use]
    pub const fn is_by_columns(&self) -> bool {
        self.forward
    }

    /// Number of adjoint vectors, or directions of forward sweeps, that compute the matrix in colors. One more shows if
    /// the pattern is still right.
    #[must_use]
    pub const fn sweeps(&self) -> usize {
        self.coloring.count()
    }

    /// Computes the matrix of the tape's present recording, which must be of the same function, at any inputs. A second
    /// call allocates nothing, if the recording has the same number of statements.
    ///
    /// A function that branches may read other variables at other inputs. Where rows are found one after the other, an
    /// adjoint outside the pattern shows that. In colors, one more adjoint vector, with weights that belong to no
    /// entry, shows it: its adjoints must equal the sums of the weighted entries, to half of the digits. An entry
    /// outside the pattern goes unnoticed if others are larger by more than half of the digits. Where the sums differ
    /// or are not finite, the pattern of the recording decides, if it has one: that takes as long as a new pattern.
    ///
    /// # Errors
    ///
    /// [`Error::PatternChanged`] when the matrix has entries outside the pattern: make a new `SparseJacobian`. The
    /// entries of [`matrix`](Self::matrix) are then wrong.
    /// [`Error::LengthMismatch`] when there are not as many inputs as columns, or outputs as rows; otherwise as
    /// [`Tape::sweep`], and for forward sweeps as [`Tape::jvp`].
    pub fn evaluate<S: Reverse<Value = V>>(
        &mut self,
        tape: &mut Tape<S>,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
    ) -> Result<&SparseMatrix<V>, Error> {
        same_length(("columns", self.matrix.pattern().columns()), ("inputs", inputs.len()))?;
        same_length(("rows", self.matrix.pattern().rows()), ("outputs", outputs.len()))?;
        let passes = 1 + self.coloring.count() / WIDTH;
        if self.rows.evaluate((tape, passes), inputs, outputs, &mut self.matrix)? {
            return Ok(&self.matrix);
        }
        if self.forward {
            match self.by_columns(tape, inputs, outputs) {
                // A forward rule is missing or fails, or the strategy has no forward sweeps.
                Err(Error::Sweep(_)) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let (entries, memory) = (self.matrix.values().iter(), (&mut self.seeds, &mut self.found));
                    if tape.is_finite(inputs, outputs, entries, memory)? {
                        return self.checked(tape, inputs, outputs);
                    }
                    // Infinite terms may cancel, or meet a zero, in one direction and not in the other. Rows must be
                    // what a reverse sweep finds.
                }
            }
            self.color_rows();
        }
        self.by_rows(tape, inputs, outputs)?;
        self.checked(tape, inputs, outputs)
    }

    /// Returns the matrix, unless it has entries outside the pattern.
    fn checked<S: Reverse<Value = V>>(
        &self,
        tape: &Tape<S>,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
    ) -> Result<&SparseMatrix<V>, Error> {
        if let Some(doubt) = self.sums.doubt() {
            doubt.settle(self.forward, self.matrix.pattern(), tape.jacobian_pattern(inputs, outputs))?;
        }
        Ok(&self.matrix)
    }

    fn color_rows(&mut self) {
        self.forward = false;
        self.by_color = ByColor::default();
        self.coloring = Coloring::of_rows(self.matrix.pattern());
    }

    /// Sweeps with up to eight adjoint vectors for as many colors of rows, and with one for the weights.
    fn by_rows<S: Reverse<Value = V>>(
        &mut self,
        tape: &mut Tape<S>,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
    ) -> Result<(), Error> {
        let (colors, starts) = (self.coloring.count(), self.matrix.pattern().starts());
        let colored = self.coloring.colors().iter().zip(starts).enumerate();
        self.by_color.list(colors, colored.map(|(row, (color, start))| (*color, (row, *start))));
        self.sums.clear::<V>(inputs.len());
        for first in (0..=colors).step_by(WIDTH) {
            let width = (colors + 1 - first).min(WIDTH).next_power_of_two();
            self.seed(outputs.len(), first, width);
            self.found.clear();
            self.found.resize(inputs.len() * width, V::ZERO);
            tape.sweep_lanes_through(width, (outputs, &self.seeds), (inputs, &mut self.found))?;
            self.take_rows(first, width);
            if colors - first < width {
                let found = self.found.iter().skip(colors - first).step_by(width);
                found.enumerate().for_each(|(column, found)| self.sums.check(column, *found));
            }
        }
        Ok(())
    }

    /// Seeds the rows, or columns, of some colors, a lane for each color; behind the last color come the weights.
    fn seed(&mut self, variables: usize, first: usize, width: usize) {
        let colors = self.coloring.count();
        self.seeds.clear();
        self.seeds.resize(variables * width, V::ZERO);
        for (k, seeds) in self.seeds.chunks_exact_mut(width).enumerate() {
            let color = self.coloring.colors()[k] as usize;
            if let Some(lane) = color.checked_sub(first).filter(|lane| *lane < width) {
                seeds[lane] = V::ONE;
            }
            if let Some(lane) = (colors - first < width).then_some(colors - first) {
                seeds[lane] = weight(k);
            }
        }
    }

    /// Takes the entries of the rows of some colors from the adjoints of all inputs.
    fn take_rows(&mut self, first: usize, width: usize) {
        let (pattern, values) = self.matrix.values_mut();
        for (lane, (row, start)) in self.by_color.from(first, width) {
            for (column, value) in pattern.row(row).iter().zip(&mut values[start..]) {
                *value = self.found[column * width + lane];
                self.sums.add(*column, weight(row), *value);
            }
        }
    }

    /// Sweeps forward along up to eight directions, for as many colors of columns, and along one for the weights.
    fn by_columns<S: Reverse<Value = V>>(
        &mut self,
        tape: &mut Tape<S>,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
    ) -> Result<(), Error> {
        let (colors, pattern) = (self.coloring.count(), self.matrix.pattern());
        let rows = (0..pattern.rows()).flat_map(|row| pattern.row(row).iter().map(move |column| (row, *column)));
        let color = |((row, column), entry)| (self.coloring.colors()[column], (row, entry));
        self.by_color.list(colors, rows.zip(0..).map(color));
        self.sums.clear::<V>(outputs.len());
        for first in (0..=colors).step_by(WIDTH) {
            let width = (colors + 1 - first).min(WIDTH).next_power_of_two();
            self.seed(inputs.len(), first, width);
            self.found.clear();
            self.found.resize(outputs.len() * width, V::ZERO);
            tape.jvp_lanes_through(width, (inputs, &self.seeds), (outputs, &mut self.found))?;
            self.take_columns(first, width);
            if colors - first < width {
                let found = self.found.iter().skip(colors - first).step_by(width);
                found.enumerate().for_each(|(row, found)| self.sums.check(row, *found));
            }
        }
        Ok(())
    }

    /// Takes the entries of the columns of some colors from the tangents of all outputs.
    fn take_columns(&mut self, first: usize, width: usize) {
        let (pattern, values) = self.matrix.values_mut();
        for (lane, (row, entry)) in self.by_color.from(first, width) {
            values[entry] = self.found[row * width + lane];
            self.sums.add(row, weight(pattern.indices()[entry]), values[entry]);
        }
    }
}

/// Returns true if sweeps along `forward` directions cost clearly less than sweeps with `reverse` adjoint vectors. Both
/// sweep eight at once; eight directions cost 4 to 10 sweeps, eight adjoint vectors 3 to 10, and a sweep confirms what
/// was found forward.
pub(crate) const fn prefers_forward(forward: usize, reverse: usize) -> bool {
    forward + 4 < reverse
}

/// The values of `f` at `x` and its Jacobian matrix, whose zeros are neither computed nor stored.
///
/// For a function that is evaluated at many inputs keep a tape and a [`SparseJacobian`]: pattern and coloring are then
/// computed once.
///
/// # Errors
///
/// The errors of [`SparseJacobian::new`] and [`SparseJacobian::evaluate`].
///
/// # Panics
///
/// When [`jacobian`](crate::jacobian) does.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::sparse::sparse_jacobian;
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> { x.iter().map(|x| x.sin().into()).collect() }
/// let (_, matrix) = sparse_jacobian::<Jacobian>(f, &[0.0; 1000])?;
/// assert_eq!(matrix.pattern().entries(), 1000);
/// # Ok::<(), tapewright::Error>(())
/// ```
#[allow(clippy::type_complexity, reason = "a vector and a matrix, or what is wrong")]
pub fn sparse_jacobian<S: Reverse<Value: Float>>(
    f: impl FnOnce(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
) -> Result<(Vec<S::Value>, SparseMatrix<S::Value>), Error> {
    let mut tape = Tape::<S>::new();
    let (inputs, outputs) = tape.try_record(|scope| {
        let inputs = scope.inputs(x);
        let outputs = f(&inputs);
        (inputs, outputs)
    })?;
    let mut jacobian = SparseJacobian::new(&tape, &inputs, &outputs)?;
    jacobian.evaluate(&mut tape, &inputs, &outputs)?;
    Ok((outputs.iter().map(Real::peek).collect(), jacobian.into_matrix()))
}
