"""Concrete's side of bench/integer_peers.py: answers one measurement a line. Needs CPython 3.10.

The wheel concrete-python 2.11 imports `pkg_resources`, which setuptools has below version 81.
"""

import math
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np
from answers import answer
from concrete import fhe

ONE_THREAD = {"loop_parallelize": False, "dataflow_parallelize": False}
STRICT = {"global_p_error": 2.0**-128}
CORNERS = [(0, 0), (255, 255), (0, 255), (255, 0)]
PAIR = (77, 200)
SIGNED = np.random.default_rng(1).integers(-8, 8, 256)


def compiled(function: Callable[..., Any], inputs: list[Any], **chosen: Any) -> Any:
    """A circuit whose arguments are all encrypted."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    settings = fhe.Configuration(**ONE_THREAD, **chosen)
    return fhe.Compiler(function, dict.fromkeys(names, "encrypted")).compile(inputs, settings)


def comparison(**chosen: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """A comparison of 8 bits, as users write it."""
    return compiled(lambda x, y: x < y, CORNERS, **chosen), PAIR, 1


def borrow(**chosen: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """The same, as the bit that a difference borrows: bits are taken from the lowest up."""
    return compiled(lambda x, y: fhe.bits(x - y)[8], CORNERS, **chosen), PAIR, 1


def relus(**chosen: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """256 of 4 signed bits."""
    circuit = compiled(lambda x: np.maximum(x, 0), [np.full(256, -8), np.full(256, 7)], **chosen)
    return circuit, (SIGNED,), np.maximum(SIGNED, 0)


def main() -> None:
    """Circuits are compiled at once; keys are made when they are first needed."""
    circuits = {
        "u8_cmp x < y, default": comparison(),
        "u8_cmp x < y, one table": comparison(
            comparison_strategy_preference=fhe.ComparisonStrategy.ONE_TLU_PROMOTED
        ),
        "u8_cmp bits(x - y)[8], default": borrow(),
        "u8_cmp bits(x - y)[8], 2^-128": borrow(**STRICT),
        "relu default": relus(),
        "relu 2^-128": relus(**STRICT),
    }
    calls: dict[str, Callable[[], Any]] = {}

    def call_of(op: str) -> Callable[[], Any]:
        if op not in calls:
            circuit, inputs, wanted = circuits[op]
            circuit.keygen()
            sent = circuit.encrypt(*inputs)
            sent = sent if isinstance(sent, tuple) else (sent,)
            assert np.array_equal(circuit.decrypt(circuit.run(*sent)), wanted), op
            calls.clear()  # Keys of one circuit may have gigabytes.
            calls[op] = lambda: circuit.run(*sent)
        return calls[op]

    answer(
        call_of,
        peer="concrete",
        version=version("concrete-python"),
        pfail_log2={
            op: round(math.log2(circuit.global_p_error), 1)
            for op, (circuit, _, _) in circuits.items()
        },
        tables={
            op: circuit.programmable_bootstrap_count for op, (circuit, _, _) in circuits.items()
        },
        key_bytes={
            op: circuit.size_of_bootstrap_keys + circuit.size_of_keyswitch_keys
            for op, (circuit, _, _) in circuits.items()
        },
    )


if __name__ == "__main__":
    main()
