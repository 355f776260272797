//! Scratch: one workload through everything.

use std::time::Instant;
use tapewright::prelude::*;
use tapewright_problems::{Burgers, Checksums, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, total};

fn report<S: Reverse<Value = f64>>(p: &impl Problem) {
    let mut tape = Tape::<S>::new();
    let (v, g) = total(p, |k, x, g| tape.gradient(|x| p.eval(k, x), x, g).unwrap());
    let c = Checksums::of(v, &g);
    println!("  {c:?} diff {:?}", p.checksums().map(|r| c.difference(&r)));
    println!("{}", tape.memory());
}
fn run(p: &impl Problem) {
    println!("{} {}", p.name(), p.size());
    let x = p.inputs(0);
    let t = Instant::now();
    let a = std::hint::black_box(p.plain(0, std::hint::black_box(&x)));
    let t1 = Instant::now();
    let b = std::hint::black_box(p.eval::<Passive>(0, Real::wrap_slice(std::hint::black_box(&x)))).value();
    let t2 = Instant::now();
    let mut g = vec![0.0; x.len()];
    let _ = p.adjoint(0, &x, &mut g);
    println!("  plain {:?} passive {:?} adjoint {:?} equal {}", t1 - t, t2 - t1, t2.elapsed(), a == b);
    let (v, g) = total(p, |k, x, g| p.adjoint(k, x, g));
    let c = Checksums::of(v, &g);
    println!("  adjoint {c:?} diff {:?}", p.checksums().map(|r| c.difference(&r)));
    report::<Jacobian>(p);
    report::<PrimalValue>(p);
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    match (&args[1][..], args.get(2)) {
        ("burgers2d", _) => run(&Burgers::default()),
        ("gmm", None) => run(&Gmm::default()),
        ("gmm", Some(f)) => run(&Gmm::from_file(f).unwrap()),
        ("iris", _) => run(&Gmm::iris()),
        ("lstm", None) => run(&Lstm::default()),
        ("lstm", Some(f)) => run(&Lstm::from_file(f).unwrap()),
        ("laplacian1d", _) => run(&Laplacian::default()),
        ("libor", _) => run(&Libor::default()),
        ("expsq", _) => run(&ExpSq::default()),
        ("repeated_sin", _) => run(&RepeatedSin::default()),
        _ => panic!("unknown workload"),
    }
}
