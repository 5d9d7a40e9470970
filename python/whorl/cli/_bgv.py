"""BGV on the command line."""

from __future__ import annotations

from ._scheme import Scheme

BGV = Scheme(
    name="bgv",
    help="BGV: exact arithmetic on vectors of integers.",
    module="whorl.bgv",
    operations={
        "add": (2, lambda server, a, b: a + b),
        "sub": (2, lambda server, a, b: a - b),
        "multiply": (2, lambda server, a, b: a * b),
        "negate": (1, lambda server, a: -a),
        "square": (1, lambda server, a: a.square()),
        "swap_rows": (1, lambda server, a: a.swap_rows()),
        "inner_sum": (1, lambda server, a: a.inner_sum()),
        "shrink": (1, lambda server, a: a.shrink()),
    },
)
