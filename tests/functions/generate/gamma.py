"""Writes tables/gamma.txt: functions of the gamma and beta family with all first and second derivatives.

Usage: python3 gamma.py [processes] > ../tables/gamma.txt     (needs mpmath and gmpy2; takes some minutes)

Values come from series of positive terms with 400 bits or more. Derivatives by arguments of distribution functions are
closed forms, those by parameters are central differences with steps of 2^-60 of the parameter, whose error is below
10^-25. Derivatives of inverses come from those of the functions by the implicit function theorem.
"""

import math
import random
import sys
from multiprocessing import Pool

import gmpy2
import mpmath
from gmpy2 import mpfr

BITS = 420
gmpy2.get_context().precision = BITS
mpmath.mp.prec = BITS


def psi(n, x):
    """Polygamma by recurrence and the asymptotic series; x > 0."""
    if n == 0:
        return gmpy2.digamma(x)
    m = mpmath.psi(n, mpmath.mpf(from_mpfr(x)))
    return to_mpfr(m)


def from_mpfr(x):
    man, exp = x.as_mantissa_exp()
    return mpmath.mpf((0 if man >= 0 else 1, abs(int(man)), int(exp), int(abs(man)).bit_length())) if man else mpmath.mpf(0)


def to_mpfr(m):
    if not mpmath.isfinite(m):
        return mpfr(str(m).replace("+", ""))
    sign, man, exp, _ = m._mpf_
    value = mpfr(int(man)) * gmpy2.exp2(mpfr(exp)) if man else mpfr(0)
    return -value if sign else value


def lngamma(x):
    return gmpy2.lngamma(x)


class Out(Exception):
    """Not a point for the table."""


# Tails: (P, Q) and (I, 1 - I), each right relatively.


def gamma_tails(x, a):
    if x <= a + 1:
        return gamma_series(x, a)
    # Legendre's continued fraction, by Lentz's method.
    tiny = gmpy2.exp2(mpfr(-3000))
    b = x + 1 - a
    c = 1 / tiny
    d = 1 / b
    h = d
    eps = gmpy2.exp2(mpfr(-BITS + 20))
    for i in range(1, 200000):
        an = -i * (i - a)
        b += 2
        d = an * d + b
        if abs(d) < tiny:
            d = tiny
        c = b + an / c
        if abs(c) < tiny:
            c = tiny
        d = 1 / d
        delta = d * c
        h *= delta
        if abs(delta - 1) < eps:
            break
    else:
        raise ArithmeticError("no convergence")
    q = gmpy2.exp(a * gmpy2.log(x) - x - lngamma(a)) * h
    return 1 - q, q


def gamma_series(x, a):
    term = mpfr(1)
    total = mpfr(0)
    n = 0
    limit = gmpy2.exp2(mpfr(-BITS - 10))
    while term > total * limit:
        total += term
        n += 1
        term *= x / (a + n)
    p = gmpy2.exp(a * gmpy2.log(x) - x - lngamma(a + 1)) * total
    return p, 1 - p


def beta_series(x, y, a, b):
    term = mpfr(1)
    total = mpfr(0)
    n = 0
    limit = gmpy2.exp2(mpfr(-BITS - 10))
    while term > total * limit * min(y, 1):
        total += term
        term *= x * (a + b + n) / (a + 1 + n)
        n += 1
        if n > 400000:
            raise ArithmeticError("no convergence")
    return gmpy2.exp(a * gmpy2.log(x) + b * gmpy2.log(y) + lngamma(a + b) - lngamma(a + 1) - lngamma(b)) * total


def beta_tails(x, y, a, b):
    """I and 1 - I. No point for the table where one of them is what two close numbers leave."""
    tails, direct = beta_tails_by_series(x, y, a, b)
    if tails[1 - direct] < 1e-70:
        raise Out
    return tails


def beta_tails_by_series(x, y, a, b):
    def terms(x, y, a, b):
        # About how many terms the series takes: where the ratio of terms is 1, and from there on.
        turn = max(0, ((a + b) * x - a) / y)
        return turn + min(300 / y, 25 * gmpy2.sqrt((a + 1) / y) + 60 / max(1 - x * (a + b) / (a + 1), mpfr(1e-9)))

    lower = x * (b + 0.5) <= y * (a + 0.5)
    few = terms(x, y, a, b), terms(y, x, b, a)
    if (lower and few[0] > 20000 and few[1] < few[0]) or (not lower and few[1] > 20000 and few[0] < few[1]):
        lower = not lower
    if lower:
        i = beta_series(x, y, a, b)
        return (i, 1 - i), 0
    j = beta_series(y, x, b, a)
    return (1 - j, j), 1


# Derivatives by parameters.


def by_parameters(f, parameters):
    """First and second derivatives of f by some positive parameters."""
    k = len(parameters)
    steps = [p * gmpy2.exp2(mpfr(-60)) for p in parameters]

    def at(*moves):
        point = list(parameters)
        for i, s in moves:
            point[i] += s * steps[i]
        return f(*point)

    centre = f(*parameters)
    first, second = [], {}
    for i in range(k):
        up, down = at((i, 1)), at((i, -1))
        first.append((up - down) / (2 * steps[i]))
        second[i, i] = significant(up - 2 * centre + down, centre) / steps[i] ** 2
    for i in range(k):
        for j in range(i + 1, k):
            corners = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            second[i, j] = significant(corners, centre) / (4 * steps[i] * steps[j])
    return centre, first, second


def significant(difference, value):
    """A difference, or 0 where it is nothing but the rounding of values."""
    return difference if abs(difference) > abs(value) * gmpy2.exp2(mpfr(-BITS + 50)) else mpfr(0)


def smaller_by_parameters(tails, side, parameters):
    """The same for one of two tails, by way of the smaller one, which has all its digits."""
    small = min((0, 1), key=lambda i: tails(*parameters)[i])
    centre, first, second = by_parameters(lambda *p: tails(*p)[small], parameters)
    if small == side:
        return centre, first, second
    return 1 - centre, [-d for d in first], {k: -d for k, d in second.items()}


def gamma_p(x, a, upper=False):
    """f, gradient, Hessian as a dictionary."""
    sign = -1 if upper else 1
    value, (fa,), second = smaller_by_parameters(lambda a: gamma_tails(x, a), 1 if upper else 0, [a])
    fx = gmpy2.exp((a - 1) * gmpy2.log(x) - x - lngamma(a))
    fxx = fx * ((a - 1) / x - 1)
    fxa = fx * (gmpy2.log(x) - psi(0, a))
    return value, [sign * fx, fa], {(0, 0): sign * fxx, (0, 1): sign * fxa, (1, 1): second[0, 0]}


def gamma_q(x, a):
    return gamma_p(x, a, True)


def beta_inc(x, a, b, y=None):
    y = 1 - x if y is None else y
    value, (fa, fb), second = smaller_by_parameters(lambda a, b: beta_tails(x, y, a, b), 0, [a, b])
    lb = lngamma(a) + lngamma(b) - lngamma(a + b)
    fx = gmpy2.exp((a - 1) * gmpy2.log(x) + (b - 1) * gmpy2.log(y) - lb)
    fxx = fx * ((a - 1) / x - (b - 1) / y)
    both = psi(0, a + b)
    fxa = fx * (gmpy2.log(x) - psi(0, a) + both)
    fxb = fx * (gmpy2.log(y) - psi(0, b) + both)
    hessian = {(0, 0): fxx, (0, 1): fxa, (0, 2): fxb}
    hessian.update({(1, 1): second[0, 0], (1, 2): second[0, 1], (2, 2): second[1, 1]})
    return value, [fx, fa, fb], hessian


def inverse(x, gradient, hessian):
    """Of f(x, parameters) = p: x as a function of (p, parameters)."""
    n = len(gradient)
    fx = gradient[0]
    first = [1 / fx] + [-gradient[i] / fx for i in range(1, n)]
    h = lambda i, j: hessian[min(i, j), max(i, j)]
    second = {}
    for i in range(n):
        for j in range(i, n):
            mixed = h(0, 0) * first[i] * first[j]
            if i > 0:
                mixed += h(0, i) * first[j]
            if j > 0:
                mixed += h(0, j) * first[i]
            if i > 0 and j > 0:
                mixed += h(i, j)
            second[i, j] = -mixed / fx
    return x, first, second


def solve(tail, density, target, u, to_x):
    """Newton's method for ln tail(u) = ln target, in the natural coordinate u."""
    for _ in range(60):
        x = to_x(u)
        value = tail(x)
        step = gmpy2.log(value / target) * value / density(x)
        if abs(step) > 3:
            step = mpfr(3) * gmpy2.sign(step)
        u -= step
        if abs(step) < gmpy2.exp2(mpfr(-200)):
            return to_x(u)
    raise Out


def gamma_p_inv(p, a, x0=None, upper=False):
    if x0 is None:
        raise Out
    low = (p < 0.5) != upper
    target = p if (low != upper) else 1 - p
    side = 0 if low else 1
    sign = 1 if low else -1
    tail = lambda x: gamma_tails(x, a)[side]
    density = lambda x: sign * gmpy2.exp(a * gmpy2.log(x) - x - lngamma(a))
    x = solve(tail, density, target, gmpy2.log(x0), gmpy2.exp)
    _, gradient, hessian = gamma_p(x, a, upper)
    return inverse(x, gradient, hessian)


def gamma_q_inv(p, a, x0=None):
    return gamma_p_inv(p, a, x0, True)


def beta_inc_inv(p, a, b, x0=None):
    low = p < 0.5
    target, side, sign = (p, 0, 1) if low else (1 - p, 1, -1)
    x0, y0 = x0
    lb = lngamma(a) + lngamma(b) - lngamma(a + b)
    to_x = lambda u: (1 / (1 + gmpy2.exp(-u)), 1 / (1 + gmpy2.exp(u)))
    tail = lambda x: beta_tails(*x, a, b)[side]
    density = lambda x: sign * gmpy2.exp(a * gmpy2.log(x[0]) + b * gmpy2.log(x[1]) - lb)
    x, y = solve(tail, density, target, gmpy2.log(x0 / y0), to_x)
    _, gradient, hessian = beta_inc(x, a, b, y)
    return inverse(x, gradient, hessian)


def binomial_cdf(k, n, p):
    k = gmpy2.floor(k)
    zero = mpfr(0)
    if k < 0 or k >= n:
        value = mpfr(0 if k < 0 else 1)
        return value, [zero] * 3, {(i, j): zero for i in range(3) for j in range(i, 3)}
    value, (fp, fn, _), h = beta_inc(1 - p, n - k, k + 1)
    hessian = {(0, 0): zero, (0, 1): zero, (0, 2): zero, (1, 1): h[1, 1], (1, 2): -h[0, 1], (2, 2): h[0, 0]}
    return value, [zero, fn, -fp], hessian


def student_t_cdf(t, nu):
    if t == 0:
        f = lambda nu: mpfr(0.5)
    else:

        def f(nu):
            x, y = nu / (nu + t * t), t * t / (nu + t * t)
            return beta_tails(x, y, nu / 2, mpfr(0.5))[0] / 2

    value, (fn,), second = by_parameters(f, [nu])
    if t > 0:
        value, fn, second = 1 - value, -fn, {k: -d for k, d in second.items()}
    lnc = lngamma((nu + 1) / 2) - lngamma(nu / 2) - gmpy2.log(nu * gmpy2.const_pi()) / 2
    fx = gmpy2.exp(lnc - (nu + 1) / 2 * gmpy2.log1p(t * t / nu))
    fxx = -fx * (nu + 1) * t / (nu + t * t)
    slope = (psi(0, (nu + 1) / 2) - psi(0, nu / 2) - 1 / nu) / 2
    fxn = fx * (slope - gmpy2.log1p(t * t / nu) / 2 + (nu + 1) / 2 * t * t / nu / (nu + t * t))
    return value, [fx, fn], {(0, 0): fxx, (0, 1): fxn, (1, 1): second[0, 0]}


def ln_beta(x, y):
    s = x + y
    value = lngamma(x) + lngamma(y) - lngamma(s)
    d = lambda n, z: psi(n, z)
    return (
        value,
        [d(0, x) - d(0, s), d(0, y) - d(0, s)],
        {(0, 0): d(1, x) - d(1, s), (0, 1): -d(1, s), (1, 1): d(1, y) - d(1, s)},
    )


def ln_choose(n, k):
    r = n - k
    value = lngamma(n + 1) - lngamma(k + 1) - lngamma(r + 1)
    d = lambda m, z: psi(m, z + 1)
    return (
        value,
        [d(0, n) - d(0, r), d(0, r) - d(0, k)],
        {(0, 0): d(1, n) - d(1, r), (0, 1): d(1, r), (1, 1): -d(1, r) - d(1, k)},
    )


def mp_psi(n, x):
    return to_mpfr(mpmath.psi(n, from_mpfr(x)))


def trigamma(x):
    return mp_psi(1, x), [mp_psi(2, x)], {(0, 0): mp_psi(3, x)}


def polygamma(x, n):
    n = int(n)
    zero = mpfr(0)
    return mp_psi(n, x), [mp_psi(n + 1, x), zero], {(0, 0): mp_psi(n + 2, x), (0, 1): zero, (1, 1): zero}


# Points.


def short(x, digits=6):
    return float(f"{x:.{digits}g}")


def log_uniform(rng, low, high):
    return short(math.exp(rng.uniform(math.log(low), math.log(high))))


SHAPES = [1e-8, 1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 9.5, 10.0, 19.5, 20.0, 100.0, 1e4, 1e6]


def shape(rng, high=1e6):
    kind = rng.random()
    if kind < 0.3:
        return rng.choice([s for s in SHAPES if s <= high])
    if kind < 0.5:
        return short(rng.uniform(0.05, 25))
    return log_uniform(rng, 1e-8, high)


def gamma_argument(rng, a):
    kind = rng.random()
    spread = math.sqrt(a) if a > 1 else 1.0
    if kind < 0.4:
        x = a + spread * rng.uniform(-8, 8)
    elif kind < 0.5:
        x = a + rng.choice([0, 0.5, 1.0, -0.5, 0.4999, 0.5001])
    elif kind < 0.75:
        x = a * math.exp(rng.uniform(-3, 3))
    else:
        x = math.exp(rng.uniform(math.log(1e-10), math.log(1e3)))
    return short(x, rng.choice([4, 6, 9])) if x > 0 else log_uniform(rng, 1e-12, 1.0)


def beta_argument(rng, a, b):
    kind = rng.random()
    mean = a / (a + b)
    spread = math.sqrt(mean * (b / (a + b)) / (a + b + 1))
    if kind < 0.45:
        x = mean + spread * rng.uniform(-6, 6)
    elif kind < 0.6:
        x = rng.random()
    elif kind < 0.75:
        x = math.exp(rng.uniform(-25, 0))
    elif kind < 0.85:
        x = 1 - math.exp(rng.uniform(-25, 0))
    else:
        x = (a + 0.5) / (a + b + 1) * (1 + rng.choice([0, 1e-3, -1e-3]))
    x = short(x, rng.choice([4, 6, 9]))
    return x if 0 < x < 1 else short(rng.uniform(0.01, 0.99), 3)


def points(rng):
    """(name, arguments, extra)."""
    for x in [1e-5, 0.01, 0.5, 1.0, 1.5, 2.0, 7.999, 8.0, 8.001, 20.0, 1e3, 1e8, -0.5, -1.25, -2.75, -10.1, -0.001]:
        yield "trigamma", (x,), None
    for _ in range(283):
        x = log_uniform(rng, 1e-5, 1e5) if rng.random() < 0.6 else short(rng.uniform(-20, 20))
        yield "trigamma", (x,), None
    for _ in range(600):
        n = rng.randint(0, 10)
        x = log_uniform(rng, 1e-3, 1e4) if rng.random() < 0.7 else short(rng.uniform(-12, 30))
        yield "polygamma", (x, float(n)), None
    for _ in range(800):
        x, y = shape(rng), shape(rng)
        yield "ln_beta", (x, y), None
    for _ in range(800):
        n = shape(rng)
        k = rng.choice([short(n * rng.random()), shape(rng), short(rng.uniform(-0.99, 1)), float(int(n / 2)), 0.0, n])
        if -1 < k < n + 1:
            yield "ln_choose", (n, k), None
    for _ in range(1000):
        a = shape(rng)
        yield rng.choice(["gamma_p", "gamma_q"]), (gamma_argument(rng, a), a), None
    for _ in range(900):
        a = shape(rng)
        name = rng.choice(["gamma_p_inv", "gamma_q_inv"])
        yield name, (None, a), gamma_argument(rng, a)
    for _ in range(900):
        nu = rng.choice([shape(rng), log_uniform(rng, 0.1, 1e6), short(rng.uniform(0.1, 40))])
        nu = max(nu, 1e-3)
        t = rng.choice([log_uniform(rng, 1e-6, 1e6), short(rng.uniform(0, 6)), log_uniform(rng, 0.5, 40)])
        yield "student_t_cdf", (t * rng.choice([1, -1]), nu), None
    for _ in range(1100):
        a, b = shape(rng), shape(rng)
        if rng.random() < 0.15:
            b = a
        yield "beta_inc", (beta_argument(rng, a, b), a, b), None
    for _ in range(900):
        a, b = shape(rng), shape(rng)
        yield "beta_inc_inv", (None, a, b), beta_argument(rng, a, b)
    for _ in range(600):
        n = rng.choice([float(rng.randint(1, 50)), short(rng.uniform(0.5, 60)), float(rng.choice([1000, 10**5, 10**6]))])
        p = rng.choice([short(rng.random(), 3), log_uniform(rng, 1e-6, 0.5), short(1 - log_uniform(rng, 1e-4, 0.5), 5)])
        middle = n * p + math.sqrt(n * p * (1 - p)) * rng.uniform(-5, 5)
        k = rng.choice([float(math.floor(middle)), float(rng.randint(0, int(n))), 0.0, n, n - 1, short(middle), -0.5])
        yield "binomial_cdf", (k, n, p), None


FUNCTIONS = {
    f.__name__: f
    for f in [trigamma, polygamma, ln_beta, ln_choose, gamma_p, gamma_q, gamma_p_inv, gamma_q_inv, student_t_cdf]
    + [beta_inc, beta_inc_inv, binomial_cdf]
}


def number(x, digits):
    if x == 0:
        return "0"
    if gmpy2.is_nan(x):
        return "nan"
    if abs(x) >= mpfr(2) ** 1024:
        return "-inf" if x < 0 else "inf"
    text = f"{x:.{digits - 1}e}"
    mantissa, exponent = text.split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return mantissa if int(exponent) == 0 else f"{mantissa}e{int(exponent)}"


def argument(x):
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


def row(point):
    name, arguments, extra = point
    gmpy2.get_context().precision = BITS
    mpmath.mp.prec = BITS
    try:
        f = FUNCTIONS[name]
        if extra is not None:
            # The argument is a value of the function, rounded to double precision.
            parameters = [mpfr(p) for p in arguments[1:]]
            x0 = mpfr(extra)
            if name == "beta_inc_inv":
                forward = beta_tails(x0, 1 - x0, *parameters)[0]
                x0 = (x0, 1 - x0)
            else:
                forward = gamma_tails(x0, *parameters)["q" in name]
            p = float(f"{float(forward):.5g}" if 1e-3 < forward < 0.99 else float(forward))
            if not 1e-290 < p < 1:
                return None
            arguments = (p,) + arguments[1:]
            value, gradient, hessian = f(mpfr(p), *parameters, x0)
        else:
            value, gradient, hessian = f(*[mpfr(x) for x in arguments])
    except (Out, ArithmeticError, ValueError):
        return None
    n = len(arguments)
    parts = [name] + [argument(x) for x in arguments] + ["|", number(value, 17), "|"]
    parts += [number(x, 17) for x in gradient] + ["|"]
    parts += [number(hessian[i, j], 14) for i in range(n) for j in range(i, n)]
    if all(x == "0" for x in parts[n + 2 :] if x != "|") and name != "binomial_cdf":
        return None
    return " ".join(parts)


def main():
    rng = random.Random(20240607)
    every = list(points(rng))
    print("# Written by generate/gamma.py. name x [y [z]] | f | f_x [f_y [f_z]] | f_xx f_xy ...")
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with Pool(processes) as pool:
        for line in pool.imap(row, every, chunksize=20):
            if line is not None:
                print(line, flush=True)


if __name__ == "__main__":
    main()
