"""docs/papers/fpga.md: the tables, from the records of rtl/synth/run.py; speed.py has those of speed.

python3 rtl/synth/page.py
"""

# ruff: noqa: E501 (sentences of the page)
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(Path(__file__).resolve().parent)]

import speed  # noqa: E402
from common.records import RESULTS, read, table, write_measured  # noqa: E402
from rtl_explore import latest  # noqa: E402

from run import CORES, MODULES, Core, modules_of, written  # noqa: E402

UNITS = ("LUT", "FF", "DSP", "BRAM36", "URAM")
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
Resources = dict[str, float]


def load() -> dict[tuple[str, str], dict[str, Any]]:
    """The last record of each module, by its name and parameters, with all units."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in read(RESULTS / "synthesis" / "modules.jsonl"):
        entry = found.setdefault((line["op"], line["params"]), {})
        entry[line["unit"]] = line["median"]
        if line["unit"] == "LUT":
            entry["record"] = line
    return found


RECORDS = load()


def recorded(module: tuple[str, dict[str, int]]) -> dict[str, Any] | None:
    return RECORDS.get((module[0], written(*module)))


def number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def total(c: Core, parts: dict[str, int]) -> tuple[Resources, list[str]]:
    """Of a core's modules, so many of each; and those without a record."""
    modules = modules_of(c)
    sums = dict.fromkeys(UNITS, 0.0)
    missing = []
    for name, times in parts.items():
        entry = recorded(modules[name])
        if entry is None:
            missing.append(name)
            continue
        for unit in UNITS:
            sums[unit] += times * entry[unit]
    return sums, missing


def parts_of_pe(c: Core) -> dict[str, int]:
    b = 1 << c.log_b
    return {
        "ntt": 2 * c.L,
        "intt": 2,
        "decompose": 4 * b,
        "mac": b,
        "accumulator": 1,
        "monomials": 1,
        "bku": b,
    }


def parts_around(c: Core) -> dict[str, int]:
    return {
        "chunk_buffer": c.bk_ports,
        "axi_reader": c.bk_ports + 1,
        "axi_reader_ksk": 1,
        "axi_writer": 1,
        "loader": 1,
        "drain": 1,
        "mod_switch": 1,
        "key_switch": 1,
        "word_beats": 1,
        "sequencer": 1,
        "control": 1,
        "registers": 1,
    }


def cells(has: tuple[Resources, list[str]]) -> list[str]:
    sums, missing = has
    if missing:
        return ["without " + ", ".join(missing)] + [""] * (len(UNITS) - 1)
    return [number(sums[u]) for u in UNITS]


def in_words(name: str) -> str:
    return speed.in_words(f"fpga/{name}")


def of_modules() -> list[str]:
    text = [
        "## What modules take",
        "",
        "Each module alone and flat, with the parameters that the records name. LUT = logic + inverters before carry chains + memory and shift registers.",
        "*Levels* are cells on the longest path between registers, of which *carry* are pieces of four bits of a carry chain.",
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
        "Flat, and as the sum of its modules: 2L `ntt`, 2 `intt`, 4b `decompose`, b times `mac` and `bku`, `accumulator`, `monomials`. They are those of the designs below.",
        "The sum lacks the memory of exponents.",
        "",
    ]
    rows = []
    for name, c in CORES.items():
        flat = recorded(modules_of(c)["pe"])
        label = [in_words(name), str(1 << c.log_b)]
        rows.append(
            [*label, "flat", *([number(flat[u]) for u in UNITS] if flat else [NONE] + [""] * 4)]
        )
        rows.append([*label, "sum", *cells(total(c, parts_of_pe(c)))])
    return text + table(["set", "b", "", *UNITS], rows)


def whole() -> list[str]:
    text = [
        "## The whole, in the paper's budget",
        "",
        "These are the designs of the next table. The whole is P elements (flat if there is a record, else the sum) and all that stands around them: chunk buffers and readers of the key's ports, readers of the two other ports,",
        "the writer, loader, drain, rounding, key switching, sequencer, control and registers. It lacks the 12 counters of 64 bits and the registers that a network would need which spreads the key over the chip.",
        "",
    ]
    rows, around_rows = [], []
    for name, (lut, ff, dsp, sram, _) in PAPER.items():
        c = CORES[name]
        flat = recorded(modules_of(c)["pe"])
        pe, missing = ({u: flat[u] for u in UNITS}, []) if flat else total(c, parts_of_pe(c))
        around, others = total(c, parts_around(c))
        around_rows.append([in_words(name), *cells((around, others))])
        if missing or others:
            ours = ["without " + ", ".join(missing + others)] + [""] * 3
        else:
            sums = {u: c.pes * pe[u] + around[u] for u in UNITS}
            ours = [
                f"{sums['LUT'] / 1000:,.0f} K",
                f"{sums['FF'] / 1000:,.0f} K",
                number(sums["DSP"]),
                f"{(sums['BRAM36'] * 36 + sums['URAM'] * 288) / 1024:,.0f} Mb",
            ]
        paper = [f"{lut} K", f"{ff} K", number(dsp), f"{sram} Mb"]
        pairs = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
        rows.append([in_words(name), str(c.pes), str(1 << c.log_b), *pairs])
    text += table(
        ["set", "P", "b", "LUT", "paper", "FF", "paper", "DSP", "paper", "SRAM", "paper"], rows
    )
    text += ["All that stands around the elements, alone:", ""]
    return text + table(["set", *UNITS], around_rows)


HPU_SECONDS, HPU_BATCH, HPU_N = 846.944e-6, 12, 840
FPT_SECONDS = 35e-6
# Sets and chips that stand beside them.
BESIDE = {
    ("fpga/I_M2", "table2_I_m2"): "7,202 DSPs",
    ("W128_P64_RTL_M2", "vu13p"): "8,600 DSPs",
    ("W128_P64_RTL_M3", "vu13p"): "8,600 DSPs",
}


def others() -> list[str]:
    text = [
        "## Beside FPT and HPU at equal security",
        "",
        "FPT (Van Beirendonck et al., CCS 2023, arXiv 2211.13696) is a bootstrapping kernel in fixed-point FFTs for an Alveo U280: one bootstrap in 35 µs by its abstract, which we take to be without key switching. VeloFHE's table says N = 2^10",
        "and 80 bits of it ([velofhe.md](velofhe.md)), Xiao et al. say 128 bits and a failure probability of 2^-25 ([xiao.md](xiao.md)). HPU (Zama) runs on an Alveo V80 at 350 MHz: 12 bootstraps with key switching in 846.9 µs, as `hpu-programmable-bootstrapping.md` of TFHE-rs has it. Its sets",
        "(`parameters/v1_3/hpu.rs`) have N = 2048, k = 1, one digit of 2^23 modulo 2^64, 804 to 839 coefficients, and 4 bits a message. Both were measured. Whorl's rows are counted by the model at 180 MHz, on a VU13P with so many DSPs:",
        "set (I) in the paper's budget, and W128_P64_RTL_M2 and …_M3, gates of 1 bit with p_fail below 2^-100; their bits of security are by the library's estimate ([parameters.md](../parameters.md)).",
        "",
    ]
    rows = [["FPT", "80 or 128 (stated)", "no", "U280, measured", f"{1 / FPT_SECONDS:,.0f}", ""]]
    hpu = HPU_BATCH / HPU_SECONDS
    products = HPU_N * (4 * 1024 * 11 + 4 * 2048)
    rows.append(
        [
            "HPU",
            "128 (stated)",
            "yes",
            "V80, measured",
            f"{hpu:,.0f}",
            f"{hpu * products / 1e9:,.0f}, of 64 bits",
        ]
    )
    every = latest(read(RESULTS / "rtl" / "explore.jsonl"))
    for case, dsp in BESIDE.items():
        best = max(every[case], key=lambda line: line["median"])
        # Every multiplier has a product in a cycle of a slot.
        rate = best["utilisation"] * best["multipliers"] * best["mhz"] * 1e6
        rows.append(
            [
                f"Whorl, {speed.in_words(case[0])}",
                f"{best['security_bits']:.0f}",
                "yes",
                f"{dsp}, model, record `rtl/explore` {best['commit']}",
                f"{best['median']:,.0f}",
                f"{rate / 1e9:,.0f}, of 33 bits",
            ]
        )
    head = ["", "bits", "key switching", "how", "bootstraps a second"]
    text += table([*head, "10^9 modular products a second"], rows)
    return [
        *text,
        "Modular products are those of transforms, of products with the key, and of bundles; for HPU n·(4·N/2·log2 N + 4·N) with n = 840, as if it did not unroll. They compare the work, not the messages: a message of HPU has 4 bits, one of the others 1 bit.",
        "HPU's chip has a newer process, twice the clock, and HBM.",
        "",
    ]


WATTS = (125, 250)


def energy() -> list[str]:
    text = [
        "## Energy: an estimate",
        "",
        "Power is not computed from the design, and nothing here is measured. Energy a bootstrap is a power divided by the rate above. The paper gives 250 W for its board, by Xilinx Power Estimator; our core takes as many DSPs of the same chip at the same clock, so that",
        "this figure is taken for it, too. The other end of the range is the half of it: an estimator of this kind reckons with rates of toggling, not with data, and is commonly above what a board draws. The paper's multipliers work in a sixth of their cycles and ours in nearly all,",
        "which speaks for the upper end. Who has the vendor's tools gets a better figure from `power_routed.txt` of [rtl/vendor](../../rtl/vendor/README.md).",
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
