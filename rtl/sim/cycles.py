"""Records of whole bootstraps in simulation, from what the benches of the sets printed.

make -C rtl/sim build/set_1_m2.run; python3 rtl/sim/cycles.py --record FILE rtl/sim/build/set_*.out
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from common import records  # noqa: E402

Run = dict[str, Any]
SETS = {(500, 10): "fpga/I", (592, 11): "fpga/II"}


def multipliers_a_pe(shape: dict[str, int]) -> int:
    """Modular multipliers: rtl/README.md, section 8."""
    b = 1 << shape["LOG_B"]
    return b * (shape["LOG_N"] * (2 * shape["L"] + 2) + (8 * shape["L"] << shape["M"]))


def busy(run: Run) -> float:
    """The part of the multipliers' cycles that had a product.

    A slot takes N/2b rows through a PE, and each row is one product of every multiplier of it: of
    the stages, of the bundle, and of the products with it.
    """
    shape, counters = run["shape"], run["counters"]
    rows = (1 << shape["LOG_N"]) // (2 << shape["LOG_B"])
    of_a_pe = multipliers_a_pe(shape)
    products = counters["PE_SLOTS"] * rows * of_a_pe
    return products / (shape["PES"] * of_a_pe * counters["CYCLES"])


def runs_of(path: Path) -> list[Run]:
    """The lines RUN of a bench that passed."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not any(line.startswith("passed: core") for line in lines):
        raise SystemExit(f"{path}: the bench did not pass")
    return [json.loads(line.removeprefix("RUN ")) for line in lines if line.startswith("RUN ")]


def name_of(run: Run) -> str:
    shape = run["shape"]
    return f"{SETS[run['n'], shape['LOG_N']]}_M{shape['M']}"


def record(run: Run) -> records.Record:
    counters = run["counters"]
    return records.stamped(
        "rtl_cycles",
        "bootstraps",
        "binfhe",
        name_of(run),
        [counters["CYCLES"] / run["count"]],
        device="rtl",
        unit="cycles",
        transfers=None,
        batch=run["count"],
        shape=run["shape"],
        stalls_percent=run["stalls_percent"],
        delay=run["delay"],
        counters=counters,
        multipliers=run["shape"]["PES"] * multipliers_a_pe(run["shape"]),
        multipliers_busy=round(busy(run), 4),
        bytes_compared=run["bytes_compared"],
        cpu_seconds=run["cpu_seconds"] / run["count"],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", nargs="+", type=Path, help="build/set_*.out")
    parser.add_argument("--record", type=Path, help="a .jsonl file")
    options = parser.parse_args()
    for path in options.outputs:
        for run in runs_of(path):
            line = record(run)
            records.append(options.record, line)
            print(
                f"{line['params']}: {run['count']} at {run['stalls_percent']} % stalls: "
                f"{line['median']:,.0f} cycles and {line['cpu_seconds']:.1f} s each, multipliers "
                f"{100 * line['multipliers_busy']:.1f} % busy"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
