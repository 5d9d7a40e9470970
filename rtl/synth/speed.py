"""docs/papers/fpga.md: bootstraps a second, latencies and multipliers that work, from records.

bench/results/rtl has them: explore (bench/rtl_explore.py), cycles (rtl/sim/cycles.py), model
(bench_rtl_model) and configurations (rtl/sim/configurations.py).
"""

# ruff: noqa: E501 (sentences of the page)
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from common.records import RESULTS, Record, read, table  # noqa: E402
from rtl_explore import latest  # noqa: E402

FOLDER = RESULTS / "rtl"
# Table II: ms, bootstraps a second. Then what was wanted: bootstraps a second, at least and better.
WANTED = {
    ("fpga/I_M1", "table2_I_m1"): (7.53, 1993, 5500, 8900),
    ("fpga/I_M2", "table2_I_m2"): (3.76, 3454, 9000, 15300),
    ("fpga/I_M3", "table2_I_m3"): (2.51, 3188, 8500, 13900),
    ("fpga/I_M4", "table2_I_m4"): (1.88, 2657, 7000, 11500),
    ("fpga/II_M2", "table2_II_m2"): (9.56, 1150, 2500, 3900),
}
OTHERS = {
    "vu13p": "a VU13P with 8,600 DSP slices, 77 GB/s",
    "hbm": "the same logic with HBM, 460 GB/s",
}
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
    every = latest(read(FOLDER / "explore.jsonl"))
    return {case: chosen(every[case], wanted[0]) for case, wanted in WANTED.items()}


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
        "The model counts these cycles, and it counts as the simulated core does (below). The clock is the paper's 180 MHz, which is not shown to close. `whorl rtl explore` found the designs; here are the",
        "fastest of those with half of the paper's latency in a full batch, and for m = 4, where there is none, with its latency. Memory gives 77 GB/s to all ports together, after 40 cycles. *Full batch*: every place has a ciphertext; *alone*: one in the whole core. Both are from the",
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
    text += [
        "With 77 GB/s, set (I) at m = 4 cannot have half of the paper's latency, 0.94 ms: one pass over its keys, 63.4 MB and 16.8 MB, takes 1.04 ms.",
        "",
        "![Designs of set (I)](../plots/rtl-designs.svg)",
        "",
        "These have no counterpart in the paper: the sets of Whorl's own with 128 bits, and a card with HBM.",
        "",
    ]
    rows = []
    every = latest(read(FOLDER / "explore.jsonl"))
    for (name, chip), lines in every.items():
        if chip not in OTHERS:
            continue
        best = max((line for line in lines if line["front"]), key=lambda line: line["median"])
        rows.append(
            [
                in_words(name),
                OTHERS[chip],
                *shape_cells(best),
                *figures(best),
                f"{best['dsp']:,}",
                f"{best['gb_s']:.1f}",
                best["limit"],
                best["commit"],
            ]
        )
    head = ["set", "chip", *SHAPE, "a second", "ms, full batch", "ms alone", "DSP", "GB/s", "limit"]
    return text + table([*head, "record `rtl/explore`"], rows)


def at_work() -> list[str]:
    text = [
        "## Multipliers that work",
        "",
        "A slot sends N/2b rows through an element, and each row is one product of every multiplier in it: of the stages, of the bundle, of the products with it. The core counts slots and elements (PE_SLOTS); the part of the",
        "multipliers' cycles that had a product follows. *Simulated core*: one element, two batches, with loading, reading the keys and the last key switching.",
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
    checked = read(FOLDER / "configurations.jsonl")
    if checked:
        shapes, wrong, all_runs = (
            sum(int(line[key]) for line in checked) for key in ("shapes", "median", "runs")
        )
        text += [
            f"**The model counts as the core does.** {shapes} random shapes, {all_runs:,} runs with random memories, late beats, modes and counts: results and all counters are equal{f', but for {wrong} shapes' if wrong else ''}",
            "(`rtl/sim/configurations.py`, record `rtl/configurations`).",
            "",
        ]
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


def lines() -> list[str]:
    return [*speed(), *at_work(), *simulated()]
