"""docs/papers/fpga.md: bootstraps a second, latencies and multipliers that work, from records.

bench/results/rtl has them: explore (bench/rtl_explore.py), cycles (rtl/sim/cycles.py), model
(bench_rtl_model) and configurations (rtl/sim/configurations.py).
"""

# ruff: noqa: E501 (sentences of the page)
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "bench"),
    str(ROOT / "rtl" / "sim"),
    str(Path(__file__).resolve().parent),
]

import configurations  # noqa: E402
from common.records import RESULTS, Record, read  # noqa: E402
from common.tables import table  # noqa: E402
from package import MOST_BITS, MOST_PORTS, Design  # noqa: E402
from rtl_explore import by_case  # noqa: E402

FOLDER = RESULTS / "rtl"
# Table II: ms, bootstraps a second. Then what was wanted: bootstraps a second, at least and better.
WANTED = {
    ("fpga/I_M1", "table2_I_m1"): (7.53, 1993, 5500, 8900),
    ("fpga/I_M2", "table2_I_m2"): (3.76, 3454, 9000, 15300),
    ("fpga/I_M3", "table2_I_m3"): (2.51, 3188, 8500, 13900),
    ("fpga/I_M4", "table2_I_m4"): (1.88, 2657, 7000, 11500),
    ("fpga/II_M2", "table2_II_m2"): (9.56, 1150, 2500, 3900),
}
RANDOM = "random shapes"  # what records of rtl/sim/configurations.py name, beside sets
NAMES = {"fpga/I": "(I)", "fpga/II": "(II)"}


def in_words(name: str) -> str:
    head, _, m = name.rpartition("_M")
    return f"{NAMES[head]}, m = {m}" if head in NAMES else f"`{name}`"


def chosen(lines: list[Record], ms: float) -> Record:
    """The design with the highest rate of those with half of the paper's latency in a full batch,
    or, where there is none, with its latency. Of equal ones the one that comes soonest."""
    for most in (ms / 2, ms):
        soon = [line for line in lines if line["latency_full"] * 1e3 <= most]
        if soon:
            return min(soon, key=lambda line: (-round(line["median"], -1), line["latency_full"]))
    raise SystemExit(f"no design of {lines[0]['params']} answers within {ms} ms")


def designs() -> dict[tuple[str, str], Record]:
    """The design of each set and budget of Table II."""
    every = by_case(read(FOLDER / "explore.jsonl"))
    return {case: chosen(every[case], wanted[0]) for case, wanted in WANTED.items()}


def more_designs() -> dict[tuple[str, str], Record]:
    """Without a counterpart in the paper. On a VU13P the fastest; with HBM chosen as in its budget,
    by the paper's latency for the set."""
    limits = {name: wanted[0] for (name, _), wanted in WANTED.items()}
    found = {}
    for case, lines in by_case(read(FOLDER / "explore.jsonl")).items():
        name, chip = case
        if chip == "vu13p":
            found[case] = fastest(lines)
        elif chip == "hbm":
            found[case] = chosen(lines, limits[name])
    return found


def fastest(lines: list[Record]) -> Record:
    return max((line for line in lines if line["front"]), key=lambda line: line["median"])


def shape_cells(line: Record) -> list[str]:
    d = line["design"]
    rows = "all" if d["ksk_rows"] >= d["L_ks"] << d["log_N"] else str(d["ksk_rows"])
    return [
        str(d["pes"]),
        str(1 << d["log_b"]),
        str(d["K"]),
        f"{d['bk_ports']} × {d['mem_bits']}",
        f"{d['ksk_bits']}, {d['ks_lanes']}, {rows}",
    ]


def figures(line: Record) -> list[str]:
    return [
        f"{line['median']:,.0f}",
        f"{line['latency_full'] * 1e3:.2f}",
        f"{line['latency'] * 1e3:.2f}",
    ]


SHAPE = ["P", "b", "K", "key ports", "ksk: bits, lanes, rows"]


def speed() -> list[str]:
    text = [
        "## Bootstraps a second and latency",
        "",
        "The model counts these cycles. It counts as the simulated core does, as far as the two were compared ([below](#whole-bootstraps-in-simulation)). The clock is the paper's 180 MHz, which is not shown to close. `whorl rtl explore` found the designs; here are the "
        "fastest of those with half of the paper's latency in a full batch, and for m = 4, where there is none, with its latency. Memory gives 77 GB/s to all ports together, after 40 cycles. *Full batch*: every place has a ciphertext; *alone*: one in the whole core. Both are from the "
        "start to the last answer of the memory, with loading, reading both keys, draining and key switching. Key switching has 8 digits of 2 bits, which the paper does not state.",
        "",
    ]
    rows = []
    for case, line in designs().items():
        ms, rate, least, aim = WANTED[case]
        rate_said = f"{line['median'] / rate:.1f}× {rate:,}"
        rows.append(
            [
                in_words(case[0]),
                *shape_cells(line),
                figures(line)[0],
                rate_said,
                f"{least:,} / {aim:,}",
                *figures(line)[1:],
                str(ms),
                f"{line['gb_s']:.1f}",
                line["limit"],
                line["commit"],
            ]
        )
    head = ["set", *SHAPE, "a second", "paper", "wanted: at least / better", "ms, full batch"]
    head += ["ms alone", "paper, ms", "GB/s of 77", "limit", "record `rtl/explore`"]
    text += table(head, rows)
    return [
        *text,
        *one_pass(),
        "![Designs of set (I)](../plots/rtl-designs.svg)",
        "",
        *own(),
        *hbm(),
    ]


def one_pass() -> list[str]:
    """Why a design does not have half of the paper's latency: its keys alone take longer."""
    text = []
    for (name, chip), line in designs().items():
        d, ms = Design(**line["design"]), WANTED[name, chip][0]
        # Bytes without what ports pad.
        keys = d.steps * d.sets * 4 * d.L * 33 * (1 << d.log_N) // 8, d.all_ksk_rows * (d.n + 1) * 4
        least = sum(keys) / line["budget_gb_s"] / 1e6
        if least > ms / 2:
            text += [
                f"With {line['budget_gb_s']} GB/s, {in_words(name)} cannot have half of the paper's latency, {ms / 2} ms: one pass over its keys, {keys[0] / 1e6:.1f} MB and {keys[1] / 1e6:.1f} MB, takes {least:.2f} ms.",
                "",
            ]
    return text


def own() -> list[str]:
    rows = []
    for (name, chip), line in more_designs().items():
        if chip == "vu13p":
            shown = [*figures(line), f"{line['dsp']:,}", f"{line['gb_s']:.1f}", line["limit"]]
            rows.append([in_words(name), *shape_cells(line), *shown, line["commit"]])
    head = ["set", *SHAPE, "a second", "ms, full batch", "ms alone", "DSP", "GB/s of 77", "limit"]
    return [
        "These have no counterpart in the paper: the fastest designs of Whorl's own sets, with 128 bits, on a VU13P of which 8,600 DSP slices can be used.",
        "",
        *table([*head, "record `rtl/explore`"], rows),
    ]


def hbm() -> list[str]:
    every = by_case(read(FOLDER / "explore.jsonl"))
    limits = {name: wanted[0] for (name, _), wanted in WANTED.items()}
    shown = {case: line for case, line in more_designs().items() if case[1] == "hbm"}
    any_line = next(iter(shown.values()))
    gb_s, mhz = any_line["budget_gb_s"], any_line["mhz"]
    port = MOST_BITS // 8 * mhz * 1e6 / 1e9
    most = MOST_PORTS * port
    board = next(iter(designs().values()))["budget_gb_s"]
    beyond = [in_words(name) for (name, _), line in shown.items() if line["gb_s"] > board]
    used = f"More than the {board} GB/s of the paper's board {'go' if beyond else 'do not go'} to"
    used += f" {' and to '.join(beyond)}." if beyond else " any of these designs."
    text = [
        "### A card with HBM",
        "",
        f"The same logic, {any_line['budget_dsp']:,} DSP slices, and {gb_s} GB/s. The designs are chosen as above: the fastest with half of the paper's latency in a full batch or, where there is none, with its latency. "
        f"One core cannot use all of this bandwidth. It fetches the bootstrapping key once for all of its elements, through at most {MOST_PORTS} ports of {MOST_BITS} bits with a beat a cycle: {most:.0f} GB/s at {mhz} MHz. {used} "
        "More would need more ports, a faster clock, or a second core, which would fetch the same key again.",
        "",
    ]
    rows = []
    for case, line in shown.items():
        ms = limits[case[0]]
        verdict = "half of it" if line["latency_full"] * 1e3 <= ms / 2 else "held"
        rows.append(
            [
                in_words(case[0]),
                *shape_cells(line),
                *figures(line),
                f"{ms}: {verdict}",
                f"{line['dsp']:,}",
                f"{line['gb_s']:.1f}",
                f"{100 * line['gb_s'] / gb_s:.0f} %",
                line["limit"],
                line["commit"],
            ]
        )
    head = ["set", *SHAPE, "a second", "ms, full batch", "ms alone", "paper, ms", "DSP", "GB/s"]
    text += table([*head, f"of {gb_s} GB/s", "limit", "record `rtl/explore`"], rows)
    rates = []
    for case in shown:
        top = fastest(every[case])
        rates.append(
            f"{in_words(case[0])}: {top['median']:,.0f} a second, {top['latency_full'] * 1e3:.2f} ms, {top['gb_s']:.1f} GB/s"
        )
    d = Design(**any_line["design"])
    ksk = d.all_ksk_rows * d.ksk_row_beats
    return [
        *text,
        f"The highest rates of this logic need no HBM, and answer later ({'; '.join(rates)}). "
        f"None of them answers before {ksk / mhz / 1e3:.2f} ms: the key-switching key, {ksk * d.ksk_bits / 8e6:.1f} MB, comes once a run through one port of {d.ksk_bits} bits, {d.ksk_bits // 8 * mhz / 1e3:.1f} GB/s.",
        "",
    ]


def at_work() -> list[str]:
    text = [
        "## Multipliers that work",
        "",
        "A slot sends N/2b rows through an element, and each row is one product of every multiplier in it: of the stages, of the bundle, of the products with it. The core counts slots and elements (PE_SLOTS); the part of the "
        "multipliers' cycles that had a product follows. *Simulated core*: one element, two batches, with loading, reading the keys and the last key switching. "
        "*Design above*: between four batches and eight. *Of the budget*: of all multipliers that the paper's DSPs would make. The paper's is what its rate and its DSPs imply, with the products that this design needs for a bootstrap: the less for 3 DSPs a multiplier, as its text says, the more for 4.",
        "",
    ]
    # The longest run without stalls.
    counted: dict[str, Record] = {}
    for line in read(FOLDER / "cycles.jsonl"):
        before = counted.get(line["params"])
        if line["stalls_percent"] == 0 and (before is None or line["batch"] >= before["batch"]):
            counted[line["params"]] = line
    rows = []
    for case, line in designs().items():
        _, rate, _, _ = WANTED[case]
        name, budget = case[0], line["budget_dsp"]
        simulated = counted.get(name)
        design = line["design"]
        b, log_n = 1 << design["log_b"], design["log_N"]
        multipliers = b * (log_n * (2 * design["L"] + 2) + (8 * design["L"] << design["M"]))
        steps = -(-design["n"] // design["M"])
        products = steps * multipliers * ((1 << log_n) // (2 * b))
        said = [
            f"{rate * products * dsp / (budget * line['mhz'] * 1e6) * 100:.0f}" for dsp in (3, 4)
        ]
        used = line["utilisation"] * line["dsp"] / budget
        rows.append(
            [
                in_words(name),
                f"{100 * simulated['multipliers_busy']:.1f} %" if simulated else "not simulated",
                simulated["commit"] if simulated else "",
                f"{100 * line['utilisation']:.1f} %",
                f"{100 * used:.0f} %",
                f"{said[0]} to {said[1]} %",
            ]
        )
    head = ["set", "simulated core", "record `rtl/cycles`", "design above, by the model"]
    return text + table([*head, "of the budget", "paper, of the budget"], rows)


def simulated() -> list[str]:
    text = [
        "## Whole bootstraps in simulation",
        "",
        "The core by Verilator with one element, every byte of the results compared with plain arithmetic. *Stalls*: of a hundred cycles, in how many a channel of the memory stands still. Seconds are of one CPU thread, for one bootstrap.",
        "",
    ]
    runs: dict[tuple[str, int, int], Record] = {}
    for line in read(FOLDER / "cycles.jsonl"):
        runs[line["params"], line["stalls_percent"], line["batch"]] = line
    rows = []
    for (name, stalls, count), line in sorted(runs.items()):
        c = line["counters"]
        rows.append(
            [
                in_words(name),
                str(count),
                f"{stalls} %",
                f"{c['CYCLES']:,}",
                f"{line['median']:,.0f}",
                *(f"{c[key]:,}" for key in ("WAIT_KEY", "WAIT_ACC", "WAIT_LOAD")),
                f"{100 * line['multipliers_busy']:.0f} %",
                f"{line['cpu_seconds']:.1f}",
                line["commit"],
            ]
        )
    head = ["set", "ciphertexts", "stalls", "cycles", "for one", "WAIT_KEY", "WAIT_ACC"]
    head += ["WAIT_LOAD", "multipliers busy", "s for one", "record `rtl/cycles`"]
    text += table(head, rows)
    text += compared()
    rates: dict[str, Record] = {line["params"]: line for line in read(FOLDER / "model.jsonl")}
    rows = [
        [
            in_words(name),
            f"{line['median']:,.0f}",
            f"{line['rate_with_counters']:,.0f}",
            line["commit"],
        ]
        for name, line in sorted(rates.items())
    ]
    text += [
        "The model's own speed on one CPU thread (`bench_rtl_model`), in bootstraps a second:",
        "",
    ]
    return text + table(["set", "results", "results and counters", "record `rtl/model`"], rows)


def compared() -> list[str]:
    """What records say of the model's counters against the simulated core's, and how far."""
    counts: dict[str, list[int]] = {}
    for line in read(FOLDER / "configurations.jsonl"):
        if line["op"] == "model_against_core":
            sums = counts.setdefault(line["params"], [0, 0, 0])
            for place, key in enumerate(("shapes", "runs", "median")):
                sums[place] += int(line[key])
    if not counts:
        return ["The model's counters were not compared with the simulated core's.", ""]
    wrong = sum(sums[2] for sums in counts.values())
    verdict = "The model counts as the core does, as far as they were compared."
    but = ""
    if wrong:
        verdict = f"The model differs from the core in {wrong} shape{'s' * (wrong > 1)}."
        but = ", but for those shapes"
    text = [
        f"**{verdict}** These runs had random memories, late beats, modes and counts; results and all counters are equal{but} "
        "(`rtl/sim/configurations.py`, record `rtl/configurations`):",
        "",
    ]
    c = configurations
    bounds = f"N ≤ {1 << c.MOST_LOG_N}, n ≤ {c.MOST_N}, at most {c.MOST_PES} elements and {c.MOST_MULTIPLIERS} multipliers"
    sets = sorted(name for name in counts if name != RANDOM)
    if RANDOM in counts:
        shapes, runs, _ = counts[RANDOM]
        text.append(f"- {shapes:,} random shapes, {runs:,} runs: small ones, {bounds}.")
    for name in sets:
        shape = c.sets()[name]
        size = f"N = {1 << shape['LOG_N']}, n up to {shape['MAX_N_LWE']}"
        elements = f"{shape['PES']} element{'s' * (shape['PES'] > 1)}"
        text.append(
            f"- {name[0].upper()}{name[1:]}, at full size, {size}, {elements} with b = {1 << shape['LOG_B']}: {counts[name][1]:,} runs."
        )
    rest = "The designs above are larger than these shapes: that the model counts as the core does for them is not shown by these runs."
    if sets:
        rest = "The designs above have more elements or lanes than these shapes: that the model counts as the core does for them as a whole is not shown by these runs."
    return [*text, "", rest, ""]


def lines() -> list[str]:
    return [*speed(), *at_work(), *simulated()]
