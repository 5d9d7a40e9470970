"""bench bgv: what BGV's operations cost on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from ..bgv import Client, EncryptedArray, EvaluationKeys, Server, parameters
from ..bgv._values import Packing
from . import _bgv as scheme
from . import _records as shared
from . import _ring_options as ring_options
from ._completion import one_of
from ._output import out, pairs, size, table

COLUMNS = tuple(range(1, 9))
"""Rotations of rotate_many."""
LEAST_SECONDS = 0.02
"""Least seconds of a timed run: operations for this long, then a wait for the device."""
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
    "rotate_many": lambda a, b: a.rotate_many(COLUMNS),
    "swap_rows": lambda a, b: a.swap_rows(),
    "rescale": lambda a, b: a.mod_switch(),
}
"""On operands that are on the device."""
AROUND = ("encrypt", "decrypt", "keygen", "end_to_end")
"""end_to_end: upload two, multiply, relinearise, download. keygen: the relinearisation key."""


def _seconds(work: Callable[[], object], server: Server) -> float:
    """Seconds of one call. There are so many calls that the wait for the device is small."""
    calls = 1
    while True:
        server.synchronise()
        started = time.perf_counter()
        for _ in range(calls):
            work()
        server.synchronise()
        seconds = time.perf_counter() - started
        if seconds >= LEAST_SECONDS:
            return seconds / calls
        calls *= 2 if seconds > LEAST_SECONDS / 8 else 8


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


def _measure(
    op: str, client: Client, server: Server, batch: int, runs: int, limbs: int, threads: int
) -> list[dict[str, Any]]:
    """Latency of a single ciphertext; and throughput of a batch, if there is one."""
    chosen = client.parameters
    on_client = op in ("encrypt", "decrypt", "keygen")
    device = ("cpu", 1) if on_client else shared.hardware([server.device])
    records = []
    for count in (1, batch) if batch > 1 and op != "keygen" else (1,):
        work = _work(op, client, server, count, limbs)
        seconds = shared.repeated(partial(_seconds, work, server), runs, f"{op}, {count}")
        values = seconds if count == 1 else [count / each for each in seconds]
        records.append(
            shared.make_record(
                *("bgv", op, "bgv", chosen.name, chosen.security_bits, device, threads, count),
                "included" if op == "end_to_end" else "excluded",
                "s" if count == 1 else "1/s",
                values,
                None,
            )
        )
    return records


def _headline(server: Server, keys: EvaluationKeys, batch: int, runs: int) -> None:
    for line in server.parameters.describe().splitlines():
        out.print(line, markup=False)
    pairs(
        [
            ("device", server.device),
            ("keys", f"{size(keys.nbytes)}, {size(server.key_bytes)} on the device"),
            ("batch, runs", f"{batch}, {runs} (median; smallest – largest)"),
        ]
    )
    out.print()


def bgv(
    op: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join([*OPERATIONS, *AROUND])}; default: mult_relin, rotate.",
            autocompletion=one_of(*OPERATIONS, *AROUND),
        ),
    ] = None,
    depth: ring_options.Depth = 12,
    plain_modulus: scheme.PlainModulus = 65537,
    ring: ring_options.Ring = 0,
    dnum: ring_options.Digits = 3,
    prime_bits: scheme.PrimeBits = 30,
    slots: Annotated[
        bool, typer.Option("--slots/--coefficients", help="Which packing t must allow.")
    ] = True,
    limbs: Annotated[int, typer.Option(min=0, help="Of the operands; 0: as encrypted.")] = 0,
    device: shared.Device = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Ciphertexts.")] = 1,
    runs: shared.Runs = 5,
    threads: shared.Threads = 0,
    as_json: shared.Json = False,
    record: shared.Record = None,
) -> None:
    """BGV: time of a single operation, and how many a second in batches.

    Operands lie on the device, and stay there, but for end_to_end, which uploads two ciphertexts,
    multiplies, relinearises and downloads. Parameters are chosen as `whorl.bgv.parameters` does.
    """
    names = [name.lower() for name in op or ["mult_relin", "rotate"]]
    for name in names:
        if name not in OPERATIONS and name not in AROUND:
            raise ValueError(f"op: {name!r} is not one of {', '.join([*OPERATIONS, *AROUND])}")
    chosen = parameters(depth, plain_modulus, ring or None, dnum, prime_bits, slots=slots)
    client = Client(chosen)
    rotations = COLUMNS if "rotate_many" in names else (1,) if "rotate" in names else ()
    keys = client.evaluation_keys(
        rotations=rotations, swap_rows="swap_rows" in names, threads=threads, progress=True
    )
    server = Server(keys, device, threads)
    cores = threads or len(os.sched_getaffinity(0))
    if not as_json:
        _headline(server, keys, batch, runs)
    records, rows = [], []
    for name in names:
        found = _measure(name, client, server, batch, runs, limbs, cores)
        records += found
        many = (
            shared.rate_spread(found[1]) if len(found) > 1 else f"{1 / found[0]['median']:.1f} /s"
        )
        rows.append([name, shared.spread(found[0]), many])
    if not as_json:
        table(["operation", "one", "a second"], rows)
    shared.publish(records, as_json, record)
