"""Plans of functions of encrypted arrays: what those of every scheme have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from ..errors import ShapeError
from .array import Shape
from .integers import as_index

_T = TypeVar("_T")

SEED_BYTES = 32
"""Of seeded ciphertexts as they are sent, beside the parts that do not follow from the seed."""


def foreign() -> TypeError:
    """The error about a function that brings ciphertexts along, which a plan cannot know."""
    return TypeError(
        "plan: the function uses ciphertexts of its own; all ciphertexts must be among inputs"
    )


class Following:
    """A tracing server: what a function sends back is a result, wherever it lies."""

    __slots__ = ()

    def download(self, a: Any) -> Any:
        """The array itself."""
        return a


def said(costs: Mapping[str, int]) -> str:
    """How many operations there are, with the names that `costs` has."""
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in costs.items() if n) or "none"


def as_shape(shape: Any) -> Shape:
    """Of an input's values, of which a number is one length; `ShapeError` if it holds none, and
    `TypeError` for what is no integer."""
    lengths = shape if np.iterable(shape) else (shape,)
    out = tuple(as_index(each, "shape") for each in lengths)
    if not out or min(out) < 1:
        raise ShapeError(f"shape: {out} holds no values")
    return out


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
