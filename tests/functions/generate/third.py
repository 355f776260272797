"""Third derivatives of a sample of functions, by differences with 60 digits."""

import itertools

import mpmath as mp
from mpmath import mpf

mp.mp.dps = 60
STEP = mpf(10) ** -9
# Weights of central differences of the sixth order, and of the fourth for the third derivative.
WEIGHTS = [
    {0: mpf(1)},
    {-3: mpf(-1) / 60, -2: mpf(3) / 20, -1: mpf(-3) / 4, 1: mpf(3) / 4, 2: mpf(-3) / 20, 3: mpf(1) / 60},
    {-3: mpf(1) / 90, -2: mpf(-3) / 20, -1: mpf(3) / 2, 0: mpf(-49) / 18, 1: mpf(3) / 2, 2: mpf(-3) / 20, 3: mpf(1) / 90},
    {-3: mpf(1) / 8, -2: mpf(-1), -1: mpf(13) / 8, 1: mpf(-13) / 8, 2: mpf(1), 3: mpf(-1) / 8},
]


def gamma_p(x, a):
    return mp.gammainc(a, 0, x, regularized=True)


def gamma_p_inv(p, a):
    """By bisection and Newton's method."""
    low, high = mpf(0), mpf(100)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if gamma_p(middle, a) < p else (low, middle)
    x = low
    for _ in range(8):
        x -= (gamma_p(x, a) - p) / (x ** (a - 1) * mp.exp(-x) / mp.gamma(a))
    return x


def student_t_cdf(t, nu):
    tail = mp.betainc(nu / 2, mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


FUNCTIONS = {
    "trigamma": (lambda x: mp.psi(1, x), [(0.3,), (7.25,), (-1.5,)]),
    "ln_normal_cdf": (lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), [(-12.0,), (-4.0,), (-1.25,), (2.0,)]),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [(-1.0,), (0.5,), (2.5,), (9.0,)]),
    "log1m_exp": (lambda x: mp.log(1 - mp.exp(x)), [(-0.01,), (-0.5,), (-3.0,)]),
    "sinc": (lambda x: mp.sin(x) / x, [(0.01,), (0.25,), (3.0,), (-12.5,)]),
    "lambert_w0": (lambda x: mp.lambertw(x).real, [(-0.25,), (0.001,), (5.0,)]),
    "ln_beta": (lambda x, y: mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y), [(0.5, 3.0), (25.0, 40.0)]),
    "ln_choose": (
        lambda n, k: mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1),
        [(9.5, 3.25), (60.0, 25.5)],
    ),
    "log_diff_exp": (lambda x, y: mp.log(mp.exp(x) - mp.exp(y)), [(1.0, 0.5), (3.0, -2.0)]),
    "gamma_p": (gamma_p, [(0.75, 0.5), (3.0, 2.5), (30.0, 25.0)]),
    "gamma_p_inv": (gamma_p_inv, [(0.25, 2.5), (0.75, 8.0)]),
    "student_t_cdf": (student_t_cdf, [(0.75, 3.0), (-2.0, 30.0)]),
    "bessel_j": (lambda x, nu: mp.besselj(nu, x), [(1.5, 0.75), (12.0, 2.5)]),
    "bessel_k": (lambda x, nu: mp.besselk(nu, x), [(0.75, 0.25), (6.0, 3.5)]),
    "beta_inc": (lambda x, a, b: mp.betainc(a, b, 0, x, regularized=True), [(0.25, 1.5, 2.5), (0.625, 20.0, 15.0)]),
}


def third(f, x, by):
    total = mpf(0)
    for moves in itertools.product(*[WEIGHTS[by.count(k)].items() for k in range(len(x))]):
        weight = mp.fprod(w for _, w in moves)
        total += weight * f(*[mpf(v) + step * STEP for v, (step, _) in zip(x, moves)])
    return total / STEP**3


print("# name x [y [z]] | the arguments by which it is derived | the derivative, made by generate/third.py")
for name, (f, points) in FUNCTIONS.items():
    for x in points:
        # In both orders, since the last argument is that of the rule's partial derivative.
        for by in itertools.combinations_with_replacement(range(len(x)), 3):
            value = mp.nstr(third(f, x, by), 17, min_fixed=0, max_fixed=0)
            for order in sorted({by, by[::-1]}):
                print(name, *x, "|", *order, "|", value)
