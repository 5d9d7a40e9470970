"""Compiled networks, and networks on a server."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .._core.array import concatenate
from .._core.literal import as_integer
from .._core.paths import PathName
from .._core.progress import Report, reports
from .._core.text import counted, of_bytes, shown
from ..ckks._linear_maps import EncodedMap, LinearMap
from ..ckks._parameters import Parameters
from ..ckks._server import EncryptedArray, Server
from ..ckks._tracer import TracingServer
from ..errors import ShapeError
from . import _show
from ._ends import Ends, write
from ._fit import Fit
from ._graph import Graph, Numbers, Shape
from ._keys import file_size, serves
from ._outside import RangeWarning, told, watched
from ._pack import Block, Grid
from ._steps import MapStep, RefreshStep, Step, last_uses
from ._written import network_bytes


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Network:
    """A network that a server runs on ciphertexts. `whorl.nn.compile` makes it."""

    graph: Graph
    fit: Fit
    steps: tuple[Step, ...]
    ends: Ends
    grids: dict[Shape, Grid]
    levels: tuple[int, ...]
    """The level of each step's result."""
    difference: float | None = None
    """The largest difference of a result from the model's, both in clear, on up to 32 ciphertexts
    of the examples. Files do not have it: None where the network was loaded."""

    @property
    def parameters(self) -> Parameters:
        """The parameters of CKKS that it runs under."""
        return self.ends.parameters

    @property
    def keys(self) -> dict[str, Any]:
        """Arguments of `Client.evaluation_keys`."""
        return self.ends.keys

    @property
    def bootstraps(self) -> int:
        """How many bootstraps a run takes."""
        return sum(step.parts for step in self.steps if isinstance(step, RefreshStep))

    @property
    def key_bytes(self) -> int:
        """Bytes of the file of the keys."""
        return file_size(self.parameters, self.keys)

    def simulate(self, x: Any) -> Numbers:
        """The same polynomials and maps in clear, for inputs (batch, *shape).

        A `RangeWarning` says how many of them lead a tensor out of its range.
        """
        result, found = self._watched(x)
        count = len(np.asarray(x))
        if found:
            warnings.warn(told(found, count), RangeWarning, stacklevel=2)
        return self.ends.unpacked(result, count)

    def outside(self, x: Any) -> dict[str, Numbers]:
        """Where inputs (batch, *shape) in clear lead tensors out of the ranges that the network is
        fitted to. For each such step, by its name in `summary`, the largest value for each input,
        relative to the range. Above 1 a polynomial behind it may have any value, and results have
        larger errors than are stated.
        """
        return self._watched(x)[1]

    def _watched(self, x: Any) -> tuple[Numbers, dict[str, Numbers]]:
        given, names = self.ends.packed(x), _show.names(self.steps)
        return watched(self.steps, names, given, self.ends.images, len(np.asarray(x)))

    def on(
        self,
        server: Server,
        max_bytes: int | None = None,
        progress: bool | Report | None = None,
        *,
        prefetch: bool | None = None,
    ) -> Runner:
        """The network on a server, with its maps encoded: `net.on(server)(x)`.

        `max_bytes`: how much memory of the device the maps that are kept may take; default: any. As
        many as there is room for are kept whole, the others compact (`Server.encode`), which takes
        an eighth of the memory or so, and more time in each run. Maps that do not fit even so are
        encoded in each run, which takes longer; their diagonals stay in the host's memory. One of
        them is on the device at a time, beside `max_bytes`. `prefetch`: whether the next one is
        encoded while the steps before it run, so that there are two; default: on GPUs.
        `progress`: True for a bar, or a callable that is called with (done, total).
        """
        ahead = server.device != "cpu" if prefetch is None else prefetch
        return Runner(self, server, max_bytes, ahead, progress)

    def run(self, server: Server, x: Any, progress: bool | Report | None = None) -> EncryptedArray:
        """The network of encrypted inputs, once: no map is kept."""
        return Runner(self, server, 0, server.device != "cpu", None, remembers=False)(x, progress)

    def linear_maps(self, number: int) -> dict[Block, LinearMap]:
        """The blocks of the map that is a step of that number, by parts of result and operand."""
        step = self.steps[number]
        assert isinstance(step, MapStep)
        return step.linear_maps()

    def encoded(
        self,
        server: Server,
        number: int,
        blocks: Mapping[Block, LinearMap],
        compact: bool = False,
    ) -> dict[Block, EncodedMap]:
        """The blocks of the map that is a step of that number, on a server."""
        level = self.levels[self.steps[number].inputs[0]]

        def encode(made: LinearMap) -> EncodedMap:
            low = serves(self.keys["low_rotations"], level, made.rotations)
            return server.encode(made, level, low_rotations=low, compact=compact)

        return {block: encode(made) for block, made in blocks.items()}

    def summary(self, seconds: Mapping[str, float] | None = None) -> str:
        """A table of the steps: number, name, kind, which steps they take, level of the result,
        error (relative to the tensor's scale), and work: key switches times rows of residues. Below
        it stands `difference`, if it is known.

        `seconds`: what `Runner.profile` measured; it is a column too. `ParameterError` if it is of
        another network.
        """
        table = _show.summary(self.steps, self.levels, seconds)
        if self.difference is None:
            return table
        return (
            f"{table}\non the examples, results differ from the model's by up to "
            f"{self.difference:.2g}; the largest is {self.fit.ranges[-1].seen:.3g}"
        )

    def show(self, seconds: Mapping[str, float] | None = None, path: PathName | None = None) -> Any:
        """A matplotlib figure: the steps in order with the levels of their results, bootstraps
        marked, and below them the work of each step, or its time.

        `seconds`: what `Runner.profile` measured; `path`: where it is saved, in the format that the
        name's ending says. `ParameterError` if the seconds are of another network,
        `ModuleNotFoundError` without matplotlib, `IoError` if the system refuses the file.
        """
        return _show.show(self.steps, self.levels, self.parameters.N, seconds, path)

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return network_bytes(
            self.graph, self.fit, self.grids, self.steps, self.levels, self.ends.fields
        )

    def save(self, path: PathName) -> None:
        """Writes a file for `whorl.nn.load`: the graph, its weights, and what was fitted and
        placed."""
        write(path, self.to_bytes())

    def __repr__(self) -> str:
        return (
            f"<Network of {counted(len(self.steps) - 1, 'step')}, "
            f"{counted(self.bootstraps, 'bootstrap')}, {self.parameters.name or 'own parameters'}, "
            f"N={self.parameters.N}, keys of {of_bytes(self.key_bytes)}>"
        )


def _bytes(blocks: Mapping[Block, EncodedMap]) -> int:
    return sum(each.nbytes for each in blocks.values())


class Runner:
    """A network on a server. `Network.on` makes it.

    Maps are encoded once and stay on the device, whole or compact, as far as `max_bytes` allow; the
    others are encoded in each run, with `prefetch` one ahead of the steps.
    """

    def __init__(
        self,
        network: Network,
        server: Server,
        max_bytes: int | None,
        prefetch: bool,
        progress: bool | Report | None,
        remembers: bool = True,
    ) -> None:
        """`remembers`: whether diagonals of maps that are not kept stay in the host's memory."""
        self.network, self.server, self.prefetch = network, server, prefetch
        self._kept: dict[int, dict[Block, EncodedMap]] = {}
        """The maps by the numbers of their steps."""
        self._diagonals: dict[int, dict[Block, LinearMap]] | None = {} if remembers else None
        most = None if max_bytes is None else as_integer("max_bytes", max_bytes, 0, 2**63)
        left = math.inf if most is None else most
        dry = TracingServer(network.parameters, False)
        maps = {i: step for i, step in enumerate(network.steps) if isinstance(step, MapStep)}
        # What the maps that follow take if they are compact: two words for a coefficient.
        compact_bytes = {
            i: 8.0 * network.parameters.N * sum(step.diagonal_counts) for i, step in maps.items()
        }
        later = sum(compact_bytes.values())
        with reports(progress, "maps") as report:
            for done, number in enumerate(maps, 1):
                later -= compact_bytes[number]
                blocks = network.linear_maps(number) if left > 0 else {}
                for compact, room in ((False, left - later), (True, left)):
                    if room <= 0:
                        continue
                    # How much it takes is known without a device.
                    if room < math.inf and room < _bytes(
                        network.encoded(dry, number, blocks, compact)
                    ):
                        continue
                    self._kept[number] = network.encoded(server, number, blocks, compact)
                    left -= _bytes(self._kept[number])
                    break
                if report:
                    report(done, len(maps))

    @property
    def _most_parts(self) -> int:
        """Ciphertexts of the tensor that takes most of them."""
        return max(step.parts for step in self.network.steps)

    @property
    def nbytes(self) -> int:
        """Bytes of the maps that stay on each device."""
        return sum(map(_bytes, self._kept.values()))

    def __call__(self, x: Any, progress: bool | Report | None = None) -> EncryptedArray:
        """The results for encrypted inputs, as `Ends.encrypt` makes them. A list of them that
        takes more ciphertexts than `Server.best_batch` runs in turns, one after the other, so that
        their work fits the devices."""
        given = self.server.upload(x)
        rows = self._check(given)
        turns = min(rows, -(-rows * self._most_parts // self.server.best_batch))
        with reports(progress, "steps") as report:
            if turns == 1:
                return self._run(given, report, 0, 1)
            ends = [rows * turn // turns for turn in range(turns + 1)]
            cut = (given[begin:end] for begin, end in itertools.pairwise(ends))
            return concatenate([self._run(each, report, i, turns) for i, each in enumerate(cut)])

    def _run(
        self, x: EncryptedArray, report: Report | None, turn: int, turns: int
    ) -> EncryptedArray:
        steps, server = self.network.steps, self.server
        last = last_uses(steps)
        out: list[Any] = [x]
        with self._maps() as maps:
            for number, step in enumerate(steps[1:], 1):
                operands = (out[i] for i in step.inputs)
                out.append(step.stated(server, *operands, encode=lambda *_: next(maps)))
                for i in step.inputs:
                    if last[i] == number:
                        out[i] = None  # its memory is free
                if report:
                    report(turn * (len(steps) - 1) + number, turns * (len(steps) - 1))
        result: EncryptedArray = out[-1]
        return result

    def profile(self, x: Any) -> dict[str, float]:
        """Seconds of each step by its name, for encrypted inputs as `Ends.encrypt` makes them.

        The server waits after each step, so that together they take longer than a run. The network
        runs once before, which is not counted. A name that several steps have gets a number.
        """
        given = self.server.upload(x)
        self(given)
        self.server.synchronise()
        at = [time.perf_counter()]

        def wait(done: int, total: int) -> None:
            self.server.synchronise()
            at.append(time.perf_counter())

        self(given, wait)
        names = _show.names(self.network.steps)[1:]
        times = dict.fromkeys(names, 0.0)
        # Turns of a large batch pass all steps one after the other.
        for name, before, after in zip(itertools.cycle(names), at, at[1:], strict=False):
            times[name] += after - before
        return times

    def _check(self, x: EncryptedArray) -> int:
        """How many inputs they are; `ShapeError` for what `Ends.encrypt` does not give."""
        end, images = self.network.ends.input, self.network.ends.images
        own = (end.parts,) if end.parts > 1 else ()
        rows = x.shape[: x.ndim - len(own)]
        if len(rows) > 1 or x.shape[len(rows) :] != own:
            axes = ", ".join(["batch", *map(str, own)])
            raise ShapeError(
                f"x: ciphertexts of shape {shown(x.shape)} are not those of inputs, ({axes}): take "
                "what `Ends.encrypt` gives"
            )
        if (x.packing, x.length) != ("real", end.period * images):
            raise ShapeError(
                f"x: vectors of {counted(x.length, 'value')}, {x.packing}, are not inputs, which "
                f"have {end.period * images}, real: take what `Ends.encrypt` gives"
            )
        return rows[0] if rows else 1

    @contextlib.contextmanager
    def _maps(self) -> Iterator[Iterator[dict[Block, EncodedMap]]]:
        """The maps of the steps in order. With `prefetch` a thread encodes those that are not kept,
        the next one while the steps before it run."""
        steps = self.network.steps
        numbers = [i for i, step in enumerate(steps) if isinstance(step, MapStep)]
        missing = [number for number in numbers if number not in self._kept]

        def encode(number: int) -> dict[Block, EncodedMap]:
            blocks = None if self._diagonals is None else self._diagonals.get(number)
            if blocks is None:
                blocks = self.network.linear_maps(number)
                if self._diagonals is not None:
                    self._diagonals[number] = blocks
            return self.network.encoded(self.server, number, blocks)

        if not (self.prefetch and missing):
            yield (self._kept.get(number) or encode(number) for number in numbers)
            return
        with ThreadPoolExecutor(1) as pool:
            following = iter(missing)
            ahead = [pool.submit(encode, next(following))]

            def maps() -> Iterator[dict[Block, EncodedMap]]:
                for number in numbers:
                    if number in self._kept:
                        yield self._kept[number]
                        continue
                    made = ahead.pop().result()
                    ahead.extend(
                        pool.submit(encode, each) for each in itertools.islice(following, 1)
                    )
                    yield made

            try:
                yield maps()
            finally:
                for future in ahead:
                    future.cancel()
