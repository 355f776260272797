//! Functions of the library that record have the line of their call.

use tapewright::checkpoint::TimeLoop;
use tapewright::external::CallbackAdjoints;
use tapewright::implicit::{self, Equations};
use tapewright::kernels::parallel_sum;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::{
    Closed, Scope, Traced, checkpoint, dot, linear_combination, logsumexp, preaccumulate, preaccumulate_by_reverse,
    statement, sum, with_partials,
};

struct Root;
impl Equations<f64> for Root {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] * x[0] - p[0]).into()]
    }
}

type S = Traced<Jacobian>;

fn step<T: Strategy>(x: &Real<T>) -> Real<T> {
    x.sin().eval()
}

const FIRST: u32 = line!() + 4;
#[rustfmt::skip]
fn one_call_on_each_line(scope: &mut Scope<'_, S>, x: &[Real<S>; 2], mut y: Real<S>, mut c: Closed<S>) {
    let view = scope.view([2], &[1.0, 2.0]);
    preaccumulate(x, |x| ((x[0] * x[1]).eval(), x[0].sin().eval()));
    preaccumulate_by_reverse::<Jacobian, _, _, _>(x, |x| (x[0] * x[1]).eval());
    statement([&x[0], &x[1]], |[a, b]| a * b);
    with_partials(x, 1.0, &[2.0, 3.0]);
    linear_combination(&[2.0, 3.0], x);
    sum(x);
    dot(x, x);
    logsumexp(x);
    y.assign(x[0] * x[1]);
    y *= x[0] + 1.0;
    c *= c;
    c = -c;
    c = c.powi(3);
    checkpoint!(S, &x[0], step);
    TimeLoop::<S>::new(Revolve::new(4, 2)).run(&(), &x[0], |_, (), u| step(u), |_, (), u| step(u)).expect("in memory");
    parallel_sum(view.all(), (&view, &x[0]), |(v, x)| v.at::<0>() * x);
    implicit::root(Root, 0.5_f64.sqrt(), &x[..1]).expect("a simple root");
    scope.insert_callback(&[x[0]], &[1.0], |_: &mut CallbackAdjoints<f64>| Ok(()));
    let _ = (y, c);
}
const LAST: u32 = line!() - 3;

#[test]
fn calls_have_their_own_lines() {
    let mut tape = Tape::<S>::new();
    tape.record(|scope| {
        let x = [scope.input(0.5), scope.input(2.0)];
        one_call_on_each_line(scope, &x, x[1], Closed::from(x[0]));
    });
    let trace = tape.trace().expect("in memory");
    let location = |line: &tapewright::trace::TraceLine| line.location.map(|at| (at.file(), at.line()));
    let mut lines: Vec<_> = trace.lines().iter().map(location).collect();
    lines.sort_unstable();
    let expected: Vec<_> = (FIRST..=LAST).map(|line| Some((file!(), line))).collect();
    assert_eq!(lines, expected);
    let statements: Vec<_> = trace.lines().iter().map(|line| line.statements).collect();
    assert_eq!((statements.iter().sum::<usize>(), statements.iter().max()), (19, Some(&2)));
}
