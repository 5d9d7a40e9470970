"""What the benches of schemes over RNS rings share: timing on a server, records, the table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from . import _records as shared
from ._completion import one_of
from ._output import out, pairs, size, table
from ._scheme import arguments_of, options_of, with_arguments

LEAST_SECONDS = 0.02
"""Least seconds of a timed run: operations for this long, then a wait for the device."""
ON_CLIENT = ("encrypt", "decrypt", "keygen")
AROUND = (*ON_CLIENT, "end_to_end")
"""end_to_end: upload two, multiply, relinearise, download. keygen: the relinearisation key."""
STEPS = tuple(range(1, 9))
"""Rotations of rotate_many."""

Work = Callable[[str, int], Callable[[], object]]
"""What to time, for an operation and a batch."""
Opened = tuple[Any, Any, Work]
"""A server, its keys, and what is timed on it."""


def chosen_ops(
    given: Sequence[str] | None, known: Sequence[str], default: Sequence[str]
) -> list[str]:
    """Operations in lower case; `ValueError` for an unknown one."""
    names = [name.lower() for name in given or default]
    for name in names:
        if name not in known:
            raise ValueError(f"op: {name!r} is not one of {', '.join(known)}")
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


def _measure(
    bench: str, scheme: str, op: str, server: Any, work: Work, batch: int, runs: int, threads: int
) -> list[dict[str, Any]]:
    """Latency of a single ciphertext; and throughput of a batch, if there is one: of ciphertexts,
    or of the lanes in them."""
    device = ("cpu", 1) if op in ON_CLIENT else shared.hardware([server.device])
    records = []
    for count in (1, batch) if batch > 1 and op != "keygen" else (1,):
        once = partial(_seconds, work(op, count), server)
        seconds = shared.repeated(once, runs, f"{op}, {count}")
        values = seconds if count == 1 else [count * _each(server) / each for each in seconds]
        records.append(
            shared.make_record(
                *(bench, op, scheme, server.parameters, device, threads, count),
                "included" if op == "end_to_end" else "excluded",
                "s" if count == 1 else "1/s",
                values,
                getattr(server, "log2_failure", None),
            )
        )
    return records


def _each(server: Any) -> int:
    """What a ciphertext counts as in throughputs."""
    return getattr(server, "lanes", 1)


def _headline(server: Any, keys: Any, batch: int, runs: int) -> None:
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


def command(
    bench_name: str,
    on_server: Collection[str],
    scheme: str = "",
    default: Sequence[str] = ("mult_relin", "rotate"),
) -> Callable[[Callable[..., Opened]], Callable[..., None]]:
    """Decorates what opens a server for operations, a device and threads, and makes a bench of it.
    The scheme is that of its name, unless it is given; `default` are its operations.

    The bench has its docstring, and its keyword-only arguments as options beside those of all
    benches. It measures operations, prints a table or records, and appends records to a file.
    """
    known = [*on_server, *AROUND]
    some = typer.Option(
        help=f"{', '.join(known)}; default: {', '.join(default)}.",
        autocompletion=one_of(*known),
    )

    def made(opened: Callable[..., Opened]) -> Callable[..., None]:
        def bench(
            op: Any = None,
            device: shared.Device = None,
            batch: Annotated[int, typer.Option("--batch", min=1, help="Ciphertexts.")] = 1,
            runs: shared.Runs = 5,
            threads: shared.Threads = 0,
            as_json: shared.Json = False,
            record: shared.Record = None,
            **own: Any,
        ) -> None:
            names = chosen_ops(op, known, default)
            server, keys, work = opened(names, device, threads, **own)
            if not as_json:
                _headline(server, keys, batch, runs)
            records, rows = [], []
            cores = threads or len(os.sched_getaffinity(0))
            for name in names:
                one, *many = found = _measure(
                    bench_name, scheme or bench_name, name, server, work, batch, runs, cores
                )
                records += found
                alone = f"{_each(server) / one['median']:.1f} /s"
                rate = shared.rate_spread(many[0]) if many else alone
                rows.append([name, shared.spread(one), rate])
            if not as_json:
                table(["operation", "one", "a second"], rows)
            shared.publish(records, as_json, record)

        ops, *others = arguments_of(bench)
        ops = ops.replace(annotation=Annotated[list[str] | None, some])
        bench.__doc__ = opened.__doc__
        return with_arguments(bench, [ops, *options_of(opened), *others])

    return made
