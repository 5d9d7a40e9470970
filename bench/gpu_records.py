"""Records of bench_gpu and how pages say them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.records import Record

def pick(records: Iterable[Record], **wanted: Any) -> Record | None:
    """The first record with these members; a member wanted to be None must be absent."""
    for record in records:
        if all(record.get(name) == value for name, value in wanted.items()):
            return record
    return None


def chip(records: list[Record]) -> str:
    """The device of records, as its maker writes it: H200."""
    name: str = records[0]["device"]
    return name.upper()


def rate(record: Record) -> float:
    """Operations a second."""
    median: float = record["median"]
    return median if record["unit"] == "1/s" else record["batch"] / median
