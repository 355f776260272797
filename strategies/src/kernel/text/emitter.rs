//! The emitter: writes the functions of a kernel in a dialect of C.
//!
//! Each function has one body, for a work item: a point, an element, or a part of a sum. Where all reads lie inside
//! the views, and all readers of an element in the range, the body is straight code: no test of an index, no division,
//! every product as it is. Elsewhere, and where an adjoint comes out infinite or NaN, the general code computes it:
//! each reader by itself, with products in which zero times anything is zero.

use super::array::Array;
use super::dialect::{Dialect, IN_ITEMS};
use super::lines::{Lines, Point, has_word, offset_along};
use super::parameters::Function;
use super::prelude::prelude;
use crate::kernel::ir::access::{Access, AccessKind, AccessSummary, Boundary, LAST, OPERANDS};
use crate::kernel::ir::instruction::Op;
use crate::kernel::ir::program::{List, gather};
use core::fmt::Write;

/// Everything that the source of a kernel is made from.
pub(super) struct Writer<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Lines<'a>,
    /// True if the largest or smallest value is searched for.
    pub(super) is_extreme: bool,
}

/// Definitions and names of terms.
pub(super) type Terms = (String, Vec<String>);

impl Writer<'_> {
    /// Formats the definitions that all kernels need, and their common functions.
    pub(super) fn start(&self) -> String {
        let Lines { form, .. } = self.lines;
        let mut text =
            String::from("#ifndef TW_KERNELS\n#define TW_KERNELS\n") + &prelude(form.dialect, form.precision);
        text += &self.function(Function::AddPairs, ADD_PAIRS);
        text += &self.function(Function::AddRows, ADD_ROWS);
        text += &self.function(Function::Best, BEST);
        text + "#endif\n"
    }

    /// Formats the type of the first argument of the kernel's functions.
    fn launch(&self) -> String {
        let (name, count) = (self.name, self.lines.plan.constants);
        let are_arguments = self.lines.constants.is_none() && count > 0;
        let constants = if are_arguments { format!("TW_REAL k[{count}]; ") } else { String::new() };
        format!("typedef struct {{ TW_LAUNCH {constants}}} {name}_launch;\n")
    }

    /// Formats all functions of launches and reverse sweeps.
    pub(super) fn functions(&self) -> Result<String, String> {
        let (plan, mut text) = (self.lines.plan, self.launch());
        text += &if plan.writes { self.values()? } else { self.sums()? };
        if self.is_extreme {
            text += &self.extremum()?;
        }
        if plan.partials.views != 0 {
            text += &self.gather()?;
        }
        if plan.partials.numbers != 0 {
            text += &self.scalars()?;
        }
        for (n, key) in self.used(AccessKind::Along) {
            text += &self.along(n, key)?;
        }
        Ok(text)
    }

    /// Formats all functions of forward sweeps.
    pub(super) fn tangents(&self) -> Result<String, String> {
        let launch = self.launch();
        let (expressions, moves) = (self.lines.plan.expressions, self.moves()?);
        if !self.lines.plan.writes {
            let names = (0..expressions).map(|k| format!("v{k}")).collect();
            let (add, start, end) = self.sum((moves, names), None);
            return Ok(launch + &self.function(Function::TangentSums, &Self::lanes(&start, &add, &end)));
        }
        let mut body = format!("{POINT}        {{\n{moves}");
        for (k, a) in self.lines.plan.written.iter().enumerate() {
            _ = writeln!(body, "            dy{a}[at] = v{k};");
        }
        Ok(launch + &self.function(Function::Tangents, &(body + "        }\n")))
    }

    /// Formats the computation of the tangents of all expressions at a point, which are `v0`, `v1` and so on. If one is
    /// not finite, the contributions of accesses are added one by one, and a product with zero is zero.
    fn moves(&self) -> Result<String, String> {
        let (plan, scripts) = (self.lines.plan, self.lines.plan.scripts);
        let each = |format: &dyn Fn(usize) -> String| (0..plan.expressions).map(format).collect::<Vec<_>>();
        let at = |point: Point| {
            let results = &scripts.tangents[..plan.expressions];
            let (lines, names) = self.lines.of(scripts.list(List::Tangents), results, point, 16)?;
            let store = |k: usize| format!("                v{k} = {};\n", names[k]);
            Ok::<_, String>(lines + &each(&store).concat())
        };
        let mut text = format!("            TW_REAL {};\n", each(&|k| format!("v{k}")).join(", "));
        _ = write!(text, "            if ({}) {{\n{}", inside(&self.bent()), at(Point::INNER)?);
        if plan.leaves.borders {
            _ = write!(text, "            }} else {{\n{}", at(Point::ANY)?);
        }
        let is_odd = each(&|k| format!("(m == {k} && v{k} - v{k} != 0)")).join(" || ");
        _ = writeln!(text, "            }}\n            for (int m = 0; m < {}; m++) {{", plan.expressions);
        _ = writeln!(text, "                if (!({is_odd})) continue;\n                TW_REAL sum = 0;");
        for n in 0..scripts.used.len() {
            let way = Lines::tangent(&Op::leaf(scripts.used.get(n)), Point::ALONE);
            let (lines, slope) = self.partial(n, Point::ALONE, 20)?;
            _ = writeln!(text, "                {{\n                    const TW_REAL way = {way};\n{lines}");
            _ = writeln!(
                text,
                "                    if (way != 0 && {slope} != 0) sum += way * {slope};\n                }}"
            );
        }
        text += &each(&|k| format!("                if (m == {k}) v{k} = sum;\n")).concat();
        Ok(text + "            }\n")
    }

    /// Formats a function with this body for each work item.
    fn function(&self, function: Function, body: &str) -> String {
        let launch = if function.is_general() { "tw" } else { self.name };
        self.declared(&function.name(self.name), &function.arrays(self.lines.plan), launch, &self.each_item(body))
    }

    /// Formats the block for a work item with what stands in front of it.
    pub(super) fn each_item(&self, body: &str) -> String {
        let dialect = self.lines.form.dialect;
        format!("{}{}    {{\n{body}    }}\n", dialect.indices(), dialect.each_item())
    }

    /// Formats a function with these arrays and this body. In C, a second one has a signature that does not depend on
    /// the kernel.
    pub(super) fn declared(&self, name: &str, arrays: &[Array], launch: &str, body: &str) -> String {
        let dialect = self.lines.form.dialect;
        let mut declared = format!("{launch}_launch a");
        for array in arrays {
            _ = write!(declared, ", {}{}{}", dialect.space(), array.kind(), array.name());
        }
        let mut text = format!("{} {name}({declared}) {{\n{body}}}\n", dialect.kernel());
        if dialect == Dialect::C {
            let passed = (0..arrays.len()).map(|k| format!(", arrays[{k}]")).collect::<Vec<_>>().concat();
            _ = writeln!(text, "void {name}_run(const void *launch, void *const *arrays) {{");
            if arrays.is_empty() {
                text += "    (void)arrays;\n";
            }
            _ = writeln!(text, "    {name}(*(const {launch}_launch *)launch{passed});\n}}");
        }
        text
    }

    /// Returns the accesses of this kind with a partial derivative, and their indices.
    fn used(&self, kind: AccessKind) -> impl Iterator<Item = (usize, Access)> {
        let used = &self.lines.plan.scripts.used;
        (0..used.len()).map(|n| (n, used.get(n))).filter(move |(_, key)| key.kind() == kind)
    }

    /// Formats the definitions of the values at a point, and returns them with the names of the values.
    pub(super) fn values_at(&self, point: Point) -> Result<Terms, String> {
        let plan = self.lines.plan;
        self.lines.of(plan.scripts.list(List::Values), &plan.scripts.values[..plan.expressions], point, 12)
    }

    /// Formats the partial derivative of access `n` at a point, and returns it with the name of the result.
    pub(super) fn partial(&self, n: usize, point: Point, indent: usize) -> Result<(String, String), String> {
        let scripts = self.lines.plan.scripts;
        let (lines, mut names) =
            self.lines.of(scripts.list(List::Partial(n)), &[scripts.partials[n]], point, indent)?;
        Ok((lines, names.remove(0)))
    }

    /// Values at all points.
    fn values(&self) -> Result<String, String> {
        let plan = self.lines.plan;
        let write = |(lines, names): Terms| {
            let stores = names.iter().zip(plan.written);
            stores.fold(lines, |text, (name, k)| text + &format!("            y{k}[at] = {name};\n"))
        };
        let mut body = POINT.to_owned();
        _ = write!(body, "        if ({}) {{\n{}", inside(&self.bent()), write(self.values_at(Point::INNER)?));
        if plan.leaves.borders {
            _ = write!(body, "        }} else {{\n{}", write(self.values_at(Point::ANY)?));
        }
        Ok(self.function(Function::Values, &(body + "        }\n")))
    }

    /// Dimensions along which reads bend at the ends of views.
    fn bent(&self) -> Vec<usize> {
        let leaves = &self.lines.plan.leaves;
        (0..4).filter(|d| leaves.borders && leaves.shifts[*d] != (0, 0)).collect()
    }

    /// Partial sums of the expressions.
    fn sums(&self) -> Result<String, String> {
        let any = if self.lines.plan.leaves.borders { Some(self.values_at(Point::ANY)?) } else { None };
        let (add, start, end) = self.sum(self.values_at(Point::INNER)?, any);
        Ok(self.function(Function::Sums, &Self::lanes(&start, &add, &end)))
    }

    /// Formats how terms are added to sums, the definitions of these, and how they are stored.
    fn sum(&self, inner: Terms, any: Option<Terms>) -> (String, String, String) {
        let count = inner.1.len();
        let add = |(lines, names): Terms| {
            let add = |text: String, (k, name): (usize, &String)| text + &format!("            e{k} += {name};\n");
            names.iter().enumerate().fold(lines, add)
        };
        let mut text = add(inner);
        if let Some(any) = any {
            let group = format!(
                "{} && i3 - lane >= a.inner.lo[3] && tw_min(i3 - lane + 16, to) <= a.inner.hi[3]",
                inside(&self.bent().into_iter().filter(|d| *d < 3).collect::<Vec<_>>())
            );
            text = format!("            if ({group}) {{\n{text}            }} else {{\n{}            }}\n", add(any));
        }
        let start = (0..count).map(|k| format!("        TW_REAL e{k} = 0;\n")).collect::<Vec<_>>().concat();
        let end = (0..count).map(|k| {
            format!(
                "        parts[(({k} * tw_rows(a.range) + row) * tw_chunks(a.range) + chunk) * 16 + lane] = e{k};\n"
            )
        });
        (text, start, end.collect::<Vec<_>>().concat())
    }

    /// Formats the body of a work item that visits every 16th point of a chunk.
    fn lanes(start: &str, each: &str, end: &str) -> String {
        format!("{ROW}{start}{LANE}{each}        }}\n{end}")
    }

    /// Best values of parts of chunks.
    fn extremum(&self) -> Result<String, String> {
        let find = |(lines, names): Terms| {
            let test = format!("place < 0 || tw_better(a.largest, {}, best)", names[0]);
            format!("{lines}            if ({test}) {{ best = {}; place = at; }}\n", names[0])
        };
        let mut each = find(self.values_at(Point::INNER)?);
        if self.lines.plan.leaves.borders {
            let any = find(self.values_at(Point::ANY)?);
            let test = inside(&self.bent());
            each = format!("            if ({test}) {{\n{each}            }} else {{\n{any}            }}\n");
        }
        let start = "        TW_REAL best = 0;\n        tw_index place = -1;\n";
        Ok(self.function(Function::Extremum, &Self::lanes(start, &each, STORE_BEST)))
    }

    /// Gather of the adjoints of an element. In OpenCL there is a barrier before the general code, so that compilers
    /// for processors make a loop over the work items of a group for the straight code, with vectors of them, and one
    /// for the few that are left. That is a loop of its own for each of them, whose end they do not know: a condition
    /// would become a mask, under which all of them compute everything. Each side computes its offsets, so that `odd`
    /// alone is kept in between.
    fn gather(&self) -> Result<String, String> {
        let (plan, dialect) = (self.lines.plan, self.lines.form.dialect);
        let is_apart = dialect == Dialect::OpenCl;
        let (straight, general) = (self.gather_straight(is_apart)?, self.gather_general()?);
        let body = if is_apart {
            let indices = dialect.indices();
            let start = format!("    TW_REAL odd;\n    {{\n{indices}{POINT}        odd = {IN_ITEMS};\n");
            let left = "for (int left = odd != 0 ? a.once : 0; left > 0; left--)";
            let between = format!("    }}\n    barrier(CLK_LOCAL_MEM_FENCE);\n    {left} {{\n{indices}");
            [&*start, &straight, &between, POINT, &general, "    }\n"].concat()
        } else {
            let general = format!("        if (odd != 0) {{\n{general}        }}\n");
            self.each_item(&[POINT, "        TW_REAL odd = 1;\n", &straight, &general].concat())
        };
        Ok(self.declared(&Function::Gather.name(self.name), &Function::Gather.arrays(plan), self.name, &body))
    }

    /// Operands whose adjoints are gathered.
    fn gathered(&self) -> impl Iterator<Item = usize> {
        let views = self.lines.plan.partials.views;
        (0..OPERANDS).filter(move |k| AccessSummary::has(views, *k))
    }

    fn each_gathered(&self, format: impl Fn(usize) -> String) -> String {
        self.gathered().map(format).collect()
    }

    /// Formats the straight code of a gather. Afterwards `odd` is 0 if it is that of the element, and all adjoints are
    /// finite. What only one operand needs is in a block of its own: where it is not asked for it is not computed, and
    /// compilers do not mix it with what another one needs. With `is_first`, it leaves out work items that have no
    /// element.
    fn gather_straight(&self, is_first: bool) -> Result<String, String> {
        let plan = self.lines.plan;
        let list = gather(plan.scripts);
        let results: Vec<u16> = self.gathered().map(|k| list.results[k]).collect();
        let (common, own) = self.lines.apart(&list.ops[..list.len], &results, Point::INNER, 12)?;
        let moves = |d: &usize| is_first || plan.partials.shifts[*d] != (0, 0) || self.bent().contains(d);
        let inner = inside(&(0..4).filter(moves).collect::<Vec<_>>());
        let mut text = format!("        if ({inner}) {{\n            odd = 0;\n");
        text += &self.each_gathered(|k| format!("            TW_REAL e{k} = 0;\n"));
        text += &common;
        for (k, (lines, name)) in self.gathered().zip(own) {
            // x − x is 0 if x is finite, else NaN.
            _ = writeln!(text, "            if ({}) {{\n{lines}                e{k} = {name};", is_asked(k));
            _ = writeln!(text, "                odd += e{k} - e{k};\n            }}");
        }
        let stores = self.each_gathered(|k| store_adjoint("                ", k, &format!("a.h[{k}]")));
        Ok(text + &format!("            if (odd == 0) {{\n{stores}            }}\n        }}\n"))
    }

    /// Formats the general code of a gather, for what is left.
    fn gather_general(&self) -> Result<String, String> {
        // −0, which added to anything changes nothing.
        let mut text = self.each_gathered(|k| format!("            TW_REAL e{k} = -(TW_REAL)0;\n"));
        for (n, key) in self.used(AccessKind::Read) {
            let (lines, name) = self.partial(n, Point::READER, 16)?;
            text += &each_reader(key, &format!("{lines}                e{} += {name};\n", key.operand()));
        }
        let is_new = |k| format!("(a.h[{k}] & 1) | ((a.h[{k}] >> 1) & tw_in(a.range, i0, i1, i2, i3))");
        Ok(text + &self.each_gathered(|k| store_adjoint("            ", k, &is_new(k))))
    }

    /// Formats the terms of the adjoints of uniform scalars at a point, in order, and returns them with their names.
    fn slopes(&self, point: Point) -> Result<Terms, String> {
        let (mut text, mut names) = (String::new(), Vec::new());
        for k in self.lines.plan.scalars() {
            let n = self.lines.plan.scripts.leaf(Access::number(k)).expect("it has a partial derivative");
            let (lines, name) = self.partial(n, point, 16)?;
            _ = writeln!(
                text,
                "            TW_REAL v{k};\n            {{\n{lines}                v{k} = {name};\n            }}"
            );
            names.push(format!("v{k}"));
        }
        Ok((text, names))
    }

    /// Adjoints of uniform scalars: partial sums, and point by point.
    fn scalars(&self) -> Result<String, String> {
        let any = if self.lines.plan.leaves.borders { Some(self.slopes(Point::ANY)?) } else { None };
        let (add, start, end) = self.sum(self.slopes(Point::INNER)?, any);
        let text = self.function(Function::Scalars, &Self::lanes(&start, &add, &end));
        let mut body = String::new();
        for (index, k) in self.lines.plan.scalars().enumerate() {
            let n = self.lines.plan.scripts.leaf(Access::number(k)).expect("it has a partial derivative");
            _ = writeln!(body, "        if (id0 == {index}) {{\n            TW_REAL sum = 0;");
            _ = writeln!(body, "{}            sums[{index}] = sum;\n        }}", self.in_order(n, "a.range")?);
        }
        Ok(text + &self.function(Function::ScalarsInOrder, &(PITCHES.to_owned() + &body)))
    }

    /// Formats the addition of the partial derivatives of access `n` at the points of a part of the range to `sum`, one
    /// after the other.
    fn in_order(&self, n: usize, part: &str) -> Result<String, String> {
        let (lines, term) = self.partial(n, Point::READER, 16)?;
        let each = |d: usize| format!("for (tw_index j{d} = {part}.lo[{d}]; j{d} < {part}.hi[{d}]; j{d}++)");
        let loops = [0, 1, 2, 3].map(each).join(" ");
        Ok(format!("            {loops} {{\n{}                sum += {term};\n            }}\n", reading(&lines)))
    }

    /// Formats the functions for the adjoints of an operand of lower rank, of which access `n` is the element: sums,
    /// and their addition to the adjoints.
    fn along(&self, n: usize, key: Access) -> Result<String, String> {
        let (k, dimensions) = (key.operand(), key.dimensions());
        let at = format!("d{k}[{}]", offset_along(dimensions, |d| format!("r.lo[{d}]")));
        let part = |p: &str| format!("        const tw_box r = tw_part(a.range, a.block, {dimensions}, id0, {p});\n");
        if dimensions & LAST != 0 {
            let sum = part("id1") + "        TW_REAL sum = 0;\n" + &self.in_order(n, "r")?;
            let store = "        sums[id1 * a.items[0] + id0] = sum;\n";
            let blocks = format!("tw_blocks(a.range, a.block, {dimensions})");
            let add = format!("        for (tw_index p = 0; p < {blocks}; p++) {at} += sums[p * a.items[0] + id0];\n");
            return Ok(self.function(Function::Along(k), &(PITCHES.to_owned() + &sum + store))
                + &self.function(Function::AddAlong(k), &(part("0") + &add)));
        }
        let terms = |point: Point| self.partial(n, point, 12).map(|(lines, name)| (lines, vec![name]));
        let any = if self.lines.plan.leaves.borders { Some(terms(Point::ANY)?) } else { None };
        let (add, start, end) = self.sum(terms(Point::INNER)?, any);
        let chunks = self.function(Function::Along(k), &Self::lanes(&start, &add, &end));
        let body = PITCHES.to_owned()
            + &part("-1")
            + &ADD_BLOCKS.replace("DIMENSIONS", &dimensions.to_string())
            + "        if (sum - sum != 0) {\n            sum = 0;\n"
            + &self.in_order(n, "r")?
            + &format!("        }}\n        {at} += sum;\n");
        Ok(chunks + &self.function(Function::AddAlong(k), &body))
    }
}

/// Formats the test of an operand whose adjoints are asked for.
fn is_asked(k: usize) -> String {
    format!("(a.asked & {}) != 0", 1 << k)
}

/// Formats the addition of what has been gathered for an operand to its adjoint, or to 0 where `is_new` says so.
fn store_adjoint(indent: &str, k: usize, is_new: &str) -> String {
    format!("{indent}if ({}) d{k}[at] = ({is_new} ? (TW_REAL)0 : d{k}[at]) + e{k};\n", is_asked(k))
}

/// Formats the test of a point along these dimensions.
fn inside(dimensions: &[usize]) -> String {
    let test = |d: &usize| format!("i{d} >= a.inner.lo[{d}] && i{d} < a.inner.hi[{d}]");
    if dimensions.is_empty() { String::from("1") } else { dimensions.iter().map(test).collect::<Vec<_>>().join(" && ") }
}

/// Formats definitions at a reader, in front of them its offset if they use it.
fn reading(lines: &str) -> String {
    let offset = "                const tw_index from = j0 * q0 + j1 * q1 + j2 * q2 + j3;\n";
    (if has_word(lines, "from") { offset } else { "" }).to_owned() + lines
}

/// Formats a block for each point that reads an element by this access, whose coordinates are `j0` to `j3`. At
/// boundaries there may be no such point or, with a border rule that repeats elements, several.
fn each_reader(key: Access, block: &str) -> String {
    let bounds = [0, 1, 2, 3].map(|d| readers(key, d));
    let [a, b, c, i] = bounds.each_ref().map(|(from, _)| from);
    let mut text = format!("            if ({}", is_asked(key.operand()));
    if bounds.iter().all(|(from, to)| from == to) {
        _ = writeln!(text, " && tw_in(a.range, {a}, {b}, {c}, {i})) {{");
        let used = |d: &usize| has_word(block, &format!("j{d}")) || has_word(block, "from");
        for d in (0..4).filter(used) {
            _ = writeln!(text, "                const tw_index j{d} = {};", bounds[d].0);
        }
    } else {
        text += ") ";
        for (d, (from, to)) in bounds.iter().enumerate() {
            let bounds = (format!("tw_max({from}, a.range.lo[{d}])"), format!("tw_min({to} + 1, a.range.hi[{d}])"));
            _ = write!(text, "for (tw_index j{d} = {}; j{d} < {}; j{d}++) ", bounds.0, bounds.1);
        }
        text += "{\n";
    }
    text + &reading(block) + "            }\n"
}

/// Formats the first and the last point along a dimension that read the element.
fn readers(key: Access, d: usize) -> (String, String) {
    let shift = key.shift(d);
    let straight = format!("i{d} {} {}", if shift < 0 { '+' } else { '-' }, shift.abs());
    if shift == 0 {
        return (format!("i{d}"), format!("i{d}"));
    }
    match key.border() {
        Boundary::Nearest if shift > 0 => (straight.clone(), format!("(i{d} == a.n[{d}] - 1 ? i{d} : {straight})")),
        Boundary::Nearest => (format!("(i{d} == 0 ? 0 : {straight})"), straight),
        Boundary::Periodic => {
            let wrapped = format!("tw_periodic({straight}, a.n[{d}])");
            (wrapped.clone(), wrapped)
        }
        Boundary::Inside | Boundary::Zero => (straight.clone(), straight),
    }
}

/// Distances between neighbors along each dimension but the last.
const PITCHES: &str = "        const tw_index q2 = a.n[3], q1 = q2 * a.n[2], q0 = q1 * a.n[1];
";

/// Coordinates and offset of the point or element of a work item.
const POINT: &str = "        const tw_index n1 = a.box.hi[1] - a.box.lo[1], outer = tw_outer(id2, n1);
        const tw_index i0 = a.box.lo[0] + outer, i1 = a.box.lo[1] + id2 - outer * n1;
        const tw_index i2 = a.box.lo[2] + id1, i3 = a.box.lo[3] + id0;
        const tw_index q2 = a.n[3], q1 = q2 * a.n[2], q0 = q1 * a.n[1], at = i0 * q0 + i1 * q1 + i2 * q2 + i3;
";

/// Coordinates and start of the row of a work item.
const ROW: &str = "        const tw_index n1 = a.box.hi[1] - a.box.lo[1], outer = tw_outer(id2, n1);
        const tw_index i0 = a.box.lo[0] + outer, i1 = a.box.lo[1] + id2 - outer * n1, i2 = a.box.lo[2] + id1;
        const tw_index q2 = a.n[3], q1 = q2 * a.n[2], q0 = q1 * a.n[1], start = i0 * q0 + i1 * q1 + i2 * q2;
        const tw_index row = tw_row(a.range, i0, i1, i2);
";

/// Beginning of the loop over every 16th point of a chunk.
const LANE: &str = "        const tw_index lane = id0 & 15, chunk = id0 >> 4, first = a.range.lo[3] + 4096 * chunk;
        const tw_index to = tw_min(first + 4096, a.range.hi[3]);
        for (tw_index i3 = first + lane; i3 < to; i3 += 16) {
            const tw_index at = start + i3;
";

/// The sum of 16 partial sums, in pairs, for each chunk.
const ADD_PAIRS: &str = "        TW_REAL sum[16];
        for (int m = 0; m < 16; m++) sum[m] = parts[16 * id0 + m];
        for (int m = 0; m < 8; m++) sum[m] += sum[m + 8];
        for (int m = 0; m < 4; m++) sum[m] += sum[m + 4];
        for (int m = 0; m < 2; m++) sum[m] += sum[m + 2];
        sums[id0] = sum[0] + sum[1];
";

/// The sum of the chunks of a row, in blocks of eight.
const ADD_ROWS: &str = "        const tw_index chunks = tw_chunks(a.range);
        TW_REAL sum = 0;
        for (tw_index p = 0; p < chunks; p += 8) {
            TW_REAL block = 0;
            for (tw_index c = p; c < tw_min(p + 8, chunks); c++) block += sums[id0 * chunks + c];
            sum += block;
        }
        totals[id0] = sum;
";

/// End of the search in a part of a chunk.
const STORE_BEST: &str = "        const tw_index item = (row * tw_chunks(a.range) + chunk) * 16 + lane;
        parts[item] = best;
        places[item] = place;
";

/// The best value of a chunk, and the first place that has it.
const BEST: &str = "        TW_REAL best = parts[16 * id0];
        tw_index place = places[16 * id0];
        for (int m = 1; m < 16; m++) {
            const TW_REAL x = parts[16 * id0 + m];
            const tw_index i = places[16 * id0 + m];
            if (i >= 0 && (tw_better(a.largest, x, best) || (i < place && !tw_better(a.largest, best, x)))) {
                best = x;
                place = i;
            }
        }
        sums[id0] = best;
        found[id0] = place;
";

/// The sum of the chunks of the points that read an element, in blocks.
const ADD_BLOCKS: &str = "        const tw_index blocks = tw_blocks(a.range, a.block, DIMENSIONS);
        TW_REAL sum = 0;
        for (tw_index p = 0; p < blocks; p++) {
            const tw_box b = tw_part(a.range, a.block, DIMENSIONS, id0, p);
            const tw_index first = (b.lo[3] - a.range.lo[3]) / 4096, last = (b.hi[3] - a.range.lo[3] + 4095) / 4096;
            TW_REAL block = 0;
            for (tw_index j0 = b.lo[0]; j0 < b.hi[0]; j0++)
                for (tw_index j1 = b.lo[1]; j1 < b.hi[1]; j1++)
                    for (tw_index j2 = b.lo[2]; j2 < b.hi[2]; j2++)
                        for (tw_index c = first; c < last; c++)
                            block += sums[tw_row(a.range, j0, j1, j2) * tw_chunks(a.range) + c];
            sum += block;
        }
";
