"""Encrypted integers on one CPU thread beside Concrete and tfhe-rs: CPU time, in one run.

    .venv/bin/python bench/integer_peers.py --concrete-python PYTHON [--peer-python PYTHON]
        [--rounds 5] [--only u8_cmp] [--record FILE]

Records belong in bench/results/cpu/integer_peers.jsonl. Transfers are included, encryption is not.
Each side is in a process of its own, OpenFHE in that of --peer-python, and each round times both
right after one another. Results of both are compared with those in the clear first.

`u8_cmp` is x < y of two integers of 8 bits, and `relu` that of 256 integers of 4 signed bits, both
beside the wheel concrete-python. `peer_params` says how Concrete's function is written, and which
failure is asked of it: Concrete allows 10^-5 for a circuit by default. `peer_pfail_log2`,
`peer_tables` and `peer_key_bytes` are what its compiler says.

`u64_add` and `u64_mul`, which has product keys, are beside tfhe-rs, which has no wheel. Its seconds
on one core of another machine, where OpenFHE's NAND (STD128, GINX, 1.6.1) took 32.4 ms, are
multiplied by what this NAND takes here, in the same round, over that: `peer_median` is that
product.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common.processes import Process, cpu_seconds, in_turn, with_openfhe, worker
from common.records import Record, against, record, tell
from whorl import binfhe, integers

ELSEWHERE = {"u64_add": 1.06, "u64_mul": 27.1}
"""Seconds of tfhe-rs on one core of an AMD EPYC with AVX-512."""
NAND_THERE = 0.0324
"""Seconds of OpenFHE's NAND on that core."""
TFHE = ("W128_P128", "W128_P128_M3")
"""Sets of Whorl for these."""
CONCRETE = {
    "u8_cmp": ("W128_P128",),
    "relu": ("W128_P128", "W128_P128_M2"),
}
"""Sets of Whorl for others, by operation."""

COMPILED = ("pfail_log2", "tables", "key_bytes")
"""What Concrete's compiler says of a circuit."""

Wanted = Callable[[str, str], bool]
Timed = tuple[Callable[[], float], dict[str, Any]]
"""What takes the time of a call, and members of its record."""


def server_of(name: str) -> tuple[binfhe.Client, binfhe.Server]:
    """Both halves under a set, on one thread."""
    client = binfhe.Client(binfhe.parameters(name))
    return client, binfhe.Server(client.evaluation_keys(), device="cpu", threads=1)


def of_integers(op: str, name: str) -> Timed:
    """A comparison, a sum or a product of one pair."""
    bits, word = int(op[1:].split("_")[0]), op.split("_")[1]
    lwe, below = server_of(name)
    products = lwe.product_keys() if word == "mul" else None
    client, server = integers.Client(lwe), integers.Server(below, products=products)
    a, b = (np.array([each % 2**bits], object) for each in (0x9E3779B97F4A7C15, 77 + 2**62))
    operators: dict[str, Callable[[Any, Any], Any]] = {
        "cmp": lambda x, y: x < y,
        "add": lambda x, y: x + y,
        "mul": lambda x, y: x * y,
    }
    function, carries = operators[word], word == "cmp"
    sent = [client.encrypt(each, bits) for each in (a, b)]

    def call() -> integers.Ciphertexts:
        return server.download(function(*map(server.upload, sent)), carries=carries)

    assert int(client.decrypt(call())[0]) == int(function(a, b)[0]) % 2**bits
    plan = integers.plan(
        lambda x, y: function(x, y) if carries else x.server.canonical(function(x, y)),
        [integers.Fresh((1,), bits)] * 2,
        parameters=lwe.parameters,
        most_failure_log2=0.0,
        products=products is not None,
    )
    fields = {"pfail_log2": plan.failure_log2, "rotations": plan.rotations}
    return lambda: cpu_seconds(call), fields


def of_relus(_: str, name: str) -> Timed:
    """256 of 4 signed bits, which are moved to 0 … 15 when they are encrypted."""
    client, server = server_of(name)
    values = np.random.default_rng(1).integers(-8, 8, 256)
    sent = client.encrypt(values + 8, 16, True)

    def function(x: Any) -> Any:
        return binfhe.relu(x.with_range(0, 15) - 8)

    def call() -> binfhe.Ciphertexts:
        return function(server.upload(sent)).to_host()

    assert np.array_equal(client.decrypt(call()), np.maximum(values, 0))
    plan = binfhe.plan(function, [binfhe.Fresh((256,), 16, True)], parameters=client.parameters)
    fields = {"pfail_log2": plan.failure_log2, "rotations": plan.costs["bootstraps"]}
    return lambda: cpu_seconds(call), fields


def compared(op: str, name: str, timed: Timed, pairs: Any, peer: str, **more: Any) -> Record:
    """A record of one comparison."""
    own, theirs = pairs
    return record(
        "integer_peers",
        op,
        name,
        own,
        parameters=binfhe.parameters(name),
        batch=256 if op == "relu" else 1,
        clock="cpu",
        **timed[1],
        **against(peer, more.pop("version"), own, theirs),
        **more,
    )


def beside_concrete(peer: Process, wants: Wanted, rounds: int) -> Iterator[Record]:
    """Each way to write it in Concrete, beside each set of Whorl."""
    about = peer.about
    for case in about["tables"]:
        op, _, how = case.partition(" ")
        for name in CONCRETE[op]:
            if wants(op, name):
                timed = (of_relus if op == "relu" else of_integers)(op, name)
                pairs = in_turn(rounds, timed[0], lambda: peer.seconds(case, 1))  # noqa: B023
                found = {f"peer_{each}": about[each][case] for each in COMPILED}
                version = about["version"]
                yield compared(
                    *(op, name, timed, pairs, "concrete"), version=version, peer_params=how, **found
                )


def beside_tfhe(openfhe: Process, wants: Wanted, rounds: int) -> Iterator[Record]:
    """Sums and products beside seconds of another core, scaled by a gate of both."""
    how = "one core of another machine, by OpenFHE's NAND"
    for op, there in ELSEWHERE.items():
        scale = there / NAND_THERE
        for name in TFHE:
            if wants(op, name):
                timed = of_integers(op, name)
                pairs = in_turn(rounds, timed[0], lambda: scale * openfhe.seconds("nand", 10))  # noqa: B023
                yield compared(*(op, name, timed, pairs, "tfhe-rs"), version=None, peer_params=how)


def main() -> int:
    """Runs all comparisons."""
    parser = with_openfhe(__doc__, rounds=5)
    parser.add_argument("--concrete-python", required=True, help="has the wheel concrete-python")
    parser.add_argument("--only", default="", help="operations whose name or set has this in it")
    options = parser.parse_args()

    def wants(op: str, name: str) -> bool:
        return options.only in f"{op} {name}"

    openfhe = worker(options.peer_python, "openfhe")
    concrete = worker(options.concrete_python, "concrete")
    for lines in (
        beside_tfhe(openfhe, wants, options.rounds),
        beside_concrete(concrete, wants, options.rounds),
    ):
        for line in lines:
            tell(f"{line['op']} {line['params']}, {line['peer_params']}:", line, options.record)
    openfhe.end()
    concrete.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
