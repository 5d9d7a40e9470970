"""Benchmark records: what every one of them says, how they are written and read."""

from __future__ import annotations

import datetime
import json
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl import binfhe

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"

WHAT: tuple[str, ...] = (
    *("bench", "op", "scheme", "params", "device", "device_count", "batch", "transfers", "unit"),
    "peer",
)
"""Members of every record that tell one measured thing from another."""
FOUND: tuple[str, ...] = (
    *("threads", "median", "min", "max", "runs", "peer_version", "peer_median", "ratio"),
    *("security_bits", "pfail_log2", "commit", "date"),
)
"""The other members of every record."""
MORE: tuple[str, ...] = (
    *("N", "calls", "chip", "delay", "first", "group", "in_a_row", "layout", "log2_modulus"),
    *("log2_ratio", "log_B_g", "method", "part", "peer_params", "peer_scaling", "rotation"),
    *("schedule", "seed", "set", "shape", "stalls_percent", "step", "transform", "values"),
    *("variant", "waited"),
    "word_bits",
)
"""Members that some benches add to those of WHAT."""
LISTED = ("design", "kernel")
"""Members that tell records of one run apart: a later run takes the place of all of an older."""


def stamped(
    bench: str, op: str, scheme: str, params: str, values: list[float], **fields: Any
) -> Record:
    """A record of `values` (seconds, or 1/s if `unit` says so) measured on this CPU."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    common = {
        "bench": bench,
        "op": op,
        "scheme": scheme,
        "params": params,
        "device": "cpu",
        "device_count": 1,
        "threads": 1,
        "batch": 1,
        "transfers": "included",
        "unit": "s",
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "runs": len(values),
    }
    absent = ("peer", "peer_version", "peer_median", "ratio", "security_bits", "pfail_log2")
    known = {**common, **dict.fromkeys(absent), **fields}
    return {**known, "commit": commit, "date": datetime.date.today().isoformat()}


def device_fields(devices: Sequence[str]) -> dict[str, Any]:
    """What records say of a server's `devices`, as record_name in bench/common/devices.cpp does."""
    first, _, model = devices[0].partition(" (")
    name = model.rstrip(")").lower().replace(" ", "_")
    for brand in ("nvidia_", "geforce_"):
        name = name.removeprefix(brand)
    return {"device": first if first == "cpu" else name, "device_count": len(devices)}


def memory_fields(devices: Sequence[str]) -> dict[str, int]:
    """The bytes that are taken on a server's `devices`, by the CUDA runtime: of all processes, with
    what this one keeps for later. Nothing of CPUs, and where the runtime does not say it."""
    import whorl

    names = {each.partition(" ")[0] for each in devices}
    gpus = [d for d in whorl.devices() if d.name in names and d.name != "cpu" and d.free_memory]
    return {"device_bytes": sum(d.memory - d.free_memory for d in gpus)} if gpus else {}


def against(
    peer: str, version: str | None, ours: list[float], theirs: list[float]
) -> dict[str, Any]:
    """Members of a record of seconds, measured in turn with a peer's; the ratio is of rounds."""
    ratios = [t / o for t, o in zip(theirs, ours, strict=True)]
    return {
        "peer": peer,
        "peer_version": version,
        "peer_median": statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "ratio_least": min(ratios),
        "ratio_most": max(ratios),
    }


def tell(what: str, line: Record, path: Path | None) -> None:
    """Prints milliseconds of a record and of its peer, and adds it to a file, if one is named."""
    print(
        f"{what} {line['median'] * 1e3:8.3f} ms, {line['peer']} {line['peer_median'] * 1e3:8.2f} "
        f"ms: {line['ratio']:5.1f}x ({line['ratio_least']:.1f} … {line['ratio_most']:.1f})",
        flush=True,
    )
    append(path, line)


def record(
    bench: str,
    op: str,
    params: str,
    values: list[float],
    parameters: binfhe.Parameters | None = None,
    pfail_log2: float | None = None,
    **fields: Any,
) -> Record:
    """The same under a parameter set of binfhe, with what its security and failures are.

    `parameters`: what `params` stands for, if it is not the name of a set. `pfail_log2`: of the
    operation, if the set's own is not its.
    """
    from whorl import binfhe

    parameters = parameters or binfhe.parameters(params, allow_insecure=True)
    return stamped(
        bench,
        op,
        "binfhe",
        params,
        values,
        security_bits=round(min(parameters.security.lwe_bits, parameters.security.ring_bits), 1),
        pfail_log2=round(parameters.failure_log2 if pfail_log2 is None else pfail_log2, 1),
        **fields,
    )


def append(path: Path | None, line: Record) -> None:
    """Adds a record to a .jsonl file, if one is named."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def latest(lines: Iterable[Record]) -> list[Record]:
    """The last record of each thing, in the order in which things first appear."""
    runs: dict[str, dict[str, Record]] = {}
    for line in lines:
        # Threads count where they compute; those of a GPU's host do not. Calls whose energy is
        # measured are as many as there is time for.
        what = (*WHAT, *MORE, *(("threads",) if line.get("device") == "cpu" else ()))
        what = tuple(m for m in what if m != "calls" or line.get("unit") != "J")
        thing, part = (json.dumps([line.get(m) for m in ms]) for ms in (what, LISTED))
        run = runs.setdefault(thing, {})
        if run and next(iter(run.values())).get("commit") != line.get("commit"):
            run.clear()
        run[part] = line
    return [line for run in runs.values() for line in run.values()]


def read(path: Path) -> list[Record]:
    """The last record of each thing in a file; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return latest(json.loads(line) for line in lines)


def records_of(device: str, name: str) -> list[Record]:
    """Those of bench/results/DEVICE/NAME.jsonl."""
    return read(RESULTS / device / f"{name}.jsonl")


def peers(device: str) -> list[Record]:
    """What other libraries do on the same kind of chip; `median` is theirs."""
    return records_of("peers", device)


def pick(records: Iterable[Record], **wanted: Any) -> Record | None:
    """The first record with these members; a member wanted to be None must be absent or null."""
    for record in records:
        if all(record.get(name) == value for name, value in wanted.items()):
            return record
    return None


def milliseconds(record: Record | None) -> float | None:
    """The median of seconds."""
    return 1e3 * float(record["median"]) if record else None


def rate(record: Record) -> float:
    """Operations a second."""
    median: float = record["median"]
    return median if record["unit"] == "1/s" else record["batch"] / median
