"""What TensorFHE measures of kernels and workloads, beside Whorl's records.

The paper: Fan and others, HPCA 2023. Figures whose values it only draws are not read off them; what
its text says of them is quoted.
"""

from collections.abc import Callable
from typing import NamedTuple

from ckks_records import (
    BEST,
    DEVICES,
    SETS,
    Shape,
    Workload,
    is_full,
    joules_of,
    operations_of,
    shape_of,
)
from common.records import Record, milliseconds, pick, records_of
from common.tables import in_words, kept, percent, table, whole
from whorl import ckks

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
    ("sum_turned_products", "Hada-Mult and Ele-Add"),
    ("sum_products", "Hada-Mult and Ele-Add"),
    ("multiply_parts", "Hada-Mult and Ele-Add"),
    ("combine", "Ele-Add"),
    ("apply_elementwise", "Ele-Add"),
    ("scale", "Hada-Mult"),
    ("permute", "ForbeniusMap"),
    ("divide", "Ele-Sub"),
)
# What Nsight Compute watched at 2548cf7.
STALLED = {
    "ntt_kernel": KINDS["butterflies"],
    "product_of_words": KINDS["products of words"],
    "product_of_bytes": "products of bytes, both kinds",
    "convert": "words to bytes and back, five stages",
}
# Table X: seconds of a workload; the batch of Table V. Of 100x, those for ResNet-20 and for
# bootstrapping are the paper's estimates.
SYSTEMS = ("CPU", "100x, V100", "F1+", "CraterLake", "BTS", "ARK", "TensorFHE, A100")
TABLE_10 = (
    ("ResNet-20, 64 images", (88320, 602.9, 172.3, 15.9, 122.2, 18.8, 316.1), 64),
    (
        "Logistic regression, 14 iterations, 3 bootstraps",
        (22784, 49.6, 40.9, 7.6, 1.8, 0.49, 14.1),
        64,
    ),
    ("LSTM, 32 sentences", (27488, None, 82.3, 4.4, None, None, 123.1), 32),
    ("Packed bootstrapping, 32 ciphertexts", (550.4, 36.9, 1.8, 0.1, None, None, 13.5), 32),
)
# Table XI: J an iteration.
ENERGIES = ("ARK", "CraterLake", "TensorFHE, A100")
WORKLOADS_11 = (
    (32.5, 79.7, 1320),
    (19.8, 38.1, 58.27),
    (None, 44.2, 1015.3),
    (None, 1.3, 111.3),
)
TRAINING, PACKED = TABLE_10[1], TABLE_10[3]
NETWORKS = {
    "resnet20": "ResNet-20, {batch} image{s}",
    "rnn32": "recurrent network, 32 words, {batch} sentence{s}",
    "rnn200": "recurrent network, 200 words, {batch} sentence{s}",
}
"""Networks of networks.jsonl that the paper has too."""
ITERATIONS = 14
WATTS = 264
COVERED = 0.5
"""The least share of a workload whose kernels must be known."""
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
        self.name = DEVICES[device]
        self.workload = Workload(device)
        self.lines = records_of(device, "tensorfhe")
        self.networks = records_of(device, "networks")
        self.operations = operations_of(device, "ckks") + operations_of(device, "ckks_bootstrap")

    def find(self, op: str, N: int, limbs: int, batch: int | None, **more: str) -> Record | None:
        """Without a batch, of any."""
        names = {"layout": more.get("layout"), "variant": more.get("variant")}
        wanted = {"op": op, "params": f"N={N}, limbs {limbs}", **names}
        return pick(self.lines, **wanted, **({} if batch is None else {"batch": batch}))

    def rate(self, op: str, N: int, kind: str, limbs: int, batch: int | None) -> float | None:
        """Transforms a second."""
        record = self.find(op, N, limbs, batch, variant=kind)
        return float(record["median"]) if record else None

    def _of(self, op: str, of: Shape, batch: int | None) -> list[Record]:
        return [
            line
            for line in self.operations
            if line["op"] == op
            and batch in (None, line["batch"])
            and shape_of(line["params"]) == of
        ]

    def kernels(self, op: str, of: Shape, batch: int | None) -> list[Kernel]:
        """Kernels of an operation; without a batch, of the batch that was watched last."""
        found = self._of(f"{op}_kernel", of, batch)
        return [
            Kernel(line["kernel"], float(line["share"]), float(line["occupancy"]))
            for line in found
            if (line["commit"], line["batch"]) == (found[-1]["commit"], found[-1]["batch"])
        ]

    def workload_kernels(self) -> tuple[list[Kernel], float]:
        """Kernels of a training, by those of its operations, and the share of these in it."""
        known = {
            op: (float(record["share"]), self.kernels(op, SETS[BEST], None))
            for op, record in self.workload.operations().items()
        }
        covered = sum(share for share, kernels in known.values() if kernels)
        found = [
            kernel._replace(share=kernel.share * share / covered)
            for share, kernels in known.values()
            for kernel in kernels
        ]
        return found, covered

    def stalls(self) -> list[Record]:
        """What stalls each kernel."""
        return [line for line in self.lines if line["op"] == "stalls"]

    def bootstraps(self, of: Shape) -> list[Record]:
        """Bootstraps of all slots, with complex values."""
        found = [
            line
            for line in self._of("bootstrap", of, None)
            if is_full(line["params"]) and line["params"].endswith(", complex")
        ]
        return sorted(found, key=lambda line: line["batch"])

    def energy(self, op: str, of: Shape, batch: int) -> Record | None:
        found = self._of(f"{op}_energy", of, batch)
        return found[-1] if found else None


def by_device(
    devices: list[TensorFhe], made: Callable[[TensorFhe], list[str]], program: str
) -> list[str]:
    """A table of each device that has records."""
    lines = []
    for of in devices:
        if found := made(of):
            lines += [f"On an {of.name}:", "", *found]
    return lines or missing(program)


def figures(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table, if any cell behind the first ones of its rows has something."""
    return table(head, rows) if any(cell for row in rows for cell in row[1:]) else []


def kernel_of(name: str) -> str:
    for start, kernel in KERNELS_OF:
        if name.startswith(start):
            return kernel
    return "other"


def took(record: Record | None) -> str:
    return in_words(milliseconds(record))


def table_transforms(devices: list[TensorFhe], sets: tuple[tuple[int, str], ...]) -> list[str]:
    def made(of: TensorFhe) -> list[str]:
        rows = [
            [f"{op.upper()}, `{name}`, N = {N:,}"]
            + [whole(of.rate(op, N, kind, 1, (1 << 26) // N)) for kind in KINDS]
            for N, name in sets
            for op in ("ntt", "intt")
        ]
        return figures(["transforms a second", *KINDS.values()], rows)

    return by_device(devices, made, "the kinds of transforms")


def figure_14(devices: list[TensorFhe], limbs: int) -> list[str]:
    def row_of(of: TensorFhe, op: str) -> list[str]:
        known = {b: of.find(op, 1 << 16, limbs, b) for b in BATCHES}
        usual = known[128]
        row = [op, took(usual)]
        for batch, record in known.items():
            if record and usual:
                each = float(record["median"]) / batch
                row.append(f"{each / (float(usual['median']) / 128):.2f}")
            else:
                row.append("")
        return row

    def made(of: TensorFhe) -> list[str]:
        head = ["", "ms at 128", *(f"batch {b:,}" for b in BATCHES)]
        return figures(head, [row_of(of, op) for op in KERNELS])

    return by_device(devices, made, "`bench_tensorfhe --only kernels`")


def lengths(of: TensorFhe, limbs: int) -> list[str]:
    """Times of kernels and of kinds of transforms against N."""
    rows = [[op, *(took(of.find(op, N, limbs, 128)) for N in LENGTHS)] for op in KERNELS]
    for kind, label in KINDS.items():
        rates = [of.rate("ntt", N, kind, limbs, 128) for N in LENGTHS]
        times = [rate and 1e3 * limbs * 128 / rate for rate in rates]
        rows.append([f"NTT: {label}", *map(in_words, times)])
    return figures(["ms", *(f"2^{N.bit_length() - 1}" for N in LENGTHS)], rows)


def kinds_by_batch(of: TensorFhe, limbs: int) -> list[str]:
    rows = []
    for kind, label in KINDS.items():
        rates = [of.rate("ntt", 1 << 16, kind, limbs, batch) for batch in BATCHES]
        rows.append([label, *(whole(rate) for rate in rates)])
    lines = figures(["", *(f"batch {b:,}" for b in BATCHES)], rows)
    about = "The kinds of transforms of 2^16, a second, against the batch:"
    return [about, "", *lines] if lines else []


def figure_15(devices: list[TensorFhe], limbs: int) -> list[str]:
    def made(of: TensorFhe) -> list[str]:
        return lengths(of, limbs) + kinds_by_batch(of, limbs)

    return by_device(devices, made, "`bench_tensorfhe --only kernels`")


def layouts(devices: list[TensorFhe], limbs: int) -> list[str]:
    orders, batches = ("(L, B, N)", "(B, L, N)"), (8, 128)

    def made(of: TensorFhe) -> list[str]:
        def found(op: str, batch: int, layout: str) -> str:
            return took(of.find(op, 1 << 16, limbs, batch, layout=layout))

        rows = [
            [op, *(found(op, batch, order) for batch in batches for order in orders)]
            for op in ("NTT", "INTT", "Hada-Mult", "Ele-Add", "RESCALE", "Conv")
        ]
        packed = [found("pack", batch, "(B, L, N) to (L, B, N)") for batch in batches]
        rows.append(["pack", "", packed[0], "", packed[1]])
        return figures(["ms", *(f"batch {b}, {o}" for b in batches for o in orders)], rows)

    return by_device(devices, made, "`bench_tensorfhe --only layouts`")


def occupancy(
    devices: list[TensorFhe], ops: dict[str, str], shape: Shape, paper: tuple[str, ...]
) -> list[str]:
    rows = [["paper: TensorFHE", "128", *paper]]
    for of in devices:
        for batch in (1, 128):
            row = [f"Whorl, {of.name}", str(batch)]
            for op in ops:
                kernels = of.kernels(op, shape, batch)
                share = sum(kernel.share * kernel.occupancy for kernel in kernels)
                row.append(percent(share) if kernels else "")
            if any(row[2:]):
                rows.append(row)
    lines = table(["", "batch", *ops.values()], rows)
    return lines if len(rows) > 1 else lines + missing("`bench_ckks --kernels`")


def row_of(what: str, seconds: float, joules: float | None) -> list[str]:
    return [what, f"{seconds:.3g}", f"{joules:.3g}" if joules else ""]


def trainings(of: TensorFhe) -> list[list[str]]:
    """The paper's iterations of a mini-batch each, as many as were measured, and those of all
    samples."""
    known = of.workload.iterations()
    rows = []
    for count in sorted({ITERATIONS, *known}) if known else []:
        source = count if count in known else known[-1]
        record = of.workload.iteration(source)
        more = (
            f", {record['bootstraps']} bootstraps"
            if source == count
            else f" at the mean rate of {source}"
        )
        label = f"{of.name}: logistic regression, {count} iterations of 1,024 samples{more}"
        seconds = count * float(record["median"])
        rows.append(row_of(label, seconds, of.workload.joules(source)))
    if whole := of.workload.whole():
        record, joules = whole
        count, samples = (int(each) for each in record["params"].split()[0:4:3])
        label = f"{of.name}: logistic regression, {count} iterations of {samples:,} samples"
        label += f", {record['bootstraps']} bootstraps"
        rows.append(row_of(label, float(record["median"]), joules and joules / count))
    return rows


def networks(of: TensorFhe) -> list[list[str]]:
    """The paper's networks, in each batch that was measured."""
    rows = []
    for record in of.networks:
        if label := NETWORKS.get(record["op"]):
            op, batch, variant = f"{record['op']}_energy", record["batch"], record.get("variant")
            what = label.format(batch=batch, s="" if batch == 1 else "s")
            if variant:
                what += f", {variant}"
            joules = joules_of(pick(of.networks, op=op, batch=batch, variant=variant))
            rows.append(row_of(f"{of.name}: {what}", float(record["median"]), joules))
    return rows


def packed(of: TensorFhe) -> list[list[str]]:
    """Packed bootstrapping, in each batch that was measured."""
    shape = SETS["tensorfhe/packed-bootstrap"]
    rows = []
    for record in of.bootstraps(shape):
        batch = record["batch"]
        joules = joules_of(of.energy("bootstrap", shape, batch))
        label = f"{of.name}: packed bootstrapping, {batch} ciphertexts"
        rows.append(row_of(label, float(record["median"]), joules))
    return rows


def about_packed(devices: list[TensorFhe]) -> list[str]:
    """How the paper's time of a ciphertext compares with the best of each device."""
    _, seconds, batch = PACKED
    theirs, found = 1e3 * seconds[-1] / batch, ""
    for name in ("tensorfhe/packed-bootstrap", BEST):
        for of in devices:
            each = [1e3 * float(r["median"]) / r["batch"] for r in of.bootstraps(SETS[name])]
            if each:
                found += f"Whorl's takes {in_words(min(each))} ms with `{name}` on an {of.name}. "
    # A file has one half of a key, and the seed of the other.
    parameters = ckks.parameters("tensorfhe/packed-bootstrap")
    keys = 2 * parameters.key_size(bootstrap=[parameters.slots]) / 1e9
    return [
        f"TensorFHE's packed bootstrapping takes {in_words(theirs)} ms a ciphertext at L = 57. "
        f"{found}`tensorfhe/packed-bootstrap` has L = 57 and K = 1, and leaves 29 levels of 27 "
        f"bits; `{BEST}` has other levels. Both have 128 bits of security. Keys of 58 digits for "
        f"one special prime take {keys:.1f} GB on the device, by their number and size. Batches "
        "of 32 are slower for each ciphertext than batches of 4: they take so much memory that "
        "keys leave the device and come back.",
        "",
    ]


def about_whole(devices: list[TensorFhe]) -> list[str]:
    """How the training of all samples compares with the paper's."""
    theirs = TRAINING[1][-1]
    lines = []
    for of in devices:
        if found := of.workload.whole():
            record, _ = found
            seconds = float(record["median"])
            lines += [
                f"The paper's training takes {theirs} s on an A100. With as many samples Whorl's "
                f"takes {seconds:.2g} s on an {of.name}: {theirs / seconds:.0f} times as fast, "
                "if the paper's is one training, and not its batch of 64. Whorl's model tells "
                f"{100 * record['accuracy']:.2f} % of the test's digits apart, and in the "
                f"clear {100 * record['accuracy_clear']:.2f} %; the areas under the curve are "
                f"{record['auc']:.4f} and {record['auc_clear']:.4f}.",
                "",
            ]
    return lines


def workloads(devices: list[TensorFhe]) -> list[str]:
    """Table X, and the workloads of Table XI."""
    rows = [
        [name, *(f"{each:g}" if each else "" for each in (*seconds, *joules))]
        for (name, seconds, _), joules in zip(TABLE_10, WORKLOADS_11, strict=True)
    ]
    head = ["the paper's", *(f"{each}, s" for each in SYSTEMS)]
    lines = table([*head, *(f"{each}, J an iteration" for each in ENERGIES)], rows)
    trained = [row for of in devices for row in trainings(of)]
    classified = [row for of in devices for row in networks(of)]
    refreshed = [row for of in devices for row in packed(of)]
    ours = classified + trained + refreshed
    _, seconds, batch = TRAINING
    joules = WATTS * seconds[-1]
    lines += [
        *(
            kept(["Whorl's", "s", "J an iteration, image, sentence or ciphertext"], ours)
            if ours
            else []
        ),
        f"The paper's J an iteration are its {WATTS} W times the seconds over the batch of Table "
        f"V, within 1.3 %: for logistic regression {WATTS} · {seconds[-1]} / {batch} = "
        f"{joules / batch:.1f}. Over its {ITERATIONS} iterations it would be "
        f"{joules / ITERATIONS:.0f} J."
        + (
            " Whorl's is the energy of a training over its iterations."
            if any(row[-1] for row in trained)
            else ""
        ),
        "",
        *about_whole(devices),
        *about_packed(devices),
    ]
    if not refreshed:
        lines += missing(
            "`bench_ckks_bootstrap --name packed_bootstrap --set tensorfhe/packed-bootstrap "
            "--batch 32 --energy 1`"
        )
    if not any(of.workload.whole() for of in devices):
        lines += missing(
            "logistic regression on 16,384 samples an iteration, by `bench/ckks_workload.py "
            "--samples 16384 --iterations 14`"
        )
    return lines if trained else lines + missing("a training, by `bench/ckks_workload.py`")


def shares_of_kernels(
    of: TensorFhe, ops: dict[str, str], shape: Shape
) -> tuple[dict[str, list[Kernel]], float]:
    """The kernels of each column of a table, and the share of a training that its own covers."""
    columns = {name: of.kernels(op, shape, 128) for op, name in ops.items()}
    for name, batch in (("tensorfhe/bootstrap", 32), (BEST, 8)):
        columns[f"bootstrap, `{name}`, batch {batch}"] = of.kernels("bootstrap", SETS[name], batch)
    kernels, covered = of.workload_kernels()
    columns["logistic regression"] = kernels if covered >= COVERED else []
    return columns, covered


def kernels_table(of: TensorFhe, ops: dict[str, str], shape: Shape) -> list[str]:
    columns, covered = shares_of_kernels(of, ops, shape)
    rows = []
    for kind in dict.fromkeys([*(kernel for _, kernel in KERNELS_OF), "other"]):
        row = [kind]
        for kernels in columns.values():
            share = sum(kernel.share for kernel in kernels if kernel_of(kernel.name) == kind)
            row.append(percent(share) if share else "")
        if any(row[1:]):
            rows.append(row)
    lines = kept(["", *columns], rows)
    if columns["logistic regression"]:
        lines += [
            "The column of logistic regression (Figure 12) is the sum of the columns of its "
            f"operations with `{BEST}`, by their shares in Figure 13. Those whose kernels are "
            f"known take {percent(covered)} of a training.",
            "",
        ]
    return lines


def operations_table(of: TensorFhe, ops: dict[str, str]) -> list[str]:
    rows = [
        [ops.get(op, op), percent(record["share"]), f"{record['calls']:,}", took(record)]
        for op, record in of.workload.operations().items()
    ]
    count = max(of.workload.iterations(), default=0)
    return table([f"a training of {count} iterations", "share", "calls", "ms of all calls"], rows)


def kernels(devices: list[TensorFhe], ops: dict[str, str], shape: Shape) -> list[str]:
    """Figures 11 and 12."""
    return by_device(
        devices,
        lambda of: kernels_table(of, ops, shape),
        "`bench_ckks --kernels` and `bench_ckks_bootstrap --kernels`",
    )


def operations(devices: list[TensorFhe], ops: dict[str, str]) -> list[str]:
    """Figure 13."""
    lines = by_device(
        devices,
        lambda of: operations_table(of, ops),
        "Figure 13, and Figure 12 for logistic regression, by `bench/ckks_workload.py`",
    )
    known = [of for of in devices if of.workload.iterations()]
    if known and not any(of.workload_kernels()[1] >= COVERED for of in known):
        lines += missing(
            "Figure 12 for logistic regression, by `bench_ckks --depth 32 --kernels` and "
            f"`bench_ckks_bootstrap --set {BEST} --kernels`"
        )
    return lines


def energy(
    devices: list[TensorFhe], ops: dict[str, str], shape: Shape, paper: tuple[str, ...]
) -> list[str]:
    """Operations a second and watt, which are operations a joule."""
    rows = [["paper: TensorFHE", *paper]]
    for of in devices:
        found = [of.energy(op, shape, 128) for op in ops]
        if any(found):
            name = f"Whorl, {of.name}"
            rows.append([name, *(f"{1 / float(r['median']):.3g}" if r else "" for r in found)])
            rows.append([f"{name}: watts", *(f"{r['watts']:.0f}" if r else "" for r in found)])
    lines = table(["operations a second and watt", *ops.values()], rows)
    return lines if len(rows) > 1 else lines + missing("`bench_ckks --energy 1`")


def stall_row(record: Record) -> list[str]:
    """A kernel, the share of its time that is stalled, and the three largest reasons."""
    waits = {
        reason: share
        for reason, share in record["stalls"].items()
        if reason not in ("selected", "not_selected")
    }
    most = sorted(waits, key=lambda reason: -waits[reason])[:3]
    named = [f"{reason.replace('_', ' ')} {percent(waits[reason])}" for reason in most]
    name = str(record["kernel"])
    return [STALLED.get(name, name), percent(record["median"]), ", ".join(named)]


def stalls(devices: list[TensorFhe]) -> list[str]:
    """Figures 4 and 10."""

    def made(of: TensorFhe) -> list[str]:
        rows = [stall_row(record) for record in of.stalls()]
        return table(["kernel", "time stalled", "most of it"], rows)

    return by_device(devices, made, "stalls of Whorl's kernels")
