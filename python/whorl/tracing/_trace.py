"""Traces functions: finds their operations, and the bounds of all integers in them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .._core.integers import refuse, whole_numbers
from .._core.numbers import one_number
from .._core.text import shown
from ..errors import ParameterError, ShapeError
from ._circuit import Circuit, circuit_of
from ._compile import LEAST_FAILURE, MOST_FAILURE, compiled
from ._graph import MOST_INTEGER, Array, Graph
from ._lower import Bounds
from ._program import Input, Output
from ._traced import Traced, whole

MOST_ELEMENTS = 1 << 20


class Trace:
    """A function of integers as operations with bounds; `trace` makes it."""

    def __init__(
        self, graph: Graph, measured: list[Bounds], outputs: list[tuple[int, Output]]
    ) -> None:
        self._graph, self._measured, self._outputs = graph, measured, outputs
        self._inputs = [Input(graph.nodes[i].shape, *measured[i]) for i in graph.inputs]

    def compile(
        self,
        parameters: Any = None,
        *,
        failure_log2: float = -64.0,
        measured: bool = False,
    ) -> Circuit:
        """The circuit that a server runs.

        Args:
            parameters: a set or its name; None for the cheapest of the named sets, and "search" for
                the cheapest that a search finds, which takes a second or so.
            failure_log2: log2 of the probability with which any result of one sample may be wrong,
                -1000 … -40. All tables and decryptions count together.
            measured: bounds that the input set has shown serve wherever those that are proven are
                wider. Circuits are smaller, and the client refuses inputs for which an integer
                would leave such bounds. By default they serve only where tables take no others.

        `ParameterError` for a function that tables do not compute, such as one of more than 16
        bits, and if no set is precise enough; `TypeError` for a real result.
        """
        failure = one_number(failure_log2, "failure_log2")
        if not isinstance(failure, (int, float)) or not LEAST_FAILURE <= failure <= MOST_FAILURE:
            raise ParameterError(
                f"failure_log2: {shown(failure_log2)} is outside {LEAST_FAILURE:g} … "
                f"{MOST_FAILURE:g}"
            )
        program, account, lowered = compiled(
            self._graph, self._measured, self._inputs, self._outputs, parameters, float(failure),
            bool(measured),
        )  # fmt: skip
        return circuit_of(account, program, lowered.rows)

    def __repr__(self) -> str:
        count = len(self._graph.nodes)
        inputs = ", ".join(f"{x.low} … {x.high} of shape {x.shape}" for x in self._inputs)
        return f"<Trace of {count} operations: {inputs}>"


def trace(function: Callable[..., Any], inputset: Iterable[Any]) -> Trace:
    """Follows a function of integers, written with NumPy, and finds the bounds of its integers.

    The function is called once with arrays that note what is done with them (`Traced`), and once
    for each sample. It may use `+`, `-`, `*`, `@` of encrypted and known integers, comparisons,
    `np.where`, `np.maximum`, `np.minimum`, sums, shapes, indexing, bit operations, `np.convolve`,
    and any function of one array as a table, also real ones that `.astype(np.int64)` makes whole.
    docs/tracing.md lists all.

    Args:
        function: takes one array for each input, and returns an array or several.
        inputset: samples, each an integer or array, or a tuple of one for each argument. Their
            least and largest values are the bounds of each input; a client refuses others. So give
            samples with the extremes.

    Bounds of integers within the function follow by interval arithmetic from those of inputs, and
    are proven. Where tables would take none of these, the bounds are those of the input set, which
    `show()` says, and which a client checks before it encrypts.

    Raises `TypeError` for functions that use values or what circuits do not have, `ShapeError` for
    samples of different shapes, and `ParameterError` for an empty input set.

    >>> import numpy as np
    >>> import whorl
    >>> def price(amount, level):
    ...     return np.where(level >= 3, amount * 2, amount + 5)
    >>> circuit = whorl.trace(price, [(0, 0), (7, 7)]).compile()
    >>> circuit.simulate(6, 2), circuit.simulate([6, 1], [3, 1])
    (array(11), array([12,  6]))
    """
    samples = [_arguments(sample, index) for index, sample in enumerate(inputset)]
    if not samples:
        raise ParameterError("inputset is empty: give samples with the extremes of each input")
    shapes = [array.shape for array in samples[0]]
    for index, sample in enumerate(samples):
        if [array.shape for array in sample] != shapes:
            raise ShapeError(
                f"inputset: sample {index} has shapes {[a.shape for a in sample]}, and the first "
                f"has {shapes}"
            )
    if sum(array.size for array in samples[0]) > MOST_ELEMENTS or not all(
        array.size for array in samples[0]
    ):
        raise ShapeError(f"inputset: samples of shapes {shapes} have no elements, or too many")
    _check_arguments(function, len(shapes))
    graph = Graph()
    returned = function(*(Traced(graph, graph.input(shape)) for shape in shapes))
    results = _results(returned)
    outputs = [
        (each._node, Output(each.shape, graph.nodes[each._node].is_bool)) for each in results
    ]
    measured = _measured(graph, samples, function, [node for node, _ in outputs])
    return Trace(graph, measured, outputs)


def _arguments(sample: Any, index: int) -> list[Array]:
    given = sample if isinstance(sample, tuple) else (sample,)
    arrays = [whole_numbers(each, f"inputset: sample {index}") for each in given]
    for array in arrays:
        wrong = (array < -MOST_INTEGER) | (array > MOST_INTEGER)
        refuse(array, wrong, f"inputset: sample {index}", "outside ±2^46", ParameterError)
    return [array.astype(np.int64) for array in arrays]


def _check_arguments(function: Callable[..., Any], count: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C that does not tell
        return
    try:
        signature.bind(*[None] * count)
    except TypeError as error:
        raise TypeError(
            f"function: it does not take {count} inputs, as the samples have: {error}. A sample "
            "for several inputs is a tuple"
        ) from None


def _results(returned: Any) -> list[Traced]:
    several = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    for each in several:
        if not isinstance(each, Traced):
            raise TypeError(
                f"the function must return encrypted arrays, alone or in a tuple, and not "
                f"{shown(each)}"
            )
    if not several:
        raise TypeError("the function returned nothing")
    return [whole(each) for each in several]


def _measured(
    graph: Graph,
    samples: Sequence[Sequence[Array]],
    function: Callable[..., Any],
    outputs: Sequence[int],
) -> list[Bounds]:
    """The bounds of all nodes in the input set. `ParameterError` if the operations do not give what
    the function gives, as with one that looks at values."""
    bounds: list[Bounds] = []
    for index, sample in enumerate(samples):
        values = graph.evaluate(sample)
        returned = function(*sample)
        expected = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        for node, wanted in zip(outputs, expected, strict=True):
            if not np.array_equal(values[node], wanted):
                raise ParameterError(
                    f"inputset: for sample {index} the function gives {shown(wanted)}, and the "
                    f"operations that it noted give {shown(values[node])}: it must do the same "
                    "for all inputs"
                )
        found = [(int(v.min()), int(v.max())) for v in values]
        bounds = [
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(bounds or found, found, strict=True)
        ]
    return bounds
