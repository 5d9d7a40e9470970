#!/usr/bin/env python3
"""Estimates Gaussian secrets beside ternary ones: prints the rows of gaussian.jsonl.

It needs Sage, or the packages passagemath-standard-no-symbolics and passagemath-symbolics, and the
lattice-estimator on the path of Python. It takes half an hour.

usage: gaussian.py >gaussian.jsonl
"""

import json
import math
import time

from estimator import LWE, ND

SIZES = [(560, 14), (1024, 25), (1024, 27), (2048, 54)]  # n, log2 q of ternary rows, sigma 3.19
WIDTHS = [1.0, 1.2, 1.6, 2.0, 3.19, 4.5, 8.0]
ATTACKS = {"usvp": LWE.primal_usvp, "bdd": LWE.primal_bdd, "dual_hybrid": LWE.dual_hybrid}


def estimate(n, log2q, sigma):
    """One row: secret and errors are Gaussian of width sigma, q/sigma is 2^log2q / 3.19."""
    started = time.monotonic()
    q = round(2**log2q * sigma / 3.19)
    width = ND.DiscreteGaussian(sigma)
    instance = LWE.Parameters(n=n, q=q, Xs=width, Xe=width)
    bits = {
        name: round(float(math.log2(attack(instance)["rop"])), 1)
        for name, attack in ATTACKS.items()
    }
    row = {"secret": "gaussian", "n": n, "log2q": round(math.log2(q), 4), "sigma": sigma, **bits}
    return {**row, "min": min(bits.values()), "sec": round(time.monotonic() - started)}


if __name__ == "__main__":
    for n, log2q in SIZES:
        for sigma in WIDTHS:
            print(json.dumps(estimate(n, log2q, sigma)), flush=True)
