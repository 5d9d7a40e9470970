"""The server's half of encrypted integers: it computes with evaluation keys only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from .. import binfhe, lanes
from .._core.array import Shape
from .._core.text import shown
from ..errors import EncodingError, MissingKeyError, ParameterError
from ._algorithms import divide
from ._arithmetic import Arithmetic, DigitArithmetic
from ._arrays import IntArray, IntegerArray, UintArray, flat_index
from ._ciphertexts import FLAGS, WITH_CARRIES, Ciphertexts
from ._circuit import Circuit, Saves, Wires
from ._engines import TABLE_FAILURE_LOG2, BinfheEngine, account_of
from ._lane_bits import LaneArithmetic
from ._programs import Programs
from ._types import as_kind, as_values


def check_saves(saves: Saves) -> Saves:
    """The same; `ParameterError` for anything else."""
    if saves not in get_args(Saves):
        raise ParameterError(f"saves: {shown(saves)} is not one of {', '.join(get_args(Saves))}")
    return saves


class Server:
    """Computes on encrypted integers, by the tables of a `binfhe.Server` or by the gates of a
    `lanes.Server`; results are the same.

    Args:
        server: of FHEW/TFHE, with a set whose tables of 32 sectors bear twice a bootstrap, as those
            of `W128_P128` do (`ParameterError` else); or of lanes. There the last axis of an array
            is that of the lanes of its vectors: it is taken as a whole (`ShapeError`), and other
            axes are indexed, added up and joined.
        table_failure_log2: log2 of the largest probability with which one table gives a wrong
            result, not of lanes. The smaller it is, the fewer terms are added before a table, and
            the more tables there are. `plan` says what a whole program has.
        compression: keys for `compress`, made by `binfhe.Client.compression_keys`.
        products: keys for faster products, made by `binfhe.Client.product_keys`. They go through
            ring elements then, which takes a seventh of the work for integers of 64 bits.
        saves: "rotations", "layers", or "both", where one costs the other. A sum of 64 bits takes
            32 rotations in 32 layers, or 89 in three, or 61 in four. The first is for several
            integers at once on a CPU, and for a thousand on a GPU, which fill a layer; the second
            for few on a GPU, where a layer of 32 rotations takes a quarter longer than one
            rotation. In lanes it changes nothing.

    All look-ups of a layer, of whole arrays, are one call of `binfhe.Server.apply`: give arrays.

    >>> from whorl import binfhe, integers
    >>> toy = binfhe.parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    >>> lwe = binfhe.Client(binfhe.parameters(toy, allow_insecure=True))
    >>> server = integers.Server(binfhe.Server(lwe.evaluation_keys(), device="cpu"))
    >>> client = integers.Client(lwe)
    >>> x = server.upload(client.encrypt([3, 200], bits=8))
    >>> client.decrypt(x + 100), client.decrypt(x > 100)
    (array([103,  44], dtype=uint64), array([False,  True]))
    """

    __slots__ = ("_compressor", "_on", "_server")

    _on: Arithmetic

    def __init__(
        self,
        server: binfhe.Server | lanes.Server,
        *,
        table_failure_log2: float = TABLE_FAILURE_LOG2,
        compression: binfhe.CompressionKeys | None = None,
        products: binfhe.ProductKeys | None = None,
        saves: Saves = "both",
    ) -> None:
        check_saves(saves)
        self._server: Any = server
        self._compressor: binfhe.Compressor | None = None
        if isinstance(server, lanes.Server):
            if compression is not None:
                raise TypeError("compression: integers in lanes are not compressed")
            if products is not None:
                raise TypeError("products: products in lanes take no keys of FHEW/TFHE")
            self._on = LaneArithmetic(server)
        elif isinstance(server, binfhe.Server):
            failure = float(table_failure_log2)
            account = account_of(server.parameters, failure)
            multiplier = None if products is None else binfhe.Multiplier(server, products)
            engine = BinfheEngine(server, account, multiplier=multiplier, failure_log2=failure)
            self._on = Programs(Circuit(engine, saves))
            if compression is not None:
                self._compressor = binfhe.Compressor(server, compression)
        else:
            raise TypeError(
                f"server: a binfhe.Server or a lanes.Server is needed, not {type(server).__name__}"
            )

    @property
    def device(self) -> str:
        """Where arrays lie."""
        device: str = self._server.device
        return device

    @property
    def rotations(self) -> int:
        """How many blind rotations there were; 0 in lanes."""
        return self._circuit.rotations if self._circuit else 0

    @property
    def layers(self) -> int:
        """How many layers of tables there were, which wait for one another; 0 in lanes."""
        return self._circuit.layers if self._circuit else 0

    @property
    def _circuit(self) -> Circuit | None:
        return self._on.circuit if isinstance(self._on, DigitArithmetic) else None

    def __repr__(self) -> str:
        return f"<Server of integers over {self._server!r}>"

    # ---- to and from the device

    def upload(self, ciphertexts: Ciphertexts | IntegerArray) -> Any:
        """A `UintArray`, or an `IntArray` of signed integers, on the server's devices.

        `EncodingError` for ciphertexts whose shape is not that of digits of so many bits, and the
        errors of `binfhe.Server.upload`.
        """
        if isinstance(ciphertexts, IntegerArray):
            if ciphertexts._server is not self:
                raise TypeError("an array of another server; download it there")
            return ciphertexts
        if not isinstance(ciphertexts, Ciphertexts):
            raise TypeError(f"integers.Ciphertexts are needed, not {type(ciphertexts).__name__}")
        kind, data = ciphertexts.kind, ciphertexts.data
        if isinstance(data, binfhe.PackedCiphertexts):
            on = self._digits("ciphertexts that a public key encrypted")
            rows = self._server.upload(data)
            flat = rows.reshape(data.shape[0], -1)
            number = on.on_device(flat, kind.bits, kind.signed, rows.noise)
            return self._array(number, ciphertexts.shape)
        number, shape = self._on.received(data, kind.bits, kind.signed)
        return self._array(number, shape)

    def download(self, x: IntegerArray, *, carries: bool = False) -> Ciphertexts:
        """Waits for the array, and copies it to the host's memory, where a client decrypts it.

        With `carries` those that are due need not be made: a client adds them up, and no server
        takes such ciphertexts.
        """
        if not isinstance(x, IntegerArray):
            raise TypeError(f"an array of integers is needed, not {type(x).__name__}")
        data = self._on.sent(self.upload(x)._core, x.shape, bool(carries))
        return Ciphertexts(data, x.bits, x.signed)

    def compress(self, x: IntegerArray, *, failure_log2: float = -128.0) -> Ciphertexts:
        """Waits for the array, and puts it into few bytes, for a client that decrypts it.

        `W128_P128` takes 3,584 bytes for each 64 integers of 64 bits and 56 bytes for each of them,
        so that lists of 5 and more have at most 1 KB for each in files, and those of 64 have 112
        bytes. Join results to lists. Carries that are due are not made: a client adds them up. A
        digit decrypts wrongly with a probability of at most 2^`failure_log2`, which `plan` does not
        count; the errors are those of `binfhe.Compressor.compress`, and `MissingKeyError` for a
        server without `compression`.
        """
        on = self._digits("compress")
        if not isinstance(x, IntegerArray):
            raise TypeError(f"an array of integers is needed, not {type(x).__name__}")
        if self._compressor is None:
            raise MissingKeyError(
                "compress: give the server compression=client.compression_keys(), of the "
                "binfhe.Client"
            )
        number = self.upload(x)._core
        rows = self._server.to_lwe_key(on.rows(number))
        ends = FLAGS if number.unit != 1 else WITH_CARRIES
        packed = rows.reshape(rows.shape[0], *x.shape).with_range(*ends)
        return Ciphertexts(self._compressor.compress(packed, failure_log2), x.bits, x.signed)

    def rerandomise(self, x: IntegerArray, key: binfhe.PublicKey) -> Any:
        """The same integers, with encryptions of 0 added to all digits.

        Do it to what you send, so that nobody without the secret key can tell from which
        ciphertexts it was computed: `binfhe.Server.rerandomise` says what its owner sees. Digits
        that everybody knows, as those of `known`, stay so. It takes no table.
        """
        on = self._digits("rerandomise")
        if not isinstance(key, binfhe.PublicKey):
            raise TypeError(f"key: a binfhe.PublicKey is needed, not {type(key).__name__}")
        number = self.upload(x)._core
        return self._array(replace(number, wires=self._with_zeros(on, number.wires, key)), x.shape)

    def _with_zeros(self, on: DigitArithmetic, wires: Wires, key: binfhe.PublicKey) -> Wires:
        """Wires with encryptions of 0 added."""
        held, circuit = wires.batch >= 0, on.circuit
        noise = np.where(held, key.noise, 0.0)
        made = circuit.with_errors(replace(wires, offset=np.where(held, 0, wires.offset)), noise)
        return circuit._by_noise(
            made,
            [wires],
            lambda where: self._server.rerandomise(circuit.plain(wires, where), key),
        )

    def _digits(self, what: str) -> DigitArithmetic:
        """The arithmetic of digits; `TypeError` in lanes."""
        if not isinstance(self._on, DigitArithmetic):
            raise TypeError(f"{what}: integers in lanes do not have it, those of FHEW/TFHE do")
        return self._on

    def known(self, values: ArrayLike, bits: int, signed: bool = False) -> Any:
        """An array of integers that everybody knows; `EncodingError` for others than the type
        has."""
        kind = as_kind(bits, signed)
        given = as_values(values, kind, "values")
        number = self._on.known(given.reshape(-1).tolist(), kind.bits, kind.signed)
        return self._array(number, given.shape)

    def canonical(self, x: IntegerArray) -> Any:
        """The same integers without carries that are still to be made.

        Operations make them when they are due. Here they are made at once, so that what follows
        need not.
        """
        return self._array(self._on.flush(x._core), x.shape)

    def redundant(self, x: IntegerArray) -> Any:
        """The same integers in digits of -3 … 3 or 0 … 6, by one layer if they are not.

        Of such integers sums take no carries, and a layer each; `canonical` makes carries.
        """
        return self._array(self._on.settle(x._core), x.shape)

    def _divide(self, x: Any, y: Any, rest: bool = True) -> Any:
        """`divmod` of arrays, which their module does not have."""
        return divide(x, y, rest)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """x where the condition, of one bit, is 1, and y elsewhere. The condition, or one of both
        choices, may be known.

        `EncodingError` for a condition of more bits.
        """
        if not isinstance(condition, IntegerArray):
            condition = self.known(condition, 1)
        if not isinstance(condition, UintArray) or condition.bits != 1:
            raise EncodingError("where: the condition is an array of one bit, as comparisons give")
        if not isinstance(x, IntegerArray) and not isinstance(y, IntegerArray):
            raise TypeError("where: one of both choices is an encrypted array")
        x, y = (x, x._known_like(y)) if isinstance(x, IntegerArray) else (y._known_like(x), y)
        shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
        parts = (self._spread(each, shape) for each in (condition, x, y))
        return self._array(self._on.select(*parts), shape)

    # ---- operands and results

    def _array(self, number: Any, shape: Shape) -> Any:
        kind = IntArray if number.signed else UintArray
        return kind._wrap(number, self, shape)

    def _meet(self, x: IntegerArray, y: Any) -> tuple[Any, Any, Shape]:
        """Two operands of equal sizes, and their shape."""
        y = self.upload(y)
        shape = np.broadcast_shapes(x.shape, y.shape)
        return self._spread(x, shape), self._spread(y, shape), shape

    def _spread(self, x: Any, shape: Shape) -> Any:
        if x.shape == shape:
            return x._core
        return self._on.take(x._core, flat_index(x.shape, shape))
