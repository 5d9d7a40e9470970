"""bench: what gates, tables and keys cost on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from .._core.text import at_least_bits
from ..binfhe import Ciphertexts, Client, Lut, Parameters, Server
from ..binfhe._gates import GATES
from . import _completion as completion
from . import _records as shared
from . import _sets as sets
from ._output import out, pairs, table

app = typer.Typer(
    help="Measure gates, look-up tables, key generation, BGV, CKKS, lanes.", no_args_is_help=True
)

GPU_BATCH = 16384
"""Ciphertexts that a GPU gets if nothing else is said: enough for its full throughput."""
TABLES = ("lut4", "evalfunc")
"""Operations beside gates: a padded table of 4 bits; an arbitrary one of the set's max_p."""

LARGE = ("evalfloor", "evalsign", "evaldecomp")
"""Operations of large precision. "evalsign:17" takes messages modulo 2^17/256."""

BatchSize = Annotated[
    int,
    typer.Option("--batch", min=0, help=f"Ciphertexts; 0: 16 a thread, {GPU_BATCH} on GPUs."),
]
TransformOption = Annotated[
    str | None,
    typer.Option(
        "--transform", help="ntt or fft; default: the set's.", autocompletion=completion.TRANSFORMS
    ),
]
RotationOption = Annotated[
    str,
    typer.Option(
        "--rotation",
        help="auto, single, cluster, grid or shared: how GPUs spread the work.",
        autocompletion=completion.one_of("auto", "single", "cluster", "grid", "shared"),
    ),
]


class _Bench(NamedTuple):
    """What is measured on: a client and its server, ciphertexts of a batch, and timed runs."""

    client: Client
    server: Server
    batch: int
    runs: int


def _headline(on: _Bench) -> None:
    server, chosen = on.server, on.server.parameters
    insecure = "" if chosen.security.bits >= 128 else " (under 128)"
    pairs(
        [
            ("set", f"{chosen.name} ({server.transform})"),
            ("security", f"{at_least_bits(chosen.security.bits)} bits{insecure}"),
            ("device", server.device),
            ("threads", str(server.threads)),
            ("rotation", server.rotation),
            ("batch, runs", f"{on.batch}, {on.runs} (median; smallest – largest)"),
        ]
    )
    out.print()


def _measure(
    bench: str,
    op: str,
    on: _Bench,
    failure_log2: float,
    call: Callable[..., object],
    *inputs: Ciphertexts,
) -> list[dict[str, Any]]:
    """Latency of `call` on the first ciphertext of each input, and throughput on all of them."""
    server, batch, runs = on.server, on.batch, on.runs
    firsts = [each[:1] for each in inputs]
    single = shared.seconds_of(lambda: call(*firsts), runs, f"{op}, one")
    seconds = shared.seconds_of(lambda: call(*inputs), runs, f"{op}, {batch}")
    rates = [batch / each for each in seconds]
    device = shared.hardware(server.devices)
    what = bench, op, "binfhe", server.parameters, device, server.threads
    return [
        shared.make_record(*what, 1, "included", "s", single, failure_log2),
        shared.make_record(*what, batch, "included", "1/s", rates, failure_log2),
    ]


def _operands(name: str) -> tuple[int, int]:
    """Number of inputs of a gate, and the least p of its bits. `ValueError` for another name."""
    if name == "mux":
        return 3, 4
    if name not in GATES:
        raise ValueError(f"gate: {name!r} is not one of {', '.join([*GATES, 'mux'])}")
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


def _measure_gate(name: str, on: _Bench) -> list[dict[str, Any]]:
    server = on.server
    arity, p = _operands(name)
    bits = np.random.default_rng().integers(0, 2, size=(arity, on.batch))
    inputs = [on.client.encrypt(row, p, allow_failure=1) for row in bits]

    def call(*batches: Ciphertexts) -> object:
        out = server.mux(*batches) if name == "mux" else server.gate(name, *batches)
        return out.to_host()

    return _measure("gates", name, on, _gate_failure(server, name), call, *inputs)


def _measure_table(p: int, padding: bool, on: _Bench) -> tuple[Lut, list[dict[str, Any]]]:
    server, generator = on.server, np.random.default_rng()
    chosen = server.parameters
    values = generator.integers(0, p, size=p)
    values[p // 2] = (1 - values[0]) % p  # not negacyclic: -f(0) would be -values[0]
    table_ = Lut(chosen, values, p, padding=padding)
    many = on.client.encrypt(generator.integers(0, p, size=on.batch), p, padding, allow_failure=1)
    op = "lut4" if padding and p == 16 else "evalfunc"
    failure = chosen.lut_failure_log2(p, padding, not padding, server.transform)
    return table_, _measure(
        "lut", op, on, failure, lambda x: server.apply(table_, x).to_host(), many
    )


def _large(name: str, chosen: Parameters) -> tuple[str, int]:
    """An operation of LARGE, and log2 of the modulus of its ciphertexts, by default that of q."""
    op, _, given = name.partition(":")
    most = chosen.q.bit_length() - 1
    if given and not given.isdecimal():
        raise ValueError(f"op: {name!r}: {given!r} is not a number of bits")
    log_modulus = int(given or most)
    if not 10 <= log_modulus <= most:
        raise ValueError(f"op: {name!r}: {chosen.name} has moduli of 10 … {most} bits")
    return op, log_modulus


def _measure_large(name: str, on: _Bench) -> list[dict[str, Any]]:
    """A floor takes away as many bits as two rotations can, or all but one."""
    server = on.server
    op, log_modulus = _large(name, server.parameters)
    p = 2 ** (log_modulus - 8)
    messages = np.random.default_rng().integers(0, p, size=on.batch)
    many = on.client.encrypt(messages, p, allow_failure=1)
    bits = min((2 * server.parameters.N // 256).bit_length() - 1, log_modulus - 9)

    def call(x: Ciphertexts) -> None:
        if op == "evalfloor":
            server.eval_floor(x, bits).to_host()
        elif op == "evalsign":
            server.eval_sign(x).to_host()
        else:
            for digit in server.eval_decomp(x):
                digit.to_host()

    failure = server.parameters.sign_failure_log2(p, server.transform)
    records = _measure("large", op, on, failure, call, many)
    return [{**record, "log_modulus": log_modulus} for record in records]


def _row(name: str, records: list[dict[str, Any]]) -> list[str]:
    single, many = records
    return [name, shared.spread(single), shared.rate_spread(many), f"2^{single['pfail_log2']}"]


def _ops(given: list[str] | None, params: str) -> list[str]:
    """Operations in lower case; `ValueError` for an unknown one, or one that the set lacks."""
    names = [name.lower() for name in given or ["nand"]]
    chosen = sets.find(params, allow_insecure=True)
    for name in names:
        if name.partition(":")[0] in LARGE:
            _large(name, chosen)
        elif name not in TABLES and name != "mux" and name not in GATES:
            known = ", ".join([*GATES, "mux", *TABLES, *LARGE])
            raise ValueError(f"op: {name!r} is not one of {known}")
        if name == "lut4" and not (chosen.padding and chosen.max_p >= 16):
            raise ValueError(f"op: {chosen.name} does not carry 4 bits under a padding bit")
    return names


def _gates(given: list[str] | None, _: str) -> list[str]:
    """Gates in lower case; `ValueError` for an unknown one."""
    names = [name.lower() for name in given or ["nand", "xor", "mux"]]
    for name in names:
        _operands(name)
    return names


Measured = tuple[list[dict[str, Any]], list[list[str]]]
"""Records, and rows of the table."""


def _measure_ops(names: list[str], on: _Bench) -> Measured:
    records, rows = [], []
    for name in names:
        if name in TABLES:
            p = 16 if name == "lut4" else on.server.parameters.max_p
            table_, pair = _measure_table(p, name == "lut4", on)
            rows.append(_row(f"{name}: p = {p}, {table_.kind}", pair))
        elif name.partition(":")[0] in LARGE:
            pair = _measure_large(name, on)
            rows.append(_row(f"{pair[0]['op']}: modulus 2^{pair[0]['log_modulus']}", pair))
        else:
            pair = _measure_gate(name, on)
            rows.append(_row(name, pair))
        records += pair
    return records, rows


def _measure_tables(given: int | None, on: _Bench) -> Measured:
    chosen = on.server.parameters
    p = given or chosen.max_p
    records, rows = [], []
    for padding in (True, False) if chosen.padding else (False,):
        table_, pair = _measure_table(p, padding, on)
        records += pair
        rows.append(_row(f"p = {p}, {table_.kind}", pair))
    return records, rows


def _register(
    name: str,
    description: str,
    option: Any,
    check: Callable[[Any, str], Any],
    measure: Callable[[Any, _Bench], Measured],
    headings: Sequence[str],
) -> None:
    """Adds a command. All share their options but one, which says what is measured."""

    def command(
        what: Any = None,
        params: sets.Params = "W128_P64",
        device: shared.Device = None,
        batch: BatchSize = 0,
        runs: shared.Runs = 5,
        threads: shared.Threads = 0,
        transform: TransformOption = None,
        rotation: RotationOption = "auto",
        as_json: shared.Json = False,
        record: shared.Record = None,
    ) -> None:
        checked = check(what, params)
        client = Client(sets.find(params, allow_insecure=True))
        keys = client.evaluation_keys(threads, progress=True)
        # Any operation may be measured, since its failure probability is printed beside it.
        server = Server(
            keys, device, threads, transform=transform, rotation=rotation, allow_failure=1
        )
        on_gpu = server.devices[0].startswith("cuda")
        size = batch or (GPU_BATCH if on_gpu else 16 * server.threads)
        on = _Bench(client, server, size, runs)
        if not as_json:
            _headline(on)
        records, rows = measure(checked, on)
        if not as_json:
            table([*headings, "failure"], rows)
        shared.publish(records, as_json, record)

    command.__annotations__["what"] = option
    app.command(name, help=description)(command)


_register(
    "run",
    """Any operation: time of a single one, and how many a second in batches.

    Times are those of the whole call, copies to and from a GPU included.
    """,
    Annotated[
        list[str] | None,
        typer.Option(
            "--op",
            help="A gate, mux, lut4, evalfunc, evalfloor, evalsign or evaldecomp; default: nand.",
            autocompletion=completion.one_of(*GATES, "mux", *TABLES, *LARGE),
        ),
    ],
    _ops,
    _measure_ops,
    ("operation", "one", "a second"),
)
_register(
    "gates",
    "Milliseconds a gate at batch 1, and gates a second in batches.",
    Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            help="Gates; default: nand, xor, mux.",
            autocompletion=completion.one_of(*GATES, "mux"),
        ),
    ],
    _gates,
    _measure_ops,
    ("gate", "one gate", "gates a second"),
)
_register(
    "lut",
    "Look-up tables: padded (one blind rotation) if the set is for it, and arbitrary (two).",
    Annotated[int | None, typer.Option("-p", "--p", help="Default: the set's max_p.")],
    lambda p, _: p,
    _measure_tables,
    ("table", "one table", "tables a second"),
)


@app.command()
def keygen(
    params: sets.Params = "W128_P64",
    threads: shared.Threads = 0,
    runs: shared.Runs = 3,
    as_json: shared.Json = False,
    record: shared.Record = None,
) -> None:
    """Generation of the evaluation keys."""
    chosen = sets.find(params, allow_insecure=True)
    client = Client(chosen)
    seconds = shared.seconds_of(lambda: client.evaluation_keys(threads), runs, "keygen")
    cores = threads or len(os.sched_getaffinity(0))
    entry = shared.make_record(
        *("keygen", "keygen", "binfhe", chosen, ("cpu", 1), cores, 1, "included", "s", seconds),
        chosen.failure_log2,
    )
    if not as_json:
        pairs(
            [
                ("set", f"{chosen.name} ({at_least_bits(chosen.security.bits)} bits)"),
                ("threads", str(cores)),
                ("evaluation keys", f"{client.evaluation_keys(threads).nbytes / 2**20:.1f} MiB"),
                ("generation", shared.spread(entry)),
            ]
        )
    shared.publish([entry], as_json, record)
