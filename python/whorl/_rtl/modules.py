"""The modules of a design of the FPGA accelerator, and what synthesis says that they take.

rtl/synth uses this file without the compiled modules, as it does design.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .design import Design

UNITS = ("LUT", "FF", "DSP", "BRAM36", "URAM")
Parameters = dict[str, int]
Module = tuple[str, Parameters]
Resources = dict[str, float]
# By what was synthesised, and by unit: lines of rtl/synth/run.py.
Records = Mapping[str, Mapping[str, Mapping[str, Any]]]


def written(module: Module) -> str:
    """How records say what was synthesised."""
    top, parameters = module
    return ", ".join([top, *(f"{name}={value}" for name, value in parameters.items())])


def modules_of(d: Design) -> dict[str, Module]:
    """The modules of a core with their parameters, by what they do; mac and bku of one butterfly.

    Lanes of these two do not depend on each other, and a core has 2^LOG_B times the lanes. Of the
    registers, the constants that say the shape are left out.
    """
    ring = {"LOG_N": d.log_N, "LOG_B": d.log_b}
    gadget = {"L": d.L, "LOG_BG": d.log_Bg}
    batch = {"PES": d.pes, "K": d.K}
    key = {
        "LOG_ROWS": d.log_N - 1 - d.log_b,
        "WORDS": d.port_words,
        "DATA_BITS": d.mem_bits,
        "BUFFERS": d.bk_buffers,
    }
    steps = {"LOG_STEPS": d.log_steps}
    switching = {
        "LOG_N": d.log_N,
        "MAX_N_LWE": d.n,
        "L_KS": d.L_ks,
        "LOG_BKS": d.log_Bks,
        "LANES": d.ks_lanes,
        "KSK_BITS": d.ksk_bits,
        "OUT_BITS": d.mem_bits,
        "CAPACITY": d.capacity,
        "KEY_ROWS": d.ksk_rows,
    }
    control = {
        "LOG_N": d.log_N,
        "M": d.M,
        "MAX_N_LWE": d.n,
        "L_KS": d.L_ks,
        "BK_PORTS": d.bk_ports,
        "MEM_BITS": d.mem_bits,
        "KSK_BITS": d.ksk_bits,
        "CHUNK_BEATS": d.chunk_beats,
        **steps,
    }
    pe = {**ring, **gadget, "M": d.M, "K": d.K, "EXPONENT_WORDS": d.exponent_words}
    return {
        "ntt": ("ntt", ring),
        "intt": ("intt", ring),
        "decompose": ("decompose", gadget),
        "mac": ("mac", {"LOG_B": 0, "L": d.L}),
        "accumulator": ("accumulator", {**ring, "L": d.L, "K": d.K}),
        "monomials": ("monomials", {**ring, "M": d.M}),
        "bku": ("bku", {"LOG_B": 0, "L": d.L, "M": d.M}),
        "pe": ("pe", pe),
        "chunk_buffer": ("chunk_buffer", key),
        "axi_reader": ("axi_reader", {"DATA_BITS": d.mem_bits}),
        "axi_reader_io": ("axi_reader", {"DATA_BITS": d.mem_bits, "QUEUE_BURSTS": 2}),
        "axi_reader_ksk": ("axi_reader", {"DATA_BITS": d.ksk_bits}),
        "axi_writer": ("axi_writer", {"DATA_BITS": d.mem_bits}),
        "word_beats": ("word_beats", {"DATA_BITS": d.mem_bits}),
        "loader": ("loader", {**ring, "M": d.M, **batch, **steps, "DATA_BITS": d.mem_bits}),
        "drain": ("drain", {**ring, **batch}),
        "mod_switch": ("mod_switch", {}),
        "key_switch": ("key_switch", switching),
        "sequencer": (
            "sequencer",
            {**ring, "L": d.L, "M": d.M, **batch, "BUFFERS": d.bk_buffers, **steps},
        ),
        "control": ("control", control),
        "registers": ("registers", {}),
    }


def parts_of_pe(d: Design) -> dict[str, int]:
    """How many of which modules a PE has."""
    b = d.lanes // 2
    return {
        "ntt": 2 * d.L,
        "intt": 2,
        "decompose": 2 * d.lanes,
        "mac": b,
        "accumulator": 1,
        "monomials": 1,
        "bku": b,
    }


def parts_around(d: Design) -> dict[str, int]:
    """How many of which modules stand around the PEs."""
    single = ["axi_reader_io", "axi_reader_ksk", "axi_writer", "loader", "drain", "mod_switch"]
    single += ["key_switch", "word_beats", "sequencer", "control", "registers"]
    return {"chunk_buffer": d.bk_ports, "axi_reader": d.bk_ports, **dict.fromkeys(single, 1)}


def by_module(lines: Iterable[Mapping[str, Any]]) -> Records:
    """The last record of each unit of each module."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line in lines:
        found.setdefault(line["params"], {})[line["unit"]] = line
    return found


def read_records(folder: Path) -> Records:
    """Those of all files with lines of JSON in a folder; none if there is no folder."""
    lines: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.jsonl")):
        text = path.read_text(encoding="utf-8")
        lines += [json.loads(line) for line in text.splitlines() if line.strip()]
    return by_module(lines)


def recorded(module: Module, records: Records) -> Resources | None:
    """What a module takes; none without records of all units of exactly these parameters."""
    found = records.get(written(module), {})
    if any(unit not in found for unit in UNITS):
        return None
    return {unit: float(found[unit]["median"]) for unit in UNITS}


def total(d: Design, parts: Mapping[str, int], records: Records) -> tuple[Resources, list[Module]]:
    """The sum of a design's modules, so many of each, and those of them without records."""
    modules = modules_of(d)
    sums, missing = dict.fromkeys(UNITS, 0.0), []
    for role, times in parts.items():
        takes = recorded(modules[role], records)
        if takes is None:
            if modules[role] not in missing:
                missing.append(modules[role])
            continue
        for unit in UNITS:
            sums[unit] += times * takes[unit]
    return sums, missing


def logic(d: Design, records: Records) -> tuple[Resources, list[Module]]:
    """The logic of the whole core, and its modules without records, which the sums lack.

    PEs are as synthesised flat, or else the sum of their modules.
    """
    flat = recorded(modules_of(d)["pe"], records)
    pe, missing = (flat, []) if flat else total(d, parts_of_pe(d), records)
    around, others = total(d, parts_around(d), records)
    return {unit: d.pes * pe[unit] + around[unit] for unit in UNITS}, missing + others
