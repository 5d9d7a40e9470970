"""Tables and plots of docs/gpu.md from the records that bench_gpu wrote.

.venv/bin/python bench/plots.py [--device h200]

Reads bench/results/DEVICE/gpu.jsonl (and DEVICEx2/gpu.jsonl, if there), writes docs/plots/*.svg and
the part of docs/gpu.md between its markers. Of several records of one thing the last counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from common.records import RESULTS, ROOT, Record, read, table, write_measured

# Xiao et al., TCHES 2025, Table 5: milliseconds a ciphertext, batch 16384.
XIAO_TABLE_5 = {
    "xiao/STD128": ("EvalBinGate (NAND)", 153, 4.3, 0.23, 0.04),
    "xiao/EVALFUNC": ("EvalFunc", 1037, 28.5, 1.59, 0.23),
}
# VeloFHE, Table 4, rows TFHE: milliseconds on 48 CPU threads, operations/s on A100 and RTX 4090.
VELOFHE_TABLE_4 = {
    "velofhe/GD_I": ("TFHE GD-I", 35.14, 7190, 11378),
    "velofhe/GD_II": ("TFHE GD-II", 86.59, 2686, 3249),
}
# VeloFHE, Table 3: microseconds a transform on an A100, 64-bit words, by (log2 N, batch);
# theirs forward and inverse.
VELOFHE_TABLE_3 = {
    (10, 1): (12.0, 12.1),
    (10, 1024): (0.061, 0.059),
    (10, 8192): (0.049, 0.049),
    (11, 1): (15.6, 16.0),
    (11, 1024): (0.090, 0.090),
    (12, 1): (17.9, 19.8),
    (12, 1024): (0.117, 0.129),
}
BASES = {"xiao/EVALFUNC": "2^27", "xiao/RELU": "2^18", "xiao/DECISION_TREE": "2^9"}


def load(path: Path) -> list[Record]:
    """The last record of each thing, in the order of first appearance."""
    latest: dict[tuple[Any, ...], Record] = {}
    for record in read(path):
        members = ("op", "params", "batch", "transfers", "transform", "way", "device_count")
        latest[tuple(record.get(name) for name in members)] = record
    return list(latest.values())


def pick(records: Iterable[Record], **wanted: Any) -> Record | None:
    """The first record with these members; a member wanted to be None must be absent."""
    for record in records:
        if all(record.get(name) == value for name, value in wanted.items()):
            return record
    return None


def rate(record: Record) -> float:
    """Operations a second."""
    median: float = record["median"]
    return median if record["unit"] == "1/s" else record["batch"] / median


def in_words(record: Record) -> str:
    if record["unit"] == "bytes":
        return f"{record['median'] / 1e6:,.0f} MB"
    if record["unit"] == "s":
        return f"{1000 * record['median']:.3g} ms"
    return f"{record['median']:,.0f}/s"


def spread(record: Record) -> str:
    edges = (in_words({**record, "median": record[name]}) for name in ("min", "max"))
    return " … ".join(edges)


def overview(records: list[Record]) -> list[str]:
    """Everything but the NTTs and the curves of Figure 5, transfers included and excluded."""
    rows = []
    for record in records:
        if record["op"] in ("ntt", "intt", "memory") or "way" in record:
            continue
        if record["transfers"] != "included":
            continue
        names = ("op", "params", "batch", "transform", "device_count")
        same = {name: record.get(name) for name in names}
        bare = pick(records, **same, way=None, transfers="excluded")
        peer = f"{record['peer']}: {record['ratio']:.2f}×" if record.get("peer") else ""
        rows.append(
            [
                record["op"],
                f"`{record['params']}`",
                record.get("transform", ""),
                str(record["device_count"]),
                f"{record['batch']:,}",
                in_words(record),
                spread(record),
                in_words(bare) if bare else "",
                f"{record['security_bits']:.0f}",
                f"2^{record['pfail_log2']:.0f}",
                peer,
            ]
        )
    head = ["what", "set", "transform", "GPUs", "batch", "transfers included", "least … most"]
    head += ["excluded", "bits", "fails", "against"]
    return table(head, rows)


def memory(records: list[Record]) -> list[str]:
    record = pick(records, op="memory")
    if not record:
        return []
    keys = record["key_bytes"] / 1e6
    return [
        f"A server of `{record['params']}` takes {in_words(record)} of the GPU's memory, of which "
        f"its keys are {keys:,.0f} MB.",
        "",
    ]


def xiao_table_5(records: list[Record]) -> list[str]:
    rows = []
    for params, (name, one, many, gpu, gpus) in XIAO_TABLE_5.items():
        ours = pick(records, params=params, batch=16384, transfers="included", way=None)
        if ours:
            milliseconds = 1000 / rate(ours)
            rows.append(
                [
                    name,
                    f"`{params}`",
                    *(str(x) for x in (one, many, gpu, gpus)),
                    f"{milliseconds:.4f}",
                    f"{gpu / milliseconds:.1f}×",
                ]
            )
    if not rows:
        return []
    device = records[0]["device"]
    return [
        "### Xiao et al., TCHES 2025, Table 5",
        "",
        "Milliseconds a ciphertext, batch 16,384, transfers included. Theirs: Threadripper 3970X "
        f"and RTX 4090; ours: one {device}.",
        "",
        *table(
            ["", "set", "1 thread", "64 threads", "1 GPU", "8 GPUs", "Whorl, 1 GPU", "to 1 GPU"],
            rows,
        ),
    ]


def velofhe_table_4(records: list[Record]) -> list[str]:
    rows = []
    for params, (name, cpu, a100, rtx) in VELOFHE_TABLE_4.items():
        ours = pick(records, params=params, batch=16384, transfers="included", way=None)
        if ours:
            rows.append(
                [
                    name,
                    f"`{params}`",
                    str(cpu),
                    f"{a100:,}",
                    f"{rtx:,}",
                    f"{rate(ours):,.0f}",
                    f"{rate(ours) / rtx:.1f}×",
                ]
            )
    if not rows:
        return []
    return [
        "### VeloFHE, Table 4, rows TFHE",
        "",
        "Gates a second, ternary keys, batch 16,384, transfers included; CPU: milliseconds of 48 "
        f"threads. Ours: one {records[0]['device']}. The sets MR-I and MR-II raise the modulus, "
        "which Whorl does not.",
        "",
        *table(
            ["", "set", "CPU, ms", "A100, 1/s", "RTX 4090, 1/s", "Whorl, 1/s", "to RTX 4090"], rows
        ),
    ]


def velofhe_table_3(records: list[Record]) -> list[str]:
    rows = []
    for (log_n, batch), theirs in VELOFHE_TABLE_3.items():
        members = {"params": f"N=2^{log_n}, 64 bits", "batch": batch}
        pair = [pick(records, op=op, **members) for op in ("ntt", "intt")]
        if not all(pair):
            continue
        ours = [1e6 / rate(record) for record in pair if record]
        rows.append(
            [
                f"2^{log_n}",
                f"{batch:,}",
                str(theirs[0]),
                f"{ours[0]:.3g}",
                f"{theirs[0] / ours[0]:.1f}×",
                str(theirs[1]),
                f"{ours[1]:.3g}",
                f"{theirs[1] / ours[1]:.1f}×",
            ]
        )
    if not rows:
        return []
    return [
        "### VeloFHE, Table 3",
        "",
        "Microseconds a transform, 64-bit words, data on the device, calls queued one behind the "
        f"other. Theirs: A100; ours: one {records[0]['device']}.",
        "",
        *table(["N", "batch", "NTT", "Whorl", "", "INTT", "Whorl", ""], rows),
    ]


def narrow_ntts(records: list[Record]) -> list[str]:
    rows = []
    for record in records:
        if record["op"] != "ntt" or record.get("word_bits") != 32:
            continue
        inverse = pick(records, op="intt", params=record["params"], batch=record["batch"])
        moved = 8 * record["N"] * rate(record)
        peer = f"{record['peer']}: {record['ratio']:.2f}×" if record.get("peer") else ""
        rows.append(
            [
                f"{record['N']:,}",
                f"{record['batch']:,}",
                f"{rate(record) / 1e6:.3g} M",
                f"{rate(inverse) / 1e6:.3g} M" if inverse else "",
                f"{moved / 1e12:.2f}",
                peer,
            ]
        )
    if not rows:
        return []
    return [
        "### Transforms of 32-bit words",
        "",
        "Transforms a second, batches that fill 256 MB. One read and one write of the data a "
        "transform make the TB/s.",
        "",
        *table(["N", "batch", "NTT/s", "INTT/s", "TB/s", "against"], rows),
    ]


def plot_ways(records: list[Record], to: Path) -> bool:
    """Xiao et al., Figure 5: EvalFunc over batch sizes, in each way to spread blind rotations."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
    drawn = False
    for axis, (params, base) in zip(axes, BASES.items(), strict=True):
        for way in ("single", "cluster", "shared", "automatic"):
            points = sorted(
                (record["batch"], 1000 * record["median"])
                for record in records
                if record.get("way") == way and record["params"] == params
            )
            if points:
                style = "k--" if way == "automatic" else "o-"
                axis.plot(*zip(*points, strict=True), style, label=way, markersize=3, linewidth=1)
                drawn = True
        axis.set(xscale="log", yscale="log", xlabel="EvalFuncs in a call", title=f"B_g = {base}")
        axis.set_xscale("log", base=2)
        axis.grid(True, alpha=0.3)
    axes[0].set_ylabel("ms a call")
    if drawn:
        axes[0].legend(frameon=False)
        figure.tight_layout()
        figure.savefig(to, metadata={"Date": None})
    plt.close(figure)
    return drawn


def plot_gates(records: list[Record], to: Path) -> bool:
    """Gates a second beside the papers'."""
    bars: list[tuple[str, float, str]] = []
    theirs = [
        ("Xiao et al., RTX 4090", 1000 / 0.23),
        ("VeloFHE GD-I, A100", 7190.0),
        ("VeloFHE GD-I, RTX 4090", 11378.0),
    ]
    bars += [(name, value, "tab:gray") for name, value in theirs]
    for record in records:
        wanted = record["op"] == "nand" and record["transfers"] == "included"
        if wanted and record["batch"] == 16384:
            label = f"Whorl {record['params']}, {record['device']}"
            if record["device_count"] > 1:
                label += f" × {record['device_count']}"
            bars.append((label, rate(record), "tab:blue"))
    if len(bars) == len(theirs):
        return False
    figure, axis = plt.subplots(figsize=(8, 0.4 * len(bars) + 1))
    drawn = axis.barh(
        [bar[0] for bar in bars], [bar[1] for bar in bars], color=[bar[2] for bar in bars]
    )
    axis.invert_yaxis()
    axis.bar_label(drawn, labels=[f"{bar[1]:,.0f}" for bar in bars], padding=3)
    axis.set_xlabel("NAND bootstraps a second, batch 16,384, transfers included")
    axis.margins(x=0.15)
    figure.tight_layout()
    figure.savefig(to, metadata={"Date": None})
    plt.close(figure)
    return True


def plot_ntt(records: list[Record], to: Path) -> bool:
    """Transforms of 32-bit words: bytes moved a second, over N."""
    figure, axis = plt.subplots(figsize=(6, 3.6))
    drawn = False
    for op in ("ntt", "intt"):
        points = sorted(
            (record["N"], 8 * record["N"] * rate(record) / 1e12)
            for record in records
            if record["op"] == op and record.get("word_bits") == 32
        )
        if points:
            axis.plot(*zip(*points, strict=True), "o-", label=op.upper(), markersize=3)
            drawn = True
    if drawn:
        axis.set_xscale("log", base=2)
        axis.set(xlabel="N", ylabel="TB/s, one read and one write", ylim=(0, None))
        axis.grid(True, alpha=0.3)
        axis.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(to, metadata={"Date": None})
    plt.close(figure)
    return drawn


def commits(records: list[Record]) -> str:
    """Which operations were measured at which commit."""
    by_commit: dict[str, set[str]] = {}
    for record in records:
        op = f"{record['op']} by ways" if record.get("way") else record["op"]
        by_commit.setdefault(record["commit"], set()).add(op)
    return "; ".join(f"{', '.join(sorted(ops))} at {c}" for c, ops in by_commit.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="h200")
    options = parser.parse_args()
    records = load(RESULTS / options.device / "gpu.jsonl")
    if not records:
        print(f"no records in bench/results/{options.device}/gpu.jsonl: bench_gpu writes them")
        return 1
    several = load(RESULTS / f"{options.device}x2" / "gpu.jsonl")
    everything = records + several
    plots = ROOT / "docs/plots"
    plots.mkdir(exist_ok=True)
    plt.rcParams.update({"svg.hashsalt": "whorl", "svg.fonttype": "none", "font.size": 9})
    lines = [
        f"Measured on {options.device}, medians; {commits(everything)}. "
        f"Records: `bench/results/{options.device}/gpu.jsonl`.",
        "",
    ]
    if plot_gates(everything, plots / "gates.svg"):
        lines += ["![Gates a second](plots/gates.svg)", ""]
    lines += [*overview(everything), *memory(records), *xiao_table_5(records)]
    if plot_ways(records, plots / "ways.svg"):
        lines += [
            "### Xiao et al., TCHES 2025, Figure 5",
            "",
            "EvalFunc with n = 1305, N = 2048, log2 Q = 54 at three bases of the gadget, transfers "
            "included. `single`: one ciphertext in a thread block; `cluster`: one over several; "
            "`shared`: several in a block where two fit, which they do not at this N: it is "
            "`single`; `automatic`: what runs if nothing is asked for.",
            "",
            "![EvalFunc over batch sizes](plots/ways.svg)",
            "",
        ]
    lines += [*velofhe_table_3(records), *narrow_ntts(records)]
    if plot_ntt(records, plots / "ntt.svg"):
        lines += ["![Transforms of 32-bit words](plots/ntt.svg)", ""]
    lines += velofhe_table_4(records)
    write_measured(ROOT / "docs/gpu.md", "bench/plots.py", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
