//! The operations, each in a function of three variables on each rank.

use crate::checks::{check, number};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::{Jacobian, Real, Reverse, Taping, sum};
use tapewright_mpi::{Communicator, Reduction};

/// A function of variables of all ranks.
pub(crate) trait Case {
    const NAME: &'static str;

    fn run<S: Taping<Value = f64>>(all: Communicator, x: &[Real<S>]) -> Vec<Real<S>>;
}

/// Inputs of a case on each rank.
pub(crate) const INPUTS: usize = 3;

/// What a rank has computed when it sends: as many variables as inputs.
fn before<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    (0..x.len()).map(|k| (x[k].sin() * &x[(k + 1) % x.len()]).eval()).collect()
}

/// What it makes of what it has received.
fn after<S: Taping<Value = f64>>(x: &[Real<S>], received: &[Real<S>]) -> Vec<Real<S>> {
    received.iter().enumerate().map(|(k, y)| (y * (y + &x[k % x.len()])).eval()).collect()
}

/// The ranks behind and ahead of this one, on a ring.
fn neighbors(all: Communicator) -> (usize, usize) {
    ((all.rank() + all.size() - 1) % all.size(), (all.rank() + 1) % all.size())
}

/// Two rows of these variables, as a view.
fn rows<S: Taping<Value = f64>>(x: &[Real<S>]) -> View<S, 2> {
    let twice: Vec<Real<S>> = x.iter().cloned().chain(x.iter().map(|x| (x * 2.0).eval())).collect();
    View::of_variables([2, x.len()], &twice)
}

/// A row `name: |all, x| body;` becomes a type of this name that is a [`Case`].
macro_rules! cases {
    ($($name:ident: |$all:ident, $x:ident| $body:block)*) => {
        $(
            #[allow(non_camel_case_types, reason = "it is named after what it does")]
            pub(crate) struct $name;
            impl Case for $name {
                const NAME: &'static str = stringify!($name);
                fn run<S: Taping<Value = f64>>($all: Communicator, $x: &[Real<S>]) -> Vec<Real<S>> $body
            }
        )*

        /// Checks all cases under a strategy; returns how many there are.
        pub(crate) fn check_all<S: Reverse<Value = f64>>(communicator: Communicator) -> usize {
            let checks = [$(check::<S, $name>),*];
            checks.iter().for_each(|check| check(communicator));
            checks.len()
        }
    };
}

cases! {
    send_and_receive: |all, x| {
        let (behind, ahead) = neighbors(all);
        all.send(&before(x), ahead);
        let received = all.receive(x, behind);
        after(x, &received)
    }
    immediate_pairs_waited_for_in_another_order: |all, x| {
        let (behind, ahead) = neighbors(all);
        let y = before(x);
        let first = all.immediate_send(&y[..2], ahead);
        let second = all.immediate_send(&y[2..], ahead);
        let one = all.immediate_receive(&x[..2], behind);
        let two = all.immediate_receive(&x[2..], behind);
        let two = two.wait();
        second.wait();
        let mut received = one.wait();
        first.wait();
        received.extend(two);
        after(x, &received)
    }
    a_blocking_receive_behind_an_immediate_one: |all, x| {
        let (behind, ahead) = neighbors(all);
        all.send(&before(x)[..1], ahead);
        all.send(x, ahead);
        let first = all.immediate_receive(&x[..1], behind);
        let mut received = all.receive(x, behind);
        received.extend(first.wait());
        after(x, &received)
    }
    tags_in_another_order: |all, x| {
        let (behind, ahead) = neighbors(all);
        all.tagged(1).send(&before(x), ahead);
        all.tagged(2).send(x, ahead);
        let second = all.tagged(2).receive(x, behind);
        let first = all.tagged(1).receive(x, behind);
        after(&first, &second)
    }
    sendrecv: |all, x| {
        let (behind, ahead) = neighbors(all);
        after(x, &all.sendrecv(&before(x), behind, ahead))
    }
    one_after_the_other: |all, x| {
        let mut y = before(x);
        if all.rank() > 0 {
            let received = all.receive(x, all.rank() - 1);
            y = y.iter().zip(&received).map(|(a, b)| (a * b).eval()).collect();
        }
        if all.rank() + 1 < all.size() {
            all.send(&y, all.rank() + 1);
        }
        after(x, &y)
    }
    constants_sent_by_one_rank: |all, x| {
        let (behind, ahead) = neighbors(all);
        let constants: Vec<Real<S>> = (0..x.len()).map(|k| Real::constant(0.3 + number(k))).collect();
        let y = if all.rank() == 0 { constants } else { before(x) };
        after(x, &all.sendrecv(&y, ahead, behind))
    }
    received_and_not_used: |all, x| {
        let (behind, ahead) = neighbors(all);
        let received = all.sendrecv(&before(x), ahead, behind);
        let nowhere = after(x, &received);
        if all.rank().is_multiple_of(2) { before(x) } else { nowhere }
    }
    a_long_message: |all, x| {
        let (behind, ahead) = neighbors(all);
        let long: Vec<Real<S>> = (0..9000).map(|k| (&x[k % 3] * number(k % 7)).eval()).collect();
        let received = all.sendrecv(&long, ahead, behind);
        after(x, &received[8990..])
    }
    broadcast_from_the_first: |all, x| { after(x, &all.broadcast(&before(x), 0)) }
    broadcast_from_the_last: |all, x| { after(x, &all.broadcast(&before(x), all.size() - 1)) }
    gather: |all, x| { after(x, &all.gather(&before(x), all.size() / 2)) }
    all_gather: |all, x| { after(x, &all.all_gather(&before(x))) }
    scatter: |all, x| {
        let many: Vec<Real<S>> = (0..all.size()).flat_map(|k| {
            let scaled = before(x).into_iter().map(move |y| (y * (1.0 + number(k))).eval());
            scaled.collect::<Vec<_>>()
        }).collect();
        after(x, &all.scatter(&many, x, all.size() - 1))
    }
    reduce_by_sum: |all, x| { after(x, &all.reduce(&before(x), Reduction::Sum, 0)) }
    reduce_by_min: |all, x| { after(x, &all.reduce(&before(x), Reduction::Min, all.size() - 1)) }
    reduce_by_max: |all, x| { after(x, &all.reduce(&before(x), Reduction::Max, 0)) }
    reduce_by_product: |all, x| { after(x, &all.reduce(&before(x), Reduction::Product, all.size() / 2)) }
    all_reduce_by_sum: |all, x| { after(x, &all.all_reduce(&before(x), Reduction::Sum)) }
    all_reduce_by_min: |all, x| { after(x, &all.all_reduce(&before(x), Reduction::Min)) }
    all_reduce_by_max: |all, x| { after(x, &all.all_reduce(&before(x), Reduction::Max)) }
    all_reduce_by_product: |all, x| { after(x, &all.all_reduce(&before(x), Reduction::Product)) }
    barriers: |all, x| {
        all.barrier::<S>();
        let y = before(x);
        all.barrier::<S>();
        after(x, &y)
    }
    nested_data: |all, x| {
        let (behind, ahead) = neighbors(all);
        let y = before(x);
        let both = (y[0].clone(), rows(&y), vec![y[1].clone()]);
        let received = all.sendrecv(&[both], ahead, behind);
        let (first, view, rest) = &received[0];
        let mut all = view.to_variables();
        all.extend([first.clone(), rest[0].clone()]);
        after(x, &all)
    }
    rows_and_columns_of_views: |all, x| {
        let (behind, ahead) = neighbors(all);
        let mut u = rows(&before(x));
        let columns = all.sendrecv(&[u.column(0), u.column(2)], ahead, behind);
        let row = all.sendrecv(&[u.row(1)], behind, ahead);
        u.set([0..2, 1..2], &columns[0].reshape([2, 1]));
        u.set([0..1, 0..3], &row[0].reshape([1, 3]));
        parallel_for(u.all(), (&mut u,), |(u,)| (u.at::<0, 0>() * u.at::<0, 0>(),));
        vec![parallel_sum(u.all(), &u, |u| u.at::<0, 0>().square())]
    }
    views_to_all_and_back: |all, x| {
        let u = all.broadcast(&[rows(&before(x))], 0);
        let parts = all.all_gather(&[u[0].row(0), u[0].row(1)]);
        let total = all.all_reduce(&parts, Reduction::Sum);
        let most = all.reduce(&total[..1], Reduction::Sum, 0);
        let sums: Vec<Real<S>> = most.iter().chain(&total).map(|v| parallel_sum(v.all(), v, |v| v.at::<0>() * 0.5)).collect();
        after(x, &sums)
    }
    a_stage_with_messages: |all, x| {
        // On one rank nothing that goes into the stage is active, and nothing that comes out is used on another.
        let constants: Vec<Real<S>> = (0..x.len()).map(|k| Real::constant(0.3 + number(k))).collect();
        let input = if all.rank() == 0 { constants } else { before(x) };
        let y = tapewright::checkpoint!(Jacobian, &input, move |y| exchanged(all, y));
        if all.rank() + 1 == all.size() && all.size() > 1 { before(x) } else { after(x, &y) }
    }
    a_stage_of_views_with_messages: |all, x| {
        let y = tapewright::checkpoint!(Jacobian, &rows(&before(x)), move |u| {
            all.sendrecv(std::slice::from_ref(u), neighbors(all).1, neighbors(all).0).pop().expect("a view")
        });
        after(x, &y.to_variables())
    }
}

/// Part of a case that runs in a stage.
fn exchanged<S: Taping<Value = f64>>(all: Communicator, y: &[Real<S>]) -> Vec<Real<S>> {
    let (behind, ahead) = neighbors(all);
    let received = all.sendrecv(y, ahead, behind);
    let total = all.all_reduce(&after(y, &received), Reduction::Sum);
    vec![(sum(&total) * &received[0]).eval(), total[1].sin().eval()]
}
