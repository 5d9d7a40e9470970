"""Records that stand beside papers' figures, and how a cell without a record says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from common.records import Record, rate, records_of
from common.tables import columns, in_words, table
from paper_figures import BATCH
from whorl import binfhe

FILES = {"cuda_transforms": "transforms"}
"""Where the name of a bench is not that of its file."""
NOT_MEASURED = "not measured"
CHIP = "H200"


@dataclasses.dataclass(frozen=True)
class Measured:
    """Records of benches."""

    one: list[Record]  # bench_gpu, one GPU
    two: list[Record]
    scaling: list[Record]  # bench_gpu, one GPU and two of one host in one run
    transforms: list[Record]
    tree: list[Record]
    noise: list[Record]

    @classmethod
    def load(cls) -> Measured:
        """Reads bench/results."""
        return cls(
            one=records_of("h200", "gpu"),
            two=records_of("h200x2", "gpu"),
            scaling=records_of("h200x2", "scaling"),
            transforms=records_of("h200", "transforms"),
            tree=records_of("h200", "tree"),
            noise=records_of("cpu", "noise"),
        )

    def many(self, op: str, params: str, gpus: int = 1) -> Record | None:
        """Transfers included, at the papers' batch if there is a record, else at the largest."""
        records = self.one if gpus == 1 else self.two
        found = [
            r for r in matching(records, op, params) if r["batch"] > 1 and r.get("schedule") is None
        ]
        exact = [r for r in found if r["batch"] == BATCH]
        return max(exact or found, key=lambda r: (r["batch"], rate(r)), default=None)

    def alone(self, op: str, params: str) -> Record | None:
        """One ciphertext, transfers included, by the faster transform."""
        found = [r for r in matching(self.one, op, params) if r["batch"] == 1]
        return max((r for r in found if r.get("schedule") is None), key=rate, default=None)


def matching(records: Iterable[Record], op: str, params: str) -> list[Record]:
    return [
        r
        for r in records
        if r["op"] == op and r["params"] == params and r["transfers"] == "included"
    ]


def said(record: Record | None, show: Callable[[Record], str]) -> str:
    """A cell of a table."""
    return show(record) if record else NOT_MEASURED


def milliseconds(record: Record) -> str:
    """Time of one operation."""
    return in_words(1000 / rate(record))


def of_batch(show: Callable[[Record], str]) -> Callable[[Record], str]:
    """Adds the size of the batch to what `show` says."""
    return lambda record: f"{show(record)} of {record['batch']:,}"


def times_as_fast(theirs: float, ours: Record | None) -> str:
    """Against milliseconds of theirs."""
    return f"{theirs * rate(ours) / 1000:.1f}×" if ours else ""


def a_second(record: Record) -> str:
    """Operations."""
    return f"{rate(record):,.0f}"


def source(*given: Record | None) -> str:
    """The records of a row: the file below bench/results, and the commit that was measured."""
    found: list[str] = []
    for record in given:
        if record:
            folder = record["device"]
            if record["device_count"] > 1:
                folder += f"x{record['device_count']}"
            name = f"`{folder}/{FILES.get(record['bench'], record['bench'])}` {record['commit']}"
            if record["scheme"] == "binfhe" and 1 < record.get("batch", 1) != BATCH:
                name += f" (batch {record['batch']:,})"
            if name not in found:
                found.append(name)
    return ", ".join(found)


def parameters(name: str, **changes: Any) -> binfhe.Parameters:
    """A named set, or one with other members."""
    binary = name.endswith(" binary")
    found = binfhe.parameters(name.removesuffix(" binary"), allow_insecure=True)
    if binary:
        changes["lwe_secret"] = "binary"
    if not changes:
        return found
    literal = {**found.literal(), **changes, "name": ""}
    return binfhe.parameters(literal, allow_insecure=True)


def bits(params: binfhe.Parameters) -> str:
    """Estimated security of both keys."""
    security = params.security
    return f"{security.lwe_bits:.0f}, {security.ring_bits:.0f}"


def power(log2: float) -> str:
    return f"2^{log2:.0f}"


Missing = list[tuple[str, str]]
"""What has no record, and the command that would make one."""


def without_records(missing: Missing) -> list[str]:
    """A line that names what has no record; none if nothing lacks."""
    by_command: dict[str, list[str]] = {}
    for what, command in missing:
        names = by_command.setdefault(command, [])
        if what not in names:
            names.append(what)
    if not by_command:
        return []
    each = [f"{', '.join(names)} (`{command}`)" for command, names in by_command.items()]
    return [f"*Not measured yet: {'; '.join(each)}.*", ""]


class Section:
    """A part of a page: a table, and what it lacks."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []
        self.missing: Missing = []

    def lines(self) -> list[str]:
        return [*table(*columns(self.rows)), *without_records(self.missing)]


def command_of(op: str, params: str) -> str:
    """What measures an operation of a set."""
    only = {"nand": "gates", "evalfunc": "tables", "lut4": "tables"}.get(op, "large")
    return f'bench_gpu --only {only} --set "{params}"'
