"""docs/ckks-performance.md: Whorl's CKKS beside TensorFHE's tables and other libraries.

Reads bench/results/cpu and those of each GPU, h200 and h100: ckks.jsonl and ckks_bootstrap.jsonl,
which bench_ckks, bench_ckks_bootstrap, bench/openfhe_ckks.py and bench/python_peers.py write,
transforms.jsonl, networks.jsonl, ckks_workload.jsonl and tensorfhe.jsonl (bench_tensorfhe;
transforms and stalls of products of matrices are of code that only git has).
Bootstraps on two GPUs are those of h200x2 and h100x2, other libraries' figures on GPUs those of
peers/h200.jsonl. Draws ckks-*.svg (bench/ckks_plots.py). What has no records is left out, and the
page says so. The security of sets is what the module `whorl` estimates. bench/pages.py writes the
page.
"""

from pathlib import Path

import ckks_plots
import ckks_tensorfhe
from ckks_records import (
    BEST,
    CURVES,
    DEVICES,
    FLOORS,
    GPUS,
    PAIRS,
    PHASES,
    PYTHON_PEERS,
    SETS,
    Measured,
    commits,
    of_commits,
    pairs,
)
from ckks_tensorfhe import TensorFhe
from common.records import Record, milliseconds, peers, pick, records_of
from common.tables import NOT_MEASURED, columns, in_words, kept, ratio, table, whole
from whorl import ckks

# TensorFHE (Fan and others, HPCA 2023). Table V: set, N, L, K, log2 PQ, batch.
TABLE_5 = (
    ("Default", "tensorfhe/default", "2^16", 44, 1, 1306, 128),
    ("ResNet-20", "tensorfhe/resnet20", "2^16", 29, 1, 840, 64),
    ("Logistic regression", "tensorfhe/logistic", "2^16", 38, 1, 1092, 64),
    ("LSTM", "tensorfhe/lstm", "2^15", 25, 1, 728, 32),
    ("Packed bootstrapping", "tensorfhe/packed", "2^16", 57, 1, 1624, 32),
)
# Table VI: ms of a batch of 128. CPU, PrivFT and 100x are those that the paper quotes.
OPERATIONS = {
    "mult_relin": ("HMULT", "multiply + relinearise"),
    "rotate": ("HROTATE", "rotate"),
    "rescale": ("RESCALE", "rescale"),
    "add": ("HADD", "add"),
    "mult_plain": ("CMULT", "multiply by a plaintext"),
}
TABLE_6 = {
    "CPU": (338e3, 330e3, 18611, 3609, 3356),
    "PrivFT, V100": (7153, None, 208, 24, 21),
    "100x, V100": (2227, 2154, 81, 26, 22),
    "TensorFHE-NT": (2124, 2111, 35, 6, 7.7),
    "TensorFHE-CO": (1651.2, 1523.2, 9.2, 6, 7.7),
    "TensorFHE, V100": (1296.6, 1254.4, 15.4, 10.2, 11.5),
    "TensorFHE, A100": (851, 852, 7.7, 6, 7.7),
}
TABLE_6_BATCH = 128
# Table VII: ms of a batch of 128 bootstraps; its caption says seconds.
TABLE_7 = {
    "CPU": 10168e3,
    "baseline of 100x, V100": 54904,
    "100x, V100": 42016,
    "TensorFHE-NT": 76731,
    "TensorFHE-CO": 70762,
    "TensorFHE, A100": 32058,
}
TABLE_7_BATCH = 128
# Table VIII: N, set; NTTs, INTTs and HMULTs a second of a CPU, HEAX on an FPGA and TensorFHE.
TABLE_8 = (
    (
        *(4096, "tensorfhe/A", (7222, 7568, 420)),
        *((195313, 195313, 97656), (910134, 913267, 88048)),
    ),
    (8192, "tensorfhe/B", (3437, 3539, 84), (90144, 90144, 22536), (449974, 449084, 27564)),
    (16384, "tensorfhe/C", (1631, 1659, 15), (41853, 41853, 2616), (209337, 209178, 3825)),
)
# Table IX: occupancy. Table XI: operations per watt and second.
TABLE_9 = ("90.3 %", "90.1 %", "88.9 %", "85.3 %", "88.1 %")
TABLE_11 = ("0.57", "0.57", "66.67", "81.30", "66.67")

# Those of bench/python_peers.py.
PYTHON_OPERATIONS = {
    "encrypt": "encode and encrypt, public key",
    "encrypt_secret": "encode and encrypt, secret key",
    "decrypt": "decrypt and decode",
    "add": "add",
    "mult_relin_rescale": "multiply, relinearise, rescale",
    "rotate": "rotate",
    "rotate_product": "rotate a product",
    "sum": "sum of all slots",
    "matmul": "vector of 64 by a matrix, not encrypted",
}
DESILO_ASKS = "This work uses the DESILO FHE library developed by DESILO Inc. (https://desilo.ai)"
"""The licence wants this sentence where its library was used."""

# TB/s of device memory.
BANDWIDTH = {"h200": 4.8, "h100": 3.35}


def about_devices(gpus: list[Measured]) -> list[str]:
    """What to know where two GPUs stand side by side."""
    first, *others = gpus
    lines = []
    for gpu in others:
        if gpu.commits:
            line = (
                f"An {gpu.name} is the same chip as an {first.name}, with device memory of "
                f"{BANDWIDTH[gpu.device]} TB/s in place of {BANDWIDTH[first.device]}."
            )
            if gpu.date > first.date:
                line += (
                    f" Records of the {gpu.name} are of newer code than those of the {first.name}."
                )
            lines += [line, ""]
    return lines


def table_peers(gpus: list[Measured]) -> list[str]:
    """The first GPU is the chip on which the others were measured."""
    theirs = [record for record in peers("h200") if record["scheme"] == "ckks"]
    names = list(dict.fromkeys(record["peer"] for record in theirs))
    first, *others = gpus
    rows = []
    for op, label in (*((op, name) for op, (_, name) in OPERATIONS.items()), ("bootstrap", "")):
        row = [label or "bootstrap, complex"]
        known = {name: milliseconds(pick(theirs, peer=name, op=op)) for name in names}
        row += map(in_words, known.values())
        of = SETS[BEST]
        alone, cheddar = first.latency(op, of), known.get("Cheddar")
        row += [in_words(alone), in_words(first.best(op, of)), ratio(cheddar, alone)]
        for gpu in others:
            row += [in_words(gpu.latency(op, of)), in_words(gpu.best(op, of))]
        rows.append(row)
    head = ["", *names, "Whorl, one", "Whorl, a ciphertext of a batch", "Cheddar's time ÷ Whorl's"]
    for gpu in others:
        head += [f"Whorl, one ({gpu.name})", f"a ciphertext of a batch ({gpu.name})"]
    lines = [*kept(head, rows), *of_commits(gpus, (*OPERATIONS, "bootstrap"), [BEST])]
    return lines if first.latency("bootstrap", SETS[BEST]) else [*lines, *NOT_MEASURED]


def ratio_of(record: Record) -> str:
    """The peer's time over Whorl's, and its least and most of rounds."""
    least, most = record["ratio_least"], record["ratio_most"]
    return f"{record['ratio']:.1f}× ({least:.1f} … {most:.1f})"


def bits_of(record: Record) -> str:
    """The peer's, and Whorl's."""
    return f"{record['peer_bits']:.1f}, {record['bits']:.1f}" if "bits" in record else ""


def table_openfhe(cpu: Measured) -> list[str]:
    def row(op: str, record: Record) -> dict[str, str]:
        return {
            "": OPERATIONS[op][1] if op in OPERATIONS else "bootstrap, complex",
            "Whorl's parameters": f"`{record['params']}`",
            "OpenFHE's": f"`{record['peer_params']}`",
            "OpenFHE, ms": in_words(1e3 * record["peer_median"]),
            "Whorl, ms": in_words(1e3 * record["median"]),
            "OpenFHE's time ÷ Whorl's (least … most)": ratio_of(record),
            "rounds": str(record["runs"]),
            "bits, OpenFHE and Whorl": bits_of(record),
        }

    found = [(op, cpu.against("openfhe", op)) for op in (*OPERATIONS, "bootstrap")]
    rows = [row(op, record) for op, record in found if record]
    return kept(*columns(rows)) or NOT_MEASURED


def table_python(cpu: Measured) -> list[str]:
    """And what the parameters are."""
    rows, parameters = [], []
    for peer, name in PYTHON_PEERS.items():
        known = {op: cpu.against(peer, op) for op in PYTHON_OPERATIONS}
        found = {op: record for op, record in known.items() if record}
        for op, record in found.items():
            row = [name, PYTHON_OPERATIONS[op], in_words(1e3 * record["peer_median"])]
            row += [in_words(1e3 * record["median"]), ratio_of(record), str(record["runs"])]
            rows.append([*row, bits_of(record)])
        for record in list(found.values())[:1]:
            parameters.append(
                f"- {name} {record['peer_version']}: `{record['peer_params']}`. Whorl: "
                f"`{record['params']}`, {record['security_bits']:.0f} bits of security."
            )
    if not rows:
        return NOT_MEASURED
    head = ["library", "operation", "library, ms", "Whorl, ms", "library's time ÷ Whorl's"]
    head[-1] += " (least … most)"
    about = ["The parameters are these:", "", *parameters, ""]
    lines = [*about, *table([*head, "rounds", "bits, library and Whorl"], rows)]
    if any(row[0] == PYTHON_PEERS["desilofhe"] for row in rows):
        lines += [DESILO_ASKS, ""]
    return lines


def table_phases(all_measured: list[Measured]) -> list[str]:
    shown = {}
    for measured in all_measured:
        for real in (False, True):
            found = measured.phases(SETS[BEST], real)
            if found:
                name = f"{measured.name}, {'real' if real else 'complex'}"
                shown[name] = found, measured.latency("bootstrap", SETS[BEST], real)
    if not shown:
        return NOT_MEASURED
    rows = []
    for label, ops in PHASES.items():
        row = [label, *(in_words(sum(found[op] for op in ops)) for found, _ in shown.values())]
        rows.append([*row, *(f"{each:.2f}" if each else "" for each in FLOORS[label])])
    floors = [f"{sum(each):.2f}" for each in zip(*FLOORS.values(), strict=True)]
    sums = [in_words(sum(found.values())) for found, _ in shown.values()]
    rows.append(["sum of the steps", *sums, *floors])
    rows.append(["a whole bootstrap", *(in_words(ms) for _, ms in shown.values()), "", "", ""])
    head = ["step, ms", *shown, "floor: instructions", "with INT8 conversions", "bytes"]
    steps = [op for ops in PHASES.values() for op in ops]
    return [*table(head, rows), *of_commits(all_measured, (*steps, "bootstrap"), [BEST])]


def table_batches(gpus: list[Measured]) -> list[str]:
    rows = []
    for op, label, name, real in CURVES:
        known = [dict(gpu.batches(op, SETS[name], real)) for gpu in gpus]
        for batch in sorted({batch for found in known for batch in found}):
            row = [label, f"`{name}`", str(batch)]
            for found in known:
                ms = found.get(batch)
                row += [in_words(ms), f"{1000 / ms:,.0f}" if ms else ""]
            rows.append(row)
    named = [f"{gpu.name}: {what}" for gpu in gpus for what in ("ms a ciphertext", "a second")]
    made = of_commits(gpus, {op for op, *_ in CURVES}, {name for _, _, name, _ in CURVES})
    return [*kept(["", "set", "batch", *named], rows), *made] if rows else NOT_MEASURED


def table_pairs() -> list[str]:
    """Bootstraps on one GPU and on two."""
    rows = []
    for device in PAIRS:
        for params, batch, one, two in pairs(device):
            took = milliseconds(one), milliseconds(two)
            made = dict.fromkeys(record["commit"] for record in (one, two) if record)
            row = [DEVICES[device], f"`{params}`", str(batch), *map(in_words, took)]
            rows.append([*row, ratio(*took), ", ".join(made)])
    head = ["", "parameters", "batch", "one GPU, ms", "two GPUs, ms", "one's time ÷ two's"]
    return table([*head, "commit"], rows) or NOT_MEASURED


def table_bits(all_measured: list[Measured]) -> list[str]:
    rows = (
        {
            "": measured.name,
            "parameters": f"`{record['params']}`",
            "values": record["values"],
            "ciphertexts": str(record["runs"]),
            "bits of the worst slot": f"{record['median']:.1f}",
        }
        for measured in all_measured
        for record in measured.bits()
    )
    return table(*columns(rows)) or NOT_MEASURED


def table_5() -> list[str]:
    rows = (
        {
            "": label,
            "N": ring,
            "L": str(levels),
            "K": str(special),
            "log2 PQ": str(log_pq),
            "batch": str(batch),
            "Whorl's set": f"`{name}`",
            "limbs": f"{levels + 1} + {special}",
            "bits of security": f"{ckks.parameters(name).security_bits:.0f}",
        }
        for label, name, ring, levels, special, log_pq, batch in TABLE_5
    )
    return table(*columns(rows))


def table_6(gpus: list[Measured], cpu: Measured) -> list[str]:
    """Milliseconds a ciphertext."""
    of = SETS["tensorfhe/default"]
    rows = [
        [
            *(f"paper: {name}", str(TABLE_6_BATCH)),
            *(in_words(ms and ms / TABLE_6_BATCH) for ms in figures),
        ]
        for name, figures in TABLE_6.items()
    ]
    for measured in (*gpus, cpu):
        for batch in measured.batch_sizes(of):
            found = [dict(measured.batches(op, of)).get(batch) for op in OPERATIONS]
            rows.append([f"Whorl, {measured.name}", str(batch), *(in_words(ms) for ms in found)])
    lines = table(["ms a ciphertext", "batch", *(name for name, _ in OPERATIONS.values())], rows)
    lines += of_commits((*gpus, cpu), OPERATIONS, ["tensorfhe/default"])
    if not any(gpu.batch_sizes(of) for gpu in gpus):
        lines += ["*No GPU has been measured with this set yet.*", ""]
    return lines


def table_7(gpus: list[Measured], cpu: Measured) -> list[str]:
    rows = [
        [f"paper: {name}", "L = 34, dnum 5", str(TABLE_7_BATCH), in_words(ms / TABLE_7_BATCH), ""]
        for name, ms in TABLE_7.items()
    ]
    for measured in (*gpus, cpu):
        for name in ("tensorfhe/bootstrap", BEST):
            for real in (False, True):
                bits = measured.worst_bits(SETS[name], real)
                for batch, ms in measured.batches("bootstrap", SETS[name], real):
                    row = [f"Whorl, {measured.name}"]
                    row += [f"`{name}`, {'real' if real else 'complex'}", str(batch), in_words(ms)]
                    rows.append([*row, f"{bits:.1f}" if bits else ""])
    lines = kept(["", "set", "batch", "ms a bootstrap", "bits of the worst slot"], rows)
    lines += of_commits((*gpus, cpu), ["bootstrap"], ["tensorfhe/bootstrap", BEST])
    if not any(gpu.batches("bootstrap", SETS["tensorfhe/bootstrap"]) for gpu in gpus):
        lines += ["*`tensorfhe/bootstrap` has not been measured on a GPU yet.*", ""]
    return lines


def transforms(device: str, op: str, N: int) -> float | None:
    """A second, of 32-bit words and primes of 27 bits, in large batches."""
    found = [
        float(record["median"])
        for record in records_of(device, "transforms")
        if record["op"] == op and record["params"].startswith(f"N={N} word=32 logq=27")
    ]
    return found[-1] if found else None


def rates(gpu: Measured, N: int, name: str) -> tuple[float | None, ...]:
    """NTTs, INTTs and HMULTs a second."""
    best = gpu.best("mult_relin", SETS[name])
    ntt, intt = (transforms(gpu.device, op, N) for op in ("ntt", "intt"))
    return ntt, intt, 1e3 / best if best else None


def table_8(gpus: list[Measured], devices: list[TensorFhe]) -> list[str]:
    rows = []
    for N, name, cpu, heax, theirs in TABLE_8:
        ours = [rates(gpu, N, name) for gpu in gpus]
        for at, op in enumerate(("NTT", "INTT", "HMULT")):
            row = [f"{op}, `{name}`, N = {N:,}"]
            row += [f"{each[at]:,}" for each in (cpu, heax, theirs)]
            for own in (each[at] for each in ours):
                row += [whole(own), ratio(own, theirs[at])]
            rows.append(row)
    head = ["a second", "paper: CPU", "paper: HEAX, FPGA", "paper: TensorFHE, A100"]
    for gpu in gpus:
        head += [f"Whorl, {gpu.name}", f"{gpu.name}: Whorl's speed ÷ TensorFHE's"]
    lines = kept(head, rows)
    lines += ["All kinds of transforms that the paper has, with equal bits:", ""]
    sets = tuple((N, name) for N, name, *_ in TABLE_8)
    lines += ckks_tensorfhe.table_transforms(devices, sets)
    if not any(all(rates(gpu, N, name)[2] for N, name, *_ in TABLE_8) for gpu in gpus):
        lines += ["*HMULT of these sets has not been measured on a GPU yet.*", ""]
    return lines


def sources(found: Measured) -> list[str]:
    """A line of a list: files of a device, and the commits of what they have."""
    parts = []
    if found.commits:
        names = " and ".join(f"`{name}.jsonl`" for name in found.files)
        parts.append(f"{names}, commits {', '.join(found.commits)}")
    for name in ("tensorfhe", "transforms", "ckks_workload"):
        if known := commits(found.device, name):
            parts.append(f"`{name}.jsonl`, {', '.join(known)}")
    return [f"- {found.name}, `bench/results/{found.device}`: {'; '.join(parts)}."] if parts else []


def measured(plots: Path) -> dict[str, list[str]]:
    """The parts of the page that are made of records; their plots go to a folder."""
    cpu, gpus = Measured("cpu"), [Measured(device) for device in GPUS]
    devices = [TensorFhe(device) for device in GPUS]
    names = {op: name for op, (name, _) in OPERATIONS.items()}
    default = SETS["tensorfhe/default"]
    ckks_plots.draw(cpu, gpus, plots)
    return {
        "devices": about_devices(gpus),
        "peers": table_peers(gpus),
        "openfhe": table_openfhe(cpu),
        "python": table_python(cpu),
        "phases": table_phases([*gpus, cpu]),
        "bits": table_bits([*gpus, cpu]),
        "batches": table_batches(gpus),
        "pairs": table_pairs(),
        "table_5": table_5(),
        "table_6": table_6(gpus, cpu),
        "table_7": table_7(gpus, cpu),
        "table_8": table_8(gpus, devices),
        "occupancy": ckks_tensorfhe.occupancy(devices, names, default, TABLE_9),
        "workloads": ckks_tensorfhe.workloads(devices),
        "energy": ckks_tensorfhe.energy(devices, names, default, TABLE_11),
        "layouts": ckks_tensorfhe.layouts(devices, default.limbs),
        "kernels": ckks_tensorfhe.kernels(devices, names, default),
        "operations": ckks_tensorfhe.operations(devices, names),
        "figure_14": ckks_tensorfhe.figure_14(devices, default.limbs),
        "figure_15": ckks_tensorfhe.figure_15(devices, default.limbs),
        "stalls": ckks_tensorfhe.stalls(devices),
        "sources": [line for found in (cpu, *gpus) for line in sources(found)],
    }
