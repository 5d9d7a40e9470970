"""Bytes of keys and ciphertexts in files and in a server's memory: a table of docs/start-here.md.

.venv/bin/python bench/sizes.py [--record bench/results/cpu/sizes.jsonl]

Sizes of files are without the frame, whose header and digest take a few hundred bytes. A result is
what a gate or a sum returns; a BGV result has all primes of the chain.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from common.records import append, stamped
from openfhe_bgv import CONFIGURATIONS
from whorl import bgv, binfhe

Sizes = dict[str, float]


class Saved(Protocol):
    def to_bytes(self) -> bytes: ...


def each(make: Callable[[int], Saved], few: int, many: int) -> float:
    """Bytes that a ciphertext adds to a file."""
    return (len(make(many).to_bytes()) - len(make(few).to_bytes())) / (many - few)


def of_binfhe(name: str) -> Sizes:
    """Bytes of the evaluation keys, and for each message."""
    params = binfhe.parameters(name)
    client = binfhe.Client(params)
    keys = client.evaluation_keys()
    server = binfhe.Server(keys, device="cpu")
    encoding: dict[str, Any] = {"p": params.max_p, "padding": params.padding}

    def fresh(count: int) -> binfhe.Ciphertexts:
        return client.encrypt([0] * count, **encoding)

    def result(count: int) -> binfhe.Ciphertexts:
        x = fresh(count)
        return server.add(x, x, modular=True).to_host()

    return {
        "keys_in_file": keys.nbytes,
        "keys_of_server": server.key_bytes,
        "fresh_in_file": each(fresh, 1000, 2000),
        "result_in_file": each(result, 1, 3),
    }


def of_bgv(depth: int, t: int) -> Sizes:
    """Bytes of one switching key, and of one ciphertext of N integers."""
    params = bgv.parameters(depth=depth, plain_modulus=t)
    client = bgv.Client(params)
    keys = client.evaluation_keys()
    server = bgv.Server(keys, device="cpu")

    def fresh(count: int) -> bgv.Ciphertexts:
        return client.encrypt([[1]] * count)

    def result(count: int) -> bgv.Ciphertexts:
        x = fresh(count)
        return server.add(x, x).to_host()

    return {
        "keys_in_file": keys.nbytes,
        "keys_of_server": server.key_bytes,
        "fresh_in_file": each(fresh, 1, 2),
        "result_in_file": each(result, 1, 2),
    }


def measured() -> Iterator[tuple[str, str, Sizes]]:
    """Scheme, parameters and sizes of each row of the table, in its order."""
    for name in ("W128_P64", "W128_P128"):
        yield "binfhe", name, of_binfhe(name)
    for depth, t, *_ in CONFIGURATIONS:
        yield "bgv", f"depth={depth}, t={t}", of_bgv(depth, t)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path, help="append records to this file")
    arguments = parser.parse_args()
    for scheme, params, sizes in measured():
        for op, size in sizes.items():
            print(f"{scheme:6} {params:22} {op:14} {size:14,.1f} bytes")
            fields = {"transfers": None, "unit": "bytes"}
            append(arguments.record, stamped("sizes", op, scheme, params, [size], **fields))


if __name__ == "__main__":
    main()
