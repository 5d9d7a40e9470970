"""bench: what gates, tables and keys cost on this machine."""

from __future__ import annotations

import datetime
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..binfhe import Client, Lut, Parameters, Server, parameters
from ..binfhe._server import GATES
from ._output import duration, out, pairs, table

app = typer.Typer(help="Measure gates, look-up tables, key generation.", no_args_is_help=True)

Params = Annotated[str, typer.Option("--params", help="Parameter set.")]
Threads = Annotated[int, typer.Option(min=0, help="0: all cores.")]
Runs = Annotated[int, typer.Option(min=1, help="Timed runs; the median is shown.")]
BatchSize = Annotated[int, typer.Option("--batch", min=0, help="Ciphertexts; 0: 16 a thread.")]
TransformOption = Annotated[
    str | None, typer.Option("--transform", help="ntt or fft; default: the set's.")
]
Device = Annotated[str | None, typer.Option(help="cpu; default: WHORL_DEVICE, or best.")]
Json = Annotated[bool, typer.Option("--json", help="Print records instead of a table.")]
Record = Annotated[Path | None, typer.Option(help="Append records to this .jsonl file.")]


def _time(work: Callable[[], object], runs: int) -> list[float]:
    """Seconds of each run, after one that is not counted."""
    work()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds


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


def _record(
    bench: str,
    op: str,
    chosen: Parameters,
    device: str,
    threads: int,
    batch: int,
    unit: str,
    values: list[float],
    failure_log2: float,
) -> dict[str, Any]:
    """A benchmark record: times in s, throughputs in 1/s; the failure probability is the op's."""
    return {
        "bench": bench,
        "op": op,
        "scheme": "binfhe",
        "params": chosen.name,
        "device": device,
        "device_count": 1,
        "threads": threads,
        "batch": batch,
        "transfers": "included",
        "unit": unit,
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "runs": len(values),
        "peer": None,
        "peer_version": None,
        "peer_median": None,
        "ratio": None,
        "security_bits": round(chosen.security.bits, 1),
        "pfail_log2": round(failure_log2, 1),
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def _publish(records: list[dict[str, Any]], as_json: bool, file: Path | None) -> None:
    lines = [json.dumps(record) for record in records]
    if file is not None:
        with file.open("a", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in lines)
    if as_json:
        for line in lines:
            typer.echo(line)


def _start(
    name: str, device: str | None, threads: int, transform: str | None, batch: int
) -> tuple[Client, Server, int]:
    client = Client(parameters(name, allow_insecure=True))
    server = Server(client.evaluation_keys(threads, progress=True), device, threads, transform)
    return client, server, batch or 16 * server.threads


def _headline(chosen: Parameters, server: Server, batch: int, runs: int) -> None:
    insecure = "" if chosen.security.bits >= 128 else " (under 128)"
    pairs(
        [
            ("set", f"{chosen.name} ({server.transform})"),
            ("security", f"{chosen.security.bits:.1f} bits{insecure}"),
            ("device", server.device),
            ("threads", str(server.threads)),
            ("batch, runs", f"{batch}, {runs} (median; smallest – largest)"),
        ]
    )
    out.print()


def _spread(record: dict[str, Any]) -> str:
    low, high = duration(record["min"]), duration(record["max"])
    return f"{duration(record['median'])}  ({low} – {high})"


def _rate_spread(record: dict[str, Any]) -> str:
    return f"{record['median']:.1f} /s  ({record['min']:.1f} – {record['max']:.1f})"


def _measure(
    bench: str,
    op: str,
    server: Server,
    batch: int,
    runs: int,
    failure_log2: float,
    one: Callable[[], object],
    many: Callable[[], object],
) -> list[dict[str, Any]]:
    """Latency of a single ciphertext, and throughput of a batch."""
    chosen, device = server.parameters, server.device.split()[0]
    single = _time(one, runs)
    rates = [batch / seconds for seconds in _time(many, runs)]
    return [
        _record(bench, op, chosen, device, server.threads, 1, "s", single, failure_log2),
        _record(bench, op, chosen, device, server.threads, batch, "1/s", rates, failure_log2),
    ]


def _operands(name: str) -> tuple[int, int]:
    """Number of inputs of a gate, and the least p of their bits. `ValueError` for another name."""
    if name == "mux":
        return 3, 4
    if name not in GATES:
        raise ValueError(f"gate: {name!r} is none of {', '.join([*GATES, 'mux'])}")
    inputs = GATES[name]
    return inputs, 4 if name == "majority" else 2 * inputs


def _gate_failure(server: Server, name: str) -> float:
    """log2 of a gate's failure probability on bootstrapped bits."""
    inputs, p = _operands(name)
    chosen = server.parameters
    if name in ("xor", "xnor"):  # 2a + 2b, a margin of q/4
        return chosen.gate_failure_log2(8, 2, server.transform)
    if name == "mux":  # either of two ANDs
        return 1 + chosen.gate_failure_log2(2, p, server.transform)
    return chosen.gate_failure_log2(inputs, p, server.transform)


@app.command()
def gates(
    params: Params = "W128_P64",
    threads: Threads = 0,
    batch: BatchSize = 0,
    runs: Runs = 5,
    transform: TransformOption = None,
    device: Device = None,
    as_json: Json = False,
    record: Record = None,
    gate: Annotated[list[str] | None, typer.Option(help="Gates; default: nand, xor, mux.")] = None,
) -> None:
    """Milliseconds a gate at batch 1, and gates a second in batches."""
    names = [name.lower() for name in gate or ["nand", "xor", "mux"]]
    for name in names:
        _operands(name)
    client, server, batch = _start(params, device, threads, transform, batch)
    generator = np.random.default_rng()
    records = []
    if not as_json:
        _headline(server.parameters, server, batch, runs)
    for name in names:
        arity, p = _operands(name)
        inputs = [client.encrypt(row, p) for row in generator.integers(0, 2, size=(arity, batch))]
        singles = [each[:1] for each in inputs]
        call: Callable[..., object] = (
            server.mux if name == "mux" else lambda *x, name=name: server.gate(name, *x)
        )
        records += _measure(
            "gates",
            name,
            server,
            batch,
            runs,
            _gate_failure(server, name),
            lambda call=call, singles=singles: call(*singles),  # type: ignore[misc]
            lambda call=call, inputs=inputs: call(*inputs),  # type: ignore[misc]
        )
    if not as_json:
        table(
            ["gate", "one gate", "gates a second", "failure"],
            [
                [
                    first["op"],
                    _spread(first),
                    _rate_spread(second),
                    f"2^{first['pfail_log2']}",
                ]
                for first, second in zip(records[::2], records[1::2], strict=True)
            ],
        )
    _publish(records, as_json, record)


@app.command()
def lut(
    params: Params = "W128_P64",
    p: Annotated[int, typer.Option("-p", "--p", help="Default: the set's max_p.")] = 0,
    threads: Threads = 0,
    batch: BatchSize = 0,
    runs: Runs = 5,
    transform: TransformOption = None,
    device: Device = None,
    as_json: Json = False,
    record: Record = None,
) -> None:
    """Look-up tables: padded (one blind rotation) if the set is for it, and arbitrary (two)."""
    client, server, batch = _start(params, device, threads, transform, batch)
    chosen = server.parameters
    p = p or chosen.max_p
    generator = np.random.default_rng()
    values = generator.integers(0, p, size=p)
    values[p // 2] = (1 - values[0]) % p  # not negacyclic: -f(0) would be -values[0]
    messages = generator.integers(0, p, size=batch)
    if not as_json:
        _headline(chosen, server, batch, runs)
    records, rows = [], []
    for padding in (True, False) if chosen.padding else (False,):
        table_ = Lut(chosen, values, p, padding=padding)
        many = client.encrypt(messages, p, padding)
        one = many[:1]
        op = "lut4" if padding and p == 16 else "evalfunc"
        pair = _measure(
            "lut",
            op,
            server,
            batch,
            runs,
            chosen.lut_failure_log2(p, padding, not padding, server.transform),
            lambda table_=table_, one=one: server.apply(table_, one),  # type: ignore[misc]
            lambda table_=table_, many=many: server.apply(table_, many),  # type: ignore[misc]
        )
        records += pair
        failure = f"2^{pair[0]['pfail_log2']}"
        rows.append([f"p = {p}, {table_.kind}", _spread(pair[0]), _rate_spread(pair[1]), failure])
    if not as_json:
        table(["table", "one table", "tables a second", "failure"], rows)
    _publish(records, as_json, record)


@app.command()
def keygen(
    params: Params = "W128_P64",
    threads: Threads = 0,
    runs: Runs = 3,
    as_json: Json = False,
    record: Record = None,
) -> None:
    """Generation of the evaluation keys."""
    chosen = parameters(params, allow_insecure=True)
    client = Client(chosen)
    seconds = _time(lambda: client.evaluation_keys(threads), runs)
    cores = threads or len(os.sched_getaffinity(0))
    entry = _record("keygen", "keygen", chosen, "cpu", cores, 1, "s", seconds, chosen.failure_log2)
    if not as_json:
        pairs(
            [
                ("set", f"{chosen.name} ({chosen.security.bits:.1f} bits)"),
                ("threads", str(cores)),
                ("evaluation keys", f"{client.evaluation_keys(threads).nbytes / 2**20:.1f} MiB"),
                ("generation", _spread(entry)),
            ]
        )
    _publish([entry], as_json, record)
