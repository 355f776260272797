//! The emitter: writes the lists of a kernel in a dialect of C.
//!
//! The source has one definition for each instruction of a kernel's lists, for the launch and for the gather. Functions
//! that are computed by rules are looked up in a table.

use super::dialect::Dialect;
use super::functions::function;
use super::prelude::prelude;
use crate::kernel::ir::access::{
    Access, AccessKind, AccessSummary, Boundary, DimensionBits, LAST, OPERANDS, OperandBits,
};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::ir::program::List;
use crate::kernel::memory::device::Precision;
use core::fmt::Write;
use std::collections::HashSet;

/// Language and number type of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) dialect: Dialect,
    pub(super) precision: Precision,
}

/// A point whose coordinates are variables of this letter.
#[derive(Clone, Copy)]
struct Point(char);

impl Point {
    /// C expression for the offset of the point.
    fn place(self) -> String {
        format!("tw_at(g, {})", self.coordinates())
    }

    fn coordinates(self) -> String {
        let c = self.0;
        format!("{c}0, {c}1, {c}2, {c}3")
    }

    /// C expression for the offset of the point in an operand that lies along these dimensions.
    fn place_along(self, dimensions: DimensionBits) -> String {
        offset_along(dimensions, |d| format!("{}{d}", self.0))
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
        if inside.is_empty() { read } else { format!("{} ? {read} : (TW_REAL)0", inside.join(" && ")) }
    }
}

/// Returns the C expression for the offset of an element of an operand that lies along these dimensions.
fn offset_along(dimensions: DimensionBits, coordinate: impl Fn(usize) -> String) -> String {
    let along = (0..4).filter(|d| dimensions >> d & 1 == 1);
    let offset = along.fold(None, |before: Option<String>, d| match before {
        None => Some(coordinate(d)),
        Some(before) => Some(format!("({before}) * g.n[{d}] + {}", coordinate(d))),
    });
    offset.unwrap_or_else(|| String::from("0"))
}

/// Parameters of a function: as they are declared, and as they are passed on.
#[derive(Clone, Default)]
struct Parameters {
    declared: Vec<String>,
    passed: Vec<String>,
    /// How the fixed entry point of the C dialect takes each of them from a job.
    fetched: Vec<String>,
}

impl Parameters {
    /// Appends a parameter of this type.
    fn add(&mut self, kind: &str, name: &str, fetched: String) {
        self.declared.push(format!("{kind}{name}"));
        self.passed.push(name.to_owned());
        self.fetched.push(fetched);
    }

    /// Appends a parameter for each operand of the set: its letter with the index, taken from this field of a job.
    fn add_each(&mut self, operands: OperandBits, kind: &str, letter: char, field: &str) {
        for k in (0..OPERANDS).filter(|k| AccessSummary::has(operands, *k)) {
            self.add(kind, &format!("{letter}{k}"), format!("job->{field}[{k}]"));
        }
    }

    /// Appends the parameters of another function.
    fn extend(&mut self, others: Self) {
        self.declared.extend(others.declared);
        self.passed.extend(others.passed);
        self.fetched.extend(others.fetched);
    }

    fn list(parts: &[String]) -> String {
        parts.iter().fold(String::from("g"), |list, part| format!("{list}, {part}"))
    }

    fn declaration(&self) -> String {
        format!("tw_grid {}", Self::list(&self.declared))
    }

    fn arguments(&self) -> String {
        Self::list(&self.passed)
    }
}

/// Everything that the source of a kernel is made from.
pub(super) struct Writer<'a> {
    pub(super) name: &'a str,
    pub(super) form: Form,
    pub(super) plan: &'a KernelInfo,
    pub(super) constants: &'a [f64],
}

impl Writer<'_> {
    /// Formats the definitions of these instructions at a point, and returns them with the names of the requested
    /// results. Unused definitions are left out: in C some derivatives do not need all arguments of their rule.
    fn lines(&self, ops: &[Op], results: &[u16], point: Point, indent: usize) -> Result<(String, Vec<String>), String> {
        let (mut names, mut expressions) = (Vec::<String>::new(), Vec::new());
        for (k, op) in ops.iter().enumerate() {
            let expression = self.expression(op, point, &names)?;
            let reads = matches!(op.what, opcode::READ | opcode::ALONG | opcode::NEW | opcode::SEED);
            let stands = op.arity() == 0 && !reads;
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
                let kind = if op.is_mask() || op.what == opcode::TAKES { "int" } else { "TW_REAL" };
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
            opcode::ALONG => format!("x{}[{}]", op.operand, point.place_along(op.border)),
            opcode::NUMBER => format!("c{}", op.operand),
            opcode::NEW => format!("z{}[{}]", op.operand, point.place()),
            opcode::COORDINATE => format!("(TW_REAL){}{}", point.0, op.c),
            opcode::CONSTANT => self.form.precision.literal(self.constants[usize::from(op.c)]),
            opcode::LITERAL => self.form.precision.literal(f64::from(op.c.cast_signed()) * 0.5),
            opcode::SEED if self.plan.writes => {
                let operand = self.plan.written[usize::from(op.operand)];
                format!("s{operand}[w{operand} * {}]", point.place())
            }
            opcode::SEED => format!("s[tw_seed(g, w, {})]", point.coordinates()),
            opcode::NEG => format!("-{a}"),
            opcode::ABS => format!("fabs({a})"),
            opcode::SQRT => format!("sqrt({a})"),
            opcode::ADD => format!("{a} + {b}"),
            opcode::SUB => format!("{a} - {b}"),
            opcode::MUL => format!("{a} * {b}"),
            opcode::SEEDED => format!("{a} == 0 || {b} == 0 ? 0 : {a} * {b}"),
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

    /// Formats the definitions of the values at a point, and returns them with the names of the values.
    fn values(&self) -> Result<(String, Vec<String>), String> {
        let results = &self.plan.scripts.values[..self.plan.expressions];
        self.lines(self.plan.scripts.list(List::Values), results, Point('i'), 4)
    }

    /// Formats the statements that write the values at the point.
    fn writes(&self) -> Result<String, String> {
        let (mut lines, names) = self.values()?;
        for (name, operand) in names.iter().zip(self.plan.written) {
            _ = writeln!(lines, "    y{operand}[{}] = {name};", Point('i').place());
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
        // −0, which added to anything changes nothing.
        let mut text = String::from("    const int inside = tw_in(g, i0, i1, i2, i3);\n");
        views().for_each(|k| _ = writeln!(text, "    TW_REAL a{k} = -(TW_REAL)0;"));
        for (n, key) in self.used(AccessKind::Read) {
            let (lines, name) = self.partial(n, Point('j'))?;
            let contribution = format!("{lines}        a{} += {name};\n    }}\n", key.operand());
            text += &each_reader(key);
            text += &contribution;
        }
        for k in views() {
            let element = format!("d{k}[{}]", Point('i').place());
            _ = writeln!(text, "    if (d{k}) {element} = tw_gathered({element}, a{k}, h{k}, inside);");
        }
        Ok(text)
    }

    /// Formats the definitions of the terms of the adjoints of uniform scalars, and returns them with their names.
    fn slopes(&self) -> Result<(String, Vec<String>), String> {
        let (mut text, mut names) = (String::new(), Vec::new());
        let mut scalars: Vec<(usize, Access)> = self.used(AccessKind::Number).collect();
        scalars.sort_by_key(|(_, key)| key.operand());
        for (n, key) in scalars {
            let (lines, name) = self.partial(n, Point('i'))?;
            _ = writeln!(text, "    TW_REAL e{};\n    {{\n{lines}        e{0} = {name};\n    }}", key.operand());
            names.push(format!("e{}", key.operand()));
        }
        Ok((text, names))
    }
}

/// Formats the beginning of a block for each point that reads an element by this access, whose coordinates are `j0` to
/// `j3`. At boundaries there may be no such point or, with a border rule that repeats elements, several.
fn each_reader(key: Access) -> String {
    let bounds = [0, 1, 2, 3].map(|d| readers(key, d));
    let [a, b, c, i] = bounds.each_ref().map(|(from, _)| from);
    let mut text = format!("    if (d{}", key.operand());
    if bounds.iter().all(|(from, to)| from == to) {
        _ = writeln!(text, " && tw_in(g, {a}, {b}, {c}, {i})) {{");
        _ = writeln!(text, "        const long j0 = {a}, j1 = {b}, j2 = {c}, j3 = {i};");
        return text;
    }
    text += ") ";
    for (d, (from, to)) in bounds.iter().enumerate() {
        let bounds = (format!("tw_max({from}, g.lo[{d}])"), format!("tw_min({to} + 1, g.hi[{d}])"));
        _ = write!(text, "for (long j{d} = {}; j{d} < {}; j{d}++) ", bounds.0, bounds.1);
    }
    text + "{\n"
}

/// Bounds of a loop over points: text in which `D` stands for the dimension.
#[derive(Clone, Copy)]
struct Bounds {
    lo: &'static str,
    hi: &'static str,
}

impl Bounds {
    /// The points of the launch.
    const RANGE: Self = Self { lo: "g.lo[D]", hi: "g.hi[D]" };
    /// The elements of the views.
    const ELEMENTS: Self = Self { lo: "0", hi: "g.n[D]" };

    fn of(text: &str, d: usize) -> String {
        text.replace('D', &d.to_string())
    }

    /// Formats the loops over the points in C; on a device, the point of this work item. `inside` is what is done at a
    /// point.
    fn each(self, dialect: Dialect, dimensions: usize, inside: &str) -> String {
        let (lo, hi) = (|d| Self::of(self.lo, d), |d| Self::of(self.hi, d));
        let mut text = String::new();
        if dialect == Dialect::C {
            for d in 0..dimensions {
                _ = writeln!(text, "    for (long i{d} = {}; i{d} < {}; i{d}++)", lo(d), hi(d));
            }
            return text + inside;
        }
        // Three dimensions of the device: the last ones of the views, and the first two together.
        _ = writeln!(text, "    const long n1 = {} - {};", hi(1), lo(1));
        if dimensions == 4 {
            _ = writeln!(text, "    const long i3 = {} + {};", lo(3), dialect.id(0));
        }
        _ = writeln!(text, "    const long i2 = {} + {};", lo(2), dialect.id(1));
        _ = writeln!(
            text,
            "    const long rest = {}, i1 = {} + rest % n1, i0 = {} + rest / n1;",
            dialect.id(2),
            lo(1),
            lo(0)
        );
        let tests: Vec<String> = [0, 2, 3][..dimensions - 1].iter().map(|d| format!("i{d} < {}", hi(*d))).collect();
        _ = writeln!(text, "    if ({})", tests.join(" && "));
        text + inside
    }
}

impl Writer<'_> {
    /// Formats all functions of the kernel, behind the definitions that they need.
    pub(super) fn source(&self) -> Result<String, String> {
        let mut text = prelude(self.form.dialect, self.form.precision);
        if self.form.dialect == Dialect::C {
            text += &JOB.replace("COUNT", &OPERANDS.to_string());
        }
        text += &self.launch()?;
        text += &self.adjoint()?;
        text += &self.scalars()?;
        for (n, key) in self.used(AccessKind::Along) {
            text += &self.along(n, key)?;
        }
        Ok(text)
    }

    fn array(&self, constant: bool) -> String {
        format!("{}{}TW_REAL *", self.form.dialect.space(), if constant { "const " } else { "" })
    }

    /// Appends the operands that a launch reads.
    fn inputs(&self, views: OperandBits, numbers: OperandBits) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add_each(views, &self.array(true), 'x', "x");
        parameters.add_each(numbers, "TW_REAL ", 'c', "c");
        parameters
    }

    /// Values at all points, or the sums of chunks of points.
    fn launch(&self) -> Result<String, String> {
        let mut parameters = self.inputs(self.plan.leaves.views | self.plan.leaves.along, self.plan.leaves.numbers);
        if !self.plan.writes {
            let (lines, names) = self.values()?;
            return Ok(self.sums("_sums", &parameters, &lines, &names));
        }
        let written = self.plan.written.iter().fold(0, |bits, operand| bits | 1 << operand);
        parameters.add_each(written, &self.array(false), 'y', "y");
        Ok(self.points("", &parameters, &self.writes()?, Bounds::RANGE))
    }

    /// Inputs of the partial derivatives: operands, new values, and the adjoints of the outputs.
    fn seeded(&self) -> Parameters {
        let mut parameters = self.inputs(self.plan.kept.views | self.plan.kept.along, self.plan.kept.numbers);
        parameters.add_each(self.plan.kept.new, &self.array(true), 'z', "z");
        if self.plan.writes {
            let written = self.plan.written.iter().fold(0, |bits, operand| bits | 1 << operand);
            parameters.add_each(written, &self.array(true), 's', "s");
            parameters.add_each(written, "long ", 'w', "w");
        } else {
            parameters.add(&self.array(true), "s", String::from("job->s[0]"));
            parameters.add("long ", "w", String::from("job->w[0]"));
        }
        parameters
    }

    /// The gather of the adjoints of elements; nothing for a kernel without partial derivatives for elements.
    fn adjoint(&self) -> Result<String, String> {
        if self.plan.partials.views == 0 {
            return Ok(String::new());
        }
        let mut parameters = self.seeded();
        parameters.add_each(self.plan.partials.views, &self.array(false), 'd', "d");
        parameters.add_each(self.plan.partials.views, "int ", 'h', "h");
        Ok(self.points("_adjoint", &parameters, &self.gather()?, Bounds::ELEMENTS))
    }

    /// The sums of chunks of the adjoints of uniform scalars; nothing for a kernel without any.
    fn scalars(&self) -> Result<String, String> {
        if self.plan.partials.numbers == 0 {
            return Ok(String::new());
        }
        let (lines, names) = self.slopes()?;
        Ok(self.sums("_scalars", &self.seeded(), &lines, &names))
    }

    /// Formats a function that is called at each point, and the kernel that calls it.
    fn points(&self, suffix: &str, parameters: &Parameters, body: &str, bounds: Bounds) -> String {
        let (name, dialect) = (format!("{}{suffix}", self.name), self.form.dialect);
        let (declaration, arguments) = (parameters.declaration(), parameters.arguments());
        let point = "long i0, long i1, long i2, long i3";
        let call = format!("        {name}_at({arguments}, i0, i1, i2, i3);\n");
        format!("{} void {name}_at({declaration}, {point}) {{\n{body}}}\n", dialect.helper())
            + &format!("{} {name}({declaration}) {{\n{}}}\n", dialect.kernel(), bounds.each(dialect, 4, &call))
            + &self.entry(&name, parameters)
    }

    /// Formats a kernel that writes the sums of terms over chunks of points: those of the first term for all chunks,
    /// then those of the others. A chunk is at most 4096 points of a row; its term m goes to partial sum m mod 16.
    fn sums(&self, suffix: &str, parameters: &Parameters, body: &str, names: &[String]) -> String {
        let (name, dialect) = (format!("{}{suffix}", self.name), self.form.dialect);
        let mut all = parameters.clone();
        all.add(&self.array(false), "sums", String::from("job->y[0]"));
        let (declaration, arguments, count) = (all.declaration(), all.arguments(), names.len());
        let mut text =
            format!("{} void {name}_of({declaration}, long i0, long i1, long i2, long p) {{\n", dialect.helper());
        _ = writeln!(text, "    const long rows = (g.hi[0] - g.lo[0]) * (g.hi[1] - g.lo[1]) * (g.hi[2] - g.lo[2]);");
        _ = writeln!(text, "    const long from = g.lo[3] + 4096 * p, to = tw_min(from + 4096, g.hi[3]);");
        _ = writeln!(text, "    TW_REAL part[{count}][16];");
        _ = writeln!(
            text,
            "    for (int k = 0; k < {count}; k++)\n        for (int m = 0; m < 16; m++) part[k][m] = 0;"
        );
        _ = writeln!(text, "    for (long i3 = from; i3 < to; i3++) {{\n{body}");
        for (k, name) in names.iter().enumerate() {
            _ = writeln!(text, "    part[{k}][(i3 - from) % 16] += {name};");
        }
        _ = writeln!(text, "    }}");
        _ = writeln!(
            text,
            "    for (int k = 0; k < {count}; k++) sums[(k * rows + tw_row(g, i0, i1, i2)) * tw_chunks(g) + p] = tw_pairs(part[k]);\n}}"
        );
        let call = format!("        {name}_of({arguments}, i0, i1, i2, p);\n");
        let inside = match dialect {
            Dialect::C => format!("    for (long p = 0; p < tw_chunks(g); p++)\n{call}"),
            _ => format!("    for (long p = {}; p < tw_chunks(g); p = tw_chunks(g))\n{call}", dialect.id(0)),
        };
        let loops = Bounds::RANGE.each(dialect, 3, &inside);
        text + &format!("{} {name}({declaration}) {{\n{loops}}}\n", dialect.kernel()) + &self.entry(&name, &all)
    }

    /// Formats the functions for the adjoints of an operand of lower rank, of which access `n` is the element: sums
    /// over blocks of the points that read an element, and their addition to the adjoints.
    fn along(&self, n: usize, key: Access) -> Result<String, String> {
        let (operand, dimensions) = (key.operand(), key.dimensions());
        let name = format!("{}_along{operand}", self.name);
        let (lines, term) = self.partial(n, Point('j'))?;
        let block_of = || {
            let mut parameters = Parameters::default();
            parameters.add("tw_block ", "b", String::from("job->b"));
            parameters
        };
        let mut parameters = block_of();
        parameters.extend(self.seeded());
        let (declaration, arguments) = (parameters.declaration(), parameters.arguments());
        let helper = self.form.dialect.helper();
        let mut text = format!("{helper} TW_REAL {name}_in_order({declaration}, tw_grid r) {{\n    TW_REAL sum = 0;\n");
        text += &rows_of("r", 4);
        _ = write!(text, "{{\n{lines}        sum += {term};\n    }}\n    return sum;\n}}\n");
        let mut block = format!("{name}_in_order({arguments}, {})", part("b", dimensions, "p"));
        if dimensions & LAST == 0 {
            _ = write!(text, "{helper} TW_REAL {name}_in_chunks({declaration}, tw_grid r) {{\n    TW_REAL sum = 0;\n");
            text += &(rows_of("r", 3) + CHUNKS_OF_ROW);
            _ = write!(text, "{{\n{lines}        part[(j3 - from) % 16] += {term};\n        }}\n");
            text += "        sum += tw_pairs(part);\n    }\n    return sum;\n}\n";
            block = block.replace("_in_order", "_in_chunks");
        }
        let sums = "sums[p * tw_elements(g, DIMENSIONS) + e]".replace("DIMENSIONS", &dimensions.to_string());
        let mut all = parameters.clone();
        all.add(&self.array(false), "sums", String::from("job->y[0]"));
        text += &self.elements(&name, &all, (dimensions, true), &format!("        {sums} = {block};\n"));
        let blocks = format!("for (long p = 0; p < tw_blocks(g, b, {dimensions}); p++)");
        let at = format!("d[{}]", offset_along(dimensions, |d| format!("r.lo[{d}]")));
        let mut body = format!("        const tw_grid r = {};\n", part("b", dimensions, "0"));
        if dimensions & LAST == 0 {
            let whole = part("tw_all(g)", dimensions, "0");
            _ = writeln!(body, "        TW_REAL sum = 0;\n        {blocks} sum += {sums};");
            _ = writeln!(body, "        if (!(fabs(sum) < TW_INFINITY)) sum = {name}_in_order({arguments}, {whole});");
            _ = writeln!(body, "        {at} += sum;");
        } else {
            _ = writeln!(body, "        {blocks} {at} += {sums};");
            parameters = block_of();
        }
        parameters.add(&self.array(true), "sums", String::from("job->y[0]"));
        parameters.add(&self.array(false), "d", format!("job->d[{operand}]"));
        Ok(text + &self.elements(&format!("{name}_add"), &parameters, (dimensions, false), &body))
    }

    /// Formats a kernel over the elements `e` of an operand of lower rank in the range; if it is `by_block`, for each
    /// block `p` of the points that read them.
    fn elements(
        &self,
        name: &str,
        parameters: &Parameters,
        (dimensions, by_block): (DimensionBits, bool),
        body: &str,
    ) -> String {
        let (dialect, declaration) = (self.form.dialect, parameters.declaration());
        let mut text = format!("{} {name}({declaration}) {{\n", dialect.kernel());
        let (elements, blocks) = (format!("tw_elements(g, {dimensions})"), format!("tw_blocks(g, b, {dimensions})"));
        match dialect {
            Dialect::C => {
                if by_block {
                    _ = writeln!(text, "    for (long p = 0; p < {blocks}; p++)");
                }
                _ = writeln!(text, "    for (long e = 0; e < {elements}; e++) {{");
            }
            _ if by_block => {
                _ = writeln!(text, "    const long e = {}, p = {};", dialect.id(0), dialect.id(1));
                _ = writeln!(text, "    if (e < {elements} && p < {blocks}) {{");
            }
            _ => {
                _ = writeln!(text, "    const long e = {};\n    if (e < {elements}) {{", dialect.id(0));
            }
        }
        format!("{text}{body}    }}\n}}\n") + &self.entry(name, parameters)
    }

    /// Formats the entry point of fixed signature that a program calls which loads the source at run time: C only.
    fn entry(&self, name: &str, parameters: &Parameters) -> String {
        if self.form.dialect != Dialect::C {
            return String::new();
        }
        let arguments =
            parameters.fetched.iter().fold(String::from("job->grid"), |list, part| format!("{list}, {part}"));
        format!("void {name}_run(const tw_job *job) {{ {name}({arguments}); }}\n")
    }
}

/// C expression for a block of the points that read element `e` of an operand along these dimensions.
fn part(block: &str, dimensions: DimensionBits, number: &str) -> String {
    format!("tw_part(g, {block}, {dimensions}, e, {number})")
}

/// Formats loops over the first dimensions of a range.
fn rows_of(range: &str, dimensions: usize) -> String {
    let each = |d: usize| format!("for (long j{d} = {range}.lo[{d}]; j{d} < {range}.hi[{d}]; j{d}++) ");
    (0..dimensions).map(each).fold(String::from("    "), |text, each| text + &each)
}

/// Loops over the points of a row, chunk by chunk.
const CHUNKS_OF_ROW: &str = "\
for (long from = r.lo[3]; from < r.hi[3]; from += 4096) {
        const long to = tw_min(from + 4096, r.hi[3]);
        TW_REAL part[16];
        for (int m = 0; m < 16; m++) part[m] = 0;
        for (long j3 = from; j3 < to; j3++) ";

/// Arguments of the entry points of the C dialect.
const JOB: &str = "\
#ifndef TW_JOB
#define TW_JOB
/* Grid, and extents of a block; values before the launch, and after it; adjoints of written operands, each with 1, or 0
   if it is one number for all elements; arrays to write; adjoints of operands to gather, null for those that nobody
   asks for, and how; uniform scalars: by operand. A reduction has its adjoints in s[0], and sums go to y[0]. */
typedef struct {
    tw_grid grid;
    tw_block b;
    const TW_REAL *x[COUNT], *z[COUNT], *s[COUNT];
    long w[COUNT];
    TW_REAL *y[COUNT], *d[COUNT];
    int h[COUNT];
    TW_REAL c[COUNT];
} tw_job;
#endif
";

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
