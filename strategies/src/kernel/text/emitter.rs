//! Kernels as C source, which compilers for other devices accept, too.
//!
//! The source has one definition for each instruction of a kernel's lists, for the launch and for the gather. Scalar
//! rules are looked up in a table.

use crate::kernel::ir::access::{Access, AccessKind, AccessSummary, Boundary, OPERANDS, OperandBits};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::kernel::{Kernel, KernelInfo};
use crate::kernel::ir::program::List;
use crate::number::simd::rule::Part;
use core::fmt::Write;
use std::collections::HashSet;

/// Returns the C expression for a part of the rule with this [name](core::any::type_name), with `$`, `#` and `@` in
/// place of the arguments; `None` if C has no such function.
pub type Table = fn(&str, Part) -> Option<&'static str>;

/// A point whose coordinates are variables of this letter.
#[derive(Clone, Copy)]
struct Point(char);

impl Point {
    /// C expression for the offset of the point.
    fn place(self) -> String {
        let c = self.0;
        format!("tw_at(g, {c}0, {c}1, {c}2, {c}3)")
    }

    /// C expression for the value of a read at the point.
    fn read(self, key: Access) -> String {
        let (mut coordinates, mut inside) = (Vec::new(), Vec::new());
        for d in 0..4 {
            let shift = key.shift(d);
            let mut coordinate = format!("{}{d}", self.0);
            if shift != 0 {
                coordinate = format!("{coordinate} {} {}", if shift < 0 { '-' } else { '+' }, shift.abs());
                match key.border() {
                    Boundary::Inside => {}
                    Boundary::Zero => inside.push(format!("tw_within({coordinate}, g.n[{d}])")),
                    Boundary::Nearest => coordinate = format!("tw_nearest({coordinate}, g.n[{d}])"),
                    Boundary::Periodic => coordinate = format!("tw_periodic({coordinate}, g.n[{d}])"),
                }
            }
            coordinates.push(coordinate);
        }
        let read = format!("x{}[tw_at(g, {})]", key.operand(), coordinates.join(", "));
        if inside.is_empty() { read } else { format!("{} ? {read} : 0.0", inside.join(" && ")) }
    }
}

/// Definitions that all kernels need.
const PRELUDE: &str = "\
#ifndef TW_KERNELS
#define TW_KERNELS
#include <math.h>
#ifdef __CUDACC__
#define TW_DEVICE static __device__ inline
#else
#define TW_DEVICE static inline
#endif
/* The shape of the views, and the range of the points: lo <= i < hi.
   Leading dimensions that views do not have are of length 1. */
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

/// Loops, or a device's grid of threads, over the points from `lo` to `hi`; in these two, `D` stands for the dimension.
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

/// Formats the operands whose bits are set, as parameters and as arguments.
fn listed(bits: OperandBits, kind: &str, letter: char) -> (String, String) {
    let all = (0..OPERANDS).filter(|k| AccessSummary::has(bits, *k));
    all.fold((String::new(), String::new()), |(parameters, arguments), k| {
        (format!("{parameters}, {kind}{letter}{k}"), format!("{arguments}, {letter}{k}"))
    })
}

/// Everything that the source of a kernel is made from.
struct Writer<'a> {
    plan: &'a KernelInfo,
    constants: &'a [f64],
    table: Table,
}

/// Formats a value as a C literal.
fn literal(number: f64) -> String {
    match number {
        _ if number.is_nan() => String::from("NAN"),
        f64::INFINITY => String::from("INFINITY"),
        f64::NEG_INFINITY => String::from("-INFINITY"),
        // The shortest decimal that parses to this value.
        _ => format!("{number:?}"),
    }
}

impl Writer<'_> {
    /// Formats the definitions of these instructions at a point, and returns them with the names of the requested
    /// results. Unused definitions are left out: in C some derivatives do not need all arguments of their rule.
    fn lines(&self, ops: &[Op], results: &[u16], point: Point, indent: usize) -> Result<(String, Vec<String>), String> {
        let (mut names, mut expressions) = (Vec::<String>::new(), Vec::new());
        for (k, op) in ops.iter().enumerate() {
            let expression = self.expression(op, point, &names)?;
            let stands = op.arity() == 0 && !matches!(op.what, opcode::READ | opcode::NEW | opcode::SEED);
            names.push(if stands { expression.clone() } else { format!("t{k}") });
            expressions.push((!stands).then_some(expression));
        }
        let results: Vec<String> = results.iter().map(|k| names[usize::from(*k)].clone()).collect();
        let mut used: HashSet<&str> = results.iter().map(String::as_str).collect();
        let mut lines = Vec::new();
        for ((op, name), expression) in ops.iter().zip(&names).zip(&expressions).rev() {
            if let Some(expression) = expression
                && used.contains(name.as_str())
            {
                let kind = if op.is_mask() || op.what == opcode::TAKES { "int" } else { "double" };
                used.extend(expression.split(|c: char| !c.is_ascii_alphanumeric()));
                lines.push(format!("{:indent$}const {kind} {name} = {expression};\n", ""));
            }
        }
        Ok((lines.into_iter().rev().collect(), results))
    }

    fn expression(&self, op: &Op, point: Point, names: &[String]) -> Result<String, String> {
        let name = |place: u16| names.get(usize::from(place)).map_or("", String::as_str);
        let (a, b, c) = (name(op.a), name(op.b), name(op.c));
        Ok(match op.what {
            opcode::READ => point.read(op.key().expect("it is a read")),
            opcode::NUMBER => format!("c{}", op.operand),
            opcode::NEW => format!("z{}[{}]", op.operand, point.place()),
            opcode::CONSTANT => literal(self.constants[usize::from(op.c)]),
            opcode::LITERAL => literal(f64::from(op.c.cast_signed()) * 0.5),
            opcode::SEED if self.plan.writes => {
                format!("s{}[{}]", self.plan.written[usize::from(op.operand)], point.place())
            }
            opcode::SEED => String::from("s"),
            opcode::NEG => format!("-{a}"),
            opcode::ABS => format!("fabs({a})"),
            opcode::SQRT => format!("sqrt({a})"),
            opcode::ADD => format!("{a} + {b}"),
            opcode::SUB => format!("{a} - {b}"),
            opcode::MUL => format!("{a} * {b}"),
            opcode::SEEDED => format!("{a} == 0.0 || {b} == 0.0 ? 0.0 : {a} * {b}"),
            opcode::DIV => format!("{a} / {b}"),
            opcode::LESS => format!("{a} < {b}"),
            opcode::AT_MOST => format!("{a} <= {b}"),
            opcode::EQUAL => format!("{a} == {b}"),
            opcode::DIFFER => format!("{a} != {b}"),
            opcode::BOTH => format!("{a} && {b}"),
            opcode::EITHER => format!("{a} || {b}"),
            opcode::SELECT => format!("{a} ? {b} : {c}"),
            opcode::TAKES => format!("({}) != 0.0", self.call(op, [a, b, c])?),
            _ => self.call(op, [a, b, c])?,
        })
    }

    fn call(&self, op: &Op, [a, b, c]: [&str; 3]) -> Result<String, String> {
        let rule = self.plan.scripts.rules[usize::from(op.operand)].expect("a rule has a number");
        let name = (rule.name)();
        let template = (self.table)(name, Op::part(op.what)).ok_or(name)?;
        let of = |letter: char| match letter {
            '$' => format!("({a})"),
            '#' => format!("({b})"),
            '@' => format!("({c})"),
            other => other.to_string(),
        };
        Ok(template.chars().map(of).collect())
    }

    /// Formats the statements that write the values.
    fn values(&self) -> Result<String, String> {
        let (plan, point) = (self.plan, Point('i'));
        let results = &plan.scripts.values[..plan.expressions];
        let (mut lines, names) = self.lines(plan.scripts.list(List::Values), results, point, 4)?;
        for (k, name) in names.iter().enumerate() {
            let to = if plan.writes { format!("y{}", plan.written[k]) } else { String::from("y") };
            _ = writeln!(lines, "    {to}[{}] = {name};", point.place());
        }
        Ok(lines)
    }

    /// Returns the accesses of this kind with a partial derivative, and their indices.
    fn used(&self, kind: AccessKind) -> impl Iterator<Item = (usize, Access)> {
        let used = &self.plan.scripts.used;
        (0..used.len()).map(|n| (n, used.get(n))).filter(move |(_, key)| key.kind() == kind)
    }

    /// Formats the partial derivative of access `n` at a point, and returns it with the name of the result.
    fn partial(&self, n: usize, point: Point) -> Result<(String, String), String> {
        let (scripts, result) = (self.plan.scripts, self.plan.scripts.partials[n]);
        let (lines, mut names) = self.lines(scripts.list(List::Partial(n)), &[result], point, 8)?;
        Ok((lines, names.remove(0)))
    }

    /// Formats the statements that gather the adjoints of the elements at the point.
    fn gather(&self) -> Result<String, String> {
        let views = || (0..OPERANDS).filter(|k| AccessSummary::has(self.plan.partials.views, *k));
        let mut text = String::new();
        views().for_each(|k| _ = writeln!(text, "    double a{k} = 0.0;"));
        for (n, key) in self.used(AccessKind::Read) {
            // Loops over the readers of this element: at boundaries there may be none, or several.
            text += "    ";
            for d in 0..4 {
                let (from, to) = readers(key, d);
                let bounds = (format!("tw_max({from}, g.lo[{d}])"), format!("tw_min({to} + 1, g.hi[{d}])"));
                _ = write!(text, "for (long j{d} = {}; j{d} < {}; j{d}++) ", bounds.0, bounds.1);
            }
            let (lines, name) = self.partial(n, Point('j'))?;
            _ = writeln!(text, "{{\n{lines}        a{} += {};\n    }}", key.operand(), name);
        }
        views().for_each(|k| _ = writeln!(text, "    d{k}[{}] += a{k};", Point('i').place()));
        Ok(text)
    }

    /// Formats the statements that write the terms of the adjoints of uniform scalars.
    fn slopes(&self) -> Result<String, String> {
        let mut text = String::new();
        for (n, key) in self.used(AccessKind::Number) {
            let (lines, name) = self.partial(n, Point('i'))?;
            let to = Point('i').place();
            _ = writeln!(text, "    {{\n{lines}        e{}[{to}] = {};\n    }}", key.operand(), name);
        }
        Ok(text)
    }
}

/// Writes a kernel as C: its values and, by gathering, its adjoints. Under `nvcc` the same source defines kernels for a
/// device.
///
/// * `NAME(g, x…, c…, y…)` writes the values at the points of `g`: `xK` is operand K before the launch, `cK` a uniform
///   scalar, `yK` the array that operand K is written to. A reduction writes its terms, to `y`.
/// * `NAME_adjoint(g, x…, c…, z…, s…, d…)` adds to `dK`, at all elements, the contributions for operand K. `sK` are the
///   adjoints of the values that the kernel has written to operand K, and `zK` these values; for a reduction `s` is the
///   adjoint of the sum. Only arrays that the partial derivatives need are parameters.
/// * `NAME_slopes(g, x…, c…, z…, s…, e…)` writes to `eK`, at the points, the terms of the adjoint of the scalar `cK`.
///
/// # Errors
///
/// Returns the name of a function that C does not have.
///
/// # Panics
///
/// When `name` is not an identifier of C.
pub fn text<P: Kernel>(name: &str, program: &P, table: Table) -> Result<String, String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fit = name.chars().all(letters) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    assert!(fit, "{name:?} is no name of a function in C");
    if P::PLAN.leaves.along != 0 {
        return Err(String::from("an operand of lower rank"));
    }
    let mut constants = Vec::new();
    program.constants(&mut |number| constants.push(number));
    written(name, &Writer { plan: P::PLAN, constants: &constants, table })
}

/// Formats a function for one point with this body, and its loops.
fn function(name: &str, parameters: &str, arguments: &str, body: &str, range: [&str; 2]) -> String {
    let point = "long i0, long i1, long i2, long i3";
    format!("TW_DEVICE void {name}_at(tw_grid g{parameters}, {point}) {{\n{body}}}\n")
        + &launch(name, (&format!("tw_grid g{parameters}"), &format!("g{arguments}")), range)
}

fn written(name: &str, writer: &Writer<'_>) -> Result<String, String> {
    let (plan, range) = (writer.plan, ["g.lo[D]", "g.hi[D]"]);
    let (x, to_x) = listed(plan.leaves.views, "const double *", 'x');
    let (c, to_c) = listed(plan.leaves.numbers, "double ", 'c');
    let outputs = plan.written.iter().fold(0, |bits, operand| bits | 1 << operand);
    let (mut y, mut to_y) = listed(outputs, "double *", 'y');
    let (mut s, mut to_s) = listed(outputs, "const double *", 's');
    if !plan.writes {
        (y, s, to_y, to_s) = (", double *y".into(), ", double s".into(), ", y".into(), ", s".into());
    }
    let mut text = String::from(PRELUDE);
    text += &function(name, &format!("{x}{c}{y}"), &format!("{to_x}{to_c}{to_y}"), &writer.values()?, range);

    // Parameters that the partial derivatives need.
    let (x, to_x) = listed(plan.kept.views, "const double *", 'x');
    let (c, to_c) = listed(plan.kept.numbers, "double ", 'c');
    let (z, to_z) = listed(plan.kept.new, "const double *", 'z');
    let mut derivatives = |suffix: &str, (bits, letter): (OperandBits, char), body: &str, range| {
        if bits != 0 {
            let (to, arguments) = listed(bits, "double *", letter);
            let (parameters, arguments) = (format!("{x}{c}{z}{s}{to}"), format!("{to_x}{to_c}{to_z}{to_s}{arguments}"));
            text += &function(&format!("{name}_{suffix}"), &parameters, &arguments, body, range);
        }
    };
    derivatives("adjoint", (plan.partials.views, 'd'), &writer.gather()?, ["0", "g.n[D]"]);
    derivatives("slopes", (plan.partials.numbers, 'e'), &writer.slopes()?, range);
    Ok(text)
}

/// Formats the first and the last point along a dimension that read the element.
fn readers(key: Access, d: usize) -> (String, String) {
    let shift = key.shift(d);
    let straight = format!("i{d} {} {}", if shift < 0 { '+' } else { '-' }, shift.abs());
    if shift == 0 {
        return (format!("i{d}"), format!("i{d}"));
    }
    match key.border() {
        Boundary::Nearest if shift > 0 => (straight.clone(), format!("(i{d} == g.n[{d}] - 1 ? i{d} : {straight})")),
        Boundary::Nearest => (format!("(i{d} == 0 ? 0 : {straight})"), straight),
        Boundary::Periodic => {
            let wrapped = format!("tw_periodic({straight}, g.n[{d}])");
            (wrapped.clone(), wrapped)
        }
        Boundary::Inside | Boundary::Zero => (straight.clone(), straight),
    }
}
