"""Whorl against the `openfhe` wheel on one CPU thread: CPU time, interleaved in one run.

    .venv/bin/python bench/openfhe.py [--rounds 7] [--batch 64] [--record FILE]

Records belong in bench/results/cpu/openfhe.jsonl. Each round times the peer and Whorl right after
one another, so that whatever else the machine does meets both. The peer runs in a CPython 3.10 of
its own (the wheel imports nowhere else); name one that has it with --peer-python. Ratios are peer
time / Whorl time of the same round.
"""

import statistics
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from common.processes import cpu_seconds, in_turn, with_openfhe, worker
from common.records import against, record, tell
from whorl import binfhe

Case = tuple[str, str, int, int]
"""An operation, a set, a batch, and the peer's calls of a measurement."""


def parameters_of(name: str) -> binfhe.Parameters:
    """A set by its name; "NAME KIND GROUP" is the same with another method of rotation."""
    named, *rotation = name.split()
    parameters = binfhe.parameters(named, allow_insecure=True)
    if not rotation:
        return parameters
    kind, group = rotation
    literal: dict[str, Any] = {**parameters.literal(), "rotation": (kind, int(group))}
    return binfhe.parameters(cast("binfhe.ParameterLiteral", literal), allow_insecure=True)


def server_of(name: str) -> tuple[binfhe.Client, binfhe.Server]:
    """Both halves under a set, on one thread."""
    client = binfhe.Client(parameters_of(name))
    keys = client.evaluation_keys()
    return client, binfhe.Server(keys, device="cpu", threads=1, allow_failure=1)


def gate(name: str, batch: int) -> Callable[[], float]:
    """Time of one NAND in a batch under a set."""
    client, server = server_of(name)
    bits = np.arange(batch) % 2
    a, b = client.encrypt(bits), client.encrypt(np.ones_like(bits))
    assert np.array_equal(client.decrypt(server.nand(a, b)), 1 - bits)
    return lambda: cpu_seconds(lambda: server.nand(a, b).to_host()) / batch


def function(name: str, batch: int) -> Callable[[], float]:
    """Time of one arbitrary table over p = 8 in a batch."""
    client, server = server_of(name)
    lut = binfhe.Lut(client.parameters, lambda m: m**3 % 8, 8)
    messages = np.arange(batch) % 8
    x = client.encrypt(messages, p=8)
    assert np.array_equal(client.decrypt(server.apply(lut, x)), messages**3 % 8)
    return lambda: cpu_seconds(lambda: server.apply(lut, x).to_host()) / batch


def sign(name: str, batch: int) -> Callable[[], float]:
    """Time of one EvalSign of 17 bits in a batch."""
    client, server = server_of(name)
    messages = np.arange(batch) * 997 % (1 << 17)
    x = client.encrypt(messages, p=1 << 17)
    found = client.decrypt(server.eval_sign(x, 2))
    assert np.array_equal(found, messages >= 1 << 16)
    return lambda: cpu_seconds(lambda: server.eval_sign(x, 2).to_host()) / batch


def keygen(name: str, _: int) -> Callable[[], float]:
    """Time of generating the evaluation keys."""
    client = binfhe.Client(parameters_of(name))
    return lambda: cpu_seconds(lambda: client.evaluation_keys(threads=1))


MEASURED = {
    **dict.fromkeys(("nand", "nand_lmkcdey", "nand_ap"), gate),
    **{"evalfunc": function, "evalsign": sign, "keygen": keygen},
}
"""By the peer's name of an operation."""


def main() -> int:
    """Runs all comparisons."""
    parser = with_openfhe(__doc__, rounds=7)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--only", help="cases whose set or operation has this in its name")
    options = parser.parse_args()
    peer = worker(options.peer_python, "openfhe")

    def each(op: str, names: tuple[str, ...], batches: tuple[int, ...], runs: int) -> list[Case]:
        return [(op, name, batch, runs) for name in names for batch in batches]

    both = (options.batch, 1)
    groups = [(kind, group) for kind in ("unrolled", "unrolled_all") for group in (2, 3, 4)]
    cases = [
        *each("nand", ("openfhe_1_6/STD128", "W128_P64"), both, 10),
        *each("nand", tuple(f"W128_P64 {kind} {group}" for kind, group in groups), both, 10),
        *each("nand_lmkcdey", ("openfhe_1_6/STD128_LMKCDEY",), both, 5),
        *each("nand_ap", ("openfhe_1_6/STD128_AP",), both, 5),
        *each("evalfunc", ("openfhe_1_6/LARGE_PRECISION",), (16, 1), 2),
        *each("evalsign", ("W128_P40_LOGQ_25", "openfhe_1_6/STD128_LOGQ_25"), (8, 1), 1),
        *each("keygen", ("openfhe_1_6/STD128",), (1,), 1),
    ]
    for op, name, batch, peer_runs in cases:
        if options.only and options.only not in f"{op} {name}":
            continue
        measure = MEASURED[op](name, batch)
        repeats = peer_runs if batch == 1 else 1
        ours, theirs = in_turn(
            options.rounds,
            lambda: statistics.mean(measure() for _ in range(repeats)),  # noqa: B023
            lambda: peer.seconds(op, peer_runs),  # noqa: B023
        )
        versus = against("openfhe", peer.about["version"], ours, theirs)
        under = parameters_of(name)
        fails = under.sign_failure_log2(1 << 17) if op == "evalsign" else None
        line = record(
            "openfhe", op, name, ours, parameters=under, pfail_log2=fails, batch=batch, **versus
        )
        tell(f"{op:9s} {name:28s} batch {batch:3d}:", line, options.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
