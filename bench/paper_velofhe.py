"""docs/papers/velofhe.md: Tables 2 to 6, and Figures 5 and 6."""

from collections.abc import Callable
from pathlib import Path

import paper_records as records
from common.plots import curves, legend, plt, save, scaled
from common.records import Record, pick, rate
from common.tables import table
from paper_figures import (
    VELOFHE_TABLE_2,
    VELOFHE_TABLE_3,
    VELOFHE_TABLE_3_OTHERS,
    VELOFHE_TABLE_4,
    VELOFHE_TABLE_5,
    VELOFHE_TABLE_6,
)

OWN = (
    ("W128_P64", "nand", "a NAND"),
    ("xiao/STD128", "nand", "a NAND"),
    ("xiao/STD128 binary", "nand", "a NAND"),
    ("velofhe/GD_II", "nand", "a NAND"),
    ("W128_P128", "lut4", "a table of 4 bits"),
)
"""Whorl's rows of Table 6."""


def measured(plots: Path) -> dict[str, list[str]]:
    """The parts of the page that are made of records; their plots go to a folder."""
    measured = records.Measured.load()
    return {
        "table_2": table_2(),
        "figure_5": figure_5(measured, plots),
        "table_3": table_3(measured),
        "figure_6": figure_6(measured),
        "table_4": table_4(measured),
        "table_5": table_5(measured),
        "table_6": table_6(measured),
    }


def table_2() -> list[str]:
    part = records.Section()
    for row in VELOFHE_TABLE_2:
        ginx, ap = records.parameters(row.ginx), records.parameters(row.ap)
        part.rows.append(
            {
                "set": row.name,
                "n, q, N": f"{row.n}, 2^{row.log_q}, 2^{row.log_N}",
                "log2 Q (+ log2 P)": row.modulus,
                "B_g": "" if row.log_b_g is None else f"2^{row.log_b_g}",
                "B_ks, Q_ks": f"2^{row.log_b_ks}, 2^{row.log_q_ks}",
                "in Whorl: TFHE, FHEW": f"`{row.ginx}`, `{row.ap}`",
                "bits: LWE, ring": records.bits(ginx),
                "a gate of TFHE fails": records.power(ginx.failure_log2),
                "of FHEW": records.power(ap.failure_log2),
            }
        )
    return part.lines()


def words(log_n: int) -> str:
    return f"N=2^{log_n}, 64 bits"


def point(measured: records.Measured, op: str, log_n: int, batch: int) -> Record | None:
    return pick(measured.one, op=op, params=words(log_n), batch=batch)


def microseconds(record: Record) -> str:
    return f"{1e6 / rate(record):.3g}"


def figure_5(measured: records.Measured, plots: Path) -> list[str]:
    figure, axis = plt.subplots(figsize=(6, 3.8))
    colours = {10: "tab:blue", 11: "tab:orange", 12: "tab:green"}
    part = records.Section()
    for log_n, colour in colours.items():
        found = {
            r["batch"]: r for r in measured.one if r["op"] == "ntt" and r["params"] == words(log_n)
        }
        points = sorted((batch, 1e6 / rate(r)) for batch, r in found.items())
        ours = (f"Whorl, {records.CHIP}, 2^{log_n}", points, "o-", colour)
        curves(axis, [ours], markersize=3, linewidth=1)
        theirs = [(b, each[0]) for (n, b), each in VELOFHE_TABLE_3.items() if n == log_n]
        curves(axis, [(f"VeloFHE, A100, 2^{log_n}", theirs, "x", colour)], markersize=6)
        if len(points) < 4:
            part.missing.append((f"batches of N = 2^{log_n}", "bench_gpu --only ntt"))
        least = min((time for _, time in points), default=0)
        near = next((batch for batch, time in points if time < 1.1 * least), None)
        last_one = found[max(found)] if found else None
        part.rows.append(
            {
                "N": f"2^{log_n}",
                "threads a transform": str(1 << (log_n - 4)),
                "one alone, µs": records.said(found.get(1), microseconds),
                "in the largest batch, µs": records.said(last_one, records.of_batch(microseconds)),
                "batch within 10 % of the best": (
                    f"{near:,}" if near and len(points) > 3 else records.NOT_MEASURED
                ),
                "record": records.source(last_one) or records.NOT_MEASURED,
            }
        )
    scaled(axis, "log2", "log", xlabel="transforms in a call", ylabel="µs a transform")
    legend(axis, 7)
    save(figure, plots / "paper-velofhe-figure-5.svg")
    return part.lines()


def table_3(measured: records.Measured) -> list[str]:
    rows, missing = [], []
    for (log_n, batch), theirs in VELOFHE_TABLE_3.items():
        found = [point(measured, op, log_n, batch) for op in ("ntt", "intt")]
        if not all(found):
            missing.append((f"N = 2^{log_n} in batches of {batch}", "bench_gpu --only ntt"))
        others = VELOFHE_TABLE_3_OTHERS.get((log_n, batch))
        row = [f"2^{log_n}", f"{batch:,}"]
        for at, ours in enumerate(found):
            row += [f"{theirs[at]:g}", records.said(ours, microseconds)]
            row += [f"{theirs[at] * rate(ours) / 1e6:.1f}×" if ours else ""]
        row.append(f"{others[0]}: {others[1]:g}, {others[2]:g}" if others else "")
        rows.append([*row, records.source(*found) or records.NOT_MEASURED])
    head = ["N", "batch", "NTT", "Whorl", "", "INTT", "Whorl", "", "others: NTT, INTT", "record"]
    return [*table(head, rows), *records.without_records(missing)]


def figure_6(measured: records.Measured) -> list[str]:
    part = records.Section()
    for log_n in (10, 11, 12):
        params = f"N={1 << log_n} word=64 logq=61"
        record = pick(measured.transforms, op="ntt", params=params)
        if not record:
            part.missing.append((f"`{params}`", "bench_cuda_transforms"))
        part.rows.append(
            {
                "N": f"2^{log_n}",
                "batch": records.said(record, lambda r: f"{r['batch']:,}"),
                "NTTs a second": records.said(record, lambda r: f"{rate(r) / 1e6:.1f} M"),
                "TB/s, one read and one write": records.said(record, tera(16 << log_n)),
                "T butterflies a second": records.said(record, tera(log_n << (log_n - 1))),
                "record": records.source(record) or records.NOT_MEASURED,
            }
        )
    return part.lines()


def tera(each: int) -> Callable[[Record], str]:
    """So many a transform, a second."""
    return lambda record: f"{each * rate(record) / 1e12:.2f}"


def table_4(measured: records.Measured) -> list[str]:
    part = records.Section()
    for row in VELOFHE_TABLE_4:
        many, alone = measured.many("nand", row.params), measured.alone("nand", row.params)
        two = measured.many("nand", row.params, gpus=2)
        if not many or not alone:
            part.missing.append(
                (f"{row.scheme} with {row.name}", records.command_of("nand", row.params))
            )
        part.rows.append(
            {
                "set": row.name,
                "scheme": row.scheme,
                "in Whorl": f"`{row.params}`",
                "CPU, ms": f"{row.cpu:g}" if row.cpu else "",
                "A100, 1/s": f"{row.a100:,}",
                "RTX 4090, 1/s": f"{row.rtx_4090:,}",
                f"Whorl, one {records.CHIP}, 1/s": records.said(many, records.a_second),
                "÷ A100": f"{rate(many) / row.a100:.1f}×" if many else "",
                "÷ RTX 4090": f"{rate(many) / row.rtx_4090:.1f}×" if many else "",
                f"two {records.CHIP}s, 1/s": records.said(two, records.a_second),
                "one alone, ms": records.said(alone, records.milliseconds),
                "bits: LWE, ring": records.bits(records.parameters(row.params)),
                "record": records.source(many, alone, two) or records.NOT_MEASURED,
            }
        )
    return part.lines()


def table_5(measured: records.Measured) -> list[str]:
    part = records.Section()
    for row in VELOFHE_TABLE_5:
        for keys, theirs in (("ternary", row.ternary), ("binary", row.binary)):
            name = row.params if keys == "ternary" else f"{row.params} binary"
            many = measured.many(row.op, name)
            if not many:
                part.missing.append((row.op, records.command_of(row.op, name)))
            part.rows.append(
                {
                    "": row.name,
                    "set": f"`{name}`",
                    "Xiao et al.": f"{row.xiao:g}" if keys == "ternary" else "",
                    "VeloFHE": f"{theirs:g}",
                    f"Whorl, one {records.CHIP}": records.said(many, records.milliseconds),
                    "÷ VeloFHE": records.times_as_fast(theirs, many),
                    "bits: LWE, ring": records.bits(records.parameters(name)),
                    "record": records.source(many) or records.NOT_MEASURED,
                }
            )
    return part.lines()


def table_6(measured: records.Measured) -> list[str]:
    part = records.Section()
    for name, (log_n, security), time, throughput, device in VELOFHE_TABLE_6:
        part.rows.append(
            {
                "": name,
                "N, bits of security": f"2^{log_n}, {security} stated",
                "ms": f"{time:g}" if time else "",
                "a second": f"{throughput:,}",
                "on": device,
                "record": "",
            }
        )
    for name, op, what in OWN:
        params = records.parameters(name)
        many = measured.many(op, name)
        if not many:
            part.missing.append((op, records.command_of(op, name)))
        least = params.security.bits
        part.rows.append(
            {
                "": f"Whorl, {what}, `{name}`",
                "N, bits of security": f"2^{params.N.bit_length() - 1}, {least:.0f} estimated",
                "ms": records.said(many, records.milliseconds),
                "a second": records.said(many, records.a_second),
                "on": f"{records.CHIP}, batch {many['batch']:,}, transfers included"
                if many
                else records.CHIP,
                "record": records.source(many) or records.NOT_MEASURED,
            }
        )
    return part.lines()
