"""Functions of encrypted integers by tables, over arrays: those of neural networks, and bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import concatenate
from .._core.integers import as_modulus, refuse, whole_numbers
from .._core.numbers import one_number
from .._core.text import shown
from ..errors import EncodingError, KeyMismatchError, ShapeError
from ._gates import as_key
from ._lut import Lut
from ._server import EncryptedArray

Integers = np.ndarray[Any, np.dtype[np.int64]]


def relu(
    x: EncryptedArray,
    p_out: int | None = None,
    *,
    exact: bool = True,
    within: int | None = None,
    under: str = "lwe",
) -> EncryptedArray:
    """max(m, 0) for signed integers m (Xiao et al., TCHES 2025, §5.1).

    m are the integers of `x.range`. Without a range and without padding they are -p/2 … p/2 - 1,
    as a message m ≥ p/2 stands for m - p; with padding they are 0 … p - 1. Results are integers
    0 … p_out - 1, where `p_out` is that of x by default. One blind rotation is enough with padding.
    Without it there are two, but one for p_out = p/2: on the circle 2·relu(m) = m + |m|, where
    |m| - p/4 is negacyclic. Results then keep the errors of x: their noise is 1 + `x.noise`. Under
    the ring key, x or results, there are two in any case.

    `exact`, `within` and `under` are those of `Lut` and `Server.apply`. Raises `EncodingError` if a
    result is not below `p_out`, and `NoiseError` as `Server.apply` does.

    >>> from whorl.binfhe import Client, Server, parameters, relu
    >>> client = Client(parameters("W128_P128"))
    >>> server = Server(client.evaluation_keys())
    >>> x = server.upload(client.encrypt([3, 1, 7, 4], p=8))  # 3, 1, -1, -4
    >>> y = relu(x, p_out=4)
    >>> client.decrypt(y), y.p
    (array([3, 1, 0, 0]), 4)
    """
    p_out = as_modulus(x.p if p_out is None else p_out, "p_out")
    # What keeps a part of x needs it under the same key, at a modulus that p divides.
    keeps = x.under == under == "lwe" and (not exact or x.parameters.literal()["q"] % x.p == 0)
    one = keeps and not x.padding and 2 * p_out == x.p and _fits(x, -(x.p // 2))
    return _look_up(
        lambda m: np.maximum(m, 0), x, p_out, exact, within, under, signed=True, one_rotation=one
    )


def sigmoid(
    x: EncryptedArray,
    unit: float = 1.0,
    p_out: int | None = None,
    *,
    exact: bool = True,
    within: int | None = None,
    under: str = "lwe",
) -> EncryptedArray:
    """round((p_out - 1)/(1 + e^(-unit·m))) for signed integers m, as `relu` reads them.

    `unit` is the real number that 1 stands for; results are in units of 1/(p_out - 1). One blind
    rotation with padding, two without. Other arguments and errors are those of `relu`;
    `ValueError` for a unit that is not a finite number above 0.
    """
    unit = _unit(unit)
    p_out = as_modulus(x.p if p_out is None else p_out, "p_out")
    # The equal of 1/(1 + e^-z) that does not overflow.
    return _look_up(
        lambda m: np.rint((p_out - 1) * (1 + np.tanh(unit * m / 2)) / 2),
        x,
        p_out,
        exact,
        within,
        under,
        signed=True,
    )


def sqrt(
    x: EncryptedArray,
    unit: float = 1.0,
    p_out: int | None = None,
    *,
    exact: bool = True,
    within: int | None = None,
    under: str = "lwe",
) -> EncryptedArray:
    """round(sqrt(m)/unit) for integers m ≥ 0, the integers of `x.range` or 0 … p - 1.

    `unit` is the real number that 1 of the result stands for. One blind rotation with padding, two
    without. Other arguments and errors are those of `sigmoid`; `EncodingError` also if integers of
    the range are negative.
    """
    unit = _unit(unit)
    _check_not_negative(x, "sqrt")
    p_out = as_modulus(x.p if p_out is None else p_out, "p_out")
    return _look_up(
        lambda m: np.rint(np.sqrt(np.maximum(m, 0)) / unit), x, p_out, exact, within, under
    )


def reciprocal(
    x: EncryptedArray,
    unit: float | None = None,
    p_out: int | None = None,
    *,
    exact: bool = True,
    within: int | None = None,
    under: str = "lwe",
) -> EncryptedArray:
    """round(1/(m·unit)) for integers m ≥ 0, at most p_out - 1, which is also the result for m = 0.

    `unit` is the real number that 1 of the result stands for, by default 1/(p_out - 1), so that 1
    gives p_out - 1. Else as `sqrt`.
    """
    p_out = as_modulus(x.p if p_out is None else p_out, "p_out")
    most = p_out - 1
    step = 1 / max(most, 1) if unit is None else _unit(unit)
    _check_not_negative(x, "reciprocal")

    def values(m: Integers) -> Any:
        return np.where(m > 0, np.minimum(np.rint(1 / (np.maximum(m, 1) * step)), most), most)

    return _look_up(values, x, p_out, exact, within, under)


def maximum(a: EncryptedArray, b: EncryptedArray, *, under: str = "lwe") -> EncryptedArray:
    """The larger of two integers, elementwise, in one blind rotation.

    Integers are those of `range`, or 0 … `largest`. Their differences must be integers that p
    holds: -p/2 … p/2 - 1 without padding, p of them with it.

    Without padding results have p/2: a + b + |a - b| is twice the larger, so that the sum modulo p
    is the larger modulo p/2. Its noise is that of this sum. With padding results have p, and are
    b + relu(a - b). Results have a range. With `under="ring"` all of this is under the ring key, so
    that both a and b must be. Raises `EncodingError` for differences that are too large, and for
    integers that half of p does not hold; `KeyMismatchError` for integers under the LWE key with
    `under="ring"`; `NoiseError` as `Server.linear` and `Server.apply`.

    >>> from whorl.binfhe import Client, Server, maximum, parameters
    >>> client = Client(parameters("W128_P128"))
    >>> server = Server(client.evaluation_keys())
    >>> a, b = (server.upload(client.encrypt(m, p=8)).with_range(0, 3) for m in ([0, 3, 1], 2))
    >>> larger = maximum(a, b)
    >>> client.decrypt(larger), larger.p, larger.range
    (array([2, 3, 2]), 4, (0, 3))
    """
    server = a.server
    (low_a, high_a), (low_b, high_b) = _integers_of(a), _integers_of(b)
    # What is looked up is added to both.
    if as_key(under) == "lwe":
        a, b = (x.to_lwe_key() for x in (a, b))
    elif "lwe" in (a.under, b.under):
        raise KeyMismatchError(
            'maximum: the larger integer keeps errors of both, so that under="ring" takes integers '
            'under the ring key: encrypt them with under="ring", give the tables that made them '
            'under="ring", or bootstrap'
        )
    low, high = max(low_a, low_b), max(high_a, high_b)
    p, most, least = a.p, high_a - low_b, low_a - high_b
    fits = most - least < p if a.padding else -p // 2 <= least and most < p // 2
    if not fits or (not a.padding and (p % 4 != 0 or high - low >= p // 2)):
        raise EncodingError(
            f"maximum: differences of {low_a} … {high_a} and {low_b} … {high_b} are {least} … "
            f"{most}, but p = {p} holds "
            + (f"{p} integers" if a.padding else f"{-(p // 2)} … {p // 2 - 1}, p a multiple of 4")
            + ": state smaller ranges by with_range, or take a larger p"
        )
    if a.padding:
        # Differences are negative, too: integers whose range nobody stated have that of messages.
        a, b = a.with_range(low_a, high_a), b.with_range(low_b, high_b)
        difference = server.linear([1, -1], [a, b])
        positive = relu(difference, under=under).with_range(0, max(most, 0))
        return server.linear([1, 1], [b, positive], modular=True).with_range(low, high)
    difference = server.linear([1, -1], [a, b], modular=True)
    distance = Lut(a.parameters, [min(m, p - m) for m in range(p)], one_rotation=True)
    distances = server.apply(distance, difference, under=under)
    twice = server.linear([1, 1, 1], [a, b, distances], modular=True)
    return server.divided(twice, 2).with_range(low, high)


def max_pool(x: EncryptedArray, size: int = 2, *, under: str = "lwe") -> EncryptedArray:
    """The largest of each `size` × `size` window of the last two axes, without overlap.

    Shape (…, h, w) becomes (…, h/size, w/size). `size` is a power of two; 2 takes 3 blind rotations
    a window, one less than the tree of Pegasus that Xiao et al. count (TCHES 2025, §5.1). Each
    round of `maximum` halves p where there is no padding, so that integers 0 … p/4 - 1 end with
    p/4 for windows of 2 × 2. `under`, how integers are read, and errors are those of `maximum`;
    `ShapeError` unless both axes are multiples of `size`.

    >>> from whorl.binfhe import Client, Server, max_pool, parameters
    >>> client = Client(parameters("W128_P128"))
    >>> server = Server(client.evaluation_keys())
    >>> image = [[0, 3, 1, 0], [2, 1, 1, 0]]
    >>> x = server.upload(client.encrypt(image, p=16)).with_range(0, 3)
    >>> client.decrypt(max_pool(x))
    array([[3, 1]])
    """
    size = as_modulus(size, "size")
    if size < 1 or size & (size - 1):
        raise ValueError(f"size: {size} is not a power of two")
    if x.ndim < 2 or x.shape[-1] % size or x.shape[-2] % size:
        raise ShapeError(
            f"max_pool: shape {x.shape} has no last two axes that are multiples of {size}"
        )
    corners = [x[..., i::size, j::size] for i in range(size) for j in range(size)]
    while len(corners) > 1:
        half, shape = len(corners) // 2, corners[0].shape
        first, second = (
            concatenate([each.ravel() for each in part])
            for part in (corners[:half], corners[half:])
        )
        larger, count = maximum(first, second, under=under), corners[0].size
        corners = [larger[k * count : (k + 1) * count].reshape(shape) for k in range(half)]
    return corners[0]


def bits_of(integers: ArrayLike, width: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bits of integers 0 … 2^width - 1, the lowest first, on a new last axis of that length.

    Encrypted bits of whole integers are combined by one call: `a & b` for the bitwise AND. Raises
    `EncodingError` for an integer that does not fit, with its index.

    >>> bits_of([5, 2], width=4)
    array([[1, 0, 1, 0],
           [0, 1, 0, 0]], dtype=uint8)
    """
    width = as_modulus(width, "width")
    if width < 1:
        raise ValueError(f"width: {width} is below 1")
    array = whole_numbers(integers, "integers").astype(np.object_)
    refuse(array, (array < 0) | (array >= 1 << width), "integers", f"outside 0 … 2^{width} - 1")
    powers = np.arange(width).astype(np.object_)
    return np.asarray((array[..., None] >> powers) & 1).astype(np.uint8)


def integers_of(bits: ArrayLike) -> np.ndarray[Any, Any]:
    """The integers whose bits lie on the last axis, the lowest first: `bits_of` undone.

    int64 for up to 63 bits, else Python integers. `EncodingError` for an entry that is no bit.

    >>> integers_of([[1, 0, 1, 0], [0, 1, 0, 0]])
    array([5, 2])
    """
    array = whole_numbers(bits, "bits")
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ShapeError(f"bits has shape {array.shape}; its last axis must hold bits")
    refuse(array, (array != 0) & (array != 1), "bits", "neither 0 nor 1")
    kind: Any = np.int64 if array.shape[-1] < 64 else np.object_
    powers = np.array([1 << k for k in range(array.shape[-1])], dtype=kind)
    return np.asarray((array.astype(kind) * powers).sum(axis=-1), dtype=kind)


def _look_up(
    function: Callable[[Integers], Any],
    x: EncryptedArray,
    p_out: int,
    exact: bool,
    within: int | None,
    under: str,
    *,
    signed: bool = False,
    one_rotation: bool = False,
) -> EncryptedArray:
    """A table of `function` of the integers that messages stand for, looked up in one call."""
    if not isinstance(x, EncryptedArray):
        raise TypeError(f"x: an array of a server is needed, not {type(x).__name__}")
    half = -(x.p // 2)
    low = half if signed and not x.padding and _fits(x, half) else 0
    if x.range is not None and not _fits(x, low):
        low = x.range[0]
    integers = low + (np.arange(x.p) - low) % x.p
    values = np.asarray(function(integers)).astype(np.int64)
    if x.range is not None:  # Messages that there are not may have any value.
        least, most = x.range
        values[(integers < least) | (integers > most)] %= p_out
    lut = Lut(
        x.parameters,
        values,
        p_out=p_out,
        padding=x.padding,
        exact=exact,
        one_rotation=one_rotation,
    )
    return x.server.apply(lut, x, within, under=under)


def _fits(x: EncryptedArray, low: int) -> bool:
    """Whether the integers of x, if they are known, lie in low … low + p - 1."""
    return x.range is None or (low <= x.range[0] and x.range[1] < low + x.p)


def _integers_of(x: EncryptedArray) -> tuple[int, int]:
    if not isinstance(x, EncryptedArray):
        raise TypeError(f"maximum: arrays of a server are needed, not {type(x).__name__}")
    return (0, x.largest) if x.range is None else x.range


def _unit(unit: float) -> float:
    number = one_number(unit, "unit")
    if number is None or isinstance(number, complex):
        raise TypeError(f"unit: a number is needed, not {shown(unit)}")
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"unit: {shown(number)} is not a finite number above 0")
    return float(number)


def _check_not_negative(x: EncryptedArray, what: str) -> None:
    if isinstance(x, EncryptedArray) and x.range is not None and x.range[0] < 0:
        raise EncodingError(
            f"{what}: integers may be as small as {x.range[0]}; it takes none below 0"
        )
