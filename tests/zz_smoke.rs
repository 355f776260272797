use problems::Problem;
use tapewright::prelude::*;
use tapewright_problems as problems;
fn grad<S: Reverse<Value = f64>, P: Problem>(p: &P) -> Vec<f64> {
    let x = p.inputs(0);
    let mut tape = Tape::<S>::new();
    let mut g = vec![0.0; x.len()];
    let mut t = 1e9f64;
    for _ in 0..7 {
        let t0 = cpu_time::ThreadTime::now();
        tape.gradient(|v| p.eval::<S>(0, v), &x, &mut g).unwrap();
        t = t.min(t0.elapsed().as_secs_f64());
    }
    let m = tape.memory();
    eprintln!(
        "{:14} {:60} {:9.3} ms {:12} bytes adj {:10}",
        p.name(),
        std::any::type_name::<S>().replace("tapewright_strategies::", ""),
        t * 1e3,
        m.total().used - m.usage("tables").used,
        m.usage("adjoints").used
    );
    g
}
fn all<P: Problem>(p: &P) {
    let a = grad::<Jacobian, P>(p);
    let close = |n: &str, b: Vec<f64>| {
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{} {n}: {x} {y}", p.name())
        }
    };
    close("pv", grad::<PrimalValue, P>(p));
    close("hy", grad::<Hybrid, P>(p));
    close("jr", grad::<Jacobian<f64, Reuse>, P>(p));
    close("pr", grad::<PrimalValue<f64, Reuse>, P>(p));
    close("hr", grad::<Hybrid<f64, Reuse>, P>(p));
    close("js", grad::<Jacobian<f64, Linear, Shared>, P>(p));
}
#[test]
fn smoke() {
    all(&problems::RepeatedSin::new(1000000).unwrap());
    all(&problems::Burgers::default());
    all(&problems::Gmm::iris());
    all(&problems::Laplacian::default());
    all(&problems::Libor::default());
    all(&problems::Lstm::default());
    all(&problems::ExpSq::default());
}
