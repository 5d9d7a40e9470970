"""Values in messages."""

from __future__ import annotations

import reprlib
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
