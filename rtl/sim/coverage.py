"""Coverage of rtl/src by the benches of rtl/sim and the tests of rtl/cocotb: lines and toggles.

    python3 rtl/sim/coverage.py [--run [--jobs N]] [--least 95] [--record FILE] [--missing]

--run first runs those of small shapes with Verilator's counters; without it, what lies in the
folders `build` is merged. A line is reached when every block that it belongs to ran. A toggle is a
bit of a signal that rose, or one that fell. Signals of more than 2,048 bits in all are not counted:
tables, memories, and the widest buses, whose parts are. Instances of a module, of all shapes, are
merged: a point is reached if any of them reached it.

EXCLUDED lists bits that cannot move by construction, with the reason. One of them that rose and
fell is an error: the reason is wrong. (A constant 1 rises once, when the simulation begins.)
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RTL = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(RTL.parent / "bench"))

from common.records import append, stamped  # noqa: E402

# File, pattern of the whole name of a bit of a signal, why it never moves.
EXCLUDED: tuple[tuple[str, str, str], ...] = (
    ("pe/monomials.sv", r".*\brom\[.*", "words of a table of constants"),
    ("transform/twiddle_rom.sv", r".*\brom\[.*", "words of a table of constants"),
)


# Functions that run while the design is elaborated, and never in a simulation: tables, latencies.
ELABORATED: dict[str, tuple[str, ...]] = {
    "whorl_pkg.sv": (
        "tree_latency",
        "transform_latency",
        "bku_latency",
        "mac_latency",
        "lat_bku",
        "lat_wb",
        "mul_table",
        "pow_table",
        "psi",
        "brv",
    ),
    "pe/decompose.sv": ("offset_of",),
    "keyswitch/key_switch.sv": ("offset_of",),
}


def elaborated(name: str) -> set[int]:
    """Lines of the functions that ELABORATED lists for a file."""
    found: set[int] = set()
    inside = False
    for number, line in enumerate((RTL / "src" / name).read_text().splitlines(), 1):
        begins = re.match(r"\s*function automatic .*?(\w+)\(", line)
        inside = inside or bool(begins and begins[1] in ELABORATED.get(name, ()))
        if inside:
            found.add(number)
        inside = inside and "endfunction" not in line
    return found


@dataclass
class File:
    """Points of a source file, and how often each was reached."""

    toggles: dict[tuple[int, int, str], int] = field(default_factory=lambda: defaultdict(int))
    blocks: dict[tuple[int, int, str], int] = field(default_factory=lambda: defaultdict(int))
    lines_of: dict[tuple[int, int, str], set[int]] = field(default_factory=dict)

    def lines(self, without: set[int]) -> dict[int, bool]:
        """Lines with code, and whether each was reached."""
        reached: dict[int, bool] = {}
        for point, lines in self.lines_of.items():
            for line in lines - without:
                reached[line] = reached.get(line, True) and self.blocks[point] > 0
        return reached


def numbers(text: str) -> set[int]:
    """What a text like "3-5,8" lists."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def merge(paths: list[Path]) -> dict[str, File]:
    files: dict[str, File] = defaultdict(File)
    for path in paths:
        for line in path.read_text(encoding="latin-1").splitlines():
            if not line.startswith("C "):
                continue
            key, _, count = line[3:].rpartition("' ")
            fields = dict(f.split("\x02", 1) for f in key.split("\x01") if f)
            _, source, name = fields["f"].rpartition(
                "rtl/src/" if "rtl/src/" in fields["f"] else "../src/"
            )
            if not source:
                continue
            file, point = files[name], (int(fields["l"]), int(fields["n"]), fields["o"])
            if fields["page"].startswith("v_toggle"):
                file.toggles[point] += int(count)
            else:
                file.blocks[point] += int(count)
                lines = numbers(fields["S"]) if "S" in fields else {point[0]}
                file.lines_of.setdefault(point, set()).update(lines)
    return files


def percent(reached: int, all_points: int) -> float:
    return 100 * reached / all_points if all_points else 100.0


def run(jobs: int) -> None:
    """Benches and tests of small shapes, with counters."""
    for old in [*paths(), *RTL.glob("sim/build/coverage/*.run")]:
        old.unlink()
    make = ["make", "--no-print-directory", "-C", str(RTL / "sim"), f"-j{jobs}", "coverage"]
    cocotb = [sys.executable, str(RTL / "cocotb" / "run.py"), "--coverage", "--shape", "m2"]
    for command in (make, cocotb):
        if subprocess.run(command).returncode:
            raise SystemExit("coverage: FAILED: a bench failed")


def paths() -> list[Path]:
    return sorted(
        [*RTL.glob("sim/build/coverage/*.dat"), *RTL.glob("cocotb/build/*_coverage/coverage.dat")]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run benches and tests first")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--least", type=float, default=95, help="percent that is demanded")
    parser.add_argument("--record", type=Path, help="file that records are appended to")
    parser.add_argument("--missing", action="store_true", help="name what was not reached")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.jobs)
    found = paths()
    files = merge(found)
    if not files:
        raise SystemExit("coverage: FAILED: no file of counters; run with --run")
    totals = {"lines": [0, 0], "toggles": [0, 0]}
    by_file: dict[str, dict[str, float]] = {}
    excluded = wrong = 0
    for name, file in sorted(files.items()):
        patterns = [re.compile(p) for f, p, _ in EXCLUDED if f == name]
        left: dict[tuple[int, int, str], int] = {}
        for point, count in file.toggles.items():
            line, column, bit = point[0], point[1], point[2].partition(":")[0]
            if not any(p.fullmatch(bit) for p in patterns):
                left[point] = count
                continue
            excluded += 1
            if all(file.toggles[line, column, f"{bit}:{way}"] for way in ("0->1", "1->0")):
                wrong += 1
                print(f"{name}:{line}: {bit} is excluded, and moves")
        lines = file.lines(elaborated(name))
        counts = {
            "lines": (sum(lines.values()), len(lines)),
            "toggles": (sum(c > 0 for c in left.values()), len(left)),
        }
        for kind, (reached, points) in counts.items():
            totals[kind][0] += reached
            totals[kind][1] += points
        by_file[name] = {kind: round(percent(*pair), 2) for kind, pair in counts.items()}
        words = "  ".join(f"{k} {a:6}/{b:6} {percent(a, b):6.2f} %" for k, (a, b) in counts.items())
        print(f"{name:32} {words}")
        if arguments.missing:
            missing = [str(line) for line, reached in sorted(lines.items()) if not reached]
            print(f"    lines: {' '.join(missing)}")
            for point, count in sorted(left.items()):
                if not count:
                    print(f"    {point[0]}: {point[2]}")
    good = not wrong
    for kind, (reached, points) in totals.items():
        share = percent(reached, points)
        good = good and share >= arguments.least
        print(f"{kind}: {reached} of {points}, {share:.2f} %")
        fields: dict[str, Any] = {
            "device": "simulation",
            "transfers": None,
            "unit": "%",
            "reached": reached,
        }
        fields |= {"reached": reached, "points": points, "simulations": len(found)}
        fields["tool"] = "verilator 5.48.0"
        fields |= {"files": {f: shares[kind] for f, shares in by_file.items()}}
        if kind == "toggles":
            fields["excluded"] = excluded
        line = stamped("rtl_coverage", kind, "binfhe", "rtl/src", [round(share, 2)], **fields)
        append(arguments.record, line)
    print(f"coverage: {'passed' if good else 'FAILED'}; {excluded} toggles cannot be, by EXCLUDED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
