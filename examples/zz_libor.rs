//! t
use tapewright::prelude::*;
use tapewright_problems::{self as problems, Problem};
fn go<S: Reverse<Value=f64>, P: Problem>(p: &P, n: usize) {
    let x = p.inputs(0);
    let mut tape = Tape::<S>::new();
    let mut g = vec![0.0; x.len()];
    for k in 0..n { tape.gradient(|v| p.eval::<S>(k, v), &x, &mut g).unwrap(); }
    println!("{}", g[0]);
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n = a[3].parse().unwrap();
    macro_rules! d { ($p:expr) => { match a[1].as_str() {
        "jl" => go::<Jacobian, _>(&$p, n), "jr" => go::<Jacobian<f64, Reuse>, _>(&$p, n),
        "pl" => go::<PrimalValue, _>(&$p, n), "pr" => go::<PrimalValue<f64, Reuse>, _>(&$p, n), "hl" => go::<Hybrid, _>(&$p, n), _ => panic!() } } }
    match a[2].as_str() { "libor" => d!(problems::Libor::default()), "lap" => d!(problems::Laplacian::default()), "sin" => d!(problems::RepeatedSin::new(100000).unwrap()), "lstm" => d!(problems::Lstm::default()), "gmm" => d!(problems::Gmm::iris()), "exp" => d!(problems::ExpSq::default()), _ => panic!() }
}
