//! Workloads in the form of the tapes that Stan began with: an object with a virtual function for each operation, one
//! after the other in an arena, and a stack of pointers to them.
//!
//! Written without tapewright, to compare with. An object of Stan begins with a pointer to its virtual functions, and
//! the stack has a pointer to it; here both are on the stack, so an operation takes the same bytes.

use crate::Burgers;
use bumpalo::Bump;
use core::ops::{Add, Mul, Sub};
use std::cell::{Cell, RefCell};

/// An operation that has been recorded.
trait Chainable {
    /// Adds what the operation contributes to the adjoints of its arguments.
    fn chain(&self, adjoints: &mut [f64]);
}

/// Defines the objects of operations, of variables and numbers in this order: `$to` += `$contribution`, given the
/// adjoint `$seed` of the result.
macro_rules! operations {
    ($(
        $operation:ident($($id:ident),*; $($number:ident),*) |$seed:ident| $($to:ident += $contribution:expr),+;
    )*) => { $(
        #[repr(align(8))]
        struct $operation {
            $($id: u32,)*
            result: u32,
            $($number: f64,)*
        }

        impl Chainable for $operation {
            fn chain(&self, adjoints: &mut [f64]) {
                let Self { $($id,)* result, $($number,)* } = self;
                let $seed = adjoints[*result as usize];
                $(adjoints[*$to as usize] += $contribution;)+
            }
        }
    )* };
}
operations! {
    Sum(left, right;) |seed| left += seed, right += seed;
    Difference(left, right;) |seed| left += seed, right += -seed;
    Product(left, right; of_left, of_right) |seed| left += of_right * seed, right += of_left * seed;
    // Of a product with a number, and of an exponential.
    Scaled(argument; partial) |seed| argument += partial * seed;
}

/// The arena, the stack and the next identifier.
pub struct Objects<'a> {
    arena: &'a Bump,
    stack: RefCell<Vec<&'a dyn Chainable>>,
    next: Cell<u32>,
}

/// A variable: a value and an identifier, and where it records.
#[derive(Clone, Copy)]
pub struct Var<'t, 'a> {
    value: f64,
    id: u32,
    on: &'t Objects<'a>,
}

impl<'t, 'a> Var<'t, 'a> {
    fn new(value: f64, on: &'t Objects<'a>) -> Self {
        let id = on.next.replace(on.next.get() + 1);
        Self { value, id, on }
    }

    /// The result of an operation, which is recorded.
    fn result<C: Chainable + 'a>(self, value: f64, operation: impl FnOnce(u32) -> C) -> Self {
        let result = Self::new(value, self.on);
        self.on.stack.borrow_mut().push(self.on.arena.alloc(operation(result.id)));
        result
    }

    /// The exponential.
    #[must_use]
    pub fn exp(self) -> Self {
        let partial = self.value.exp();
        self.result(partial, |result| Scaled { argument: self.id, result, partial })
    }
}

impl Add for Var<'_, '_> {
    type Output = Self;
    fn add(self, right: Self) -> Self {
        self.result(self.value + right.value, |result| Sum { left: self.id, right: right.id, result })
    }
}

impl Sub for Var<'_, '_> {
    type Output = Self;
    fn sub(self, right: Self) -> Self {
        self.result(self.value - right.value, |result| Difference { left: self.id, right: right.id, result })
    }
}

impl Mul for Var<'_, '_> {
    type Output = Self;
    fn mul(self, right: Self) -> Self {
        let (of_left, of_right) = (self.value, right.value);
        self.result(of_left * of_right, |result| Product { left: self.id, right: right.id, result, of_left, of_right })
    }
}

impl<'t, 'a> Mul<Var<'t, 'a>> for f64 {
    type Output = Var<'t, 'a>;
    fn mul(self, right: Var<'t, 'a>) -> Var<'t, 'a> {
        right.result(self * right.value, |result| Scaled { argument: right.id, result, partial: self })
    }
}

/// Memory for gradients, which is kept from one to the next.
#[derive(Default)]
pub struct Gradients {
    arena: Bump,
    stack: Vec<&'static dyn Chainable>,
    adjoints: Vec<f64>,
}

/// Bytes of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Of objects, and of the pointers to them.
    pub objects: usize,
    /// Of the vector of adjoints.
    pub adjoints: usize,
}

impl Gradients {
    /// Writes the gradient of a function, and returns its value.
    ///
    /// # Panics
    ///
    /// When `gradient` is not as long as `x`.
    pub fn of(
        &mut self,
        f: impl for<'t, 'a> Fn(&[Var<'t, 'a>]) -> Var<'t, 'a>,
        x: &[f64],
        gradient: &mut [f64],
    ) -> f64 {
        self.recorded(f, x, gradient, |_| ()).0
    }

    /// The bytes that the gradient of a function takes.
    pub fn bytes_of(&mut self, f: impl for<'t, 'a> Fn(&[Var<'t, 'a>]) -> Var<'t, 'a>, x: &[f64]) -> Bytes {
        let bytes = |stack: &[&dyn Chainable]| {
            let objects: usize = stack.iter().map(|object| size_of_val(*object)).sum();
            objects + size_of_val(stack)
        };
        let (_, objects) = self.recorded(f, x, &mut vec![0.0; x.len()], bytes);
        Bytes { objects, adjoints: size_of_val(&*self.adjoints) }
    }

    /// Writes the gradient, and returns the value, and what `look` finds on the stack.
    fn recorded<R>(
        &mut self,
        f: impl for<'t, 'a> Fn(&[Var<'t, 'a>]) -> Var<'t, 'a>,
        x: &[f64],
        gradient: &mut [f64],
        look: impl FnOnce(&[&dyn Chainable]) -> R,
    ) -> (f64, R) {
        self.arena.reset();
        let stack = RefCell::new(emptied(core::mem::take(&mut self.stack)));
        let objects = Objects { arena: &self.arena, stack, next: Cell::new(0) };
        let inputs: Vec<Var> = x.iter().map(|x| Var::new(*x, &objects)).collect();
        let Var { value, id, .. } = f(&inputs);
        let (stack, found) = (objects.stack.into_inner(), objects.next.get());
        self.adjoints.clear();
        self.adjoints.resize(found as usize, 0.0);
        self.adjoints[id as usize] = 1.0;
        stack.iter().rev().for_each(|object| object.chain(&mut self.adjoints));
        gradient.copy_from_slice(&self.adjoints[..x.len()]);
        let found = look(&stack);
        self.stack = emptied(stack);
        (value, found)
    }
}

/// The same memory, for pointers that live longer or shorter: the standard library collects into the vector it reads.
fn emptied<'b>(mut stack: Vec<&dyn Chainable>) -> Vec<&'b dyn Chainable> {
    stack.clear();
    stack.into_iter().map(|_| -> &'b dyn Chainable { unreachable!("it is empty") }).collect()
}

/// exp(x₀)·x₁·x₁.
#[must_use]
pub fn expsq<'t, 'a>(x: &[Var<'t, 'a>]) -> Var<'t, 'a> {
    x[0].exp() * x[1] * x[1]
}

/// [`Burgers`], operation by operation.
///
/// # Panics
///
/// When there are not as many inputs as the workload has.
#[must_use]
pub fn burgers<'t, 'a>(problem: &Burgers, x: &[Var<'t, 'a>]) -> Var<'t, 'a> {
    let (n, (alpha, nu)) = (problem.n, problem.coefficients());
    let mut fields = x.to_vec();
    let mut new = fields.clone();
    for _ in 0..problem.steps {
        let (u, v) = fields.split_at(n * n);
        for (w, new) in [u, v].into_iter().zip(new.chunks_exact_mut(n * n)) {
            for k in (1..n - 1).flat_map(|j| j * n + 1..j * n + n - 1) {
                let neighbors = w[k + 1] + w[k - 1] + w[k + n] + w[k - n] - 4.0 * w[k];
                let along = |velocity: Var<'t, 'a>, stride| {
                    let upwind = if velocity.value >= 0.0 { w[k] - w[k - stride] } else { w[k + stride] - w[k] };
                    velocity * upwind
                };
                new[k] = w[k] - alpha * (along(u[k], 1) + along(v[k], n)) + nu * neighbors;
            }
        }
        core::mem::swap(&mut fields, &mut new);
    }
    let (u, v) = fields.split_at(n * n);
    let zero = Var::new(0.0, x[0].on);
    u.iter().zip(v).fold(zero, |total, (u, v)| total + (*u * *u + *v * *v))
}
