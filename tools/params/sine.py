"""How precisely polynomials of a CKKS bootstrap reduce values modulo 1, by degree.

A bootstrap must turn t = I + m/r into m, where |I| < K is an integer and |m| <= 1. It evaluates
cos(2π(t - 1/4)/2^d + π/2) by a polynomial in (t - 1/4)/K, doubles the angle d times, which gives
sin(2πt), and multiplies by r/(2π). This prints the bits that are left of m in the worst case. They
are those of Chebyshev's interpolation of the cosine over all of -K … K, and those of polynomials
that are fitted to the cosine and its derivative at the integers alone, where larger |I| count
less: one with all powers, and one with the odd powers, which are half as many.

usage: python tools/params/sine.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

K = 16
"""Integers are below this: sparse secrets of weight 32 leave it with probability 2^-138."""
SPREAD, LEAST = 3.2, 1e-4
"""Weight of the integer I in a fit: exp(-(I/SPREAD)²/2), and at least LEAST."""
CENTER = 0.25

Floats = np.ndarray[tuple[Any, ...], np.dtype[np.floating[Any]]]


def cosine(u: Floats, doublings: int) -> Floats:
    """The cosine of u = t - 1/4, a quarter turn on: then doubling errs least where t is near 0."""
    return -np.sin(2 * np.pi * u / 2**doublings)


def interpolated(degree: int, doublings: int) -> Floats:
    """The coefficients of T_k(u/K), by interpolation at Chebyshev's nodes."""
    # It calls its function with an array; the stubs of NumPy say: for one number.
    values: Any = lambda x: cosine(K * x, doublings)  # noqa: E731
    return chebyshev.chebinterpolate(values, degree)


def fitted(degree: int, doublings: int, r: float, step: int) -> Floats:
    """The same, by weighted least squares on values and slopes at the integers. step = 2: of odd
    powers only."""
    I = np.arange(-K + 1, K)  # noqa: E741
    weight = np.maximum(np.exp(-((I / SPREAD) ** 2) / 2), LEAST)[:, None]
    u = (I - CENTER)[:, None]
    k, theta = np.arange(step - 1, degree + 1, step), np.arccos(u / K)
    values = np.cos(theta * k) * weight * r
    slopes = k * np.sin(theta * k) / np.sin(theta) / K * weight
    speed = 2 * np.pi / 2**doublings
    wanted = [cosine(u, doublings) * weight * r, -np.cos(speed * u) * speed * weight]
    system = np.vstack([values, slopes])
    solution = np.zeros(degree + 1)
    solution[k] = np.linalg.lstsq(system, np.vstack(wanted)[:, 0], rcond=1e-18)[0]
    return solution


def bits(coefficients: Floats, doublings: int, r: float, most: int) -> float:
    """-log2 of the largest error of m over |I| <= most."""
    t = np.arange(-most, most + 1)[:, None] + np.linspace(-1, 1, 41) / r
    value = chebyshev.chebval((t - CENTER) / K, coefficients)
    for _ in range(doublings):
        value = 2 * value * value - 1
    factor = (1 + (2 * np.pi / r) ** 2 / 8) * r / (2 * np.pi)  # of least error on -1 … 1
    return float(-np.log2(np.abs(value * factor - np.linspace(-1, 1, 41)).max()))


def main() -> None:
    columns = ["interpolation"]
    columns += [f"{powers}, |I| <= {most}" for powers in ("all", "odd") for most in (8, 14)]
    print("| r | degree | doublings | levels | " + " | ".join(columns) + " |")
    print("|---" * (4 + len(columns)) + "|")
    for log2_r in (10, 12, 13, 14):
        r = 2.0**log2_r
        for degree, doublings in ((30, 3), (31, 3), (26, 4), (27, 4), (31, 4), (47, 3)):
            levels = int(degree).bit_length() + doublings
            out = [bits(interpolated(degree, doublings), doublings, r, K - 1)]
            for step in (1, 2):
                fit = fitted(degree, doublings, r, step)
                out += [bits(fit, doublings, r, most) for most in (8, 14)]
            row = " | ".join(f"{each:.1f}" for each in out)
            print(f"| 2^{log2_r} | {degree} | {doublings} | {levels} | {row} |")


if __name__ == "__main__":
    main()
