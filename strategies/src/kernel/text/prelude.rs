//! Definitions in front of the kernels of a source.

use super::dialect::Dialect;
use crate::kernel::memory::device::Precision;

/// Returns the definitions that all kernels of this dialect need.
pub(super) fn prelude(dialect: Dialect, precision: Precision) -> String {
    let start = match dialect {
        Dialect::C => C,
        Dialect::OpenCl => OPENCL,
        Dialect::Cuda => CUDA,
    };
    let extension = dialect.extension(precision);
    let limits = match precision {
        Precision::Double => DOUBLE,
        Precision::Single => SINGLE,
    };
    let helper = format!("#define TW_HELPER {}\n#define TW_REAL {}\n", dialect.helper(), precision.name());
    let helpers = precision.typed(HELPERS);
    let index = format!("typedef {} tw_index;\n", dialect.index());
    format!("{extension}{start}{helper}{index}{limits}{LAUNCH}{helpers}")
}

/// Functions of every type by one name, and no multiplication that is fused with an addition: gcc has the pragma in no
/// effect, and needs `-ffp-contract=off`.
const C: &str = "\
#include <math.h>
#include <tgmath.h>
#define TW_INFINITY INFINITY
#define TW_NAN NAN
";

const OPENCL: &str = "\
#pragma OPENCL FP_CONTRACT OFF
#define TW_INFINITY INFINITY
#define TW_NAN NAN
";

/// NVRTC has no headers, hence no infinity; it must be called with `--fmad=false`.
const CUDA: &str = "\
#define TW_INFINITY __int_as_float(0x7f800000)
#define TW_NAN __int_as_float(0x7fffffff)
";

const DOUBLE: &str = "\
#define TW_TINY 2.2250738585072014e-308
#define TW_UP 0x1p540
#define TW_DOWN 0x1p-540
#define TW_LARGEST_INT 2147483647.0
";

const SINGLE: &str = "\
#define TW_TINY 1.1754944e-38f
#define TW_UP 0x1p67f
#define TW_DOWN 0x1p-67f
#define TW_LARGEST_INT 2147483520.0f
";

/// Arguments of kernels; `calls` fills them in.
const LAUNCH: &str = "\
typedef struct { tw_index lo[4], hi[4]; } tw_box;
/* n: lengths of the views; leading dimensions that views do not have are of length 1.
   range: points of the launch. box: points or elements of the work items. inner: those whose reads, and readers, all
   lie inside. block: extents of a block. items: number of work items along three dimensions.
   w: for each output, its adjoint is one number (0), or there is one for each element (1) or row of the range (2).
   h: for each operand, contributions to its adjoints are added (0), or replace what is there everywhere (1) or at the
   points of the launch (2). largest: 1 if the largest value is searched for, 0 if it is the smallest one.
   once: 1, which compilers do not know. asked: operands whose adjoints are gathered, a bit for each.
   u: adjoints of outputs that are one number; in forward sweeps tangents of uniform scalars, by operand. c: uniform
   scalars, by operand. */
#define TW_LAUNCH tw_index n[4]; tw_box range, box, inner; tw_index block[4], items[3]; \\
    char w[6], h[12], largest, once; int asked; TW_REAL u[12], c[12];
typedef struct { TW_LAUNCH } tw_launch;
";

const HELPERS: &str = "\
TW_HELPER int tw_within(tw_index i, tw_index n) { return i >= 0 && i < n; }
TW_HELPER tw_index tw_nearest(tw_index i, tw_index n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
TW_HELPER tw_index tw_periodic(tw_index i, tw_index n) {
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}
TW_HELPER int tw_normal(TW_REAL x) { return fabs(x) >= TW_TINY && fabs(x) < TW_INFINITY; }
TW_HELPER TW_REAL tw_one(TW_REAL v) { return isnan(v) ? v : 1.0; }
TW_HELPER TW_REAL tw_sigmoid(TW_REAL x) {
    const TW_REAL e = exp(-fabs(x)), large = 1.0 / (1.0 + e);
    return x < 0.0 ? e * large : large;
}
/* factor * x^y, where x^y alone may be too large or too small. */
TW_HELPER TW_REAL tw_in_halves(TW_REAL factor, TW_REAL x, TW_REAL y) {
    const TW_REAL root = pow(x, 0.5 * y);
    return root == 0.0 ? root : factor * root * root;
}
TW_HELPER TW_REAL tw_pow_left(TW_REAL x, TW_REAL y) {
    const TW_REAL v = pow(x, y), ratio = v / x, slope = ratio * y, tiny = TW_TINY;
    if (fabs(v) >= tiny && fabs(ratio) >= tiny && fabs(slope) < TW_INFINITY) return slope;
    if (y == 0.0 || (x == 1.0 && isnan(y))) return 0.0;
    if (x == 0.0 || isinf(x) || isinf(y)) { const TW_REAL p = pow(x, y - 1.0); return p == 0.0 ? p : y * p; }
    if (isnan(v)) return v;
    const TW_REAL apart = tw_in_halves(y, fabs(x), y - 1.0);
    return (signbit(v) != 0) == (x < 0.0) ? apart : -apart;
}
TW_HELPER TW_REAL tw_pow_right(TW_REAL x, TW_REAL y) {
    const TW_REAL v = pow(x, y);
    if (tw_normal(v) && !isnan(x)) return v * log(x);
    if (x < 0.0) return TW_NAN;
    if (isnan(x) && y == 0.0) return 0.0;
    if (x == 0.0 || isinf(x)) return v == 0.0 ? v : v * log(x);
    return tw_in_halves(log(x), x, y);
}
TW_HELPER int tw_whole(TW_REAL n) { return (int)fmax(fmin(n, TW_LARGEST_INT), -2147483648.0); }
TW_HELPER TW_REAL tw_powi(TW_REAL x, int n) {
    TW_REAL power = 1.0;
    for (int rest = n;;) {
        if (rest & 1) power *= x;
        if ((rest /= 2) == 0) break;
        x *= x;
    }
    return n < 0 ? 1.0 / power : power;
}
TW_HELPER TW_REAL tw_powi_left(TW_REAL x, int n) {
    const TW_REAL slope = n * tw_powi(x, n < -2147483647 ? n : n - 1);
    if (n >= -64 && n <= 64 && fabs(slope) > 0.0) return slope;
    if (n == 0) return 0.0;
    const TW_REAL apart = tw_in_halves(n, fabs(x), n - 1.0);
    return signbit(x) && n % 2 == 0 ? -apart : apart;
}
TW_HELPER TW_REAL tw_toward(TW_REAL x, TW_REAL y) {
    const TW_REAL r = hypot(x, y);
    if (tw_normal(r)) return x / r;
    if (isinf(x)) return copysign(isinf(y) ? 0.7071067811865476 : 1.0, x);
    if (isinf(y)) return 0.0;
    const TW_REAL scale = isinf(r) ? 0.25 : 1e18;
    return x * scale / hypot(x * scale, y * scale);
}
TW_HELPER TW_REAL tw_around(TW_REAL x, TW_REAL y) {
    const TW_REAL square = x * x + y * y;
    if (tw_normal(square)) return x / square;
    if ((isinf(x) || isinf(y)) && !isnan(x) && !isnan(y)) return 0.0;
    const TW_REAL scale = hypot(x, y) < 1.0 ? TW_UP : TW_DOWN, r = hypot(x * scale, y * scale);
    return x * scale / r / r * scale;
}
TW_HELPER tw_index tw_max(tw_index a, tw_index b) { return a > b ? a : b; }
TW_HELPER tw_index tw_min(tw_index a, tw_index b) { return a < b ? a : b; }
TW_HELPER int tw_in(tw_box b, tw_index i, tw_index j, tw_index k, tw_index l) {
    return i >= b.lo[0] && i < b.hi[0] && j >= b.lo[1] && j < b.hi[1] && k >= b.lo[2] && k < b.hi[2] && l >= b.lo[3] &&
           l < b.hi[3];
}
/* The second index of two that a dimension of the device stands for, of which the other one has this many values. No
   branch, so that compilers compute it once for all work items along the first dimension. */
TW_HELPER tw_index tw_outer(tw_index id, tw_index count) {
    return (tw_index)((unsigned)id / (unsigned)tw_max(count, 1));
}
/* Number of a row of the range. */
TW_HELPER tw_index tw_row(tw_box b, tw_index i, tw_index j, tw_index k) {
    return ((i - b.lo[0]) * (b.hi[1] - b.lo[1]) + j - b.lo[1]) * (b.hi[2] - b.lo[2]) + k - b.lo[2];
}
TW_HELPER tw_index tw_rows(tw_box b) { return (b.hi[0] - b.lo[0]) * (b.hi[1] - b.lo[1]) * (b.hi[2] - b.lo[2]); }
/* Number of chunks of a row. */
TW_HELPER tw_index tw_chunks(tw_box b) { return (b.hi[3] - b.lo[3] + 4095) / 4096; }
/* Number of blocks of the points that read an element of an operand along these dimensions, a bit for each. */
TW_HELPER tw_index tw_blocks(tw_box b, const tw_index *block, int along) {
    tw_index count = 1;
    for (int d = 0; d < 4; d++)
        if (!(along >> d & 1)) count *= (b.hi[d] - b.lo[d] + block[d] - 1) / block[d];
    return count;
}
/* Block p of the points that read element e; all these points if p < 0. */
TW_HELPER tw_box tw_part(tw_box b, const tw_index *block, int along, tw_index e, tw_index p) {
    for (int d = 3; d >= 0; d--) {
        const tw_index length = b.hi[d] - b.lo[d], own = along >> d & 1, n = own ? 1 : p < 0 ? length : block[d];
        const tw_index count = (length + n - 1) / n, index = own ? e : p < 0 ? 0 : p;
        const tw_index first = b.lo[d] + index % count * n;
        if (own) e /= count;
        else if (p >= 0) p /= count;
        b.lo[d] = first;
        b.hi[d] = tw_min(first + n, b.hi[d]);
    }
    return b;
}
TW_HELPER int tw_better(int largest, TW_REAL x, TW_REAL y) {
    return (y != y && x == x) || (largest ? x > y : x < y);
}
";
