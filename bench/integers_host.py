"""How long a host takes for encrypted integers of which operations come again.

    .venv/bin/python bench/integers_host.py [--device none] [--set W128_P128_M4] [--bits 64]
        [--batch 1] [--runs 30] [--steps 1] [--saves both] [--products 1]

Prints for each operation the time until Python has its result, and until the device has it; medians
of runs on fresh operands that lie on the device, in microseconds. The device `none` makes no
rotations and no key switches, so that both are what the host takes, with the rounding of rows on
the CPU; it counts the process's own time, and not that of others beside it. With `--steps 1` each
step of an operation is a call of its own.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from whorl import binfhe, integers
from whorl._server import binfhe as lib
from whorl.binfhe._plan import Fresh, _FollowingServer
from whorl.integers._carry import Form
from whorl.integers._circuit import SECTORS

KNOWN = 0x9E3779B97F4A7C15


def operations(bits: int) -> dict[str, Callable[[Any, Any], Any]]:
    """By name, what is computed of two integers."""
    known = KNOWN % (1 << bits) | 1
    divisor = known >> bits // 3 | 1
    return {
        "sum": lambda x, y: x.server.canonical(x + y),
        "comparison": lambda x, y: x < y,
        "product": lambda x, y: x.server.canonical(x * y),
        "product, known": lambda x, _: x.server.canonical(x * known),
        "quotient, known": lambda x, _: x.server.canonical(x // divisor),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="none")
    options.add_argument("--set", default="W128_P128_M4")
    options.add_argument("--bits", type=int, default=64)
    options.add_argument("--batch", type=int, default=1)
    options.add_argument("--runs", type=int, default=30)
    options.add_argument("--steps", type=int, default=0)
    options.add_argument("--products", type=int, default=0, help="1: with product keys")
    options.add_argument("--saves", default="both", help="rotations, both or layers")
    given = options.parse_args()
    parameters = binfhe.parameters(given.set)
    server: Any
    inner: Any
    fresh: Callable[[], Any]
    if given.device == "none":
        inner = _FollowingServer(lib.DryRun.create(parameters._core, None, 1.0), parameters)
        server = integers.Server(inner, saves=given.saves)
        if given.products:
            server._on.circuit.engine._multiplier = binfhe.Multiplier._dry(inner)
        digits = Form(given.bits, False).digits

        def fresh() -> Any:
            rows = inner.fresh(Fresh((digits, given.batch), SECTORS, under="ring"))
            number = server._on.on_device(rows, given.bits, False)
            return server._array(number, (given.batch,))
    else:
        lwe = binfhe.Client(parameters)
        inner = binfhe.Server(lwe.evaluation_keys(), device=given.device)
        products = lwe.product_keys() if given.products else None
        server = integers.Server(inner, saves=given.saves, products=products)
        client = integers.Client(lwe)

        def fresh() -> Any:
            return server.upload(client.encrypt([3] * given.batch, given.bits))

    wait = server._server._core.synchronise
    clock = time.process_time if given.device == "none" else time.perf_counter
    if given.steps:
        server._on.circuit.engine.compiled = lambda *_: None
    for name, operation in operations(given.bits).items():
        host, both = [], []
        for _ in range(given.runs + 3):
            x, y = fresh(), fresh()
            wait()
            begun = clock()
            made = operation(x, y)
            host.append(clock() - begun)
            wait()
            both.append(clock() - begun)
            del made
        us = [statistics.median(times[3:]) * 1e6 for times in (host, both)]
        print(f"{name}: {us[0]:,.0f} us of the host, {us[1]:,.0f} us in all", flush=True)


if __name__ == "__main__":
    main()
