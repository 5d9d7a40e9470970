"""Look-up tables Z_p -> Z_p'."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.integers import as_index, as_modulus, whole_numbers
from .._core.part import Part
from .._core.saved import Saved
from .._core.text import counted, shown
from .._server import binfhe as _lib
from ._messages import as_bool, as_messages
from ._parameters import Parameters


class Lut(Saved):
    """A checked, immutable table of a function from 0 … p-1 to 0 … p_out-1.

    Args:
        parameters: of the ciphertexts it is for.
        table: a callable, called with each int 0 … p-1, or an array of p integers.
        p: number of inputs; default: the length of the array.
        p_out: number of outputs; default: p.
        padding: inputs carry a padding bit, which lets any function be looked up in one blind
            rotation.
        padding_out: whether outputs carry a padding bit; default: like the inputs.
        exact: whether each output must be f(m). A server refuses an exact table that gives another
            value with a probability above its `allow_failure`. Outputs of a table with
            `exact=False` may be off: `error_bound` says how far from f(m), and a server refuses it
            where they may be further off. Take it for smooth functions of large p. Such a table may
            be coarse: p is then a power of two, with up to 2^16 sectors (2p with padding), and f is
            looked up at the N or 2N phases that a rotation tells apart.
        one_rotation: one blind rotation must be enough also without padding, so that
            f(m) + f(m + p/2) is linear in m. Then f(m) = g(m) + `weight`·m + a constant, where g
            takes one blind rotation: outputs keep `weight` times the input's errors.

    Raises:
        EncodingError: a value is negative or not below p_out, the length is not p, or p is more
            than the parameters carry; or one rotation was asked for and does not look the values
            up. For a value the message has its index.
        TypeError: an entry, or a result of the callable, is not an integer (bools and NumPy's
            integers are allowed); the message has the entry and its index. Or `parameters` has
            another type, or a callable is given without p.
        ValueError: the array does not have exactly one dimension.

    The `kind` follows from these arguments. It is `padded` with padding. Otherwise it is
    `negacyclic` if f(x + p/2) = -f(x) mod p_out, which takes one blind rotation, or else
    `arbitrary`, which takes two. (Liu, Micciancio, Polyakov, ASIACRYPT 2022;
    OpenFHE: GenerateLUTviaFunction.) With `one_rotation` it is `near_negacyclic` in its place.

    The rectified integers 0, 1, 0, 0 of 0, 1, -2, -1 fill half of the circle, so that they are
    looked up modulo 2: on the circle 2·relu(x) = x + |x|, and |x| - p/4 is negacyclic.

    >>> from whorl.binfhe import parameters
    >>> Lut(parameters("W128_P64"), [1, 0, 0, 1], p=4).kind
    'arbitrary'
    >>> relu = Lut(parameters("W128_P64"), [0, 1, 0, 0], p=4, p_out=2, one_rotation=True)
    >>> relu.kind, relu.weight
    ('near_negacyclic', 1)
    """

    __slots__ = ("_core", "_key")

    _core: _lib.Lut
    _reader = _lib.Lut
    _most = 1 << 30

    def __init__(
        self,
        parameters: Parameters,
        table: Callable[[int], int] | ArrayLike,
        p: int | None = None,
        p_out: int | None = None,
        padding: bool | None = None,
        padding_out: bool | None = None,
        *,
        exact: bool = True,
        one_rotation: bool = False,
    ) -> None:
        if not isinstance(parameters, Parameters):
            raise TypeError(
                f"parameters: {type(parameters).__name__} is not what parameters() makes"
            )
        if callable(table):
            if p is None:
                raise TypeError("p is needed with a callable")
            p = as_modulus(p, "p")
            table = [table(m) for m in range(p)]
        given = whole_numbers(table, "table")
        if given.ndim != 1:
            raise ValueError(f"table has {counted(given.ndim, 'dimension')}; it must have 1")
        p = as_modulus(len(given) if p is None else p, "p")
        name = "p" if p_out is None else "p_out"
        p_out = as_modulus(p if p_out is None else p_out, "p_out")
        # The library refuses a table of the wrong length, whatever its values are.
        values = as_messages(given, "table", p_out if len(given) == p else None, name)
        padding = padding is not None and as_bool("padding", padding)
        padding_out = padding if padding_out is None else as_bool("padding_out", padding_out)
        encodings = (p, padding), (p_out, padding_out)
        one = as_bool("one_rotation", one_rotation)
        self._init(_lib.Lut.create(parameters._core, values, *encodings, bool(exact), one))

    def _init(self, core: _lib.Lut) -> None:
        self._core = core
        encodings = core.input, core.output
        self._key = (core.parameters.digest, tuple(core.values), *encodings, core.exact, core.kind)

    def _moved(self, by: int) -> Lut:
        """The table with the value of m + `by`, modulo p, at m."""
        encodings = self._core.input, self._core.output
        values = as_messages(np.roll(self.values, -by), "table")
        core = _lib.Lut.create(self._core.parameters, values, *encodings, self.exact, False)
        return self._wrap(core)

    def _rotation(self) -> tuple[str, int, int]:
        """What tables of one call have in common: the kind, and what is added to the rotation."""
        near = self.kind == "near_negacyclic"
        first = self._core.values[0] + self._core.values[self.p // 2] if near else 0
        return self.kind, self.weight, first

    @classmethod
    def _wrap(cls, core: _lib.Lut) -> Lut:
        lut = cls.__new__(cls)
        lut._init(core)
        return lut

    @property
    def parameters(self) -> Parameters:
        """Parameters of the ciphertexts it is for."""
        return Parameters(self._core.parameters)

    @property
    def values(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """f(0) … f(p-1), shape (p,)."""
        return np.array(self._core.values, dtype=np.int64)

    p = Part[int]("_core.input", "Number of inputs.", itemgetter(0))
    padding = Part[bool]("_core.input", "Whether inputs carry a padding bit.", itemgetter(1))
    p_out = Part[int]("_core.output", "Number of outputs.", itemgetter(0))
    padding_out = Part[bool]("_core.output", "Whether outputs carry a padding bit.", itemgetter(1))
    kind = Part[str](
        "_core.kind",
        "`negacyclic`, `padded` or `near_negacyclic` (one blind rotation), or `arbitrary` (two).",
    )
    weight = Part[int](
        "_core.weight",
        "How many times the input is added to what the rotation gives; 0 unless the kind is "
        "`near_negacyclic`. Outputs have `weight`² times the input's noise beside that of a "
        "bootstrap.",
    )

    exact = Part[bool]("_core.exact", "Whether each output must be f(m).")
    error_bound = Part[int](
        "_core.error_bound",
        "How far a decrypted output may be from f(m), counted around the circle of `p_out`, for "
        "inputs that are fresh or bootstrapped; it is further off with a probability of at most "
        "2^-40. 0 says that the table is exact. `Server.error_bound` has it for other inputs and "
        "probabilities. docs/noise.md has the formula.",
    )
    reach = Part[int](
        "_core.reach",
        "How far from m the message may be that is looked up in its place, under the same terms. A "
        "threshold gives the right bit for messages further from it than that.",
    )

    def __call__(self, m: int) -> int:
        """f(m). `IndexError` unless 0 ≤ m < p, `TypeError` unless m is an integer."""
        m = as_index(m, "m")
        if not 0 <= m < self.p:
            raise IndexError(f"m: {shown(m)} is outside 0 … {self.p - 1}")
        return self._core.values[m]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lut) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        pad = " padded" if self.padding else ""
        shown = ", ".join(map(str, self._core.values[:8]))
        more = ", …" if self.p > 8 else ""
        about = "" if self.exact else f", within {self.error_bound}"
        return f"<Lut [{shown}{more}]: {self.p}{pad} -> {self.p_out}, {self.kind}{about}>"
