//! Functions that can be run under any strategy.

use crate::expr::Real;
use tapewright_strategies::{Strategy, Taping};

/// A function of many inputs with one output, generic over the strategy, for the advisor's comparisons, counts and
/// recommendations.
///
/// A closure is not generic, so a function is passed as a type with a generic method. For a function without data of
/// its own [`program!`](crate::program) writes the type. A function with data takes a few lines:
///
/// ```
/// use tapewright::{advisor::{self, Program}, prelude::*};
///
/// struct Fit { data: Vec<(f64, f64)> }
///
/// impl Fit {
///     fn misfit<S: Taping>(&self, p: &[Real<S>]) -> Real<S> {
///         let mut sum = Real::from(0.0);
///         for (t, y) in &self.data {
///             let off: Real<S> = (&p[0] * (&p[1] * *t).exp() - *y).into();
///             sum += &off * &off;
///         }
///         sum
///     }
/// }
///
/// impl Program for Fit {
///     fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> { self.misfit(x) }
///     // Only of functions over `S: Taping`:
///     fn run_reusing<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Option<Real<S>> { Some(self.misfit(x)) }
/// }
///
/// let fit = Fit { data: vec![(0.0, 1.0), (1.0, 2.6), (2.0, 7.5)] };
/// let forecast = advisor::forecast(&fit, &[1.0, 1.0]);
/// assert_eq!(forecast.linear().statements, 6);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function that can run under several strategies",
    label = "the advisor needs a `Program` here",
    note = "write `program!(f)` for a generic function `f`, or implement `Program` for a type with data"
)]
pub trait Program {
    /// Runs the function, under a strategy whose variables are `Copy`. Every call must compute the same, until
    /// [`prepare`](Self::prepare) is called.
    fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S>;

    /// Runs the function, under a strategy whose variables may not be `Copy`, such as strategies with
    /// [`Reuse`](crate::Reuse); `None`, the default, if the function cannot be run under these.
    fn run_reusing<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Option<Real<S>> {
        let _ = x;
        None
    }

    /// Number of evaluations of which the program consists, such as the paths of a Monte Carlo simulation; 1 by
    /// default. The advisor [compares](crate::advisor::Contest) gradients of the sum of all. Each measurement takes the
    /// next evaluation; bytes and times are per evaluation.
    fn evaluations(&self) -> usize {
        1
    }

    /// Makes evaluation `k` the one that [`run`](Self::run) computes from now on, and writes its inputs to `x`, which
    /// holds the inputs of another evaluation. By default there is only one.
    fn prepare(&self, k: usize, x: &mut Vec<f64>) {
        let _ = (k, x);
    }
}

/// Makes a [`Program`](crate::advisor::Program), and a [`Function`](crate::dense::Function), of a generic function:
/// `program!(f)` of `fn f<S: Strategy>(x: &[Real<S>]) -> Real<S>`, and `program!(f: Taping)` of one over `S: Taping`,
/// which then runs with [`Reuse`](crate::Reuse) indices, too. The bound may say `Value = f64`.
///
/// ```
/// use tapewright::{advisor, prelude::*, program};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0].exp() * x[1]).into() }
/// fn g<S: Taping>(x: &[Real<S>]) -> Real<S> { (x[0].exp() * &x[1]).into() }
///
/// assert!(advisor::forecast(&program!(f), &[5.2, -3.9]).reusing().is_none());
/// assert!(advisor::forecast(&program!(g: Taping), &[5.2, -3.9]).reusing().is_some());
/// ```
///
/// # Several outputs
///
/// A function may also return an array or a `Vec` of variables. Drivers of Jacobian matrices, in
/// [`dense`](crate::dense), find the derivatives of all of them. The advisor takes gradients, so for the advisor the
/// output is their sum. The recording is the same for all outputs: the bytes are those of the function, up to one
/// record, and so is the time of recording; a Jacobian matrix takes as many sweeps as there are outputs (eight of them
/// in one pass), or the same runs of forward mode as the gradient.
///
/// ```
/// use tapewright::{advisor, dense::dense_jacobian, prelude::*, program};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> { vec![(x[0] * x[1]).into(), x[0].exp().into()] }
///
/// assert_eq!(advisor::forecast(&program!(f), &[0.0, 2.0]).linear().statements, 2 + 1);
/// let (values, rows) = dense_jacobian::<Tangent<2>, Jacobian>(&program!(f), &[0.0, 2.0]);
/// assert_eq!((values, rows), (vec![0.0, 1.0], vec![vec![2.0, 0.0], vec![1.0, 0.0]]));
/// ```
///
/// ```compile_fail,E0277
/// # use tapewright::{advisor, prelude::*, program};
/// # fn f<S: Strategy>(x: &[Real<S>]) -> (Real<S>, Real<S>) { ((x[0] * x[1]).into(), x[1].exp().into()) }
/// let _ = program!(f);
/// ```
#[macro_export]
macro_rules! program {
    ($function:path) => {
        $crate::program!(@ $function,)
    };
    ($function:path: Taping) => {
        $crate::program!(@ $function, fn run_reusing<S: $crate::Taping<Value = f64>>(
            &self,
            x: &[$crate::Real<S>],
        ) -> ::core::option::Option<$crate::Real<S>> {
            ::core::option::Option::Some($crate::dense::total($crate::dense::listed($function(x)).as_ref()))
        })
    };
    (@ $function:path, $($reusing:item)?) => {{
        struct Function;
        impl $crate::advisor::Program for Function {
            fn run<S: $crate::Strategy<Value = f64>>(&self, x: &[$crate::Real<S>]) -> $crate::Real<S> {
                $crate::dense::total($crate::dense::Function::outputs(self, x).as_ref())
            }
            $($reusing)?
        }
        impl $crate::dense::Function for Function {
            fn outputs<S: $crate::Strategy<Value = f64>>(
                &self,
                x: &[$crate::Real<S>],
            ) -> impl ::core::convert::AsRef<[$crate::Real<S>]> {
                $crate::dense::listed($function(x))
            }
        }
        Function
    }};
}
