"""The two ends of a network: what a client needs to know of it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from .._core.literal import as_integer
from .._core.paths import PathName, as_path
from .._core.text import shown
from ..ckks._parameters import Parameters
from ..errors import EncodingError, IoError, ShapeError
from ._file import Writer
from ._graph import Indices, Numbers, Shape, reals


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
    """How a tensor lies in slots, as `Layout` says it, and what its values are divided by."""

    shape: Shape
    places: Indices
    period: int
    scale: float
    error: float = 0.0
    """Standard deviation of the values' error, as decrypted."""

    @functools.cached_property
    def parts(self) -> int:
        """How many ciphertexts the tensor takes."""
        return int(self.places.max()) // self.period + 1

    def fields(self, writer: Writer) -> dict[str, Any]:
        """What a file has of it."""
        return {
            "shape": list(self.shape),
            "places": writer.array(self.places.astype(np.float64)),
            "period": self.period,
            "scale": self.scale,
            "error": self.error,
        }


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
        `Client.encrypt`: (rows, slots), or (rows, parts, slots) where an input takes several
        ciphertexts. `ShapeError` for another shape, `TypeError` and `EncodingError` for what are no
        finite real numbers; the last row is filled up with zeros."""
        values = reals(x, "x")
        if values.ndim == 0 or values.shape[1:] != self.input.shape or len(values) == 0:
            raise ShapeError(
                f"x: shape {shown(values.shape)} is not (batch, "
                f"{', '.join(map(str, self.input.shape))})"
            )
        rows = -(-len(values) // self.images)
        parts, period = self.input.parts, self.input.period
        slots = np.zeros((rows * self.images, parts * period))
        slots[: len(values), self.input.places] = values.reshape(len(values), -1)
        together = slots.reshape(rows, self.images, -1).swapaxes(1, 2)
        shape = (rows, parts, -1) if parts > 1 else (rows, -1)
        return together.reshape(shape) / self.input.scale

    def unpacked(self, slots: Any, count: int | None = None) -> Numbers:
        """The results (batch, *shape) in decrypted vectors of slots; `count`: of the batch.
        `ShapeError` for vectors of another shape, `ParameterError` for a count above theirs."""
        given = np.asarray(slots, dtype=np.float64)
        parts = self.output.parts
        own = given.shape[-2:] if parts > 1 else (1, *given.shape[-1:])
        if len(own) < 2 or own[0] != parts or own[1] % (self.output.period * self.images):
            of_parts = f"{parts}, " if parts > 1 else ""
            raise ShapeError(
                f"slots: shape {shown(given.shape)} is not that of results, (batch, {of_parts}"
                f"{self.output.period * self.images})"
            )
        rows = given.reshape(-1, parts * given.shape[-1] // self.images, self.images)
        each = rows.swapaxes(1, 2).reshape(-1, rows.shape[1])
        most = len(each) if count is None else as_integer("count", count, 1, len(each))
        values = each[:most, self.output.places] * self.output.scale
        return values.reshape(len(values), *self.output.shape)

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
        standard deviation `output.error`. They are for the holder of the secret key: whoever gets
        them together with the ciphertexts can solve for that key. Others get what
        `Client.release` gives (`unpacked` puts it in order).

        `EncodingError` for values outside the range of the examples' results: a tensor inside the
        network may have been outside of its range too, where polynomials have any value. `unpacked`
        does not look at that: squares and products stay right there."""
        values = self.unpacked(client.decrypt(results, raw=True), count)
        largest = float(np.abs(values).max())
        if not largest <= self.output.scale:
            raise EncodingError(
                f"results of up to {largest:.3g} are outside ±{self.output.scale:.3g}, to which "
                "the network is fitted, and may be wrong: an input led a tensor out of its range. "
                "Compile the network with examples of this kind, or with a larger margin"
            )
        return values

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        writer = Writer()
        return writer.bytes({"kind": "ends", "ends": self.fields(writer)})

    def save(self, path: PathName) -> None:
        """Writes a file for `whorl.nn.load_ends`. It has no weights."""
        write(path, self.to_bytes())

    def fields(self, writer: Writer) -> dict[str, Any]:
        """What a file has of them."""
        return {
            "parameters": self.parameters.to_bytes().hex(),
            "keys": {**self.keys, "low_rotations": list(self.keys["low_rotations"].items())},
            "images": self.images,
            "input": self.input.fields(writer),
            "output": self.output.fields(writer),
        }
