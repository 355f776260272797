"""Writes tables/corners.txt: functions of the gamma, beta and Bessel families at huge, tiny and nearly equal arguments.

Usage: python3 corners.py > ../tables/corners.txt     (needs mpmath and gmpy2; takes some minutes)

Functions come from mpmath, or from integrals of a density, and derivatives from central differences with many digits.
Numbers beyond the range of doubles are infinite or 0 in the table.
"""

import math
import random
from multiprocessing import Pool

import gamma
import mpmath as mp

DIGITS = 50
# For numbers next to the ends of domains, where values are almost constant.
END_DIGITS = 800
MORE_DIGITS = {"beta": 600, "ln_beta": 600, "student_t_cdf": 700, **{f"bessel_{kind}": 100 for kind in "jyik"}}


def stirling_rest(a):
    return mp.fsum(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1) * a ** (2 * k - 1)) for k in range(1, 16))


def normal_quantile(p):
    """For p < 1/2."""
    start = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else mp.mpf(-0.5)
    return mp.findroot(lambda z: mp.log(mp.erfc(-z / mp.sqrt(2)) / 2 / p), start)


# Where quantiles next to the one that is asked for were, in deviations.
NEAR = {}


def quantile(p, lower, mean, deviation, density):
    """By Newton's method: density is that of (t - x)/deviation at x, as a function of x and of that number."""
    low = (p < 0.5) == lower
    target = p if p < 0.5 else 1 - p
    key = mp.nstr(p, 9), lower, mp.nstr(mean, 9), mp.nstr(deviation, 9)
    x = mean + deviation * (NEAR[key] if key in NEAR else normal_quantile(target) * (1 if low else -1))
    for _ in range(40):
        side = -1 if low else 1
        here = density(x, 0)
        ratio = mp.quad(lambda u: density(x, side * u) / here, [0, 1, 2, 4, 8, 16], method="gauss-legendre")
        step = side * mp.log(here * ratio / target) * ratio
        x += step * deviation
        if abs(step) < mp.mpf(10) ** (-DIGITS // 2):
            NEAR[key] = (x - mean) / deviation
            return x
    raise ArithmeticError("no convergence")


def gamma_quantile(p, a, lower):
    root = mp.sqrt(a)

    def density(x, u):
        excess = (x + u * root - a) / a
        power = mp.exp(a * (mp.log1p(excess) - excess) - stirling_rest(a))
        return power / mp.sqrt(2 * mp.pi) / (1 + excess)

    return quantile(p, lower, a, root, density)


def beta(a, b):
    """Mean, deviation and density, as in quantile()."""
    n = a + b
    deviation = mp.sqrt(a * b / n**3)
    rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b)

    def density(x, u):
        excess = (x - a / n) * n + u * deviation * n
        power = mp.exp(a * mp.log1p(excess / a) + b * mp.log1p(-excess / b) + rest)
        return power / mp.sqrt(2 * mp.pi) / ((1 + excess / a) * (1 - excess / b))

    return a / n, deviation, density


def beta_quantile(p, a, b):
    return quantile(p, True, *beta(a, b))


def beta_inc(x, a, b):
    """For large shapes."""
    mean, _, density = beta(a, b)
    side = -1 if x < mean else 1
    tail = mp.quad(lambda u: density(x, side * u), [0, 1, 2, 4, 8, 16], method="gauss-legendre")
    return tail if side < 0 else 1 - tail


def student(t, nu):
    x = nu / (nu + t * t)
    tail = mp.betainc(nu / 2, mp.mpf(1) / 2, 0, x, regularized=True) / 2
    return 1 - tail if t > 0 else tail


def small_gamma_quantile(q, a):
    """The x with Q(a, x) = q for a tiny shape."""
    return mp.findroot(lambda x: mp.log(mp.gammainc(a, x) / mp.gamma(a) / q), 0.3)


FUNCTIONS = {
    "powf": lambda x, y: x**y,
    "log": lambda x, y: mp.log(x) / mp.log(y),
    "hypot": mp.hypot,
    "smooth_abs": mp.hypot,
    "atan2": mp.atan2,
    "gamma_p": lambda x, a: mp.gammainc(a, 0, x, regularized=True),
    "gamma_p_inv": lambda p, a: gamma_quantile(p, a, True),
    "gamma_q_inv": lambda q, a: small_gamma_quantile(q, a) if a < 1 else gamma_quantile(q, a, False),
    "beta_inc_inv": beta_quantile,
    "beta_inc": beta_inc,
    "beta": lambda x, y: mp.gamma(x) * mp.gamma(y) / mp.gamma(x + y),
    "ln_beta": lambda x, y: mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y),
    "student_t_cdf": student,
    "bessel_j": lambda x, nu: mp.besselj(nu, x),
    "bessel_y": lambda x, nu: mp.bessely(nu, x),
    "bessel_i": lambda x, nu: mp.besseli(abs(nu) if mp.isint(nu) else nu, x),
    "bessel_k": lambda x, nu: mp.besselk(nu, x),
}


def derivatives(f, arguments):
    """The value, the gradient and the upper triangle of the Hessian, by differences."""
    n = len(arguments)
    steps = [(abs(x) if x else 1) * mp.mpf(10) ** (-12) for x in arguments]

    def at(*moves):
        moved = list(arguments)
        for i, sign in moves:
            moved[i] += sign * steps[i]
        return f(*moved)

    here, up, down = at(), [at((i, 1)) for i in range(n)], [at((i, -1)) for i in range(n)]
    second = []
    for i in range(n):
        second.append((up[i] - 2 * here + down[i]) / steps[i] ** 2)
        for j in range(i + 1, n):
            corners = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            second.append(corners / (4 * steps[i] * steps[j]))
    return here, [(u - d) / (2 * h) for u, d, h in zip(up, down, steps)], second


def text(x):
    if abs(x) < mp.mpf(10) ** -400:
        return "0"
    return gamma.number(gamma.to_mpfr(x), 17)


def row(point):
    name, arguments = point
    at_end = min(abs(x) for x in arguments) < 1e-140 or name == "student_t_cdf"
    mp.mp.dps = END_DIGITS if at_end else MORE_DIGITS.get(name, DIGITS)
    value, first, second = derivatives(FUNCTIONS[name], [mp.mpf(x) for x in arguments])
    fields = [[name, *map(repr, arguments)], [text(value)], map(text, first), map(text, second)]
    return " | ".join(" ".join(field) for field in fields)


def points():
    for x in [1e-100, 1e-20, 1e-8, 1e-3, 0.01, 0.04, 1.0, 3.0]:
        for y in [1e-100, 1e-9, 1e-3, 0.02, 0.05, 2.0, 30.0]:
            yield "beta", (x, y)
            yield "ln_beta", (x, y)
    for nu in [1e-20, 1e-6, 0.1, 0.25, 0.5, 0.75, 3.0]:
        for x in [1e-140, 1e-300] if nu < 1 else [1e-140]:
            for name in ["bessel_j", "bessel_y", "bessel_i", "bessel_k"]:
                yield name, (x, nu)
    for t in [1.0, -12.5, 1e3, 1e8]:
        for nu in [1e-30, 1e-100, 1e-140, 1e-300]:
            yield "student_t_cdf", (t, nu)
    for name in ["gamma_p_inv", "gamma_q_inv"]:
        yield name, (0.3, 1e15)
        yield name, (1e-40, 1e17)
    yield "beta_inc_inv", (0.3, 1e15, 2e16)
    yield "beta_inc_inv", (1e-9, 2e13, 2e15)


def steep():
    """Quantiles at large shapes, where the density falls by much from one double to another, up to those of points()."""
    chances = [1e-140, 1e-30, 2e-7, 0.03, 0.4, 0.55, 0.97, 0.9999, 1 - 1e-9]
    for k, a in enumerate([1e5, 1e6, 7654321.0, 1e8, 1.25e9, 1e10, 3e11, 1e12, 9.9e12]):
        for j, p in enumerate(chances):
            yield ["gamma_p_inv", "gamma_q_inv"][(j + k) % 2], (p, a)
    pairs = [(1e5, 1e5), (1e6, 4e5), (2e6, 3e8), (1e8, 1e8), (2.5e9, 1e7), (1e10, 3e10), (4e12, 1e11), (1e12, 1e12)]
    for k, (a, b) in enumerate([*pairs, (1e6, 1e13), (1e15, 3e9), (9e12, 7e12), (1e7, 1e18), (1e13, 2e4)]):
        for p in chances[k % 2 :: 2]:
            yield "beta_inc_inv", (p, a, b)
    yield from [("beta_inc", (x, 1e7, 1e18)) for x in [9.991e-12, 1e-11, 1.0003e-11]]


def ends():
    for x, y in [(1e-300, 0.5), (1e-200, 0.5), (5e-324, 0.5), (1e-160, 1.5), (1e-200, -0.25), (1e-300, 1e-150)]:
        yield "powf", (x, y)
    for x, y in [(0.5, 5e-324), (1e300, 5e-324), (5e-324, 5e-324), (1e-300, 1e-300), (1e-200, 1e200), (3.0, 7.0)]:
        yield "log", (x, y)
    for x, y in [(1e-308, 1e306), (1e306, 1e-306), (7.385e306, 6.097e-150), (1e-160, 3e-152)]:
        yield "log", (x, y)
    for x, y in [(5e-324, 5e-324), (1e-320, -3e-321), (1e-300, 1e-300)]:
        yield "hypot", (x, y)
        yield "smooth_abs", (x, -y)
        yield "atan2", (x, 3 * y)
    for x in [-1e-300, -1e-150, -1e-10, -1e-3, 1e-10, 1e-300]:
        for y in [2.0, 0.5, -0.5, -1.5]:
            yield "beta", (x, y)
    yield "beta", (-0.3, 2.5)
    yield "beta", (-0.4, -0.3)
    yield "ln_beta", (2.0, 1e300)
    yield "gamma_p", (5e-324, 5e-324)
    yield "gamma_q_inv", (1e-12, 1e-12)
    yield "gamma_q_inv", (1e-300, 1e-300)
    for name in ["bessel_j", "bessel_i", "bessel_y"]:
        for x, nu in [(1e-300, 3.0), (1e-300, -0.5), (5e-324, -0.5), (1e-300, -1.0), (1e-300, -2.0), (1e-300, -1e-150)]:
            yield name, (x, nu)
        for x, nu in [(0.5, -301.0), (0.5, -300.0), (2.0, -400.5), (2.0, -400.25)]:
            yield name, (x, nu)
    for t, nu in [(1e-170, 0.5), (1e-150, 1e-300), (-1e-150, 3e-300), (1e-120, 3.0), (1.0, 1e-40), (-20.0, 3e-32)]:
        yield "student_t_cdf", (t, nu)


def normal_limit(point):
    """Student's distribution for many degrees of freedom, by its expansion."""
    t, nu = (mp.mpf(x) for x in point)
    mp.mp.dps = DIGITS
    density = mp.npdf(t)
    first = t * (t * t + 1)
    second = t * (3 * t**6 - 7 * t**4 - 5 * t**2 - 3) / 96
    value = mp.ncdf(t) - density * (first / 4 / nu + second / nu**2)
    slope_of_density = density * ((t**4 - 2 * t * t - 1) / 4)
    slopes = [density + slope_of_density / nu, density * (first / 4 / nu**2 + 2 * second / nu**3)]
    bends = [-t * density + t * density * (4 * t * t - 4 - t**4 + 2 * t * t + 1) / 4 / nu, -slope_of_density / nu**2]
    bends.append(-density * (first / 2 / nu**3 + 6 * second / nu**4))
    fields = [["student_t_cdf", *map(repr, point)], [text(value)], map(text, slopes), map(text, bends)]
    return " | ".join(" ".join(field) for field in fields)


def shapes(rng):
    """Points for the functions of gamma.py."""
    for a in [25.0, 300.0, 1e4, 3e6]:
        for _ in range(8):
            x = a + math.sqrt(a) * rng.uniform(-7, 7)
            yield rng.choice(["gamma_p_inv", "gamma_q_inv"]), (None, a), gamma.short(x, 12)
    large = [(25.0, 30.0), (1e3, 1e3), (30.0, 1e6), (1e6, 30.0), (1e5, 1e5), (2e5, 3e7), (3e7, 2e5), (40.0, 40.0)]
    for a, b in [*large, (1e6, 1.5), (1.5, 1e7), (0.5, 1e8), (19.0, 1e8)]:
        mean = a / (a + b)
        for _ in range(6):
            x = mean + math.sqrt(mean * (1 - mean) / (a + b)) * rng.uniform(-6, 6)
            if 0 < x < 1:
                yield "beta_inc_inv", (None, a, b), gamma.short(x, 12)
    for arguments in [(0.0, 1e6, 1e-9), (0.0, 5.5, 1e-12), (1.0, 1e6, 1e-10), (2.0, 40.0, 1e-9)]:
        yield "binomial_cdf", arguments, None
    near_one = [(1e-12, 1.0, 3.0), (1e-12, 1.0000001, 3.0), (1e-12, 0.9999999, 3.0), (1e-7, 1.2, 1e4), (1e-30, 1.4, 7.0)]
    for arguments in [*near_one, (0.3, 1.2, 1.3), (1e-9, 0.6, 1e3), (1e-5, 0.55, 2.0)]:
        yield "beta_inc", arguments, None


def main():
    print("# Written by generate/corners.py. name x [y [z]] | f | f_x [f_y [f_z]] | f_xx f_xy ...")
    with Pool(2) as pool:
        for line in pool.imap(gamma.row, list(shapes(random.Random(7))), chunksize=1):
            if line is not None:
                print(line, flush=True)
        for line in pool.imap(row, [*points(), *steep()], chunksize=1):
            print(line, flush=True)
        for line in pool.imap(row, list(ends()), chunksize=1):
            print(line, flush=True)
    for t in [2.0, -0.5, -5.0, 1e-3]:
        for nu in [1e19, 1e25, 1e100]:
            print(normal_limit((t, nu)), flush=True)


if __name__ == "__main__":
    main()
