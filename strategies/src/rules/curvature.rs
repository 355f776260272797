//! In which of its arguments a statement is not linear.

use core::ops::Range;

/// In which pairs of its arguments a statement may not be linear: where its second derivatives are not 0 at all points.
/// It follows from operators, never from values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curvature {
    /// Only in these.
    In(Products),
    /// Argument k of the first half with argument k of the second: an inner product.
    Halves,
    /// In all pairs, as far as is known.
    Everywhere,
}

/// Products of two ranges of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    ranges: [[u8; 4]; Products::MOST],
    count: u8,
}

impl Products {
    const MOST: usize = 14;

    /// The ranges: each argument of the first with each one of the second.
    pub fn iter(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
        let each = |range: &[u8; 4]| range.map(usize::from);
        self.ranges.iter().take(usize::from(self.count)).map(each).map(|[a, b, c, d]| (a..b, c..d))
    }
}

impl Curvature {
    /// The statement is linear.
    pub const LINEAR: Self = Self::In(Products { ranges: [[0; 4]; Products::MOST], count: 0 });

    /// This curvature, and also each of some arguments with each of others; ranges are given by their ends.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "checked")]
    pub const fn and(self, (a, b): (usize, usize), (c, d): (usize, usize)) -> Self {
        if a == b || c == d {
            return self;
        }
        let Self::In(mut products) = self else { return self };
        if products.count as usize == Products::MOST || b > 255 || d > 255 {
            return Self::Everywhere;
        }
        products.ranges[products.count as usize] = [a as u8, b as u8, c as u8, d as u8];
        products.count += 1;
        Self::In(products)
    }

    /// The curvature of a function of something with this many arguments, if the function is not linear.
    #[must_use]
    pub const fn all(arguments: usize) -> Self {
        Self::LINEAR.and((0, arguments), (0, arguments))
    }

    /// Returns true if a function of `n` arguments is linear in its active arguments, whatever the others are.
    pub(crate) fn is_linear_in(&self, active: impl Iterator<Item = bool> + Clone, n: usize) -> bool {
        let half = || active.clone().skip(n / 2);
        let any = |range: Range<usize>| active.clone().take(range.end).skip(range.start).any(|active| active);
        match self {
            Self::In(products) => products.iter().all(|(rows, columns)| !any(rows) || !any(columns)),
            Self::Halves => active.clone().take(n / 2).zip(half()).all(|(a, b)| !a || !b),
            Self::Everywhere => false,
        }
    }

    /// The curvature of a sum of something with this many arguments and of something behind it.
    #[must_use]
    pub const fn beside(self, arguments: usize, other: Self) -> Self {
        let (Self::In(_), Self::In(products)) = (self, other) else { return Self::Everywhere };
        let (mut sum, mut k) = (self, 0);
        while k < products.count as usize {
            let [a, b, c, d] = products.ranges[k];
            let shifted = (c as usize + arguments, d as usize + arguments);
            sum = sum.and((a as usize + arguments, b as usize + arguments), shifted);
            k += 1;
        }
        sum
    }
}

/// Arguments in which a function of two arguments is not linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// In nothing: a sum, or whichever of the two is larger.
    Nothing,
    /// In the two together: a product.
    Product,
    /// In the two together, and in the second: a quotient.
    Quotient,
    /// In anything, as far as is known.
    Anything,
}

impl Bend {
    /// The curvature of the function of two expressions with these curvatures and numbers of arguments.
    #[must_use]
    pub const fn of(self, left: (Curvature, usize), right: (Curvature, usize)) -> Curvature {
        let (n, m) = (left.1, left.1 + right.1);
        match self {
            Self::Nothing => left.0.beside(n, right.0),
            Self::Product => left.0.beside(n, right.0).and((0, n), (n, m)),
            Self::Quotient => left.0.beside(n, Curvature::all(right.1)).and((0, n), (n, m)),
            Self::Anything => Curvature::all(m),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bend, Curvature};

    fn listed(curvature: Curvature) -> Vec<(core::ops::Range<usize>, core::ops::Range<usize>)> {
        let Curvature::In(products) = curvature else { panic!("{curvature:?}") };
        products.iter().collect()
    }

    /// `x·y + (u/v)·c + sin(w)` with a literal `c`.
    #[test]
    fn of_an_expression() {
        let leaf = (Curvature::LINEAR, 1);
        let product = Bend::Product.of(leaf, leaf);
        let quotient = Bend::Product.of((Bend::Quotient.of(leaf, leaf), 2), (Curvature::LINEAR, 0));
        let sum = Bend::Nothing.of((product, 2), (quotient, 2));
        let sum = Bend::Nothing.of((sum, 4), (Curvature::all(1), 1));
        assert_eq!(listed(sum), [(0..1, 1..2), (3..4, 3..4), (2..3, 3..4), (4..5, 4..5)]);
    }

    #[test]
    fn of_active_arguments() {
        let linear = |curvature: Curvature, active: &[u8]| {
            curvature.is_linear_in(active.iter().map(|active| *active == 1), active.len())
        };
        assert!(linear(Curvature::LINEAR, &[1, 1, 0]) && !linear(Curvature::Everywhere, &[0, 1]));
        assert!(linear(Curvature::Halves, &[1, 0, 0, 0, 1, 1]) && !linear(Curvature::Halves, &[1, 0, 0, 1, 1, 1]));
        assert!(linear(Curvature::Halves, &[1, 0, 1]), "as patterns have it");
        let products = Curvature::LINEAR.and((0, 2), (1, 4)).and((5, 6), (5, 6));
        assert!(linear(products, &[1, 0, 0, 0, 1, 0]) && linear(products, &[0, 0, 1, 1, 1]));
        assert!(!linear(products, &[0, 1, 0, 0]) && !linear(products, &[1, 0, 0, 1]));
        assert!(!linear(products, &[0, 0, 0, 0, 0, 1]));
    }

    #[test]
    fn of_what_is_too_long_is_everywhere() {
        let mut curvature = Curvature::LINEAR;
        for k in 0..14 {
            curvature = curvature.beside(k, Curvature::all(1));
        }
        assert_eq!(listed(curvature).len(), 14);
        assert_eq!(curvature.beside(14, Curvature::all(1)), Curvature::Everywhere);
        assert_eq!(Curvature::LINEAR.beside(255, Curvature::all(1)), Curvature::Everywhere);
        assert_eq!(Bend::Product.of((Curvature::Everywhere, 2), (Curvature::LINEAR, 1)), Curvature::Everywhere);
    }
}
