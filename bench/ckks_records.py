"""Records of bench_ckks, bench_ckks_bootstrap and bench/openfhe_ckks.py, and what they are of."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from common.records import RESULTS, Record, read

DEVICES = {"cpu": "CPU, one thread", "h200": "H200"}


class Shape(NamedTuple):
    """What tells sets apart in the member `params`: N, primes of the chain, special primes."""

    N: int
    limbs: int
    special: int


BEST = "W128_L13_B20"
LEVELLED = "depth 30"
"""The default of bench_ckks, whose limbs are close to those that peers were measured with."""
SETS = {
    BEST: Shape(65536, 47, 12),
    LEVELLED: Shape(65536, 44, 11),
    "tensorfhe/default": Shape(65536, 45, 1),
    "tensorfhe/resnet20": Shape(65536, 30, 1),
    "tensorfhe/logistic": Shape(65536, 39, 1),
    "tensorfhe/lstm": Shape(32768, 26, 1),
    "tensorfhe/packed": Shape(65536, 58, 1),
    "tensorfhe/bootstrap": Shape(65536, 35, 7),
    "tensorfhe/A": Shape(4096, 2, 2),
    "tensorfhe/B": Shape(8192, 4, 4),
    "tensorfhe/C": Shape(16384, 8, 8),
}

# Steps of a bootstrap that a floor covers. The floors are ms of a complex bootstrap of 2^15 slots
# with BEST on an H200, from a model: the CUDA cores if they do everything, the same if tensor cores
# convert bases, and the bytes of keys, plaintexts and ciphertexts.
PHASES = {
    "slots to coefficients": ("to_coefficients",),
    "raise, and split real from imaginary": ("raise", "angles"),
    "coefficients to slots": ("to_slots",),
    "sine": ("sine",),
    "join the result": ("result",),
}
FLOORS = {
    "slots to coefficients": (0.19, 0.17, 0.11),
    "raise, and split real from imaginary": (0.12, 0.09, 0.03),
    "coefficients to slots": (1.31, 0.94, 1.0),
    "sine": (1.23, 0.87, 0.44),
    "join the result": (0.0, 0.0, 0.0),
}


def records(device: str, name: str) -> list[Record]:
    return read(RESULTS / device / f"{name}.jsonl")


def shape_of(params: str) -> Shape:
    """Of the member `params`."""
    found = re.search(r"N=(\d+), limbs (?:\d+ of )?(\d+) \+ (\d+)", params)
    if not found:
        raise ValueError(f"params {params!r} state no N and limbs, as bench_ckks does")
    return Shape(*(int(each) for each in found.groups()))


def is_full(params: str) -> bool:
    """All slots, or an operation, which has no number of slots."""
    found = re.search(r"slots (\d+)", params)
    return not found or int(found[1]) == shape_of(params).N // 2


def milliseconds(record: Record | None) -> float | None:
    return 1e3 * float(record["median"]) if record else None


class Key(NamedTuple):
    """What was measured; of several records the last counts."""

    op: str
    shape: Shape
    real: bool
    batch: int
    waited: bool
    values: str | None
    peer: str | None


class Measured:
    """The last record of each thing that was measured on one device."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._latest: dict[Key, Record] = {}
        for name in ("ckks", "ckks_bootstrap"):
            for record in records(device, name):
                if is_full(record["params"]):
                    self._latest[self._key(record)] = record
        self.commits = sorted({record["commit"] for record in self._latest.values()})

    @staticmethod
    def _key(record: Record) -> Key:
        params = record["params"]
        return Key(
            record["op"],
            shape_of(params),
            params.endswith(", real"),
            record["batch"],
            record.get("waited", True),
            record.get("values"),
            record["peer"],
        )

    def _find(
        self, op: str, of: Shape, real: bool, batch: int, waited: bool = True
    ) -> Record | None:
        return self._latest.get(Key(op, of, real, batch, waited, None, None))

    def latency(self, op: str, of: Shape, real: bool = False) -> float | None:
        """Milliseconds of one ciphertext, waited for."""
        return milliseconds(self._find(op, of, real, 1))

    def batches(self, op: str, of: Shape, real: bool = False) -> list[tuple[int, float]]:
        """Batch and milliseconds a ciphertext; queued, where that was measured."""
        found = []
        for batch in self.batch_sizes(of):
            record = self._find(op, of, real, batch, False) or self._find(op, of, real, batch)
            if record:
                found.append((batch, 1e3 * float(record["median"]) / batch))
        return found

    def batch_sizes(self, of: Shape) -> list[int]:
        return sorted({key.batch for key in self._latest if key.shape == of and not key.peer})

    def best(self, op: str, of: Shape, real: bool = False) -> float | None:
        """Milliseconds a ciphertext, at the best batch."""
        return min((ms for _, ms in self.batches(op, of, real)), default=None)

    def phases(self, of: Shape, real: bool = False) -> dict[str, float]:
        """Milliseconds of each step for one ciphertext; nothing unless all are known."""
        steps = [op for ops in PHASES.values() for op in ops]
        known = {op: self.latency(op, of, real) for op in steps}
        found = {op: ms for op, ms in known.items() if ms is not None}
        return found if len(found) == len(steps) else {}

    def bits(self) -> list[Record]:
        """Of the worst slot after a bootstrap."""
        return [record for key, record in self._latest.items() if key.op == "bootstrap_bits"]

    def worst_bits(self, of: Shape, real: bool = False) -> float | None:
        """The least of all values that were tried."""
        found = [
            float(record["median"])
            for key, record in self._latest.items()
            if key.op == "bootstrap_bits" and (key.shape, key.real) == (of, real)
        ]
        return min(found, default=None)

    def security(self, of: Shape) -> float | None:
        found: list[Any] = [
            record["security_bits"]
            for key, record in self._latest.items()
            if key.shape == of and record["security_bits"]
        ]
        return float(found[-1]) if found else None

    def against_openfhe(self, op: str) -> Record | None:
        found = [r for key, r in self._latest.items() if (key.op, key.peer) == (op, "openfhe")]
        return found[-1] if found else None
