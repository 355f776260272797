//! Kind of records of operands, from which partials are recomputed.

use super::kind::{Arguments, Data, Kind, Row, Target, misreported};
use crate::contract::{Load, Sink, Twin};
use crate::identifier::{IndexType, LinearId, RecordingId};
use crate::shape::Shape;
use crate::singular::singular_function;
use crate::{Number, Taping};
use core::marker::PhantomData;

/// Primal-value records of statements whose twin is `B`. The statement is rebuilt and reports its partials, which are
/// multiplied by the seed like the factors of a Jacobian record, so that both strategies give the same bits.
pub(crate) struct Replayed<S, B>(PhantomData<(S, B)>);

impl<S, B, I> Kind<S::Value, I> for Replayed<S, B>
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    const ARGUMENTS: Option<usize> = Some(B::Shape::LEAVES);
    const NUMBERS: usize = B::CONSTANTS;
    const PASSIVES: bool = true;
    type Object = ();

    #[inline(always)]
    fn reverse(data: Data<'_, Self, S::Value, I>, seed: S::Value, to: &mut impl Target<S::Value>) {
        let mut reported = Reported { seed, to, left: B::Shape::LEAVES };
        Self::load(data).backward(S::Value::ONE, &mut reported);
        if reported.left != 0 {
            misreported();
        }
    }

    fn value(data: Data<'_, Self, S::Value, I>) -> Option<S::Value> {
        Some(B::evaluate(&mut Source::of(data)))
    }

    fn singular(data: Data<'_, Self, S::Value, I>) -> Option<&'static str> {
        singular_function(&Self::load(data), |id| id.is_active())
    }
}

impl<S, B> Replayed<S, B> {
    /// Rebuilds the statement that was recorded.
    #[inline(always)]
    fn load<I>(data: Data<'_, Self, S::Value, I>) -> B
    where
        S: Taping<Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        B::load(&mut Source::of(data))
    }
}

/// Reads back the operands that a statement stored. Rules may be written by users and may ask for more operands than
/// there are, so every read is checked; inlined, the counts are known to the compiler.
struct Source<'a, V, I> {
    arguments: Arguments<'a, V, I>,
    constants: Row<'a, V>,
}

impl<'a, V: Number, I: IndexType> Source<'a, V, I> {
    #[inline(always)]
    fn of<K: Kind<V, I>>(data: Data<'a, K, V, I>) -> Self {
        Self { arguments: data.arguments_with_values(), constants: data.numbers() }
    }
}

impl<S: Taping<Raw = LinearId<I>>, I: IndexType> Load<S> for Source<'_, S::Value, I> {
    #[inline(always)]
    fn leaf(&mut self) -> (S::Value, LinearId<I>) {
        let (value, id) = self.arguments.read();
        let number = if id == 0 { RecordingId::NONE } else { const { RecordingId::of(1) } };
        (value, LinearId::pack(number, id as u64))
    }

    #[inline(always)]
    fn constant(&mut self) -> S::Value {
        self.constants.read()
    }
}

/// Multiplies the partials that a rebuilt statement reports by a seed.
struct Reported<'t, V, T> {
    seed: V,
    to: &'t mut T,
    /// Number of leaves that have not been reported.
    left: usize,
}

impl<S, I, T> Sink<S> for Reported<'_, S::Value, T>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
    T: Target<S::Value>,
{
    #[inline(always)]
    fn factor(&mut self, _: S::Value) {}

    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, _: LinearId<I>) {
        self.to.take(self.seed.contribution(partial));
        self.left -= 1;
    }
}
