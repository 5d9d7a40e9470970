"""Many gates and tables on lanes without one that is wrong.

    .venv/bin/python bench/lanes_soak.py [--gates 1e10] [--tables 1e9] [--table-bits 4]
        [--device cuda] [--set W128_BITS5_L10] [--batch 40] [--round 12] [--seed 1]
        [--record FILE] [--commit ID]

A program of AND, OR and XOR goes on for so many gates, of all lanes, and then a chain of random
tables, permutations of `--table-bits` bits, for so many. Every `--round` seconds or so of it all
lanes are decrypted and compared with what NumPy computed meanwhile, on packed bits; lanes that
differ are counted, and the program goes on from where it was. One record has all: `gates`,
`tables`, `wrong`, `pfail_log2` of everything that the server did, and the seconds of all but
decryptions and comparisons, with what NumPy computes beside. Records belong in
bench/results/<device>/lanes.jsonl. A wrong lane makes the exit status 1.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common.records import append, device_fields, stamped
from whorl import ckks, lanes

Words = np.ndarray[Any, np.dtype[np.uint64]]
Numbers = np.ndarray[Any, np.dtype[np.uint8]]


def packed(bits: np.ndarray[Any, np.dtype[Any]]) -> Words:
    """64 lanes a word, of shape (..., lanes)."""
    return np.packbits(bits, axis=-1).view(np.uint64)


class Soak:
    """A client and a server, and what was found."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.parameters = ckks.parameters(given.set, allow_insecure=given.insecure)
        if given.small:
            literal = {**self.parameters.literal(), "N": given.small, "name": "small"}
            self.parameters = ckks.parameters(literal=literal, allow_insecure=True)
        self.client = lanes.Client(self.parameters)
        # So many gates add up to more than the bound of a usual server.
        self.server = lanes.Server(
            self.client.evaluation_keys(),
            device=given.device,
            threads=given.threads,
            most_log2_failure=-50.0,
        )
        self.random = np.random.default_rng(given.seed)
        self.seconds = 0.0
        self.gates = self.tables = self.wrong = 0

    def fresh(self, *shape: int) -> tuple[lanes.LaneArray, np.ndarray[Any, np.dtype[np.uint8]]]:
        bits = self.random.integers(0, 2, (*shape, self.server.lanes)).astype(np.uint8)
        return self.server.upload(self.client.encrypt(bits)), bits

    def rounds(self, step: Callable[[], int], check: Callable[[], int], wanted: float) -> int:
        """Steps until so much is done, with a check at the end of each round; how much it was."""
        done = 0
        while done < wanted:
            self.server.synchronise()
            begun, before = time.perf_counter(), done
            while done < wanted and time.perf_counter() - begun < self.given.round:
                done += step()
                self.server.synchronise()
            spent = time.perf_counter() - begun
            self.seconds += spent
            self.wrong += check()
            print(
                f"{done:.4g} of {wanted:.4g}, {(done - before) / spent:.4g} a second, "
                f"{self.wrong} lanes wrong, 2^{self.server.log2_failure:.1f}",
                flush=True,
            )
        return done

    def run_gates(self) -> None:
        """Layers of AND, OR and XOR on three arrays, as bench/lanes.py has them."""
        pairs = [self.fresh(self.given.batch) for _ in range(3)]
        state: list[tuple[lanes.LaneArray, Words]] = [(x, packed(bits)) for x, bits in pairs]

        def step() -> int:
            for _ in range(4):
                (x, a), (y, b), (z, c) = state
                state[:] = [(y & z, b & c), (x ^ y, a ^ b), (y | ~z, b | ~c)]
            return 12 * self.given.batch * self.server.lanes

        def check() -> int:
            different = [packed(self.client.decrypt(x)) ^ a for x, a in state]
            return sum(int(np.unpackbits(each.view(np.uint8)).sum()) for each in different)

        self.gates = self.rounds(step, check, self.given.gates)

    def run_tables(self) -> None:
        bits = self.given.table_bits
        count = max(self.given.batch // bits, 1)
        array, clear = self.fresh(bits, count)
        places = np.arange(bits, dtype=np.uint8)[:, None, None]
        state: list[Any] = [array, (clear << places).sum(axis=0, dtype=np.uint8)]

        def step() -> int:
            table = self.random.permutation(1 << bits).astype(np.uint8)
            state[:] = [self.server.lookup(state[0], table), table[state[1]]]
            return count * self.server.lanes

        def check() -> int:
            numbers: Numbers = (self.client.decrypt(state[0]) << places).sum(axis=0, dtype=np.uint8)
            return int(np.count_nonzero(numbers != state[1]))

        self.tables = self.rounds(step, check, self.given.tables)

    def record(self) -> None:
        line = stamped(
            "lanes",
            "lanes_soak",
            "ckks",
            self.parameters.name,
            [self.seconds],
            batch=self.given.batch,
            transfers="excluded",
            threads=self.given.threads,
            security_bits=self.parameters.security_bits,
            pfail_log2=self.server.log2_failure,
            N=self.parameters.N,
            seed=self.given.seed,
            gates=self.gates,
            tables=self.tables,
            table_bits=self.given.table_bits,
            wrong=self.wrong,
            bootstraps=self.server.bootstraps,
            cleanings=self.server.cleanings,
            products=self.server.products,
            **device_fields(self.server.devices),
        )
        line["commit"] = self.given.commit or line["commit"]
        append(self.given.record, line)
        print(
            f"lanes_soak: {self.gates:.4g} gates, {self.tables:.4g} tables, {self.wrong} wrong, "
            f"2^{self.server.log2_failure:.1f}",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--gates", type=float, default=1e10)
    options.add_argument("--tables", type=float, default=1e9)
    options.add_argument("--table-bits", type=int, default=4, choices=range(1, 9))
    options.add_argument("--device", default="cuda")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--set", default="W128_BITS5_L10")
    options.add_argument("--small", type=int, help="the N of a ring that is not secure, for tests")
    options.add_argument("--batch", type=int, default=40)
    options.add_argument("--round", type=float, default=12, help="seconds")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()
    given.insecure = given.small is not None
    soak = Soak(given)
    soak.run_gates()
    soak.run_tables()
    soak.record()
    if soak.wrong:
        raise SystemExit(f"lanes_soak: {soak.wrong} lanes are wrong")


if __name__ == "__main__":
    main()
