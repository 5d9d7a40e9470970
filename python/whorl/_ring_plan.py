"""Plans of functions of encrypted vectors: what BGV's and CKKS's have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

SEED_BYTES = 32
"""Of a seeded ciphertext as it is sent, beside one of its two parts."""


class NoDevice:
    """What a `Session` asks of its `_core`, of one that follows a function without ciphertexts."""

    device = "no device: a plan"
    devices = (device,)
    failed_devices = ()
    threads, key_bytes, key_id = 0, 0, bytes(16)

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


def check_arguments(function: Callable[..., Any], count: int, given: str) -> None:
    """`TypeError` unless the function takes so many arguments."""
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
