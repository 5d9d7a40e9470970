"""docs/gpu.md: tables and plots from the records that bench_gpu wrote.

Reads bench/results/h200/gpu.jsonl and h200x2/gpu.jsonl, the 64-bit transforms of
h200/transforms.jsonl, and what other libraries do on the same kind of chip (peers/h200.jsonl).
Figures that papers give for other chips have pages of their own (bench/paper_records.py).
bench/pages.py writes the page.
"""

from __future__ import annotations

import math
from pathlib import Path

from common.plots import bars, curves, legend, plt, save, scaled
from common.records import Record, peers, pick, rate, records_of
from common.tables import NOT_MEASURED, columns, table
from paper_figures import VELOFHE_TABLE_4, XIAO_TABLE_5
from whorl import binfhe


def chip(records: list[Record]) -> str:
    """The device of records, as its maker writes it: H200."""
    name: str = records[0]["device"]
    return name.upper()


def in_words(record: Record) -> str:
    if record["unit"] == "bytes":
        return f"{record['median'] / 1e6:,.0f} MB"
    if record["unit"] == "s":
        return f"{1000 * record['median']:.3g} ms"
    return f"{record['median']:,.0f}/s"


def spread(record: Record) -> str:
    edges = (in_words({**record, "median": record[name]}) for name in ("min", "max"))
    return " … ".join(edges)


def failure_log2(record: Record) -> float:
    """What Whorl states of the operation today: a record keeps what was stated then.

    (Records of operations of large precision up to 036366e have a gate's.)
    """
    name, binary = record["params"].removesuffix(" binary"), record["params"].endswith(" binary")
    under = binfhe.parameters(name, allow_insecure=True)
    if binary:
        literal = under.literal() | {"lwe_secret": "binary"}
        under = binfhe.parameters(literal, allow_insecure=True)
    if record["op"] in ("evalsign", "evaldecomp"):
        return under.sign_failure_log2(2 ** (record["log2_modulus"] - 8), record["transform"])
    if record["op"] == "evalfloor":
        return under.floor_failure_log2(2 ** (record["log2_modulus"] - 8), 2, record["transform"])
    return under._core.failure_log2(record["transform"])


def overview(records: list[Record]) -> list[str]:
    """Everything but the NTTs and the curves of Figure 5, transfers included and excluded."""

    def row(record: Record) -> dict[str, str]:
        names = ("op", "params", "batch", "transform", "device_count")
        same = {name: record.get(name) for name in names}
        bare = pick(records, **same, schedule=None, transfers="excluded")
        return {
            "what": record["op"],
            "set": f"`{record['params']}`",
            "transform": record.get("transform", ""),
            "GPUs": str(record["device_count"]),
            "batch": f"{record['batch']:,}",
            "transfers included": in_words(record),
            "least … most": spread(record),
            "excluded": in_words(bare) if bare else "",
            "bits": f"{record['security_bits']:.0f}",
            "fails": f"2^{math.ceil(failure_log2(record))}",
        }

    shown = [r for r in records if r["op"] not in ("ntt", "intt", "memory") and "schedule" not in r]
    return table(*columns(row(r) for r in shown if r["transfers"] == "included"))


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


# Bootstraps of peers that do what a set of Whorl's does: the operation, that set, its transform;
# the peer, its parameters, and what its figure covers.
SAME_CHIP = (
    ("nand", "W128_P64", "fft", "cuFHE (virtualsecureplatform)", None, "a whole gate"),
    ("nand", "W128_P64", "fft", "HEonGPU", None, "a whole gate"),
    ("nand", "W128_P64", "fft", "tfhe-rs", "boolean", "without its key switch"),
    ("nand", "W128_P64", "fft", "tfhe-rs", "TFHE_LIB", "without its key switch"),
    ("lut4", "W128_P128", "fft", "tfhe-rs", "classic", "without its key switch"),
    ("lut4", "W128_P128", "fft", "tfhe-rs", "multi-bit", "without its key switch"),
)


def theirs_of(theirs: list[Record], name: str, params: str | None) -> list[Record]:
    """Bootstraps and gates of a peer, those of one set if `params` begins its name."""
    return [
        record
        for record in theirs
        if record["peer"] == name
        and record["op"] in ("nand", "pbs")
        and record["params"].startswith(params or "")
    ]


def bare(records: list[Record], op: str, params: str, transform: str, alone: bool) -> Record | None:
    """One ciphertext, or the largest batch: on one device, data there."""
    found = [
        record
        for record in records
        if record["op"] == op
        and record["params"] == params
        and record.get("transform") == transform
        and record["transfers"] == "excluded"
        and record["device_count"] == 1
        and (record["batch"] == 1) == alone
    ]
    return max(found, key=rate, default=None)


def same_chip(records: list[Record], theirs: list[Record]) -> list[str]:
    """Gates and tables beside other libraries on the same kind of chip."""
    rows = []
    for op, params, transform, name, theirs_params, covers in SAME_CHIP:
        for alone in (True, False):
            ours = bare(records, op, params, transform, alone)
            found = theirs_of(theirs, name, theirs_params)
            best = max((r for r in found if (r["batch"] == 1) == alone), key=rate, default=None)
            if ours and best:
                figure = f"{covers}; {best['note']}" if "note" in best else covers
                row = [f"{name} {best['peer_version']}", best["params"], figure]
                row += [f"{best['batch']:,}", alike(best, alone), f"{op}, `{params}`"]
                row += [f"{ours['batch']:,}", alike(ours, alone)]
                rows.append([*row, f"{rate(ours) / rate(best):.2f}×"])
    head = ["library", "its set", "its figure is", "batch", "theirs"]
    head += ["Whorl does", "batch", "Whorl", "Whorl's speed ÷ theirs"]
    return table(head, rows) or NOT_MEASURED


def alike(record: Record, alone: bool) -> str:
    """A time for one ciphertext, a rate for a batch."""
    return f"{1000 / rate(record):.3g} ms" if alone else f"{rate(record):,.0f}/s"


def same_chip_ntts(records: list[Record], wide: list[Record], theirs: list[Record]) -> list[str]:
    """Transforms of large batches beside other libraries on the same kind of chip."""
    rows = []
    for bits, ours in ((32, records), (64, wide)):
        for peer, N in peers_of_ntts(theirs, bits):
            sized = [r for r in ours if r["op"] == "ntt" and size_of(r) == (N, bits)]
            if sized:
                best = max(map(rate, sized))
                row = {
                    "N": f"{N:,}",
                    "word": str(bits),
                    "library": f"{peer['peer']} {peer['peer_version']}",
                    "theirs": f"{peer['median'] / 1e6:.3g} M",
                    "Whorl": f"{best / 1e6:.3g} M",
                    "Whorl's speed ÷ theirs": f"{best / peer['median']:.2f}×",
                }
                rows.append(row)
    return table(*columns(rows)) or NOT_MEASURED


def peers_of_ntts(theirs: list[Record], bits: int) -> list[tuple[Record, int]]:
    """Peers' transforms a second of words of so many bits, whatever the batch, and their N."""
    found = [r for r in theirs if r["op"] == "ntt" and f"{bits}-bit" in r["params"]]
    return [(r, 1 << int(r["params"].split(",")[0].removeprefix("2^"))) for r in found]


def size_of(record: Record) -> tuple[int, int] | None:
    """N and the bits of a word of a record of transforms."""
    if "word_bits" in record:
        return record["N"], record["word_bits"]
    fields = dict(pair.split("=") for pair in record["params"].split() if "=" in pair)
    return (int(fields["N"]), int(fields["word"])) if "word" in fields else None


def narrow_ntts(records: list[Record]) -> list[str]:
    def row(record: Record) -> dict[str, str]:
        inverse = pick(records, op="intt", params=record["params"], batch=record["batch"])
        return {
            "N": f"{record['N']:,}",
            "batch": f"{record['batch']:,}",
            "NTT/s": f"{rate(record) / 1e6:.3g} M",
            "INTT/s": f"{rate(inverse) / 1e6:.3g} M" if inverse else "",
            "TB/s": f"{8 * record['N'] * rate(record) / 1e12:.2f}",
        }

    shown = [r for r in records if r["op"] == "ntt" and r.get("word_bits") == 32]
    return table(*columns(map(row, shown))) or NOT_MEASURED


def plot_gates(records: list[Record], theirs: list[Record], to: Path) -> None:
    """Gates a second: beside peers on the same kind of chip, and beside papers' other chips."""
    same: list[tuple[str, float, str]] = []
    for op, _, _, name, params, covers in SAME_CHIP:
        found = theirs_of(theirs, name, params) if op == "nand" else []
        if found:
            best = max(found, key=rate)
            short = f"{name.split()[0]}, {best['params'].split(' (')[0]}"
            same.append((f"{short}\n({covers})", rate(best), "tab:gray"))
    for params in ("xiao/STD128", "W128_P64"):
        ours = bare(records, "nand", params, "fft", alone=False)
        if ours:
            same.append((f"Whorl, {params}\n(a whole gate)", rate(ours), "tab:blue"))
    xiao = XIAO_TABLE_5[0]
    velo = next(row for row in VELOFHE_TABLE_4 if row.params == "velofhe/GD_I")
    papers = [
        ("Xiao et al., RTX 4090", 1000 / xiao.gpu, "lightgray"),
        ("VeloFHE GD-I, A100", velo.a100, "lightgray"),
        ("VeloFHE GD-I, RTX 4090", velo.rtx_4090, "lightgray"),
    ]
    known = len(papers)
    for record in records:
        wanted = record["op"] == "nand" and record["transfers"] == "included"
        if wanted and record["batch"] == 16384 and record.get("transform") == "fft":
            label = f"Whorl {record['params']}, {chip([record])}"
            if record["device_count"] > 1:
                label += f" × {record['device_count']}"
            papers.append((label, rate(record), "tab:blue"))
    if len(papers) == known:
        return
    heights = [len(same), len(papers)]
    figure, axes = plt.subplots(
        2, 1, figsize=(8, 0.45 * sum(heights) + 2), height_ratios=heights, layout="constrained"
    )
    title = f"Measured on one {chip(records)}"
    bars(axes[0], same, title=title, xlabel="a second, large batches, data on the device")
    title = "Papers' figures of other chips (light), and Whorl"
    what = "NAND bootstraps a second, batch 16,384, transfers included"
    bars(axes[1], papers, title=title, xlabel=what)
    save(figure, to)


def plot_ntt(records: list[Record], theirs: list[Record], to: Path) -> None:
    """Transforms of 32-bit words: bytes moved a second, over N."""
    figure, axis = plt.subplots(figsize=(6, 3.6))

    def moved(N: int, a_second: float) -> tuple[float, float]:
        return N, 8 * N * a_second / 1e12

    ours = [r for r in records if r.get("word_bits") == 32]
    drawn = curves(
        axis,
        [
            (
                f"Whorl, {op.upper()}",
                sorted(moved(r["N"], rate(r)) for r in ours if r["op"] == op),
                "o-",
                None,
            )
            for op in ("ntt", "intt")
        ],
        markersize=3,
    )
    narrow = peers_of_ntts(theirs, 32)
    for name, style in (("GPU-NTT", "s--"), ("Cheddar", "D")):
        points = sorted(moved(N, r["median"]) for r, N in narrow if r["peer"] == name)
        curves(axis, [(f"{name}, same chip", points, style, "tab:gray")], markersize=3)
    scaled(axis, "log2", xlabel="N", ylabel="TB/s, one read and one write", ylim=(0, None))
    legend(axis)
    save(figure, to, drawn)


def commits(records: list[Record]) -> str:
    """Which operations were measured at which commit."""
    by_commit: dict[str, set[str]] = {}
    for record in records:
        op = f"{record['op']} by schedule" if record.get("schedule") else record["op"]
        by_commit.setdefault(record["commit"], set()).add(op)
    return "; ".join(f"{', '.join(sorted(ops))} at {c}" for c, ops in by_commit.items())


def measured(plots: Path) -> dict[str, list[str]]:
    """The parts of the page that are made of records; their plots go to a folder."""
    device = "h200"
    records, several = records_of(device, "gpu"), records_of(f"{device}x2", "gpu")
    wide, theirs = records_of(device, "transforms"), peers(device)
    everything = records + several
    plot_gates(everything, theirs, plots / "gates.svg")
    plot_ntt(records, theirs, plots / "ntt.svg")
    sources = [
        f"All figures are medians. Those of one {chip(records)} are in "
        f"`bench/results/{device}/gpu.jsonl`: {commits(records)}. Those of two are in "
        f"`bench/results/{device}x2/gpu.jsonl`: {commits(several)}.",
    ]
    return {
        "sources": sources,
        "overview": overview(everything),
        "memory": memory(records),
        "same_chip": same_chip(records, theirs),
        "same_chip_ntts": same_chip_ntts(records, wide, theirs),
        "narrow_ntts": narrow_ntts(records),
    }
