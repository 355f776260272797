//! The rules of the table of functions, by name.

use tapewright::strategies::Ternary;
use tapewright::strategies::{Dual, Number, for_each_function, rules};
use tapewright::{Binary, Unary};

/// The number by which second derivatives are found: three directions, for functions of up to three arguments.
type Second = Dual<f64, 3>;

/// What a rule says at some arguments.
#[derive(Clone, Debug)]
pub struct Derivatives {
    /// The value.
    pub value: f64,
    /// The partials over plain numbers.
    pub first: Vec<f64>,
    /// The derivatives of the partials over duals, row by row: the whole matrix.
    pub second: Vec<Vec<f64>>,
    /// Value and partials over duals.
    pub by_duals: (f64, Vec<f64>, Vec<f64>),
}

/// A row of the table of functions.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The name of the method.
    pub name: &'static str,
    /// How many arguments there are.
    pub arguments: usize,
    /// The rule.
    pub derivatives: fn(&[f64]) -> Derivatives,
    /// Value and partials of the rule in single precision.
    pub single: fn(&[f32]) -> (f32, Vec<f32>),
}

/// The arguments as duals, each with the tangent 1 along its own direction.
fn duals<const K: usize>(x: &[f64]) -> [Second; K] {
    core::array::from_fn(|k| {
        let mut dual = Second::constant(x[k]);
        dual.tangents[k] = 1.0;
        dual
    })
}

/// Puts together what was found over plain numbers and over duals.
fn together(value: f64, first: Vec<f64>, y: Second, partials: &[Second]) -> Derivatives {
    let n = first.len();
    Derivatives {
        value,
        first,
        second: partials.iter().map(|partial| partial.tangents[..n].to_vec()).collect(),
        by_duals: (y.value, y.tangents[..n].to_vec(), partials.iter().map(|partial| partial.value).collect()),
    }
}

fn unary<R: Unary>(x: &[f64]) -> Derivatives {
    let (value, companion) = x[0].unary::<R>();
    let slope = x[0].derivative::<R>(value, companion);
    let [dual] = duals(x);
    let (y, companion) = dual.unary::<R>();
    together(value, vec![slope], y, &[dual.derivative::<R>(y, companion)])
}

fn binary<R: Binary>(x: &[f64]) -> Derivatives {
    let value = x[0].binary::<R>(x[1]);
    let first = vec![x[0].partial_left::<R>(x[1], value), x[0].partial_right::<R>(x[1], value)];
    let [a, b] = duals(x);
    let y = a.binary::<R>(b);
    together(value, first, y, &[a.partial_left::<R>(b, y), a.partial_right::<R>(b, y)])
}

fn ternary<R: Ternary>(x: &[f64]) -> Derivatives {
    let x = [x[0], x[1], x[2]];
    let value = x[0].ternary::<R>(x[1], x[2]);
    let first = vec![
        f64::partial_of_three::<R, 0>(x, value),
        f64::partial_of_three::<R, 1>(x, value),
        f64::partial_of_three::<R, 2>(x, value),
    ];
    let dual: [Second; 3] = duals(&x);
    let y = dual[0].ternary::<R>(dual[1], dual[2]);
    let partials = [
        Second::partial_of_three::<R, 0>(dual, y),
        Second::partial_of_three::<R, 1>(dual, y),
        Second::partial_of_three::<R, 2>(dual, y),
    ];
    together(value, first, y, &partials)
}

fn single_unary<R: Unary>(x: &[f32]) -> (f32, Vec<f32>) {
    let (value, companion) = x[0].unary::<R>();
    (value, vec![x[0].derivative::<R>(value, companion)])
}

fn single_binary<R: Binary>(x: &[f32]) -> (f32, Vec<f32>) {
    let value = x[0].binary::<R>(x[1]);
    (value, vec![x[0].partial_left::<R>(x[1], value), x[0].partial_right::<R>(x[1], value)])
}

fn single_ternary<R: Ternary>(x: &[f32]) -> (f32, Vec<f32>) {
    let x = [x[0], x[1], x[2]];
    let value = x[0].ternary::<R>(x[1], x[2]);
    let first = [
        f32::partial_of_three::<R, 0>(x, value),
        f32::partial_of_three::<R, 1>(x, value),
        f32::partial_of_three::<R, 2>(x, value),
    ];
    (value, first.to_vec())
}

/// Makes the list of the rows of the table.
macro_rules! functions {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        const FUNCTIONS: &[Function] = &[
            $(Function {
                name: stringify!($unary),
                arguments: 1,
                derivatives: unary::<rules::$f1::$r1>,
                single: single_unary::<rules::$f1::$r1>,
            },)*
            $(Function {
                name: stringify!($binary),
                arguments: 2,
                derivatives: binary::<rules::$f2::$r2>,
                single: single_binary::<rules::$f2::$r2>,
            },)*
            $(Function {
                name: stringify!($ternary),
                arguments: 3,
                derivatives: ternary::<rules::$f3::$r3>,
                single: single_ternary::<rules::$f3::$r3>,
            },)*
            // As powers, it has a method with a whole number.
            Function {
                name: "polygamma",
                arguments: 2,
                derivatives: binary::<rules::special::Polygamma>,
                single: single_binary::<rules::special::Polygamma>,
            },
        ];
    };
}
for_each_function!(functions);

/// The function of this name.
///
/// # Panics
///
/// When the table has none.
#[must_use]
pub fn function(name: &str) -> Function {
    *FUNCTIONS.iter().find(|function| function.name == name).unwrap_or_else(|| panic!("there is no function {name}"))
}
