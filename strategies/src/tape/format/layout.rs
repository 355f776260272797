//! Layout of the records of one type: their length, and the functions that read them.

use super::block::BlockFunctions;
use super::code::{self, CLASSIC_MAX};
use super::entry_points::Functions;
use super::kind::Kind;
use super::operands::Replayed;
use super::partials::Scattered;
use super::variadic::{Called, Listed, OfSlice, Ones};
use crate::compound::InRegisters;
use crate::contract::{Sink, Store, Twin};
use crate::identifier::{IndexType, LinearId};
use crate::policy::Policy;
use crate::rules::Curvature;
use crate::shape::Shape;
use crate::singular::refuses_singular;
use crate::{Nary, Number, Statement, Taping};
use core::any::TypeId;
use core::marker::PhantomData;

/// The order of the data in a record; identifiers come last, followed only by counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Payload and identifiers, in the numbers that the layout gives.
    Fixed,
    /// Values of passive arguments, last first; then payload and identifiers as in `Fixed`, 0 for passive arguments.
    Passives,
    /// Payload for each argument, identifiers, and the number of arguments (`u32`).
    Counted,
    /// Padding that aligns the object, an object of this many bytes, identifiers, the length of the padding and the
    /// number of identifiers (`u32` each).
    Object(usize),
    /// An independent variable: no data.
    Input,
    /// Several independent variables: their number (`u32`).
    Inputs,
    /// Results of an external function or a launch: the index of the function, and the number of variable numbers that
    /// it takes, one for each result (`u32` each). Where identifiers are reused, the results have records of their own
    /// in front of this one.
    External,
}

impl Form {
    /// Returns true if such a record is of a statement, which may overwrite the value of its identifier.
    #[inline(always)]
    pub(crate) const fn is_of_statement(self) -> bool {
        !matches!(self, Self::Input | Self::Inputs | Self::External)
    }
}

/// The records of one kind. Equal addresses mean equal layouts, but a statement that is compiled in several places has
/// a layout at each of them.
pub(crate) struct Layout<V: Number> {
    pub(crate) functions: Functions<V>,
    /// The kind from which the functions were made.
    pub(crate) kind: TypeId,
    pub(crate) form: Form,
    /// The pairs of arguments in which statements are not linear.
    pub(crate) curvature: Curvature,
    /// Number of values in front of the identifiers; for each argument if the arguments are counted.
    pub(crate) payload: usize,
    /// Number of identifiers, unless they are counted.
    pub(crate) arguments: usize,
    /// Bytes of data of a record without passive arguments; [`VARYING`](Self::VARYING) if records differ in length.
    pub(crate) bytes: usize,
    /// True if the payload consists of factors of partials, false if partials are recomputed from it.
    pub(crate) partials: bool,
    /// True if the tape accepts both partials and operands, so that the smaller record can be written.
    pub(crate) hybrid: bool,
    /// True if the contributions for a seed equal the seed times the contributions for seed 1 only up to rounding, not
    /// bit for bit.
    pub(crate) foreign: bool,
    /// The layout of records with passive arguments, if these have to be identified.
    pub(crate) with_passives: Option<&'static Self>,
    /// The functions over blocks of scenarios, if the strategy asks for programs and the statement has them.
    pub(crate) block: Option<BlockFunctions>,
    pub(crate) hash: usize,
    /// The code of these records on every tape, or 0 if each tape assigns one.
    pub(crate) code: u8,
}

/// A strategy whose statements of type `N` have records of one layout.
pub(crate) trait LayoutOf<N: Statement<Self>>: Taping {
    /// The layout of the records; a constant, so that only the code that such a record needs is compiled.
    const LAYOUT: &'static Layout<Self::Value>;

    /// Passes the content of a record of this layout to `sink`: the operands of the statement, or its partials.
    /// Strategies whose records all hold partials override this method, because functions in a branch that is never
    /// taken still cost compile time.
    #[inline(always)]
    fn hold(statement: &N, sink: &mut (impl Sink<Self> + Store<Self>)) {
        if const { Self::LAYOUT.partials } {
            statement.backward(Number::ONE, sink);
        } else {
            statement.store(sink);
        }
    }
}

const fn slot(hash: u32) -> usize {
    (crate::shape::mix(hash, 0x5EED) >> 20) as usize % code::HASH_SLOTS
}

impl<V: Number> Layout<V> {
    /// The value of `bytes` for records that differ in length.
    const VARYING: usize = usize::MAX;

    /// The layout of records of this kind. The hash tells it from other layouts.
    const fn of<K: Kind<V, I>, I: IndexType>(hash: u32) -> Self {
        let (form, arguments, bytes) = match K::ARGUMENTS {
            Some(n) => (Form::Fixed, n, K::NUMBERS * size_of::<V>() + n * size_of::<I>()),
            None => (Form::Counted, 0, Self::VARYING),
        };
        Self {
            functions: Functions::of::<K, I>(),
            kind: TypeId::of::<K>(),
            form,
            curvature: Curvature::Everywhere,
            payload: K::NUMBERS,
            arguments,
            bytes,
            partials: true,
            hybrid: false,
            foreign: false,
            with_passives: None,
            block: None,
            hash: slot(hash),
            code: 0,
        }
    }

    /// The layout of records of this kind that keep the operands of their statements.
    const fn computed<K: Kind<V, I>, I: IndexType>(hash: u32, is_checked: bool) -> Self {
        Self { functions: Functions::computed::<K, I>(is_checked), partials: false, ..Self::of::<K, I>(hash) }
    }

    const fn coded(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Returns true if the layouts are the same, at whatever addresses.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        // The other fields follow from these.
        let all = |layout: &Self| (layout.kind, layout.form, layout.arguments, layout.curvature, layout.hybrid);
        all(self) == all(other)
    }

    /// Partials and identifiers, counted.
    pub(crate) const fn listed<I: IndexType>() -> Self {
        Self::of::<Listed, I>(0xA12).coded(code::LISTED)
    }

    /// Partials and identifiers of `n` arguments.
    pub(crate) const fn classic<I: IndexType>(n: usize) -> Self {
        let bytes = n * (size_of::<V>() + size_of::<I>());
        Self { form: Form::Fixed, payload: n, arguments: n, bytes, ..Self::listed::<I>() }.coded(code::classic(n))
    }

    /// Partials and identifiers of the `n` arguments of a function that is linear in them; counted if `n` is 0. Bytes
    /// and functions are those of other partials.
    #[allow(clippy::cast_possible_truncation, reason = "n is at most CLASSIC_MAX")]
    pub(crate) const fn linear<I: IndexType>(n: usize) -> Self {
        let partials = if n == 0 { Self::listed::<I>() } else { Self::classic::<I>(n) };
        Self { curvature: Curvature::LINEAR, hash: slot(0xA15 + n as u32), code: 0, ..partials }
    }

    /// Identifiers of arguments whose partials are 1, counted.
    pub(crate) const fn ones<I: IndexType>() -> Self {
        Self { curvature: Curvature::LINEAR, ..Self::of::<Ones, I>(0xA11).coded(code::ONES) }
    }

    /// An independent variable.
    pub(crate) const fn input<I: IndexType>() -> Self {
        Self { form: Form::Input, ..Self::ones::<I>() }.coded(code::INPUT)
    }

    /// Several independent variables.
    pub(crate) const fn inputs<I: IndexType>() -> Self {
        Self { form: Form::Inputs, ..Self::ones::<I>() }.coded(code::INPUTS)
    }

    /// An external function, or a launch of a kernel.
    pub(crate) const fn external<I: IndexType>() -> Self {
        Self { form: Form::External, ..Self::ones::<I>() }.coded(code::EXTERNAL)
    }

    /// Jacobian records of this shape.
    pub(crate) const fn scatter<H: Shape, I: IndexType>() -> Self {
        let curvature = if H::FACTORS == 0 { Curvature::LINEAR } else { Curvature::Everywhere };
        let records = Self::of::<Scattered<H>, I>(H::HASH).coded(code::of_pattern(H::PATTERN));
        Self { curvature, ..records }
    }

    /// Primal-value records of statements whose twin is `B`; Jacobian records if the twin cannot recompute their
    /// values.
    pub(crate) const fn replay<S, B, I>() -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        if !B::REPLAYS {
            return Self::scatter::<B::Shape, I>();
        }
        Self {
            with_passives: Some(const { &Self::replayed::<S, B, I>(!B::HASH).with_passive_values() }),
            ..Self::replayed::<S, B, I>(B::HASH)
        }
    }

    /// This layout with values of passive arguments in front, of which each record may have another number.
    const fn with_passive_values(self) -> Self {
        Self { form: Form::Passives, bytes: Self::VARYING, functions: self.functions.of_varying(), ..self }
    }

    const fn replayed<S, B, I>(hash: u32) -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        Self { curvature: B::CURVATURE, ..Self::computed::<Replayed<S, B>, I>(hash, refuses_singular::<S>()) }
    }

    /// Primal-value records, as [`replay`](Self::replay) has them, of statements that programs compute.
    pub(crate) const fn in_blocks<S, B, I>() -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
        V: InRegisters,
    {
        if !B::REPLAYS {
            return Self::scatter::<B::Shape, I>();
        }
        let block = BlockFunctions::of::<S, B, V>();
        Self {
            block,
            with_passives: Some(
                const {
                    let block = BlockFunctions::of::<S, B, V>();
                    &Self { block, ..Self::replayed::<S, B, I>(!B::HASH).with_passive_values() }
                },
            ),
            ..Self::replayed::<S, B, I>(B::HASH)
        }
    }

    /// Returns true for records of statements that a replay would have to recompute, and cannot.
    pub(crate) const fn forbids_replays(&self) -> bool {
        self.partials && !self.hybrid
    }

    /// The smaller of a Jacobian record and a primal-value record of the statement whose twin is `B`; the Jacobian
    /// record if both are equally long, because it is faster to reverse.
    pub(crate) const fn smaller<S, B, I>() -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        let (partials, constants) = (Self::scatter::<B::Shape, I>(), Self::replay::<S, B, I>());
        let smaller = if partials.bytes <= constants.bytes { partials } else { constants };
        Self { hybrid: true, ..smaller }
    }

    /// Primal-value records of a function of a slice.
    pub(crate) const fn nary<P: Policy, R: Nary<V>, I: IndexType>() -> Self {
        Self { curvature: R::CURVATURE, ..Self::computed::<OfSlice<P, R>, I>(0xA13, true) }
    }

    /// Records of closures of users.
    pub(crate) const fn closure<F: Fn(V, &mut [V]) + 'static, I: IndexType>() -> Self {
        Self { form: Form::Object(size_of::<F>()), foreign: true, ..Self::of::<Called<F>, I>(0xA14) }
    }
}

/// The facts that determine the bytes of a record of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Value of [`Layout::arguments`].
    pub(crate) arguments: usize,
    /// Value of [`Layout::bytes`]: bytes of data, without passive arguments.
    pub(crate) bytes: usize,
    /// Value of [`Layout::partials`].
    pub(crate) partials: bool,
    /// Value of [`Layout::hybrid`].
    pub(crate) hybrid: bool,
    /// True if each tape assigns a code, because there is none that all tapes have.
    pub(crate) assigned: bool,
}

impl<V: Number> Layout<V> {
    /// The facts that determine the bytes of these records.
    pub(crate) const fn lengths(&self) -> Lengths {
        let Self { arguments, bytes, partials, hybrid, code, .. } = *self;
        Lengths { arguments, bytes, partials, hybrid, assigned: code == 0 }
    }
}

impl Lengths {
    /// Returns true if a statement with this many passive arguments is written as a list of partials, and not in
    /// `bytes` bytes in its layout. `coded` returns true if the layout has a code, and assigns one if possible.
    #[inline]
    pub(crate) fn lists<V: Number, I>(self, passives: usize, bytes: usize, coded: impl FnOnce() -> bool) -> bool {
        let listed = (self.arguments - passives) * (size_of::<V>() + size_of::<I>());
        if passives > 0 {
            return if self.hybrid { listed < bytes } else { self.partials };
        }
        // Without a code, partials are listed unless the record with an address takes fewer bytes.
        let with_address = bytes + size_of::<&Layout<V>>();
        self.partials && (!self.hybrid || listed <= with_address) && !coded()
    }

    /// Bytes of data of a list of this many partials.
    pub(crate) const fn of_partials<V, I: IndexType>(active: usize) -> usize {
        let counted = active == 0 || active > CLASSIC_MAX;
        active * (size_of::<V>() + size_of::<I>()) + if counted { size_of::<u32>() } else { 0 }
    }
}

/// The layouts that have the same code on every tape.
pub(crate) struct Common<V, I>(PhantomData<(V, I)>);

impl<V: Number, I: IndexType> Common<V, I> {
    pub(crate) const INPUT: &Layout<V> = &Layout::input::<I>();
    pub(crate) const INPUTS: &Layout<V> = &Layout::inputs::<I>();
    pub(crate) const EXTERNAL: &Layout<V> = &Layout::external::<I>();
    pub(crate) const LISTED: &Layout<V> = &Layout::listed::<I>();
    pub(crate) const ONES: &Layout<V> = &Layout::ones::<I>();
    /// Partials, indexed by the number of arguments; entry 0 is counted.
    pub(crate) const CLASSIC: &[Layout<V>; CLASSIC_MAX + 1] = &Self::by_number(false);
    /// Partials of functions that are linear in these arguments, indexed by their number; their codes are assigned.
    const LINEAR: &[Layout<V>; CLASSIC_MAX + 1] = &Self::by_number(true);

    const fn by_number(linear: bool) -> [Layout<V>; CLASSIC_MAX + 1] {
        let mut all = [const { Layout::listed::<I>() }; CLASSIC_MAX + 1];
        let mut n = if linear { 0 } else { 1 };
        while n <= CLASSIC_MAX {
            all[n] = if linear { Layout::linear::<I>(n) } else { Layout::classic::<I>(n) };
            n += 1;
        }
        all
    }

    /// The layout of partials and identifiers of `n` active arguments.
    pub(crate) const fn partials(n: usize) -> &'static Layout<V> {
        if n == 0 || n > CLASSIC_MAX { Self::LISTED } else { &Self::CLASSIC[n] }
    }

    /// The layout of partials and identifiers of `n` active arguments of a function that is linear in them.
    pub(crate) fn linear_partials(n: usize) -> &'static Layout<V> {
        Self::LINEAR.get(n).unwrap_or(&Self::LINEAR[0])
    }
}
