"""Times of JAX for the functions of `examples/devices.rs`: values and gradients in double precision, the least of some
rounds, with inputs on the device. Prints the rows of that example's `--csv`, and values to compare."""

import sys
import time

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)
SMALL = "--small" in sys.argv


def start(count, seed):
    return 0.5 + 0.4 * jnp.sin(0.37 * jnp.arange(count, dtype=jnp.float64) + seed)


def norm_res(x, b):
    x = 3.0 * x
    left = jnp.concatenate([jnp.zeros(1), x[:-1]])
    right = jnp.concatenate([x[1:], jnp.zeros(1)])
    y = 2.0 * x - b - left - right
    return jnp.sum(y * y)


def burgers(u, v, steps, a, nu):
    def moved(w, u, v):
        c = w[1:-1, 1:-1]
        east, west, north, south = w[1:-1, 2:], w[1:-1, :-2], w[2:, 1:-1], w[:-2, 1:-1]
        p, q = u[1:-1, 1:-1], v[1:-1, 1:-1]
        ax = jnp.where(p >= 0.0, p * (c - west), p * (east - c))
        ay = jnp.where(q >= 0.0, q * (c - south), q * (north - c))
        return c - a * (ax + ay) + nu * (east + west + north + south - 4.0 * c)

    def step(state, _):
        u, v = state
        inside = (slice(1, -1), slice(1, -1))
        return (u.at[inside].set(moved(u, u, v)), v.at[inside].set(moved(v, u, v))), None

    (u, v), _ = lax.scan(step, (u, v), None, length=steps)
    return jnp.sum(u * u + v * v)


def diffusion(u, kappa, steps):
    def step(u, _):
        c = u[1:-1, 1:-1, 1:-1]
        x = u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        y = u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        z = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1]
        return u.at[1:-1, 1:-1, 1:-1].set((x + y + z - 6.0 * c) * kappa + c), None

    u, _ = lax.scan(step, u, None, length=steps)
    return jnp.sum(u * u)


def least(rounds, f):
    jax.block_until_ready(f())
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        jax.block_until_ready(f())
        best = min(best, time.perf_counter() - began)
    return 1e3 * best


def measure(name, f, inputs):
    rounds = 2 if SMALL else 7
    value, gradient = jax.jit(f), jax.jit(jax.value_and_grad(f, argnums=tuple(range(len(inputs)))))
    primal, both = least(rounds, lambda: value(*inputs)), least(rounds, lambda: gradient(*inputs))
    found, slopes = gradient(*inputs)
    total = sum(float(jnp.sum(slope)) for slope in slopes)
    print(f"JAX,{name},{primal:.4f},{both:.4f},{both / primal:.3f},,")
    print(f"# {name}: value {float(found):.12e}, sum of the gradient {total:.12e}")


print(f"# JAX {jax.__version__} on {jax.devices()[0].device_kind}")
for k in range(1, 5 if SMALL else 8):
    n = 10**k
    measure(f"normRes1DLaplacianSQ {n}", lambda x, b=start(n, 1.0): norm_res(x, b), [start(n, 0.0)])
for n, steps in [(128, 4)] if SMALL else [(128, 32), (1024, 8), (1024, 32)]:
    u, v = start(n * n, 0.0).reshape(n, n), start(n * n, 1.0).reshape(n, n)
    measure(f"burgers2d {n} x {n} x {steps}", lambda u, v, s=steps: burgers(u, v, s, 0.05, 0.02), [u, v])
n = 16 if SMALL else 128
u = start(n**3, 0.0).reshape(n, n, n)
measure(f"diffusion {n} x {n} x {n} x 8", lambda u, kappa: diffusion(u, kappa, 8), [u, jnp.float64(0.1)])
