"""Encrypted integers a second, and the seconds of one.

    .venv/bin/python bench/integers.py [--device cuda] [--set W128_P128_M3] [--bits 64]
        [--no-products] [--saves both] [--batch 64] [--runs 3] [--warm 1]
        [--threads 1] [--compiled] [--only OP …] [--energy 1] [--record FILE] [--commit ID]

Each operation is timed in a batch (1/s, of integers) and alone (s, `batch` 1). A run uploads fresh
ciphertexts of a client, computes, and downloads results without carries, so that transfers are
inside; a run before those that count makes tables and what the device keeps. `u64_add` is such a
sum, and `u64_add_digits` one that has carries left: redundant digits, of which each sum takes a
layer, and which clients add up. Other operations are named after their operators; `u64_shift` is to
the left by encrypted amounts, `u64_select` a choice by encrypted bits, `u64_div` a quotient and a
remainder, and `u64_mul_clear` and `u64_div_clear` have an operand that everybody knows. `transfer`
is a confidential one: `ok = a >= c`, then `a - c` and `b + c` where it is so, of balances a and b
and of an amount c that a public key encrypted; both new balances are compressed. All results are
compared with NumPy's. `rotations`, `layers` and `pfail_log2`, a bound for one result, are those of
the plan of one. With `--lanes W128_BITS5_L10` integers are in lanes: `batch` counts vectors of N/2
integers, and `pfail_log2` is of all of them. With `--no-products` products take tables. With
`--compiled` an operation is a program that `integers.compile` made, so that uploads, tables and the
download are one call; it has no product keys, no lanes and no transfers. Records belong in
bench/results/<device>/integers.jsonl.
"""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common.energy import add_energy
from common.records import append, device_fields, stamped
from whorl import Session, binfhe, ckks, integers, lanes

Numbers = np.ndarray[Any, np.dtype[Any]]
Call = Callable[..., Any]
KNOWN = 0x9E3779B97F4A7C15
"""A factor and a divisor of no special form."""


def transfer(a: Any, b: Any, c: Any) -> Any:
    """Both new balances, one behind the other."""
    moved = integers.where(a >= c, c, 0)
    return integers.stack([a - moved, b + moved])


class Bench:
    """A client, a server, and what records say of them."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.session = Session(device=given.device, threads=given.threads)
        self.lanes = 0
        self.parameters: binfhe.Parameters | ckks.Parameters
        if given.lanes:
            self.parameters = ckks.parameters(given.lanes, allow_insecure=given.insecure)
            owner = lanes.Client(self.parameters)
            self.inner: Any = lanes.Server(owner.evaluation_keys(), session=self.session)
            self.client, self.lanes = integers.Client(owner), self.inner.lanes
            self.security = self.parameters.security_bits
            self.server = integers.Server(self.inner)
        else:
            self.parameters = binfhe.parameters(given.set, allow_insecure=given.insecure)
            lwe = binfhe.Client(self.parameters)
            security = self.parameters.security
            self.security = round(min(security.lwe_bits, security.ring_bits), 1)
            self.inner = binfhe.Server(lwe.evaluation_keys(), session=self.session)
            self.client = integers.Client(lwe)
            self.server = integers.Server(
                self.inner,
                table_failure_log2=given.table_failure,
                compression=lwe.compression_keys() if self.wants("transfer") else None,
                products=lwe.product_keys() if given.products else None,
                saves=given.saves,
            )
            self.sender = integers.PublicClient(lwe.public_key())
        self.random = np.random.default_rng(1)
        self.amount = max(1, (given.bits - 1).bit_length())
        self.known = KNOWN % (1 << given.bits) | 1

    def operations(self) -> dict[str, tuple[list[int], Call, Call]]:
        """By name: the bits of inputs, what is computed, and what NumPy computes."""
        bits, known = self.given.bits, self.known
        wrap = (1 << bits) - 1

        def exact(call: Call) -> Call:
            return lambda *a: [int(v) & wrap for v in call(*(each.astype(object) for each in a))]

        pair = [bits, bits]
        return {
            "add": (pair, lambda x, y: x + y, exact(lambda a, b: a + b)),
            "add_digits": (pair, lambda x, y: x.server.redundant(x + y), exact(lambda a, b: a + b)),
            "mul": (pair, lambda x, y: x * y, exact(lambda a, b: a * b)),
            "div": (pair, lambda x, y: x // y, exact(lambda a, b: a // b)),
            "cmp": (pair, lambda x, y: x < y, lambda a, b: (a < b).tolist()),
            "select": ([1, *pair], integers.where, exact(lambda c, a, b: np.where(c, a, b))),
            "shift": ([bits, self.amount], lambda x, k: x << k, exact(lambda a, k: a << k)),
            "mul_clear": ([bits], lambda x: x * known, exact(lambda a: a * known)),
            "div_clear": (
                [bits],
                lambda x: x // (known >> 20),
                exact(lambda a: a // (known >> 20)),
            ),
            "transfer": (
                [*pair, bits],
                transfer,
                lambda a, b, c: (
                    exact(lambda *v: v[0] - v[1])(a, np.where(a >= c, c, 0))
                    + exact(lambda *v: v[0] + v[1])(b, np.where(a >= c, c, 0))
                ),
            ),
        }

    def wants(self, name: str) -> bool:
        return not self.given.only or name in self.given.only

    def numbers(self, bits: int, count: int) -> Numbers:
        words = self.random.integers(0, 2**64, count, dtype=np.uint64)
        # Some are small, so that quotients are of every size; none is 0.
        words >>= self.random.integers(0, bits, count).astype(np.uint64)
        return words & np.uint64((1 << bits) - 1) | np.uint64(bits > 1)

    def compiled(
        self, function: Call, shape: tuple[int, ...], bits: list[int], carries: bool
    ) -> Any:
        """The function as a program of the C++ library."""
        assert isinstance(self.parameters, binfhe.Parameters)
        return integers.compile(
            function,
            [integers.Fresh(shape, each) for each in bits],
            parameters=self.parameters,
            table_failure_log2=self.given.table_failure,
            most_failure_log2=-1.0,
            saves=self.given.saves,
            carries=carries,
        )

    def run(self, name: str, batch: int) -> None:
        bits, function, exact = self.operations()[name]
        shape = (batch, self.lanes) if self.lanes else (batch,)
        count = math.prod(shape)
        inputs = [self.numbers(each, count).reshape(shape) for each in bits]
        sent = [self.client.encrypt(a, b, False) for a, b in zip(inputs, bits, strict=True)]
        results: list[integers.Ciphertexts] = []
        compressed = name == TRANSFER
        carries = compressed or name in ("add_digits", "cmp")
        if compressed:
            sent[-1] = self.sender.encrypt(inputs[-1], bits[-1], False)
        program = self.compiled(function, shape, bits, carries) if self.given.compiled else None

        def call() -> None:
            if program is not None:
                results[:] = program.run(self.server, *sent)
                return
            made = function(*(self.server.upload(each) for each in sent))
            if compressed:
                results[:] = [self.server.compress(made)]
            else:
                results[:] = [self.server.download(made, carries=carries)]

        times = []
        for _ in range(self.given.warm + self.given.runs):
            begun = time.perf_counter()
            call()
            times.append(time.perf_counter() - begun)
        found = [int(v) for v in self.client.decrypt(results[0]).ravel()]
        if found != [int(v) for v in exact(*(each.ravel() for each in inputs))]:
            raise SystemExit(f"{name}: a result is wrong")
        plan = integers.plan(
            lambda *x: function(*x) if carries else x[0].server.canonical(function(*x)),
            [integers.Fresh(shape if self.lanes else (), each) for each in bits],
            parameters=self.parameters,
            table_failure_log2=self.given.table_failure,
            most_failure_log2=-1.0,
            products=self.given.products and not self.lanes,
            saves=self.given.saves,
        )
        failure = plan.failure_log2
        if compressed:  # each digit of both balances decrypts wrongly with at most 2^-128
            failure = float(np.logaddexp2(failure, math.log2(bits[0]) - 128))
        times = times[self.given.warm :]
        alone = count == 1
        ways = [] if self.lanes or self.given.saves == "both" else [f"{self.given.saves} saved"]
        ways += ["compiled"] if program is not None else []
        line = stamped(
            "integers",
            name if compressed else f"u{self.given.bits}_{name}",
            self.parameters._scheme,
            self.parameters.name,
            times if alone else [count / seconds for seconds in times],
            unit="s" if alone else "1/s",
            batch=count,
            transfers="included",
            threads=self.given.threads,
            security_bits=self.security,
            pfail_log2=round(failure, 1),
            rotations=plan.rotations,
            layers=plan.layers,
            **({"shape": ", ".join(ways)} if ways else {}),
            **device_fields(self.inner.devices),
        )
        line["commit"] = self.given.commit or line["commit"]
        append(self.given.record, line)
        print(
            f"{line['op']}, {count}: {line['median']:.4g} {line['unit']}, {plan.rotations:,} "
            f"rotations in {plan.layers} layers, fails 2^{failure:.1f}",
            flush=True,
        )
        add_energy(self.given.record, line, self.inner, call, self.given.energy)


TRANSFER = "transfer"
OPERATIONS = "add add_digits mul div cmp select shift mul_clear div_clear transfer".split()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--set", default="W128_P128_M3")
    options.add_argument("--lanes", default="", help="a set of CKKS, in place of --set")
    options.add_argument("--insecure", action="store_true")
    options.add_argument("--bits", type=int, default=64)
    options.add_argument("--batch", type=int, nargs="+", default=[64, 1])
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--warm", type=int, default=1)
    options.add_argument("--table-failure", type=float, default=-128, help="log2, of one table")
    options.add_argument(
        "--products",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether the server has keys for products",
    )
    options.add_argument("--saves", default="both", help="rotations, both or layers")
    options.add_argument(
        "--compiled", action="store_true", help="operations are programs of the C++ library"
    )
    options.add_argument("--only", nargs="+", default=[], help=", ".join(OPERATIONS))
    options.add_argument("--energy", type=float, default=0, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()
    if given.compiled and given.lanes:
        options.error("--compiled: programs are of FHEW/TFHE, not of lanes")
    given.products = given.products and not given.compiled
    bench = Bench(given)
    # Amounts of transfers are encrypted by public keys, which programs do not take.
    left_out = [TRANSFER] if given.lanes or given.compiled else []
    for name in OPERATIONS:
        for batch in given.batch:
            if bench.wants(name) and name not in left_out:
                bench.run(name, batch)


if __name__ == "__main__":
    main()
