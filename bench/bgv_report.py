"""docs/bgv-performance.md: Whorl's BGV beside the figures of Papadakis et al.

Reads bench/results/cpu/bgv.jsonl and bench/results/h200/bgv.jsonl, which bench_bgv and
bench/openfhe_bgv.py write, and bench/results/peers/h200.jsonl; draws bgv-*.svg. What has no records
is left out, and the page says so. bench/pages.py writes the page.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.plots import Curve, curves, legend_beside, plt, save, scaled, stacked
from common.records import Record, milliseconds, peers, pick, records_of
from common.tables import in_words, kept, ratio, table, times, whole

DEVICES = {"cpu": "CPU, one thread", "h200": "H200"}
DEPTHS = (1, 5, 12, 24)
EXAMPLE_DEPTHS = (1, 2, 5, 12, 24)

# Papadakis et al., Table I: what they call the functions, per cent of the time, calls. They have no
# figures for what is in brackets.
TABLE_1: dict[str, tuple[str, str | None, int]] = {
    "parameters": ("genCryptoContextBGVRNSInternal", "5.5", 1),
    "keygen_rotate": ("EvalAtIndexKeyGen", "34.6", 1),
    "keygen_relin": ("EvalMultKeyGen", "8.7", 1),
    "keygen_pair": ("KeyGen", "4.6", 1),
    "encrypt": ("MakePackedPlaintext, Encrypt", "1.2 + 8.0", 3),
    "load_keys": ("(keys to the server)", None, 1),
    "upload": ("(ciphertexts to the device)", None, 3),
    "rotate": ("EvalRotate", "17.5", 5),
    "mult_relin": ("EvalMult", "12.1", 2),
    "add": ("EvalAdd", "< 1", 2),
    "download": ("(results from the device)", None, 7),
    "decrypt": ("Decrypt", "6.9", 7),
}
# What the plot draws together.
PARTS = {
    "parameters": ("parameters",),
    "key generation": ("keygen_pair", "keygen_relin", "keygen_rotate"),
    "encryption": ("encrypt",),
    "keys to the server": ("load_keys",),
    "copies": ("upload", "download"),
    "operations": ("add", "mult_relin", "rotate"),
    "decryption": ("decrypt",),
}
# Table IV, ms, by depth: GPU kernel, accelerated end to end, OpenFHE alone.
TABLE_4 = {1: (0.05, 531, 0.68), 5: (0.5, 603, 13), 12: (5, 836, 123), 24: (60, 2273, 1182)}
# What the text says of Figure 5: per cent of marshalling and allocation.
FIGURE_5_REST = {1: 99.97, 24: 67.40}

OPERATIONS = {"mult_relin": "multiply + relinearise", "rotate": "rotate", "add": "add"}
DRAWN = ("mult_relin", "rotate")
RINGS = {1: 8192, 5: 16384, 12: 32768, 24: 65536}


def phantom(op: str, depth: int) -> float | None:
    """Milliseconds of Phantom's BGV on an H200, at the ring of a depth."""
    params = f"BGV N {RINGS[depth]}"
    return milliseconds(pick(peers("h200"), peer="Phantom", op=op, params=params))


class Records:
    """What was measured on one device."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._records = records_of(device, "bgv")
        self.commits: set[str] = set()

    def _find(self, depth: int, op: str, part: str | None, peer: str | None) -> Record | None:
        here = [r for r in self._records if f"depth={depth}," in r["params"]]
        waited = None if peer else True
        record = pick(here, op=op, batch=1, part=part, waited=waited, peer_scaling=peer)
        if record:
            self.commits.add(record["commit"])
        return record

    def milliseconds(self, depth: int, op: str, part: str | None = None) -> float | None:
        """The median."""
        return milliseconds(self._find(depth, op, part, None))

    def against_openfhe(
        self, depth: int, op: str = "mult_relin"
    ) -> tuple[float | None, float | None]:
        """Whorl and OpenFHE as it is by default: CPU time of one thread."""
        record = self._find(depth, op, None, "FLEXIBLEAUTOEXT")
        return (1e3 * record["median"], 1e3 * record["peer_median"]) if record else (None, None)

    def versions(self) -> list[str]:
        """That times alone and times beside OpenFHE are of two versions, and how they differ."""
        alone = [self._find(depth, "mult_relin", None, None) for depth in DEPTHS]
        beside = [self._find(depth, "mult_relin", None, "FLEXIBLEAUTOEXT") for depth in DEPTHS]
        known = [(a, b) for a, b in zip(alone, beside, strict=True) if a and b]
        of_alone = {str(a["commit"]) for a, _ in known}
        of_beside = {str(b["commit"]) for _, b in known}
        if of_alone == of_beside:
            return []
        most = max(abs(a["median"] / b["median"] - 1) for a, b in known)
        return [
            f"The times on the CPU here, and those end to end above, are of another version "
            f"({', '.join(sorted(of_alone))}) than the comparison with OpenFHE above "
            f"({', '.join(sorted(of_beside))}). They differ by up to {100 * most:.0f} %.",
            "",
        ]

    def example(self, depth: int) -> dict[str, float]:
        """Milliseconds of each step; nothing unless all are known."""
        steps = {op: self.milliseconds(depth, op, "example") for op in TABLE_1}
        found = {op: ms for op, ms in steps.items() if ms is not None}
        return found if len(found) == len(TABLE_1) else {}

    def multiplication(self, depth: int) -> tuple[float, float, float] | None:
        """EvalMult from host memory to host memory: the operation, copies, the rest; no rest where
        copies ran beside other work."""
        kernel, copy, total = (
            self.milliseconds(depth, op) for op in ("mult_relin", "copy", "end_to_end")
        )
        if kernel is None or copy is None or total is None:
            return None
        return kernel, copy, max(0.0, total - kernel - copy)

    def memory(self, depth: int) -> Record | None:
        """What a server of 17 keys holds."""
        return self._find(depth, "memory", None, None)

    def threads(self) -> int:
        """Threads of the host, where multiplications were timed end to end."""
        return max((record["threads"] for record in self._records), default=1)


def name(records: Records) -> str:
    return DEVICES[records.device]


def table_1(records: Records) -> list[str]:
    steps = {depth: records.example(depth) for depth in EXAMPLE_DEPTHS}
    steps = {depth: found for depth, found in steps.items() if found}
    if not steps:
        return [f"*{name(records)}: the example was not measured yet.*", ""]
    sums = {depth: sum(found.values()) for depth, found in steps.items()}
    rows = []
    for op, (function, theirs, calls) in TABLE_1.items():
        row = [f"`{op}`", function, str(calls), theirs or ""]
        row += [f"{100 * steps[depth][op] / sums[depth]:.1f}" for depth in steps]
        rows.append(row)
    rows.append(["all, ms", "", "", "", *(in_words(sums[depth]) for depth in steps)])
    for label, ops in (
        ("operations, data on the device, ms", PARTS["operations"]),
        ("the same from host memory to host memory, ms", PARTS["operations"] + PARTS["copies"]),
    ):
        found = [in_words(sum(steps[depth][op] for op in ops)) for depth in steps]
        rows.append([label, "", "", "", *found])
    head = ["step", "OpenFHE's function", "calls", "paper, %"]
    head += [f"depth {depth}, %" for depth in steps]
    return [f"**{name(records)}**", "", *table(head, rows)]


def table_4(cpu: Records, gpu: Records) -> list[str]:
    rows = []
    for depth, (kernel, accelerated, baseline) in TABLE_4.items():
        ours, theirs = cpu.against_openfhe(depth)
        on_gpu = [gpu.milliseconds(depth, op) for op in ("mult_relin", "end_to_end")]
        known = [theirs, ours, cpu.milliseconds(depth, "end_to_end"), *on_gpu]
        row = [str(depth), in_words(baseline), in_words(kernel), in_words(accelerated)]
        row += [times(baseline / accelerated), *map(in_words, known)]
        rows.append([*row, *(ratio(theirs, each) for each in (ours, *on_gpu))])
    head = ["depth", "paper: OpenFHE", "its GPU kernel", "its end to end", "gains"]
    head += ["OpenFHE here", "Whorl, CPU", "CPU, end to end", "H200, operands on it"]
    head += ["H200, end to end", "CPU gains", "H200 gains", "H200 end to end gains"]
    return kept(head, rows)


def table_peers(cpu: Records, gpu: Records) -> list[str]:
    rows = []
    for op, label in OPERATIONS.items():
        for depth in DEPTHS:
            ours, openfhe = cpu.against_openfhe(depth, op)
            theirs, on_gpu = phantom(op, depth), gpu.milliseconds(depth, op)
            known = map(in_words, (openfhe, ours, theirs, on_gpu))
            rows.append([label, str(depth), *known, ratio(theirs, on_gpu)])
    head = ["", "depth", "OpenFHE, one thread", "Whorl, one thread", "Phantom, one H200"]
    return table([*head, "Whorl, one H200", "Phantom's time ÷ Whorl's"], rows)


def table_memory(all_records: list[Records]) -> list[str]:
    rows = []
    for records in all_records:
        for depth in DEPTHS:
            if found := records.memory(depth):
                sizes = [found[member] for member in ("key_bytes", "working_set", "file_bytes")]
                used = [found["median"] if "free_before" in found else None]
                megabytes = [whole(size and size / 1e6) for size in sizes + used]
                rows.append([name(records), str(depth), *megabytes])
    head = ["", "depth", "17 keys, MB", "ciphertexts, MB", "the keys in a file, MB"]
    return table([*head, "GPU memory used, MB"], rows) or ["*Not measured yet.*", ""]


def table_5(records: Records) -> list[str]:
    rows = []
    for depth in DEPTHS:
        parts = records.multiplication(depth)
        if not parts:
            continue
        total = sum(parts)
        theirs = FIGURE_5_REST.get(depth)
        row = [str(depth), *(f"{in_words(x)} ms, {100 * x / total:.0f} %" for x in parts)]
        rows.append([*row, f"{theirs} %" if theirs else ""])
    head = ["depth", "multiply + relinearise", "copies", "the rest", "the paper's rest"]
    if lines := table(head, rows):
        return [f"**{name(records)}**", "", *lines]
    return [f"*{name(records)}: bare copies were not measured yet.*", ""]


def stack(axis: Any, columns: list[str], parts: dict[str, list[float]], colours: list[str]) -> None:
    """Columns of 100 %; `parts` are in any unit."""
    sums = [sum(values) for values in zip(*parts.values(), strict=True)]
    shares = {
        label: [100 * x / total for x, total in zip(values, sums, strict=True)]
        for label, values in parts.items()
    }
    stacked(axis.bar, "bottom", columns, shares, colours, width=0.75)
    axis.set(ylim=(0, 100), xlabel="depth", ylabel="% of the time")


def plot_shares(all_records: list[Records], to: Path) -> None:
    """The example by its parts, and a multiplication end to end as the paper's Figure 5."""
    colours = ["#999999", "#4477aa", "#66ccee", "#ccbb44", "#ee6677", "#228833", "#aa3377"]
    panels: list[tuple[str, list[str], dict[str, list[float]], list[str]]] = []
    for records in all_records:
        steps = {depth: records.example(depth) for depth in EXAMPLE_DEPTHS}
        depths = [depth for depth in EXAMPLE_DEPTHS if steps[depth]]
        if depths:
            parts = {
                part: [sum(steps[depth][op] for op in ops) for depth in depths]
                for part, ops in PARTS.items()
            }
            panels.append(
                (f"The example, {name(records)}", [str(x) for x in depths], parts, colours)
            )
    for records in all_records:
        found = {depth: records.multiplication(depth) for depth in DEPTHS}
        known = {depth: parts for depth, parts in found.items() if parts}
        if known:
            labels = ("multiply + relinearise", "copies", "the rest")
            parts = {label: [known[x][i] for x in known] for i, label in enumerate(labels)}
            title = f"EvalMult end to end, {name(records)}"
            picked = [colours[5], colours[4], colours[0]]
            panels.append((title, [str(x) for x in known], parts, picked))
    columns = 2
    lines = max(1, -(-len(panels) // columns))
    figure, axes = plt.subplots(lines, columns, figsize=(10.5, 3.6 * lines), squeeze=False)
    for axis, (title, names, parts, picked) in zip(axes.flat, panels, strict=False):
        stack(axis, names, parts, picked)
        axis.set_title(title)
        legend_beside(axis, 7)
    for axis in list(axes.flat)[len(panels) :]:
        axis.axis("off")
    save(figure, to, bool(panels))


def points(of_depths: Iterable[float | None]) -> list[tuple[float, float]]:
    """Those that are known: places of depths, milliseconds."""
    return [(at, ms) for at, ms in enumerate(of_depths) if ms]


def by_depth(records: Records, op: str) -> list[tuple[float, float]]:
    return points(records.milliseconds(depth, op) for depth in DEPTHS)


def on_a_thread(cpu: Records, op: str) -> list[list[tuple[float, float]]]:
    """Whorl and OpenFHE."""
    pairs = [cpu.against_openfhe(depth, op) for depth in DEPTHS]
    return [points(each) for each in zip(*pairs, strict=True)]


def depths_of(axis: Any, **named: str) -> None:
    scaled(axis, y="log", xlabel="depth", **named)
    axis.set_xticks(range(len(DEPTHS)), [str(depth) for depth in DEPTHS])


def plot_multiplication(cpu: Records, gpu: Records, to: Path) -> None:
    """Milliseconds of EvalMult by depth, Whorl's and the paper's (its Figure 4 and Table IV)."""
    labels = ("paper: GPU kernel, RTX 3070", "paper: GPU end to end", "paper: OpenFHE, i7-13700")
    papers: list[Curve] = [
        (label, points(TABLE_4[depth][i] for depth in DEPTHS), style, "tab:gray")
        for i, (label, style) in enumerate(zip(labels, (":v", ":^", ":s"), strict=True))
    ]
    ours, theirs = on_a_thread(cpu, "mult_relin")
    here: list[Curve] = [
        ("OpenFHE here, one thread", theirs, "--s", "C0"),
        ("Whorl, one thread", ours, "-s", "C1"),
        ("Whorl, H200, operands on it", by_depth(gpu, "mult_relin"), "-v", "C2"),
        ("Whorl, H200, end to end", by_depth(gpu, "end_to_end"), "-^", "C3"),
    ]
    figure, axis = plt.subplots(figsize=(8, 4))
    curves(axis, papers, markersize=4, linewidth=1.2)
    drawn = curves(axis, here, markersize=4, linewidth=1.2)
    depths_of(axis, ylabel="ms of one EvalMult")
    legend_beside(axis)
    save(figure, to, drawn)


def plot_peers(cpu: Records, gpu: Records, to: Path) -> None:
    """Latency by depth: OpenFHE and Whorl on a thread, Phantom and Whorl on an H200."""
    drawn = False
    figure, axes = plt.subplots(1, len(DRAWN), figsize=(10.5, 3.8), sharey=True)
    for axis, op in zip(axes, DRAWN, strict=True):
        ours, theirs = on_a_thread(cpu, op)
        phantoms = points(phantom(op, depth) for depth in DEPTHS)
        each: list[Curve] = [
            ("Phantom, one H200", phantoms, "--^", "tab:gray"),
            ("OpenFHE, one thread", theirs, "--s", "C0"),
            ("Whorl, one thread", ours, "-s", "C1"),
            ("Whorl, one H200", by_depth(gpu, op), "-v", "C2"),
        ]
        drawn |= curves(axis, each, markersize=4, linewidth=1.2)
        depths_of(axis, title=OPERATIONS[op])
    axes[0].set_ylabel("ms")
    legend_beside(axes[-1])
    save(figure, to, drawn)


def measured(plots: Path) -> dict[str, list[str]]:
    """The parts of the page that are made of records; their plots go to a folder."""
    cpu, gpu = Records("cpu"), Records("h200")
    plot_peers(cpu, gpu, plots / "bgv-peers.svg")
    plot_multiplication(cpu, gpu, plots / "bgv-evalmult.svg")
    plot_shares([cpu, gpu], plots / "bgv-shares.svg")
    multiplication = table_4(cpu, gpu)
    if not any(gpu.milliseconds(depth, "end_to_end") for depth in DEPTHS):
        multiplication += ["*The GPU's columns are left out: there are no records of it yet.*", ""]
    memory = table_memory([cpu, gpu])
    for records in (cpu, gpu):
        if records.commits:
            path = f"bench/results/{records.device}/bgv.jsonl"
            memory.append(
                f"- {name(records)}: `{path}`, commits {', '.join(sorted(records.commits))}, "
                f"host threads {records.threads()}."
            )
    return {
        "peers": table_peers(cpu, gpu),
        "table_4": multiplication,
        "table_5": [*cpu.versions(), *table_5(cpu), *table_5(gpu)],
        "table_1": [*table_1(cpu), *table_1(gpu)],
        "memory": memory,
    }
