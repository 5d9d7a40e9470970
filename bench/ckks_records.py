"""What docs/ckks-performance.md is made of: records, and what they are of.

Records are those of bench_ckks, bench_ckks_bootstrap, bench_tensorfhe, bench_cuda_transforms,
bench/openfhe_ckks.py, bench/python_peers.py and bench/ckks_workload.py.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from common.records import Record, latest, milliseconds, pick, records_of

GPUS = ("h200", "h100")
PAIRS = ("h200x2", "h100x2")
"""Machines with two GPUs."""
DEVICES = {
    "cpu": "CPU, one thread",
    "h200": "H200",
    "h100": "H100",
    "h200x2": "two H200s",
    "h100x2": "two H100s",
}
PYTHON_PEERS = {"tenseal": "TenSEAL", "desilofhe": "DESILO FHE"}
"""Names of packages and libraries."""


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
    "tensorfhe/packed-bootstrap": Shape(65536, 58, 1),
    "tensorfhe/A": Shape(4096, 2, 2),
    "tensorfhe/B": Shape(8192, 4, 4),
    "tensorfhe/C": Shape(16384, 8, 8),
}

# What is measured with several batches: operation, label, set, whether values are real.
CURVES = (
    ("mult_relin", "multiply + relinearise", BEST, False),
    ("rotate", "rotate", BEST, False),
    ("bootstrap", "bootstrap, complex", BEST, False),
    ("bootstrap", "bootstrap, real", BEST, True),
)

# Steps of a bootstrap that a floor covers. The floors are ms of a complex bootstrap of 2^15 slots
# with BEST on an H200, from a model: the CUDA cores if they do everything, the same if tensor cores
# convert bases, and the bytes of keys, plaintexts and ciphertexts.
PHASES = {
    "SlotsToCoeffs": ("slots_to_coeffs",),
    "ModRaise, and split real from imaginary": ("mod_raise", "real_and_imaginary"),
    "CoeffsToSlots": ("coeffs_to_slots",),
    "EvalMod": ("eval_mod",),
    "join the result": ("eval_mod_end",),
}
FLOORS = {
    "SlotsToCoeffs": (0.19, 0.17, 0.11),
    "ModRaise, and split real from imaginary": (0.12, 0.09, 0.03),
    "CoeffsToSlots": (1.31, 0.94, 1.0),
    "EvalMod": (1.23, 0.87, 0.44),
    "join the result": (0.0, 0.0, 0.0),
}


def commits(device: str, name: str) -> list[str]:
    return sorted({line["commit"] for line in records_of(device, name)})


BOOTSTRAPS = ("packed_bootstrap", "bootstrap_256")
"""Names of whole bootstraps, by `bench_ckks_bootstrap --name`."""


def operations_of(device: str, name: str) -> list[Record]:
    """Records of a file in which a whole bootstrap is called so by any name: `params` tell its
    shape."""
    lines = []
    for line in records_of(device, name):
        op = line["op"]
        for known in BOOTSTRAPS:
            op = op.replace(known, "bootstrap")
        lines.append({**line, "op": op})
    return latest(lines)


def shape_of(params: str) -> Shape:
    """The shape that the member `params` states."""
    found = re.search(r"N=(\d+), limbs (?:\d+ of )?(\d+) \+ (\d+)", params)
    if not found:
        raise ValueError(f"params {params!r} state no N and limbs, as bench_ckks does")
    return Shape(*(int(each) for each in found.groups()))


def is_full(params: str) -> bool:
    """All slots, or an operation, which has no number of slots."""
    found = re.search(r"slots (\d+)", params)
    return not found or int(found[1]) == shape_of(params).N // 2


class Key(NamedTuple):
    """What was measured."""

    op: str
    shape: Shape
    real: bool
    batch: int
    waited: bool
    values: str | None
    peer: str | None


class Measured:
    """What was measured on one device."""

    def __init__(self, device: str) -> None:
        self.device, self.name = device, DEVICES[device]
        self._latest: dict[Key, Record] = {}
        self.files = [name for name in ("ckks", "ckks_bootstrap") if records_of(device, name)]
        for name in self.files:
            for record in operations_of(device, name):
                if is_full(record["params"]):
                    self._latest[self._key(record)] = record
        self.commits = sorted({record["commit"] for record in self._latest.values()})
        dates = [record["date"] for record in self._latest.values() if "date" in record]
        self.date = max(dates, default="")

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
        """Bits of the worst slot after a bootstrap."""
        return [record for key, record in self._latest.items() if key.op == "bootstrap_bits"]

    def worst_bits(self, of: Shape, real: bool = False) -> float | None:
        """The least of all values that were tried."""
        found = [
            float(record["median"])
            for key, record in self._latest.items()
            if key.op == "bootstrap_bits" and (key.shape, key.real) == (of, real)
        ]
        return min(found, default=None)

    def commits_of(self, ops: Iterable[str], sets: Iterable[str]) -> list[str]:
        """Commits of all records of operations with named sets, by date."""
        shapes = {SETS[name] for name in sets}
        wanted = set(ops)
        found = [
            record
            for key, record in self._latest.items()
            if key.op in wanted and key.shape in shapes and not key.peer
        ]
        found.sort(key=lambda record: str(record.get("date", "")))
        return list(dict.fromkeys(record["commit"] for record in found))

    def against(self, peer: str, op: str) -> Record | None:
        """The comparison with another library."""
        found = [r for key, r in self._latest.items() if (key.op, key.peer) == (op, peer)]
        return found[-1] if found else None


def of_commits(
    all_measured: Iterable[Measured], ops: Iterable[str], sets: Iterable[str]
) -> list[str]:
    """Lines below a table that sets devices side by side: which code each was measured with."""
    ops, sets, parts = list(ops), list(sets), []
    for measured in all_measured:
        if found := measured.commits_of(ops, sets):
            parts.append(f"{measured.name} {', '.join(found)}")
    return [f"The records are of these commits: {'; '.join(parts)}.", ""] if parts else []


class Pair(NamedTuple):
    """The last bootstraps of a batch on one GPU and on two, of one machine."""

    params: str
    batch: int
    one: Record | None
    two: Record | None


def pairs(device: str) -> list[Pair]:
    found: dict[tuple[str, int], dict[int, Record]] = {}
    for record in operations_of(device, "ckks_bootstrap"):
        if record["op"] == "bootstrap" and is_full(record["params"]):
            of = found.setdefault((record["params"], record["batch"]), {})
            of[record["device_count"]] = record
    return [Pair(*what, of.get(1), of.get(2)) for what, of in sorted(found.items())]


def joules_of(record: Record | None) -> float | None:
    """The median of a record of energy."""
    return float(record["median"]) if record else None


WHOLE = "helr_full"
"""What bench/ckks_workload.py calls a training whose iterations take all images."""


class Workload:
    """The training of apps/logistic on one device, by bench/ckks_workload.py."""

    def __init__(self, device: str) -> None:
        self.name = DEVICES[device]
        records = records_of(device, "ckks_workload")
        self._whole = [each for each in records if each["op"].startswith(WHOLE)]
        self._latest = {
            (int(record["params"].split()[0]), record["op"]): record
            for record in records
            if record not in self._whole
        }

    def iterations(self) -> list[int]:
        """How many iterations trainings have that were measured."""
        return sorted(count for count, op in self._latest if op == "helr_iteration")

    def iteration(self, count: int) -> Record:
        """The mean one of a training of so many."""
        return self._latest[count, "helr_iteration"]

    def joules(self, count: int) -> float | None:
        """Energy of an iteration."""
        return joules_of(self._latest.get((count, "helr_iteration_energy")))

    def whole(self) -> tuple[Record, float | None] | None:
        """The fastest training whose iterations take all images, and its joules."""
        found = [record for record in self._whole if record["op"] == WHOLE]
        if not found:
            return None
        best = min(found, key=lambda record: float(record["median"]))
        return best, joules_of(pick(self._whole, op=f"{WHOLE}_energy", params=best["params"]))

    def operations(self) -> dict[str, Record]:
        """Kinds of operations in the longest training, the longest first."""
        count = max(self.iterations(), default=0)
        found = {
            op.removeprefix("helr_"): record
            for (of, op), record in self._latest.items()
            if of == count
            and "share" in record
            and record["commit"] == self.iteration(count)["commit"]
        }
        return dict(sorted(found.items(), key=lambda each: -each[1]["share"]))
