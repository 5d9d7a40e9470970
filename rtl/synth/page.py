"""docs/papers/fpga.md: the tables, from the records of rtl/synth/run.py; speed.py has those of speed.

python3 rtl/synth/page.py
"""

# ruff: noqa: E501 (sentences of the page)
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import speed  # noqa: E402
from common.records import RESULTS, read, table, write_measured  # noqa: E402

UNITS = ("LUT", "FF", "DSP", "BRAM36", "URAM")
L, LOG_N = 2, 10
# Table II, set (I): LUT and FF in thousands, DSP, Mb of SRAM, ms, bootstraps a second.
PAPER = {
    1: (925, 729, 6240, 319, 7.53, 1993),
    2: (842, 662, 7202, 338, 3.76, 3454),
    3: (569, 448, 6640, 383, 2.51, 3188),
    4: (442, 342, 6910, 409, 1.88, 2657),
}
PORTS = {1: 1, 2: 2, 3: 4, 4: 3}
TARGETS = {"mod_mul": {"DSP": 4, "LUT": 300}, "ntt": {"DSP": 40, "LUT": 5200}}
NONE = "not synthesised"
Resources = dict[str, float]


def load() -> dict[str, dict]:
    """The last record of each module and unit; `commit`, `levels` and others of LUT."""
    modules: dict[str, dict] = {}
    for line in read(RESULTS / "synthesis" / "modules.jsonl"):
        entry = modules.setdefault(line["op"], {})
        entry[line["unit"]] = line["median"]
        if line["unit"] == "LUT":
            entry["record"] = line
    return modules


def number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def parts_of_pe(m: int) -> dict[str, int]:
    return {
        "ntt": 2 * L,
        "intt": 2,
        "decompose": 4,
        "mac": 1,
        "accumulator": 1,
        f"monomials_m{m}": 1,
        f"bku_m{m}": 1,
    }


def total(modules: dict[str, dict], parts: dict[str, int]) -> Resources | None:
    if any(name not in modules for name in parts):
        return None
    return {u: sum(modules[name][u] * k for name, k in parts.items()) for u in UNITS}


def multipliers(m: int) -> int:
    return LOG_N * (2 * L + 2) + 8 * L + 8 * L * ((1 << m) - 1)


def elements(m: int) -> int:
    return PAPER[m][2] // (4 * multipliers(m))


def megabits(r: Resources) -> float:
    return (r["BRAM36"] * 36 + r["URAM"] * 288) / 1024


def lines() -> list[str]:
    modules = load()
    text = [
        "## What modules take",
        "",
        "Each module alone and flat. LUT = logic + inverters before carry chains + memory and shift registers.",
        "*Levels* are cells on the longest path between registers, of which *carry* are pieces of four bits of a carry chain.",
        "",
    ]
    rows = []
    for name, entry in modules.items():
        if name.startswith("pe_"):
            continue
        r = entry["record"]
        rows.append(
            [
                f"`{name}`",
                number(entry["LUT"]),
                f"{r['logic']:,} + {r['inverters']:,} + {r['memory']:,}",
                *(number(entry[u]) for u in UNITS[1:]),
                f"{r['levels']} ({r['levels_carry']})",
                f"`synthesis/modules` {r['commit']}",
            ]
        )
    text += table(["module", "LUT", "of these", *UNITS[1:], "levels (carry)", "record"], rows)

    text += ["## Targets", ""]
    rows = []
    for name, wanted in TARGETS.items():
        for unit, most in wanted.items():
            has = modules[name][unit] if name in modules else None
            verdict = (
                NONE
                if has is None
                else "held"
                if has <= most
                else f"missed by {number(has - most)} ({(has / most - 1) * 100:.0f} %)"
            )
            rows.append(
                [f"`{name}`", unit, number(most), NONE if has is None else number(has), verdict]
            )
    text += table(["module", "unit", "at most", "has", ""], rows)

    text += [
        "The inverters of `mod_mul` drive carry chains. The chip has no inverter cells, so each counts as a LUT here.",
        "With logic alone, without inverters, shift registers and memory, it is "
        + ", ".join(f"{modules[n]['record']['logic']:,} for `{n}`" for n in TARGETS if n in modules)
        + ".",
        "",
    ]
    text += [
        "## One processing element of set (I)",
        "",
        "Flat, and as the sum of its modules: 4 `ntt`, 2 `intt`, 4 `decompose`, `mac`, `accumulator`, `monomials`, `bku`.",
        "The sum lacks the memory of exponents.",
        "",
    ]
    rows = []
    for m in PAPER:
        flat, summed = modules.get(f"pe_m{m}"), total(modules, parts_of_pe(m))
        for how, has in (("flat", flat), ("sum", summed)):
            rows.append(
                [str(m), how, *([number(has[u]) for u in UNITS] if has else [NONE] + [""] * 4)]
            )
    text += table(["m", "", *UNITS], rows)

    text += [
        "## The whole, in the paper's budget",
        "",
        "P elements fill the DSPs of Table II. The whole is P elements (flat if there is a record, else the sum), the chunk buffers and readers of",
        "the key's ports, a reader of each other port, and a writer. It lacks loader, drain, key switching, control and the network that spreads the key.",
        "",
    ]
    rows = []
    for m, (lut, ff, dsp, sram, _, _) in PAPER.items():
        pe = modules.get(f"pe_m{m}") or total(modules, parts_of_pe(m))
        around = total(
            modules, {f"chunk_buffer_m{m}": PORTS[m], "axi_reader": PORTS[m] + 2, "axi_writer": 1}
        )
        p = elements(m)
        ours = [NONE] * 4
        if pe and around:
            whole = {u: p * pe[u] + around[u] for u in UNITS}
            ours = [
                f"{whole['LUT'] / 1000:,.0f} K",
                f"{whole['FF'] / 1000:,.0f} K",
                number(whole["DSP"]),
                f"{megabits(whole):,.0f} Mb",
            ]
        rows.append(
            [
                str(m),
                str(p),
                ours[0],
                f"{lut} K",
                ours[1],
                f"{ff} K",
                ours[2],
                number(dsp),
                ours[3],
                f"{sram} Mb",
            ]
        )
    text += table(["m", "P", "LUT", "paper", "FF", "paper", "DSP", "paper", "SRAM", "paper"], rows)

    return text + speed.lines()


def main() -> int:
    write_measured(ROOT / "docs" / "papers" / "fpga.md", "rtl/synth/page.py", lines())
    return 0


if __name__ == "__main__":
    sys.exit(main())
