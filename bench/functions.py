"""Functions of encrypted integers that Xiao et al. measure: their Tables 6 and 7.

    .venv/bin/python bench/functions.py [--device cuda] [--batch 16384] [--runs 5]
        [--sets xiao/EVALFUNC W128_P128] [--gates W128_P64 W128_P64_M4] [--energy 1]
        [--record FILE] [--commit ID]

`relu`, `sigmoid`, `sqrt`, `reciprocal` and `max_pool` (windows of 2 × 2) are values a second of a
batch. With xiao/EVALFUNC integers have 3 bits without padding, as in the paper; with other sets
4 bits under a padding bit. The shape says how many rotations a value takes, and which p the
results have: `relu` without
padding is measured twice, by two rotations and, modulo p/2, by one. `and8` … `and256` are the
seconds of one bitwise AND of two integers of so many bits, a call of as many gates, by the sets and
those of `--gates`. Transfers from the host and back are included once, and excluded once. Every
result is compared with the one in clear before anything is recorded. On a GPU `…_energy` is the
joules of a value. Records belong in bench/results/<device>/functions.jsonl.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common.energy import add_energy
from common.records import append, device_fields, stamped
from common.waits import timed
from whorl import binfhe
from whorl.binfhe import EncryptedArray, Fresh

PAPER = "Xiao et al., RTX 4090"
VALUES = {
    "relu": 628.93,
    "sigmoid": 628.93,
    "sqrt": 628.93,
    "reciprocal": 628.93,
    "max_pool": 147.7,
}
"""Values a second of Table 7, by EvalFunc of 3 bits."""
ANDS = {8: 18.63, 16: 18.61, 32: 18.87, 64: 24.23, 128: 29.97, 256: 58.3}
"""Milliseconds of Table 6."""

Clear = np.ndarray[Any, np.dtype[Any]]


class Bench:
    """A set's keys, and what is measured by them."""

    def __init__(self, name: str, given: argparse.Namespace) -> None:
        self.given, self.random = given, np.random.default_rng(7)
        self.parameters = binfhe.parameters(name, allow_insecure=True)
        self.client = binfhe.Client(self.parameters)
        keys = self.client.evaluation_keys()
        self.server = binfhe.Server(keys, given.device, allow_insecure=True)

    def record(
        self,
        op: str,
        call: Callable[..., EncryptedArray],
        inputs: list[Clear],
        want: Clear,
        encoding: tuple[int, bool],
        **fields: Any,
    ) -> None:
        """Compares the results with `want`, and records the time with and without transfers."""
        p, padding = encoding
        hosts = [self.client.encrypt(each, p, padding) for each in inputs]

        def whole() -> Any:
            return call(*map(self.server.upload, hosts)).to_host()

        got = whole()
        if not np.array_equal(self.client.decrypt(got), want):
            raise SystemExit(f"{op} of {self.parameters.name}: a result is wrong")
        there = [self.server.upload(each) for each in hosts]
        counted = binfhe.plan(
            call,
            [Fresh(each.shape, p, padding) for each in inputs],
            parameters=self.parameters,
            transform=self.server.transform,
        )
        alone = fields["batch"] == 1
        each = counted.costs["bootstraps"] // want.size
        shape = f"{each} rotations a value, p {p}{' padded' if padding else ''}"
        more = {
            "security_bits": round(self.parameters.security_bits),
            "pfail_log2": round(counted.failure_log2 - math.log2(want.size), 1),
            "threads": self.server.threads,
            "unit": "s" if alone else "1/s",
            "transform": self.server.transform,
            "shape": f"{shape} to {got.p}",
            **fields,
            **device_fields(self.server.devices),
        }
        runs = {"included": whole, "excluded": lambda: call(*there)}
        for transfers, run in runs.items():
            times = timed(self.server, run, self.given.runs)
            values = times if alone else [want.size / t for t in times]
            kept = (
                more
                if transfers == "included"
                else dict.fromkeys((name for name in more if name.startswith("peer")), None)
            )
            line = stamped(
                "functions",
                op,
                "binfhe",
                self.parameters.name,
                values,
                **{**more, **kept, "transfers": transfers},
            )
            line["commit"] = self.given.commit or line["commit"]
            if line["peer_median"]:
                faster = line["median"] / line["peer_median"]
                line["ratio"] = 1 / faster if alone else faster
            print(
                f"{self.parameters.name} {op}, {more['shape']}, {transfers}: "
                f"{line['median']:.6g} {line['unit']}",
                flush=True,
            )
            append(self.given.record, line)
        add_energy(self.given.record, line, self.server, runs["excluded"], self.given.energy)

    def functions(self) -> None:
        """The functions of Table 7."""
        paper = self.parameters.name == "xiao/EVALFUNC"
        encoding = (8, False) if paper else (16, True)
        p = encoding[0]
        low, most = (-4 if paper else -7), p - 1
        m = self.random.integers(0, p, self.given.batch)
        integers = (m - low) % p + low

        def peer(op: str) -> dict[str, Any]:
            known = {
                "peer": PAPER,
                "peer_version": "TCHES 2025, Table 7",
                "peer_median": VALUES[op],
            }
            return {"batch": self.given.batch, **(known if paper else {})}

        def signed(function: Callable[..., EncryptedArray]) -> Callable[..., EncryptedArray]:
            """The function of signed integers: `low` is added to padded messages."""
            return function if paper else lambda x: function(x.with_range(0, most) + low)

        def measure(op: str, function: Callable[..., EncryptedArray], want: Clear) -> None:
            self.record(op, function, [m], want, encoding, **peer(op))

        clear = integers if paper else m + low
        measure("relu", signed(binfhe.relu), np.maximum(clear, 0))
        if paper:
            measure("relu", lambda x: binfhe.relu(x, p // 2), np.maximum(clear, 0))
        measure("sigmoid", signed(binfhe.sigmoid), np.rint(most / (1 + np.exp(-clear))))
        measure("sqrt", binfhe.sqrt, np.rint(np.sqrt(m)))
        measure(
            "reciprocal",
            binfhe.reciprocal,
            np.where(m == 0, most, np.rint(most / np.maximum(m, 1))),
        )
        top = p // 4 - 1 if paper else 7
        images = self.random.integers(0, top + 1, (max(self.given.batch // 16, 1), 8, 8))
        pooled = images.reshape(-1, 4, 2, 4, 2).max(axis=(2, 4))
        self.record(
            "max_pool",
            lambda x: binfhe.max_pool(x.with_range(0, top)),
            [images],
            pooled,
            encoding,
            **{**peer("max_pool"), "batch": pooled.size},
        )

    def ands(self) -> None:
        """The bitwise AND of Table 6."""
        for width, paper in ANDS.items():
            a, b = self.random.integers(0, 2, (2, width))
            self.record(
                f"and{width}",
                lambda x, y: x & y,
                [a, b],
                a & b,
                (4, False),
                batch=1,
                peer=PAPER,
                peer_version="TCHES 2025, Table 6",
                peer_median=paper / 1e3,
            )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda")
    options.add_argument("--batch", type=int, default=16384)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--sets", nargs="*", default=["xiao/EVALFUNC", "W128_P128"])
    options.add_argument("--gates", nargs="*", default=["W128_P64", "W128_P64_M4"])
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()
    for name in given.sets:
        bench = Bench(name, given)
        bench.functions()
        bench.ands()
    for name in given.gates:
        Bench(name, given).ands()


if __name__ == "__main__":
    main()
