"""What a client has released."""

from __future__ import annotations

from typing import NamedTuple


class Released(NamedTuple):
    """What was released under a key; `Client.released` counts it."""

    results: int
    """Number of ciphertexts."""
    spent: float
    """The sum of 1/queries over them. At 1 nothing more may be released."""
