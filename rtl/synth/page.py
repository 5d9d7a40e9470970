"""docs/papers/fpga.md: the tables, from the records of rtl/synth/run.py and from formulas of
rtl/README.md.

python3 rtl/synth/page.py
"""

# ruff: noqa: E501 (sentences of the page)
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(Path(__file__).resolve().parent)]

from common.records import RESULTS, read, table, write_measured  # noqa: E402

from run import CORES, DSPS_A_MULTIPLIER, MODULES, Core, modules_of, written  # noqa: E402

UNITS = ("LUT", "FF", "DSP", "BRAM36", "URAM")
MHZ = 180
# Table II: set, m, LUT and FF in thousands, DSP, Mb of SRAM, ms, bootstraps a second.
PAPER = {
    "m1": ("I", 1, 925, 729, 6240, 319, 7.53, 1993),
    "m2": ("I", 2, 842, 662, 7202, 338, 3.76, 3454),
    "m3": ("I", 3, 569, 448, 6640, 383, 2.51, 3188),
    "m4": ("I", 4, 442, 342, 6910, 409, 1.88, 2657),
    "set_2_m2": ("II", 2, 770, 602, 6446, 400, 9.56, 1150),
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
    return {
        "ntt": 2 * c.digits,
        "intt": 2,
        "decompose": 4 << c.log_b,
        "mac": 1,
        "accumulator": 1,
        "monomials": 1,
        "bku": 1,
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


# ---- the schedule, README sections 6 and 8


class Rate:
    """Cycles of a full batch in the steady state."""

    def __init__(self, c: Core) -> None:
        rows = 1 << (c.log_n - 1 - c.log_b)
        self.steps = -(-c.n_lwe // c.m)
        self.batch = c.pes * c.places
        self.step = max(c.places * rows, c.chunk_beats)
        self.rotation = self.steps * self.step
        groups = -(-(c.n_lwe + 1) // c.lanes)
        beats = -(-(c.n_lwe + 1) * 32 // c.ksk_bits)
        out = -(-(c.n_lwe + 1) * 32 // c.mem_bits)
        self.ks_rows = c.l_ks << c.log_n
        self.switching = self.ks_rows * max(4, self.batch * groups, beats)
        self.switching += 8 + self.batch * (out + 2 * groups)
        self.period = max(self.rotation, self.switching)
        self.a_second = self.batch * MHZ * 1e6 / self.period
        transform = 10 * c.log_n + rows - 1
        lat_wb = 2 * transform + (2 * c.digits - 1).bit_length() + 14
        alone = max(lat_wb + 1, c.chunk_beats)
        self.ms_alone = (self.steps * alone + self.ks_rows * max(4, groups, beats)) / MHZ / 1e3
        self.ms_full = (self.rotation + self.switching) / MHZ / 1e3
        key = c.bk_ports * c.chunk_beats * c.mem_bits / 8 * self.steps
        switch_key = self.ks_rows * beats * c.ksk_bits / 8
        self.gb_s = (key + switch_key) / self.period * MHZ / 1e3
        self.products = self.steps * rows * c.multipliers  # of a bootstrap
        self.busy = self.steps * c.places * rows / self.period


def of_modules() -> list[str]:
    text = [
        "## What modules take",
        "",
        "Each module alone and flat, with the parameters that the records name. LUT = logic + inverters before carry chains + memory and shift registers.",
        "*Levels* are cells on the longest path between registers, of which *carry* are pieces of four bits of a carry chain.",
        "Names without a suffix are of set (I), m = 1, or of all; the others of set (I) with that m, and of set (II) with m = 2.",
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
        "Flat, and as the sum of its modules: 2L `ntt`, 2 `intt`, 4 `decompose`, `mac`, `accumulator`, `monomials`, `bku`.",
        "The sum lacks the memory of exponents.",
        "",
    ]
    rows = []
    for name, c in CORES.items():
        flat = recorded(modules_of(c)["pe"])
        label = f"({PAPER[name][0]}), m = {c.m}"
        rows.append(
            [label, "flat", *([number(flat[u]) for u in UNITS] if flat else [NONE] + [""] * 4)]
        )
        rows.append([label, "sum", *cells(total(c, parts_of_pe(c)))])
    return text + table(["set", "", *UNITS], rows)


def whole() -> list[str]:
    text = [
        "## The whole, in the paper's budget",
        "",
        "P elements fill the DSPs of Table II. The whole is P elements (flat if there is a record, else the sum) and all that stands around them: chunk buffers",
        "and readers of the key's ports, readers of the two other ports, the writer, loader, drain, rounding, key switching, sequencer, control and registers.",
        "It lacks the 12 counters of 64 bits and the registers that a network would need which spreads the key over the chip.",
        "",
    ]
    rows, around_rows = [], []
    for name, (of, m, lut, ff, dsp, sram, _, _) in PAPER.items():
        c = CORES[name]
        flat = recorded(modules_of(c)["pe"])
        pe, missing = ({u: flat[u] for u in UNITS}, []) if flat else total(c, parts_of_pe(c))
        around, others = total(c, parts_around(c))
        around_rows.append([f"({of}), m = {m}", *cells((around, others))])
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
        rows.append([f"({of}), m = {m}", str(c.pes), *pairs])
    text += table(
        ["set", "P", "LUT", "paper", "FF", "paper", "DSP", "paper", "SRAM", "paper"], rows
    )
    text += ["All that stands around the elements, alone:", ""]
    return text + table(["set", *UNITS], around_rows)


def rates() -> list[str]:
    text = [
        "## Bootstraps a second and latency",
        "",
        f"By the formulas of `rtl/README.md`, sections 6 and 8, at the paper's {MHZ} MHz, which is not shown to close. A batch of P·K ciphertexts takes as long as its rotation or as its key",
        "switching, whichever is longer: they overlap. *In a full batch* is from the first slot to the end of the batch's key switching; *alone* is one ciphertext in the whole core.",
        "Loading, draining and the latency of memory come on top of latency.",
        "",
    ]
    rows, use = [], []
    for name, (of, m, _, _, dsp, _, ms, rate) in PAPER.items():
        c, r = CORES[name], Rate(CORES[name])
        slow = "rotation" if r.rotation >= r.switching else "key switching"
        rows.append(
            [
                f"({of}), m = {m}",
                str(c.pes),
                str(c.places),
                f"{r.rotation:,}",
                f"{r.switching:,}",
                slow,
                f"{r.a_second:,.0f}",
                number(rate),
                f"{r.a_second / rate:.1f}×",
                f"{r.ms_full:.2f}",
                f"{r.ms_alone:.2f}",
                str(ms),
                f"{r.gb_s:.1f}",
            ]
        )
        used = c.pes * DSPS_A_MULTIPLIER * c.multipliers / dsp
        low, high = (rate * r.products / (dsp / k * MHZ * 1e6) for k in (3, 4))
        use.append(
            [
                f"({of}), m = {m}",
                f"{used * 100:.0f} %",
                f"{r.busy * 100:.0f} %",
                f"{used * r.busy * 100:.0f} %",
                f"{low * 100:.0f} to {high * 100:.0f} %",
            ]
        )
    text += table(
        [
            "set",
            "P",
            "K",
            "cycles of a batch's rotation",
            "of its key switching",
            "slower",
            "a second",
            "paper",
            "",
            "ms in a full batch",
            "ms alone",
            "paper, ms",
            "GB/s of 77",
        ],
        rows,
    )
    text += [
        "## Multipliers that work",
        "",
        "While batches are full and K·N/2 > LAT_WB, every multiplier of a processing element has a product in every cycle of the rotation, except a pipeline's filling. It stands still only while",
        "key switching is behind. The paper's share is what its rate and its DSPs imply, with the products that this design needs for a bootstrap: the less for 3 DSPs a multiplier, as",
        "its text says, the more for 4.",
        "",
    ]
    return text + table(
        ["set", "of the paper's DSPs used", "cycles with a product", "both", "paper"], use
    )


# ---- others

# Whorl's own set W128_P64_RTL_M2 and …_M3: n = 684, N = 1024, L = 3, Bg = 2^6, key switching 7 digits of 2 bits.
OWN = {
    m: Core(10, 3, 6, m, 1, 3, 684, 512, ports, 1024, 704, l_ks=7) for m, ports in ((2, 3), (3, 6))
}
HPU_SECONDS, HPU_BATCH = 846.944e-6, 12
FPT_SECONDS = 35e-6


def others() -> list[str]:
    text = [
        "## Beside FPT and HPU at equal security",
        "",
        "FPT (Van Beirendonck et al., CCS 2023, arXiv 2211.13696) is a bootstrapping kernel in fixed-point FFTs for an Alveo U280: one bootstrap in 35 µs by its abstract. VeloFHE's table says N = 2^10",
        "and 80 bits of it ([velofhe.md](velofhe.md)). Key switching is not part of that figure. HPU (Zama) runs on an Alveo V80 at 350 MHz: 12 bootstraps with key switching in 846.9 µs, as `hpu-programmable-bootstrapping.md` of TFHE-rs",
        "has it, for N = 2048, k = 1, one digit of 2^23 modulo 2^64, p_fail = 2^-128, and 4 bits a message; n is about 840 (`parameters/v1_3/hpu.rs`). Both were measured. Whorl's rows are formulas at 180 MHz, in 7,202 DSPs, the paper's budget for",
        "m = 2, and in 8,600, which is 70 % of the chip. W128_P64_RTL_M2 and …_M3 have 131 bits and p_fail below 2^-100, with gates of 1 bit; set (I) has 95 bits by the library's estimate.",
        "",
    ]
    rows = [
        ["FPT", "80 (stated)", "no", "U280, measured", f"{1 / FPT_SECONDS:,.0f}", ""],
    ]
    set_1 = CORES["m2"]
    r = Rate(set_1)
    rotation = r.batch * MHZ * 1e6 / r.rotation
    rows.append(
        [
            f"Whorl, set (I), m = 2, P = {set_1.pes}",
            "95",
            "no",
            "VU13P, formula",
            f"{rotation:,.0f}",
            f"{rotation * r.products / 1e9:,.0f}",
        ]
    )
    rows.append(
        [
            f"Whorl, set (I), m = 2, P = {set_1.pes}",
            "95",
            "yes",
            "VU13P, formula",
            f"{r.a_second:,.0f}",
            f"{r.a_second * r.products / 1e9:,.0f}",
        ]
    )
    hpu = HPU_BATCH / HPU_SECONDS
    hpu_products = 840 * (4 * 1024 * 11 + 4 * 2048)
    rows.append(
        [
            "HPU",
            "128 (stated)",
            "yes",
            "V80, measured",
            f"{hpu:,.0f}",
            f"{hpu * hpu_products / 1e9:,.0f}, of 64 bits",
        ]
    )
    for m, one in OWN.items():
        for dsp in (7202, 8600):
            c = one.filled(dsp)
            r = Rate(c)
            rows.append(
                [
                    f"Whorl, W128_P64_RTL_M{m}, P = {c.pes}",
                    "131",
                    "yes",
                    f"VU13P, {dsp:,} DSPs, formula",
                    f"{r.a_second:,.0f}",
                    f"{r.a_second * r.products / 1e9:,.0f}",
                ]
            )
    text += table(
        [
            "",
            "bits",
            "key switching",
            "how",
            "bootstraps a second",
            "10^9 modular products a second",
        ],
        rows,
    )
    return [
        *text,
        "Modular products are those of transforms, MAC and bundles: for HPU n·(4·N/2·log2 N + 4·N), which takes as granted that it has no unrolling. They compare the work, not the messages: a message of HPU has 4 bits, one of the others 1 bit.",
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
    for name, (of, m, *_, rate) in PAPER.items():
        r = Rate(CORES[name])
        rows.append(
            [
                f"({of}), m = {m}",
                *(f"{w / r.a_second * 1e3:.1f}" for w in WATTS),
                f"{WATTS[-1] / rate * 1e3:.0f}",
            ]
        )
    return text + table(
        ["set", *(f"mJ a bootstrap at {w} W" for w in WATTS), "paper, at 250 W"], rows
    )


def main() -> int:
    sections = (of_modules, targets, elements, whole, rates, others, energy)
    lines = [line for section in sections for line in section()]
    write_measured(ROOT / "docs" / "papers" / "fpga.md", "rtl/synth/page.py", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
