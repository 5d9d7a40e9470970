"""Messages of the library in the words of the command: options in place of Python's arguments."""

from __future__ import annotations

import re

_NUMBERS = ("max_bytes", "max_count", "max_expanded_bytes")
_FLAGS = (
    *("allow_insecure", "allow_readable_by_others", "allow_spent"),
    *("bootstrap", "overwrite_secret"),
)
_VECTOR_KEYS = r"client\.evaluation_keys\(\*\*bgv\.rotations_for\(parameters, {}\)\)"
_KEYGEN = "whorl keygen --scheme bgv"

_WORDS = [
    (re.compile(pattern), option)
    for pattern, option in (
        # Not as a part of a file's name.
        *((rf"(?<![\w/.-]){name} = (?=\d)", f"--{name.replace('_', '-')} ") for name in _NUMBERS),
        *((rf"(?<![\w/.-]){name}=True\b", f"--{name.replace('_', '-')}") for name in _FLAGS),
        (r"\ballow_failure=2\*\*", "--allow-failure 2^"),
        (r"(?<![\w./-])coefficients_last = True", "--coefficients-last"),
        (r"(?<![\w./-])arcsine(?: =|:) (?=-?\d)", "--arcsine "),
        ("ask the client for relinearise=", f"{_KEYGEN} --relinearise "),
        ("ask the client for swap_rows=True", f"{_KEYGEN} --swap-rows makes one"),
        (r"ask the client for rotations=\[(-?\d+)\]", r"whorl keygen --rotations \1 makes one"),
        (r"client\.evaluation_keys\(sums=(\d+)\)", r"whorl keygen --sum-length \1"),
        (_VECTOR_KEYS.format(r"\((\d+), (\d+)\)"), rf"{_KEYGEN} --matrices \1x\2"),
    )
]


def in_options(message: str) -> str:
    """The message with the names of options.

    >>> in_options("allow_failure=2**-33 accepts it.")
    '--allow-failure 2^-33 accepts it.'
    >>> in_options("at most 9 are accepted (max_count = 10 accepts them)")
    'at most 9 are accepted (--max-count 10 accepts them)'
    """
    for pattern, option in _WORDS:
        message = pattern.sub(option, message)
    return message
