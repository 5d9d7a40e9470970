"""Plots of docs/ckks-performance.md; bench/ckks_report.py draws them."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from ckks_records import BEST, CURVES, FLOORS, PHASES, SETS, Measured
from common.records import peers

COLOURS = ["#4477aa", "#66ccee", "#ccbb44", "#ee6677", "#999999"]

# Figures of other libraries for 2^15 slots and N = 2^16: seconds and bits of a bootstrap. Cheddar's
# time is of bench/results/peers; its bits are those of the largest error that its program states.
CHEDDAR_BITS = 20.1
# Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022, abstract: the threads are not stated.
LATTIGO = (20.2, 32.1)


def save(figure: Any, to: Path) -> None:
    figure.tight_layout()
    figure.savefig(to, metadata={"Date": None})
    plt.close(figure)


def phases(gpus: list[Measured], to: Path) -> bool:
    """For each GPU a bar of steps for complex values and one for real ones, and the floors."""
    floors = {label: max(with_int8, moved) for label, (_, with_int8, moved) in FLOORS.items()}
    bars: dict[str, dict[str, float]] = {"floor of an H200, complex": floors}
    for gpu in reversed(gpus):
        for kind, real in (("real", True), ("complex", False)):
            found = gpu.phases(SETS[BEST], real)
            if found:
                bars[f"{gpu.name}, {kind}"] = {
                    label: sum(found[op] for op in ops) for label, ops in PHASES.items() if ops
                }
    if len(bars) == 1:
        return False
    figure, axis = plt.subplots(figsize=(8, 0.6 * len(bars) + 1.4))
    left = [0.0] * len(bars)
    for label, colour in zip(PHASES, COLOURS, strict=True):
        widths = [parts[label] for parts in bars.values()]
        axis.barh(list(bars), widths, left=left, label=label, color=colour, height=0.6)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for at, total in enumerate(left):
        axis.text(total, at, f" {total:.3g} ms", va="center")
    axis.set(xlabel="ms of one ciphertext", xlim=(0, 1.15 * max(left)))
    axis.legend(frameon=False, fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1))
    save(figure, to)
    return True


def precision(cpu: Measured, gpu: Measured, to: Path) -> bool:
    """Bits of the worst slot against the seconds of a bootstrap."""
    points: list[tuple[str, float, float, str]] = []
    for measured, device in ((gpu, gpu.name), (cpu, "one thread")):
        for name in (BEST, "tensorfhe/bootstrap"):
            for real in (False, True):
                ms = measured.latency("bootstrap", SETS[name], real)
                bits = measured.worst_bits(SETS[name], real)
                if ms and bits:
                    kind = "real" if real else "complex"
                    points.append((f"Whorl {name}, {kind}, {device}", ms / 1e3, bits, "tab:blue"))
    versus = cpu.against("openfhe", "bootstrap")
    if versus:
        label = "Whorl beside OpenFHE, one thread"
        points.append((label, versus["median"], versus["bits"], "tab:blue"))
        label = "OpenFHE, one thread"
        points.append((label, versus["peer_median"], versus["peer_bits"], "tab:gray"))
    if not points:
        return False
    cheddar = [
        record
        for record in peers("h200")
        if (record["peer"], record["op"]) == ("Cheddar", "bootstrap")
    ]
    for record in cheddar:
        points.append(("Cheddar, H200", record["median"], CHEDDAR_BITS, "tab:gray"))
    points.append(("Lattigo, a CPU (published)", *LATTIGO, "lightgray"))
    figure, axis = plt.subplots(figsize=(8, 3.8))
    for (label, seconds, bits, colour), marker in zip(points, cycle("osD^vP*X"), strict=False):
        axis.plot([seconds], [bits], marker, color=colour, label=label, linestyle="none")
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    axis.set_xscale("log")
    axis.set(xlabel="seconds of one bootstrap, 2^15 slots", ylabel="bits", xlim=(4e-3, 100))
    axis.margins(y=0.15)
    axis.grid(True, alpha=0.3)
    save(figure, to)
    return True


def batches(gpus: list[Measured], to: Path) -> bool:
    """Operations a second against the batch: a colour for each operation, a line for each GPU."""
    curves = []
    for gpu, line in zip(gpus, ("o-", "s--"), strict=True):
        for (op, label, name, real), colour in zip(CURVES, COLOURS, strict=False):
            found = gpu.batches(op, SETS[name], real)
            if len(found) > 1:
                points = [(batch, 1e3 / ms) for batch, ms in found]
                curves.append((f"{label}, {gpu.name}", points, line, colour))
    if not curves:
        return False
    figure, axis = plt.subplots(figsize=(8, 3.8))
    for label, points, line, colour in curves:
        x, y = zip(*points, strict=True)
        axis.plot(x, y, line, color=colour, label=label, markersize=3, linewidth=1.2)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set(xlabel="ciphertexts of a batch", ylabel="ciphertexts a second")
    axis.grid(True, alpha=0.3)
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, to)
    return True


def draw(cpu: Measured, gpus: list[Measured], to: Path) -> set[str]:
    """Names of the files that were written."""
    plt.rcParams.update({"svg.hashsalt": "whorl", "svg.fonttype": "none", "font.size": 9})
    drawn = {
        "ckks-phases.svg": phases(gpus, to / "ckks-phases.svg"),
        "ckks-precision.svg": precision(cpu, gpus[0], to / "ckks-precision.svg"),
        "ckks-batches.svg": batches(gpus, to / "ckks-batches.svg"),
    }
    return {name for name, written in drawn.items() if written}
