//! Prints a program of `N` statements with 5 to 12 operations each, generic over the strategy, for measuring how long
//! it takes to compile: `generate N Strategy`; with N = 0, an empty program that uses nothing. `generate N kernels`
//! prints one of `N` array kernels, each a step of the two-dimensional Burgers equation of another type.
//!
//! Compiled by `benches/compile_time.sh` with plain `rustc`; the random numbers are SplitMix64, so the program is
//! always the same.

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    fn leaf(&mut self) -> String {
        if self.below(5) == 0 { format!("{}.25", 1 + self.below(9)) } else { self.variable() }
    }

    fn variable(&mut self) -> String {
        format!("x[{}]", self.below(10))
    }

    /// An expression with `operations` operations; never a bare literal.
    fn expression(&mut self, operations: u64) -> String {
        const FUNCTIONS: [&str; 9] = ["sin", "cos", "exp", "tanh", "sqrt", "ln_1p", "atan", "recip", "abs"];
        if operations == 0 {
            return self.variable();
        }
        if operations > 1 && self.below(5) == 0 {
            let function = FUNCTIONS[self.below(9) as usize];
            return format!("({}).{function}()", self.expression(operations - 1));
        }
        let left = self.below(operations);
        let right = operations - 1 - left;
        let operator = ["+", "-", "*", "*", "+", "/"][self.below(6) as usize];
        let left = self.expression(left);
        let right = if right == 0 { self.leaf() } else { self.expression(right) };
        format!("({left} {operator} {right})")
    }
}

fn kernels(n: u64) {
    println!(
        "use tapewright::kernels::{{Field2, Term, View, parallel_for, parallel_sum}};
use tapewright::prelude::*;
use tapewright::strategies::kernel::ir::Node;

fn moved<W: Field2, U: Field2, V: Field2>(w: W, u: U, v: V, a: f64, nu: f64) -> Term<impl Node> {{
    let (u, v, c) = (u.at::<0, 0>(), v.at::<0, 0>(), w.at::<0, 0>());
    let (east, west, north, south) = (w.at::<0, 1>(), w.at::<0, -1>(), w.at::<1, 0>(), w.at::<-1, 0>());
    let ax = u.ge(0.0).select(u * (c - west), u * (east - c));
    let ay = v.ge(0.0).select(v * (c - south), v * (north - c));
    c - a * (ax + ay) + nu * (east + west + north + south - 4.0 * c)
}}

fn main() {{
    let mut tape = Tape::<Jacobian>::new();
    let (u, sum) = tape.record(|scope| {{
        let (mut u, mut v) = (scope.view([9, 9], &[0.5; 81]), scope.view([9, 9], &[0.25; 81]));
        let range = u.interior(1);"
    );
    for k in 0..n {
        // Another type for each: k more operations in one place.
        let extra = " + 0.125 * u.at::<0, 0>()".repeat(k as usize);
        println!(
            "        parallel_for(range.clone(), (&mut u, &mut v), |(u, v)| (moved(u, u, v, 0.1, 0.01){extra}, moved(v, u, v, 0.1, 0.01)));"
        );
    }
    println!(
        "        let sum = parallel_sum(u.all(), (&u, &v), |(u, v)| u.at::<0, 0>() * v.at::<0, 0>());
        (u, sum)
    }});
    let adjoints = tape.sweep(&[(&sum, 1.0)]).unwrap();
    println!(\"{{:?}}\", adjoints.of_view(&u).unwrap());
}}"
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let statements: u64 = arguments.next().and_then(|n| n.parse().ok()).expect("the number of statements");
    let strategy = arguments.next().expect("the strategy");
    if statements == 0 {
        println!("fn main() {{}}");
        return;
    }
    if strategy == "kernels" {
        return kernels(statements);
    }
    let mut random = Random(12345);
    println!("use tapewright::prelude::*;\n");
    let functions = statements.div_ceil(30);
    for f in 0..functions {
        println!("fn f{f}<S: Strategy>(x: &mut [Real<S>]) {{");
        for _ in 0..(statements - 30 * f).min(30) {
            let (target, operations) = (random.below(10), 5 + random.below(8));
            println!("    x[{target}] = ({}).into();", random.expression(operations));
        }
        println!("}}\n");
    }
    println!("fn all<S: Strategy>(x: &[Real<S>]) -> Real<S> {{\n    let mut x = x.to_vec();");
    (0..functions).for_each(|f| println!("    f{f}(&mut x);"));
    println!("    (x[0] * x[1]).into()\n}}\n");
    println!("fn main() {{\n    println!(\"{{:?}}\", gradient::<{strategy}>(all, &[0.5; 10]));\n}}");
}
