"""docs/papers/fpga.md: the tables, from the records of rtl/synth/run.py; speed.py has those of speed.

python3 rtl/synth/page.py
"""

# ruff: noqa: E501 (sentences of the page)
from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(Path(__file__).resolve().parent)]

import speed  # noqa: E402
from common.records import RESULTS  # noqa: E402
from common.tables import table, write_measured  # noqa: E402
from package import SOURCES, modules  # noqa: E402

from run import CORES, MODULES  # noqa: E402

UNITS = modules.UNITS
# Table II: LUT and FF in thousands, DSP, Mb of SRAM, bootstraps a second.
PAPER = {
    "I_M1": (925, 729, 6240, 319, 1993),
    "I_M2": (842, 662, 7202, 338, 3454),
    "I_M3": (569, 448, 6640, 383, 3188),
    "I_M4": (442, 342, 6910, 409, 2657),
    "II_M2": (770, 602, 6446, 400, 1150),
}
TARGETS = {"mod_mul": {"DSP": 4, "LUT": 300}, "ntt": {"DSP": 40, "LUT": 5200}}
NONE = "not synthesised"
PART = "xcvu13p"
CHIP = json.loads((SOURCES / "_rtl" / "chips.json").read_text(encoding="utf-8"))["parts"][PART]
Resources = dict[str, float]
Module = tuple[str, dict[str, int]]
RECORDS = modules.read_records(RESULTS / "synthesis")


def recorded(module: Module) -> Resources | None:
    return modules.recorded(module, RECORDS)


def number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def without(missing: list[Module]) -> str:
    """What a sum lacks."""
    names = dict.fromkeys(top for top, _ in missing)
    return " without " + ", ".join(names) if names else ""


def cells(has: tuple[Resources, list[Module]]) -> list[str]:
    sums, missing = has
    if not any(sums.values()):
        return [NONE] + [""] * (len(UNITS) - 1)
    return [number(sums[UNITS[0]]) + without(missing), *(number(sums[u]) for u in UNITS[1:])]


def in_words(name: str) -> str:
    return speed.in_words(f"fpga/{name}")


def of_modules() -> list[str]:
    text = [
        "## What modules take",
        "",
        "Each module alone and flat, with the parameters that the records name. LUT = logic + inverters before carry chains + memory and shift registers. "
        "*Levels* are cells on the longest path between registers, of which *carry* are pieces of four bits of a carry chain. "
        "Modules with a suffix are those of a set and an m, others of set (I), m = 1, or of all. `mac` and `bku` are for one butterfly a stage; a core has b times their lanes, which do not depend on each other.",
        "",
    ]
    rows = []
    for name, module in MODULES.items():
        entry = recorded(module)
        if module[0] == "pe":
            continue
        if entry is None:
            rows.append([f"`{name}`", NONE] + [""] * 7)
            continue
        r = RECORDS[modules.written(module)]["LUT"]
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
    return text + table(["module", "LUT", "of these", *UNITS[1:], "levels (carry)", "record"], rows)


def targets() -> list[str]:
    rows = []
    for name, wanted in TARGETS.items():
        entry = recorded(MODULES[name])
        for unit, most in wanted.items():
            has = entry[unit] if entry else None
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
    return ["## Targets", "", *table(["module", "unit", "at most", "has", ""], rows)]


def elements() -> list[str]:
    text = [
        "## One processing element",
        "",
        "Flat, and as the sum of its modules: 2L `ntt`, 2 `intt`, 4b `decompose`, b times `mac` and `bku`, `accumulator`, `monomials`. They are those of the designs below. "
        "The sum lacks the memory of exponents.",
        "",
    ]
    rows = []
    for name, c in CORES.items():
        flat = recorded(modules.modules_of(c)["pe"])
        label = [in_words(name), str(1 << c.log_b)]
        rows.append(
            [*label, "flat", *([number(flat[u]) for u in UNITS] if flat else [NONE] + [""] * 4)]
        )
        rows.append([*label, "sum", *cells(modules.total(c, modules.parts_of_pe(c), RECORDS))])
    return text + table(["set", "b", "", *UNITS], rows)


@cache
def wholes() -> dict[str, tuple[Resources, list[Module]]]:
    """What the designs of Table II's budgets take, and their modules without records."""
    return {name: modules.logic(CORES[name], RECORDS) for name in PAPER}


def ratios(unit: str) -> dict[str, float]:
    """LUT or FF of our designs, in those of the paper's."""
    place = ("LUT", "FF").index(unit)
    return {name: wholes()[name][0][unit] / 1000 / PAPER[name][place] for name in PAPER}


def span(values: list[float], form: str) -> str:
    least, most = (format(f(values), form) for f in (min, max))
    return least if least == most else f"{least} to {most}"


def above(unit: str) -> str:
    """Which designs have more LUT or FF than the paper's, and how much of the chip they all are."""
    over = {name: ratio for name, ratio in ratios(unit).items() if ratio > 1}
    share = [100 * sums[unit] / CHIP[unit.lower()] for sums, _ in wholes().values()]
    chip = f"of the chip's {CHIP[unit.lower()] / 1000:,.0f} K they are {span(share, '.0f')} %"
    if not over:
        return f"{unit} are not above the paper's in any row; {chip}."
    names = " and ".join(in_words(name) for name in over)
    rows = "all rows" if len(over) == len(PAPER) else f"the rows of {names}"
    if len(over) > 1:
        times = f"{span(list(over.values()), '.1f')} times as many"
    else:
        times = f"{max(over.values()):.1f} times as many"
    return f"**{unit} are above the paper's in {rows}: {times}**; {chip}."


def whole() -> list[str]:
    text = [
        "## The whole, in the paper's budget of DSPs and memory",
        "",
        "These are the designs of the next table. The whole is P elements (flat if there is a record, else the sum) and all that stands around them: chunk buffers and readers of the key's ports, readers of the two other ports, "
        "the writer, loader, drain, rounding, key switching, sequencer, control and registers. It lacks the 12 counters of 64 bits and the registers that a network would need which spreads the key over the chip.",
        "",
    ]
    rows, around_rows = [], []
    for name, (lut, ff, dsp, sram, _) in PAPER.items():
        c = CORES[name]
        sums, missing = wholes()[name]
        around_rows.append(
            [in_words(name), *cells(modules.total(c, modules.parts_around(c), RECORDS))]
        )
        ours = [
            f"{sums['LUT'] / 1000:,.0f} K",
            f"{sums['FF'] / 1000:,.0f} K",
            number(sums["DSP"]),
            f"{(sums['BRAM36'] * 36 + sums['URAM'] * 288) / 1024:,.0f} Mb",
        ]
        paper = [f"{lut} K", f"{ff} K", number(dsp), f"{sram} Mb"]
        pairs = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
        of = [f"{ratios(unit)[name]:.1f}×" for unit in ("LUT", "FF")]
        lacks = without(missing).removeprefix(" without ") or "nothing"
        rows.append([in_words(name), str(c.pes), str(1 << c.log_b), *pairs, *of, lacks])
    head = ["set", "P", "b", "LUT", "paper", "FF", "paper", "DSP", "paper", "SRAM", "paper"]
    text += table([*head, "LUT: ours / paper", "FF: ours / paper", "lacks"], rows)
    said = "The designs were chosen within the paper's DSPs, memory and bandwidth, and not within its LUT and FF."
    said += f" {above('LUT')} {above('FF')} The chip's are those of {CHIP['source']}."
    if without([module for _, missing in wholes().values() for module in missing]):
        said += " Rows that lack modules take more LUT, FF and memories than they say. Lanes of key switching take no DSP: LUT and FF are what they cost."
    text += [said, "", "All that stands around the elements, alone:", ""]
    return text + table(["set", *UNITS], around_rows)


HPU_SECONDS, HPU_BATCH, HPU_N = 846.944e-6, 12, 840
FPT_SECONDS = 35e-6
SECURITY = 128  # bits, of those that stand beside ours
# Designs of the tables of speed that stand beside them: set and chip.
BESIDE = [
    ("fpga/I_M2", "table2_I_m2"),
    ("W128_P64_RTL_M2", "vu13p"),
    ("W128_P64_RTL_M3", "vu13p"),
]


def others() -> list[str]:
    text = [
        "## Beside FPT and HPU at equal security",
        "",
        "FPT (Van Beirendonck et al., CCS 2023, arXiv 2211.13696) is a bootstrapping kernel in fixed-point FFTs for an Alveo U280: one bootstrap in 35 µs by its abstract, which we take to be without key switching. VeloFHE's table says N = 2^10 "
        "and 80 bits of it ([velofhe.md](velofhe.md)), Xiao et al. say 128 bits and a failure probability of 2^-25 ([xiao.md](xiao.md)). HPU (Zama) runs on an Alveo V80 at 350 MHz: 12 bootstraps with key switching in 846.9 µs, as `hpu-programmable-bootstrapping.md` of TFHE-rs has it. Its sets "
        "(`parameters/v1_3/hpu.rs`) have N = 2048, k = 1, one digit of 2^23 modulo 2^64, 804 to 839 coefficients, and 4 bits a message. Both were measured. Whorl's rows are counted by the model at 180 MHz, on a VU13P with so many DSPs, for the designs of the tables above: "
        "set (I) in the paper's budget, and W128_P64_RTL_M2 and …_M3, gates of 1 bit with p_fail below 2^-100; their bits of security are by the library's estimate ([parameters.md](../parameters.md)).",
        "",
    ]
    rows = [
        [
            "FPT",
            f"80 or {SECURITY} (stated): equal only if {SECURITY}",
            "no",
            "U280, measured",
            f"{1 / FPT_SECONDS:,.0f}",
            "",
            "",
        ]
    ]
    hpu = HPU_BATCH / HPU_SECONDS
    products = HPU_N * (4 * 1024 * 11 + 4 * 2048)
    rows.append(
        [
            "HPU",
            f"{SECURITY} (stated)",
            "yes",
            "V80, measured",
            f"{hpu:,.0f}",
            f"{HPU_SECONDS * 1e3:.2f}",
            f"{hpu * products / 1e9:,.0f}, of 64 bits",
        ]
    )
    shown = speed.designs() | speed.more_designs()
    for case in BESIDE:
        line = shown[case]
        # Every multiplier has a product in a cycle of a slot.
        rate = line["utilisation"] * line["multipliers"] * line["mhz"] * 1e6
        bits = line["security_bits"]
        equal = "" if bits >= SECURITY else ": **less, not at equal security**"
        rows.append(
            [
                f"Whorl, {speed.in_words(case[0])}",
                f"{bits:.0f}{equal}",
                "yes",
                f"{line['dsp']:,} of {line['budget_dsp']:,} DSPs, model, record `rtl/explore` {line['commit']}",
                *speed.figures(line)[:2],
                f"{rate / 1e9:,.0f}, of 33 bits",
            ]
        )
    head = ["", "bits", "key switching", "how", "bootstraps a second", "ms, full batch"]
    text += table([*head, "10^9 modular products a second"], rows)
    return [
        *text,
        "Modular products are those of transforms, of products with the key, and of bundles; for HPU n·(4·N/2·log2 N + 4·N) with n = 840, as if it did not unroll. They compare the work, not the messages: a message of HPU has 4 bits, one of the others 1 bit. "
        "HPU's chip has a newer process, twice the clock, and HBM.",
        "",
    ]


WATTS = (125, 250)


def energy() -> list[str]:
    lacking = without([module for _, missing in wholes().values() for module in missing])
    least = f" (some sums are{lacking})" if lacking else ""
    text = [
        "## Energy: an estimate",
        "",
        "Power is not computed from the design, and nothing here is measured. Energy a bootstrap is a power divided by the rate above. The paper gives 250 W for its board, by Xilinx Power Estimator; our core takes as many DSPs of the same chip at the same clock, so that "
        "this figure is taken for it, too. The other end of the range is the half of it: an estimator of this kind reckons with rates of toggling, not with data, and is commonly above what a board draws. "
        f"**250 W is no bound: our core may take more.** It has {span(list(ratios('FF').values()), '.1f')} times the paper's FF and {span(list(ratios('LUT').values()), '.1f')} times its LUT{least}, and its multipliers work in nearly all cycles, the paper's in a sixth of them. Each of these raises the power at the same clock. "
        "Who has the vendor's tools gets a better figure from `power_routed.txt` of [rtl/vendor](../../rtl/vendor/README.md).",
        "",
    ]
    rows = []
    for (name, line), (*_, paper) in zip(speed.designs().items(), PAPER.values(), strict=True):
        rows.append(
            [
                speed.in_words(name[0]),
                *(f"{w / line['median'] * 1e3:.1f}" for w in WATTS),
                f"{WATTS[-1] / paper * 1e3:.0f}",
            ]
        )
    return text + table(
        ["set", *(f"mJ a bootstrap at {w} W" for w in WATTS), "paper, at 250 W"], rows
    )


def lines() -> list[str]:
    sections = (of_modules, targets, elements, whole, speed.lines, others, energy)
    return [line for section in sections for line in section()]


def main() -> int:
    write_measured(ROOT / "docs" / "papers" / "fpga.md", "rtl/synth/page.py", lines())
    return 0


if __name__ == "__main__":
    sys.exit(main())
