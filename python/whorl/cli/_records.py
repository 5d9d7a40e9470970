"""What every bench shares: options, timing, records, how they are shown."""

from __future__ import annotations

import datetime
import json
import os
import re
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .._core.progress import bar
from . import _completion as completion
from . import _outputs as outputs
from ._output import duration

Threads = Annotated[int, typer.Option(min=0, help="0: all cores.")]
Runs = Annotated[int, typer.Option(min=1, help="Timed runs; the median is shown.")]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, cuda:1, cuda:0,1, cuda:all; default: WHORL_DEVICE, or best.",
        autocompletion=completion.DEVICES,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print records instead of a table.")]


def _can_be_appended_to(file: Path | None) -> Path | None:
    if file is not None and outputs.is_secret_key(file):
        raise ValueError(f"--record {file}: it holds a secret key, to which nothing is appended")
    if file is not None and not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ValueError(f"--record {file}: it cannot be written")
    return file


Record = Annotated[
    Path | None,
    typer.Option(
        help="Append records to this .jsonl file.",
        callback=_can_be_appended_to,
        autocompletion=completion.files,
    ),
]


def seconds_of(work: Callable[[], object], runs: int, what: str) -> list[float]:
    """Seconds of each run, after one that is not counted. The bar's text is `what`."""

    def once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return repeated(once, runs, what)


def repeated(once: Callable[[], float], runs: int, what: str) -> list[float]:
    """What `once` measures in each run, after one that is not counted.

    The bar is drawn between runs only: drawing takes time.
    """
    seconds = []
    with bar(what, drawn_by_itself=False) as report:
        for done in range(runs + 1):
            report(done, runs + 1)
            seconds.append(once())
        report(runs + 1, runs + 1)
    return seconds[1:]


def _commit(inside: Path = Path(__file__).parent) -> str | None:
    """Commit of Whorl's source tree that `inside` lies in; None outside one or in another tree."""
    try:
        done = subprocess.run(
            ["git", "-C", str(inside), "rev-parse", "--show-toplevel", "--short", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    if done.returncode != 0:
        return None
    tree, commit = done.stdout.splitlines()
    return commit if (Path(tree) / "include" / "whorl").is_dir() else None


def hardware(devices: Sequence[str]) -> tuple[str, int]:
    """Name for records and number of a server's devices.

    >>> hardware(["cuda:0 (NVIDIA H200)", "cuda:1 (NVIDIA H200)"])
    ('h200x2', 2)
    >>> hardware(["cpu (AVX3, 8 threads)"])
    ('cpu', 1)
    """
    kinds = []
    for device in devices:
        where, _, model = device.partition(" (")
        if where == "cpu" or not model:
            slug = where
        else:
            model = re.sub(r"^NVIDIA\s+", "", model.removesuffix(")"))
            slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
        kinds.append(slug)
    counts = Counter(kinds)
    named = (kind if n == 1 else f"{kind}x{n}" for kind, n in counts.items())
    return "+".join(named), len(kinds)


def make_record(
    bench: str,
    op: str,
    scheme: str,
    chosen: Any,
    device: tuple[str, int],
    threads: int,
    batch: int,
    transfers: str,
    unit: str,
    values: list[float],
    failure_log2: float | None = None,
) -> dict[str, Any]:
    """A benchmark record under parameters: times in s, throughputs in 1/s; the failure probability
    is the op's."""
    return {
        "bench": bench,
        "op": op,
        "scheme": scheme,
        "params": chosen.name,
        "device": device[0],
        "device_count": device[1],
        "threads": threads,
        "batch": batch,
        "transfers": transfers,
        "unit": unit,
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "runs": len(values),
        "peer": None,
        "peer_version": None,
        "peer_median": None,
        "ratio": None,
        "security_bits": round(chosen.security_bits, 1),
        "pfail_log2": None if failure_log2 is None else round(failure_log2, 1),
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def publish(records: list[dict[str, Any]], as_json: bool, file: Path | None) -> None:
    """Appends records to a file, and prints them if asked for."""
    lines = [json.dumps(record) for record in records]
    if file is not None:
        with file.open("a", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in lines)
    if as_json:
        for line in lines:
            typer.echo(line)


def spread(record: dict[str, Any]) -> str:
    """Median, smallest and largest of a record of times."""
    low, high = duration(record["min"]), duration(record["max"])
    return f"{duration(record['median'])}  ({low} – {high})"


def rate_spread(record: dict[str, Any]) -> str:
    """Median, smallest and largest of a record of throughputs."""
    return f"{record['median']:.1f} /s  ({record['min']:.1f} – {record['max']:.1f})"
