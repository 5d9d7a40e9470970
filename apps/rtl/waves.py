"""How to look at the waveform: the signals that a coefficient passes in the first PE, in order.

`groups` follows rtl/README.md, section 7. GTKWave gets a save file, Surfer a file of commands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import record

TOP = "TOP"  # the core's ports
CORE = f"{TOP}.whorl_core"
SCHEDULE = f"{CORE}.schedule"
PE = f"{CORE}.g_pe[0].element"
FORWARD = f"{PE}.g_forward[0].forward"
BACKWARD = f"{PE}.g_back[0].backward"
CONTROL_BITS = 16
"""What is wider is data."""


def groups(log_N: int) -> dict[str, list[str]]:
    """Signals by what they show; coefficients of the first lane, digit and column."""
    return {
        "clock": [f"{TOP}.aclk", f"{SCHEDULE}.slot_begins"],
        "1 key from memory": [
            f"{TOP}.m_axi_bk_arvalid",
            f"{TOP}.m_axi_bk_rvalid",
            f"{TOP}.m_axi_bk_rdata[0]",
            f"{SCHEDULE}.chunk_ready",
            f"{SCHEDULE}.acquire",
            f"{SCHEDULE}.release_chunk",
        ],
        "2 row of the accumulator": [
            f"{PE}.read_valid",
            f"{PE}.read_bank",
            f"{PE}.read_address",
            f"{PE}.row_valid",
            f"{PE}.row[0][0]",
        ],
        "3 digits": [f"{PE}.digits_valid", f"{PE}.digits[0][0]"],
        "4 forward transform, stage by stage": [
            f"{FORWARD}.in_valid",
            *(f"{FORWARD}.rows[{stage}][0]" for stage in range(log_N + 1)),
            f"{FORWARD}.out_valid",
        ],
        "5 bundle: X^a - 1 times the key": [
            f"{PE}.exponents[0]",
            f"{PE}.factors_valid",
            f"{PE}.factors[0][0]",
            f"{PE}.key_valid",
            f"{PE}.key[0][0][0]",
            f"{PE}.bundle_valid",
            f"{PE}.bundle[0][0]",
        ],
        "6 digits times bundle": [
            f"{PE}.transformed[0][0]",
            f"{PE}.mac_valid",
            f"{PE}.sums[0][0]",
        ],
        "7 inverse transform, stage by stage": [
            f"{BACKWARD}.in_valid",
            *(f"{BACKWARD}.rows[{stage}][0]" for stage in range(log_N + 1)),
            f"{BACKWARD}.out_valid",
        ],
        "8 sum to the accumulator": [
            f"{PE}.acc.product_valid",
            f"{PE}.acc.product[0][0]",
            f"{PE}.acc.copy[0][0]",
            f"{PE}.acc.write_valid",
            f"{PE}.acc.write_address",
            f"{PE}.acc.write_row[0][0]",
        ],
    }


@dataclasses.dataclass(frozen=True)
class Signal:
    """A declaration of a VCD file. Signals that are one in the hardware have the same code."""

    name: str
    """In full, with its scopes."""
    bits: str
    """Its range, "[32:0]", or nothing."""
    width: int
    code: str


def definitions(lines: Iterable[str]) -> Iterator[tuple[str, Signal | None]]:
    """The lines of a VCD file as far as its definitions go, with the signals that they declare."""
    scopes: list[str] = []
    for line in lines:
        words = line.split()
        signal = None
        match words[:1]:
            case ["$scope"]:
                scopes.append(words[2])
            case ["$upscope"]:
                scopes.pop()
            case ["$var"]:
                bits = words[5] if words[5] != "$end" else ""
                signal = Signal(".".join([*scopes, words[4]]), bits, int(words[2]), words[3])
        yield line, signal
        if words[:1] == ["$enddefinitions"]:
            return
    raise ValueError("the definitions of a VCD file do not end")


def thin(path: Path, log_N: int) -> dict[str, str]:
    """Leaves of data only what `groups` shows, and of control all; gives names and ranges."""
    shown = {name for signals in groups(log_N).values() for name in signals}
    kept: dict[str, str] = {}
    codes = set()
    thinner = path.with_suffix(".thin")
    with path.open(encoding="utf-8") as file, thinner.open("w", encoding="utf-8") as to:
        for line, signal in definitions(file):
            if signal is None:
                to.write(line)
            elif signal.width <= CONTROL_BITS or signal.name in shown:
                to.write(line)
                kept[signal.name] = signal.bits
                codes.add(signal.code)
        for line in file:
            # "b0101 code" of a bus, "1code" of a bit, and times.
            code = line.split()[1] if line[0] == "b" else line[1:].strip()
            if line[0] not in "b01" or code in codes:
                to.write(line)
    thinner.replace(path)
    return kept


def gtkwave(log_N: int, ranges: dict[str, str]) -> Iterator[str]:
    """Lines of GTKWave's save file."""
    yield f'[dumpfile] "{record.WAVES}"'
    yield "[size] 1600 1000"
    yield "[sst_width] 200"
    yield "[signals_width] 380"
    for title, signals in groups(log_N).items():
        yield "@200"  # a comment
        yield f"-{title}"
        for signal in signals:
            yield "@22" if ranges[signal] else "@28"  # hexadecimal, binary
            yield signal + ranges[signal]


def surfer(log_N: int) -> Iterator[str]:
    """Lines of a file of Surfer's commands."""
    for title, signals in groups(log_N).items():
        yield f"divider_add {title}"
        for signal in signals:
            yield f"variable_add {signal}"
    yield "zoom_fit"


def write(folder: Path, log_N: int) -> tuple[Path, Path]:
    """The save file and the commands for the waveform in `folder`, which gets smaller."""
    ranges = thin(folder / record.WAVES, log_N)
    paths = folder / "pipeline.gtkw", folder / "pipeline.sucl"
    for path, lines in zip(paths, (gtkwave(log_N, ranges), surfer(log_N)), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths
