"""What the benches of schemes over RNS rings share: timing on a server, records, the table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from . import _records as shared
from ._output import out, pairs, size, table

LEAST_SECONDS = 0.02
"""Least seconds of a timed run: operations for this long, then a wait for the device."""
ON_CLIENT = ("encrypt", "decrypt", "keygen")
AROUND = (*ON_CLIENT, "end_to_end")
"""end_to_end: upload two, multiply, relinearise, download. keygen: the relinearisation key."""
STEPS = tuple(range(1, 9))
"""Rotations of rotate_many."""

Batch = Annotated[int, typer.Option("--batch", min=1, help="Ciphertexts.")]
Work = Callable[[str, int], Callable[[], object]]
"""What to time, for an operation and a batch."""


class Plan(NamedTuple):
    """Options of a bench."""

    batch: int
    runs: int
    threads: int
    as_json: bool
    record: Path | None


def chosen_ops(given: Sequence[str] | None, on_server: Collection[str]) -> list[str]:
    """Operations in lower case; `ValueError` for an unknown one."""
    names = [name.lower() for name in given or ["mult_relin", "rotate"]]
    for name in names:
        if name not in on_server and name not in AROUND:
            raise ValueError(f"op: {name!r} is not one of {', '.join([*on_server, *AROUND])}")
    return names


def rotations_of(names: Collection[str]) -> tuple[int, ...]:
    """What `rotate` and `rotate_many` take of these operations."""
    return STEPS if "rotate_many" in names else (1,) if "rotate" in names else ()


def _seconds(work: Callable[[], object], server: Any) -> float:
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


def _measure(scheme: str, op: str, server: Any, work: Work, plan: Plan) -> list[dict[str, Any]]:
    """Latency of a single ciphertext; and throughput of a batch, if there is one."""
    chosen, batch = server.parameters, plan.batch
    threads = plan.threads or len(os.sched_getaffinity(0))
    device = ("cpu", 1) if op in ON_CLIENT else shared.hardware([server.device])
    records = []
    for count in (1, batch) if batch > 1 and op != "keygen" else (1,):
        once = partial(_seconds, work(op, count), server)
        seconds = shared.repeated(once, plan.runs, f"{op}, {count}")
        values = seconds if count == 1 else [count / each for each in seconds]
        records.append(
            shared.make_record(
                *(scheme, op, scheme, chosen, device, threads, count),
                "included" if op == "end_to_end" else "excluded",
                "s" if count == 1 else "1/s",
                values,
            )
        )
    return records


def _headline(server: Any, keys: Any, plan: Plan) -> None:
    for line in server.parameters.describe().splitlines():
        out.print(line, markup=False)
    pairs(
        [
            ("device", server.device),
            ("keys", f"{size(keys.nbytes)}, {size(server.key_bytes)} on the device"),
            ("batch, runs", f"{plan.batch}, {plan.runs} (median; smallest – largest)"),
        ]
    )
    out.print()


def bench(
    scheme: str,
    names: Sequence[str],
    server: Any,
    keys: Any,
    work: Work,
    plan: Plan,
) -> None:
    """Measures operations, prints a table or records, and appends records to a file."""
    if not plan.as_json:
        _headline(server, keys, plan)
    records, rows = [], []
    for name in names:
        found = _measure(scheme, name, server, work, plan)
        records += found
        many = (
            shared.rate_spread(found[1]) if len(found) > 1 else f"{1 / found[0]['median']:.1f} /s"
        )
        rows.append([name, shared.spread(found[0]), many])
    if not plan.as_json:
        table(["operation", "one", "a second"], rows)
    shared.publish(records, plan.as_json, plan.record)
