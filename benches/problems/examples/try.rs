use std::time::Instant;
use tapewright::prelude::*;
use tapewright_problems::{Burgers, Problem};
fn run<S: Reverse<Value = f64>>(p: &impl Problem) {
    let x = p.inputs();
    let mut g = vec![0.0; x.len()];
    let mut tape = Tape::<S>::new();
    let v = tape.gradient(|x| p.eval(x), &x, &mut g).unwrap();
    println!("{v} {} {}", g.iter().sum::<f64>(), g.iter().map(|x| x * x).sum::<f64>().sqrt());
    println!("{}", tape.memory());
    let mut inputs = Vec::new();
    let (mut rec, mut sw) = (vec![], vec![]);
    for _ in 0..15 {
        let t = Instant::now();
        let y = tape.record(|s| {
            s.inputs_into(&x, &mut inputs);
            p.eval(&inputs)
        });
        rec.push(t.elapsed().as_secs_f64());
        let t = Instant::now();
        tape.sweep(&[(&y, 1.0)]).unwrap();
        sw.push(t.elapsed().as_secs_f64());
    }
    rec.sort_by(f64::total_cmp);
    sw.sort_by(f64::total_cmp);
    println!("record {:.2} ms sweep {:.2} ms", rec[7] * 1e3, sw[7] * 1e3);
}
fn main() {
    let p = Burgers::default();
    let x = p.inputs();
    let t = Instant::now();
    for _ in 0..20 {
        std::hint::black_box(p.plain(std::hint::black_box(&x)));
    }
    println!("plain {:.3} ms", t.elapsed().as_secs_f64() * 50.0);
    let t = Instant::now();
    for _ in 0..20 {
        std::hint::black_box(p.eval::<Passive>(Real::wrap_slice(std::hint::black_box(&x))));
    }
    println!("passive {:.3} ms", t.elapsed().as_secs_f64() * 50.0);
    run::<Jacobian>(&p);
    run::<PrimalValue>(&p);
    // expsq
    let f = |x: &[Real<Jacobian>]| -> Real<Jacobian> { (x[0].exp() * x[1] * x[1]).into() };
    let mut tape = Tape::<Jacobian>::new();
    let mut g = [0.0; 2];
    let mut s = 0.0;
    for _ in 0..3 {
        let t = Instant::now();
        for i in 0..1_000_000 {
            let d = i as f64 * 1e-7;
            s += tape.gradient(f, &[0.3 + d, 1.7 - d], &mut g).unwrap() + g[0] + g[1];
        }
        println!("expsq {:.1} ns {s}", t.elapsed().as_secs_f64() * 1e3);
    }
}
