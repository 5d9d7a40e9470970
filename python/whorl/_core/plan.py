"""Plans of functions of encrypted arrays: what those of every scheme have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from ..errors import ShapeError
from .array import Shape
from .integers import as_index

_T = TypeVar("_T")

SEED_BYTES = 32
"""A seeded ciphertext as it is sent has these beside the parts that do not follow from the seed."""


class Following:
    """A tracing server, before the server in the order of bases: it knows no ciphertexts but the
    inputs, and what a function sends back is a result, wherever it lies."""

    __slots__ = ()

    _device_type: ClassVar[Any]
    _host_type: ClassVar[Any]

    def _follow(self, core: Any, parameters: Any) -> None:
        server: Any = self
        server._core, server._parameters, server._warned_of = core, parameters, 0

    def upload(self, ciphertexts: Any) -> Any:
        """The array itself; `TypeError` for ciphertexts that the function brings along."""
        if isinstance(ciphertexts, self._host_type):
            raise TypeError(
                "plan: the function uses ciphertexts of its own; all ciphertexts must be among "
                "inputs"
            )
        return cast(Any, super()).upload(ciphertexts)

    def download(self, a: Any) -> Any:
        """The array itself."""
        return a

    def results_in(self, returned: Any) -> list[Any]:
        """The arrays in what a function returned; `TypeError` if there is none."""
        results = list(self._found(returned))
        if not results:
            raise TypeError("plan: the function returned no encrypted array")
        return results

    def _found(self, returned: Any) -> Iterator[Any]:
        if isinstance(returned, self._device_type):
            yield self.upload(returned)
        elif isinstance(returned, (Mapping, list, tuple)):
            for each in returned.values() if isinstance(returned, Mapping) else returned:
                yield from self._found(each)
        else:
            raise TypeError(
                f"plan: the function must return encrypted arrays, not {type(returned).__name__}"
            )


def said(costs: Mapping[str, int]) -> str:
    """How many operations there are, with the names that `costs` has."""
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in costs.items() if n) or "none"


def as_shape(shape: Any) -> Shape:
    """The shape of an input's values: a number is one length. `ShapeError` if it holds none, and
    `TypeError` for what is no integer."""
    lengths = shape if np.iterable(shape) else (shape,)
    out = tuple(as_index(each, "shape") for each in lengths)
    if not out or min(out) < 1:
        raise ShapeError(f"shape: {out} holds no values")
    return out


def listed_inputs(
    function: Callable[..., Any], inputs: Any, kind: type[_T], of_example: Callable[[Any, str], _T]
) -> list[_T]:
    """One input or several, each of that kind, or an example, of which `of_example(given, name)`
    makes one; `TypeError` unless the function takes so many arguments."""
    listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    _check_arguments(function, len(listed), type(inputs).__name__)
    return [
        each if isinstance(each, kind) else of_example(each, f"inputs[{index}]")
        for index, each in enumerate(listed)
    ]


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
