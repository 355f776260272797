"""Writes the table of elementary, normal-distribution and Lambert functions: python elementary.py > ../tables/elementary.txt

Needs mpmath (gmpy2 makes it fast). Values come from mpmath at 150 digits or more, derivatives from central differences
of relative step 10^-30, whose error is below 10^-25; each is computed once more with another step. Limits at infinity
and at singular points are written down by hand. Points are drawn from a generator with a fixed seed: each run writes the
same table.
"""

import math
import random
import sys

from mpmath import mp, mpf

random.seed(37)
INF = math.inf
LARGEST, SMALLEST = mpf(10) ** 290, mpf(10) ** -290


# Functions.


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def normal_quantile(p):
    """By Newton's method for ln of the distribution function, from the tail that is the smaller."""
    if p > 0.5:
        return -normal_quantile(1 - p)
    q = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else (p - mpf(1) / 2) * mp.sqrt(2 * mp.pi)
    for _ in range(60):
        cdf = normal_cdf(q)
        step = (mp.log(cdf) - mp.log(p)) * cdf / mp.npdf(q)
        q -= step
        if abs(step) < mpf(10) ** (10 - mp.dps) * abs(q) or step == 0:
            break
    return q


def softplus(x):
    return (x if x > 0 else 0) + mp.log1p(mp.exp(-abs(x)))


def sigmoid(x):
    return 1 / (1 + mp.exp(-x)) if x > -1 else mp.exp(x) / (1 + mp.exp(x))


def lambert(branch):
    """By Newton's method: for the series at the branch point, or for the logarithm."""

    def function(x):
        near = x + mp.exp(-1)
        if near < 0:
            raise ValueError
        p = mp.sqrt(2 * mp.e * near) * (1 if branch == 0 else -1)
        if abs(p) < 0.5:
            w = -1 + p - p * p / 3 + 11 * p**3 / 72
        elif branch == 0:
            w = mp.log1p(x) * (1 - mp.log1p(mp.log1p(x)) / (2 + mp.log1p(x)))
        else:
            a = mp.log(-x)
            w = a - mp.log(-a) - (0.3 if a > -2 else 0)
        for _ in range(60):
            factor = mp.exp(w)
            step = (w * factor - x) / (factor * (1 + w))
            step = step / (1 - step * (w + 2) / (2 * w + 2))
            w -= step
            if abs(step) < mpf(10) ** (5 - mp.dps) * abs(w) or step == 0:
                return w
        return w

    return function


UNARY = {
    "sqrt": mp.sqrt, "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "recip": lambda x: 1 / x, "exp": mp.exp,
    "exp2": lambda x: mp.exp(x * mp.log(2)), "exp_m1": mp.expm1, "ln": mp.log, "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10), "ln_1p": mp.log1p, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh,
    "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh, "erf": mp.erf, "erfc": mp.erfc,
    "normal_pdf": mp.npdf, "normal_cdf": normal_cdf, "normal_quantile": normal_quantile, "sigmoid": sigmoid,
    "softplus": softplus, "gamma": mp.gamma, "ln_gamma": lambda x: mp.log(abs(mp.gamma(x))), "digamma": mp.digamma,
    "ln_normal_cdf": lambda x: mp.log(normal_cdf(x)) if x < 0 else mp.log1p(-normal_cdf(-x)),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "ln_erfc": lambda x: mp.log1p(-mp.erf(x)) if abs(x) < 0.5 else mp.log(mp.erfc(x)),
    "log1m_exp": lambda x: mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x)), "x_ln_x": lambda x: x * mp.log(x),
    "logit": lambda p: mp.log(p) - mp.log1p(-p), "ln_sigmoid": lambda x: -softplus(-x),
    "sinc": lambda x: mp.sin(x) / x if x else mpf(1), "square": lambda x: x * x,
    "lambert_w0": lambert(0), "lambert_wm1": lambert(-1),
}  # fmt: skip
BINARY = {
    "powf": mp.power, "log": lambda x, y: mp.log(x) / mp.log(y), "hypot": mp.hypot, "smooth_abs": mp.hypot,
    "atan2": mp.atan2, "beta": lambda x, y: mp.gamma(x) * mp.gamma(y) * mp.rgamma(x + y),
    "log_add_exp": lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
    "log_diff_exp": lambda x, y: x + UNARY["log1m_exp"](y - x), "xlogy": lambda x, y: x * mp.log(y),
    "xlog1py": lambda x, y: x * mp.log1p(y),
}  # fmt: skip


# Derivatives.


def derivatives(f, x, shift):
    """Value, first and second derivatives, the upper triangle by rows."""
    n = len(x)
    size = [abs(mpf(a)) if a else mpf(1) for a in x]
    h = [mpf(10) ** -shift * min(s, 1) for s in size]
    exact = [mpf(a) for a in x]

    def at(*moves):
        return f(*(a + h[i] * sum(m for j, m in moves if j == i) for i, a in enumerate(exact)))

    value = at()
    up, down = [at((i, 1)) for i in range(n)], [at((i, -1)) for i in range(n)]
    first = [(up[i] - down[i]) / (2 * h[i]) for i in range(n)]
    second = []
    for i in range(n):
        for j in range(i, n):
            if i == j:
                second.append((up[i] - 2 * value + down[i]) / h[i] ** 2)
            else:
                corners = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
                second.append(corners / (4 * h[i] * h[j]))
    return [value] + first + second


def digits_for(x):
    """Digits that are enough for differences with small steps, at very small and very large arguments."""
    sizes = [abs(math.log10(abs(a))) for a in x if a]
    return 160 + int(3 * max(sizes, default=0) + 2 * sum(sizes))


def row(name, x):
    """A line, unless a number in it is hardly within the range of doubles, or the function is not defined next to x."""
    f = UNARY.get(name) or BINARY[name]
    for more in (0, 300, 900):
        with mp.workdps(digits_for(x) + more):
            try:
                found, again = derivatives(f, x, 30), derivatives(f, x, 32)
            except (ValueError, ZeroDivisionError):
                return
            if any(mp.im(a) != 0 for a in found):
                return
            # A 0 may be a small number that has too few digits.
            sure = more == 900 or all(found + again)
            if sure and all(agree(a, b) for a, b in zip(found, again)):
                if all(edge(a) for a in found):
                    text(name, x, found)
                return
    print("no agreement", name, x, file=sys.stderr)


def agree(a, b):
    """Whether two numbers are the same to 18 digits, or the same for doubles."""
    small, large = mpf(10) ** -330, mpf(10) ** 315
    if max(abs(a), abs(b)) < small or min(abs(a), abs(b)) > large:
        return True
    return abs(a - b) <= mpf(10) ** -18 * abs(a)


def edge(number):
    """Whether it is a number, or for a double surely 0 or infinite."""
    size = abs(number)
    return size == 0 or size < mpf(10) ** -330 or SMALLEST < size < LARGEST or size > mpf(10) ** 315


def text(name, x, numbers):
    n = len(x)
    parts = [spelled(a, 17 if k <= n else 14) for k, a in enumerate(numbers)]
    first, second = " ".join(parts[1 : n + 1]), " ".join(parts[n + 1 :])
    print(f"{name} {' '.join(decimal(a) for a in x)} | {parts[0]} | {first} | {second}")


def decimal(x):
    return repr(x).removesuffix(".0")


def spelled(number, digits):
    """A number with so many significant digits, without zeros at the end."""
    if isinstance(number, (float, int)):
        return decimal(float(number))
    if abs(number) > mpf(10) ** 310:
        return "inf" if number > 0 else "-inf"
    if abs(number) < mpf(10) ** -330:
        return "0"
    mantissa, _, exponent = mp.nstr(number, digits, strip_zeros=False, min_fixed=1, max_fixed=0).partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return mantissa + (f"e{int(exponent)}" if exponent and int(exponent) else "")


# Points.


def log_uniform(low, high):
    """A random number, rounded to some digits so that its decimals are short."""
    return float(f"{math.exp(random.uniform(math.log(low), math.log(high))):.5g}")


def sizes(count):
    """Positive numbers of all sizes, most of them of ordinary ones."""
    yield from (10.0**k for k in (-300, -200, -150, -100, -50, -20, -10, -8, -5, -3, -2))
    yield from (10.0**k for k in (2, 3, 5, 8, 15, 16, 50, 100, 150, 200, 300))
    yield from (log_uniform(1e-4, 50) for _ in range(count))
    yield from (log_uniform(1e-20, 1e20) for _ in range(count // 3))
    yield from (log_uniform(1e-300, 1e300) for _ in range(count // 8))


def both_signs(count):
    yield 0.0
    for x in sizes(count):
        yield x * random.choice((-1, 1))


def next_to(point, low=1e-16, count=12):
    """Numbers next to one, on both sides."""
    for _ in range(count):
        yield point * (1 + random.choice((-1, 1)) * log_uniform(low, 0.1))
    yield math.nextafter(point, INF)
    yield math.nextafter(point, -INF)


def between(low, high, count):
    return [float(f"{random.uniform(low, high):.5g}") for _ in range(count)]


def inside(count):
    """Between 0 and 1, towards both ends."""
    yield from (x for x in sizes(count) if x < 1)
    yield from (1 - log_uniform(1e-16, 0.5) for _ in range(count // 2))
    yield from between(0, 1, count)
    yield from (0.5, math.nextafter(1, 0), 0.3, 0.65, 0.25)
    yield from next_to(0.5)


def points(name):
    """Arguments of functions of one."""
    if name in ("sqrt", "ln", "log2", "log10", "x_ln_x"):
        yield from (x for x in sizes(40))
        yield from next_to(1.0)
        yield from next_to(1 / math.e) if name == "x_ln_x" else ()
    elif name in ("asin", "acos", "atanh"):
        yield from (x * random.choice((-1, 1)) for x in inside(40))
    elif name in ("normal_quantile", "logit"):
        yield from inside(50 if name == "logit" else 35)
    elif name == "acosh":
        yield from (1 + x for x in sizes(50) if x > 1e-16)
    elif name == "ln_1p":
        yield from (x for x in both_signs(60) if x > -1)
        yield from (-x for x in inside(15))
    elif name == "log1m_exp":
        yield from (-x for x in sizes(120))
        yield from next_to(-math.log(2))
        yield from (-x for x in between(600, 800, 20))
    elif name in ("gamma", "ln_gamma", "digamma"):
        yield from (x for x in sizes(50) if x < 1e100)
        yield from next_to(1.4616321449683622) if name != "gamma" else ()
        yield from between(-20, 0, 15)
    elif name == "lambert_w0":
        yield from sizes(100)
        yield from (-0.367 * x for x in inside(60))
        yield from (-math.exp(-1) + log_uniform(1e-16, 1e-2) for _ in range(60))
        yield from next_to(-0.25)
        x = -math.exp(-1)
        for _ in range(4):
            yield (x := math.nextafter(x, 0))
    elif name == "lambert_wm1":
        yield from (-x for x in sizes(200) if x < 0.367)
        yield from (-0.367 * x for x in inside(40))
        yield from (-math.exp(-1) + log_uniform(1e-16, 1e-2) for _ in range(60))
        yield from next_to(-0.33)
        yield from next_to(-0.2)
        yield from next_to(-2 * math.exp(-2))
        x = -math.exp(-1)
        for _ in range(4):
            yield (x := math.nextafter(x, 0))
    else:
        new = name in ("ln_normal_cdf", "erfcx", "ln_erfc", "ln_sigmoid", "sinc")
        yield from both_signs(100 if new else 45)
        yield from between(-40, 40, 60 if new else 15)
        yield from between(-6, 6, 40 if new else 10)
        borders = {"ln_normal_cdf": (-4.3,), "erfcx": (3.0, -26.6), "ln_erfc": (3.0, 0.5, -0.5), "sinc": (1.0, -1.0, math.pi)}
        for border in borders.get(name, ()):
            yield from next_to(border)


def gaps(count):
    """Pairs that are close, or far apart, of all sizes."""
    for _ in range(count):
        x = random.choice((log_uniform(1e-3, 1e3), -log_uniform(1e-3, 1e3), log_uniform(1e-300, 1e300)))
        yield x, x - abs(x) * log_uniform(1e-15, 1)
        yield x, x - log_uniform(1e-8, 800)
        yield x, -log_uniform(1e-3, 1e3)


def pairs(name):
    """Arguments of functions of two."""
    if name in ("hypot", "smooth_abs", "atan2"):
        for _ in range(80 if name == "hypot" else 40):
            x, y = (random.choice((-1, 1)) * log_uniform(1e-150, 1e150) for _ in range(2))
            yield x, y
            yield x, x * random.choice((-1, 1)) * log_uniform(1e-20, 1e20)
            yield x, log_uniform(1e-3, 1e3) * x
        yield from ((1.0, 1e-8), (1e-8, 1.0), (3e200, -4e200), (1.0, 0.0), (0.0, 1.0), (-5.0, 0.0))
        yield from () if name == "atan2" else ((3e-200, 4e-200),)  # second derivatives of atan2 are beyond doubles there
    elif name == "powf":
        for _ in range(60):
            x = log_uniform(1e-5, 1e5)
            yield x, random.choice((-1, 1)) * log_uniform(1e-10, 40)
            yield x, 1 + random.choice((-1, 1)) * log_uniform(1e-14, 1e-1)
            yield x, float(random.choice((-3, -1, 0, 1, 2, 3, 5))) + random.choice((0, 0, 0.5))
            yield 1 + random.choice((-1, 1)) * log_uniform(1e-14, 0.5), log_uniform(1e-3, 1e3)
    elif name == "log":
        for _ in range(40):
            yield log_uniform(1e-200, 1e200), log_uniform(1e-5, 1e5)
            yield 1 + log_uniform(1e-12, 1), 1 + log_uniform(1e-6, 1)
    elif name == "beta":
        for _ in range(80):
            yield log_uniform(0.05, 50), log_uniform(0.05, 50)
    elif name == "log_add_exp":
        for a, b in gaps(45):
            yield random.choice(((a, b), (b, a)))
    elif name == "log_diff_exp":
        yield from gaps(90)
        yield from ((0.0, -log_uniform(1e-20, 800)) for _ in range(30))
    elif name in ("xlogy", "xlog1py"):
        for _ in range(60):
            x = random.choice((-1, 1)) * random.choice((log_uniform(1e-200, 1e200), log_uniform(1e-3, 1e3)))
            yield x, log_uniform(1e-90, 1e90)
            yield x, log_uniform(1e-3, 1e3)
            if name == "xlogy":
                yield x, 1 + random.choice((-1, 1)) * log_uniform(1e-15, 0.5)
                yield 0.0, log_uniform(1e-100, 1e100)
            else:
                yield x, random.choice((-1 + log_uniform(1e-15, 0.9), -log_uniform(1e-15, 0.9)))
                yield 0.0, random.choice((-0.9, 1)) * log_uniform(1e-15, 1)


# Limits: name, arguments, value, first and second derivatives.
LIMITS = """
ln_normal_cdf inf | 0 | 0 | 0
ln_normal_cdf -inf | -inf | inf | -1
ln_normal_cdf -1e200 | -inf | 1e200 | -1
ln_normal_cdf nan | nan | nan | nan
erfcx inf | 0 | 0 | 0
erfcx -inf | inf | -inf | inf
erfcx -30 | inf | -inf | inf
erfcx nan | nan | nan | nan
ln_erfc inf | -inf | -inf | -2
ln_erfc -inf | 0.6931471805599453 | 0 | 0
ln_erfc 1e200 | -inf | -2e200 | -2
ln_erfc nan | nan | nan | nan
log1m_exp 0 | -inf | -inf | -inf
log1m_exp -0.0 | -inf | -inf | -inf
log1m_exp -inf | 0 | 0 | 0
log1m_exp 1 | nan | nan | nan
log1m_exp inf | nan | nan | nan
log1m_exp nan | nan | nan | nan
x_ln_x 0 | 0 | -inf | inf
x_ln_x -0.0 | 0 | -inf | inf
x_ln_x inf | inf | inf | 0
x_ln_x -1 | nan | nan | nan
x_ln_x -1e-300 | nan | nan | nan
logit 0 | -inf | inf | -inf
logit -0.0 | -inf | inf | -inf
logit 1 | inf | inf | inf
logit -0.5 | nan | nan | nan
logit 1.5 | nan | nan | nan
logit inf | nan | nan | nan
logit -inf | nan | nan | nan
ln_sigmoid inf | 0 | 0 | 0
ln_sigmoid -inf | -inf | 1 | 0
sinc 0 | 1 | 0 | -0.33333333333333
sinc -0.0 | 1 | 0 | -0.33333333333333
sinc inf | 0 | 0 | 0
sinc -inf | 0 | 0 | 0
square inf | inf | inf | 2
square -1e200 | inf | -2e200 | 2
square 1e-200 | 0 | 2e-200 | 2
lambert_w0 0 | 0 | 1 | -2
lambert_w0 -0.0 | 0 | 1 | -2
lambert_w0 inf | inf | 0 | 0
lambert_w0 -0.36787944117144233 | -1 | inf | -inf
lambert_w0 -0.3678794411714424 | nan | nan | nan
lambert_w0 -inf | nan | nan | nan
lambert_wm1 0 | -inf | -inf | -inf
lambert_wm1 -0.0 | -inf | -inf | -inf
lambert_wm1 -0.36787944117144233 | -1 | -inf | inf
lambert_wm1 -0.4 | nan | nan | nan
lambert_wm1 0.1 | nan | nan | nan
log_diff_exp 1 1 | -inf | inf -inf | -inf inf -inf
log_diff_exp -inf -inf | -inf | inf -inf | -inf inf -inf
log_diff_exp 2 -inf | 2 | 1 0 | 0 0 0
log_diff_exp inf 2 | inf | 1 0 | 0 0 0
log_diff_exp inf -inf | inf | 1 0 | 0 0 0
log_diff_exp 1 2 | nan | nan nan | nan nan nan
log_diff_exp 1e300 -1e300 | 1e300 | 1 0 | 0 0 0
xlogy 0 0 | 0 | -inf 0 | 0 inf 0
xlogy 0 -0.0 | 0 | -inf 0 | 0 inf 0
xlogy 2 0 | -inf | -inf inf | 0 inf -inf
xlogy -2 0 | inf | -inf -inf | 0 inf inf
xlogy 0 inf | 0 | inf 0 | 0 0 0
xlogy 2 inf | inf | inf 0 | 0 0 0
xlogy 2 -1 | nan | nan nan | 0 nan nan
xlogy 0 -1 | nan | nan nan | 0 nan nan
xlog1py 0 -1 | 0 | -inf 0 | 0 inf 0
xlog1py 2 -1 | -inf | -inf inf | 0 inf -inf
xlog1py -2 -1 | inf | -inf -inf | 0 inf inf
xlog1py 0 inf | 0 | inf 0 | 0 0 0
xlog1py 2 -2 | nan | nan nan | 0 nan nan
asin 1 | 1.5707963267948966 | inf | inf
asin -1 | -1.5707963267948966 | inf | -inf
acos 1 | 0 | -inf | -inf
atanh 1 | inf | inf | inf
atanh -1 | -inf | inf | -inf
tanh inf | 1 | 0 | 0
tanh -inf | -1 | 0 | 0
sigmoid inf | 1 | 0 | 0
sigmoid -inf | 0 | 0 | 0
softplus inf | inf | 1 | 0
hypot inf 3 | inf | 1 0 | 0 0 0
"""


def main():
    """Prints the table."""
    print("# name x [y] | f | f_x [f_y] | f_xx [f_xy f_yy], made by generate/elementary.py")
    for name in UNARY:
        for x in sorted(set(points(name))):
            row(name, [x])
    for name in BINARY:
        for x in sorted(set(pairs(name))):
            row(name, list(x))
    print(LIMITS.strip())


if __name__ == "__main__":
    main()
