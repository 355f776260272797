"""Writes the table of Bessel functions of real order: python bessel.py > ../tables/bessel.txt

Needs mpmath (gmpy2 makes it fast). Values come from mpmath at 60 digits or more, derivatives by x from the recurrences
(DLMF 10.6.2, 10.29.2) and from the differential equation, derivatives by the order from central differences with the
step 10^-15, whose error is below 10^-24. Points are drawn from a generator with a fixed seed: each run writes the same
table.
"""

import math
import random
import sys

import mpmath
from mpmath import mp, mpf

STEP = mpf(10) ** -15
LARGEST, SMALLEST = mpf(10) ** 290, mpf(10) ** -290
random.seed(10)


def power_series(nu, x, sign):
    """J (sign -1) or I (sign 1) by DLMF 10.2.2 and 10.25.2, with guard digits for what cancels."""
    with mp.workdps(mp.dps + 20 + int(0.9 * x)):
        quarter = sign * x * x / 4
        term = total = mpf(1)
        k, small = 0, mpf(10) ** -mp.dps
        while k < x / 2 or abs(term) > small * abs(total):
            k += 1
            term *= quarter / (k * (nu + k))
            total += term
    with mp.workdps(mp.dps + 10):
        return (x / 2) ** nu * mp.rgamma(nu + 1) * total


def upward(kind, nu, x):
    """By recurrence from orders below 2, which is stable for Y and K, and for J while the order is below x."""
    with mp.workdps(mp.dps + 15):
        order, known, sign = nu - int(nu), KNOWN[kind], 1 if kind == "k" else -1
        below, at = known(order, x), known(order + 1, x)
        order += 1
        while order < nu - 0.5:
            below, at = at, 2 * order / x * at + sign * below
            order += 1
        return at


KNOWN = {"j": mp.besselj, "y": mp.bessely, "i": mp.besseli, "k": mp.besselk}


def function(kind, nu, x):
    """One of the four functions, by mpmath unless that is slow or fails."""
    nu = abs(nu) if kind == "k" else nu
    # mpmath is slow or fails there.
    slow = kind == "k" and 30 < x < nu * nu or kind in "jy" and 1500 < x < nu * nu / 4
    if slow and nu > 2 and not (kind == "j" and nu > x):
        return upward(kind, nu, x)
    try:
        return KNOWN[kind](nu, x)
    except (mpmath.libmp.NoConvergence, ValueError):
        return power_series(nu, x, 1 if kind == "i" else -1) if kind in "ji" else upward(kind, nu, x)


def slopes(kind, nu, x):
    """The function and its first two derivatives by x."""
    f, up = function(kind, nu, x), function(kind, nu + 1, x)
    slope = nu / x * f + (up if kind == "i" else -up)
    sign = 1 if kind in "ik" else -1
    return f, slope, sign * f + nu * nu / (x * x) * f - slope / x


def scale(kind, x, derivatives):
    """The same for exp(-x) I and exp(x) K."""
    rate = -1 if kind == "i" else 1
    f, slope, bend = derivatives
    factor = mp.exp(rate * x)
    return factor * f, factor * (slope + rate * f), factor * (bend + 2 * rate * slope + f)


def rows(kind, x, nu):
    """The lines of a function and of its scaled form."""
    digits = 60
    if kind == "i" and abs(nu) < 0.01 and x < 340:
        digits += int(0.9 * x)  # the slope by the order is exp(-2x) times the function
    with mp.workdps(digits):
        exact = mpf(x)
        three = [slopes(kind, mpf(nu) + d * STEP, exact) for d in (-1, 0, 1)]
        yield from line(f"bessel_{kind}", x, nu, three)
        if kind in "ik":
            yield from line(f"bessel_{kind}_scaled", x, nu, [scale(kind, exact, each) for each in three])


def line(name, x, nu, three):
    """One line, unless a number in it is hardly within the range of doubles."""
    below, at, above = three
    order = [(above[k] - below[k]) / (2 * STEP) for k in (0, 1)]
    bend = (above[0] - 2 * at[0] + below[0]) / STEP**2
    if nu == 0 and ("_k" in name or "_i" in name):
        order = whole_order(name, x)
    numbers = [at[0], at[1], order[0], at[2], order[1], bend]
    vanishing = "_i" in name and abs(nu) < 0.01
    if any(abs(n) > LARGEST or abs(n) < SMALLEST and n != 0 and not vanishing for n in numbers):
        return
    if vanishing:
        if any(mpf(10) ** -330 < abs(n) < SMALLEST for n in numbers):
            return
        numbers = [n if abs(n) > SMALLEST else mpf(0) for n in numbers]
    v, sx, sn, xx, xn, nn = [spelled(n, 17 if k < 3 else 14) for k, n in enumerate(numbers)]
    yield f"{name} {x!r} {nu!r} | {v} | {sx} {sn} | {xx} {xn} {nn}"


def whole_order(name, x):
    """The slope by the order, and its derivative by x, at the order 0, of K, which is even, and of I (DLMF 10.38.4)."""
    if "_k" in name:
        return mpf(0), mpf(0)
    slope, bend = -mp.besselk(0, mpf(x)), mp.besselk(1, mpf(x))
    factor = mp.exp(-mpf(x)) if "scaled" in name else 1
    return factor * slope, factor * (bend - (slope if "scaled" in name else 0))


def spelled(number, digits):
    """A number with so many significant digits, without zeros at the end."""
    if number == 0:
        return "0"
    text = mp.nstr(number, digits, strip_zeros=False, min_fixed=1, max_fixed=0)
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return mantissa + (f"e{int(exponent)}" if exponent and int(exponent) else "")


def log_uniform(low, high):
    """A random number, rounded to some digits so that its decimals are short."""
    return float(f"{math.exp(random.uniform(math.log(low), math.log(high))):.5g}")


def points():
    """Pairs of x and nu."""
    for _ in range(230):
        yield log_uniform(1e-3, 1e5), log_uniform(1e-2, 1e3)
    for _ in range(60):
        yield log_uniform(1e-300, 1e-3), log_uniform(1e-3, 5)
    for _ in range(130):  # around the turning point
        nu = log_uniform(1, 1000)
        gap = random.choice((-1, 1)) * log_uniform(1e-7, 0.5)
        yield float(f"{nu * (1 + gap):.9g}"), nu
    for _ in range(20):
        nu = log_uniform(0.5, 1000)
        yield nu, nu
    for _ in range(110):
        yield log_uniform(1e-2, 1e3), float(random.choice((1, 2, 3, 4, 5, 7, 10, 17, 25, 40, 100, 333, 1000)))
    for _ in range(50):
        yield log_uniform(1e-2, 1e3), random.choice((0, 1, 2, 3, 5, 9, 20, 77)) + 0.5
    for _ in range(50):
        yield log_uniform(1e-8, 1e5), 0.0
    for _ in range(50):
        yield log_uniform(1e-6, 1e4), log_uniform(1e-14, 1e-2)
    for _ in range(25):  # next to whole orders
        yield log_uniform(1e-3, 1e3), random.choice((1, 2, 3, 8)) + random.choice((-1, 1)) * 2.0 ** -random.randint(8, 40)
    yield from borders()
    for _ in range(110):
        yield log_uniform(1e-3, 1e3), -log_uniform(1e-3, 60)
    for _ in range(30):
        yield log_uniform(1e-2, 1e3), -random.choice((1, 2, 3, 5, 6, 12, 20)) - random.choice((0.0, 0.5))
    for _ in range(15):
        yield log_uniform(1e5, 1e9), log_uniform(1e-3, 1e3)


def borders():
    """Next to the borders between methods."""
    for _ in range(16):
        gap = 1 + random.choice((-1, 1)) * log_uniform(1e-12, 1e-3)
        nu = log_uniform(1e-2, 1e3)
        yield 2 * math.sqrt(nu + 1) * gap, nu
        yield gap, random.choice((0.0, nu / 1000))
        yield log_uniform(1e-3, 1e3), 0.5 * gap
        angle = random.uniform(0, math.pi / 2)
        yield 20 * math.cos(angle) * gap, 20 * math.sin(angle)
        yield nu * nu * gap, nu
        yield gap * max(1.0, nu), 1.0


def near_zeros(kind):
    """Next to zeros of J or of Y."""
    zero = {"j": mp.besseljzero, "y": mp.besselyzero}[kind]
    for nu in (0.0, 0.25, 1.0, 2.5, 10.0, 33.3):
        for m in (1, 2, 3, 10, 40):
            root = float(zero(mpf(nu), m))
            yield root, nu
            yield float(f"{root:.6g}"), nu


def main():
    """Prints the table."""
    print("# name x nu | f | f_x f_nu | f_xx f_xnu f_nunu, made by generate/bessel.py")
    for x, nu in points():
        for kind in "jyik":
            for text in rows(kind, x, nu):
                print(text, flush=True)
    for kind in "jy":
        for x, nu in near_zeros(kind):
            for text in rows(kind, x, nu):
                print(text)
    print("done", file=sys.stderr)


main()
