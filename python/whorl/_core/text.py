"""Values, sizes and bounds as text: in messages, and in tables of notebooks."""

from __future__ import annotations

import html
import math
import reprlib
from collections.abc import Iterable
from typing import Any


def shown(value: Any) -> str:
    """A value as messages have it, shortened.

    >>> shown(7), shown(-(10**5000))
    ('7', '-2^16609 or so')
    """
    if isinstance(value, int) and value.bit_length() > 512:
        return f"{'-' * (value < 0)}2^{value.bit_length() - 1} or so"
    try:
        return reprlib.repr(value)
    except ValueError:  # of a fraction with too many digits
        return f"a {type(value).__name__}"


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "value"), counted(2, "value")
    ('1 value', '2 values')
    """
    return f"{number} {what}{'s' * (number != 1)}"


def of_bytes(count: int) -> str:
    """A number of bytes, for people: `1,536 (1.5 KiB)`."""
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count:,}" if unit == "bytes" else f"{count:,} ({size:.1f} {unit})"


_SLACK = 1e-9
"""How many tenths a double misses the tenth by that it stands for, at most."""


def at_least_bits(security: float) -> str:
    """Bits of security, rounded down.

    >>> at_least_bits(131.29), at_least_bits(174.2)
    ('131.2', '174.2')
    """
    return f"{math.floor(security * 10 + _SLACK) / 10:.1f}"


def at_most_chance(log2: float) -> str:
    """A probability as a power of two, rounded up.

    >>> at_most_chance(-105.71), at_most_chance(-64.0), at_most_chance(-math.inf)
    ('2^-105.7', '2^-64.0', '0')
    """
    if math.isinf(log2):
        return "0"
    return f"2^{math.ceil(log2 * 10 - _SLACK) / 10:.1f}"


class Shown:
    """An object that notebooks show as a table. A subclass gives the facts in it."""

    __slots__ = ()

    def _facts(self) -> Iterable[tuple[str, str]]:
        """Names and values for people, public ones only."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """A table of two columns; what users named is escaped."""
        rows = "".join(
            f'<tr><th style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for name, value in self._facts()
        )
        title = html.escape(type(self).__name__)
        return (
            f'<table><thead><tr><th colspan="2" style="text-align:left">{title}</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )
