//! Kernels as C: compiled by gcc, they compute the same bits, and the same adjoints.
#![allow(clippy::single_range_in_vec_init, reason = "ranges of launches of rank 1")]

use super::numbers;
use std::fmt::Write;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use tapewright::kernels::{Dialect, Field3, View, parallel_for, parallel_for_text, parallel_sum, parallel_sum_text};
use tapewright::prelude::*;
use tapewright::{Float, Unary};

/// A program in C with these arrays, which prints the bits of the arrays that `show` is called with.
struct Program {
    text: String,
    main: String,
    dialect: Dialect,
    shape: [usize; 4],
    range: [std::ops::Range<usize>; 4],
}

/// Work items of a function: the points of the range, all elements, 16 for each row, or as many as these.
#[derive(Clone, Copy)]
enum Work {
    Points,
    Elements,
    Rows,
    Items(usize, usize),
}

impl Program {
    /// A program with text that the processor runs, whatever device it is for.
    fn new(dialect: Dialect, text: &str, shape: &[usize], range: &[std::ops::Range<usize>]) -> Self {
        let text = text.replace("__kernel void", "void").replace("extern \"C\" __global__ void", "void");
        let first = 4 - shape.len();
        let of = |d: usize| if d < first { 0..1 } else { range[d - first].clone() };
        Self {
            text: if dialect == Dialect::C { text } else { DEVICE.to_owned() + &text },
            main: String::new(),
            dialect,
            shape: [0, 1, 2, 3].map(|d| if d < first { 1 } else { shape[d - first] }),
            range: [0, 1, 2, 3].map(of),
        }
    }

    /// An array with these numbers.
    fn array(&mut self, name: &str, numbers: &[f64]) {
        let bits: Vec<String> = numbers.iter().map(|x| format!("{}ULL", x.to_bits())).collect();
        let n = numbers.len();
        _ = writeln!(self.text, "static const unsigned long long {name}_bits[{n}] = {{{}}};", bits.join(", "));
        _ = writeln!(self.text, "static double {name}[{n}];");
        _ = writeln!(self.main, "    memcpy({name}, {name}_bits, sizeof {name});");
    }

    /// Calls a function of the text. Arguments have the names of parameters, unless these say otherwise; `a.…` is a
    /// field of the first argument. Contributions are added, adjoints are arrays, and general code computes all points.
    /// On a device there are more work items than needed: those beyond the end do nothing.
    fn call(&mut self, function: &str, work: Work, others: &[(&str, &str)]) {
        let start = format!("\nvoid {function}(");
        let (_, rest) = self.text.split_once(&start).unwrap_or_else(|| panic!("no {function} in {}", self.text));
        let parameters: Vec<&str> = rest.split(')').next().expect("the end of the list").split(", ").collect();
        let names = parameters.iter().map(|parameter| parameter.rsplit([' ', '*']).next().expect("a name"));
        let other = |name: &str| others.iter().find(|(of, _)| *of == name).map_or(name, |(_, other)| other).to_owned();
        let arguments: Vec<String> = names.map(other).collect();
        let (shape, range) = (self.shape, &self.range);
        let extent = |d: usize| range[d].len();
        let items = match work {
            Work::Points => [extent(3), extent(2), extent(0) * extent(1)],
            Work::Elements => [shape[3], shape[2], shape[0] * shape[1]],
            Work::Rows => [16, extent(2), extent(0) * extent(1)],
            Work::Items(first, second) => [first, second, 1],
        };
        let mut main = format!("    {{\n    {};\n    memset(&a, 0, sizeof a);\n", parameters[0]);
        for d in 0..4 {
            let in_box = if matches!(work, Work::Elements) { 0..shape[d] } else { range[d].clone() };
            _ = write!(
                main,
                "    a.n[{d}] = {}, a.range.lo[{d}] = {}, a.range.hi[{d}] = {}",
                shape[d], range[d].start, range[d].end
            );
            _ = writeln!(main, ", a.box.lo[{d}] = {}, a.box.hi[{d}] = {};", in_box.start, in_box.end);
        }
        for (d, count) in items.iter().enumerate() {
            _ = writeln!(main, "    a.items[{d}] = {count};");
        }
        // Adjoints are asked for wherever there is an array for them.
        main += "    for (int k = 0; k < 6; k++) a.w[k] = 1;\n    a.once = 1, a.asked = -1;\n    ids[0] = ids[1] = ids[2] = 0;\n";
        for (field, value) in others.iter().filter(|(of, _)| of.starts_with("a.")) {
            _ = writeln!(main, "    {field} = {value};");
        }
        if self.dialect != Dialect::C {
            for (d, count) in items.iter().enumerate() {
                _ = writeln!(main, "    for (ids[{d}] = 0; ids[{d}] < {}; ids[{d}]++)", count + 2);
            }
        }
        _ = write!(self.main, "{main}    {function}({});\n    }}\n", arguments.join(", "));
    }

    fn show(&mut self, name: &str) {
        _ = writeln!(
            self.main,
            "    for (unsigned long i = 0; i < sizeof {name} / 8; i++) {{ unsigned long long b; memcpy(&b, {name} + i, 8); \
             printf(\"%llu\\n\", b); }}"
        );
    }

    /// Compiles and runs it.
    fn run(self) -> Vec<f64> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("tapewright-text-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a place for the program");
        let (source, program) = (place.join("kernel.c"), place.join("kernel"));
        let text = format!(
            "#include <stdio.h>\n#include <string.h>\nstatic long ids[3];\n{}int main(void) {{\n{}    return 0;\n}}\n",
            self.text, self.main
        );
        std::fs::write(&source, &text).expect("written");
        let compiled = Command::new("gcc")
            .args([
                "-std=c11",
                "-O2",
                "-ffp-contract=off",
                "-Wall",
                "-Werror",
                "-Wno-unused-function",
                "-Wno-unknown-pragmas",
                "-o",
            ])
            .args([&program, &source])
            .arg("-lm")
            .output()
            .expect("gcc is there");
        assert!(compiled.status.success(), "{}\n{text}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(&program).output().expect("it runs");
        assert!(output.status.success(), "{text}");
        std::fs::remove_dir_all(&place).expect("removed");
        let lines = String::from_utf8(output.stdout).expect("digits");
        lines.lines().map(|line| f64::from_bits(line.parse().expect("the bits of a number"))).collect()
    }
}

#[track_caller]
fn same_bits(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
            "{k}: {found} {expected}"
        );
    }
}

#[track_caller]
fn nearly(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = (found - expected).abs() <= 4e-15 * (1.0 + expected.abs()) || found.is_nan() && expected.is_nan();
        assert!(same || found == expected, "{k}: {found} and {expected}");
    }
}

/// Compares a kernel of some views, all of which it uses, that writes another one.
macro_rules! agrees {
    ($shape:expr, $range:expr, |$($x:ident $k:literal),+; $y:literal| $body:expr) => {{
        let (shape, range) = ($shape, $range);
        let n: usize = shape.iter().product();
        let seeds = numbers(n, 99);
        let mut tape = Tape::<Jacobian>::new();
        let (y, text, ($($x,)+)) = tape.record(|scope| {
            $( let $x = scope.view(shape, &numbers(n, $k + 1)); )+
            let mut y = View::filled(shape, 0.5);
            parallel_for(range.clone(), ($(&$x,)+ &mut y), |($($x,)+ _)| ($body,));
            let text = parallel_for_text(Dialect::C, "kernel", ($(&$x,)+ &mut y), |($($x,)+ _)| ($body,));
            (y, text.expect("C has these functions"), ($($x,)+))
        });
        let adjoints = tape.sweep_view(&[], (&y, &seeds)).expect("swept");
        let mut c = Program::new(Dialect::C, &text, &shape, &range);
        $( c.array(concat!("x", $k), $x.values()); )+
        c.array("y", &vec![0.5; n]);
        c.call("kernel_values", Work::Points, &[(concat!("y", $y), "y")]);
        c.show("y");
        c.array("s0", &seeds);
        $( c.array(concat!("d", $k), &vec![0.0; n]); )+
        c.call("kernel_gather", Work::Elements, &[(concat!("z", $y), "y")]);
        $( c.show(concat!("d", $k)); )+
        let found = c.run();
        same_bits(&found[..n], y.values());
        $( nearly(&found[($k + 1) * n..][..n], &adjoints.of_view(&$x).expect("an input")); )+
    }};
}

#[test]
fn stencils_with_every_border_rule() {
    agrees!([17], [0..17], |x 0, b 1; 2| 2.0 * x.at::<0>() - x.or_zero::<-1>() * x.or_zero::<2>() - b.at::<0>());
    agrees!([11], [2..9], |x 0; 1| x.nearest::<-3>() * x.nearest::<2>() + x.periodic::<4>() * x.periodic::<-1>());
    agrees!([6, 7], [1..5, 0..7], |u 0, v 1; 2| u.at::<1, 0>() * v.or_zero::<0, -1>() - u.nearest::<-1, 2>() / v.at::<-1, 0>());
    agrees!([3, 4, 5], [0..3, 1..3, 0..5], |u 0; 1| u.at::<0, 1, 0>() * u.periodic::<1, 0, -1>() + u.at::<0, 0, 0>().square());
    agrees!([2, 2, 3, 4], [0..2, 0..1, 0..3, 1..4], |u 0; 1| u.at::<0, 1, 0, -1>() * u.or_zero::<0, 0, 1, 0>());
}

/// Words for devices, defined away: work items run one after the other.
const DEVICE: &str = "\
#include <math.h>
#include <tgmath.h>
#define __global
#define __device__
#define barrier(flags)
struct three { long x, y, z; };
static long get_global_id(int d) { return ids[d]; }
static float __int_as_float(int bits) { float f; memcpy(&f, &bits, 4); return f; }
#define blockIdx ((struct three){ids[0], ids[1], ids[2]})
#define blockDim ((struct three){1, 1, 1})
#define threadIdx ((struct three){0, 0, 0})
#define gridDim ((struct three){1000, 1000, 1000})
";

/// Bits of the values, of the adjoints and of the sums of a launch in three dimensions, by the text in this dialect.
fn on_a_device(dialect: Dialect) -> Vec<u64> {
    let (shape, n) = ([3, 4, 9], 108);
    let (x, mut y) = (View::<Passive, 3>::new(shape, &numbers(n, 1)), View::<Passive, 3>::filled(shape, 0.5));
    let k = Real::constant(0.3);
    let text = parallel_for_text(dialect, "kernel", (&x, &mut y, &k), |(x, y, k)| {
        (x.at::<1, 0, 0>() * x.or_zero::<0, 0, -2>() - k * y.at::<0, 0, 0>().max(x.periodic::<0, 1, 0>()),)
    });
    let sum = parallel_sum_text(dialect, "sum", (&x, &k), |(x, k)| k * x.nearest::<0, 1, 1>() * x.at::<0, 0, 0>());
    let text = text.expect("arithmetic") + &sum.expect("arithmetic");
    let mut c = Program::new(dialect, &text, &shape, &[0..2, 0..4, 1..9]);
    for (name, seed) in [("x0", 1), ("s0", 2), ("d0", 3), ("d1", 4)] {
        c.array(name, &numbers(n, seed));
    }
    c.array("y1", &vec![0.5; n]);
    c.array("x1", &vec![0.5; n]);
    c.array("parts", &[0.0; 16 * 8]);
    c.array("sums", &[0.0; 8]);
    for (function, work, shown) in [
        ("kernel_values", Work::Points, "y1"),
        ("kernel_gather", Work::Elements, "d0"),
        ("kernel_scalars", Work::Rows, "parts"),
        ("kernel_scalars_in_order", Work::Items(1, 1), "sums"),
        ("sum_sums", Work::Rows, "parts"),
        ("tw_add_pairs", Work::Items(8, 1), "sums"),
        ("sum_gather", Work::Elements, "d0"),
    ] {
        c.call(function, work, &[("a.c[1]", "0.3"), ("a.c[2]", "0.3")]);
        c.show(shown);
    }
    c.run().iter().map(|number| number.to_bits()).collect()
}

#[test]
fn dialects_of_devices_compute_the_same_bits_on_the_processor() {
    let c = on_a_device(Dialect::C);
    assert_eq!(on_a_device(Dialect::OpenCl), c);
    assert_eq!(on_a_device(Dialect::Cuda), c);
}

/// Σ seed·a·p·q² over part of a range, where p lies along dimension 1 and q along dimensions 0 and 2, by the text in this
/// dialect, and its adjoints for p and q in the order of blocks.
fn along_on_a_device(dialect: Dialect) -> Vec<f64> {
    let (shape, n) = ([3, 4, 9], 108);
    let (a, p, q) =
        (View::<Passive, 3>::zeros(shape), View::<Passive, 1>::zeros([4]), View::<Passive, 2>::zeros([3, 9]));
    let text = parallel_sum_text(dialect, "sum", (&a, p.along::<1>(), q.along2::<0, 2>()), |(a, p, q)| {
        a.at::<0, 0, 0>() * p.at() * q.at().square()
    });
    let mut c = Program::new(dialect, &text.expect("arithmetic"), &shape, &[0..2, 0..4, 1..9]);
    // Two blocks for each element of p and of q.
    let blocks = [("a.block[0]", "1"), ("a.block[1]", "1"), ("a.block[2]", "3"), ("a.block[3]", "8")];
    for (name, count, seed) in [("x0", n, 1), ("x1", 4, 2), ("x2", 27, 3), ("s0", n, 4), ("d1", 4, 5), ("d2", 27, 6)] {
        c.array(name, &numbers(count, seed));
    }
    c.array("parts", &[0.0; 16 * 8]);
    c.array("sums", &[0.0; 32]);
    for (function, work, shown) in [
        ("sum_sums", Work::Rows, "parts"),
        ("sum_along1", Work::Rows, "parts"),
        ("tw_add_pairs", Work::Items(8, 1), "sums"),
        ("sum_along1_add", Work::Items(4, 1), "d1"),
        ("sum_along2", Work::Items(16, 2), "sums"),
        ("sum_along2_add", Work::Items(16, 1), "d2"),
    ] {
        c.call(function, work, &blocks);
        c.show(shown);
    }
    c.show("d1");
    c.show("d2");
    c.run()
}

#[test]
fn operands_of_lower_rank_in_every_dialect() {
    let found = along_on_a_device(Dialect::C);
    same_bits(&along_on_a_device(Dialect::OpenCl), &found);
    same_bits(&along_on_a_device(Dialect::Cuda), &found);
    let [a, p, q, s, of_p, of_q] = [(108, 1), (4, 2), (27, 3), (108, 4), (4, 5), (27, 6)].map(|(n, k)| numbers(n, k));
    let mut tape = Tape::<Jacobian>::new();
    let (p, q, z) = tape.record(|scope| {
        let (a, s) = (View::new([3, 4, 9], &a), View::new([3, 4, 9], &s));
        let (p, q) = (scope.view([4], &p), scope.view([3, 9], &q));
        let operands = (&a, &s, p.along::<1>(), q.along2::<0, 2>());
        let z = parallel_sum([0..2, 0..4, 1..9], operands, |(a, s, p, q)| {
            s.at::<0, 0, 0>() * (a.at::<0, 0, 0>() * p.at() * q.at().square())
        });
        (p, q, z)
    });
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    let all = |before: &[f64], more: &[f64]| before.iter().zip(more).map(|(a, b)| a + b).collect::<Vec<f64>>();
    nearly(&found[found.len() - 31..][..4], &all(&of_p, &adjoints.of_view(&p).expect("p")));
    nearly(&found[found.len() - 27..], &all(&of_q, &adjoints.of_view(&q).expect("q")));
}

#[test]
fn functions_branches_and_temporaries() {
    agrees!([40], [0..40], |x 0, w 1; 2| {
        let (x, w) = (x.at::<0>(), w.at::<0>());
        x.sin() * w.cos() + (x * 0.3).exp() * w.abs().sqrt() + (x.square() + 0.1).ln() * w.tanh()
    });
    agrees!([40], [0..40], |x 0, w 1; 2| {
        let (x, w) = (x.at::<0>(), w.at::<0>());
        (x.square() + 0.2).powf(w) + x.hypot(w) + x.atan2(w) + w.powi(-3) + w.clamp(-0.3, 0.4) + x.sigmoid() * w.softplus()
    });
    agrees!([40], [0..40], |x 0, w 1; 2| {
        let (x, w) = (x.at::<0>(), w.at::<0>());
        let all = x.tan() + w.atan() + w.recip() + x.sinh() * w.cosh() + x.exp_m1() + w.fract() + x.copysign(w);
        all + (x.square() + 1.0).log10() + w.square().ln_1p() + (0.5 * x.sin()).asin() + x.exp2()
    });
    agrees!([40], [0..40], |x 0, w 1; 2| {
        let (x, w) = (x.at::<0>(), w.at::<0>());
        let branch = x.ge(0.1).select(x * w, (w - x).max(x.min(0.2)));
        (branch + 1.0).bind::<0, _>(|t| t * t + t)
    });
}

#[test]
fn coordinates_are_those_of_the_reading_point() {
    agrees!([17], [2..17], |x 0; 1| x.index::<0>().ne(3.0).select(x.at::<-2>() * x.index::<0>(), x.nearest::<1>()));
    agrees!([5, 7], [0..5, 1..7], |u 0, v 1; 2| {
        let (i, j) = (u.index::<0>(), u.index::<1>());
        u.periodic::<1, 2>() * v.or_zero::<-1, 1>() / (1.0 + i) - (0.5 * (i + j)).fract().eq(0.0).not().select(j, -j)
    });
}

#[test]
fn the_cube_root_of_c_may_have_another_last_digit() {
    let (mut x, at) = (View::<Passive, 1>::new([40], &numbers(40, 1)), numbers(40, 1));
    let text = parallel_for_text(Dialect::C, "roots", &mut x, |x| (x.at::<0>().cbrt(),)).expect("C has it");
    let mut c = Program::new(Dialect::C, &text, &[40], &[0..40]);
    c.array("x0", &at);
    c.array("y0", &at);
    c.call("roots_values", Work::Points, &[]);
    c.show("y0");
    nearly(&c.run(), &at.iter().map(|x| x.cbrt()).collect::<Vec<_>>());
}

#[test]
fn what_is_selected_away_contributes_nothing() {
    // √ of negative numbers, and its infinite slope at 0.
    agrees!([40], [0..40], |x 0; 1| x.at::<0>().ge(0.0).select(x.at::<0>(), 0.0).sqrt());
    agrees!([40], [0..40], |x 0; 1| x.at::<0>().max(0.0).sqrt());
}

/// One component of the two-dimensional Burgers equation.
macro_rules! moved {
    ($w:ident, $u:ident, $v:ident) => {{
        let (u, v, c) = ($u.at::<0, 0>(), $v.at::<0, 0>(), $w.at::<0, 0>());
        let ax = u.ge(0.0).select(u * (c - $w.at::<0, -1>()), u * ($w.at::<0, 1>() - c));
        let ay = v.ge(0.0).select(v * (c - $w.at::<-1, 0>()), v * ($w.at::<1, 0>() - c));
        let around = $w.at::<0, 1>() + $w.at::<0, -1>() + $w.at::<1, 0>() + $w.at::<-1, 0>();
        c - 0.1 * (ax + ay) + 0.02 * (around - 4.0 * c)
    }};
}

#[test]
fn a_step_of_burgers_equation_in_place() {
    let (shape, n) = ([9, 12], 108);
    let mut tape = Tape::<Jacobian>::new();
    let ([u0, v0], [u, v], text) = tape.record(|scope| {
        let (u0, v0) = (scope.view(shape, &numbers(n, 1)), scope.view(shape, &numbers(n, 2)));
        let (mut u, mut v) = (u0.clone(), v0.clone());
        parallel_for(u.interior(1), (&mut u, &mut v), |(u, v)| (moved!(u, u, v), moved!(v, u, v)));
        let text =
            parallel_for_text(Dialect::C, "burgers", (&mut u, &mut v), |(u, v)| (moved!(u, u, v), moved!(v, u, v)));
        ([u0, v0], [u, v], text.expect("arithmetic"))
    });
    let seeds = numbers(n, 3);
    let adjoints = tape.sweep_view(&[], (&u, &seeds)).expect("swept");
    let expected: Vec<Vec<f64>> = [&u0, &v0].map(|x| adjoints.of_view(x).expect("an input").into_owned()).into();
    assert!(!text.contains("atomic"));
    let mut c = Program::new(Dialect::C, &text, &shape, &[1..8, 1..11]);
    c.array("x0", u0.values());
    c.array("x1", v0.values());
    c.array("y0", u0.values());
    c.array("y1", v0.values());
    c.call("burgers_values", Work::Points, &[]);
    c.show("y0");
    c.show("y1");
    // Of the other output nothing is asked.
    c.array("s0", &seeds);
    c.array("s1", &vec![0.0; n]);
    c.array("d0", &vec![0.0; n]);
    c.array("d1", &vec![0.0; n]);
    c.call("burgers_gather", Work::Elements, &[]);
    c.show("d0");
    c.show("d1");
    let found = c.run();
    same_bits(&found[..n], u.values());
    same_bits(&found[n..2 * n], v.values());
    // What lies outside the range keeps its seeds, which is the launch's part and not the kernel's.
    let inside = |k: usize| (1..8).contains(&(k / 12)) && (1..11).contains(&(k % 12));
    let rest: Vec<f64> = (0..n).map(|k| if inside(k) { 0.0 } else { seeds[k] }).collect();
    let of_u: Vec<f64> = expected[0].iter().zip(&rest).map(|(all, rest)| all - rest).collect();
    nearly(&found[2 * n..3 * n], &of_u);
    nearly(&found[3 * n..], &expected[1]);
}

#[test]
fn the_adjoint_of_a_number_is_a_sum_over_chunks() {
    let (shape, n) = ([5, 6, 7], 210);
    let range = [1..4, 1..5, 1..6];
    let mut tape = Tape::<Jacobian>::new();
    let (k, u, text) = tape.record(|scope| {
        let (k, mut u) = (scope.input(0.3), scope.view(shape, &numbers(n, 1)));
        let text =
            parallel_for_text(Dialect::C, "diffusion", (&mut u, &k), |(u, k)| (diffused(u, k),)).expect("arithmetic");
        parallel_for(range.clone(), (&mut u, &k), |(u, k)| (diffused(u, k),));
        (k, u, text)
    });
    let seeds = numbers(n, 2);
    let expected = tape.sweep_view(&[], (&u, &seeds)).expect("swept").of(&k).expect("an input");
    let mut c = Program::new(Dialect::C, &text, &shape, &range);
    c.array("x0", &numbers(n, 1));
    c.array("y0", &numbers(n, 1));
    c.call("diffusion_values", Work::Points, &[("a.c[1]", "0.3")]);
    c.show("y0");
    c.array("s0", &seeds);
    c.array("parts", &[0.0; 16 * 3 * 4]);
    c.array("sums", &[0.0; 3 * 4]);
    // With straight code at all points.
    let inner = [("a.c[1]", "0.3"), ("a.inner", "a.range")];
    c.call("diffusion_scalars", Work::Rows, &inner);
    c.call("tw_add_pairs", Work::Items(3 * 4, 1), &[]);
    c.show("sums");
    let found = c.run();
    same_bits(&found[..n], u.values());
    // One chunk for each row, in order.
    let sum = found[n..].iter().fold(0.0, |sum, chunk| sum + chunk);
    assert_eq!(sum.to_bits(), expected.to_bits(), "{sum} and {expected}");
}

fn diffused<U: Field3, K: tapewright::strategies::kernel::ir::Node>(
    u: U,
    k: tapewright::kernels::Term<K>,
) -> tapewright::kernels::Term<impl tapewright::strategies::kernel::ir::Node> {
    let c = u.at::<0, 0, 0>();
    let beside = u.at::<0, 0, -1>() + u.at::<0, 0, 1>() + u.at::<0, 1, 0>() + u.at::<0, -1, 0>();
    c + k * (beside + u.at::<1, 0, 0>() + u.at::<-1, 0, 0>() - 6.0 * c)
}

#[test]
fn what_c_does_not_have_is_refused_by_name() {
    let x = View::<Passive, 1>::zeros([4]);
    let text = parallel_sum_text(Dialect::C, "sum", &x, |x| x.at::<0>().exp() * x.at::<0>().digamma());
    let error = text.expect_err("C has no digamma");
    assert_eq!(error.rule(), "Digamma");
    assert!(error.to_string().contains("Digamma"));
    assert!(parallel_sum_text(Dialect::C, "sum", &x, |x| x.at::<0>().normal_quantile()).is_err());
}

/// x³, which has the name of another function.
#[derive(Clone, Copy, Debug)]
struct Exp;
impl Unary for Exp {
    fn value<V: Float>(x: V) -> V {
        x * x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        V::from_f64(3.0) * x * x
    }
}

#[test]
fn rules_of_users_are_refused_whatever_they_are_called() {
    let x = View::<Passive, 1>::zeros([4]);
    let error = parallel_sum_text(Dialect::C, "sum", &x, |x| x.at::<0>().unary::<Exp>()).expect_err("it is not eˣ");
    assert!(error.rule().ends_with("text::Exp"), "{error}");
    assert!(parallel_sum_text(Dialect::C, "sum", &x, |x| x.at::<0>().exp()).is_ok());
}

#[test]
#[should_panic(expected = "\"a kernel\" is no name of a function in C")]
fn a_name_that_is_none_is_refused() {
    _ = parallel_sum_text(Dialect::C, "a kernel", &View::<Passive, 1>::zeros([4]), |x| x.at::<0>());
}
