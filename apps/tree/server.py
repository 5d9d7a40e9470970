"""The server's process: it owns the tree and gets evaluation keys and encrypted features.

usage: python -m tree.server FOLDER    tree.json, keys.whorl, query.whorl -> answer.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common.files import write_json
from common.halves import answer_all, server_parser
from whorl.server.binfhe import Ciphertexts, EncryptedArray, Lut, Server, concatenate

from . import circuit as circuits
from . import security
from .circuit import Circuit, Table
from .coarse import CoarseTree
from .model import Tree


class Encrypted:
    """Arithmetic on ciphertexts; tables are made once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._luts: dict[tuple[object, ...], Lut] = {}

    def look_up(
        self, tables: Sequence[Table], x: EncryptedArray, p_out: int, padding_out: bool
    ) -> EncryptedArray:
        """Column j of x through tables[j], in one call for the whole batch."""
        luts = [self._lut(table, x.padding, p_out, padding_out) for table in tables]
        return self._server.apply(luts, x)

    def _lut(self, table: Table, padding: bool, p_out: int, padding_out: bool) -> Lut:
        what = (*table, padding, p_out, padding_out)
        if what not in self._luts:
            self._luts[what] = Lut(
                self._server.parameters,
                table,
                p_out=p_out,
                padding=padding,
                padding_out=padding_out,
            )
        return self._luts[what]

    def linear(
        self, weights: Sequence[int], columns: Sequence[EncryptedArray], constant: int
    ) -> EncryptedArray:
        """constant + sum of weights times columns, modulo their p."""
        return self._server.linear(list(weights), columns, constant)

    def join(self, arrays: Sequence[EncryptedArray]) -> EncryptedArray:
        """Arrays side by side along the last axis."""
        return concatenate(arrays, axis=-1)

    def zero(self, like: EncryptedArray) -> EncryptedArray:
        """One column of zeros, which are no secret."""
        messages = np.zeros((*like.shape[:-1], 1), dtype=np.int64)
        return self._server.trivial(messages, like.p, like.padding)


class ExactTree:
    """A circuit on a server, with levels that its parameters tell apart."""

    def __init__(self, server: Server, circuit: Circuit) -> None:
        self._circuit, self._arithmetic = circuit, Encrypted(server)

    def bits(self, x: EncryptedArray) -> EncryptedArray:
        """(flowers, features) -> (flowers, internal nodes)."""
        return circuits.compare_features(self._circuit, self._arithmetic, x)

    def leaves(self, bits: EncryptedArray, leaves: Sequence[int]) -> EncryptedArray:
        """(flowers, internal nodes) -> (flowers, leaves), indicators of the leaves named."""
        return circuits.find_leaves(self._circuit, self._arithmetic, bits, leaves)

    def classes(self, indicators: EncryptedArray) -> EncryptedArray:
        """(flowers, needed leaves) -> (flowers,), the class."""
        return circuits.sum_classes(self._circuit, self._arithmetic, indicators)


def all_leaves(
    circuit: Circuit, tree: ExactTree | CoarseTree, bits: EncryptedArray, needed: EncryptedArray
) -> EncryptedArray:
    """Indicators of all leaves from left to right, given those that are needed for the class."""
    if not circuit.skipped:
        return needed
    others = tree.leaves(bits, circuit.skipped)
    order = np.argsort([*circuit.needed, *circuit.skipped])
    return concatenate([needed, others], axis=-1)[:, order.tolist()]


def serve(folder: Path, arguments: argparse.Namespace) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    circuit = circuits.compile_tree(Tree.load(folder / "tree.json"))
    # A server reckons with bootstrapped inputs. Features are fresh, and fail more rarely: what a
    # flower fails with is security's to bound, below.
    server = Server(
        folder / "keys.whorl",
        device=arguments.device,
        threads=arguments.threads,
        allow_insecure=arguments.insecure,
        allow_failure=1,
    )
    query = Ciphertexts.load(folder / "query.whorl", allow_insecure=arguments.insecure)
    if query.ndim != 2 or query.shape[1] <= max(circuit.features):
        raise SystemExit(
            f"query.whorl: shape {query.shape}, but a row of {max(circuit.features) + 1} "
            "ciphertexts or more is needed for each question"
        )
    tree = (CoarseTree if arguments.coarse else ExactTree)(server, circuit)
    bits = indicators = server.upload(query)  # of the last call, for the trace

    def answer_to(flowers: slice) -> Ciphertexts:
        nonlocal bits, indicators
        x = server.upload(query[flowers])
        bits = tree.bits(x)
        indicators = tree.leaves(bits, circuit.needed)
        return tree.classes(indicators).to_host()

    answer, told = answer_all(answer_to, started)
    answer.save(folder / "answer.whorl")
    if arguments.trace:
        trace = all_leaves(circuit, tree, bits, indicators)
        trace.to_host().save(folder / "trace.whorl")

    bound = security.coarse_failure if arguments.coarse else security.failure
    failure = bound(server.parameters, circuit)
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
            "flowers": len(query),
            "nodes": len(circuit.tests),
            "leaves": len(circuit.ways),
            "rotations_per_flower": circuit.rotations,
        }
        | told,
    )


if __name__ == "__main__":
    parser = server_parser("tree", __doc__)
    parser.add_argument("--trace", action="store_true", help="also tell the client the leaves")
    parser.add_argument("--coarse", action="store_true", help="levels are known only nearly")
    parser.add_argument("--insecure", action="store_true", help="accept less than 128 bits")
    arguments = parser.parse_args()
    serve(arguments.folder, arguments)
