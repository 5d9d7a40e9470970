"""Recurrent layers of torch.nn in torch's own operations, so that torch.fx sees their loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .._core.text import shown
from ..errors import ParameterError, ShapeError
from ._recurrent import Operations, Step, unrolled

OPERATIONS = Operations(
    F.linear, operator.add, operator.mul, lambda name, x: getattr(torch, name)(x)
)


def _step(m: Any) -> Step:
    if isinstance(m, (torch.nn.LSTM, torch.nn.LSTMCell)):
        return OPERATIONS.lstm("ifgo")
    return OPERATIONS.elman(m.nonlinearity)


def _weights(m: Any, suffix: str = "") -> list[Any]:
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [getattr(m, name + suffix) if m.bias or "w" in name[0] else None for name in names]


def _of_rank(m: Any, x: Any, rank: int) -> None:
    if x.dim() != rank:
        raise ShapeError(
            f"{type(m).__name__}: the operand has shape {shown(tuple(x.shape))}; it has to have "
            f"{rank} axes, with the batch"
        )


def _cell(m: Any, x: Any, state: Any = None) -> Any:
    """`RNNCell` and `LSTMCell`."""
    _of_rank(m, x, 2)
    alone = isinstance(m, torch.nn.RNNCell)
    if state is None:
        state = (torch.zeros(len(x), m.hidden_size, dtype=m.weight_hh.dtype),) * 2
    elif alone:
        state = (state,)
    out = _step(m)(x, state, _weights(m))
    return out[0] if alone else out


def _recurrent(m: Any, x: Any, state: Any = None) -> Any:
    """`RNN` and `LSTM`: all layers and directions, time by time."""
    if m.proj_size:
        raise ParameterError(f"{type(m).__name__}: proj_size is not supported; it has to be 0")
    _of_rank(m, x, 3)
    step, axis, alone = _step(m), 1 if m.batch_first else 0, isinstance(m, torch.nn.RNN)
    times = list(x.unbind(axis))
    suffixes = ("", "_reverse")[: 1 + m.bidirectional]
    if state is None:
        zeros = torch.zeros(len(times[0]), m.hidden_size, dtype=m.weight_hh_l0.dtype)
        starts: list[Any] = [(zeros, zeros)] * (m.num_layers * len(suffixes))
    else:
        starts = list(zip(*([state] if alone else state), strict=True))
    ends: list[Any] = []
    for layer in range(m.num_layers):
        made = []
        for suffix in suffixes:
            weights = _weights(m, f"_l{layer}{suffix}")
            hidden, end = unrolled(step, times, starts[len(ends)], weights, bool(suffix))
            made.append(hidden)
            ends.append(end)
        times = [
            torch.cat(each, -1) if len(suffixes) > 1 else each[0]
            for each in zip(*made, strict=True)
        ]
    last = tuple(torch.stack(each) for each in zip(*ends, strict=True))
    return torch.stack(times, axis), last[0] if alone else last


RECURRENT: dict[type, Callable[..., Any]] = {
    torch.nn.RNN: _recurrent,
    torch.nn.LSTM: _recurrent,
    torch.nn.RNNCell: _cell,
    torch.nn.LSTMCell: _cell,
}
"""Layers whose loops torch.fx does not see."""
