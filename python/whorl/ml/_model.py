"""Models as circuits of tables, and what a client does around them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.text import Shown
from ..binfhe._ciphertexts import Ciphertexts
from ..binfhe._server import EncryptedArray, Server
from ..errors import EncodingError, ParameterError, ShapeError
from ..tracing import Circuit

if TYPE_CHECKING:
    from ..binfhe._client import Client

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class TableModel(Shown):
    """A model of scikit-learn on FHEW/TFHE; `from_sklearn(…, scheme="binfhe")` makes it.

    The client makes integers of features, encrypts, decrypts, and makes scores and predictions of
    results. The server has `circuit` only.
    """

    circuit: Circuit
    """What the server runs."""
    features: int
    """How many features a sample has."""
    quantise: Callable[[Any], Integers]
    """The integers that stand for features (batch, features), as `encrypt` makes them."""
    _offsets: Numbers
    _scale: float | Numbers
    _classes: Any
    _at_zero: int = 0
    """The class of a single score of 0."""

    def keys(self) -> Client:
        """A new secret key (`Circuit.keys`)."""
        return self.circuit.keys()

    def encrypt(self, client: Client, x: Any) -> Ciphertexts:
        """Encrypts samples (batch, features). Errors as of `Circuit.encrypt`."""
        return self.circuit.encrypt(client, self.quantise(x))

    def run(self, server: Server, inputs: Ciphertexts | EncryptedArray) -> EncryptedArray:
        """Evaluates the model on a server (`Circuit.run`)."""
        return self.circuit.run(server, inputs)

    def decrypt(self, client: Client, results: Ciphertexts | EncryptedArray) -> Numbers:
        """The scores (batch, scores): what a regression predicts, the sum of a boosting, the mean
        of the trees' probabilities, or what the last layer of a network has."""
        return self._scores(self.circuit.decrypt(client, results))

    def simulate(self, x: Any) -> Numbers:
        """The scores that an encrypted run gives, in clear (`Circuit.simulate`)."""
        return self._scores(self.circuit.simulate(self.quantise(x)))

    def predict(self, scores: Any) -> Any:
        """Classes, or values of a regression, of the scores (batch, scores): those of the largest
        score, or of the sign of a single one, as scikit-learn has them."""
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self._offsets):
            raise ShapeError(f"scores: {values.shape} is not (batch, {len(self._offsets)})")
        if self._classes is None:
            return values[:, 0] if values.shape[1] == 1 else values
        signs = np.where(values[:, 0] == 0, self._at_zero, values[:, 0] > 0).astype(int)
        best = values.argmax(axis=1) if values.shape[1] > 1 else signs
        return np.asarray(self._classes)[best]

    def _scores(self, integers: Any) -> Numbers:
        scores: Numbers = np.asarray(integers) * self._scale + self._offsets
        return scores

    def _facts(self) -> list[tuple[str, str]]:
        return [("features", str(self.features)), *self.circuit._facts()]

    def __repr__(self) -> str:
        return f"<TableModel of {self.features} features: {self.circuit!r}>"


def samples_of(x: Any, features: int, field: str = "x") -> Numbers:
    """Samples (batch, features) of finite numbers; `ShapeError` and `EncodingError` for others."""
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{field}: an array of numbers is needed") from None
    if values.ndim != 2 or values.shape[1] != features or not len(values):
        raise ShapeError(f"{field}: shape {values.shape} is not (batch, {features})")
    if not np.isfinite(values).all():
        raise EncodingError(f"{field}: a value is not finite")
    return values


def bits_of(value: Any, field: str, least: int, most: int) -> int:
    """A number of bits in a range; `ParameterError` for another."""
    if type(value) is not int or not least <= value <= most:
        raise ParameterError(f"{field}: {value!r:.40} is no integer from {least} to {most}")
    return value
