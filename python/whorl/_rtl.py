"""Designs of the FPGA accelerator: cycles by its model, resources by tables, the best of many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from . import binfhe
from ._server import rtl as _lib
from .errors import ParameterError

UNITS = ("LUT", "FF", "BRAM36", "URAM")
_PRIME = 2**33 - 2**20 + 1


@dataclass(frozen=True)
class Chip:
    """What a design may take. `dsp` slices, `sram_mb` megabits on the chip, `gb_s` of memory."""

    why: str
    dsp: int
    sram_mb: float
    gb_s: float
    mhz: float

    @property
    def bytes_a_cycle(self) -> int:
        """What its memory gives in a cycle."""
        return int(self.gb_s * 1e9 / (self.mhz * 1e6))


def _table(name: str) -> dict[str, Any]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@cache
def chips() -> Mapping[str, Chip]:
    """The chips that are known by name."""
    return {name: Chip(**fields) for name, fields in _table("_rtl_chips.json").items()}


@dataclass(frozen=True)
class Design:
    """A core for a parameter set: rtl/README.md, section 2."""

    n: int
    log_N: int
    L: int
    log_Bg: int
    M: int
    L_ks: int
    log_Bks: int
    pes: int = 1
    log_b: int = 0
    K: int = 3
    mem_bits: int = 512
    bk_ports: int = 1
    ksk_bits: int = 512
    ks_lanes: int = 512
    bk_buffers: int = 4

    @property
    def lanes(self) -> int:
        """Coefficients that a transform takes a cycle, 2b."""
        return 2 << self.log_b

    @property
    def rows(self) -> int:
        """Cycles of a slot, N/(2b)."""
        return (1 << self.log_N) // self.lanes

    @property
    def sets(self) -> int:
        """Keys of a step: the sets of its coefficients that are not empty."""
        return (1 << self.M) - 1

    @property
    def steps(self) -> int:
        """Steps of a bootstrap."""
        return -(-self.n // self.M)

    @property
    def capacity(self) -> int:
        """Ciphertexts in flight."""
        return self.pes * self.K

    @property
    def multipliers_a_pe(self) -> int:
        """Of 2L + 2 transforms, the bundle, and the products with it."""
        transforms = (2 * self.L + 2) * self.log_N * self.lanes // 2
        return transforms + (self.sets + 1) * 4 * self.L * self.lanes

    def dsp(self) -> int:
        """DSP slices of the multipliers, and of key switching where it takes some."""
        costs = _table("_rtl_costs.json")
        lanes: int = costs["dsp_a_lane_of_key_switching"] * self.ks_lanes
        multipliers: int = costs["dsp_a_multiplier"] * self.multipliers_a_pe * self.pes
        return multipliers + lanes

    def sram_mb(self) -> float:
        """Megabits of memories, as rtl/src declares them."""
        N, word = 1 << self.log_N, 33
        log_steps = max(1, (self.steps - 1).bit_length())
        places = max(1, (self.K - 1).bit_length())
        accumulators = 2 * self.K * 2 * N * word
        transform = self.log_N * 10 + self.rows - 1
        flight = 4 + 2 * transform + 20
        in_flight = (1 << flight.bit_length()) * 2 * self.lanes * word
        exponents = (2 << (places + log_steps)) * self.M * (self.log_N + 1)
        delays = (2 * self.L + 2) * 2 * N * word  # commutators, and twiddles
        monomials = self.sets * self.lanes // 2 * N * word
        pe = accumulators + in_flight + exponents + delays + monomials
        row = self.sets * 4 * self.L * self.lanes
        chunks = self.bk_buffers * self.rows * row * word
        groups = -(-(self.n + 1) // self.ks_lanes)
        digits = 2 * N * self.capacity * (1 + self.L_ks * self.log_Bks)
        switching = digits + groups * (self.capacity + 2) * self.ks_lanes * 32
        queues = (self.bk_ports + 2) * 4 * 4096 * 8
        return (self.pes * pe + chunks + switching + queues + N * word) / 1e6

    def core(self) -> dict[str, int]:
        """The core's parameters by their names here, without n."""
        fields = asdict(self)
        del fields["n"]
        return fields


def design_for(name: str) -> Design:
    """A core for a named set. ParameterError for a set that no core runs."""
    parameters = binfhe.parameters(name, allow_insecure=True)
    literal = parameters.literal()
    kind, group, raised = cast("tuple[str, int, int]", literal["rotation"])
    count, log_base, digits = literal["gadget"][0]
    runs = (
        literal["Q"] == _PRIME
        and literal["q"] == literal["Q_ks"] == 2**32
        and kind == "unrolled"
        and raised == 1
        and group <= 4
        and count == literal["n"]
        and literal["key_switch"] == "product"
    )
    if not runs:
        raise ParameterError(
            f"{name}: the accelerator runs sets with Q = 2^33 - 2^20 + 1, q = Q_ks = 2^32, "
            "rotations unrolled in groups of 1 … 4, and key switching by products"
        )
    log_b_ks = literal["log_B_ks"]
    return Design(
        n=literal["n"],
        log_N=literal["N"].bit_length() - 1,
        L=digits,
        log_Bg=log_base,
        M=group,
        L_ks=literal["ks_digits"] or -(-32 // log_b_ks),
        log_Bks=log_b_ks,
    )


@dataclass(frozen=True)
class Point:
    """A design on a chip. Rates are of whole bootstraps, key switching included."""

    set: str
    chip: str
    design: Design
    throughput: float
    latency: float
    utilisation: float
    dsp: int
    sram_mb: float
    gb_s: float
    counters: Mapping[str, float] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        plain = {**asdict(self), "counters": dict(self.counters)}
        return plain


def measure(name: str, chip_name: str, design: Design, chip: Chip) -> Point:
    """Runs of the model: the steady state between two and four batches, and one ciphertext."""
    memory = {"bytes_a_cycle": chip.bytes_a_cycle}
    core = design.core()

    def run(count: int) -> dict[str, float]:
        return _lib.count_cycles(core, memory, design.n, count)

    first, last = run(2 * design.capacity), run(4 * design.capacity)
    change = {key: last[key] - first[key] for key in first}
    cycles = change["CYCLES"]
    seconds = cycles / (chip.mhz * 1e6)
    beats = (
        change["BK_BEATS"] * design.bk_ports + change["IO_READ_BEATS"] + change["IO_WRITE_BEATS"]
    )
    read = beats * design.mem_bits / 8 + change["KSK_BEATS"] * design.ksk_bits / 8
    return Point(
        set=name,
        chip=chip_name,
        design=design,
        throughput=2 * design.capacity / seconds,
        latency=run(1)["CYCLES"] / (chip.mhz * 1e6),
        utilisation=change["PE_SLOTS"] * design.rows / (cycles * design.pes),
        dsp=design.dsp(),
        sram_mb=design.sram_mb(),
        gb_s=read / seconds / 1e9,
        counters=last,
    )


def _fits(design: Design, chip: Chip) -> bool:
    return design.dsp() <= chip.dsp and design.sram_mb() <= chip.sram_mb


def _rate_bound(design: Design, chip: Chip) -> float:
    """Ciphertexts a cycle, at most: of the PEs, key switching, the keys' ports, the memory."""
    latency = 2 * (design.log_N * 10 + design.rows) + 20
    slots = design.steps * max(design.K * design.rows, latency)
    groups = -(-(design.n + 1) // design.ks_lanes)
    beats = -(-(design.n + 1) // (design.ksk_bits // 32))
    rows = (1 << design.log_N) * design.L_ks
    switching = rows * max(4, beats, design.capacity * groups)
    row = design.sets * 4 * design.L * design.lanes
    key_bytes = design.steps * design.rows * row * 33 / 8
    key = key_bytes * 8 / (design.mem_bits * design.bk_ports)
    memory = (key_bytes + rows * beats * design.ksk_bits / 8) / chip.bytes_a_cycle
    return design.capacity / max(slots, switching, key, memory)


def candidates(base: Design, chip: Chip, lanes_of: Iterable[int] = (128, 256, 512)) -> list[Design]:
    """Designs of as many PEs as the chip holds, and of fewer, for each other choice."""
    found = []
    for ks_lanes in lanes_of:
        for log_b in range(min(4, base.log_N - 5)):
            for K in (1, 2, 3, 4, 5, 6):
                design = replace(base, log_b=log_b, K=K, ks_lanes=ks_lanes)
                most = 0
                while _fits(replace(design, pes=most + 1), chip):
                    most += 1
                for pes in sorted({most, most - 1, most // 2} - {0, -1}):
                    full = replace(design, pes=pes)
                    for mem_bits, ports in ((512, 1), (512, 2), (512, 4), (512, 8), (1024, 8)):
                        wide = replace(full, mem_bits=mem_bits, bk_ports=ports)
                        for ksk_bits in (512, 1024):
                            found.append(replace(wide, ksk_bits=ksk_bits))
    return [each for each in found if each.ks_lanes % (each.mem_bits // 32) == 0]


def explore(
    name: str,
    chip_name: str,
    chip: Chip,
    most: int,
    threads: int,
    told: Callable[[int, int], object] = lambda done, total: None,
) -> list[Point]:
    """The designs of the set for the chip that promise most, at most `most`, measured."""
    every = candidates(design_for(name), chip)
    if not every:
        raise ParameterError(f"{name}: no PE fits {chip_name} of {chip.dsp} DSP slices")
    # For each lanes and places, what is fastest, with the least DSP slices and ports.
    best: dict[tuple[int, int, int], Design] = {}
    for design in every:
        key = (design.log_b, design.K, design.ksk_bits)
        rank = (
            -round(_rate_bound(design, chip), 9),
            design.dsp(),
            design.mem_bits * design.bk_ports,
        )
        old = best.get(key)
        if old is None or rank < (
            -round(_rate_bound(old, chip), 9),
            old.dsp(),
            old.mem_bits * old.bk_ports,
        ):
            best[key] = design
    # The fastest for each number of lanes: more lanes answer sooner.
    widths = sorted({log_b for log_b, _, _ in best})
    chosen: list[Design] = []
    for log_b in widths:
        of = [design for design in best.values() if design.log_b == log_b]
        of.sort(key=lambda design: _rate_bound(design, chip), reverse=True)
        chosen += of[: -(-most // len(widths))]
    chosen = chosen[:most]
    points = []
    with ThreadPoolExecutor(threads) as pool:
        for point in pool.map(lambda design: measure(name, chip_name, design, chip), chosen):
            points.append(point)
            told(len(points), len(chosen))
    return sorted(points, key=lambda point: -point.throughput)


def front(points: Iterable[Point]) -> list[Point]:
    """Those that no other point beats in throughput, latency and DSP slices at once."""
    every = list(points)

    def beaten(a: Point, b: Point) -> bool:
        no_worse = b.throughput >= a.throughput and b.latency <= a.latency and b.dsp <= a.dsp
        better = b.throughput > a.throughput or b.latency < a.latency or b.dsp < a.dsp
        return no_worse and better

    return [a for a in every if not any(beaten(a, b) for b in every)]


def logic(design: Design, folder: Path) -> tuple[dict[str, float], list[str]]:
    """LUT, FF, BRAM36 and URAM by records of synthesis in `folder`; the modules without records.

    A record is a line of JSON with `op` (the module), `unit`, `median`, and `params`, the
    module's parameters as `NAME=value, …`, which have to be the design's as far as it has them.
    """
    names = {"LOG_N": "log_N", "L": "L", "LOG_BG": "log_Bg", "M": "M", "LOG_B": "log_b", "K": "K"}
    own = {upper: getattr(design, lower) for upper, lower in names.items()}
    records = []
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else []:
        lines = path.read_text(encoding="utf-8").splitlines()
        records += [json.loads(line) for line in lines if line.strip()]
    found: dict[tuple[str, str], float] = {}
    for record in records:
        given = dict(
            part.strip().split("=", 1) for part in record["params"].split(",") if "=" in part
        )
        if all(str(own[key]) == value for key, value in given.items() if key in own):
            found[record["op"], record["unit"]] = float(record["median"])
    costs = _table("_rtl_costs.json")
    counts = {"1": 1, "2": 2, "2*L": 2 * design.L, "2*lanes": 2 * design.lanes}
    counts |= {"bk_ports": design.bk_ports, "bk_ports + 2": design.bk_ports + 2}
    total, missing = dict.fromkeys(UNITS, 0.0), []
    for part, times in (("modules_a_pe", design.pes), ("modules_a_core", 1)):
        for module, count in costs[part].items():
            if (module, "LUT") not in found:
                missing.append(module)
            for unit in UNITS:
                total[unit] += times * counts[count] * found.get((module, unit), 0.0)
    return total, missing
