"""The server's process: it owns the tree and gets evaluation keys and encrypted features.

usage: python -m tree.server FOLDER    tree.json, keys.whorl, query.whorl -> answer.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from common.files import write_json
from whorl.server.binfhe import Ciphertexts, EncryptedArray, Lut, Server, stack

from . import circuit as circuits
from . import security
from .circuit import Circuit, Table
from .model import Tree

FEATURES = 4  # sepal length, sepal width, petal length, petal width


class Encrypted:
    """Arithmetic on ciphertexts."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def look_up(
        self, tables: Sequence[Table], x: EncryptedArray, p_out: int, padding_out: bool
    ) -> EncryptedArray:
        """Column j of x through tables[j], in one call for the whole batch."""
        luts = [
            Lut(
                self._server.parameters,
                table,
                p_out=p_out,
                padding=x.padding,
                padding_out=padding_out,
            )
            for table in tables
        ]
        return self._server.apply(luts, x)

    def linear(
        self, weights: Sequence[int], columns: Sequence[EncryptedArray], constant: int
    ) -> EncryptedArray:
        """constant + sum of weights times columns, modulo their p."""
        return self._server.linear(list(weights), columns, constant)

    def stack(self, columns: Sequence[EncryptedArray]) -> EncryptedArray:
        """Columns as the last axis."""
        return stack(columns, axis=-1)


def all_leaves(
    circuit: Circuit, arithmetic: Encrypted, bits: EncryptedArray, needed: EncryptedArray
) -> EncryptedArray:
    """Indicators of all leaves from left to right, given those that are needed for the class."""
    columns = {leaf: needed[:, place] for place, leaf in enumerate(circuit.needed)}
    if circuit.skipped:
        others = circuits.find_leaves(circuit, arithmetic, bits, circuit.skipped)
        columns |= {leaf: others[:, place] for place, leaf in enumerate(circuit.skipped)}
    return arithmetic.stack([columns[leaf] for leaf in sorted(columns)])


def serve(folder: Path, device: str | None, threads: int, with_trace: bool) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    circuit = circuits.compile_tree(Tree.load(folder / "tree.json"))
    server = Server(folder / "keys.whorl", device=device, threads=threads)
    query = Ciphertexts.load(folder / "query.whorl").reshape(-1, FEATURES)
    loaded = time.perf_counter()

    arithmetic = Encrypted(server)
    one = circuits.evaluate(circuit, arithmetic, server.upload(query[:1])).to_host()
    after_one = time.perf_counter()

    cpu = time.process_time()
    x = server.upload(query)
    bits = circuits.compare_features(circuit, arithmetic, x)
    indicators = circuits.find_leaves(circuit, arithmetic, bits, circuit.needed)
    answer = circuits.sum_classes(circuit, arithmetic, indicators).to_host()
    after_all, cpu = time.perf_counter(), time.process_time() - cpu
    answer.save(folder / "answer.whorl")
    if one.to_bytes() != answer[:1].to_bytes():
        raise SystemExit("one flower alone gave other bits than in the batch")
    if with_trace:
        trace = all_leaves(circuit, arithmetic, bits, indicators)
        trace.to_host().save(folder / "trace.whorl")

    failure = security.failure(server.parameters, circuit)
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.name,
            "security_bits": server.parameters.security.bits,
            "failure_log2": failure.log2,
            "failure_log2_by_step": [failure.tests, failure.leaves, failure.decryption],
            "device": server.device,
            "transform": server.transform,
            "threads": server.threads,
            "flowers": len(x),
            "nodes": len(circuit.tests),
            "leaves": len(circuit.ways),
            "rotations_per_flower": circuit.rotations,
            "load_seconds": loaded - started,
            "one_flower_seconds": after_one - loaded,
            "batch_seconds": after_all - after_one,
            "batch_cpu_seconds": cpu,
            # What the process has of Whorl: nothing of the client.
            "modules": sorted(name for name in sys.modules if name.split(".")[0] == "whorl"),
        },
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="tree.server", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", help="default: the best found")
    parser.add_argument("--threads", type=int, default=0, help="default: all cores")
    parser.add_argument("--trace", action="store_true", help="also tell the client the leaves")
    arguments = parser.parse_args()
    serve(arguments.folder, arguments.device, arguments.threads, arguments.trace)


if __name__ == "__main__":
    main()
