"""Keys that clients over RNS rings give away: what BGV's and CKKS's have in common."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from .._core.saved import Keys
from .._core.text import counted

P = TypeVar("P")

MAX_BYTES = 1 << 34
"""Keys for 16 rotations at depth 24 take 3 GB."""


class RingKeys(Keys[P]):
    """Evaluation keys or a public key."""

    __slots__ = ()

    _most = MAX_BYTES


class RingEvaluationKeys(RingKeys[P]):
    """Keys of relinearisation and of automorphisms X -> X^g."""

    __slots__ = ()

    _core: Any
    _made_by = "Client.evaluation_keys()"
    _generator: ClassVar[int]
    """The g of the rotation by one."""
    _reflection: ClassVar[str]
    """What g = 2N - 1 does, as `Client.evaluation_keys` names it."""

    @property
    def relinearise(self) -> int:
        """Largest number of parts that can be brought back to two; 2: there is no such key."""
        return max((power for g, power in self._core.contents if g == 1), default=1) + 1

    @property
    def rotations(self) -> tuple[int, ...]:
        """Distances that values can be rotated by, to the left, each in 1 … N/2 - 1, ascending."""
        N = self.parameters.N  # type: ignore[attr-defined]
        held = {g for g, _ in self._core.contents}
        found, g = [], 1
        for distance in range(1, N // 2):
            g = g * self._generator % (2 * N)
            if g in held:
                found.append(distance)
        return tuple(found)

    @property
    def _reflects(self) -> bool:
        N: int = self.parameters.N  # type: ignore[attr-defined]
        return (2 * N - 1, 1) in self._core.contents

    def _contents(self) -> str:
        rotations = counted(len(self.rotations), "rotation")
        reflection = f", {self._reflection}" if self._reflects else ""
        return f": relinearise={self.relinearise}, {rotations}{reflection}"
