"""Recurrent layers of torch.nn in torch's own operations, so that torch.fx sees their loops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from .._core.text import shown
from ..errors import ParameterError, ShapeError


def _elman(act: Callable[[Any], Any], x: Any, state: Any, weights: Sequence[Any]) -> Any:
    """h′ = act(W·x + b + U·h + c)."""
    w, u, b, c = weights
    return (act(F.linear(x, w, b) + F.linear(state[0], u, c)),)


def _lstm(x: Any, state: Any, weights: Sequence[Any]) -> Any:
    """Gates i, f, g, o lie one after the other in the weights."""
    h, c = state
    size = h.shape[-1]

    def gate(k: int) -> Any:
        w, u, b, d = (None if each is None else each[k * size : (k + 1) * size] for each in weights)
        return F.linear(x, w, b) + F.linear(h, u, d)

    c = torch.sigmoid(gate(1)) * c + torch.sigmoid(gate(0)) * torch.tanh(gate(2))
    return torch.sigmoid(gate(3)) * torch.tanh(c), c


def _step(m: Any) -> Callable[..., Any]:
    if isinstance(m, (torch.nn.LSTM, torch.nn.LSTMCell)):
        return _lstm
    return functools.partial(_elman, {"tanh": torch.tanh, "relu": torch.relu}[m.nonlinearity])


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
    step = _step(m)
    if state is None:
        state = (torch.zeros(len(x), m.hidden_size, dtype=m.weight_hh.dtype),) * 2
    elif step is not _lstm:
        state = (state,)
    out = step(x, state, _weights(m))
    return out if step is _lstm else out[0]


def _recurrent(m: Any, x: Any, state: Any = None) -> Any:
    """`RNN` and `LSTM`: all layers and directions, time by time."""
    if m.proj_size:
        raise ParameterError(f"{type(m).__name__}: proj_size is not supported; it has to be 0")
    _of_rank(m, x, 3)
    step, axis = _step(m), 1 if m.batch_first else 0
    times = list(x.unbind(axis))
    suffixes = ("", "_reverse")[: 1 + m.bidirectional]
    if state is None:
        zeros = torch.zeros(len(times[0]), m.hidden_size, dtype=m.weight_hh_l0.dtype)
        starts: list[Any] = [(zeros, zeros)] * (m.num_layers * len(suffixes))
    else:
        starts = list(zip(*state, strict=True)) if step is _lstm else [(each,) for each in state]
    ends: list[Any] = []
    for layer in range(m.num_layers):
        made = []
        for suffix in suffixes:
            weights, state = _weights(m, f"_l{layer}{suffix}"), starts[len(ends)]
            hidden = []
            for x in reversed(times) if suffix else times:
                state = step(x, state, weights)
                hidden.append(state[0])
            made.append(hidden[::-1] if suffix else hidden)
            ends.append(state)
        times = [
            torch.cat(each, -1) if len(suffixes) > 1 else each[0]
            for each in zip(*made, strict=True)
        ]
    last = tuple(torch.stack(each) for each in zip(*ends, strict=True))
    return torch.stack(times, axis), last if step is _lstm else last[0]


RECURRENT: dict[type, Callable[..., Any]] = {
    torch.nn.RNN: _recurrent,
    torch.nn.LSTM: _recurrent,
    torch.nn.RNNCell: _cell,
    torch.nn.LSTMCell: _cell,
}
"""Layers whose loops torch.fx does not see."""
