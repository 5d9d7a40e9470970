"""What circuits are evaluated on: bits in clear, or encrypted ones. Another kind of bits is another
class of `Bits`, and a line in `bits_of`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from .._core.array import Array, Shape, concatenate, stack
from .._core.text import shown
from ..binfhe._ciphertexts import Encoded
from ..binfhe._lut import Lut
from ..binfhe._parameters import Parameters
from ..binfhe._plan import Fresh, plan
from ..binfhe._server import EncryptedArray, Server
from ..ckks._ciphertexts import Ciphertexts as LaneCiphertexts
from ..errors import EncodingError, NoiseError
from ..lanes._server import LaneArray
from ..lanes._server import Server as LaneServer
from ._schedule import Numbers

A = TypeVar("A")
X = TypeVar("X", bound=Array)
COSTS: Mapping[str, int] = {"and": 1, "xor": 1, "xor3": 1, "majority": 1, "mux": 2}
"""Bootstraps of the gates of bits of p = 4."""
Clear = np.ndarray[Any, np.dtype[np.bool_]]


class Bits(Protocol[A]):
    """Operations on arrays of bits. The first axis counts gates; all arrays of a call have the same
    shape."""

    @property
    def costs(self) -> Mapping[str, int] | int:
        """Costs of the methods that compute gates, by name; or, if `table` computes all of them,
        how many inputs tables have."""

    def zero(self, shape: Shape) -> A:
        """Constants 0."""

    def and_(self, a: A, b: A) -> A:
        """a ∧ b."""

    def xor(self, a: A, b: A) -> A:
        """a ⊕ b."""

    def xor3(self, a: A, b: A, c: A) -> A:
        """a ⊕ b ⊕ c."""

    def majority(self, a: A, b: A, c: A) -> A:
        """1 where two or three are 1."""

    def mux(self, select: A, a: A, b: A) -> A:
        """select ? a : b."""

    def table(self, inputs: Sequence[A], tables: Sequence[int]) -> A:
        """Bit i_0 + 2·i_1 + … of the table of each gate."""

    def invert(self, a: A, where: Numbers) -> A:
        """¬a for the gates where this is 1, and a elsewhere."""

    def take(self, a: A, index: Numbers) -> A:
        """Parts of an array, as `a[index]`."""

    def join(self, arrays: Sequence[A]) -> A:
        """Arrays one behind another."""


class _ClearBits:
    """Arrays of bools of NumPy."""

    costs: ClassVar[Mapping[str, int]] = COSTS

    def zero(self, shape: Shape) -> Clear:
        return np.zeros(shape, dtype=np.bool_)

    def and_(self, a: Clear, b: Clear) -> Clear:
        return a & b

    def xor(self, a: Clear, b: Clear) -> Clear:
        return a ^ b

    def xor3(self, a: Clear, b: Clear, c: Clear) -> Clear:
        return a ^ b ^ c

    def majority(self, a: Clear, b: Clear, c: Clear) -> Clear:
        return a & b | (a | b) & c

    def mux(self, select: Clear, a: Clear, b: Clear) -> Clear:
        return np.where(select, a, b)

    def table(self, inputs: Sequence[Clear], tables: Sequence[int]) -> Clear:
        index = sum(x.astype(np.intp) << k for k, x in enumerate(inputs))
        values = np.array(tables).reshape(-1, *[1] * (inputs[0].ndim - 1))
        return np.asarray(values >> index & 1, dtype=np.bool_)

    def invert(self, a: Clear, where: Numbers) -> Clear:
        flips: Clear = _along(where.astype(np.bool_), a.ndim)
        return a ^ flips

    def take(self, a: Clear, index: Numbers) -> Clear:
        return a[index]

    def join(self, arrays: Sequence[Clear]) -> Clear:
        return np.concatenate(arrays)


class _BinfheBits:
    """Arrays of a server of FHEW/TFHE. Bits of p = 4 take gates; those of p = 2^k with a padding
    bit take tables of k inputs."""

    def __init__(self, server: Server, p: int, padding: bool) -> None:
        self._server, self._p, self._padding = server, p, padding
        self._tables: dict[int, Lut] = {}
        self.costs: Mapping[str, int] | int = 0
        if padding and p in (4, 8, 16):
            self.costs = p.bit_length() - 1
        elif p == 4 and not padding:
            self.costs = _carried(server.parameters, server.transform, server.allow_failure)
        else:
            raise EncodingError(
                f"inputs: bits have p = {p}{' with padding' if padding else ''}; encrypt them with "
                "p = 4 for gates, or with p = 4, 8 or 16 and padding=True for tables of 2, 3 or 4 "
                "inputs"
            )

    def zero(self, shape: Shape) -> EncryptedArray:
        return self._server.trivial(np.zeros(shape, dtype=np.uint32), self._p, self._padding)

    def and_(self, a: EncryptedArray, b: EncryptedArray) -> EncryptedArray:
        return self._apart(self._server.and_, a, b)

    def xor(self, a: EncryptedArray, b: EncryptedArray) -> EncryptedArray:
        return self._apart(self._server.xor, a, b)

    def xor3(self, a: EncryptedArray, b: EncryptedArray, c: EncryptedArray) -> EncryptedArray:
        return self._apart(lambda x, y, z: self._server.xor(x, self._server.add(y, z)), a, b, c)

    def majority(self, a: EncryptedArray, b: EncryptedArray, c: EncryptedArray) -> EncryptedArray:
        return self._apart(self._server.majority, a, b, c)

    def mux(self, select: EncryptedArray, a: EncryptedArray, b: EncryptedArray) -> EncryptedArray:
        return self._apart(self._server.mux, select, a, b)

    def _apart(
        self, gate: Callable[..., EncryptedArray], *inputs: EncryptedArray
    ) -> EncryptedArray:
        """The gate. Results of the same inputs, as a ∧ b and ¬a ∧ ¬b, may have errors in common,
        which add up: if that is too much, one of them is bootstrapped before."""
        try:
            return gate(*inputs)
        except NoiseError:
            for i, each in enumerate(inputs):
                fresh = self._server.bootstrap(each)
                with suppress(NoiseError):
                    return gate(*inputs[:i], fresh, *inputs[i + 1 :])
            raise

    def table(self, inputs: Sequence[EncryptedArray], tables: Sequence[int]) -> EncryptedArray:
        weights = [1 << k for k in range(len(inputs))]
        index = self._server.linear(weights, inputs, largest=self._p - 1)
        for each in {*tables} - {*self._tables}:
            values = [each >> i & 1 for i in range(self._p)]
            self._tables[each] = Lut(self._server.parameters, values, padding=True)
        luts = np.empty(len(tables), dtype=np.object_)
        luts[:] = [self._tables[each] for each in tables]
        return self._server.apply(_along(luts, index.ndim), index)

    def invert(self, a: EncryptedArray, where: Numbers) -> EncryptedArray:
        if not self._padding:
            return self._server.xor(a, _along(where, a.ndim))
        return _inverted(a, where, self._server.not_)

    def take(self, a: EncryptedArray, index: Numbers) -> EncryptedArray:
        return a[index]

    def join(self, arrays: Sequence[EncryptedArray]) -> EncryptedArray:
        return concatenate(arrays)


class _LaneBits:
    """Arrays of a server of lanes. Gates are products, of which sums and carries take two."""

    costs: ClassVar[Mapping[str, int]] = {"and": 1, "xor": 1, "xor3": 2, "majority": 2, "mux": 1}

    def __init__(self, server: LaneServer, like: LaneArray) -> None:
        self._server = server
        self._zero = server.constant(like.ravel()[:1].reshape(()), False)

    def zero(self, shape: Shape) -> LaneArray:
        return self._zero.broadcast_to(shape)

    def and_(self, a: LaneArray, b: LaneArray) -> LaneArray:
        return a & b

    def xor(self, a: LaneArray, b: LaneArray) -> LaneArray:
        return a ^ b

    def xor3(self, a: LaneArray, b: LaneArray, c: LaneArray) -> LaneArray:
        return a ^ b ^ c

    def majority(self, a: LaneArray, b: LaneArray, c: LaneArray) -> LaneArray:
        return self._server.full_add(a, b, c)[1]

    def mux(self, select: LaneArray, a: LaneArray, b: LaneArray) -> LaneArray:
        return self._server.where(select, a, b)

    def table(self, inputs: Sequence[LaneArray], tables: Sequence[int]) -> LaneArray:
        entries = np.arange(1 << len(inputs))
        gates = (stack([x[i] for x in inputs]) for i in range(len(tables)))
        made = [
            self._server.lookup(x, each >> entries & 1)
            for x, each in zip(gates, tables, strict=True)
        ]
        return concatenate(made)

    def invert(self, a: LaneArray, where: Numbers) -> LaneArray:
        return _inverted(a, where, self._server.not_)

    def take(self, a: LaneArray, index: Numbers) -> LaneArray:
        return a[index]

    def join(self, arrays: Sequence[LaneArray]) -> LaneArray:
        return concatenate(arrays)


def _inverted(a: X, where: Numbers, invert: Callable[[X], X]) -> X:
    """An array of which `invert` is applied to the gates where this is 1."""
    kept, changed = np.flatnonzero(where == 0), np.flatnonzero(where)
    if not len(changed):
        return a
    both = concatenate([a[kept], invert(a[changed])]) if len(kept) else invert(a[changed])
    return both[np.argsort(np.concatenate([kept, changed]))]


CLEAR: Bits[Clear] = _ClearBits()


@lru_cache(64)
def _carried(parameters: Parameters, transform: str, allow_failure: float) -> Mapping[str, int]:
    """The gates that parameters carry, on results of gates and of `mux`; the others are made of
    `and` and `xor`."""
    for dear in ((), ("mux",)):
        costs = {kind: cost for kind, cost in COSTS.items() if kind not in dear}
        with suppress(NoiseError):
            plan(
                partial(_noisiest, costs),
                [Fresh()] * 3,
                parameters=parameters,
                transform=transform,
                allow_failure=allow_failure,
            )
            return costs
    return {"and": 1, "xor": 1}


def _noisiest(costs: Mapping[str, int], *inputs: EncryptedArray) -> list[EncryptedArray]:
    """Gates whose inputs have as much noise as they may have in a circuit."""
    server, turned = inputs[0].server, inputs[1:] + inputs[:1]
    made = [server.majority(*map(server.and_, inputs, turned))]
    if "mux" in costs:
        chosen = [server.mux(*inputs[i:], *inputs[:i]) for i in range(3)]
        made += [server.mux(*chosen), server.and_(*chosen[:2]), server.xor(*chosen[:2])]
    return made


def bits_of(server: Any, inputs: Mapping[str, Any]) -> Bits[Any]:
    """The bits that a server computes with, and the inputs are. `TypeError` for inputs that are not
    ciphertexts of its kind, `EncodingError` for several encodings."""

    def check(kinds: Any) -> None:
        for name, each in inputs.items():
            if not isinstance(each, kinds):
                raise TypeError(f"{name}: ciphertexts are needed, not {type(each).__name__}")

    first = next(iter(inputs.values()))
    if isinstance(server, Server):
        check(Encoded)
        encodings = {(each.p, each.padding) for each in inputs.values()}
        if len(encodings) > 1:
            raise EncodingError(
                f"inputs: p and padding are {shown(sorted(encodings))}; all must have the same"
            )
        return _BinfheBits(server, first.p, first.padding)
    if isinstance(server, LaneServer):
        check((LaneArray, LaneCiphertexts))
        return _LaneBits(server, server.upload(first))
    raise TypeError(
        f"server: a Server of whorl.binfhe or whorl.lanes is needed, not {shown(server)}"
    )


def _along(values: Any, ndim: int) -> Any:
    """A value for each gate, for arrays with so many axes."""
    return values.reshape(-1, *[1] * (ndim - 1))
