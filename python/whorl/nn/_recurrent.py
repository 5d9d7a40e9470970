"""Loops of recurrent layers, time by time, in the operations of whoever reads the layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

State: TypeAlias = tuple[Any, ...]
"""Hidden values, and for LSTM the cells behind them."""
Weights: TypeAlias = Sequence[Any]
"""Those that inputs meet, those that states meet, and the bias of each, which may be None."""
Step: TypeAlias = Callable[[Any, State, Weights], State]
"""The state after a time, from the input, the state before, and the weights."""


@dataclasses.dataclass(frozen=True)
class Operations:
    """How a framework computes; operands and results are its tensors."""

    linear: Callable[[Any, Any, Any], Any]
    """x·weightᵀ + bias."""
    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    function: Callable[[str, Any], Any]
    """A function of each value, by its name in `FUNCTIONS`."""

    def elman(self, function: str) -> Step:
        """h′ = function(W·x + b + U·h + c)."""
        return lambda x, state, weights: (self.function(function, self._sum(x, state[0], weights)),)

    def lstm(self, order: str) -> Step:
        """c′ = f·c + i·g and h′ = o·tanh(c′). Gates lie one after the other in the weights, in an
        order such as `ifgo`."""

        def step(x: Any, state: State, weights: Weights) -> State:
            h, c = state
            size = len(weights[0]) // len(order)

            def gate(name: str) -> Any:
                k = order.index(name)
                own = [w if w is None else w[k * size : (k + 1) * size] for w in weights]
                return self.function("tanh" if name == "g" else "sigmoid", self._sum(x, h, own))

            kept, new = self.multiply(gate("f"), c), self.multiply(gate("i"), gate("g"))
            cells = self.add(kept, new)
            return self.multiply(gate("o"), self.function("tanh", cells)), cells

        return step

    def _sum(self, x: Any, h: Any, weights: Weights) -> Any:
        w, u, b, c = weights
        return self.add(self.linear(x, w, b), self.linear(h, u, c))


def unrolled(
    step: Step, times: Sequence[Any], state: State, weights: Weights, backwards: bool
) -> tuple[list[Any], State]:
    """The hidden values of each time, in the order of the times, and the last state."""
    hidden = []
    for x in reversed(times) if backwards else times:
        state = step(x, state, weights)
        hidden.append(state[0])
    return hidden[::-1] if backwards else hidden, state
