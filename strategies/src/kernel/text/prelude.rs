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
    let extension = match (dialect, precision) {
        (Dialect::OpenCl, Precision::Double) => "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
        _ => "",
    };
    let limits = match precision {
        Precision::Double => DOUBLE,
        Precision::Single => SINGLE,
    };
    let helper = format!("#define TW_HELPER {}\n#define TW_REAL {}\n", dialect.helper(), precision.name());
    let helpers = precision.typed(HELPERS);
    format!("#ifndef TW_KERNELS\n#define TW_KERNELS\n{extension}{start}{helper}{limits}{helpers}#endif\n")
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

const HELPERS: &str = "\
/* The shape of the views, and the range of the points: lo <= i < hi.
   Leading dimensions that views do not have are of length 1. */
typedef struct { long n[4], lo[4], hi[4]; } tw_grid;
TW_HELPER long tw_at(tw_grid g, long i, long j, long k, long l) { return ((i * g.n[1] + j) * g.n[2] + k) * g.n[3] + l; }
TW_HELPER int tw_within(long i, long n) { return i >= 0 && i < n; }
TW_HELPER long tw_nearest(long i, long n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
TW_HELPER long tw_periodic(long i, long n) { i %= n; return i < 0 ? i + n : i; }
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
TW_HELPER long tw_max(long a, long b) { return a > b ? a : b; }
TW_HELPER long tw_min(long a, long b) { return a < b ? a : b; }
TW_HELPER int tw_in(tw_grid g, long i, long j, long k, long l) {
    return i >= g.lo[0] && i < g.hi[0] && j >= g.lo[1] && j < g.hi[1] && k >= g.lo[2] && k < g.hi[2] && l >= g.lo[3] &&
           l < g.hi[3];
}
/* Number of a row of the range. */
TW_HELPER long tw_row(tw_grid g, long i, long j, long k) {
    return ((i - g.lo[0]) * (g.hi[1] - g.lo[1]) + j - g.lo[1]) * (g.hi[2] - g.lo[2]) + k - g.lo[2];
}
/* Place of the adjoint of a reduction at a point: there is one (how = 0), or one for each element (1) or row (2). */
TW_HELPER long tw_seed(tw_grid g, long how, long i, long j, long k, long l) {
    return how == 0 ? 0 : how == 1 ? tw_at(g, i, j, k, l) : tw_row(g, i, j, k);
}
/* Extents of a block of the points that read an element of an operand of lower rank. */
typedef struct { long n[4]; } tw_block;
/* Number of the elements that are read of an operand along these dimensions, a bit for each. */
TW_HELPER long tw_elements(tw_grid g, int along) {
    long count = 1;
    for (int d = 0; d < 4; d++)
        if (along >> d & 1) count *= g.hi[d] - g.lo[d];
    return count;
}
/* Number of blocks of the points that read such an element. */
TW_HELPER long tw_blocks(tw_grid g, tw_block b, int along) {
    long count = 1;
    for (int d = 0; d < 4; d++)
        if (!(along >> d & 1)) count *= (g.hi[d] - g.lo[d] + b.n[d] - 1) / b.n[d];
    return count;
}
/* Block p of the points that read element e. */
TW_HELPER tw_grid tw_part(tw_grid g, tw_block b, int along, long e, long p) {
    for (int d = 3; d >= 0; d--) {
        const long length = g.hi[d] - g.lo[d], own = along >> d & 1, n = own ? 1 : b.n[d];
        const long count = (length + n - 1) / n, first = g.lo[d] + (own ? e : p) % count * n;
        if (own) e /= count; else p /= count;
        g.lo[d] = first;
        g.hi[d] = tw_min(first + n, g.hi[d]);
    }
    return g;
}
/* A block of all points. */
TW_HELPER tw_block tw_all(tw_grid g) {
    tw_block b;
    for (int d = 0; d < 4; d++) b.n[d] = g.hi[d] - g.lo[d];
    return b;
}
/* Adjoint after a gather: contributions are added (how = 0), or replace the old adjoint everywhere (1) or at the points
   of the launch (2). */
TW_HELPER TW_REAL tw_gathered(TW_REAL old, TW_REAL sum, int how, int inside) {
    return (how == 1 || (how == 2 && inside) ? 0.0 : old) + sum;
}
/* The sum of 16 partial sums, in pairs. */
TW_HELPER TW_REAL tw_pairs(TW_REAL *sums) {
    for (int step = 8; step > 0; step /= 2)
        for (int k = 0; k < step; k++) sums[k] += sums[k + step];
    return sums[0];
}
/* Number of chunks of a row. */
TW_HELPER long tw_chunks(tw_grid g) { return (g.hi[3] - g.lo[3] + 4095) / 4096; }
";
