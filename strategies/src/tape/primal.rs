//! Records of what partials are recomputed from: how they are read.

use super::adjoints::{Kind, Reversal};
use super::data::{Data, Extent, Target, misreported};
use crate::{IndexType, LinearId, Load, Number, Shape, Sink, TapeNumber, Taping, Twin, singular_function};
use core::marker::PhantomData;

/// Primal-value records of statements whose twin is `B`: the statement is rebuilt and asked for its partials, which are
/// multiplied by the seed as the factors of a Jacobian record are: both strategies give the same bits.
pub(super) struct Replayed<S, B>(PhantomData<(S, B)>);

impl<S, B, I> Extent<S::Value, I> for Replayed<S, B>
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    const ARGUMENTS: Option<usize> = Some(B::Shape::LEAVES);
    const NUMBERS: usize = B::CONSTANTS;
    const PASSIVES: bool = true;
    type Object = ();
}

impl<S, B, I> Kind<S::Value, I> for Replayed<S, B>
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    #[inline(always)]
    fn reverse(record: Reversal<'_, '_, Self, S::Value, I>, seed: S::Value) {
        let statement = Self::load(record.data());
        statement.backward(S::Value::ONE, &mut Reported { seed, to: record.adding() });
    }

    fn rerun(data: Data<'_, Self, S::Value, I>, seed: S::Value, list: Option<&mut Vec<S::Value>>) -> Option<S::Value> {
        let statement = Self::load(data);
        let Some(list) = list else { return Some(statement.value()) };
        let mut reported = Reported { seed, to: Listing { list, left: data.arguments() } };
        statement.backward(S::Value::ONE, &mut reported);
        if reported.to.left != 0 {
            misreported();
        }
        None
    }

    fn singular(data: Data<'_, Self, S::Value, I>) -> Option<&'static str> {
        let mut source = Source { leaves: data.values().zip(data.ids()), constants: data.numbers() };
        singular_function(&B::load(&mut source), |id| id.is_active())
    }
}

impl<S, B> Replayed<S, B> {
    /// The statement that was recorded.
    #[inline(always)]
    fn load<I>(data: Data<'_, Self, S::Value, I>) -> B
    where
        S: Taping<Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        B::load(&mut Source { leaves: data.values().map(|value| (value, 0)), constants: data.numbers() })
    }
}

/// Reads back what a statement stored. Rules may be written by users, so there may be less than they ask for; inlined,
/// the numbers are known to the compiler.
struct Source<L, C> {
    /// Values and identifiers, 0 for passive ones or where they serve no purpose.
    leaves: L,
    constants: C,
}

impl<S, I, L, C> Load<S> for Source<L, C>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
    L: Iterator<Item = (S::Value, usize)>,
    C: Iterator<Item = S::Value>,
{
    #[inline(always)]
    fn leaf(&mut self) -> (S::Value, LinearId<I>) {
        let (value, id) = self.leaves.next().unwrap_or_else(|| misreported());
        (value, LinearId::new(TapeNumber::of(1), id as u64).unwrap_or(LinearId::passive()))
    }

    #[inline(always)]
    fn constant(&mut self) -> S::Value {
        self.constants.next().unwrap_or_else(|| misreported())
    }
}

/// Multiplies the partials that a rebuilt statement reports by a seed.
struct Reported<V, T> {
    seed: V,
    to: T,
}

impl<S, I, T> Sink<S> for Reported<S::Value, T>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
    T: Target<S::Value>,
{
    #[inline(always)]
    fn factor(&mut self, _: S::Value) {}

    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, _: LinearId<I>) {
        if !self.to.take(self.seed.contribution(partial)) {
            misreported();
        }
    }
}

/// A list of as many contributions as there are arguments.
struct Listing<'a, V> {
    list: &'a mut Vec<V>,
    left: usize,
}

impl<V> Target<V> for Listing<'_, V> {
    fn take(&mut self, contribution: V) -> bool {
        let is_expected = self.left > 0;
        if is_expected {
            self.left -= 1;
            self.list.push(contribution);
        }
        is_expected
    }
}
