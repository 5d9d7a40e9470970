"""Plans of functions of encrypted vectors: what BGV's and CKKS's have in common."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np

from .._core import rounded
from .._core.array import Shape
from .._core.html import Shown, of_bytes
from .._core.integers import as_index
from .._core.shown import counted
from ..errors import ShapeError

_T = TypeVar("_T")

SEED_BYTES = 32
"""Of a seeded ciphertext as it is sent, beside one of its two parts."""


class NoDevice:
    """What a server asks of its `_core`, of one that follows a function without ciphertexts."""

    device = "no device: a plan"
    devices = (device,)
    failed_devices = ()
    threads, key_bytes, key_id = 0, 0, bytes(16)

    parameters: Any
    run: Any
    """The dry run of the C++ library."""
    server: Any

    def __init__(self, parameters: Any, run: Any) -> None:
        self.parameters, self.run, self.server = parameters, run, run.server

    def __getattr__(self, name: str) -> Any:
        error = AttributeError if name.startswith("_") else TypeError
        raise error(f"plan: the operation {name!r} cannot be followed")

    def upload(self, _: object) -> NoReturn:
        """Ciphertexts are unknown to a plan."""
        raise TypeError(
            "plan: the function uses ciphertexts of its own; all ciphertexts must be among inputs"
        )

    def synchronise(self) -> None:
        """Nothing runs."""


class Following:
    """A tracing server: what a function sends back is a result, wherever it lies."""

    __slots__ = ()

    def download(self, a: Any) -> Any:
        """The array itself."""
        return a


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class RingPlan(Shown):
    """What the plans of both schemes say."""

    keys: dict[str, Any]
    """Arguments of `Client.evaluation_keys`."""
    costs: dict[str, int]
    """How many operations there are, of one ciphertext each: `products` of ciphertexts,
    `relinearisations`, `plain_products` (with plaintexts, also in linear maps), `rotations`
    (automorphisms of any kind) and `key_switches`."""
    input_bytes: int
    """Bytes of the inputs as a client sends them, seeded; under a public key twice as many."""
    output_bytes: int
    """Bytes of the results in memory."""
    _parameters: Any

    @property
    def N(self) -> int:
        """Ring dimension."""
        return int(self._parameters.N)

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys as they are sent; on a device twice as many."""
        return int(self._parameters.key_size(**self.keys))

    @property
    def rotations(self) -> tuple[int, ...]:
        """Distances that values are rotated by, to the left; negative ones to the right. Bootstraps
        of CKKS need more, which their keys bring."""
        return tuple(self.keys["rotations"])

    def _distances(self) -> tuple[str, str]:
        return "rotations", ", ".join(map(str, self.rotations)) or "none"

    def _ring_facts(self, keys: str = "", budget: str = "") -> list[tuple[str, str]]:
        """Of parameters and bytes."""
        chosen = self._parameters
        return [
            ("N", f"{chosen.N:,}"),
            ("Q, P", self._primes()),
            ("keys", keys + of_bytes(self.key_bytes)),
            ("operations", _said(self.costs)),
            ("inputs", of_bytes(self.input_bytes)),
            ("results' bytes", of_bytes(self.output_bytes)),
            *([("noise budget", budget)] if budget else []),
            ("security", f"{rounded.bits(chosen.security_bits)} bits"),
        ]

    def _primes(self) -> str:
        return f"{self._parameters.limbs} + {len(self._parameters.special)} primes"

    def _turns(self) -> str:
        """How many rotations there are."""
        return counted(len(self.rotations), "rotation")


_COSTS = ("products", "relinearisations", "plain_products", "rotations", "key_switches")


def _said(costs: Mapping[str, int]) -> str:
    """How many operations there are, with the names that `costs` has."""
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in costs.items() if n) or "none"


def sizes(recorder: NoDevice, inputs: list[Any], results: list[Any]) -> dict[str, Any]:
    """What operations cost, and the bytes of arrays, as a plan names them."""
    costs = recorder.run.costs()
    return {
        "costs": {name: costs[name] for name in _COSTS},
        "input_bytes": sum(SEED_BYTES + each._core.nbytes // 2 for each in inputs),
        "output_bytes": sum(each._core.nbytes for each in results),
    }


def in_order(rotations: Iterable[int]) -> list[int]:
    """The shortest first."""
    return sorted(rotations, key=lambda each: (abs(each), each))


def as_shape(shape: Any) -> Shape:
    """Of an input's values, of which a number is one length; `ShapeError` if it holds none, and
    `TypeError` for what is no integer."""
    lengths = shape if np.iterable(shape) else (shape,)
    out = tuple(as_index(each, "shape") for each in lengths)
    if not out or min(out) < 1:
        raise ShapeError(f"shape: {out} holds no values")
    return out


def check_example(values: Any, index: int) -> None:
    """`ShapeError` for an example without values."""
    if values.size == 0:
        raise ShapeError(f"inputs[{index}]: shape {values.shape} holds no values")


def listed_inputs(
    function: Callable[..., Any], inputs: Any, as_input: Callable[[Any, int], _T]
) -> list[_T]:
    """One input or several, each by `as_input(given, index)`; `TypeError` unless the function takes
    so many arguments."""
    listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    _check_arguments(function, len(listed), type(inputs).__name__)
    return [as_input(each, index) for index, each in enumerate(listed)]


def _check_arguments(function: Callable[..., Any], count: int, given: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C that does not tell
        return
    try:
        signature.bind(*[None] * count)
    except TypeError as error:
        inputs = f"{count} input{'s' * (count != 1)}"
        raise TypeError(
            f"plan: the function does not take {inputs}: {error}"
            + (
                f". A {given} is taken as several inputs; one example is a NumPy array, as "
                "np.array([1, 2, 3])"
                if given in ("list", "tuple")
                else ""
            )
        ) from None


def results_in(returned: Any, array: Callable[[Any], Any]) -> Iterator[Any]:
    """The arrays in what a function returned; `array(x)` is that of x, None if it has none."""
    found = array(returned)
    if found is not None:
        yield found
    elif isinstance(returned, Mapping):
        yield from results_in(list(returned.values()), array)
    elif isinstance(returned, (list, tuple)):
        for each in returned:
            yield from results_in(each, array)
    else:
        raise TypeError(
            f"plan: the function must return encrypted arrays, not {type(returned).__name__}"
        )


def all_results(returned: Any, array: Callable[[Any], Any]) -> list[Any]:
    """The same as a list; `TypeError` if there is none."""
    results = list(results_in(returned, array))
    if not results:
        raise TypeError("plan: the function returned no encrypted array")
    return results
