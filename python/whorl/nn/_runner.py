"""Networks on a server, with their maps encoded for many runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.progress import Report, reports
from ..ckks._linear_maps import EncodedMap
from ..ckks._server import EncryptedArray, Server
from ._network import Network
from ._steps import MapStep


class Runner:
    """A network on a server. `Network.on` makes it.

    Maps are encoded once and stay on the device as far as `max_bytes` allow; the others are encoded
    in each run, just before they are used.
    """

    def __init__(
        self,
        network: Network,
        server: Server,
        max_bytes: int | None,
        progress: bool | Report | None,
    ) -> None:
        self.network, self.server = network, server
        self._kept: dict[int, EncodedMap] = {}
        """By the number of the step."""
        left = max_bytes
        numbers = [i for i, s in enumerate(network.steps) if isinstance(s, MapStep)]
        with reports(progress, "maps") as report:
            for done, number in enumerate(numbers):
                step = network.steps[number]
                assert isinstance(step, MapStep)
                if left is not None and left <= 0:
                    break
                encoded = server.encode(step.linear_map(), network.levels[step.inputs[0]])
                if left is not None and encoded.nbytes > left:
                    continue
                left = None if left is None else left - encoded.nbytes
                self._kept[number] = encoded
                if report:
                    report(done + 1, len(numbers))

    @property
    def nbytes(self) -> int:
        """Bytes of the maps that stay on each device."""
        return sum(each.nbytes for each in self._kept.values())

    def __call__(self, x: Any, progress: bool | Report | None = None) -> EncryptedArray:
        """The results for encrypted inputs, as `Ends.encrypt` makes them."""
        steps, server = self.network.steps, self.server
        last = {i: number for number, step in enumerate(steps) for i in step.inputs}
        out: list[Any] = [server.upload(x)]
        with reports(progress, "steps") as report:
            for number, step in enumerate(steps[1:], 1):
                operands = (out[i] for i in step.inputs)
                out.append(step.stated(server, *operands, encode=self._map_of(number)))
                for i in step.inputs:
                    if last[i] == number:
                        out[i] = None  # its memory is free
                if report:
                    report(number, len(steps) - 1)
        result: EncryptedArray = out[-1]
        return result

    def _map_of(self, number: int) -> Callable[[MapStep, int], EncodedMap]:
        def encoded(step: MapStep, level: int) -> EncodedMap:
            if number in self._kept:
                return self._kept[number]
            return self.server.encode(step.linear_map(), level)

        return encoded
