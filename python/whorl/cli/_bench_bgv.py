"""bench bgv: what BGV's operations cost on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer

from ..bgv import Client, EncryptedArray, Server, parameters
from ..bgv._values import Packing
from . import _bench_ring as ring_bench
from . import _bgv as scheme
from . import _ring_options as ring_options

ROW: np.ndarray[Any, np.dtype[np.int64]] = np.arange(1, 1025)
"""The plaintext of mult_plain."""

On = Callable[[EncryptedArray, EncryptedArray], object]
OPERATIONS: dict[str, On] = {
    "add": lambda a, b: a + b,
    "mult_plain": lambda a, b: a * ROW,
    "mult": lambda a, b: a.multiply(b, relinearise=False),
    "mult_relin": lambda a, b: a * b,
    "square": lambda a, b: a.square(),
    "rotate": lambda a, b: a.rotate(1),
    "rotate_many": lambda a, b: a.rotate_many(ring_bench.STEPS),
    "swap_rows": lambda a, b: a.swap_rows(),
    "rescale": lambda a, b: a.mod_switch(),
}
"""The operations that are timed, on operands that are on the device."""


def _work(op: str, client: Client, server: Server, count: int, limbs: int) -> Callable[[], object]:
    """What to time on a batch of `count`."""
    chosen = client.parameters
    shape = (count, chosen.N)
    values = np.random.default_rng().integers(0, chosen.t, size=shape)
    packing: Packing = "slots" if chosen.has_slots else "coefficients"
    if op == "encrypt":
        return lambda: client.encrypt(values, packing)
    if op == "keygen":
        return lambda: client.evaluation_keys()
    a, b = client.encrypt(values, packing), client.encrypt(values[::-1], packing)
    if op == "decrypt":
        return lambda: client.decrypt(a)
    x, y = server.upload(a), server.upload(b)
    if limbs:
        x, y = x.mod_switch(limbs), y.mod_switch(limbs)
        a, b = x.to_host(), y.to_host()
    if op == "end_to_end":
        return lambda: server.multiply(a, b).to_host()
    return lambda: OPERATIONS[op](x, y)


@ring_bench.command("bgv", OPERATIONS)
def bgv(
    names: list[str],
    device: str | None,
    threads: int,
    *,
    depth: ring_options.Depth = 12,
    plain_modulus: scheme.PlainModulus = 65537,
    ring: ring_options.Ring = 0,
    dnum: ring_options.Digits = 0,
    prime_bits: scheme.PrimeBits = 30,
    slots: Annotated[
        bool, typer.Option("--slots/--coefficients", help="Which packing t must allow.")
    ] = True,
    limbs: Annotated[int, typer.Option(min=0, help="Of the operands; 0: as encrypted.")] = 0,
) -> ring_bench.Opened:
    """BGV: time of a single operation, and how many a second in batches.

    Operands lie on the device, and stay there, but for end_to_end, which uploads two ciphertexts,
    multiplies, relinearises and downloads. Parameters are chosen as `whorl.bgv.parameters` does.
    """
    chosen = parameters(depth, plain_modulus, ring or None, dnum or None, prime_bits, slots=slots)
    client = Client(chosen)
    keys = client.evaluation_keys(
        rotations=ring_bench.rotations_of(names),
        swap_rows="swap_rows" in names,
        threads=threads,
        progress=True,
    )
    server = Server(keys, device, threads)
    return server, keys, lambda name, count: _work(name, client, server, count, limbs)
