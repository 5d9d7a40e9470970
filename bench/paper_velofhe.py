"""docs/papers/velofhe.md: Tables 2 to 6, and Figures 5 and 6."""

from pathlib import Path

from common.plots import curves, plt, save
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
from paper_records import (
    CHIP,
    NOT_MEASURED,
    Measured,
    Missing,
    Section,
    a_second,
    bits,
    command_of,
    milliseconds,
    parameters,
    power,
    said,
    source,
    without_records,
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
    measured = Measured.load()
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
    rows = []
    for row in VELOFHE_TABLE_2:
        ginx, ap = parameters(row.ginx), parameters(row.ap)
        digit = "" if row.log_b_g is None else f"2^{row.log_b_g}"
        rows.append(
            [
                row.name,
                f"{row.n}, 2^{row.log_q}, 2^{row.log_N}",
                row.modulus,
                digit,
                f"2^{row.log_b_ks}, 2^{row.log_q_ks}",
                f"`{row.ginx}`, `{row.ap}`",
                bits(ginx),
                power(ginx.failure_log2),
                power(ap.failure_log2),
            ]
        )
    head = ["set", "n, q, N", "log2 Q (+ log2 P)", "B_g", "B_ks, Q_ks", "in Whorl: TFHE, FHEW"]
    head += ["bits: LWE, ring", "a gate of TFHE fails", "of FHEW"]
    return table(head, rows)


def words(log_n: int) -> str:
    return f"N=2^{log_n}, 64 bits"


def point(measured: Measured, op: str, log_n: int, batch: int) -> Record | None:
    return pick(measured.one, op=op, params=words(log_n), batch=batch)


def microseconds(record: Record) -> str:
    return f"{1e6 / rate(record):.3g}"


def figure_5(measured: Measured, plots: Path) -> list[str]:
    figure, axis = plt.subplots(figsize=(6, 3.8))
    colours = {10: "tab:blue", 11: "tab:orange", 12: "tab:green"}
    part = Section()
    for log_n, colour in colours.items():
        found = {
            r["batch"]: r for r in measured.one if r["op"] == "ntt" and r["params"] == words(log_n)
        }
        points = sorted((batch, 1e6 / rate(r)) for batch, r in found.items())
        ours = (f"Whorl, {CHIP}, 2^{log_n}", points, "o-", colour)
        curves(axis, [ours], markersize=3, linewidth=1)
        theirs = [(b, each[0]) for (n, b), each in VELOFHE_TABLE_3.items() if n == log_n]
        curves(axis, [(f"VeloFHE, A100, 2^{log_n}", theirs, "x", colour)], markersize=6)
        if len(points) < 4:
            part.missing.append((f"batches of N = 2^{log_n}", "bench_gpu --only ntt"))
        least = min((time for _, time in points), default=0)
        near = next((batch for batch, time in points if time < 1.1 * least), None)
        last_one = found[max(found)] if found else None
        part.rows.append(
            [
                f"2^{log_n}",
                str(1 << (log_n - 4)),
                said(found.get(1), microseconds),
                said(last_one, lambda r: f"{microseconds(r)} of {r['batch']:,}"),
                f"{near:,}" if near and len(points) > 3 else NOT_MEASURED,
                source(last_one) or NOT_MEASURED,
            ]
        )
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set(xlabel="transforms in a call", ylabel="µs a transform")
    axis.legend(frameon=False, fontsize=7)
    axis.grid(True, alpha=0.3)
    save(figure, plots / "paper-velofhe-figure-5.svg")
    head = ["N", "threads a transform", "one alone, µs", "in the largest batch, µs"]
    head += ["batch within 10 % of the best", "record"]
    return part.lines(head)


def table_3(measured: Measured) -> list[str]:
    part = Section()
    for (log_n, batch), theirs in VELOFHE_TABLE_3.items():
        found = [point(measured, op, log_n, batch) for op in ("ntt", "intt")]
        if not all(found):
            part.missing.append((f"N = 2^{log_n} in batches of {batch}", "bench_gpu --only ntt"))
        others = VELOFHE_TABLE_3_OTHERS.get((log_n, batch))
        row = [f"2^{log_n}", f"{batch:,}"]
        for at, ours in enumerate(found):
            row += [f"{theirs[at]:g}", said(ours, microseconds)]
            row += [f"{theirs[at] * rate(ours) / 1e6:.1f}×" if ours else ""]
        row.append(f"{others[0]}: {others[1]:g}, {others[2]:g}" if others else "")
        part.rows.append([*row, source(*found) or NOT_MEASURED])
    head = ["N", "batch", "NTT", "Whorl", "", "INTT", "Whorl", "", "others: NTT, INTT", "record"]
    return part.lines(head)


def figure_6(measured: Measured) -> list[str]:
    part = Section()
    for log_n in (10, 11, 12):
        params = f"N={1 << log_n} word=64 logq=61"
        record = pick(measured.transforms, op="ntt", params=params)
        if not record:
            part.missing.append((f"`{params}`", "bench_cuda_transforms"))
        moved = 16 * (1 << log_n)
        products = (1 << (log_n - 1)) * log_n
        part.rows.append(
            [
                f"2^{log_n}",
                said(record, lambda r: f"{r['batch']:,}"),
                said(record, lambda r: f"{rate(r) / 1e6:.1f} M"),
                said(record, lambda r, m=moved: f"{m * rate(r) / 1e12:.2f}"),  # type: ignore[misc]
                said(record, lambda r, p=products: f"{p * rate(r) / 1e12:.2f}"),  # type: ignore[misc]
                f"`h200/transforms` {record['commit']}" if record else NOT_MEASURED,
            ]
        )
    head = ["N", "batch", "NTTs a second", "TB/s, one read and one write", "T butterflies a second"]
    return part.lines([*head, "record"])


def table_4(measured: Measured) -> list[str]:
    part = Section()
    for row in VELOFHE_TABLE_4:
        many, alone = measured.many("nand", row.params), measured.alone("nand", row.params)
        two = measured.many("nand", row.params, gpus=2)
        if not many or not alone:
            part.missing.append((f"{row.scheme} with {row.name}", command_of("nand", row.params)))
        params = parameters(row.params)
        part.rows.append(
            [
                row.name,
                row.scheme,
                f"`{row.params}`",
                f"{row.cpu:g}" if row.cpu else "",
                f"{row.a100:,}",
                f"{row.rtx_4090:,}",
                said(many, a_second),
                f"{rate(many) / row.a100:.1f}×" if many else "",
                f"{rate(many) / row.rtx_4090:.1f}×" if many else "",
                said(two, a_second),
                said(alone, milliseconds),
                bits(params),
                source(many, alone, two) or NOT_MEASURED,
            ]
        )
    head = ["set", "scheme", "in Whorl", "CPU, ms", "A100, 1/s", "RTX 4090, 1/s"]
    head += [f"Whorl, one {CHIP}, 1/s", "÷ A100", "÷ RTX 4090", f"two {CHIP}s, 1/s"]
    head += ["one alone, ms", "bits: LWE, ring", "record"]
    return part.lines(head)


def table_5(measured: Measured) -> list[str]:
    part = Section()
    for row in VELOFHE_TABLE_5:
        for keys, theirs in (("ternary", row.ternary), ("binary", row.binary)):
            name = row.params if keys == "ternary" else f"{row.params} binary"
            many = measured.many(row.op, name)
            if not many:
                part.missing.append((row.op, command_of(row.op, name)))
            part.rows.append(
                [
                    row.name,
                    f"`{name}`",
                    f"{row.xiao:g}" if keys == "ternary" else "",
                    f"{theirs:g}",
                    said(many, milliseconds),
                    f"{theirs * rate(many) / 1000:.1f}×" if many else "",
                    bits(parameters(name)),
                    source(many) or NOT_MEASURED,
                ]
            )
    head = ["", "set", "Xiao et al.", "VeloFHE", f"Whorl, one {CHIP}", "÷ VeloFHE"]
    return part.lines([*head, "bits: LWE, ring", "record"])


def table_6(measured: Measured) -> list[str]:
    rows = [
        [
            name,
            f"2^{log_n}, {security} stated",
            f"{time:g}" if time else "",
            f"{throughput:,}",
            device,
            "",
        ]
        for name, (log_n, security), time, throughput, device in VELOFHE_TABLE_6
    ]
    missing: Missing = []
    for name, op, what in OWN:
        params = parameters(name)
        many = measured.many(op, name)
        if not many:
            missing.append((op, command_of(op, name)))
        security = params.security
        least = min(security.lwe_bits, security.ring_bits)
        rows.append(
            [
                f"Whorl, {what}, `{name}`",
                f"2^{params.N.bit_length() - 1}, {least:.0f} estimated",
                said(many, milliseconds),
                said(many, a_second),
                f"{CHIP}, batch {many['batch']:,}, transfers included" if many else CHIP,
                source(many) or NOT_MEASURED,
            ]
        )
    head = ["", "N, bits of security", "ms", "a second", "on", "record"]
    return [*table(head, rows), *without_records(missing)]
