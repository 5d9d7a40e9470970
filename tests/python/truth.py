"""Truth tables of all gates, and the p of their bits."""

from collections.abc import Callable

import numpy as np

TRUTH: dict[str, Callable[..., np.ndarray]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "nand": lambda a, b: 1 - (a & b),
    "nor": lambda a, b: 1 - (a | b),
    "xor": lambda a, b: a ^ b,
    "xnor": lambda a, b: 1 - (a ^ b),
    "majority": lambda a, b, c: ((a + b + c) >= 2).astype(int),
    "and3": lambda a, b, c: a & b & c,
    "or3": lambda a, b, c: a | b | c,
    "and4": lambda a, b, c, d: a & b & c & d,
    "or4": lambda a, b, c, d: a | b | c | d,
}
ARITY = {name: function.__code__.co_argcount for name, function in TRUTH.items()}
P = {2: 4, 3: 6, 4: 8}


def bits_p(name: str) -> int:
    return 4 if name == "majority" else P[ARITY[name]]
