"""`LSTM` and `RNN` of ONNX, whose loops are unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.text import counted, shown
from ..errors import ShapeError
from ._batched import Tensor
from ._builder import numbers
from ._recurrent import Operations, Step, Weights, unrolled

BACKWARDS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
"""Whether the loop of each direction runs backwards."""
GATES = {"LSTM": "iofg", "RNN": "h"}
"""What lies one after the other in the weights."""
FUNCTIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "RNN": ["Tanh"]}
"""The functions of a direction, if the node does not name them."""
ALONE = ["Tanh", "Relu", "Sigmoid"]
"""The functions that `RNN` may have."""


def recurrent(
    r: Any,
    kind: str,
    ops: Operations,
    a: dict[str, Any],
    x: Any,
    w: Any,
    u: Any,
    b: Any = None,
    lengths: Any = None,
    h: Any = None,
    c: Any = None,
    peepholes: Any = None,
) -> list[Any]:
    """`Y`, `Y_h`, and of `LSTM` `Y_c`, for the reader of the model, the operator's name, attributes
    and operands."""
    if "clip" in a:
        r.refuse(f"clip is {a['clip']:g}; values cannot be clipped, so that it has to be absent")
    for name in ("input_forget", "layout"):
        if a.get(name):
            r.refuse(f"{name} is {a[name]}; it has to be 0")
    if peepholes is not None and np.any(r.constant("P", peepholes)):
        r.refuse("P has weights other than 0; peepholes are not supported")
    direction = a.get("direction", b"forward").decode()
    if direction not in BACKWARDS:
        r.refuse(f"direction is {direction}; it has to be one of {', '.join(BACKWARDS)}")
    backwards = BACKWARDS[direction]
    steps = _steps(r, kind, ops, a, len(backwards))
    times = _parts(r, "X", x)
    wrong = {*(r.whole("sequence_lens", lengths) or ())} - {len(times)}
    if wrong:
        r.refuse(f"sequence_lens has {min(wrong)}; all samples have to have {len(times)} times")
    cells, weights = _weights(r, kind, a, len(backwards), r.shape(x)[-1], w, u, b)
    starts = [_start(r, name, each, len(backwards), cells) for name, each in (("h", h), ("c", c))]
    loops = zip(steps, zip(*starts, strict=True), weights, backwards, strict=True)
    made, ends = zip(
        *(unrolled(step, times, start, own, back) for step, start, own, back in loops), strict=True
    )
    hidden = [each for time in zip(*made, strict=True) for each in time]
    every = r.joined(
        hidden, lambda each: np.reshape(each, (len(times), len(backwards), *each[0].shape))
    )
    return [every, *(r.joined(each, np.stack) for each in zip(*ends, strict=True))]


def _steps(r: Any, kind: str, ops: Operations, a: dict[str, Any], directions: int) -> list[Step]:
    usual = FUNCTIONS[kind] * directions
    given = [each.decode() for each in a.get("activations", [])] or usual
    names = [each.lower() for each in given]
    if kind == "LSTM":
        if names != [each.lower() for each in usual]:
            r.refuse(f"activations are {', '.join(given)}; they have to be {', '.join(usual)}")
        return [ops.lstm(GATES[kind])] * directions
    if len(names) != directions or not set(names) <= {each.lower() for each in ALONE}:
        r.refuse(
            f"activations are {', '.join(given)}; {counted(directions, 'direction')} have to have "
            f"one each of {', '.join(ALONE)}"
        )
    return [ops.elman(each) for each in names]


def _weights(
    r: Any, kind: str, a: dict[str, Any], directions: int, inputs: int, w: Any, u: Any, b: Any
) -> tuple[int, list[Weights]]:
    """How many cells there are, and the weights of each direction."""
    given = {name: np.asarray(r.constant(name, each)) for name, each in (("W", w), ("R", u))}
    cells: int = a["hidden_size"] if "hidden_size" in a else given["R"].shape[-1]
    rows = len(GATES[kind]) * cells
    wanted: dict[str, tuple[int, ...]] = {
        "W": (directions, rows, inputs),
        "R": (directions, rows, cells),
    }
    if b is not None:
        given["B"], wanted["B"] = r.constant("B", b), (directions, 2 * rows)
    for name, values in given.items():
        if values.shape != wanted[name]:
            raise ShapeError(
                f"{r.name}: {name} has shape {shown(values.shape)}; it has to be "
                f"{shown(wanted[name])} for {counted(directions, 'direction')}, "
                f"{counted(cells, 'cell')} and {counted(inputs, 'value')} in each time"
            )
    biases = (None, None) if b is None else (given["B"][:, :rows], given["B"][:, rows:])
    return cells, [
        (given["W"][i], given["R"][i], *(each if each is None else each[i] for each in biases))
        for i in range(directions)
    ]


def _start(r: Any, name: str, value: Any, directions: int, cells: int) -> list[Any]:
    """The state of each direction before the first time."""
    if value is None:
        return [np.zeros((1, cells))] * directions
    shape = r.shape(value)
    if (*shape[:1], *shape[2:]) != (directions, cells):
        raise ShapeError(
            f"{r.name}: initial_{name} has shape {shown(shape)}; it has to be ({directions}, "
            f"batch, {cells})"
        )
    return _parts(r, f"initial_{name}", value)


def _parts(r: Any, what: str, value: Any) -> list[Any]:
    """What lies along the first axis of a tensor whose second axis is the batch. A constant has one
    row, which all samples share."""
    shape = r.shape(value)
    batch = value.batch if isinstance(value, Tensor) else 1
    if len(shape) != 3 or batch != 1:
        raise ShapeError(
            f"{r.name}: {what} has shape {shown(shape)}, and the batch is axis {batch}; it has to "
            "have 3 axes, of which the batch is axis 1: transpose it"
        )
    if isinstance(value, Tensor):
        (places,) = r.batched.places([value])
        return [r.batched.moved(r.name, [value], each) for each in places]
    rows = numbers(r.name, what, value)
    if np.ptp(rows, axis=1).any():
        r.refuse(f"{what} differs from sample to sample of the batch; they have to share it")
    return list(rows[:, :1])
