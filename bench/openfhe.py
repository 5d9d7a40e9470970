"""Whorl against the `openfhe` wheel on one CPU thread: CPU time, interleaved in one run.

    .venv/bin/python bench/openfhe.py [--rounds 7] [--batch 64] [--record FILE]

Records belong in bench/results/cpu/openfhe.jsonl. Each round times the peer and Whorl right after
one another, so that whatever else the machine does meets both. The peer runs in a CPython 3.10 of
its own (the wheel imports nowhere else); name one that has it with --peer-python. Ratios are peer
time / Whorl time of the same round.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from common.processes import Process
from common.records import against, append, in_words, record
from whorl import binfhe

HERE = Path(__file__).resolve().parent


def cpu_seconds(body: Callable[[], object]) -> float:
    """CPU time of this process, all threads."""
    start = time.process_time()
    body()
    return time.process_time() - start


def parameters_of(name: str) -> binfhe.Parameters:
    """A set by its name; "NAME KIND GROUP" is the same with another method of rotation."""
    named, *rotation = name.split()
    parameters = binfhe.parameters(named, allow_insecure=True)
    if not rotation:
        return parameters
    kind, group = rotation
    literal: dict[str, Any] = {**parameters.literal(), "rotation": (kind, int(group))}
    return binfhe.parameters(cast("binfhe.ParameterLiteral", literal), allow_insecure=True)


def gate(name: str, batch: int, threads: int = 1) -> Callable[[], float]:
    """Time of one NAND in a batch under a set."""
    parameters = parameters_of(name)
    client = binfhe.Client(parameters)
    server = binfhe.Server(client.evaluation_keys(), device="cpu", threads=threads, allow_failure=1)
    bits = np.arange(batch) % 2
    a, b = client.encrypt(bits), client.encrypt(np.ones_like(bits))
    assert np.array_equal(client.decrypt(server.nand(a, b)), 1 - bits)
    return lambda: cpu_seconds(lambda: server.nand(a, b).to_host()) / batch


def function(name: str, batch: int) -> Callable[[], float]:
    """Time of one arbitrary table over p = 8 in a batch."""
    parameters = binfhe.parameters(name, allow_insecure=True)
    client = binfhe.Client(parameters)
    server = binfhe.Server(client.evaluation_keys(), device="cpu", threads=1, allow_failure=1)
    lut = binfhe.Lut(parameters, lambda m: m**3 % 8, 8)
    messages = np.arange(batch) % 8
    x = client.encrypt(messages, p=8)
    assert np.array_equal(client.decrypt(server.apply(lut, x)), messages**3 % 8)
    return lambda: cpu_seconds(lambda: server.apply(lut, x).to_host()) / batch


def sign(name: str, batch: int) -> Callable[[], float]:
    """Time of one EvalSign of 17 bits in a batch."""
    parameters = binfhe.parameters(name, allow_insecure=True)
    client = binfhe.Client(parameters)
    server = binfhe.Server(client.evaluation_keys(), device="cpu", threads=1, allow_failure=1)
    messages = np.arange(batch) * 997 % (1 << 17)
    x = client.encrypt(messages, p=1 << 17)
    found = client.decrypt(server.eval_sign(x, 2))
    assert np.array_equal(found, messages >= 1 << 16)
    return lambda: cpu_seconds(lambda: server.eval_sign(x, 2).to_host()) / batch


def keygen(name: str) -> Callable[[], float]:
    """Time of generating the evaluation keys."""
    client = binfhe.Client(binfhe.parameters(name, allow_insecure=True))
    return lambda: cpu_seconds(lambda: client.evaluation_keys(threads=1))


def main() -> int:
    """Runs all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--only", help="cases whose set or operation has this in its name")
    parser.add_argument("--peer-python", default="python3.10")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    peer = Process([options.peer_python, str(HERE / "peers" / "openfhe_worker.py")])

    large = "openfhe_1_6/LARGE_PRECISION"
    cases: list[tuple[str, str, int, int, Callable[[], Callable[[], float]]]] = [
        (
            "nand",
            "openfhe_1_6/STD128",
            options.batch,
            10,
            lambda: gate("openfhe_1_6/STD128", options.batch),
        ),
        ("nand", "openfhe_1_6/STD128", 1, 10, lambda: gate("openfhe_1_6/STD128", 1)),
        ("nand", "W128_P64", options.batch, 10, lambda: gate("W128_P64", options.batch)),
        ("nand", "W128_P64", 1, 10, lambda: gate("W128_P64", 1)),
        *(
            (
                "nand",
                f"W128_P64 {kind} {group}",
                batch,
                10,
                lambda batch=batch, name=f"W128_P64 {kind} {group}": gate(name, batch),
            )
            for kind in ("unrolled", "unrolled_all")
            for group in (2, 3, 4)
            for batch in (options.batch, 1)
        ),
        *(
            (op, name, batch, 5, lambda batch=batch, name=name: gate(name, batch))
            for op, name in (
                ("nand_lmkcdey", "openfhe_1_6/STD128_LMKCDEY"),
                ("nand_ap", "openfhe_1_6/STD128_AP"),
            )
            for batch in (options.batch, 1)
        ),
        ("evalfunc", large, 16, 2, lambda: function(large, 16)),
        ("evalfunc", large, 1, 2, lambda: function(large, 1)),
        *(
            ("evalsign", name, batch, 1, lambda batch=batch, name=name: sign(name, batch))
            for name in ("W128_P40_LOGQ_25", "openfhe_1_6/STD128_LOGQ_25")
            for batch in (8, 1)
        ),
        ("keygen", "openfhe_1_6/STD128", 1, 1, lambda: keygen("openfhe_1_6/STD128")),
    ]
    for op, name, batch, peer_runs, make in cases:
        if options.only and options.only not in f"{op} {name}":
            continue
        measure = make()
        measure()  # caches warm on both sides: the rounds that follow measure a working server
        ours, theirs = [], []
        for _ in range(options.rounds):
            theirs.append(peer.seconds(json.dumps({"op": op, "runs": peer_runs})))
            repeats = peer_runs if batch == 1 else 1
            ours.append(statistics.mean(measure() for _ in range(repeats)))
        versus = against("openfhe", peer.about["version"], ours, theirs)
        under = parameters_of(name)
        fails = under.sign_failure_log2(1 << 17) if op == "evalsign" else None
        line = record(
            "openfhe", op, name, ours, parameters=under, pfail_log2=fails, batch=batch, **versus
        )
        print(f"{op:9s} {name:28s} batch {batch:3d}: {in_words(line)}", flush=True)
        append(options.record, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
