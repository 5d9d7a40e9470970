"""The server's half of lanes: gates on bits, and integers, that stay on its device."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from .. import binfhe, ckks
from .._core.array import Shape, no_ciphertexts
from .._core.base_server import spread
from .._core.integers import whole_numbers
from .._core.literal import as_integer, as_real
from .._core.part import Part
from .._core.paths import PathName
from .._core.progress import Report, reports
from .._core.session import Session
from .._core.text import shown
from .._ring.server import as_distance, needing
from .._server import bridges as _bridges
from .._server import ckks as _lib
from ..errors import MissingKeyError, ParameterError, ShapeError
from ._compact import CompactBits
from ._lwe import LweInputKeys, LweOutputKeys
from ._modular import ModularArray, ModularServer, as_messages

Bits: TypeAlias = Union["LaneArray", ckks.Ciphertexts]
MOST_INPUTS = 16
"""Bits of an index of a table."""


def slots_of(lanes: int) -> int:
    """The slots of vectors of so many lanes: a power of two."""
    return 1 << (as_integer("lanes", lanes, 1, 2**24) - 1).bit_length()


class LaneArray(ModularArray["Server"]):
    """Encrypted bits, or integers modulo p, on the device of a server: an array of any shape of
    vectors of lanes.

    `&`, `|`, `^` and `~` act on all lanes of bits at once, `+`, `-`, `*`, `%` and comparisons on
    those of integers, and shapes broadcast as in NumPy. Indexing, `reshape`, `transpose`,
    `concatenate` and `stack` are NumPy's, over the vectors: the lanes inside one are no axis.
    """

    __slots__ = ()

    level = Part[int](
        "_core.level",
        "How many products are left, above `parameters.least_bootstrap_level`, until it is "
        "refreshed.",
    )
    error = Part[float](
        "_core.error",
        "No lane is farther from its bit or integer, but with the probability "
        "`Server.log2_failure`.",
    )
    nbytes = Part[int]("_core.nbytes", "Bytes on the device.")

    def to_host(self) -> ckks.Ciphertexts:
        """What a client decrypts, in the host's memory: at level 0, whatever was computed."""
        return self._server.download(self)

    def stored(self, level: int | None = None) -> ckks.Ciphertexts:
        """`Server.store`."""
        return self._server.store(self, level)

    def __and__(self, other: Bits) -> LaneArray:
        return self._server.and_(self, other)

    def __or__(self, other: Bits) -> LaneArray:
        return self._server.or_(self, other)

    def __xor__(self, other: Bits) -> LaneArray:
        return self._server.xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> LaneArray:
        return self._server.not_(self)

    def rotate(self, distance: int) -> LaneArray:
        """`Server.rotate`."""
        return self._server.rotate(self, distance)

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("lanes of each", f"{self.lanes:,}"),
            ("hold", self._held()),
            ("level", f"{self.level} of {self._server.parameters.depth}"),
            ("error", self._error()),
        ]

    def _about(self) -> str:
        return (
            f", {self.lanes:,} lanes of {self._held()}, level {self.level}, error at most "
            f"{self._error()}"
        )

    def _held(self) -> str:
        return "bits" if self.p == 2 else f"integers modulo {self.p}"

    def _error(self) -> str:
        return f"2^{math.log2(self.error):.1f}"


class Server(ModularServer[LaneArray]):
    """Evaluates gates on arrays of encrypted bits, and functions of integers, with evaluation keys
    only.

    Each gate follows a bound of the errors. Where a result would be too far from bits, operands are
    cleaned before, by 3x² - 2x³; where no level is left they are refreshed, two vectors in one
    bootstrap. Both are done for an array once, however many gates take it.

    Operands of a gate are arrays of this server, or `Ciphertexts` of a `lanes.Client`, which it
    takes in. Several Python threads may call it.
    """

    __slots__ = (
        "_core",
        "_lanes",
        "_lwe_input",
        "_lwe_output",
        "_lwe_parameters",
        "_parameters",
        "_server",
    )

    _core: _lib.Lanes
    _lwe_input: _bridges.LweInput | None
    _lwe_output: _bridges.LweOutput | None
    _lwe_parameters: binfhe.Parameters | None

    def __init__(
        self,
        keys: ckks.EvaluationKeys | PathName,
        device: str | None = None,
        threads: int = 0,
        allow_insecure: bool = False,
        key_bytes: int = 0,
        session: Session | None = None,
        *,
        lanes: int | None = None,
        most_log2_failure: float = -64.0,
        lwe_input: LweInputKeys | PathName | None = None,
        lwe_output: LweOutputKeys | PathName | None = None,
        progress: bool | Report | None = None,
    ) -> None:
        """Opens the devices and encodes the maps of bootstraps.

        Args:
            keys, device, threads, allow_insecure, key_bytes, session: as for `whorl.ckks.Server`.
            lanes: how many bits each vector has, rounded up to a power of two; default: the largest
                number that the keys refresh.
            most_log2_failure: log2 of the largest probability that any lane of any result of this
                server is wrong. A gate that would exceed it raises `NoiseError` before the work.
            lwe_input, lwe_output: keys for `from_lwe` and for `to_lwe`, or their files; None: there
                are none.
            progress: True for a bar while maps are encoded, or a callable, as for
                `prepare_bootstrap`.

        Raises what `whorl.ckks.Server` raises. `ParameterError` for keys without bootstraps, for
        parameters whose bootstraps are too coarse for bits, and unless `most_log2_failure` is below
        0. `MissingKeyError` if the keys do not refresh so many lanes. `KeyMismatchError` or
        `ParameterMismatchError` for `lwe_input` and `lwe_output` of another client of lanes.
        """
        if isinstance(keys, (str, bytes, os.PathLike)):
            keys = ckks.EvaluationKeys.load(keys, allow_insecure)
        server = ckks.Server(keys, device, threads, allow_insecure, key_bytes, session)
        held = keys.bootstrap
        if not held:
            raise ParameterError(
                "keys: they refresh nothing; lanes.Client.evaluation_keys() makes keys that do"
            )
        slots = max(held) if lanes is None else slots_of(lanes)
        if slots not in held:
            raise MissingKeyError(
                f"keys: they refresh vectors of {shown(sorted(held))} lanes, and not of {slots}: "
                f"ask the client for evaluation_keys(lanes={slots})"
            )
        with reports(progress, "maps of a bootstrap") as report:
            maps = server._core.encode_bootstrap(slots, report, True)
        self._open(server, maps, slots, most_log2_failure)
        if isinstance(lwe_input, (str, bytes, os.PathLike)):
            lwe_input = LweInputKeys.load(lwe_input, allow_insecure)
        if isinstance(lwe_output, (str, bytes, os.PathLike)):
            lwe_output = LweOutputKeys.load(lwe_output, allow_insecure)
        for name, given, kind in (
            ("lwe_input", lwe_input, LweInputKeys),
            ("lwe_output", lwe_output, LweOutputKeys),
        ):
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"{name}: {kind.__name__} are needed, not {type(given).__name__}")
        if lwe_input is not None:
            with reports(progress, "keys for LWE input") as report:
                self._lwe_input = _bridges.LweInput.create(self._core, lwe_input._core, report)
        if lwe_output is not None:
            self._lwe_output = _bridges.LweOutput.create(self._core, lwe_output._core)
            self._lwe_parameters = lwe_output.lwe_parameters

    def _open(self, server: Any, maps: Any, slots: int, most_log2_failure: float) -> None:
        most = as_real("most_log2_failure", most_log2_failure)
        self._core = _lib.Lanes.create(server._core, maps, most)
        self._server, self._lanes = server, slots
        self._lwe_input = self._lwe_output = self._lwe_parameters = None
        self._parameters = server.parameters

    parameters = Part[ckks.Parameters]("_parameters", "Parameters of the keys.")
    device = Part[str]("_server.device", "Where it computes: `cuda:0 (NVIDIA H200)`.")
    devices = Part[tuple[str, ...]]("_server.devices", "The name of each device.")
    key_id = Part[str]("_server.key_id", "Label of the keys, 32 hexadecimal digits.")
    key_bytes = Part[int]("_server.key_bytes", "Bytes that keys take on the devices now.")
    lanes = Part[int]("_lanes", "How many lanes a vector has at most.")
    limit = Part[float]("_core.limit", "The largest error that gates leave.")
    log2_failure = Part[float](
        "_core.log2_failure",
        "log2 of a bound of the probability that a lane of any result so far is wrong; -inf before "
        "the first.",
    )
    bootstraps = Part[int]("_core.counts", "Vectors that were refreshed so far.", lambda c: c[0])
    cleanings = Part[int]("_core.counts", "Vectors that were cleaned so far.", lambda c: c[1])
    products = Part[int](
        "_core.counts", "Products of vectors so far, with those of cleanings.", lambda c: c[2]
    )

    def __repr__(self) -> str:
        name = self._parameters.name or "unnamed"
        return f"<Server of {self.lanes:,} lanes on {self.device}, {name}, key {self.key_id[:8]}…>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a server holds a device and cannot be pickled; send its EvaluationKeys")

    def synchronise(self) -> None:
        """Waits until all work so far is done."""
        self._server.synchronise()

    # ---- to and from the device

    def upload(self, bits: Bits | CompactBits) -> LaneArray:
        """The bits or integers on the device. An array of this server is returned unchanged.

        The bounds of ciphertexts, 0 and p - 1, say what p is. Compact bits become lanes by one
        bootstrap, which all vectors of a call share as far as they share coefficients.
        `EncodingError` for other bounds and packings, `ShapeError` for other numbers of lanes;
        other errors as of `whorl.ckks.Server.upload`.
        """
        if isinstance(bits, LaneArray):
            if bits._server is not self:
                raise ParameterError("bits: an array of another lanes.Server was given")
            return bits
        if isinstance(bits, CompactBits):
            return self._wrap(self._core.take_in_compact(bits._core), bits.shape)
        if not isinstance(bits, ckks.Ciphertexts):
            raise no_ciphertexts(self._parameters, bits)
        array = self._server.upload(bits)
        return self._wrap(self._core.take_in(array._core), array.shape)

    def download(self, a: LaneArray) -> ckks.Ciphertexts:
        """What a client decrypts, in the host's memory (`LaneArray.to_host`)."""
        x = self.upload(a)
        core = self._server._core.download(self._core.finish(x._core))
        return ckks.Ciphertexts._wrap(core, x.shape, self._parameters)

    def store(self, a: Bits, level: int | None = None) -> ckks.Ciphertexts:
        """The array in the host's memory, to be saved: `upload` of a server with the same keys
        takes it later.

        Args:
            level: it is lowered to this level, from `parameters.least_bootstrap_level` on, which
                makes it smaller; a gate then refreshes it first. None: it stays at its own.

        It keeps its error, and what is stored must be kept as the server's memory is: whoever
        changes it can state another one. `log2_failure` of the server that loads it does not count
        what was done before. Clients decrypt what `download` gives. `ParameterError` for a level
        below that or above the array's own.
        """
        x = self.upload(a)
        to = None if level is None else as_integer("level", level, 0, 2**16)
        core = self._server._core.download(self._core.store(x._core, to))
        return ckks.Ciphertexts._wrap(core, x.shape, self._parameters)

    def from_lwe(
        self, ciphertexts: binfhe.Ciphertexts | binfhe.EncryptedArray, bits: int | None = None
    ) -> LaneArray:
        """Takes LWE ciphertexts of FHEW/TFHE into lanes, by one bootstrap.

        Args:
            ciphertexts: messages of shape (..., lanes), with as many lanes as the server has, of
                the `binfhe.Client` that `lwe_input` was made with. Fresh ones go to the device as a
                seed and a word each. An array of a `binfhe.Server` on the same `Session` stays on
                the device; one of another session goes through the host.
            bits: how many bits each message has; None: messages are bits, as gates take them. With
                a number several messages of which nothing is known go through a bootstrap together,
                as far as there is room: if one is larger than that, lanes of other vectors come out
                wrong too.

        Returns an array of shape (...), or (bits, ...) with the lowest bits first. Where the
        encoding has room for several messages, and their errors are small, they go through a
        bootstrap together.

        `MissingKeyError` without `lwe_input`. `KeyMismatchError` or `ParameterMismatchError` for
        ciphertexts of another client; `EncodingError` for sectors (p, or 2p with padding) that are
        no power of two or fewer than 2^bits, and for messages that may be larger; `ShapeError` for
        other numbers of lanes; `NoiseError` if errors are too large for lanes; `DeviceError` for an
        array of another session whose server is closed.
        """
        if self._lwe_input is None:
            raise MissingKeyError(
                "from_lwe: the server has no keys for LWE ciphertexts: give it "
                "lwe_input=client.lwe_input_keys(binfhe_client)"
            )
        if not isinstance(ciphertexts, (binfhe.Ciphertexts, binfhe.EncryptedArray)):
            raise TypeError(
                f"ciphertexts: those of whorl.binfhe are needed, not {type(ciphertexts).__name__}"
            )
        shape = ciphertexts.shape
        if not shape or shape[-1] != self._lanes:
            raise ShapeError(f"ciphertexts: shape {shape} has no last axis of {self._lanes} lanes")
        count = None if bits is None else as_integer("bits", bits, 1, 16)
        found = self._lwe_input.take_in(ciphertexts._core, count)
        if count is None:
            return self._wrap(found[0], shape[:-1])
        core = self._core.concatenate(found) if count > 1 else found[0]
        return self._wrap(core, (count, *shape[:-1]))

    def to_lwe(self, a: Bits, p: int = 4, padding: bool = False) -> binfhe.Ciphertexts:
        """Gives lanes out as LWE ciphertexts, which a `binfhe.Server` goes on with.

        Args:
            a: an array of shape (...).
            p, padding: as for `binfhe.Client.encrypt`.

        Returns messages 0 and 1 of shape (..., a.lanes), of the `binfhe.Client` that `lwe_output`
        was made with. Their `noise` may be above that of a bootstrap, so that gates fail more
        often; they tell. The array is cleaned and refreshed as far as its errors would count.

        `MissingKeyError` without `lwe_output`; `EncodingError` for a p that the parameters do not
        carry, or that gives no power of two of sectors; `NoiseError` for one with which messages
        would be wrong too often.
        """
        if self._lwe_output is None:
            raise MissingKeyError(
                "to_lwe: the server has no keys for LWE ciphertexts: give it "
                "lwe_output=client.lwe_output_keys(binfhe_client)"
            )
        x = self.upload(a)
        sectors = as_integer("p", p, 2, 2**24), bool(padding)
        core = self._lwe_output.give_out(x._core, *sectors)
        found = binfhe.Ciphertexts._wrap(core, (*x.shape, self._lanes), self._lwe_parameters)
        return found if x.lanes == self._lanes else found[..., : x.lanes]

    def _wrap(self, core: Any, shape: Shape) -> LaneArray:
        return LaneArray._wrap(core, self, shape)

    def _meet(self, *operands: Bits) -> tuple[list[LaneArray], Shape]:
        arrays = [self.upload(operand) for operand in operands]
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        return [spread(array, shape) for array in arrays], shape

    # ---- gates

    def not_(self, a: Bits) -> LaneArray:
        """¬a; `~a`. It takes no level."""
        x = self.upload(a)
        return self._wrap(self._core.bit_not(x._core), x.shape)

    def and_(self, a: Bits, b: Bits) -> LaneArray:
        """a ∧ b; `a & b`."""
        (x, y), shape = self._meet(a, b)
        return self._wrap(self._core.bit_and(x._core, y._core), shape)

    def or_(self, a: Bits, b: Bits) -> LaneArray:
        """a ∨ b; `a | b`."""
        (x, y), shape = self._meet(a, b)
        return self._wrap(self._core.bit_or(x._core, y._core), shape)

    def xor(self, a: Bits, b: Bits) -> LaneArray:
        """a ⊕ b; `a ^ b`."""
        (x, y), shape = self._meet(a, b)
        return self._wrap(self._core.bit_xor(x._core, y._core), shape)

    def where(self, choice: Bits, a: Bits, b: Bits) -> LaneArray:
        """In each lane a where the choice, a bit, is 1, else b, by one product.

        a and b are bits, or integers of one p.
        """
        (s, x, y), shape = self._meet(choice, a, b)
        return self._wrap(self._core.select(s._core, x._core, y._core), shape)

    def full_add(self, a: Bits, b: Bits, c: Bits) -> tuple[LaneArray, LaneArray]:
        """The sum and the carry of three bits, by two products: a ⊕ b ⊕ c, and the majority."""
        (x, y, z), shape = self._meet(a, b, c)
        total, carry = self._core.full_add(x._core, y._core, z._core)
        return self._wrap(total, shape), self._wrap(carry, shape)

    def lookup(self, x: Bits, table: ArrayLike) -> LaneArray:
        """table[x] in each lane.

        Args:
            x: 1 to 16 bits along the first axis, the lowest one first.
            table: 2^k integers of 0 … 2^31 - 1, for k bits.

        The result has the bits of the entries along its first axis, as many as the largest entry
        has (at least one). A table of k bits is a sum of products of minterms, and takes ⌈log2 k⌉
        levels (`docs/lanes.md` has the products). `ParameterError` for other numbers of bits or
        entries, and for entries outside that range; `ShapeError` for an array without a first axis.
        """
        array = self.upload(x)
        if not array.shape:
            raise ShapeError("lookup: a single vector has no axis of bits; x[None] has")
        values, bits = whole_numbers(table, "table").reshape(-1), array.shape[0]
        if not 1 <= bits <= MOST_INPUTS:
            raise ParameterError(
                f"lookup: {bits} bits along the first axis are outside 1 … {MOST_INPUTS}: look "
                f"parts of a larger table up by {MOST_INPUTS} bits, and choose among the results "
                "by the others (Server.where)"
            )
        if values.size != 1 << bits:
            raise ParameterError(
                f"lookup: the table has {values.size} entries, and {bits} bits want {1 << bits}: "
                "give one for each number that they may be"
            )
        outside = np.flatnonzero((values < 0) | (values >= 2**31))
        if outside.size:
            wrong, entry = outside[0], int(values[outside[0]])
            raise ParameterError(
                f"lookup: entry {wrong} is {shown(entry)}, outside 0 … 2^31 - 1: look larger "
                "entries up in parts, each a table of its own"
            )
        width = max(int(values.max()).bit_length(), 1)
        tables = [(values >> j & 1).tolist() for j in range(width)]
        made = self._core.lookup([array[i]._core for i in range(bits)], tables)
        core = self._core.concatenate(made) if width > 1 else made[0]
        return self._wrap(core, (width, *array.shape[1:]))

    def count_ones(self, x: Bits) -> LaneArray:
        """The bits of the number of ones among the bits along the first axis, in each lane.

        The result has the bits of the number along its first axis, the lowest one first, refreshed.
        The bits are added up without products. A bootstrap takes k bits of the sum, where the
        parameters' bootstraps are made for so many (`parameters.bootstrap["bits"]`), two sums in
        one, where there are more; the next one takes k more. `ParameterError` for parameters for
        real numbers, `ShapeError` for an array without a first axis.
        """
        array = self.upload(x)
        if not array.shape:
            raise ShapeError("count_ones: a single vector has no axis of bits; x[None] has")
        made = self._core.count_ones([array[i]._core for i in range(array.shape[0])])
        core = self._core.concatenate(made) if len(made) > 1 else made[0]
        return self._wrap(core, (len(made), *array.shape[1:]))

    def sum_numbers(self, numbers: Sequence[Bits]) -> LaneArray:
        """`lanes.total` by sums in coefficients, of numbers whose vectors have one shape.

        `ParameterError` for parameters for real numbers, for no number and for one without bits,
        `ShapeError` for other shapes.
        """
        arrays = self._numbers("sum_numbers", numbers)
        made = self._core.sum_numbers([list(self._bits(x)) for x in arrays])
        return self._wrap(self._core.concatenate(made), (len(made), *arrays[0].shape[1:]))

    def multiply_numbers(self, x: Bits, y: Bits) -> LaneArray:
        """`lanes.multiply` in the same way; errors as `sum_numbers`."""
        arrays = self._numbers("multiply_numbers", (x, y))
        made = self._core.multiply_numbers(*(list(self._bits(x)) for x in arrays))
        return self._wrap(self._core.concatenate(made), (len(made), *arrays[0].shape[1:]))

    def _numbers(self, what: str, numbers: Sequence[Bits]) -> list[LaneArray]:
        """Arrays whose first axes have bits, and whose others are equal."""
        arrays = [self.upload(x) for x in numbers]
        for x in arrays:
            if not x.shape or x.shape[1:] != arrays[0].shape[1:]:
                raise ShapeError(
                    f"{what}: shapes {arrays[0].shape} and {x.shape} must be equal but for the "
                    "first axis, of bits"
                )
        return arrays

    def _bits(self, x: LaneArray) -> Iterator[Any]:
        return (x[i]._core for i in range(x.shape[0]))

    def rotate(self, a: Bits, distance: int) -> LaneArray:
        """Moves lanes to the left by `distance`, round within the vector.

        `MissingKeyError` without the key, which `evaluation_keys(rotations=[distance])` makes.
        """
        x, by = self.upload(a), as_distance("distance", distance)
        with needing("a rotation", f"rotations=[{by}]"):
            return self._wrap(self._core.rotate(x._core, by), x.shape)

    def constant(self, like: Bits, bit: int) -> LaneArray:
        """An array of the shape and p of `like` with this bit, or integer, in all lanes."""
        x = self.upload(like)
        given = int(bit) if isinstance(bit, (bool, np.bool_)) else bit
        message = as_integer("bit", given, 0, x.p - 1)
        return self._wrap(self._core.constant(x._core, message), x.shape)

    def known(self, like: Bits, bits: ArrayLike) -> LaneArray:
        """Bits or integers that everybody knows, of shape (..., lanes), as an array that meets
        encrypted ones.

        It hides nothing. `like` is any array of this server, whose level and p it gets.
        `EncodingError` for values outside 0 … p - 1, `ShapeError` for other numbers of lanes.
        """
        x = self.upload(like)
        values = as_messages(bits, x.p)
        if values.ndim == 0 or values.shape[-1] != x.lanes:
            name = "bits" if x.p == 2 else "integers"
            raise ShapeError(f"{name}: shape {values.shape} has no last axis of {x.lanes} lanes")
        flat = np.ascontiguousarray(values, dtype=np.uint8).reshape(-1)
        return self._wrap(self._core.known(x._core, flat), values.shape[:-1])

    # ---- what it does by itself

    def clean(self, *arrays: LaneArray) -> None:
        """Brings errors of bits down now, by two levels and two products; gates do so when it is
        due."""
        self._core.clean([self.upload(a)._core for a in arrays])

    def refresh(self, *arrays: LaneArray) -> None:
        """Bootstraps all of them now, at once; operations do so when it is due."""
        self._core.refresh([self.upload(a)._core for a in arrays])
