"""Designs of the FPGA accelerator: cycles by its model, resources by tables, the best of many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from .. import binfhe
from .._server import rtl as _lib
from ..errors import ParameterError
from .design import MOST_BITS, MOST_PORTS, Design
from .modules import Records, logic

_PRIME = 2**33 - 2**20 + 1


@dataclass(frozen=True)
class Chip:
    """What a design may take. `dsp` slices, `sram_mb` megabits on the chip, `gb_s` of memory.

    `lut` and `ff` are all that the `part` has, as `source` says.
    """

    why: str
    part: str
    dsp: int
    sram_mb: float
    gb_s: float
    mhz: float
    lut: int
    ff: int
    source: str

    @property
    def bytes_a_cycle(self) -> int:
        """What its memory gives in a cycle. ParameterError below one byte."""
        whole = int(self.gb_s * 1e9 / (self.mhz * 1e6))
        if whole < 1:
            raise ParameterError(f"{self.gb_s} GB/s are less than a byte a cycle at {self.mhz} MHz")
        return whole


@cache
def chips() -> Mapping[str, Chip]:
    """The chips that are known by name."""
    text = (Path(__file__).parent / "chips.json").read_text(encoding="utf-8")
    known: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    parts = known["parts"]
    return {name: Chip(**own, **parts[own["part"]]) for name, own in known["chips"].items()}


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
    """A design on a chip. Rates are of whole bootstraps, key switching included.

    `latency`: seconds from the start to the last answer of the memory, of one ciphertext in an idle
    core; `latency_full`: the same of a batch in which every place has one. Both read all keys.
    `limit`: what the multipliers wait for in the steady state. `share`: of the chip's DSP slices or
    of its memory, the larger one.
    """

    set: str
    chip: str
    design: Design
    throughput: float
    latency: float
    latency_full: float
    utilisation: float
    limit: str
    dsp: int
    sram_mb: float
    share: float
    gb_s: float
    counters: Mapping[str, float] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "counters": dict(self.counters)}


def _limit(change: Mapping[str, float], idle: float) -> str:
    if idle < 0.01:
        return "multipliers"
    waits = {"the key": "WAIT_KEY", "the accumulator": "WAIT_ACC", "key switching": "WAIT_LOAD"}
    return max(waits, key=lambda name: change[waits[name]])


def measure(name: str, chip_name: str, design: Design, chip: Chip) -> Point:
    """Runs of the model: the steady state between 4 and 8 batches, a batch, and one ciphertext."""
    memory = {"bytes_a_cycle": chip.bytes_a_cycle}
    core = design.core()

    def run(count: int) -> dict[str, float]:
        said = _lib.count_cycles(core, memory, design.n, count)
        return {name: value for name, value in said.items() if name.isupper()}  # counters

    # The first batches may wait for the key-switching key, which later ones find on the chip.
    first, last = run(4 * design.capacity), run(8 * design.capacity)
    change = {key: last[key] - first[key] for key in first}
    cycles = change["CYCLES"]
    hertz = chip.mhz * 1e6
    seconds = cycles / hertz
    beats = (
        change["BK_BEATS"] * design.bk_ports + change["IO_READ_BEATS"] + change["IO_WRITE_BEATS"]
    )
    read = beats * design.mem_bits / 8 + change["KSK_BEATS"] * design.ksk_bits / 8
    utilisation = change["PE_SLOTS"] * design.rows / (cycles * design.pes)
    return Point(
        set=name,
        chip=chip_name,
        design=design,
        throughput=4 * design.capacity / seconds,
        latency=run(1)["CYCLES"] / hertz,
        latency_full=run(design.capacity)["CYCLES"] / hertz,
        utilisation=utilisation,
        limit=_limit(change, 1 - utilisation),
        dsp=design.dsp(),
        sram_mb=design.sram_mb(),
        share=_share(design, chip),
        gb_s=read / seconds / 1e9,
        counters=change,
    )


def _share(design: Design, chip: Chip) -> float:
    return max(design.dsp() / chip.dsp, design.sram_mb() / chip.sram_mb)


@dataclass(frozen=True)
class Estimate:
    """What formulas say of a design: ciphertexts a cycle, cycles of a batch, its share."""

    throughput: float
    latency_full: float
    share: float
    width: int  # bits of all ports

    def rank(self) -> tuple[float, ...]:
        """Smaller is better."""
        return (
            -round(self.throughput, 9),
            round(self.latency_full, -3),
            round(self.share, 3),
            self.width,
        )


def estimate(design: Design, chip: Chip) -> Estimate:
    """By the formulas of rtl/README.md, section 6."""
    n, N, memory = design.n, 1 << design.log_N, chip.bytes_a_cycle
    per_batch = design.capacity
    groups = -(-(n + 1) // (design.ks_lanes // design.rows_at_once))
    ksk_beats = design.all_ksk_rows * design.ksk_row_beats
    ksk_bytes = ksk_beats * design.ksk_bits // 8
    products = design.all_ksk_rows // design.rows_at_once * max(4, per_batch * groups)
    key_bytes = design.steps * design.key_bytes
    busy = max(design.K * design.rows, design.step_wait, design.chunk_beats)
    slots = design.steps * busy
    load, drain = per_batch * (n + N // 2 + 40), per_batch * (N + 1)
    again = 0 if design.ksk_stays else 1
    period = max(
        slots,
        load,
        drain + products,
        again * ksk_beats,
        (key_bytes + again * ksk_bytes) / memory,
    )
    if design.ksk_stays:  # it comes while slots run
        rotation = max(slots, (key_bytes + ksk_bytes) / memory)
        switching, least = float(products), ksk_beats + products / design.all_ksk_rows
    else:
        rotation = max(slots, key_bytes / memory)
        switching, least = max(products, ksk_beats, ksk_bytes / memory), 0
    full = max(load + rotation + design.step_wait + drain + switching, least)
    width = design.mem_bits * (design.bk_ports + 1) + design.ksk_bits
    return Estimate(per_batch / period, full, _share(design, chip), width)


def _fits(design: Design, chip: Chip, records: Records) -> bool:
    """Whether it does as far as is known: of LUT and FF, what modules with records take."""
    takes, _ = logic(design, records)
    return (
        design.dsp() <= chip.dsp
        and design.sram_mb() <= chip.sram_mb
        and takes["LUT"] <= chip.lut
        and takes["FF"] <= chip.ff
    )


PORTS = [(bits, count) for bits in (512, MOST_BITS) for count in range(1, MOST_PORTS + 1)]


def candidates(base: Design, chip: Chip, records: Records) -> list[Design]:
    """Designs that fit the chip: lanes, places, PEs, ports, and how keys are switched."""
    row = -(-(base.n + 1) // 32) * 32  # lanes of a whole row
    # Ports take turns: a wide one gets the key-switching key soon.
    wide = replace(base, ksk_bits=1024)
    found = []
    for log_b in range(min(4, base.log_N - 5)):
        for K in range(1, 7):
            for ks_lanes in sorted({max(32, row // 64 * 32), row, 2 * row}):
                for ksk_rows in (4, base.all_ksk_rows):
                    design = replace(wide, log_b=log_b, K=K, ks_lanes=ks_lanes, ksk_rows=ksk_rows)
                    most = 0
                    while _fits(replace(design, pes=most + 1), chip, records):
                        most += 1
                    for pes in sorted({most, most - 1, most // 2, most // 4} - {0, -1}):
                        full = replace(design, pes=pes)
                        for mem_bits, ports in PORTS:
                            found.append(replace(full, mem_bits=mem_bits, bk_ports=ports))
    whole = [d for d in found if all(d.ks_lanes % (bits // 32) == 0 for bits in d.beats)]
    # Ports have modules of their own.
    return [d for d in whole if _fits(d, chip, records)]


def promising(every: Iterable[Design], chip: Chip, most: int) -> list[Design]:
    """The designs on the front of what formulas say, `most` of them at most."""
    # Designs with the same units differ in ports: the best of them stays.
    best: dict[tuple[int, ...], tuple[Estimate, Design]] = {}
    for design in every:
        key = (design.log_b, design.K, design.pes, design.ks_lanes, design.ksk_rows)
        said = estimate(design, chip)
        old = best.get(key)
        if old is None or said.rank() < old[0].rank():
            best[key] = (said, design)
    edge = front([said for said, _ in best.values()])
    # Two designs with the same figures are one.
    chosen = {said.rank(): design for said, design in best.values() if said in edge}
    ordered = [chosen[rank] for rank in sorted(chosen)]
    if len(ordered) <= most:
        return ordered
    return [ordered[k * len(ordered) // most] for k in range(most)]


def explore(
    name: str,
    chip_name: str,
    chip: Chip,
    records: Records,
    most: int,
    threads: int,
    told: Callable[[int, int], object] = lambda done, total: None,
) -> list[Point]:
    """The designs of the set for the chip that promise most, at most `most`, measured.

    `records`: what synthesis says of modules; designs that take more LUT or FF than the chip has by
    those alone are left out.
    """
    every = candidates(design_for(name), chip, records)
    if not every:
        raise ParameterError(
            f"{name}: no PE fits {chip_name} of {chip.dsp} DSP slices, {chip.sram_mb} Mb, "
            f"{chip.lut} LUT and {chip.ff} FF"
        )
    chosen = promising(every, chip, most)
    points = []
    with ThreadPoolExecutor(threads) as pool:
        for point in pool.map(lambda design: measure(name, chip_name, design, chip), chosen):
            points.append(point)
            told(len(points), len(chosen))
    return sorted(points, key=lambda point: -point.throughput)


T = TypeVar("T", Point, Estimate)


def front(points: Iterable[T]) -> list[T]:
    """Those that no other beats in throughput, latency of a full batch, and share at once."""

    def cost(point: T) -> tuple[float, float, float]:
        return -point.throughput, point.latency_full, point.share

    # The fastest first: what beats a point stands before it.
    found: list[T] = []
    for a in sorted(points, key=cost):
        _, latency, share = cost(a)
        before = [cost(b) for b in found if cost(b) != cost(a)]
        if not any(b[1] <= latency and b[2] <= share for b in before):
            found.append(a)
    return found
