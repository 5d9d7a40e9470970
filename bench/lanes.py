"""Exact gates on bits in the slots of CKKS ciphertexts, and numbers made of them, a second.

    .venv/bin/python bench/lanes.py [--device cuda] [--set W128_BITS5_L10] [--batch 16]
        [--layers 40] [--numbers 2] [--runs 3] [--threads 1] [--only PART …]
        [--lwe-set W128_P64] [--lwe-p 4 8] [--energy 1] [--record FILE] [--commit ID]

Arrays are of `batch` vectors of N/2 lanes. A run of `lanes_gate` is a program of so many layers of
an AND, an OR and an XOR on three arrays, which goes on from where the last one ended; what is
cleaned and refreshed on the way is in its time. `lanes_adder` is the same of sums and carries.
`lanes_add64` and `lanes_cmp64` are sums and comparisons of numbers of 64 bits in `numbers` vectors,
whose operands are fresh; results stay at the level at which they come out, which is the highest for
sums called refreshed. So it is of `lanes_mul64`, products of 128 bits, of `lanes_sort`, 8 numbers
of 8 bits in order, and of `lanes_aes`, the AES-128 of counters that everybody knows under an
encrypted key. All have the unit 1/s, of lanes.
`lanes_table` is a chain of random tables, whose p is in `params`: permutations of 4 and 8 bits, and
any functions of 2 bits, whose chain soon has the same value in all lanes. With `p = 4` and
`p = 16, in the bootstrap` each vector holds integers, and tables are looked up by bootstraps.
`lanes_from_lwe` takes fresh bits of FHEW/TFHE in, of `--lwe-set`, with each p of `--lwe-p`: the
larger p, the more bits share a coefficient (two with p = 4, three with p = 8, and five with p = 32
and W128_P128). They come from a seed and the bodies in the host's memory, from all words there, and
from an array on the device; `params` says which. `lanes_compact` takes bits in
that were encrypted compactly; `lanes_count` counts ones among 31 bits.
`lanes_layer` is one gate of one vector and `lanes_bootstrap` the refresh of one, in seconds. Every
result of a program is compared with NumPy's before it is recorded; encryption, decryption and keys
are left out. `pfail_log2` is of all that was done for the record. Records belong in
bench/results/<device>/lanes.jsonl.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.aes import aes_in_clear
from common.energy import add_energy
from common.records import append, device_fields, stamped
from common.waits import timed
from whorl import Session, binfhe, ckks, lanes

Clear = np.ndarray[Any, np.dtype[np.bool_]]


def as_numbers(bits: Clear) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Integers of any size, of bits along the first axis."""
    rows = [row.astype(np.object_) << i for i, row in enumerate(bits.astype(np.uint8))]
    return np.asarray(sum(rows), dtype=np.object_)


class Bench:
    """A client, a server, and what records say of them."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.parameters = ckks.parameters(given.set, allow_insecure=given.insecure)
        self.client = lanes.Client(self.parameters)
        keys = self.client.evaluation_keys()
        self.sender = binfhe.Client(binfhe.parameters(given.lwe_set))
        lwe_keys = self.client.lwe_input_keys(self.sender) if self.wants("lwe") else None
        self.session = Session(device=given.device, threads=given.threads)
        self.server = lanes.Server(keys, session=self.session, lwe_input=lwe_keys)
        self.random = np.random.default_rng(1)

    def wants(self, part: str) -> bool:
        """Whether a part is asked for, which parameters for real numbers may not have."""
        shape = self.parameters.bootstrap
        least = {"lwe": 2, "counts": 2, "integers": 2, "compact": 1}.get(part, 0)
        serves = (shape["bits"] if shape else 0) >= least
        return serves and (not self.given.only or part in self.given.only)

    def fresh(self, *shape: int) -> tuple[lanes.LaneArray, Clear]:
        """Random bits, encrypted and in clear."""
        bits = self.random.integers(0, 2, (*shape, self.server.lanes)).astype(np.bool_)
        return self.server.upload(self.client.encrypt(bits)), bits

    def check(self, array: lanes.LaneArray, bits: Clear) -> None:
        if not np.array_equal(self.client.decrypt(array), bits):
            raise SystemExit("lanes: a bit or an integer is wrong")

    def check_all(self, pairs: list[tuple[lanes.LaneArray, Clear]]) -> None:
        for array, bits in pairs:
            self.check(array, bits)

    def record(
        self,
        op: str,
        call: Callable[[], Any],
        each: float,
        batch: int,
        more: str = "",
        transfers: str = "excluded",
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Times `call`, which computes so many things; 0: its seconds are recorded. `check` looks
        at what all calls so far gave."""
        before = [getattr(self.server, name) for name in ("bootstraps", "cleanings", "products")]
        times = timed(self.server, call, self.given.runs)
        after = [getattr(self.server, name) for name in ("bootstraps", "cleanings", "products")]
        done = [(b - a) / (len(times) + 1) for a, b in zip(before, after, strict=True)]
        check()
        values = [each / seconds for seconds in times] if each else times
        line = stamped(
            "lanes",
            op,
            "ckks",
            f"{self.parameters.name}, {more}" if more else self.parameters.name,
            values,
            unit="1/s" if each else "s",
            batch=batch,
            transfers=transfers,
            threads=self.given.threads,
            security_bits=self.parameters.security_bits,
            pfail_log2=self.server.log2_failure,
            N=self.parameters.N,
            bootstraps=done[0],
            cleanings=done[1],
            products=done[2],
            **device_fields(self.server.devices),
        )
        line["commit"] = self.given.commit or line["commit"]
        append(self.given.record, line)
        print(f"{op}: {line['median']:.4g} {line['unit']}, {done} a run", flush=True)
        add_energy(self.given.record, line, self.server, call, self.given.energy)
        check()

    def record_checked(
        self,
        op: str,
        call: Callable[[], lanes.LaneArray],
        each: float,
        batch: int,
        wanted: Clear,
        more: str = "",
    ) -> None:
        """`record` of a call whose last result is checked. Long ones run no more than that."""
        result: list[lanes.LaneArray] = []

        def kept() -> None:
            result[:] = [call()]

        energy, self.given.energy = self.given.energy, 0.0
        self.record(op, kept, each, batch, more, check=lambda: self.check(result[0], wanted))
        self.given.energy = energy

    # ---- what is timed

    def gates(self) -> None:
        state = [self.fresh(self.given.batch) for _ in range(3)]

        def program() -> None:
            for _ in range(self.given.layers):
                (x, a), (y, b), (z, c) = state
                # Six of the eight values of (x, y, z) stay, and follow each other in turns.
                state[:] = [(y & z, b & c), (x ^ y, a ^ b), (y | ~z, b | ~c)]

        lanes_of_all = 3 * self.given.layers * self.given.batch * self.server.lanes
        self.record(
            "lanes_gate",
            program,
            lanes_of_all,
            self.given.batch,
            check=partial(self.check_all, state),
        )

    def adders(self) -> None:
        state = [self.fresh(self.given.batch) for _ in range(3)]

        def program() -> None:
            for _ in range(self.given.layers):
                (x, a), (y, b), (z, c) = state
                total, carry = self.server.full_add(x, y, z)
                state[:] = [(y, b), (total, a ^ b ^ c), (carry, a & b | (a | b) & c)]

        each = self.given.layers * self.given.batch * self.server.lanes
        self.record(
            "lanes_adder", program, each, self.given.batch, check=partial(self.check_all, state)
        )

    def tables(self) -> None:
        """Random tables of 2, 4 and 8 bits, one after the other."""
        for bits in (2, 4, 8):
            # So many tables are refreshed more than once.
            count, chain = max(self.given.batch // bits, 1), 48 // bits
            array, clear = self.fresh(bits, count)
            state = [array, (clear << np.arange(bits)[:, None, None]).sum(axis=0)]

            def program() -> None:
                for _ in range(chain):  # noqa: B023
                    table = self.random.permutation(1 << bits)  # noqa: B023
                    if bits == 2:  # noqa: B023
                        # Each permutation of two bits is affine. A 3 makes the result two bits.
                        table = np.append(self.random.integers(0, 4, 3), 3)
                        self.random.shuffle(table)
                    state[:] = [self.server.lookup(state[0], table), table[state[1]]]  # noqa: B023

            each = chain * count * self.server.lanes

            def check() -> None:
                places = np.arange(bits)[:, None, None]  # noqa: B023
                self.check(state[0], (state[1] >> places & 1).astype(np.bool_))  # noqa: B023

            self.record("lanes_table", program, each, count, f"p = {1 << bits}", check=check)

    def integers(self) -> None:
        """Permutations of integers modulo p, one after the other, each a bootstrap."""
        shape = self.parameters.bootstrap
        for p in (4, 16):
            if shape is None or p > 2 ** shape["bits"]:
                continue
            count, chain = self.given.batch, 3
            given = self.random.integers(0, p, (count, self.server.lanes))
            state: list[Any] = [self.server.upload(self.client.encrypt(given, p=p)), given]

            def program() -> None:
                for _ in range(chain):  # noqa: B023
                    table = self.random.permutation(p)  # noqa: B023
                    state[:] = [state[0].apply(table), table[state[1]]]  # noqa: B023

            def check() -> None:
                self.check(state[0], state[1])  # noqa: B023

            each = chain * count * self.server.lanes
            more = f"p = {p}, in the bootstrap"
            self.record("lanes_table", program, each, count, more, check=check)

    def numbers(self) -> None:
        count = self.given.numbers
        (x, a), (y, b) = self.fresh(64, count), self.fresh(64, count)
        total = lanes.add(x, y)
        carry = np.zeros_like(a[0])
        wanted = []
        for p, q in zip(a, b, strict=True):
            wanted.append(p ^ q ^ carry)
            carry = p & q | (p | q) & carry
        self.check(total, np.stack([*wanted, carry]))
        smaller = np.zeros_like(a[0])
        for p, q in zip(a, b, strict=True):
            smaller = np.where(p == q, smaller, q)
        self.check(lanes.less(x, y), smaller)
        each = count * self.server.lanes

        def again(function: Callable[..., Any]) -> Callable[[], Any]:
            # What is cleaned of operands would be there the next time.
            pairs = iter(
                [
                    (self.fresh(64, count)[0], self.fresh(64, count)[0])
                    for _ in range(self.given.runs + 1)
                ]
            )
            return lambda: function(*next(pairs))

        energy, self.given.energy = self.given.energy, 0.0
        self.record("lanes_add64", again(lanes.add), each, count)
        self.record("lanes_cmp64", again(lanes.less), each, count)
        if self.parameters.bootstrap and self.parameters.bootstrap["bits"] > 1:
            refreshed = again(lambda p, q: lanes.total([p, q]))
            self.check(lanes.total([x, y]), np.stack([*wanted, carry]))
            self.record("lanes_add64", refreshed, each, count, "refreshed")
        self.given.energy = energy

    def counts(self) -> None:
        x, a = self.fresh(31, self.given.batch)
        wanted = (a.sum(axis=0) >> np.arange(5)[:, None, None] & 1).astype(np.bool_)
        self.check(self.server.count_ones(x), wanted)
        each = self.given.batch * self.server.lanes
        self.record("lanes_count", lambda: self.server.count_ones(x), each, self.given.batch)

    def lwe(self) -> None:
        count = self.given.batch
        gates = binfhe.Server(self.sender.evaluation_keys(), session=self.session)
        for p in self.given.lwe_p:
            bits = self.random.integers(0, 2, (count, self.server.lanes))
            seeded = self.sender.encrypt(bits, p=p)
            array = gates.upload(seeded)
            for what, given, transfers in (
                ("a seed and bodies of the host", seeded, "included"),
                ("words of the host", array.to_host(), "included"),
                ("the device", array, "excluded"),
            ):
                self.check(self.server.from_lwe(given, bits=1)[0], bits.astype(np.bool_))
                self.record(
                    "lanes_from_lwe",
                    partial(self.server.from_lwe, given, bits=1),
                    count * self.server.lanes,
                    count,
                    f"{self.given.lwe_set}, p = {p}, from {what}",
                    transfers,
                )

    def compact(self) -> None:
        count = self.given.batch
        bits = self.random.integers(0, 2, (count, self.server.lanes))
        given = self.client.encrypt(bits, compact=True)
        self.check(self.server.upload(given), bits.astype(np.bool_))
        each = count * self.server.lanes
        call = lambda: self.server.upload(given)  # noqa: E731
        self.record("lanes_compact", call, each, count, transfers="included")

    def products(self) -> None:
        count = self.given.numbers
        (x, a), (y, b) = self.fresh(64, count), self.fresh(64, count)
        product = as_numbers(a) * as_numbers(b)
        wanted = np.stack([(product >> i & 1).astype(np.bool_) for i in range(128)])
        each = count * self.server.lanes
        self.record_checked("lanes_mul64", lambda: lanes.multiply(x, y), each, count, wanted)

    def sorts(self) -> None:
        count = self.given.numbers
        x, a = self.fresh(8, 8, count)
        numbers = np.sort(as_numbers(a).astype(np.int64), axis=0)
        wanted = (numbers >> np.arange(8)[:, None, None, None] & 1).astype(np.bool_)
        each, more = count * self.server.lanes, "8 numbers of 8 bits"
        self.record_checked("lanes_sort", lambda: lanes.sort(x), each, count, wanted, more)

    def aes(self) -> None:
        key = self.random.integers(0, 256, 16)
        blocks = self.random.integers(0, 256, (self.given.numbers, self.server.lanes, 16))

        def as_lanes(values: np.ndarray[Any, np.dtype[Any]]) -> Clear:
            """Shape (8, 16, vectors, lanes), of bytes along the last axis."""
            bits = values[..., None].astype(np.uint8) >> np.arange(8, dtype=np.uint8) & 1
            return np.moveaxis(bits, (-1, -2), (0, 1)).astype(np.bool_)

        secret = self.server.upload(
            self.client.encrypt(as_lanes(np.broadcast_to(key, (self.server.lanes, 16))))
        )
        counters = self.server.known(secret[0, 0], as_lanes(blocks))
        count, wanted = self.given.numbers, as_lanes(aes_in_clear(key, blocks))
        each = count * self.server.lanes
        self.record_checked(
            "lanes_aes", lambda: lanes.aes128(secret, counters), each, count, wanted
        )

    def single(self) -> None:
        (x, a), (y, b) = self.fresh(), self.fresh()
        self.check(x & y, a & b)
        self.record("lanes_layer", lambda: x & y, 0, 1)
        self.record("lanes_bootstrap", lambda: self.server.refresh(x), 0, 1)
        self.check(x, a)


PARTS = "single gates adders tables integers numbers counts lwe compact products sorts aes".split()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--set", default="W128_BITS5_L10")
    options.add_argument("--insecure", action="store_true")
    options.add_argument("--batch", type=int, default=16)
    options.add_argument("--layers", type=int, default=40)
    options.add_argument("--numbers", type=int, default=2)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--only", nargs="+", default=[], help=", ".join(PARTS))
    options.add_argument("--lwe-set", default="W128_P64")
    options.add_argument("--lwe-p", type=int, nargs="+", default=[4, 8])
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()
    bench = Bench(given)
    for part in PARTS:
        if bench.wants(part):
            getattr(bench, part)()


if __name__ == "__main__":
    main()
