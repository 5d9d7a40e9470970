"""bench lanes: what exact gates and programs on lanes cost on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from .. import lanes as of
from .._core.progress import bar
from ..ckks import parameter_sets
from . import _bench_ring as ring_bench
from . import _sets as sets
from ._completion import from_list

Arrays = tuple[of.LaneArray, ...]


class _Program(NamedTuple):
    """What is called, and the axes of its arrays before that of the batch."""

    call: Callable[..., object]
    shapes: tuple[tuple[int, ...], ...]


def _table(bits: int) -> _Program:
    """Any permutation of the numbers of so many bits; of two bits their sum."""
    table = np.random.default_rng(1).permutation(1 << bits) if bits > 2 else [0, 1, 1, 2]
    return _Program(lambda x: x.server.lookup(x, table), ((bits,),))


OPERATIONS: dict[str, _Program] = {
    "and": _Program(lambda x, y: x & y, ((), ())),
    "xor": _Program(lambda x, y: x ^ y, ((), ())),
    "where": _Program(lambda s, x, y: s.server.where(s, x, y), ((), (), ())),
    "full_add": _Program(lambda x, y, z: x.server.full_add(x, y, z), ((), (), ())),
    "table2": _table(2),
    "table4": _table(4),
    "table8": _table(8),
    "table16": _table(16),
    "add64": _Program(of.add, ((64,), (64,))),
    "less64": _Program(of.less, ((64,), (64,))),
    "mul64": _Program(of.multiply, ((64,), (64,))),
    "sort8": _Program(of.sort, ((8, 8),)),
    "aes": _Program(of.aes128, ((8, 16), (8, 16))),
    "bootstrap": _Program(lambda x: x.server.refresh(x), ((),)),
}
"""The operations that are timed, on fresh operands that are on the device."""


def _work(op: str, client: of.Client, server: of.Server, count: int) -> Callable[[], object]:
    """What to time on a batch of `count`."""

    def fresh(axes: tuple[int, ...]) -> Any:
        # A key of AES serves all blocks of a lane.
        shape = axes if op == "aes" and not operands else (*axes, count)
        bits = np.random.default_rng().integers(0, 2, (*shape, server.lanes))
        return client.encrypt(bits)

    operands: list[Any] = []
    program = OPERATIONS.get(op, OPERATIONS["and"])
    for axes in program.shapes:
        operands.append(fresh(axes))
    if op == "encrypt":
        bits = np.random.default_rng().integers(0, 2, (count, server.lanes))
        return lambda: client.encrypt(bits)
    if op == "keygen":
        return lambda: client.evaluation_keys(server.lanes)
    if op == "end_to_end":
        return lambda: server.and_(*operands).to_host()
    arrays = [server.upload(each) for each in operands]
    if op == "decrypt":
        host = arrays[0].to_host()
        return lambda: client.decrypt(host)
    return lambda: program.call(*arrays)


@ring_bench.command("lanes", OPERATIONS, "ckks", ("and", "full_add", "table4", "bootstrap"))
def lanes(
    names: list[str],
    device: str | None,
    threads: int,
    *,
    set_name: Annotated[
        str,
        typer.Option(
            "--set",
            help="A named set of parameters with bootstraps, or a file with the literal of one.",
            autocompletion=from_list(parameter_sets),
        ),
    ] = "W128_L13_B20",
    lanes: Annotated[int, typer.Option(min=0, help="Of each vector; 0: N/2.")] = 0,
) -> ring_bench.Opened:
    """Exact gates on lanes: time of one vector, and how many lanes a second in batches.

    Operands are fresh and lie on the device, where results stay, but for end_to_end, which uploads
    two vectors, takes AND and downloads. What programs clean and refresh on the way is in their
    times; a gate on fresh operands needs none of it.
    """
    chosen = sets.find_ckks(set_name, allow_insecure=True)  # its security is printed
    client = of.Client(chosen)
    keys = client.evaluation_keys(lanes or None, threads=threads, progress=True)
    with bar("preparing keys"):
        server = of.Server(keys, device, threads, allow_insecure=True, progress=True)
    return server, keys, lambda name, count: _work(name, client, server, count)
