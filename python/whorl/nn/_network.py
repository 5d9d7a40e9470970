"""Compiled networks, and the two ends of them that a client has."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.paths import PathName, as_path
from .._core.progress import Report
from .._core.text import counted, of_bytes, shown
from ..ckks._parameters import Parameters
from ..ckks._server import EncryptedArray, Server
from ..errors import EncodingError, IoError, ShapeError
from ._fit import Fit
from ._graph import Graph, Indices, Numbers, Shape
from ._pack import Grid
from ._steps import RefreshStep, Step

if TYPE_CHECKING:
    from ._runner import Runner


def write(path: PathName, data: bytes) -> None:
    """`IoError` if the system refuses it."""
    name = as_path(path)
    try:
        with open(name, "wb") as file:
            file.write(data)
    except OSError as error:
        raise IoError(f"{name}: {error.strerror or error}") from None


@dataclasses.dataclass(frozen=True)
class End:
    """How a tensor lies in slots, and what its values are divided by."""

    shape: Shape
    places: Indices
    period: int
    scale: float
    error: float = 0.0
    """Standard deviation of the values' error, as decrypted."""


@dataclasses.dataclass(frozen=True)
class Ends:
    """What a client needs to know of a network: parameters, keys, and how inputs and results lie in
    slots. The weights are not in it."""

    parameters: Parameters
    keys: dict[str, Any]
    """Arguments of `Client.evaluation_keys`."""
    images: int
    """How many inputs a ciphertext holds."""
    input: End
    output: End

    def packed(self, x: Any) -> Numbers:
        """Inputs (batch, *shape) as vectors of slots, a row for each ciphertext, for
        `Client.encrypt`. `ShapeError` for another shape; the last row is filled up with zeros."""
        values = np.asarray(x, dtype=np.float64)
        if values.ndim == 0 or values.shape[1:] != self.input.shape or len(values) == 0:
            raise ShapeError(
                f"x: shape {shown(values.shape)} is not (batch, "
                f"{', '.join(map(str, self.input.shape))})"
            )
        rows = -(-len(values) // self.images)
        slots = np.zeros((rows * self.images, self.input.period))
        slots[: len(values), self.input.places] = values.reshape(len(values), -1)
        together = slots.reshape(rows, self.images, -1).swapaxes(1, 2)
        return together.reshape(rows, -1) / self.input.scale

    def unpacked(self, slots: Any, count: int | None = None) -> Numbers:
        """The results (batch, *shape) in decrypted vectors of slots; `count`: of the batch."""
        rows = np.atleast_2d(np.asarray(slots, dtype=np.float64))
        parts = rows.reshape(len(rows), -1, self.images).swapaxes(1, 2)
        values = parts.reshape(-1, parts.shape[-1])[:, self.output.places] * self.output.scale
        return values.reshape(len(values), *self.output.shape)[:count]

    def encrypt(self, client: Any, x: Any) -> Any:
        """Encrypts inputs (batch, *shape), by a `Client` or a `PublicKey`; a ciphertext for
        `images` of them. `EncodingError` for values outside the range of the examples: the network
        was not fitted to them."""
        slots = self.packed(x)
        largest = float(np.abs(slots).max())
        if largest > 1:
            raise EncodingError(
                f"x: values of up to {largest * self.input.scale:g} are outside "
                f"±{self.input.scale:g}, to which the network is fitted: compile it with examples "
                "of that size"
            )
        return client.encrypt(slots, packing="real", bound=1.0)

    def decrypt(self, client: Any, results: Any, count: int | None = None) -> Numbers:
        """Decrypts results: (batch, *shape), the first `count` of them. Their error has the
        standard deviation `output.error`."""
        return self.unpacked(client.decrypt(results, raw=True), count)

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        from ._saved import ends_bytes

        return ends_bytes(self)

    def save(self, path: PathName) -> None:
        """Writes a file for `whorl.nn.load_ends`. It has no weights."""
        write(path, self.to_bytes())


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Network:
    """A network that a server runs on ciphertexts. `whorl.nn.compile` makes it."""

    graph: Graph
    fit: Fit
    steps: tuple[Step, ...]
    ends: Ends
    grids: dict[Shape, Grid]
    levels: tuple[int, ...]
    """Of the result of each step."""

    @property
    def parameters(self) -> Parameters:
        return self.ends.parameters

    @property
    def keys(self) -> dict[str, Any]:
        return self.ends.keys

    @property
    def bootstraps(self) -> int:
        return sum(isinstance(step, RefreshStep) for step in self.steps)

    @property
    def key_bytes(self) -> int:
        return self.parameters.key_size(**self.keys)

    def simulate(self, x: Any) -> Numbers:
        """The same polynomials and maps in clear, for inputs (batch, *shape)."""
        out: list[Numbers] = [self.ends.packed(x)]
        for step in self.steps[1:]:
            out.append(step.clear(*(out[i] for i in step.inputs)))
        return self.ends.unpacked(out[-1], len(np.asarray(x)))

    def on(
        self,
        server: Server,
        max_bytes: int | None = None,
        progress: bool | Report | None = None,
    ) -> Runner:
        """The network on a server, with its maps encoded: `net.on(server)(x)`.

        `max_bytes`: how much memory of the device encoded maps may take; default: any. Maps beyond
        that are encoded in each run. `progress`: True for a bar, or a callable that is called with
        (done, total).
        """
        from ._runner import Runner

        return Runner(self, server, max_bytes, progress)

    def run(self, server: Server, x: Any, progress: bool | Report | None = None) -> EncryptedArray:
        """The network of encrypted inputs, once: no encoded map is kept."""
        return self.on(server, max_bytes=0)(x, progress)

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        from ._saved import network_bytes

        return network_bytes(self)

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
