"""Benchmark records: what every one of them says, in one place."""

from __future__ import annotations

import datetime
import json
import statistics
import subprocess
from pathlib import Path
from typing import Any


def stamped(
    bench: str, op: str, scheme: str, params: str, values: list[float], **fields: Any
) -> dict[str, Any]:
    """A record of `values` (seconds, or 1/s if `unit` says so) measured on this CPU."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    ).stdout.strip()
    return {
        "bench": bench,
        "op": op,
        "scheme": scheme,
        "params": params,
        "device": "cpu",
        "device_count": 1,
        "transfers": "included",
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "runs": len(values),
        "commit": commit,
        "date": datetime.date.today().isoformat(),
        **fields,
    }


def record(bench: str, op: str, params: str, values: list[float], **fields: Any) -> dict[str, Any]:
    """The same under a parameter set of binfhe, with what its security and failures are."""
    from whorl import binfhe

    parameters = binfhe.parameters(params, allow_insecure=True)
    return stamped(
        bench,
        op,
        "binfhe",
        params,
        values,
        security_bits=round(min(parameters.security.lwe_bits, parameters.security.ring_bits), 1),
        pfail_log2=round(parameters.failure_log2, 1),
        **fields,
    )


def append(path: Path | None, line: dict[str, Any]) -> None:
    """Adds a record to a .jsonl file, if one is named."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
