//! Scans in groups: functions of a source for a rule of two values, and the calls of them.
//!
//! A work item treats a group from its first element to its last one, and one work item passes the carries on, so that
//! the order of operations is that of the host: see `launch::fold`.

use super::array::Array;
use super::calls::{Call, Calls, KERNEL, Purpose};
use super::emitter::Writer;
use super::lines::Point;
use crate::Number;
use crate::kernel::ir::access::Access;
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::scans::{Scan, ScanStep};
use core::fmt::Write;

/// A function of the source of a rule: name, arrays and body.
struct Function {
    name: &'static str,
    arrays: &'static [Array],
    body: &'static str,
}

const X: Array = Array::Values(0);
const Y: Array = Array::NewValues(0);

/// The functions, three for each kind of sweep: what groups do alone, the carries, and what follows from these.
const FUNCTIONS: [[Function; 3]; 3] = [
    [
        Function { name: "scan", arrays: &[X, Array::Output(0), Array::Sums], body: SCAN },
        Function { name: "scan_carries", arrays: &[Array::Sums], body: SCAN_CARRIES },
        Function { name: "scan_join", arrays: &[Array::Output(0), Array::Sums], body: SCAN_JOIN },
    ],
    [
        Function { name: "back", arrays: &[X, Y, Array::Seeds(0), Array::Parts, Array::Sums], body: BACK },
        Function { name: "back_carries", arrays: &[Y, Array::Seeds(0), Array::Sums], body: BACK_CARRIES },
        Function {
            name: "back_join",
            arrays: &[X, Y, Array::Seeds(0), Array::Adjoints(0), Array::Parts, Array::Sums],
            body: BACK_JOIN,
        },
    ],
    [
        Function { name: "push", arrays: &[X, Y, Array::Tangents(0), Array::NewTangents(0), Array::Sums], body: PUSH },
        Function { name: "push_carries", arrays: &[Array::Sums], body: PUSH_CARRIES },
        Function { name: "push_join", arrays: &[X, Array::NewTangents(0), Array::Sums], body: PUSH_JOIN },
    ],
];

impl Writer<'_> {
    /// Formats all functions of scans by a rule.
    pub(super) fn scans(&self) -> Result<String, String> {
        let (name, plan) = (self.name, self.lines.plan);
        let at = if plan.scripts.needs.is_empty() { "(TW_REAL)0" } else { "(p)[k]" };
        let mut text = format!("#define TW_AT(p, k) {at}\n");
        let constants = if plan.constants > 0 { format!(" TW_REAL k[{}];", plan.constants) } else { String::new() };
        _ = writeln!(text, "{LAUNCH} TW_REAL start;{constants} }} {name}_launch;\n{TIMES}");
        let (lines, names) = self.values_at(Point::RULE)?;
        text += &self.helper("tw_of", "", &lines, &names[0]);
        for (operand, of) in ["tw_left", "tw_right"].into_iter().enumerate() {
            let leaf = plan.scripts.leaf(Access::number(operand));
            let (lines, slope) = match leaf {
                Some(leaf) => self.partial(leaf, Point::RULE, 4)?,
                None => (String::new(), String::new()),
            };
            let result = if leaf.is_some() { format!("tw_times(seed, {slope})") } else { String::from("0") };
            text += &self.helper(of, ", TW_REAL seed", &lines, &result);
        }
        text += TANGENT.replace("NAME", name).as_str();
        for function in FUNCTIONS.iter().flatten() {
            let body = self.each_item(function.body);
            text += &self.declared(&format!("{name}_{}", function.name), function.arrays, name, &body);
        }
        Ok(text)
    }

    /// Formats a function of two values.
    fn helper(&self, function: &str, more: &str, lines: &str, result: &str) -> String {
        let name = self.name;
        format!(
            "TW_HELPER TW_REAL {function}({name}_launch a, TW_REAL v0, TW_REAL v1{more}) {{\n{lines}    return {result};\n}}\n"
        )
    }
}

/// First argument: numbers of elements that are combined, of those of a group, and of results in front of them; numbers
/// of groups and of work items; whether contributions replace the adjoints; and the value before the elements, or its
/// tangent.
const LAUNCH: &str = "typedef struct { tw_index length, group, skip, groups, items[3], is_fresh;";

/// A product in which zero times anything is zero; that of a finite seed and a zero has a sign.
const TIMES: &str = "TW_HELPER TW_REAL tw_times(TW_REAL seed, TW_REAL slope) {
    return seed != 0 && (seed - seed == 0 || slope != 0) ? seed * slope : 0;
}";

const TANGENT: &str = "TW_HELPER TW_REAL tw_tangent(NAME_launch a, TW_REAL v0, TW_REAL v1, TW_REAL d0, TW_REAL d1) {
    return tw_times(d0, tw_left(a, v0, v1, 1)) + tw_times(d1, tw_right(a, v0, v1, 1));
}
";

/// Sums: the last values of groups, and the carries behind them.
const SCAN: &str = "        const tw_index first = id0 * a.group, to = tw_min(first + a.group, a.length);
        TW_REAL last = x0[first];
        if (id0 == 0 && a.skip) {
            y0[0] = a.start;
            last = tw_of(a, a.start, last);
        }
        y0[a.skip + first] = last;
        for (tw_index k = first + 1; k < to; k++) {
            last = tw_of(a, last, x0[k]);
            y0[a.skip + k] = last;
        }
        sums[id0] = last;
";

const SCAN_CARRIES: &str = "        TW_REAL last = sums[0];
        for (tw_index g = 1; g < a.groups; g++) {
            sums[a.groups + g] = last;
            last = tw_of(a, last, sums[g]);
        }
";

const SCAN_JOIN: &str = "        const tw_index k = a.group + id0, at = a.skip + k;
        y0[at] = tw_of(a, sums[a.groups + k / a.group], y0[at]);
";

/// Sums: the last local values of groups, and what carries get from all but the last element of theirs.
const BACK: &str = "        const tw_index g = id0 + 1, first = g * a.group, to = tw_min(first + a.group, a.length);
        const TW_REAL carry = TW_AT(z0, a.skip + first - 1);
        TW_REAL inside = TW_AT(x0, first), sum = 0;
        parts[first] = inside;
        for (tw_index k = first + 1; k < to; k++) {
            sum += tw_left(a, carry, inside, s0[a.skip + k - 1]);
            inside = tw_of(a, inside, TW_AT(x0, k));
            parts[k] = inside;
        }
        sums[g] = inside;
        sums[a.groups + g] = sum;
";

/// Then what the last results of groups get from later ones.
const BACK_CARRIES: &str = "        TW_REAL running = 0;
        for (tw_index g = a.groups - 1; g > 0; g--) {
            const TW_REAL carry = TW_AT(z0, a.skip + g * a.group - 1);
            const TW_REAL seed = s0[a.skip + tw_min((g + 1) * a.group, a.length) - 1] + running;
            const TW_REAL before = sums[a.groups + g] + tw_left(a, carry, sums[g], seed);
            sums[a.groups + g] = running;
            running = before;
        }
        sums[a.groups] = running;
";

/// Then the adjoint of the value before the elements, in the place of that of the first group.
const BACK_JOIN: &str = "        const tw_index first = id0 * a.group, to = tw_min(first + a.group, a.length);
        const TW_REAL later = sums[a.groups + id0];
        if (a.is_fresh)
            for (tw_index k = first; k < (to == a.length ? to + a.skip : to); k++) d0[k] = 0;
        if (id0 == 0) {
            TW_REAL seed = later;
            for (tw_index k = to - 1; k >= 0; k--) {
                seed += s0[a.skip + k];
                if (k + a.skip > 0 && seed != 0) {
                    const TW_REAL before = TW_AT(z0, a.skip + k - 1), x = TW_AT(x0, k);
                    d0[k] += tw_right(a, before, x, seed);
                    seed = tw_left(a, before, x, seed);
                }
            }
            if (a.skip) sums[a.groups] = seed + s0[0];
            else d0[0] += seed;
        } else {
            const TW_REAL carry = TW_AT(z0, a.skip + first - 1);
            TW_REAL adjoint = tw_right(a, carry, sums[id0], s0[a.skip + to - 1] + later);
            for (tw_index k = to - 1; k > first; k--) {
                const TW_REAL before = TW_AT(parts, k - 1), x = TW_AT(x0, k);
                d0[k] += tw_right(a, before, x, adjoint);
                adjoint = tw_left(a, before, x, adjoint);
                adjoint += tw_right(a, carry, before, s0[a.skip + k - 1]);
            }
            d0[first] += adjoint;
        }
";

/// Sums: the last local values of groups, their carries, and the tangents of both.
const PUSH: &str = "        const tw_index first = id0 * a.group, to = tw_min(first + a.group, a.length);
        TW_REAL last = TW_AT(x0, first), tangent = dx0[first];
        if (id0 == 0 && a.skip) {
            dy0[0] = a.start;
            tangent = tw_tangent(a, TW_AT(z0, 0), last, a.start, tangent);
            last = tw_of(a, TW_AT(z0, 0), last);
        }
        dy0[a.skip + first] = tangent;
        for (tw_index k = first + 1; k < to; k++) {
            const TW_REAL x = TW_AT(x0, k);
            tangent = tw_tangent(a, last, x, tangent, dx0[k]);
            last = tw_of(a, last, x);
            dy0[a.skip + k] = tangent;
        }
        sums[id0] = last;
        sums[2 * a.groups + id0] = tangent;
";

const PUSH_CARRIES: &str = "        TW_REAL last = sums[0], tangent = sums[2 * a.groups];
        for (tw_index g = 1; g < a.groups; g++) {
            sums[a.groups + g] = last;
            sums[3 * a.groups + g] = tangent;
            tangent = tw_tangent(a, last, sums[g], tangent, sums[2 * a.groups + g]);
            last = tw_of(a, last, sums[g]);
        }
";

const PUSH_JOIN: &str =
    "        const tw_index g = id0 + 1, first = g * a.group, to = tw_min(first + a.group, a.length);
        const TW_REAL carry = sums[a.groups + g], of_carry = sums[3 * a.groups + g];
        TW_REAL inside = TW_AT(x0, first);
        for (tw_index k = first; k < to; k++) {
            if (k > first) inside = tw_of(a, inside, TW_AT(x0, k));
            dy0[a.skip + k] = tw_tangent(a, carry, inside, of_carry, dy0[a.skip + k]);
        }
";

impl Calls {
    /// Carries out a scan in groups, or a sweep through one. The adjoint of the value before the elements is in the
    /// place of [`Array::Sums`] that is the number of groups.
    #[doc(hidden)]
    #[must_use]
    pub fn of_scan<V: Number>(job: &Scan<'_, V>) -> Self {
        let (length, group) = (job.length, job.group);
        let (groups, tail) = (length.div_ceil(group), length.saturating_sub(group));
        let (kind, start, is_fresh, values, items) = match &job.step {
            ScanStep::Values { start, .. } => (0, *start, false, [true, false], [groups, 1, tail]),
            ScanStep::Adjoints { is_fresh, values, .. } => {
                (1, V::ZERO, *is_fresh, values.map(|values| values.is_some()), [groups - 1, 1, groups])
            }
            ScanStep::Tangents { of_start, values, .. } => {
                (2, *of_start, false, values.map(|values| values.is_some()), [groups, 1, groups - 1])
            }
        };
        let parts = if kind == 1 { length } else { 0 };
        let long = |n: usize| n as u64;
        let mut first = vec![long(length), long(group), u64::from(job.is_exclusive), long(groups), 0, 1, 1];
        first.push(is_fresh.into());
        let numbers = core::iter::once(&start).chain(&job.kernel.constants).map(|number| number.as_f64());
        first.extend(Precision::of::<V>().words(Vec::new(), numbers));
        let call = |(function, items): (&Function, usize)| {
            let mut launch = first.clone();
            launch[4] = long(items);
            let function_name = format!("{KERNEL}_{}", function.name);
            let is_there = |array: &Array| match array {
                Array::Values(_) => values[0],
                Array::NewValues(_) => values[1],
                _ => true,
            };
            let arrays = function.arrays.iter().map(|array| Some(*array).filter(is_there)).collect();
            Call { function: function_name, launch, arrays, items: [items, 1, 1], group: [64, 1, 1] }
        };
        let calls = FUNCTIONS[kind].iter().zip(items).map(call).collect();
        Self { calls, purpose: Purpose::Scans, parts, sums: 4 * groups, ..Self::default() }
    }
}
