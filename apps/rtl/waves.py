"""How to look at the waveform: the signals that a coefficient passes in the first PE, in order.

`groups` follows rtl/README.md, section 7. GTKWave gets a save file, Surfer a file of commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from . import record

TOP = "TOP"  # the core's ports
CORE = f"{TOP}.whorl_core"
SCHEDULE = f"{CORE}.schedule"
PE = f"{CORE}.g_pe[0].element"
FORWARD = f"{PE}.g_forward[0].forward"
BACKWARD = f"{PE}.g_back[0].backward"


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


def declared(path: Path) -> dict[str, str]:
    """Full names of a VCD file's signals, and their ranges ("[32:0]", or nothing)."""
    scopes: list[str] = []
    found = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            words = line.split()
            match words[:1]:
                case ["$scope"]:
                    scopes.append(words[2])
                case ["$upscope"]:
                    scopes.pop()
                case ["$var"]:
                    bits = words[5] if words[5] != "$end" else ""
                    found[".".join([*scopes, words[4]])] = bits
                case ["$enddefinitions"]:
                    return found
    raise ValueError(f"{path}: the definitions of a VCD file do not end")


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
    """The save file and the commands for the waveform in `folder`."""
    ranges = declared(folder / record.WAVES)
    paths = folder / "pipeline.gtkw", folder / "pipeline.sucl"
    for path, lines in zip(paths, (gtkwave(log_N, ranges), surfer(log_N)), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths
