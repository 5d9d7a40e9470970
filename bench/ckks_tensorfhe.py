"""What TensorFHE measures of kernels, beside Whorl's records of bench_tensorfhe and bench_ckks.

The paper: Fan and others, HPCA 2023. Figures whose values it only draws are not read off them; what
its text says of them is quoted.
"""

from __future__ import annotations

from typing import NamedTuple

from ckks_records import Shape, records, shape_of
from common.records import Record, table

KINDS = {
    "butterflies": "butterflies (the library's)",
    "products of words": "products of words (TensorFHE-CO)",
    "products of bytes, five stages": "products of bytes, five stages (TensorFHE)",
    "products of bytes, two stages": "the same products, two stages",
}
KERNELS = ("NTT", "Hada-Mult", "Ele-Add", "Ele-Sub", "Conv", "ForbeniusMap", "Conjugate")
BATCHES = (32, 64, 128, 256, 512, 1024)
LENGTHS = tuple(1 << log for log in range(11, 17))
# Which kernel of Table II does most of what a kernel of Whorl's does, by the start of its name.
KERNELS_OF = (
    ("ntt", "NTT"),
    ("intt", "NTT"),
    ("convert", "Conv"),
    ("sum_digit_products", "Hada-Mult and Ele-Add"),
    ("sum_products", "Hada-Mult and Ele-Add"),
    ("multiply_parts", "Hada-Mult and Ele-Add"),
    ("combine", "Ele-Add"),
    ("apply_elementwise", "Ele-Add"),
    ("scale", "Hada-Mult"),
    ("permute", "ForbeniusMap"),
    ("divide", "Ele-Sub"),
)
MISSING = "*No record yet: {what}.*"


def missing(what: str) -> list[str]:
    return [MISSING.format(what=what), ""]


class Kernel(NamedTuple):
    name: str
    share: float
    occupancy: float


class TensorFhe:
    """Records of one device."""

    def __init__(self, device: str) -> None:
        self.lines = records(device, "tensorfhe")
        self.operations = records(device, "ckks") + records(device, "ckks_bootstrap")

    def find(self, op: str, N: int, limbs: int, batch: int | None, **more: str) -> Record | None:
        """The last one. Without a batch, of any."""
        found = [
            line
            for line in self.lines
            if line["op"] == op
            and line["params"] == f"N={N}, limbs {limbs}"
            and (batch is None or line["batch"] == batch)
            and line.get("layout") == more.get("layout")
            and line.get("variant") == more.get("variant")
        ]
        return found[-1] if found else None

    def rate(self, op: str, N: int, kind: str, limbs: int, batch: int | None) -> float | None:
        """Transforms a second."""
        record = self.find(op, N, limbs, batch, variant=kind)
        return float(record["median"]) if record else None

    def _of(self, op: str, of: Shape, batch: int) -> list[Record]:
        return [
            line
            for line in self.operations
            if line["op"] == op and line["batch"] == batch and shape_of(line["params"]) == of
        ]

    def kernels(self, op: str, of: Shape, batch: int) -> list[Kernel]:
        """Of the last time that the operation was watched."""
        last = {line["kernel"]: line for line in self._of(f"{op}_kernel", of, batch)}
        commits = [line["commit"] for line in self._of(f"{op}_kernel", of, batch)]
        return [
            Kernel(name, float(line["share"]), float(line["occupancy"]))
            for name, line in last.items()
            if line["commit"] == commits[-1]
        ]

    def energy(self, op: str, of: Shape, batch: int) -> Record | None:
        found = self._of(f"{op}_energy", of, batch)
        return found[-1] if found else None


def kernel_of(name: str) -> str:
    for start, kernel in KERNELS_OF:
        if name.startswith(start):
            return kernel
    return "other"


def milliseconds(record: Record | None) -> str:
    return f"{1e3 * float(record['median']):.3g}" if record else ""


def whole(value: float | None) -> str:
    return f"{value:,.0f}" if value else ""


def table_transforms(of: TensorFhe, sets: tuple[tuple[int, str], ...]) -> list[str]:
    rows = [
        [f"{op.upper()}, `{name}`, N = {N:,}"]
        + [whole(of.rate(op, N, kind, 1, (1 << 26) // N)) for kind in KINDS]
        for N, name in sets
        for op in ("ntt", "intt")
    ]
    if not any(cell for row in rows for cell in row[1:]):
        return missing("`bench_tensorfhe --only transforms`")
    return table(["transforms a second", *KINDS.values()], rows)


def figure_14(of: TensorFhe, limbs: int) -> list[str]:
    rows = []
    for op in KERNELS:
        known = {b: of.find(op, 1 << 16, limbs, b) for b in BATCHES}
        usual = known[128]
        row = [op, milliseconds(usual)]
        for batch, record in known.items():
            if record and usual:
                each = float(record["median"]) / batch
                row.append(f"{each / (float(usual['median']) / 128):.2f}")
            else:
                row.append("")
        rows.append(row)
    lines = ["### Figure 14: time against batch", ""]
    lines += [
        "Each kernel of Table II at the Default set: milliseconds of a batch of 128, and the time "
        "of one ciphertext's polynomial beside that at 128. The paper draws its values; its text "
        "says that all kernels gain from 32 to 1,024, and ForbeniusMap, which gains most, 31.4 % "
        "from 128 to 1,024.",
        "",
    ]
    if not any(row[1] for row in rows):
        return lines + missing("`bench_tensorfhe --only kernels`")
    return lines + table(["", "ms at 128", *(f"batch {b:,}" for b in BATCHES)], rows)


def figure_15(of: TensorFhe, limbs: int) -> list[str]:
    heads = [f"2^{N.bit_length() - 1}" for N in LENGTHS]
    rows = [[op, *(milliseconds(of.find(op, N, limbs, 128)) for N in LENGTHS)] for op in KERNELS]
    kinds = []
    for kind, label in KINDS.items():
        rates = [of.rate("ntt", N, kind, limbs, 128) for N in LENGTHS]
        times = [f"{1e3 * limbs * 128 / rate:.3g}" if rate else "" for rate in rates]
        kinds.append([f"NTT: {label}", *times])
    lines = [
        "### Figure 15: time against N",
        "",
        "Milliseconds of a batch of 128 with the limbs of the Default set. The paper's text says "
        "that its NTT is 20.6 times as fast at 2^11 as at 2^16.",
        "",
    ]
    if not any(cell for row in rows + kinds for cell in row[1:]):
        return lines + missing("`bench_tensorfhe --only transforms,kernels`")
    lines += table(["ms", *heads], rows + kinds)
    by_batch = []
    for kind, label in KINDS.items():
        rates = [of.rate("ntt", 1 << 16, kind, limbs, batch) for batch in BATCHES]
        by_batch.append([label, *(whole(rate) for rate in rates)])
    if any(cell for row in by_batch for cell in row[1:]):
        lines += ["The kinds of transforms of 2^16, a second, against the batch:", ""]
        lines += table(["", *(f"batch {b:,}" for b in BATCHES)], by_batch)
    return lines


def layouts(of: TensorFhe, limbs: int) -> list[str]:
    lines = [
        "### Figure 9: order of arrays",
        "",
        "Milliseconds with the limbs of the Default set, N = 2^16. Whorl's order is (L, B, N). The "
        "other is the same kernels on arrays whose batch comes first; they work where the data "
        "lies. The paper compares with packing first, which is the last row.",
        "",
    ]
    orders = ("(L, B, N)", "(B, L, N)")
    rows = []
    for op in ("NTT", "INTT", "Hada-Mult", "Ele-Add", "RESCALE", "Conv"):
        row = [op]
        for batch in (8, 128):
            row += [milliseconds(of.find(op, 1 << 16, limbs, batch, layout=o)) for o in orders]
        rows.append(row)
    packed = [of.find("pack", 1 << 16, limbs, b, layout="(B, L, N) to (L, B, N)") for b in (8, 128)]
    rows.append(["pack", "", milliseconds(packed[0]), "", milliseconds(packed[1])])
    if not any(cell for row in rows for cell in row[1:]):
        return lines + missing("`bench_tensorfhe --only layouts`")
    return lines + table(["ms", *(f"batch {b}, {o}" for b in (8, 128) for o in orders)], rows)


def occupancy(
    of: TensorFhe, ops: dict[str, str], shape: Shape, paper: tuple[str, ...]
) -> list[str]:
    rows = [["paper: TensorFHE", "128", *paper]]
    for batch in (1, 128):
        row = ["Whorl, H200", str(batch)]
        for op in ops:
            kernels = of.kernels(op, shape, batch)
            share = sum(kernel.share * kernel.occupancy for kernel in kernels)
            row.append(f"{100 * share:.1f} %" if kernels else "")
        if any(row[2:]):
            rows.append(row)
    lines = ["### Table IX and Figure 5: occupancy", "", *table(["", "batch", *ops.values()], rows)]
    lines += [
        "Whorl's is the share of a multiprocessor's threads that can be resident "
        "(cudaOccupancyMaxActiveBlocksPerMultiprocessor, and no more blocks than the grid has), "
        "weighted by the time of each kernel. The paper's comes from Nsight. Without batches the "
        "paper reaches at most 14.3 %, with HMULT (Figure 5). Occupancy counts threads, and not "
        "what they do: Whorl's transforms hold many values in registers, and so have few threads.",
        "",
    ]
    return lines if len(rows) > 1 else lines + missing("`bench_ckks --kernels`")


def breakdown(of: TensorFhe, ops: dict[str, str], shape: Shape, boot: Shape) -> list[str]:
    columns = {name: of.kernels(op, shape, 128) for op, name in ops.items()}
    columns["bootstrap"] = of.kernels("bootstrap", boot, 32)
    kinds = list(dict.fromkeys([*(kernel for _, kernel in KERNELS_OF), "other"]))
    rows = []
    for kind in kinds:
        row = [kind]
        for kernels in columns.values():
            share = sum(kernel.share for kernel in kernels if kernel_of(kernel.name) == kind)
            row.append(f"{100 * share:.1f} %" if kernels and share else "")
        if any(row[1:]):
            rows.append(row)
    lines = [
        "### Figures 11 to 13: where the time goes",
        "",
        "The share of each kernel of Table II, of kernels launched one by one; the columns of "
        "operations are of the Default set in batches of 128, that of a bootstrap is of "
        "`tensorfhe/bootstrap` in a batch of 32. Whorl's kernels do several of these at once "
        "(a division ends in the transform before it), and are counted where most of their work "
        "is. In the paper the NTT takes 92.1 % of HMULT, 95.4 % of HROTATE, and up to 92.8 % of a "
        "workload (logistic regression).",
        "",
    ]
    if not rows:
        lines += missing("`bench_ckks --kernels` and `bench_ckks_bootstrap --kernels`")
    else:
        lines += table(["", *columns], rows)
    return lines + missing(
        "Figure 13, the share of operations in a workload, and Figure 12 for ResNet-20, logistic "
        "regression and LSTM"
    )


def energy(of: TensorFhe, ops: dict[str, str], shape: Shape, paper: tuple[str, ...]) -> list[str]:
    """Operations a second and watt, which are operations a joule."""
    found = [of.energy(op, shape, 128) for op in ops]
    rows = [["paper: TensorFHE", *paper]]
    if any(found):
        rows.append(["Whorl, H200", *(f"{1 / float(r['median']):.3g}" if r else "" for r in found)])
        rows.append(["Whorl, H200: watts", *(f"{r['watts']:.0f}" if r else "" for r in found)])
    lines = table(["operations a second and watt", *ops.values()], rows)
    lines += [
        "Whorl's energy is that of the GPU's own counter (NVML's "
        "nvmlDeviceGetTotalEnergyConsumption) over a second or more; the paper's is 264 W, as "
        "nvidia-smi shows it.",
        "",
    ]
    return lines if any(found) else lines + missing("`bench_ckks --energy 1`")


def stalls() -> list[str]:
    return [
        "### Figures 4 and 10: stalls",
        "",
        "The paper simulates a GTX 1080 Ti: 43.2 % of the time of its butterflies are stalls, 20.9 "
        "% waits for results of the instruction before. As products of matrices the stalls for "
        "results are 18.1 % fewer, and the whole 32.3 % faster. Figure 15 above shows which kind "
        "is the fastest on an H200.",
        "",
        *missing("stalls of Whorl's kernels, by `bench/kernel_stalls.py`"),
    ]
