# Writes oracle.txt: `python3 oracle.py > oracle.txt`, with the packages mpmath and gmpy2.
#
# Each line is `function | condition | inputs | value | gradient | Hessian times the direction`. The functions are closed
# forms with square roots, evaluated with 1500 digits; derivatives are central differences with a step of 1e-200. The
# inputs are doubles, taken exactly. Roundings of the inputs are enlarged by the condition number.
from mpmath import mp, mpf, sqrt, sin, cos, atan2, exp, log, pi, matrix, lu_solve

mp.dps = 1500
H = mpf(10) ** -200
THETAS = [0.0, 1e-300, 1e-160, 1e-20, 1e-8, 1e-4, 1e-3, 0.1, 1.5707963267948966, 3.0, 3.141592653589793 - 1e-6]
AXES = [(1.0, 0.0, 0.0), (0.48, -0.6, 0.64)]
WEIGHTS = [mpf(k) for k in (1.5, -0.75, 2.25, 0.625, -1.25, 0.875)]
DIRECTION = [mpf(k) for k in (0.7, -1.1, 0.4, 0.9, -0.3, 1.2, -0.8, 0.6, 0.5)]
P, A = [mpf(k) for k in (1, 2, 3)], [mpf(k) for k in (0.375, -0.75, 1.125)]
START = [mpf(k) for k in (0.5, 0.5, -0.5, 0.5)]


def weigh(x):
    return sum(w * x for w, x in zip(WEIGHTS, x))


def norm(x):
    return sqrt(sum(y * y for y in x))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def turn(w):  # unit quaternion, scalar last
    t = norm(w)
    return [mpf(0)] * 3 + [mpf(1)] if t == 0 else [sin(t / 2) / t * w for w in w] + [cos(t / 2)]


def product(p, q):
    c = cross(p, q)
    v = [p[3] * q[k] + q[3] * p[k] + c[k] for k in range(3)]
    return v + [p[3] * q[3] - sum(p[k] * q[k] for k in range(3))]


def rotated(w, p):  # Rodrigues
    t = norm(w)
    if t == 0:
        return p
    n = [w / t for w in w]
    c, along = cross(n, p), sum(n * p for n, p in zip(n, p))
    return [p[k] * cos(t) + c[k] * sin(t) + n[k] * along * (1 - cos(t)) for k in range(3)]


def turn_of(q):
    v = norm(q[:3])
    s = 2 * atan2(v, abs(q[3])) * (1 if q[3] >= 0 else -1)
    return [mpf(0)] * 3 if v == 0 else [s * x / v for x in q[:3]]


def shift_matrix(w):  # ∫ R(u·w) du from 0 to 1, column by column
    t = norm(w)
    unit = [[mpf(i == k) for i in range(3)] for k in range(3)]
    if t == 0:
        return unit
    def column(e):
        once = cross(w, e)
        twice = cross(w, once)
        return [e[k] + (1 - cos(t)) / t**2 * once[k] + (t - sin(t)) / t**3 * twice[k] for k in range(3)]
    return [column(e) for e in unit]


def shift(w, r):
    c = shift_matrix(w)
    return [sum(c[j][i] * r[j] for j in range(3)) for i in range(3)]


def shift_of(w, t):
    c = shift_matrix(w)
    return list(lu_solve(matrix([[c[j][i] for j in range(3)] for i in range(3)]), matrix(t)))


def planar(a, x, y):
    if a == 0:
        return [x, y]
    s, c = sin(a) / a, (1 - cos(a)) / a
    return [s * x - c * y, c * x + s * y]


def planar_of(a, x, y):
    if a == 0:
        return [x, y]
    s, c = sin(a) / a, (1 - cos(a)) / a
    return [(s * x + c * y) / (s * s + c * c), (s * y - c * x) / (s * s + c * c)]


def between(a, b):
    c = cross(a, b)
    n = norm(c)
    t = atan2(n, sum(a * b for a, b in zip(a, b)))
    return [sin(t / 2) * (c / n if n else 0) for c in c] + [cos(t / 2)]


def quaternion_exp(q):
    v = norm(q[:3])
    return [exp(q[3]) * (sin(v) / v * x if v else 0) for x in q[:3]] + [exp(q[3]) * cos(v)]


def quaternion_ln(q):
    v = norm(q[:3])
    return [atan2(v, q[3]) / v * x if v else mpf(0) for x in q[:3]] + [log(norm(q))]


FUNCTIONS = {
    "exp": lambda x: weigh(turn(x)),
    "rotated": lambda x: sum(a * r for a, r in zip(A, rotated(x, P))),
    "log": lambda x: weigh(turn_of(x)),
    "squared_angle": lambda x: (2 * atan2(norm(x[:3]), abs(x[3]))) ** 2,
    "angle": lambda x: 2 * atan2(norm(x[:3]), abs(x[3])),
    "motion": lambda x: weigh(shift(x[3:], x[:3])),
    "motion_log": lambda x: weigh(shift_of(turn_of(x[3:]), x[:3])),
    "interpolated": lambda x: weigh(product(START, turn([w * x[3] for w in x[:3]]))),
    "between": lambda x: weigh(between(x[:3], x[3:])),
    "planar_motion": lambda x: weigh(planar(x[2], x[0], x[1])),
    "planar_log": lambda x: weigh(planar_of(x[2], x[0], x[1])),
    "quaternion_exp": lambda x: weigh(quaternion_exp(x)),
    "quaternion_ln": lambda x: weigh(quaternion_ln(x)),
    "unit": lambda x: weigh([y / norm(x) for y in x]),
}


def moved(x, *steps):
    return [x[i] + sum(h * v[i] for h, v in steps) for i in range(len(x))]


def line(name, condition, inputs):
    f, x = FUNCTIONS[name], [mpf(x) for x in inputs]
    unit = [[mpf(i == k) for i in range(len(x))] for k in range(len(x))]
    gradient = [(f(moved(x, (H, e))) - f(moved(x, (-H, e)))) / (2 * H) for e in unit]
    def bend(e):
        at = lambda a, b: f(moved(x, (a * H, DIRECTION), (b * H, e)))
        return (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * H * H)
    groups = [[condition], inputs, [float(f(x))], map(float, gradient), [float(bend(e)) for e in unit]]
    print(" | ".join([name] + [" ".join(repr(x) for x in group) for group in groups]))


for axis in AXES:
    for theta in THETAS:
        w = [theta * n for n in axis]
        q = [float(x) for x in turn([mpf(x) for x in w])]
        rho = [0.5, -1.5, 2.5]
        line("exp", 1.0, w)
        line("rotated", 1.0, w)
        line("log", 1.0, q)
        line("log", 1.0, [-2 * x for x in q])
        line("squared_angle", 1.0, q)
        if theta >= 1e-20:
            line("angle", 1.0, q)
        line("motion", 1.0, rho + w)
        line("motion_log", 1.0, rho + q)
        line("interpolated", 1.0, w + [0.375])
        line("quaternion_exp", 1.0, w + [-0.25])
        line("quaternion_ln", 1.0, q)
        line("quaternion_ln", 1.0, [1.5 * x for x in q[:3]] + [-1.5 * q[3]] if theta > 0.01 else [2 * x for x in q])
        base = [0.0, 1.0, 0.0] if axis[0] == 1.0 else [0.25, 0.5, 0.28125]
        other = [float(1.5 * x) for x in rotated([mpf(x) for x in w], [mpf(x) for x in base])]
        line("between", float(1 / cos(mpf(theta) / 2)), base + other)
    line("unit", 1.0, [3.0 * n for n in axis])
for theta in THETAS:
    for sign in (1, -1):
        line("planar_motion", 1.0, [0.5, -1.5, sign * theta])
        line("planar_log", 1.0, [0.5, -1.5, sign * theta])
line("unit", 1.0, [1e-140, 0.0, -2e-140, 1e-142])
line("unit", 1.0, [3e140, 0.0, -2e140, 1e138])
