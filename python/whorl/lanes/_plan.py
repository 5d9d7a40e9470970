"""What a function of lanes costs, and how unlikely it is to go wrong, before there are keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .. import ckks
from .._core.array import Shape
from .._core.literal import as_integer
from .._core.text import shown
from .._server import ckks as _lib
from ..errors import ParameterError
from ._compact import CompactBits
from ._modular import as_modulus
from ._server import Bits, LaneArray, Server, slots_of


@dataclasses.dataclass(frozen=True)
class Plan:
    """What `plan` found out. Counts are of vectors of lanes."""

    bootstraps: int
    cleanings: int
    products: int
    log2_failure: float
    """log2 of a bound of the probability that any lane of any result is wrong."""
    error: float
    """The largest error of a result; a client refuses values beyond 1/8."""


class _DryServer(Server):
    """A server without keys and devices."""

    __slots__ = ("_run",)

    def __init__(self, parameters: ckks.Parameters, lanes: int, most_log2_failure: float) -> None:
        self._run = _lib.DryRun(parameters._core)
        server = self._run.server
        slots = slots_of(lanes)
        self._core = _lib.Lanes.create(
            server, server.encode_bootstrap(slots, None, True), float(most_log2_failure)
        )
        self._server, self._lanes, self._parameters = _Nowhere(), slots, parameters
        self._lwe_input = self._lwe_output = self._lwe_parameters = None

    def fresh(self, shape: Shape, lanes: int, secret_key: bool, p: int) -> LaneArray:
        """Bits or integers as a client encrypts them."""
        count = 1
        for length in shape:
            count *= length
        array = self._run.fresh("real", count, lanes, 0.0, p - 1.0, secret_key)
        return self._wrap(self._core.take_in(array), shape)

    def upload(self, bits: Bits | CompactBits) -> LaneArray:
        if isinstance(bits, (ckks.Ciphertexts, CompactBits)):
            raise TypeError("a plan takes no ciphertexts: give their shape in `shapes`")
        return super().upload(bits)

    def download(self, a: LaneArray) -> ckks.Ciphertexts:
        raise TypeError("a plan has no ciphertexts to send: return the array from the function")

    def store(self, a: Bits, level: int | None = None) -> ckks.Ciphertexts:
        raise TypeError("a plan has no ciphertexts to store: return the array from the function")

    def from_lwe(self, ciphertexts: Any, bits: int | None = None) -> LaneArray:
        raise TypeError("a plan takes no LWE ciphertexts: give the shapes of lanes in `shapes`")

    def to_lwe(self, a: Bits, p: int = 4, padding: bool = False) -> NoReturn:
        raise TypeError("a plan gives no LWE ciphertexts out: return the array from the function")

    def synchronise(self) -> None:
        """There is nothing to wait for."""


class _Nowhere:
    """What a dry server says of its devices."""

    device, devices, key_id, key_bytes = "no device: a plan", (), "0" * 32, 0


def plan(
    function: Callable[..., Any],
    shapes: Sequence[Shape],
    parameters: ckks.Parameters,
    lanes: int | None = None,
    *,
    most_log2_failure: float = -64.0,
    secret_key: bool = False,
    p: int | Sequence[int] = 2,
) -> Plan:
    """Runs a function of arrays of lanes without ciphertexts, and says what it takes.

    Args:
        function: takes a `LaneArray` for each shape, and returns one or several. It may use the
            server of its arguments (`x.server`).
        shapes: of the arrays of vectors; () for a single vector.
        parameters: with bootstrapping.
        lanes: of each vector; default: N/2.
        most_log2_failure: `NoiseError` if the function fails more often.
        secret_key: whether inputs are encrypted under the secret key, whose errors are smaller.
        p: what inputs are modulo, all of them or each; 2: they are bits.

    The same function gives the same counts and errors on a `lanes.Server` that was opened for it.
    """
    slots = parameters.N // 2
    count = slots if lanes is None else as_integer("lanes", lanes, 1, slots)
    server = _DryServer(parameters, count, most_log2_failure)
    moduli = [p] * len(shapes) if isinstance(p, int) else list(p)
    if len(moduli) != len(shapes):
        raise ParameterError(f"p: {len(moduli)} moduli meet {len(shapes)} shapes")
    inputs = [
        server.fresh(tuple(shape), count, secret_key, as_modulus(each))
        for shape, each in zip(shapes, moduli, strict=True)
    ]
    results = function(*inputs)
    arrays = [results] if isinstance(results, LaneArray) else results
    if not isinstance(arrays, (list, tuple)) or not all(isinstance(x, LaneArray) for x in arrays):
        raise TypeError(
            "function: it must return a LaneArray, or a list or tuple of them, not "
            f"{shown(results)}"
        )
    errors = [server._core.finish(each._core).error for each in arrays]
    return Plan(
        server.bootstraps,
        server.cleanings,
        server.products,
        server.log2_failure,
        max((48 * 2.0**error for error in errors), default=0.0),
    )
