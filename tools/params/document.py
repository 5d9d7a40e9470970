#!/usr/bin/env python3
"""Writes the table of named sets into docs/parameters.md; --check only compares."""

import sys
from pathlib import Path
from typing import cast

from whorl import binfhe
from whorl._core.text import at_least_bits, at_most_chance
from whorl.binfhe._parameters import describe_rotation

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "parameters.md"
BEGIN, END = "<!-- sets: tools/params/document.py -->", "<!-- end of sets -->"
HEADER = (
    "| set | n | key | N | log2 Q | q | Q_ks | rotation | gadget | key switch | LWE / ring bits "
    "| failure | keys, MB |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
)


def power(value):
    """2^k where it is one, else the number of bits."""
    bits = value.bit_length() - 1
    return f"2^{bits}" if value == 1 << bits else f"{value.bit_length()} bits"


def row(name):
    parameters = binfhe.parameters(name, allow_insecure=True)
    literal, security = parameters.literal(), parameters.security
    gadget = ", ".join(
        f"2^{log_base} × {digits}" + (f" ({count})" if len(literal["gadget"]) > 1 else "")
        for count, log_base, digits in literal["gadget"]
    )
    for log_modulus, log_base, digits in literal["small_modulus_gadgets"]:
        gadget += f"; 2^{log_base} × {digits} to 2^{log_modulus}"
    log_q_ks = (literal["Q_ks"] - 1).bit_length()
    digits = literal["ks_digits"] or -(-log_q_ks // literal["log_B_ks"])
    cells = (
        f"`{name}`",
        literal["n"],
        literal["lwe_secret"],
        literal["N"],
        literal["Q"].bit_length(),
        power(literal["q"]),
        "Q" if literal["Q_ks"] == literal["Q"] else power(literal["Q_ks"]),
        describe_rotation(cast("tuple[str, int, int]", literal["rotation"])),
        gadget,
        f"{literal['key_switch']} 2^{literal['log_B_ks']} × {digits}",
        f"{at_least_bits(security.lwe_bits)} / {at_least_bits(security.ring_bits)}",
        at_most_chance(parameters.failure_log2),
        f"{parameters.key_bytes / 1e6:.0f}",
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def render():
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    table = "\n".join((*HEADER, *(row(name) for name in binfhe.parameter_sets())))
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if DOCUMENT.read_text() != render():
            sys.exit(f"{DOCUMENT} is out of date; run {sys.argv[0]}")
    else:
        DOCUMENT.write_text(render())
