//! Instruction lists as lines of C: one definition for each instruction that a result needs.

use super::array::Array;
use super::dialect::Dialect;
use super::functions::function;
use crate::kernel::ir::access::{Boundary, DimensionBits};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::device::Precision;
use std::collections::HashMap;

/// Language and number type of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) dialect: Dialect,
    pub(super) precision: Precision,
}

/// Point at which a list is evaluated, and how.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// Letter of the variables that hold its coordinates.
    letter: char,
    /// Variable that holds its offset.
    place: &'static str,
    /// True if all reads lie inside the views, and products are taken as they are.
    is_straight: bool,
    /// True if the adjoint of output `m`, a variable, is 1, and that of every other output 0.
    is_alone: bool,
    /// True if uniform scalars are the variables `v0` and `v1`, and the adjoint of the output is 1.
    is_rule: bool,
}

impl Point {
    /// The point of a work item, whose reads lie inside the views. Products of zero with infinity are NaN.
    pub(super) const INNER: Self =
        Self { letter: 'i', place: "at", is_straight: true, is_alone: false, is_rule: false };
    /// The two values that a rule combines.
    pub(super) const RULE: Self = Self { is_rule: true, ..Self::INNER };
    /// The point of a work item, wherever it reads. Products with zero are zero.
    pub(super) const ANY: Self = Self { is_straight: false, ..Self::INNER };
    /// As [`ANY`](Self::ANY), for the partial derivatives of one output.
    pub(super) const ALONE: Self = Self { is_alone: true, ..Self::ANY };
    /// A point that reads the element of a work item.
    pub(super) const READER: Self = Self { letter: 'j', place: "from", ..Self::ANY };

    /// C expression for the coordinate along a dimension.
    fn coordinate(self, d: usize, shift: i8) -> String {
        format!("{}{d}{}", self.letter, moved(shift, ""))
    }

    /// C expression for the offset of the element at a distance from the point.
    fn offset(self, shift: [i8; 4]) -> String {
        let along = |d: usize| moved(shift[d], ["q0", "q1", "q2", ""][d]);
        format!("{}{}", self.place, [0, 1, 2, 3].map(along).concat())
    }

    /// C expression for the element that an instruction reads at the point, of the operand's values or its tangents.
    fn read(self, op: &Op, of: Array) -> String {
        let (border, of) = (op.boundary(), of.name());
        if op.what == opcode::ALONG {
            return format!("{of}[{}]", offset_along(op.border, |d| self.coordinate(d, op.shift[d])));
        }
        if self.is_straight || border == Boundary::Inside || op.shift == [0; 4] {
            return format!("{of}[{}]", self.offset(op.shift));
        }
        let (mut coordinates, mut inside) = (Vec::new(), Vec::new());
        for d in 0..4 {
            let coordinate = self.coordinate(d, op.shift[d]);
            coordinates.push(match border {
                Boundary::Nearest if op.shift[d] != 0 => format!("tw_nearest({coordinate}, a.n[{d}])"),
                Boundary::Periodic if op.shift[d] != 0 => format!("tw_periodic({coordinate}, a.n[{d}])"),
                _ => coordinate.clone(),
            });
            if border == Boundary::Zero && op.shift[d] != 0 {
                inside.push(format!("tw_within({coordinate}, a.n[{d}])"));
            }
        }
        let c = coordinates;
        let read = format!("{of}[({}) * q0 + ({}) * q1 + ({}) * q2 + {}]", c[0], c[1], c[2], c[3]);
        if inside.is_empty() { read } else { format!("{} ? {read} : (TW_REAL)0", inside.join(" && ")) }
    }
}

/// Formats the addition of a multiple of a variable; of a number if it has no name.
fn moved(shift: i8, of: &str) -> String {
    let sign = if shift < 0 { '-' } else { '+' };
    match shift.unsigned_abs() {
        0 => String::new(),
        1 if !of.is_empty() => format!(" {sign} {of}"),
        size if of.is_empty() => format!(" {sign} {size}"),
        size => format!(" {sign} {size} * {of}"),
    }
}

/// Returns the C expression for the offset of an element of an operand that lies along these dimensions.
pub(super) fn offset_along(dimensions: DimensionBits, coordinate: impl Fn(usize) -> String) -> String {
    let along = (0..4).filter(|d| dimensions >> d & 1 == 1);
    let offset = along.fold(None, |before: Option<String>, d| match before {
        None => Some(coordinate(d)),
        Some(before) => Some(format!("({before}) * a.n[{d}] + {}", coordinate(d))),
    });
    offset.unwrap_or_else(|| String::from("0"))
}

/// Returns true if the source has this word.
pub(super) fn has_word(source: &str, word: &str) -> bool {
    source.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|found| found == word)
}

/// Writes lists of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) form: Form,
    pub(super) plan: &'a KernelInfo,
    /// Captured constants that become literals; `None` if they are arguments.
    pub(super) constants: Option<&'a [f64]>,
}

/// Definitions of variables in order, each with the results that need it, a bit for each; and names of the results.
struct Definitions {
    all: Vec<(u16, String)>,
    results: Vec<String>,
}

impl Definitions {
    /// Formats the definitions whose bits fit.
    fn text(&self, indent: usize, fits: impl Fn(u16) -> bool) -> String {
        let blank = " ".repeat(indent);
        let fitting = self.all.iter().filter(|(needed, _)| fits(*needed));
        let lines: Vec<&str> = fitting.flat_map(|(_, line)| [&*blank, line]).collect();
        lines.concat()
    }
}

impl Lines<'_> {
    /// Formats the definitions of these instructions at a point, and returns them with the names of the requested
    /// results. Unused definitions are left out: in C some derivatives do not need all arguments of their rule.
    pub(super) fn of(
        &self,
        ops: &[Op],
        results: &[u16],
        point: Point,
        indent: usize,
    ) -> Result<(String, Vec<String>), String> {
        let all = self.definitions(ops, results, point)?;
        Ok((all.text(indent, |needed| needed != 0), all.results))
    }

    /// Formats the definitions that several results need, and those that only one of them needs, which are returned
    /// with its name.
    pub(super) fn apart(
        &self,
        ops: &[Op],
        results: &[u16],
        point: Point,
        indent: usize,
    ) -> Result<(String, Vec<(String, String)>), String> {
        let all = self.definitions(ops, results, point)?;
        let common = all.text(indent, |needed| needed.count_ones() > 1);
        let own = |k: usize| all.text(indent + 4, |needed| needed == 1 << k);
        let own = all.results.iter().enumerate().map(|(k, name)| (own(k), name.clone())).collect();
        Ok((common, own))
    }

    fn definitions(&self, ops: &[Op], results: &[u16], point: Point) -> Result<Definitions, String> {
        let (mut names, mut expressions) = (Vec::<String>::new(), Vec::new());
        for (k, op) in ops.iter().enumerate() {
            let expression = self.expression(op, point, &names)?;
            let reads = matches!(op.what, opcode::READ | opcode::ALONG | opcode::NEW | opcode::SEED | opcode::TANGENT);
            let stands = op.arity() == 0 && !reads;
            names.push(if stands { expression.clone() } else { format!("t{k}") });
            expressions.push((!stands).then_some(expression));
        }
        let results: Vec<String> = results.iter().map(|k| names[usize::from(*k)].clone()).collect();
        let mut needed = HashMap::<String, u16>::new();
        results.iter().enumerate().for_each(|(k, name)| *needed.entry(name.clone()).or_default() |= 1 << k);
        let mut all = Vec::new();
        for ((op, name), expression) in ops.iter().zip(names).zip(expressions).rev() {
            if let (Some(expression), Some(bits)) = (expression, needed.get(&name).copied()) {
                let kind = if op.is_mask() || op.what == opcode::TAKES { "int" } else { "TW_REAL" };
                for word in expression.split(|c: char| !c.is_ascii_alphanumeric()) {
                    *needed.entry(word.to_owned()).or_default() |= bits;
                }
                all.push((bits, format!("const {kind} {name} = {expression};\n")));
            }
        }
        all.reverse();
        Ok(Definitions { all, results })
    }

    fn expression(&self, op: &Op, point: Point, names: &[String]) -> Result<String, String> {
        let name = |place: u16| names.get(usize::from(place)).map_or("", String::as_str);
        let (a, b, c) = (name(op.a), name(op.b), name(op.c));
        Ok(match op.what {
            opcode::READ | opcode::ALONG => point.read(op, Array::Values(op.operand.into())),
            opcode::TANGENT => Self::tangent(&op.moving(), point),
            opcode::NUMBER if point.is_rule => format!("v{}", op.operand),
            opcode::NUMBER => format!("a.c[{}]", op.operand),
            opcode::NEW => format!("z{}[{}]", op.operand, point.offset(op.shift)),
            opcode::COORDINATE => {
                let d = usize::from(op.c);
                format!("(TW_REAL)({})", point.coordinate(d, op.shift[d]))
            }
            opcode::CONSTANT => match self.constants {
                Some(constants) => self.form.precision.literal(constants[usize::from(op.c)]),
                None => format!("a.k[{}]", op.c),
            },
            opcode::LITERAL => self.form.precision.literal(f64::from(op.c.cast_signed()) * 0.5),
            opcode::SEED => self.seed(op, point),
            opcode::NEG => format!("-{a}"),
            opcode::ABS => format!("fabs({a})"),
            opcode::SQRT => format!("sqrt({a})"),
            opcode::ADD => format!("{a} + {b}"),
            opcode::SUB => format!("{a} - {b}"),
            opcode::SEEDED if !point.is_straight => format!("{a} == 0 || {b} == 0 ? 0 : {a} * {b}"),
            opcode::MUL | opcode::SEEDED => format!("{a} * {b}"),
            opcode::DIV => format!("{a} / {b}"),
            opcode::LESS => format!("{a} < {b}"),
            opcode::AT_MOST => format!("{a} <= {b}"),
            opcode::EQUAL => format!("{a} == {b}"),
            opcode::DIFFER => format!("{a} != {b}"),
            opcode::BOTH => format!("{a} && {b}"),
            opcode::EITHER => format!("{a} || {b}"),
            opcode::SELECT => format!("{a} ? {b} : {c}"),
            opcode::TAKES => format!("({}) != 0", self.call(op, [a, b, c])?),
            _ => self.call(op, [a, b, c])?,
        })
    }

    /// C expression for the tangent of what an instruction reads.
    pub(super) fn tangent(op: &Op, point: Point) -> String {
        match op.what {
            opcode::READ | opcode::ALONG => {
                let of = Array::Tangents(op.operand.into());
                format!("{} ? ({}) : (TW_REAL)0", of.name(), point.read(op, of))
            }
            _ => format!("a.u[{}]", op.operand),
        }
    }

    /// C expression for the adjoint of an output.
    fn seed(&self, op: &Op, point: Point) -> String {
        let (k, offset) = (op.operand, point.offset(op.shift));
        if point.is_rule {
            return String::from("(TW_REAL)1");
        }
        if point.is_alone {
            return format!("(TW_REAL)(m == {k})");
        }
        if self.plan.all_dense() {
            return format!("s{k}[{offset}]");
        }
        if self.plan.writes {
            return format!("a.w[{k}] ? s{k}[{offset}] : a.u[{k}]");
        }
        let row = [0, 1, 2].map(|d| point.coordinate(d, op.shift[d])).join(", ");
        format!("a.w[{k}] ? s{k}[a.w[{k}] & 1 ? {offset} : tw_row(a.range, {row})] : a.u[{k}]")
    }

    fn call(&self, op: &Op, [a, b, c]: [&str; 3]) -> Result<String, String> {
        let rule = self.plan.scripts.rules[usize::from(op.operand)].expect("a rule has a number");
        let name = (rule.name)();
        let template = function(name, Op::part(op.what)).ok_or(name)?;
        let of = |letter: char| match letter {
            '$' => format!("({a})"),
            '#' => format!("({b})"),
            '@' => format!("({c})"),
            other => other.to_string(),
        };
        Ok(self.form.precision.typed(template).chars().map(of).collect())
    }
}

/// Operands and outputs that lists read, a bit for each.
#[derive(Clone, Copy, Default)]
pub(super) struct Reads {
    pub(super) values: u16,
    pub(super) new: u16,
    pub(super) seeds: u16,
    pub(super) tangents: u16,
}

impl Reads {
    /// Adds what these instructions read.
    pub(super) fn add(&mut self, ops: &[Op]) {
        for op in ops {
            // In a gather the offsets are differences of two, which no access has.
            match op.what {
                opcode::READ | opcode::ALONG => self.values |= 1 << op.operand,
                opcode::NEW => self.new |= 1 << op.operand,
                opcode::SEED => self.seeds |= 1 << op.operand,
                opcode::TANGENT if matches!(op.moving().what, opcode::READ | opcode::ALONG) => {
                    self.tangents |= 1 << op.operand;
                }
                _ => {}
            }
        }
    }
}
