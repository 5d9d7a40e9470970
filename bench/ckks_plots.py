"""Plots of docs/ckks-performance.md; ckks_report.py has them drawn."""

from itertools import cycle
from pathlib import Path

from ckks_records import BEST, CURVES, FLOORS, PHASES, SETS, Measured
from common.plots import Curve, curves, legend, legend_beside, plt, save, scaled, stacked
from common.records import peers, pick

COLOURS = ["#4477aa", "#66ccee", "#ccbb44", "#ee6677", "#999999"]

# Figures of other libraries for 2^15 slots and N = 2^16: seconds and bits of a bootstrap. Cheddar's
# time is of bench/results/peers; its bits are those of the largest error that its program states.
CHEDDAR_BITS = 20.1
# Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022, abstract: the threads are not stated.
LATTIGO = (20.2, 32.1)


def phases(gpus: list[Measured], to: Path) -> None:
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
        return
    figure, axis = plt.subplots(figsize=(8, 0.6 * len(bars) + 1.4))
    parts = {label: [steps[label] for steps in bars.values()] for label in PHASES}
    totals = stacked(axis.barh, "left", [*bars], parts, COLOURS, height=0.6)
    for at, total in enumerate(totals):
        axis.text(total, at, f" {total:.3g} ms", va="center")
    axis.set(xlabel="ms of one ciphertext", xlim=(0, 1.15 * max(totals)))
    legend(axis, 7, ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1))
    save(figure, to)


def precision(cpu: Measured, gpu: Measured, to: Path) -> None:
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
        return
    if cheddar := pick(peers("h200"), peer="Cheddar", op="bootstrap"):
        points.append(("Cheddar, H200", cheddar["median"], CHEDDAR_BITS, "tab:gray"))
    points.append(("Lattigo, a CPU (published)", *LATTIGO, "lightgray"))
    figure, axis = plt.subplots(figsize=(8, 3.8))
    for (label, seconds, bits, colour), marker in zip(points, cycle("osD^vP*X"), strict=False):
        axis.plot([seconds], [bits], marker, color=colour, label=label, linestyle="none")
    legend_beside(axis, 7)
    named = {"xlabel": "seconds of one bootstrap, 2^15 slots", "ylabel": "bits"}
    scaled(axis, "log", **named, xlim=(4e-3, 100))
    axis.margins(y=0.15)
    save(figure, to)


def batches(gpus: list[Measured], to: Path) -> None:
    """Operations a second against the batch: a colour for each operation, a line for each GPU."""
    each: list[Curve] = []
    for gpu, line in zip(gpus, ("o-", "s--"), strict=True):
        for (op, label, name, real), colour in zip(CURVES, COLOURS, strict=False):
            found = gpu.batches(op, SETS[name], real)
            if len(found) > 1:
                points = [(batch, 1e3 / ms) for batch, ms in found]
                each.append((f"{label}, {gpu.name}", points, line, colour))
    figure, axis = plt.subplots(figsize=(8, 3.8))
    drawn = curves(axis, each, markersize=3, linewidth=1.2)
    scaled(axis, "log2", "log", xlabel="ciphertexts of a batch", ylabel="ciphertexts a second")
    legend_beside(axis, 7)
    save(figure, to, drawn)


def draw(cpu: Measured, gpus: list[Measured], to: Path) -> None:
    """Writes the plots that have records."""
    phases(gpus, to / "ckks-phases.svg")
    precision(cpu, gpus[0], to / "ckks-precision.svg")
    batches(gpus, to / "ckks-batches.svg")
