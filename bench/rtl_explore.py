"""Designs of the FPGA accelerator: records of what `whorl rtl explore` measures, and the pictures.

python3 bench/rtl_explore.py --record bench/results/rtl/explore.jsonl
python3 bench/rtl_explore.py --plots docs/plots      from the records
"""

import argparse
import os
import sys
from pathlib import Path

from common import records

CASES = [
    *((f"fpga/I_M{m}", f"table2_I_m{m}") for m in (1, 2, 3, 4)),
    ("fpga/II_M2", "table2_II_m2"),
    ("W128_P64_RTL_M2", "vu13p"),
    ("W128_P64_RTL_M3", "vu13p"),
    *((f"fpga/I_M{m}", "hbm") for m in (2, 3, 4)),
]
FILE = records.RESULTS / "rtl" / "explore.jsonl"


def measured(most: int, threads: int, only: str, to: Path | None) -> None:
    from whorl._core.progress import bar
    from whorl._rtl import costs, modules

    synthesis = modules.read_records(records.RESULTS / "synthesis")
    for name, chip_name in CASES:
        if only not in f"{name} {chip_name}":
            continue
        chip = costs.chips()[chip_name]
        with bar(name) as report:
            points = costs.explore(name, chip_name, chip, synthesis, most, threads, report)
        best = costs.front(points)
        for point in points:
            plain = point.record()
            rate = plain.pop("throughput")
            line = records.record(
                "rtl_explore",
                "design",
                plain.pop("set"),
                [rate],
                device="rtl-model",
                unit="1/s",
                transfers=None,
                batch=point.design.capacity,
                multipliers=point.design.pes * point.design.multipliers_a_pe,
                budget_dsp=chip.dsp,
                budget_gb_s=chip.gb_s,
                mhz=chip.mhz,
                front=point in best,
                **plain,
            )
            records.append(to, line)
            print(
                f"{name} on {chip_name}: {rate:,.0f}/s, {1e3 * point.latency_full:.2f} ms, "
                f"{point.dsp} DSP{', front' if point in best else ''}"
            )


def by_case(lines: list[records.Record]) -> dict[tuple[str, str], list[records.Record]]:
    """The designs of each set and chip."""
    found: dict[tuple[str, str], list[records.Record]] = {}
    for line in lines:
        found.setdefault((line["params"], line["chip"]), []).append(line)
    return found


def plots(folder: Path) -> None:
    """A picture of set (I) in the budgets of Table II, from the records."""
    from whorl._rtl import costs
    from whorl.cli._rtl import draw

    points = []
    for (name, chip), lines in by_case(records.read(FILE)).items():
        if not chip.startswith("table2_I_"):
            continue
        for line in lines:
            fields = {key: line[key] for key in costs.Point.__dataclass_fields__ if key in line}
            design = costs.Design(**line["design"])
            fields |= {"set": name, "throughput": line["median"], "design": design}
            points.append(costs.Point(**fields))
    best = [p for p in points if p in costs.front([q for q in points if q.set == p.set])]
    draw(points, best, folder / "rtl-designs.svg")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--plots", type=Path, help="folder of the pictures; measures nothing")
    parser.add_argument("--only", default="", help="sets and chips whose names have this")
    parser.add_argument("--most", type=int, default=24, help="designs of a set and chip")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.plots:
        plots(options.plots)
    else:
        measured(options.most, options.threads, options.only, options.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
