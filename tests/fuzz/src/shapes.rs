//! The statements that programs are made of: each written once, and compiled twice, for variables of the library and
//! for expressions of the oracle, which have methods of the same names and nothing else in common with them.

use tapewright::{Float, Nary, Number, Unary};

/// x ↦ x·exp(−x²), a rule of the program's own.
pub(crate) struct Wave;
impl Unary for Wave {
    fn value<V: Float>(x: V) -> V {
        x * (-x * x).exp()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        (V::ONE - V::from_f64(2.0) * x * x) * (-x * x).exp()
    }
}

/// (x, y) ↦ x²·y, a rule of the program's own.
pub(crate) struct SquareTimes;
impl tapewright::Binary for SquareTimes {
    fn value<V: Float>(x: V, y: V) -> V {
        x * x * y
    }
    fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
        V::from_f64(2.0) * x * y
    }
    fn partial_right<V: Float>(x: V, _: V, _: V) -> V {
        x * x
    }
}

/// (x, y, z) ↦ x·y²·z, a rule of the program's own.
pub(crate) struct Product;
impl tapewright::Ternary for Product {
    fn value<V: Float>(x: V, y: V, z: V) -> V {
        x * y * y * z
    }
    fn partial_first<V: Float>(_: V, y: V, z: V, _: V) -> V {
        y * y * z
    }
    fn partial_second<V: Float>(x: V, y: V, z: V, _: V) -> V {
        V::from_f64(2.0) * x * y * z
    }
    fn partial_third<V: Float>(x: V, y: V, _: V, _: V) -> V {
        x * y * y
    }
}

/// Σ x²/(4·n), a rule of the program's own.
pub(crate) struct MeanSquare;
impl<V: Number> Nary<V> for MeanSquare {
    fn value(x: &[V], _: &[V]) -> V {
        let scale = V::from_f64(0.25) / V::from_f64(f64::from(u32::try_from(x.len()).expect("a small number")));
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x) * scale
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        let scale = V::from_f64(0.5) / V::from_f64(f64::from(u32::try_from(x.len()).expect("a small number")));
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x * scale);
    }
}

/// Makes tables of statements. `TEXTS shape Real |x, y, z, c| { x + y; }` becomes the list `TEXTS = ["x + y"]`, and in
/// each of the modules `real` and `tree` a function `shape` that calls one of `[|x, y, z, c| (x + y).into()]`.
macro_rules! tables {
    ($(
        $(#[$doc:meta])*
        $texts:ident $name:ident $variable:ident |$x:ident, $y:ident, $z:ident, $c:ident| { $($body:expr;)* }
    )*) => {
        $($(#[$doc])* pub const $texts: &[&str] = &[$(stringify!($body)),*];)*

        /// Statements of the library.
        pub(crate) mod real {
            use super::{Product, SquareTimes, Wave};
            use tapewright::{binary, ternary, unary, smooth_max, smooth_min, Closed, Number, Real, Taping};
            fn wave<S: Taping, A: tapewright::nodes::Operand<S>>(x: A)
                -> tapewright::Ex<S, tapewright::nodes::Un<S, Wave, A::Node>> { unary(x) }
            fn square_times<S: Taping, A: tapewright::nodes::Operand<S>, B: tapewright::nodes::Operand<S>>(x: A, y: B)
                -> tapewright::Ex<S, tapewright::nodes::Bin<S, SquareTimes, A::Node, B::Node>> { binary(x, y) }
            fn product<S: Taping, A: tapewright::nodes::Operand<S>, B: tapewright::nodes::Operand<S>, C: tapewright::nodes::Operand<S>>(
                x: A, y: B, z: C,
            ) -> tapewright::Ex<S, tapewright::nodes::Tri<S, Product, A::Node, B::Node, C::Node>> { ternary(x, y, z) }
            fn passive<S: Taping>(c: f64) -> Real<S> { Real::constant(S::Value::from_f64(c)) }
            fn shut<S: Taping>(c: f64) -> Closed<S> { Closed::from(c) }
            $(pub(crate) fn $name<S: Taping>(
                k: usize, $x: &$variable<S>, $y: &$variable<S>, $z: &$variable<S>, $c: f64,
            ) -> $variable<S> {
                type Statement<S> = fn(&$variable<S>, &$variable<S>, &$variable<S>, f64) -> $variable<S>;
                // Functions, because each closure would be compiled with a shim around it.
                let table: [Statement<S>; super::$texts.len()] = [$({
                    fn statement<S: Taping>(
                        $x: &$variable<S>, $y: &$variable<S>, $z: &$variable<S>, $c: f64,
                    ) -> $variable<S> {
                        let _ = ($x, $y, $z, $c);
                        ($body).into()
                    }
                    statement::<S>
                }),*];
                table[k % table.len()]($x, $y, $z, $c)
            })*
        }

        /// Expressions of the oracle.
        pub(crate) mod tree {
            use crate::oracle::functions::product;
            use crate::oracle::tree::{passive, passive as shut, smooth_max, smooth_min, square_times, wave, Node};
            $(pub(crate) fn $name(k: usize, $x: &Node, $y: &Node, $z: &Node, $c: f64) -> Node {
                type Statement = fn(&Node, &Node, &Node, f64) -> Node;
                let table: [Statement; super::$texts.len()] = [$(|$x, $y, $z, $c| {
                    let _ = ($x, $y, $z, $c);
                    ($body).into()
                }),*];
                table[k % table.len()]($x, $y, $z, $c)
            })*
        }
    };
}

/// Calls `tables` with these lists and one more, of a statement for each row of the library's table of functions.
macro_rules! with_rows {
    (
        [$($lists:tt)*] |$x:ident, $y:ident, $z:ident, $c:ident|
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        tables! {
            $($lists)*
            /// A statement for each function of the library's table.
            FUNCTIONS function Real |$x, $y, $z, $c| {
                $($x.$unary();)*
                $($x.$binary($y);)*
                $($x.$ternary($y, $z);)*
            }
        }
    };
}

tapewright::strategies::for_each_function! {
    with_rows
    [
    /// Statements of expressions.
    TEXTS shape Real |x, y, z, c| {
        x + y; x - y; x * y; x / y; x % y; x + c; x - c; x * c; x / c; x % c; c + x; c - x; c * x; c / x; c % x; -x;
        -(x.clone()); -(-x); -(x + y); -(x * c) + y; x.clone() + y.clone(); x.clone() - y; x - y.clone();
        x.clone() * y.clone(); c / x.clone(); x.clone() % y; x * y + z; z + x * y; z - x * y; x * y - z;
        (x + y) * (x - z); (x - y) / (z * z + 2.0); x * y * z; x + y + z; x - (y - (z - c)); (x * c + y) * z;
        -(x * c - y) * z; c - 0.5 * (x * x); ((x + c) * y - z) / (y * y + c); x + x; x - x; x * x; x / x; x * x - x;
        x * x * x * x; x * &passive(c); &passive(c) - x; x / &passive(c) + y; &passive(c) * &passive(2.0) + x;
        passive(c).sin() * y; &passive(c) * &passive(0.5); x * &passive(c) + &passive(0.25) * y * x;
        x.powf(&passive(c)); x.max(&passive(c)) * y; x.mul_add(y, z); x.mul_add(c, y.sin()); (x * y).mul_add(z, c);
        x.mul_add(0.5, 2.0); (x - y).abs() * z; (x * x + y * y).sqrt(); x * (x * x + y * y).sqrt(); (x * y).cbrt();
        (x + c).recip() * y; (x - y).exp(); (x * c).exp2(); (x * y).exp_m1(); (x * x + c).ln(); (x / y).log2();
        (x * y).log10(); (x * x).ln_1p(); (x + y).sin(); (x * y).cos(); x.sin() * y.cos(); (x * 0.5).tan();
        (x * 0.5).asin(); (x * y).acos(); (x / y).atan(); (x * y).atan2(z + c); x.atan2(c); (x - y).sinh();
        (x * c).cosh(); (x + y).tanh() * z; (x * y).asinh(); (x * x + 1.5).acosh(); (x * 0.5).atanh();
        x.to_degrees() * 0.01; (x * 30.0).to_radians(); (x * 3.0).fract(); (x * y).hypot(c); x.hypot(y.cos());
        x.powf(c); (x * x + 0.5).powf(y.sin()); (x * x).powf(0.5); x.powi(2); x.powi(3); (x - y).powi(-1);
        x.powi(0) * y; x.powi(1); (x * y).powi(7); x.powi(-2); (x * x + 1.0).log(c + 1.5); (x * y).max(z * 0.5);
        x.max(0.0); x.min(y * y); (x - y).min(c); x.clamp(-c.abs(), c.abs()); (x * y).clamp(-1.0, 1.0); x.max(y).min(z);
        x.sqrt().abs(); x.max(y.sqrt()); x.copysign(-1.0) * y; (x + y).copysign(c); (x * y).erf(); (x - c).erfc();
        (x * x + 0.5).gamma(); (x * x + 0.5).ln_gamma() * y; (x * x + 0.5).digamma(); (x * y).normal_pdf();
        (x - y).normal_cdf(); x.sigmoid().normal_quantile(); (x * y).sigmoid(); (x - y).softplus();
        (x * c).log_add_exp(y - z); (x * x + 0.5).beta(y * y + 0.5); (x * x + 0.5).beta(1.5); x.smooth_abs(c);
        (x - y).smooth_abs(z * z + 0.1); smooth_max(x, y, c); smooth_min(x, y, c); smooth_max(x, x, c) * y;
        smooth_min(y, x, 0.5) - z; wave(x); wave(x * y) * z; square_times(x, y); square_times(x.sin(), y - z);
        square_times(x, c); product(x, y, z); product(x * y, c, z) - x; product(c, x, y + z); product(y, x, 0.5);
        product(x.sin(), y, y); x.floor(); (x * 2.0).ceil() * y; x.round() * y + x.trunc() * 0.5; x.signum() * (x * y);
        (x - y).signum(); (x + 0.5).floor() * x; ((x * y + z) * x + y) * z - x;
        (x.sin() * y + z.cos() * x) * (x - y * z); x / (y / (z / (x + 3.0)));
        (x.exp() * y.tanh() - z).sin() * (x * x + 1.0).sqrt() / (y * y + 1.0); -(x.sin() - y * (c - z)) * -(y + x);
        (x * 2.0 - y * 3.0 + z * 4.0) * 0.125 + x * y * z; x * y + y * z + z * x - x * x - y * y - z * z;
        (x + y + z) * c - (x - y - z) / 3.0; x + y * 0.0; x * 1e-3 * y * 1e3;
    }
    /// Closed arithmetic, a statement for each operation.
    CLOSED closed Closed |x, y, z, c| {
        x + y; x - y; x * y; x / y; x % y; -x; c * x; c - x; x / c; c + x; x % c; c / x; x * c - y;
        (x + y) * (x - z); x * y - z / (y * y + 2.0); -(x * y + c); -(-x + y) * -z; x * x * x; x + x - x;
        x.sin() * y.cos() + z.exp(); x.powi(3) - y.powi(2) * 0.5; x.max(y) * 2.0 - z.min(c);
        x.hypot(y).sqrt() * x.atan2(z);
        x.abs_sub(y); x.abs_sub(c) * y; x.clamp(&shut(-1.0), &shut(c.abs() + 0.5)); (x * y).abs() - x.abs();
        x.rem_euclid(y); x.div_euclid(y);
        x.floor() + y; x.round() * y - x.signum(); (x - y).tanh() / (x * y + 3.0).ln(); x.powf(y) - x.log(y);
        x.recip() + y.cbrt() * x.exp_m1(); x.sigmoid() * y.softplus().erf(); x.copysign(c) + x.trunc() - y.ceil();
    }
    ]
    |x, y, z, c|
}

/// Makes a table of assignments, like `tables`.
macro_rules! updates {
    ($(#[$doc:meta])* $texts:ident $name:ident |$t:ident, $x:ident, $y:ident, $c:ident| { $($body:expr;)* }) => {
        $(#[$doc])*
        pub const $texts: &[&str] = &[$(stringify!($body)),*];

        /// Assignments of the library.
        pub(crate) mod assign {
            use tapewright::{Real, Taping};
            pub(crate) fn $name<S: Taping>(k: usize, $t: &mut Real<S>, $x: &Real<S>, $y: &Real<S>, $c: f64) {
                let table: [fn(&mut Real<S>, &Real<S>, &Real<S>, f64); super::$texts.len()] = [$({
                    fn statement<S: Taping>($t: &mut Real<S>, $x: &Real<S>, $y: &Real<S>, $c: f64) {
                        let _ = ($x, $y, $c);
                        $body;
                    }
                    statement::<S>
                }),*];
                table[k % table.len()]($t, $x, $y, $c);
            }
        }

        /// Assignments of the oracle.
        pub(crate) mod assign_tree {
            use crate::oracle::tree::Node;
            pub(crate) fn $name(k: usize, $t: &mut Node, $x: &Node, $y: &Node, $c: f64) {
                let table: [fn(&mut Node, &Node, &Node, f64); super::$texts.len()] = [$(|$t, $x, $y, $c| {
                    let _ = ($x, $y, $c);
                    $body
                }),*];
                table[k % table.len()]($t, $x, $y, $c);
            }
        }
    };
}

updates! {
    /// Assignments to a variable.
    UPDATES update |t, x, y, c| {
        *t += x; *t -= x; *t *= x; *t /= x; *t %= x;
        *t += c; *t -= c; *t *= c; *t /= c; *t %= c;
        *t += x * y; *t -= x * y; *t *= x - y; *t /= x * x + 1.0; *t %= y * y + 0.5;
        *t += x.sin() * c; *t -= y.exp() * x; *t *= x.cos(); *t += -x; *t -= x.clone() + c; *t *= -(x * y) + c;
        t.assign(x * y + c); t.assign(x.sin()); t.assign(c); t.assign(x.clone());
    }
}
