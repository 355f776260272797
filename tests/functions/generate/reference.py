"""Writes tables/reference.txt: functions at points that were chosen by hand, above all `beta` in every corner: tiny,
close, huge and negative arguments.

Usage: python3 reference.py > ../tables/reference.txt     (needs mpmath, and gmpy2 to be fast)
"""

import sys

import elementary
from mpmath import mp, mpf

# A function and its arguments.
POINTS = """
gamma: 0.1, 0.5, 1.5, 4.2, 10.3, 33.7, 170.5, -0.5, -3.7, -20.25
ln_gamma: 0.1, 0.5, 1.5, 4.2, 33.7, -0.5, -3.7, -20.25
digamma: 0.1, 0.5, 1.0, 2.5, 4.2, 11.9, 33.7, -0.5, -3.7, -20.25, -100.3
erf: 0.1, 0.5, 1.3, 2.9, 5.1, -0.7
erfc: 1e-10, 0.5, 1.3, 2.9, 5.1, 26.0, -0.7
normal_cdf: 0.3, -1.7, -9.0, -30.0, 5.0
normal_quantile: 1e-300, 1e-16, 0.1, 0.5000000001, 0.7, 0.975, 0.9999999
beta: 0.1 0.2, 2.5 3.5, 0.5 25.0, 40.0 1.5, 40.0 60.0, 100000.0 2.0, 10000000000.0 2.5, 300.0 500.0, -0.5 40.0,
    1e-08 3.0, 3.0 1e-08, 12.0 1e-06, 12.0 1e-12, 12.0 1e-18, 12.0 1e-20, 12.0 1e-22, 12.0 1e-100, 12.0 1e-300,
    12.0 1e-310, 0.001 1e-30, 0.3 1e-09, 0.3 1e-310, 1.0 1e-17, 1.0 5e-324, 2.5 1e-15, 9.75 1e-200,
    352.32617720664933 8.351246113442057e-20, 1000000.0 1e-12, 1000000000000000.0 1e-09, 1e+300 0.001, 1e-09 0.3,
    1e-20 12.0, 1e-140 0.75, 1e-150 1000.0, 2.1259246124806142e-19 0.19166473497462475, 1e-310 3.0, 1e-05 1e-05,
    1e-10 0.001, 1e-150 1e-150, 1e-100 1e-130, 1e-60 3e-61, 0.49 0.2, 1e-200 1e-210,
    9.999999999999998 9.999999999999998, 10.0 10.0, 10.0 9.999999999999998, 10.0 1e-07, 9.999999999999998 1e-07,
    10.000000000000002 3.0, 0.5 1e-10, 0.49999999999999994 1e-10, 9.5 0.4999, 15.0 1.0, 171.5 0.1, 1000.0 3.0,
    10000000000.0 0.75, 100000.0 12.0, 12.0 -1e-20, 12.0 -1e-310, 0.3 -1e-12, 1.0 -1e-300, -1e-20 12.0,
    1e-20 -0.3, 0.3 -0.29999999, 1e-20 -3e-20, 7.0 -6.5, 40.0 -0.5, -0.3 1e-20, -3.7 1e-12, -20.25 1e-09,
    -20.5 1e-300, -0.25 -0.5, -3.3 2.6, 100000.0 -5.5, -171.5 0.3, -480.25 470.5, 300.5 -250.25, -140.3 -150.45,
    10000000000.0 -3.25, 1e+300 -1e-10, -11.999999999999998 5.344975871597187e-09, -2.9999999999 -4.5, 0.5 -0.5,
    -20.5 0.5, -1.5 -0.5, 2.25 -3.25, 2.5 1e-09, 10000000000.0 2.0, 1e-09 1000000.0, 1.5 -1.5, 0.3 2.0, 50.0 60.0,
    -0.5 -0.7, 1.5 -1.49999, 0.75 0.0625
normal_pdf: 0.3, -1.7, -9.0, 5.0
sigmoid: 0.3, -1.7, -40.0, 40.0, -700.0
softplus: 0.3, -1.7, -40.0, 40.0, -700.0
log_add_exp: 0.3 -1.5, 2.0 2.0, -3.0 40.0, -1000.0 -1001.5, 1000.0 999.0
smooth_abs: 0.3 0.5, -2.0 1e-05, 1e-10 0.25, 1e+200 1e+200
ln_normal_cdf: 0.3, -1.7, -9.0, -40.0, -10000000000.0, 5.0
erfcx: 0.3, -1.7, 4.5, 100000.0, 2.0
ln_erfc: 0.3, -1.7, 4.5, 1000.0, 2.0
log1m_exp: -0.3, -1.7, -40.0
x_ln_x: 0.3, 2.5, 1e+20
logit: 0.75, 0.9999
ln_sigmoid: 0.3, -1.7, 40.0, -700.0
sinc: 0.3, -1.7, 1e-10, 40.0
square: 0.3, -1.7, 10000000000.0
lambert_w0: 0.3, -0.25, -0.367, 20.0, 1e+25
lambert_wm1: -0.3, -0.25, -0.367, -1e-25
log_diff_exp: 0.3 -1.5, 40.0 -3.0, -1000.0 -1001.5, 2.0 1.75
xlogy: 0.3 2.5, -2.0 0.1, 10000000000.0 1.5
xlog1py: 0.3 2.5, -2.0 -0.75, 10000000000.0 1e-10
"""


def row(name, x):
    """A line as those of elementary.py; numbers beyond the range of doubles are infinite or 0."""
    f, n = elementary.UNARY.get(name) or elementary.BINARY[name], len(x)
    for more in (300, 1500):
        with mp.workdps(elementary.digits_for(x) + more):
            found, again = elementary.derivatives(f, x, 30), elementary.derivatives(f, x, 32)
            if all(elementary.agree(a, b) for a, b in zip(found, again)):
                parts = [elementary.spelled(mpf(a), 17 if k <= n else 14) for k, a in enumerate(found)]
                call = " ".join([name, *map(elementary.decimal, x)])
                return f"{call} | {parts[0]} | {' '.join(parts[1 : n + 1])} | {' '.join(parts[n + 1 :])}"
    raise ArithmeticError("no agreement")


def main():
    print("# name x [y] | f | f_x [f_y] | f_xx [f_xy f_yy], made by generate/reference.py")
    for line in POINTS.strip().replace("\n    ", " ").splitlines():
        name, arguments = line.split(": ")
        for x in arguments.split(", "):
            try:
                print(row(name, [float(a) for a in x.split()]), flush=True)
            except (ArithmeticError, ValueError) as error:
                print(name, x, repr(error), file=sys.stderr)


main()
