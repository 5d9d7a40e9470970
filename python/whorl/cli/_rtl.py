"""rtl explore: designs of the FPGA accelerator for a parameter set and a chip."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from .._core.progress import bar
from .._rtl import costs, modules
from ..binfhe import parameter_sets
from ..errors import ParameterError
from ._completion import from_list
from ._output import out, table

app = typer.Typer(help="The FPGA accelerator: designs.", no_args_is_help=True)


def _sets() -> list[str]:
    """Named sets that the accelerator runs."""
    found = []
    for name in parameter_sets():
        try:
            costs.design_for(name)
        except ParameterError:
            continue
        found.append(name)
    return found


def _thousands(value: float, missing: bool) -> str:
    """A count of LUT or FF: at least so many if modules have no records."""
    if missing and not value:
        return "?"
    return f"{'≥ ' * missing}{value / 1000:,.0f} K"


def _row(point: costs.Point, best: bool, records: modules.Records) -> list[str]:
    d = point.design
    takes, missing = modules.logic(d, records)
    return [
        point.set + ("" if best else " ·"),
        point.chip,
        str(d.pes),
        str(1 << d.log_b),
        str(d.K),
        f"{d.bk_ports} × {d.mem_bits}",
        str(d.ksk_bits),
        str(d.ks_lanes),
        "all" if d.ksk_stays else str(d.ksk_rows),
        f"{point.throughput:,.0f}",
        f"{1e3 * point.latency_full:.2f}",
        f"{1e3 * point.latency:.2f}",
        f"{100 * point.utilisation:.0f} %",
        point.limit,
        str(point.dsp),
        f"{point.sram_mb:.0f}",
        f"{point.gb_s:.1f}",
        _thousands(takes["LUT"], bool(missing)),
        _thousands(takes["FF"], bool(missing)),
    ]


def _checked(points: list[costs.Point], records: modules.Records, folder: Path) -> str:
    """How far LUT and FF of the designs were compared with what their chips have."""
    lacks = [modules.logic(point.design, records)[1] for point in points]
    known = sum(not missing for missing in lacks)
    absent = sorted({module[0] for missing in lacks for module in missing})
    chips = {chip.part: chip for chip in (costs.chips()[point.chip] for point in points)}
    said = f"All LUT and FF are known of {known} of {len(points)} designs. "
    for part, chip in chips.items():
        said += f"{part} has {chip.lut / 1000:,.0f} K LUT and {chip.ff / 1000:,.0f} K FF. "
    if absent:
        said += (
            f"{folder} has no records of some shapes of {', '.join(absent)}; of designs with them, "
            "the other modules were compared with the chip."
        )
    return said.rstrip()


def draw(points: list[costs.Point], best: list[costs.Point], path: Path) -> None:
    """Draws rates over latencies of full batches; `best` are circled. The suffix is the format."""
    try:
        import matplotlib
    except ImportError as error:
        raise ParameterError(
            '--plot: matplotlib is missing: pip install "whorl-fhe[apps]"'
        ) from error
    matplotlib.use("svg" if path.suffix == ".svg" else "agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name in sorted({point.set for point in points}):
        of = [point for point in points if point.set == name]
        places = [1e3 * p.latency_full for p in of], [p.throughput for p in of]
        sizes = [120 * p.share for p in of]
        color = axes.scatter(*places, s=sizes, alpha=0.5, label=name).get_facecolor()
        edge = [p for p in best if p.set == name]
        axes.scatter(
            [1e3 * p.latency_full for p in edge],
            [p.throughput for p in edge],
            s=[120 * p.share for p in edge],
            facecolors="none",
            edgecolors=color,
        )
    axes.set_title("Area: the share of the chip. Circled: no other design beats it.", fontsize=9)
    axes.set_xlabel("latency of a full batch, ms")
    axes.set_ylabel("bootstraps a second")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _chips(names: list[str], number: int) -> list[str]:
    """A chip for each set."""
    if len(names) not in (1, number):
        raise ParameterError(f"--chip: {len(names)} chips for {number} sets; give one, or one each")
    for name in names:
        if name not in costs.chips():
            raise ParameterError(f"--chip: {name!r} is not one of {', '.join(costs.chips())}")
    return names if len(names) == number else names * number


@app.command("explore")
def explore(
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--params",
            help="Sets. Default: all that it runs.",
            autocompletion=from_list(_sets),
        ),
    ] = None,
    chip: Annotated[
        list[str] | None, typer.Option(help="A chip for all sets, or one for each. Default: vu13p.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Designs a set that are measured.")] = 24,
    threads: Annotated[int, typer.Option(min=1)] = os.cpu_count() or 1,
    synthesis: Annotated[
        Path, typer.Option(help="Folder with records of synthesis, for LUT, FF, BRAM and URAM.")
    ] = Path("bench/results/synthesis"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a design.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Throughput, latency and shares, .svg or .png.")
    ] = None,
) -> None:
    """Designs of the accelerator: throughput, latency and resources, and the front of the best.

    Cycles are counted by the accelerator's model; DSP slices and memories follow from the design.
    A dot behind a set's name marks a design that another beats in throughput, latency of a full
    batch and share of the chip at once. LUT and FF are those of modules that have records of
    synthesis; designs that need more of them than the chip has are left out.
    """
    records = modules.read_records(synthesis)
    names = sets or _sets()
    points: list[costs.Point] = []
    best: list[costs.Point] = []
    for name, on in zip(names, _chips(chip or ["vu13p"], len(names)), strict=True):
        with bar(name) as report:
            found = costs.explore(name, on, costs.chips()[on], records, most, threads, report)
        points += found
        best += costs.front(found)
    if plot:
        draw(points, best, plot)
    if as_json:
        for point in points:
            takes, missing = modules.logic(point.design, records)
            chip_of = costs.chips()[point.chip]
            record = point.record() | {
                "front": point in best,
                "logic": takes,
                "missing": [modules.written(module) for module in missing],
                "chip_lut": chip_of.lut,
                "chip_ff": chip_of.ff,
            }
            typer.echo(json.dumps(record))
        return
    columns = ["set", "chip", "PEs", "b", "K", "key ports", "ksk", "ks lanes", "ksk rows"]
    columns += ["bootstraps/s", "ms, full batch", "ms alone", "busy", "limit", "DSP", "SRAM Mb"]
    columns += ["GB/s", "LUT", "FF"]
    table(columns, [_row(point, point in best, records) for point in points])
    out.print(_checked(points, records, synthesis), markup=False)
