//! Kernels as text in C, which compilers of other devices understand, too.
//!
//! A tree is evaluated over [`Symbol`]s instead of numbers: each operation writes down a definition, and the same expression is
//! defined once. So the text has the operations of the loops, forward and in the gather. Functions that lanes compute number by number are
//! looked up in a table.

use super::keys::{Border, Facts, Key, Kind, OPERANDS};
use super::lane::{Lane, sealed::Sealed};
use super::memory::Needed;
use super::program::{OUTPUTS, Program};
use super::reverse::each_leaf;
use super::tree::{Leaf, Source};
use core::cell::RefCell;
use core::fmt::Write;
use core::ops::{Add, Div, Mul, Neg, Sub};
use std::collections::{HashMap, HashSet};

/// A function that lanes compute number by number.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The name of its rule.
    pub rule: fn() -> &'static str,
    /// What is asked of the rule.
    pub part: Part,
}

/// What is asked of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The value.
    Value,
    /// The derivative, of the argument and the value; or the partial of the left of two arguments.
    Left,
    /// The partial of the right argument.
    Right,
    /// 1 where the left argument is returned, else 0.
    TakesLeft,
}

/// C for a part of the rule with this [name](core::any::type_name), where `$` and `#` stand for the arguments; `None` if C has no such
/// function.
pub type Table = fn(&str, Part) -> Option<&'static str>;

/// What has been written so far.
struct Text {
    lines: String,
    depth: usize,
    /// The names of definitions, by what they define.
    known: HashMap<String, u32>,
    count: u32,
    table: Table,
    missing: Option<String>,
}

thread_local! {
    static TEXT: RefCell<Option<Text>> = const { RefCell::new(None) };
}

fn with<T>(f: impl FnOnce(&mut Text) -> T) -> T {
    TEXT.with_borrow_mut(|text| f(text.as_mut().expect("symbols are there while a text is written")))
}

impl Text {
    fn line(&mut self, line: &str) {
        _ = writeln!(self.lines, "{:1$}{line}", "", 4 * self.depth);
    }

    /// The name of this expression.
    fn define(&mut self, kind: &str, expression: String) -> u32 {
        if let Some(name) = self.known.get(&expression) {
            return *name;
        }
        self.count += 1;
        let name = self.count;
        self.line(&format!("const {kind} t{name} = {expression};"));
        self.known.insert(expression, name);
        name
    }

    fn call(&mut self, call: Call, a: &str, b: &str) -> String {
        let rule = (call.rule)();
        let Some(template) = (self.table)(rule, call.part) else {
            self.missing.get_or_insert_with(|| rule.to_owned());
            return String::from("0.0");
        };
        let of = |letter: char| match letter {
            '$' => a.to_owned(),
            '#' => b.to_owned(),
            other => other.to_string(),
        };
        template.chars().map(of).collect()
    }
}

/// Writes lines in braces; what is defined there is not known behind them.
fn block(head: &str, inside: impl FnOnce()) {
    let known = with(|text| {
        text.line(&format!("{head}{{"));
        text.depth += 1;
        text.known.clone()
    });
    inside();
    with(|text| {
        text.known = known;
        text.depth -= 1;
        text.line("}");
    });
}

/// The name of a number.
#[derive(Clone, Copy, Debug)]
pub struct Symbol(u32);

/// The name of a yes or no.
#[derive(Clone, Copy, Debug)]
pub struct Flag(u32);

impl Symbol {
    fn of(expression: String) -> Self {
        Self(with(|text| text.define("double", expression)))
    }
}

impl Flag {
    fn of(expression: String) -> Self {
        Self(with(|text| text.define("int", expression)))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $sign:literal)*) => { $(
        impl $trait for Symbol {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self::of(format!(concat!("t{} ", $sign, " t{}"), self.0, other.0))
            }
        }
    )* };
}
operators! { Add add "+" Sub sub "-" Mul mul "*" Div div "/" }

impl Neg for Symbol {
    type Output = Self;
    fn neg(self) -> Self {
        Self::of(format!("-t{}", self.0))
    }
}

impl Sealed for Symbol {}
impl Lane for Symbol {
    type Number = f64;
    type Mask = Flag;
    fn splat(number: f64) -> Self {
        Self::of(match number {
            _ if number.is_nan() => String::from("NAN"),
            f64::INFINITY => String::from("INFINITY"),
            f64::NEG_INFINITY => String::from("-INFINITY"),
            // The shortest decimal that is this number and no other.
            _ => format!("{number:?}"),
        })
    }
    fn sqrt(self) -> Self {
        Self::of(format!("sqrt(t{})", self.0))
    }
    fn abs(self) -> Self {
        Self::of(format!("fabs(t{})", self.0))
    }
    fn less(self, other: Self) -> Flag {
        Flag::of(format!("t{} < t{}", self.0, other.0))
    }
    fn at_most(self, other: Self) -> Flag {
        Flag::of(format!("t{} <= t{}", self.0, other.0))
    }
    fn equal(self, other: Self) -> Flag {
        Flag::of(format!("t{} == t{}", self.0, other.0))
    }
    fn differ(self, other: Self) -> Flag {
        Flag::of(format!("t{} != t{}", self.0, other.0))
    }
    fn both(a: Flag, b: Flag) -> Flag {
        Flag::of(format!("t{} && t{}", a.0, b.0))
    }
    fn either(a: Flag, b: Flag) -> Flag {
        Flag::of(format!("t{} || t{}", a.0, b.0))
    }
    fn select(mask: Flag, yes: Self, no: Self) -> Self {
        Self::of(format!("t{} ? t{} : t{}", mask.0, yes.0, no.0))
    }
    fn map(self, call: Call, _: impl Fn(f64) -> f64) -> Self {
        let expression = with(|text| text.call(call, &format!("t{}", self.0), ""));
        Self::of(expression)
    }
    fn map2(self, other: Self, call: Call, _: impl Fn(f64, f64) -> f64) -> Self {
        let expression = with(|text| text.call(call, &format!("t{}", self.0), &format!("t{}", other.0)));
        Self::of(expression)
    }
}

/// The point whose coordinates have this letter.
#[derive(Clone, Copy)]
struct Point(char);

impl Point {
    /// The place of this point.
    fn place(self) -> String {
        let c = self.0;
        format!("tw_at(g, {c}0, {c}1, {c}2, {c}3)")
    }

    /// What a read gives.
    fn read(self, key: Key) -> String {
        let (mut coordinates, mut inside) = (Vec::new(), Vec::new());
        for d in 0..4 {
            let shift = key.shift(d);
            let mut coordinate = format!("{}{d}", self.0);
            if shift != 0 {
                coordinate = format!("{coordinate} {} {}", if shift < 0 { '-' } else { '+' }, shift.abs());
                match key.border() {
                    Border::Inside => {}
                    Border::Zero => inside.push(format!("tw_within({coordinate}, g.n[{d}])")),
                    Border::Nearest => coordinate = format!("tw_nearest({coordinate}, g.n[{d}])"),
                    Border::Periodic => coordinate = format!("tw_periodic({coordinate}, g.n[{d}])"),
                }
            }
            coordinates.push(coordinate);
        }
        let read = format!("x{}[tw_at(g, {})]", key.operand(), coordinates.join(", "));
        if inside.is_empty() { read } else { format!("{} ? {read} : 0.0", inside.join(" && ")) }
    }
}

impl Source<Symbol> for Point {
    fn read<K: Leaf>(self) -> Symbol {
        Symbol::of(self.read(K::KEY))
    }
    fn number(self, operand: usize) -> Symbol {
        Symbol::of(format!("c{operand}"))
    }
    fn new<K: Leaf>(self) -> Symbol {
        Symbol::of(format!("z{}[{}]", K::KEY.operand(), self.place()))
    }
    fn local(self, _: usize) -> Symbol {
        unreachable!("temporaries are bound where they are used")
    }
}

/// What all kernels need.
const PRELUDE: &str = "\
#ifndef TW_KERNELS
#define TW_KERNELS
#include <math.h>
#ifdef __CUDACC__
#define TW_DEVICE static __device__ inline
#else
#define TW_DEVICE static inline
#endif
/* The shape of the views, and the range of the points: lo <= i < hi. Leading dimensions that views do not have are of length 1. */
typedef struct { long n[4], lo[4], hi[4]; } tw_grid;
TW_DEVICE long tw_at(tw_grid g, long i, long j, long k, long l) { return ((i * g.n[1] + j) * g.n[2] + k) * g.n[3] + l; }
TW_DEVICE int tw_within(long i, long n) { return i >= 0 && i < n; }
TW_DEVICE long tw_nearest(long i, long n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
TW_DEVICE long tw_periodic(long i, long n) { i %= n; return i < 0 ? i + n : i; }
TW_DEVICE double tw_one(double v) { return isnan(v) ? v : 1.0; }
TW_DEVICE double tw_sigmoid(double x) {
    const double e = exp(-fabs(x)), large = 1.0 / (1.0 + e);
    return x < 0.0 ? e * large : large;
}
/* factor * x^y, where x^y alone may be too large or too small. */
TW_DEVICE double tw_in_halves(double factor, double x, double y) {
    const double half = pow(x, 0.5 * y);
    return half == 0.0 ? half : factor * half * half;
}
TW_DEVICE double tw_pow_left(double x, double y) {
    const double v = pow(x, y), ratio = v / x, slope = ratio * y, tiny = 2.2250738585072014e-308;
    if (fabs(v) >= tiny && fabs(ratio) >= tiny && fabs(slope) < INFINITY) return slope;
    if (y == 0.0 || (x == 1.0 && isnan(y))) return 0.0;
    if (x == 0.0 || isinf(x) || isinf(y)) { const double p = pow(x, y - 1.0); return p == 0.0 ? p : y * p; }
    if (isnan(v)) return v;
    const double apart = tw_in_halves(y, fabs(x), y - 1.0);
    return (signbit(v) != 0) == (x < 0.0) ? apart : -apart;
}
TW_DEVICE double tw_pow_right(double x, double y) {
    const double v = pow(x, y);
    if (isnormal(v) && !isnan(x)) return v * log(x);
    if (x < 0.0) return NAN;
    if (isnan(x) && y == 0.0) return 0.0;
    if (x == 0.0 || isinf(x)) return v == 0.0 ? v : v * log(x);
    return tw_in_halves(log(x), x, y);
}
TW_DEVICE int tw_whole(double n) { return (int)fmax(fmin(n, 2147483647.0), -2147483648.0); }
TW_DEVICE double tw_powi(double x, int n) {
    double power = 1.0;
    for (int rest = n;;) {
        if (rest & 1) power *= x;
        if ((rest /= 2) == 0) break;
        x *= x;
    }
    return n < 0 ? 1.0 / power : power;
}
TW_DEVICE double tw_powi_left(double x, int n) {
    const double slope = n * tw_powi(x, n < -2147483647 ? n : n - 1);
    if (n >= -64 && n <= 64 && fabs(slope) > 0.0) return slope;
    if (n == 0) return 0.0;
    const double apart = tw_in_halves(n, fabs(x), n - 1.0);
    return signbit(x) && n % 2 == 0 ? -apart : apart;
}
TW_DEVICE double tw_toward(double x, double y) {
    const double r = hypot(x, y);
    if (isnormal(r)) return x / r;
    if (isinf(x)) return copysign(isinf(y) ? 0.7071067811865476 : 1.0, x);
    if (isinf(y)) return 0.0;
    const double scale = isinf(r) ? 0.25 : 1e18;
    return x * scale / hypot(x * scale, y * scale);
}
TW_DEVICE double tw_around(double x, double y) {
    const double square = x * x + y * y;
    if (isnormal(square)) return x / square;
    if ((isinf(x) || isinf(y)) && !isnan(x) && !isnan(y)) return 0.0;
    const double scale = hypot(x, y) < 1.0 ? 0x1p540 : 0x1p-540, r = hypot(x * scale, y * scale);
    return x * scale / r / r * scale;
}
TW_DEVICE long tw_max(long a, long b) { return a > b ? a : b; }
TW_DEVICE long tw_min(long a, long b) { return a < b ? a : b; }
#endif
";

/// Loops, or a device's grid of threads, over the points from `lo` to `hi`, where `D` stands for the dimension.
fn launch(name: &str, (parameters, arguments): (&str, &str), [lo, hi]: [&str; 2]) -> String {
    let bound = |text: &str, d: usize| text.replace('D', &d.to_string());
    let extent = |d: usize| format!("({} - {})", bound(hi, d), bound(lo, d));
    let mut text = format!("#ifdef __CUDACC__\n__global__ void {name}({parameters}) {{\n");
    _ = writeln!(text, "    long rest = (long)blockIdx.x * blockDim.x + threadIdx.x;");
    for d in (1..4).rev() {
        _ = writeln!(text, "    const long i{d} = {} + rest % {1};\n    rest /= {1};", bound(lo, d), extent(d));
    }
    _ = writeln!(text, "    const long i0 = {} + rest;", bound(lo, 0));
    _ = writeln!(text, "    if (i0 < {}) {name}_at({arguments}, i0, i1, i2, i3);\n}}", bound(hi, 0));
    _ = writeln!(text, "#else\nvoid {name}({parameters}) {{");
    for d in 0..4 {
        _ = writeln!(text, "    for (long i{d} = {}; i{d} < {}; i{d}++)", bound(lo, d), bound(hi, d));
    }
    _ = writeln!(text, "        {name}_at({arguments}, i0, i1, i2, i3);\n}}\n#endif");
    text
}

/// The operands with a bit among these, as parameters and as arguments.
fn listed(bits: u8, kind: &str, letter: char) -> (String, String) {
    let all = (0..OPERANDS).filter(|k| Facts::has(bits, *k));
    all.fold((String::new(), String::new()), |(parameters, arguments), k| {
        (format!("{parameters}, {kind}{letter}{k}"), format!("{arguments}, {letter}{k}"))
    })
}

/// A kernel in C: its values and, by gathering, its adjoints. Under `nvcc` the same text has kernels for a device.
///
/// * `NAME(g, x…, c…, y…)` writes the values at the points of `g`: `xK` is what operand K holds before, `cK` a number that all
///   points share, `yK` where operand K is written. A reduction writes its terms, to `y`.
/// * `NAME_adjoint(g, x…, c…, z…, s…, d…)` adds to `dK`, at all elements, what operand K contributes. `sK` are the adjoints of what the
///   kernel has written to operand K, and `zK` the values; for a reduction `s` is the adjoint of the sum. Only what the partials need is a
///   parameter.
/// * `NAME_slopes(g, x…, c…, z…, s…, e…)` writes to `eK`, at the points, the terms of the adjoint of the number `cK`.
///
/// # Errors
///
/// The name of a function that C does not have.
///
/// # Panics
///
/// When `name` is no identifier of C.
pub fn text<P: Program>(name: &str, program: &P, table: Table) -> Result<String, String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fit = name.chars().all(letters) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    assert!(fit, "{name:?} is no name of a function in C");
    let fresh = Text { lines: String::new(), depth: 1, known: HashMap::new(), count: 0, table, missing: None };
    let before = TEXT.replace(Some(fresh));
    let text = written(name, program);
    let missing = TEXT.replace(before).and_then(|text| text.missing);
    missing.map_or(Ok(text), Err)
}

/// The lines that `f` writes, without definitions that nothing uses.
fn lines(f: impl FnOnce()) -> String {
    f();
    let all = with(|text| {
        (text.count, text.depth) = (0, 1);
        text.known.clear();
        core::mem::take(&mut text.lines)
    });
    let (mut used, mut kept) = (HashSet::new(), Vec::new());
    for line in all.lines().rev() {
        let defined = line.trim_start().strip_prefix("const ").and_then(|rest| rest.split(' ').nth(1));
        if defined.is_none_or(|name| used.contains(name)) {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric());
            used.extend(words.filter(|word| word.starts_with('t')));
            kept.push(line);
        }
    }
    kept.iter().rev().fold(String::new(), |text, line| text + line + "\n")
}

/// A function for one point with these lines, and its loops.
fn function(name: &str, parameters: &str, arguments: &str, body: &str, range: [&str; 2]) -> String {
    let point = "long i0, long i1, long i2, long i3";
    format!("TW_DEVICE void {name}_at(tw_grid g{parameters}, {point}) {{\n{body}}}\n")
        + &launch(name, (&format!("tw_grid g{parameters}"), &format!("g{arguments}")), range)
}

fn written<P: Program>(name: &str, program: &P) -> String {
    let range = ["g.lo[D]", "g.hi[D]"];
    let (x, to_x) = listed(P::LEAVES.views, "const double *", 'x');
    let (c, to_c) = listed(P::LEAVES.numbers, "double ", 'c');
    let outputs = if P::WRITES { (0..P::EXPRESSIONS).fold(0, |bits, k| bits | 1 << P::written(k)) } else { 0 };
    let (mut y, mut to_y) = listed(outputs, "double *", 'y');
    let (mut s, mut to_s) = listed(outputs, "const double *", 's');
    if !P::WRITES {
        (y, s, to_y, to_s) = (", double *y".into(), ", double s".into(), ", y".into(), ", s".into());
    }
    let body = lines(|| {
        let mut values = Vec::new();
        program.each::<Symbol, _>(Point('i'), &mut |k, value| values.push((k, value)));
        for (k, value) in values {
            let to = if P::WRITES { format!("y{}", P::written(k)) } else { String::from("y") };
            with(|text| text.line(&format!("{to}[{}] = t{};", Point('i').place(), value.0)));
        }
    });
    let mut text = String::from(PRELUDE);
    text += &function(name, &format!("{x}{c}{y}"), &format!("{to_x}{to_c}{to_y}"), &body, range);

    // What the partials need.
    let (x, to_x) = listed(P::KEPT.views, "const double *", 'x');
    let (c, to_c) = listed(P::KEPT.numbers, "double ", 'c');
    let (z, to_z) = listed(P::KEPT.new, "const double *", 'z');
    let mut derivatives = |suffix: &str, (bits, letter): (u8, char), body: &dyn Fn(&P), range| {
        if bits != 0 {
            let (to, arguments) = listed(bits, "double *", letter);
            let (parameters, arguments) = (format!("{x}{c}{z}{s}{to}"), format!("{to_x}{to_c}{to_z}{to_s}{arguments}"));
            let body = lines(|| body(program));
            text += &function(&format!("{name}_{suffix}"), &parameters, &arguments, &body, range);
        }
    };
    derivatives("adjoint", (P::PARTIALS.views, 'd'), &gather::<P>, ["0", "g.n[D]"]);
    derivatives("slopes", (P::PARTIALS.numbers, 'e'), &slopes::<P>, range);
    text
}

/// The adjoints of the outputs at a point.
fn seeds<P: Program>(at: Point) -> [Symbol; OUTPUTS] {
    core::array::from_fn(|k| match k {
        _ if k >= P::EXPRESSIONS => Symbol(0),
        _ if P::WRITES => Symbol::of(format!("s{}[{}]", P::written(k), at.place())),
        _ => Symbol::of(String::from("s")),
    })
}

/// The lines that gather the adjoints of the elements at the point.
fn gather<P: Program>(program: &P) {
    let views = || (0..OPERANDS).filter(|k| Facts::has(P::PARTIALS.views, *k));
    views().for_each(|k| with(|text| text.line(&format!("double a{k} = 0.0;"))));
    each_leaf!(N => {
        if const { N < P::USED.len() } && P::USED.get(N).kind() == Kind::Read {
            let key = P::USED.get(N);
            // Loops over the points that read this element: at borders there may be none, or several.
            let mut head = String::new();
            for d in 0..4 {
                let (from, to) = readers(key, d);
                let bounds = (format!("tw_max({from}, g.lo[{d}])"), format!("tw_min({to} + 1, g.hi[{d}])"));
                _ = write!(head, "for (long j{d} = {}; j{d} < {}; j{d}++) ", bounds.0, bounds.1);
            }
            block(&head, || {
                let seeds = seeds::<P>(Point('j'));
                let contribution = program.partial::<N, true, Symbol, _>(Needed::<P, _>::of(Point('j')), &seeds).number();
                with(|text| text.line(&format!("a{} += t{};", key.operand(), contribution.0)));
            });
        }
    });
    views().for_each(|k| with(|text| text.line(&format!("d{k}[{}] += a{k};", Point('i').place()))));
}

/// The first and the last point along a dimension that read the element.
fn readers(key: Key, d: usize) -> (String, String) {
    let shift = key.shift(d);
    let straight = format!("i{d} {} {}", if shift < 0 { '+' } else { '-' }, shift.abs());
    if shift == 0 {
        return (format!("i{d}"), format!("i{d}"));
    }
    match key.border() {
        Border::Nearest if shift > 0 => (straight.clone(), format!("(i{d} == g.n[{d}] - 1 ? i{d} : {straight})")),
        Border::Nearest => (format!("(i{d} == 0 ? 0 : {straight})"), straight),
        Border::Periodic => {
            let wrapped = format!("tw_periodic({straight}, g.n[{d}])");
            (wrapped.clone(), wrapped)
        }
        Border::Inside | Border::Zero => (straight.clone(), straight),
    }
}

/// The lines that write the terms of the adjoints of numbers that all points share.
fn slopes<P: Program>(program: &P) {
    each_leaf!(N => {
        if const { N < P::USED.len() } && P::USED.get(N).kind() == Kind::Number {
            let seeds = seeds::<P>(Point('i'));
            let term = program.partial::<N, true, Symbol, _>(Needed::<P, _>::of(Point('i')), &seeds).number();
            let operand = P::USED.get(N).operand();
            with(|text| text.line(&format!("e{operand}[{}] = t{};", Point('i').place(), term.0)));
        }
    });
}
