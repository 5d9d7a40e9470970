"""Tables that everybody knows, at places that are encrypted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._carry import Form
from ._circuit import HALF, Wires
from ._digits import FLAG, Digits, Number, digits_of
from ._shifts import right

BLOCK = HALF
"""Entries that one rotation tells apart."""


def look_up(on: Digits, x: Number, table: Sequence[int], bits: int) -> Number:
    """Entries at unsigned places: all blocks of 16 by the lowest two digits, which are functions of
    one input, then a choice for each further bit. Places behind the end hold 0."""
    circuit, form = on.circuit, Form(bits, False)
    digits = on.flush(x).wires
    blocks = -(-len(table) // BLOCK)
    steps = (blocks - 1).bit_length()
    entries = np.zeros((form.digits, blocks << 4), dtype=np.int64)
    entries[:, : len(table)] = digits_of(table, form)
    low = circuit.take(digits, [0])
    if len(digits) > 1:
        low = on.packed(circuit.take(digits, [1]), low)
    functions: list[tuple[Any, None]] = [
        (lambda v, e=entries[i, b * BLOCK : (b + 1) * BLOCK]: e[v], None)
        for b in range(blocks)
        for i in range(form.digits)
    ]
    rows = circuit.join(*circuit.tables((low, functions))[0])
    if steps or len(digits) > 2:
        rows = _chosen(on, digits, rows, form, blocks)
    return Number(bits, False, rows)


def _chosen(on: Digits, digits: Wires, rows: Wires, form: Form, blocks: int) -> Wires:
    """The block that the upper digits name, or 0 if there are fewer."""
    circuit, steps = on.circuit, (blocks - 1).bit_length()
    upper = circuit.take(digits, np.arange(2, len(digits)))
    place = np.arange(steps)
    flags = circuit.table(
        circuit.take(upper, place // 2), lambda v, bit: FLAG * (v >> bit & 1), place % 2
    )
    for step in range(steps):
        blocks = len(rows) // form.digits
        if blocks % 2:
            rows = circuit.join(rows, circuit.known([0] * form.digits, rows.size))
        index = np.arange(len(rows)).reshape(-1, 2, form.digits)
        later, first = (circuit.take(rows, index[:, k].reshape(-1)) for k in (1, 0))
        rows = on.choose(circuit.take(flags, [step]), later, first)
    bits = 2 * len(upper)
    if bits == steps:
        return rows
    behind = Number(bits, False, upper)
    lost = on.sign_of(right(on, behind, steps).wires, "ne")
    return on.choose(lost.wires, circuit.known([0] * form.digits, rows.size), rows)
