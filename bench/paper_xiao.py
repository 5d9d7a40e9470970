"""docs/papers/xiao.md: Tables 3 to 5 and 9, and Figures 4 and 5."""

import math
from pathlib import Path

import paper_records as records
from common.plots import curves, legend, plt, save, scaled
from common.records import Record, pick, rate
from common.tables import in_words, table
from paper_figures import (
    BATCH,
    XIAO_FIGURE_5,
    XIAO_TABLE_3,
    XIAO_TABLE_4,
    XIAO_TABLE_5,
    XIAO_TABLE_9,
    Bootstrap,
    LargeSet,
)

SCHEDULES = ("single", "cluster", "grid", "shared", "automatic")
AT = (1, 128, 1024)
"""EvalFuncs in a call of which Figure 5's table has a column."""


def measured(plots: Path) -> dict[str, list[str]]:
    """The parts of the page that are made of records; their plots go to a folder."""
    measured = records.Measured.load()
    return {
        "table_3": table_3(measured),
        "table_4": table_4(measured),
        "table_5": table_5(measured),
        "figure_4": figure_4(measured, plots),
        "figure_5": figure_5(measured, plots),
        "table_9": table_9(measured),
    }


def log2_erfc(x: float) -> float:
    """log2(1 - erf(x)), also where that is no number any more."""
    direct = math.erfc(x)
    if direct > 1e-300:
        return math.log2(direct)
    return -x * x * math.log2(math.e) - math.log2(x * math.sqrt(math.pi))


def deviation(record: Record) -> str:
    return f"{record['deviation']:.2f} ({record['runs']:,} gates)"


def table_3(measured: records.Measured) -> list[str]:
    part = records.Section()
    for row in XIAO_TABLE_3:
        params = records.parameters(row.params)
        beta = math.sqrt(params.noise().refreshed)
        record = pick(measured.noise, op="nand", params=row.params)
        if not record:
            part.missing.append((f"β of `{row.params}`", f"bench_noise --set {row.params}"))
        shape = f"{row.n}, {row.q}, {row.N}, {row.log_q_ring}, 2^{row.log_b_g}"
        part.rows.append(
            {
                "set": row.name,
                "in Whorl": f"`{row.params}`",
                "n, q, N, log2 Q, B_g": shape,
                "β, paper": f"{row.deviation:.2f}",
                "β by Whorl's formulas": f"{beta:.2f}",
                "β measured": records.said(record, deviation),
                "FP, paper": records.power(row.fails_log2),
                "FP of that β": records.power(log2_erfc(row.q / 8 / (2 * beta))),
                "a gate fails": records.power(params.failure_log2),
                "bits: LWE, ring": records.bits(params),
                "record": records.source(record),
            }
        )
    return part.lines()


def table_4(measured: records.Measured) -> list[str]:
    part = records.Section()
    for row in XIAO_TABLE_4:
        # Of a bootstrap that ends modulo the paper's q: the other members are the set's.
        params = records.parameters(row.params, q=row.q, max_p=8)
        by_fft, by_ntt = (math.sqrt(params.noise(by).refreshed) for by in ("fft", "ntt"))
        record = pick(measured.noise, **noise_of(row))
        if not record:
            part.missing.append((f"β of `{row.params}`", f"bench_noise --set {row.params}"))
        sector = row.q / 2 ** (4 if row.q == 4096 else 3)
        part.rows.append(
            {
                "function": row.function,
                "in Whorl": f"`{row.params}`",
                "Q'": f"2^{row.log_modulus}" if row.q == 4096 else "",
                "bits": str(row.bits),
                "B_g": f"2^{row.log_b_g}",
                "β, paper": f"{row.deviation:.2f}",
                "β by Whorl's formulas: FFT, NTT": f"{by_fft:.2f}, {by_ntt:.2f}",
                "β measured, FFT": records.said(record, deviation),
                "FP, paper": records.power(row.fails_log2),
                "FP of that β, FFT": records.power(log2_erfc(sector / (4 * by_fft))),
                "record": records.source(record) or records.NOT_MEASURED,
            }
        )
    large = records.parameters("xiao/HOMSIGN_25").security
    text = (
        "All have n = 1305, N = 2048, log2 Q = 54, log2 Q_ks = 35 and B_ks = 32. β is modulo "
        "q = 4096, for EvalFunc modulo 2048, and the paper's is of FFTs. *FP* is the paper's "
        "formula, 1 - erf((q/p)/(4β)), with p = q/256. The sets for signs take the NTT in Whorl: "
        "their ciphertexts are modulo 2^16 to 2^29, where the rounding of doubles is larger than "
        f"here. By Whorl's estimate the LWE key has {large.lwe_bits:.0f} bits of security, the "
        f"ring key {large.ring_bits:.0f}."
    )
    return [text, "", *part.lines()]


def noise_of(row: LargeSet) -> dict[str, str]:
    """Members of the record of bench_noise for a row."""
    params = row.params if row.q == 2048 else f"{row.params} q={row.q}"
    return {"op": "nand", "params": params, "transform": "fft"}


def pairs(row: Bootstrap) -> list[tuple[str, bool]]:
    """Sets of Whorl for a row: the paper's, and its own."""
    return [(row.params, True), *([(row.own, False)] if row.own else [])]


def table_5(measured: records.Measured) -> list[str]:
    part = records.Section()
    for row in XIAO_TABLE_5:
        for name, theirs in pairs(row):
            many, alone = measured.many(row.op, name), measured.alone(row.op, name)
            two = measured.many(row.op, name, gpus=2)
            if not many or not alone:
                part.missing.append((row.op, records.command_of(row.op, name)))
            part.rows.append(
                {
                    "": row.function if theirs else "the same",
                    "set": f"`{name}`" if theirs else f"`{name}`, Whorl's own",
                    "1 thread": f"{row.one_thread:g}" if theirs else "",
                    "64 threads": f"{row.threads_64:g}" if theirs else "",
                    "1 GPU": f"{row.gpu:g}" if theirs else "",
                    "8 GPUs": f"{row.gpus_8:g}" if theirs else "",
                    f"Whorl, one {records.CHIP}": records.said(many, records.milliseconds),
                    "÷ 1 GPU": records.times_as_fast(row.gpu, many),
                    "÷ 8 GPUs": records.times_as_fast(row.gpus_8, many),
                    f"Whorl, two {records.CHIP}s": records.said(two, records.milliseconds),
                    f"one alone, one {records.CHIP}": records.said(alone, records.milliseconds),
                    "bits: LWE, ring": records.bits(records.parameters(name)),
                    "record": records.source(many, alone, two) or records.NOT_MEASURED,
                }
            )
    return part.lines()


def scaling(measured: records.Measured, op: str, params: str) -> list[Record]:
    """Records of one GPU and two, if there are both."""
    members = {"op": op, "params": params, "batch": BATCH, "transfers": "included"}
    found = [pick(measured.scaling, device_count=count, **members) for count in (1, 2)]
    return [record for record in found if record] if all(found) else []


def figure_4(measured: records.Measured, plots: Path) -> list[str]:
    part = records.Section()
    figure, axis = plt.subplots(figsize=(6, 3.6))
    axis.plot([1, 8], [1, 8], color="lightgray", linewidth=1, label="as many times as GPUs")
    markers = "osD^v"
    for at, (row, marker) in enumerate(zip(XIAO_TABLE_5, markers, strict=True)):
        theirs = row.gpu / row.gpus_8
        label = row.function.split(" ")[0]
        # Apart from one another: most lie close to 7.
        axis.plot(
            7.7 + 0.15 * at, theirs, marker, color="tab:gray", markersize=5, label=f"paper, {label}"
        )
        for name, is_theirs in pairs(row):
            found = scaling(measured, row.op, name)
            if found:
                gain = rate(found[1]) / rate(found[0])
                if is_theirs:
                    axis.plot(2, gain, marker, color="tab:blue", markersize=5)
            else:
                part.missing.append(
                    (f"{row.op} of `{name}`", "bench_gpu --device cuda:0 and cuda:0,1")
                )
            part.rows.append(
                {
                    "": row.function if is_theirs else "the same",
                    "set": f"`{name}`",
                    "paper, 8 GPUs": f"{theirs:.2f}" if is_theirs else "",
                    f"Whorl, two {records.CHIP}s": f"{gain:.2f}" if found else records.NOT_MEASURED,
                    "record": f"`h200x2/scaling` {found[1]['commit']}"
                    if found
                    else records.NOT_MEASURED,
                }
            )
    axis.plot([], [], "o", color="tab:blue", label=f"Whorl, {records.CHIP}, at 2 GPUs")
    named = {"xlabel": "GPUs", "ylabel": "times as fast as one"}
    scaled(axis, **named, xlim=(0.8, 8.8), ylim=(0, 8.8))
    legend(axis, 7, loc="upper left")
    save(figure, plots / "paper-xiao-figure-4.svg")
    return part.lines()


def figure_5(measured: records.Measured, plots: Path) -> list[str]:
    by_schedule = [r for r in measured.one if r.get("schedule")]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
    rows = []
    for axis, (params, base) in zip(axes, XIAO_FIGURE_5.items(), strict=True):
        for schedule in SCHEDULES:
            found_here = [
                r for r in by_schedule if r["schedule"] == schedule and r["params"] == params
            ]
            points = sorted((r["batch"], 1000 * r["median"]) for r in found_here)
            line = "k--" if schedule == "automatic" else "o-"
            curves(axis, [(schedule, points, line, None)], markersize=3, linewidth=1)
            found = [pick(found_here, batch=batch) for batch in AT]
            cells = [records.said(r, lambda r: in_words(1000 * r["median"])) for r in found]
            rows.append([f"B_g = {base}, `{params}`", schedule, *cells, source_of_schedules(found)])
        scaled(axis, "log2", "log", xlabel="EvalFuncs in a call", title=f"B_g = {base}")
    axes[0].set_ylabel("ms a call")
    legend(axes[0])
    save(figure, plots / "paper-xiao-figure-5.svg")
    head = ["gadget", "schedule", *(f"{batch:,} in a call, ms" for batch in AT), "record"]
    missing: records.Missing = (
        [] if by_schedule else [("EvalFunc over batches", "bench_gpu --only schedules")]
    )
    return [*table(head, rows), *records.without_records(missing)]


def source_of_schedules(found: list[Record | None]) -> str:
    commits = sorted({r["commit"] for r in found if r})
    return f"`h200/gpu` {', '.join(commits)}" if commits else records.NOT_MEASURED


def table_9(measured: records.Measured) -> list[str]:
    rows = [[name, f"{1000 * seconds:g}", "", ""] for name, seconds in XIAO_TABLE_9.items()]
    alone: dict[str, Record] = {r["params"]: r for r in measured.tree if r["batch"] == 1}
    missing: records.Missing = [] if alone else [("the tree", "bench_tree")]
    for name in alone or ["TREE_P40"]:
        many = [r for r in measured.tree if r["params"] == name and r["batch"] > 1]
        best = {r["batch"]: r for r in many}
        largest = best[max(best)] if best else None
        record = alone.get(name)
        rows.append(
            [
                f"Whorl, one {records.CHIP}, `{name}`",
                records.said(record, records.milliseconds),
                records.said(largest, records.of_batch(records.milliseconds)),
                records.source(record, largest) or records.NOT_MEASURED,
            ]
        )
    return [
        *table(["", "one flower", "a flower of a batch", "record"], rows),
        *records.without_records(missing),
    ]
