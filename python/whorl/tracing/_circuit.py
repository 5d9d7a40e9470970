"""Circuits that a server runs, and the ends that a client needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core.paths import PathName, as_path
from .._core.saved import limit
from .._core.text import Shown, of_bytes
from ..binfhe._ciphertexts import Ciphertexts
from ..binfhe._parameters import Parameters
from ..binfhe._server import EncryptedArray, Server
from ..errors import EncodingError, IoError, ParameterMismatchError
from ._account import Account
from ._file import read, written
from ._lower import Row
from ._program import Program

if TYPE_CHECKING:
    from ..binfhe._client import Client

MOST_BYTES = 1 << 28


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Circuit(Shown):
    """A function of integers as tables that a server looks up; `Trace.compile` and `load` make it.

    `keys`, `encrypt` and `decrypt` are the client's, `run` is the server's. All take single samples
    and batches: arguments may have further axes in front, the same for all.
    """

    parameters: Parameters
    """Those of the keys."""
    failure_log2: float
    """log2 of a bound on the probability that any result of one sample is wrong, by the library's
    account of noise (docs/noise.md)."""
    costs: dict[str, int]
    """What one sample takes: `tables`, `bootstraps` (rotations, of which some serve several
    tables), `levels` (of tables, one behind another), `inputs` and `outputs` (ciphertexts), and
    `key_bytes`."""
    _program: Program
    _rows: tuple[Row, ...]

    # ---- the client's

    def keys(self) -> Client:
        """A new secret key for the circuit. `Client.evaluation_keys()` of it is for the server."""
        from ..binfhe._client import Client

        return Client(self.parameters)

    def encrypt(self, client: Client, *arguments: Any) -> Ciphertexts:
        """Encrypts the arguments of the function: (ciphertexts, *batch).

        `EncodingError` for integers outside the bounds of the input set; the message has the value,
        its index and the bounds. It is also raised if an integer within the circuit would leave
        bounds that only the input set has shown: such bounds are checked here, before encryption.
        `TypeError` for what are no integers. `ParameterMismatchError` for a client of other
        parameters.
        """
        if client.parameters != self.parameters:
            raise ParameterMismatchError(
                f"the client has parameters {client.parameters.digest}, and the circuit has "
                f"{self.parameters.digest}; circuit.keys() makes a client for it"
            )
        digits, batch = self._digits(arguments)
        messages = digits.reshape((len(digits), *batch))
        return client.encrypt(messages, p=self._program.p, padding=True, under="ring")

    def decrypt(self, client: Client, results: Ciphertexts | EncryptedArray) -> Any:
        """What the function returns, of shape (*batch, *shape); a tuple if it returns several.

        `EncodingError` for ciphertexts that are no results of the circuit.
        """
        batch = results.shape[1:]
        self._refuse_other(results, len(self._program.ends), "results", "lwe")
        ends = client.decrypt(results)
        return self._program.decoded(ends.reshape(len(self._program.ends), -1), batch)

    def simulate(self, *arguments: Any) -> Any:
        """What encrypting, running and decrypting gives, by the same tables and sums in clear.

        Errors as of `encrypt`. It is exact: a run differs from it only where noise is too large,
        which happens with a probability of at most 2^`failure_log2` a sample.
        """
        digits, batch = self._digits(arguments)
        return self._program.decoded(self._program.simulated(digits), batch)

    def _digits(self, arguments: tuple[Any, ...]) -> tuple[Any, tuple[int, ...]]:
        digits, batch = self._program.encoded(arguments)
        self._program.check(digits, batch)
        return digits, batch

    # ---- the server's

    def run(self, server: Server, inputs: Ciphertexts | EncryptedArray) -> EncryptedArray:
        """Evaluates the circuit on what `encrypt` gave: encrypted results for `decrypt`.

        All tables of a level are looked up in one call of `Server.apply`, for the whole batch;
        those that share rotations are calls of `Server.apply_many`.
        `EncodingError` for ciphertexts that are no inputs of this circuit, and the errors of
        `Server`.
        """
        if server.parameters != self.parameters:
            raise ParameterMismatchError(
                f"the server has parameters {server.parameters.digest}, and the circuit has "
                f"{self.parameters.digest}"
            )
        self._refuse_other(inputs, self._program.fresh, "inputs", "ring")
        return self._program.run(server, inputs)

    def _refuse_other(
        self, array: Ciphertexts | EncryptedArray, count: int, name: str, under: str
    ) -> None:
        p = self._program.p
        encoding = array.p, array.padding, array.under
        if array.ndim < 1 or array.shape[0] != count or encoding != (p, True, under):
            raise EncodingError(
                f"{name}: shape {array.shape} and p = {array.p} under the {array.under} key are "
                f"not those of this circuit, ({count}, *batch) and {p} with padding under the "
                f"{under} key"
            )

    # ---- files and words

    def to_bytes(self) -> bytes:
        """What `save` writes: numbers, and nothing that is executed."""
        return written(self.parameters, self._program, self._rows)

    def save(self, path: PathName) -> None:
        """Writes a file for `load`. The tables are in it, so that it tells the function."""
        name = as_path(path)
        try:
            with open(name, "wb") as file:
                file.write(self.to_bytes())
        except OSError as error:
            raise IoError(f"{name}: {error.strerror or error}") from None

    def show(self) -> str:
        """A table of the function's operations, with the bounds of their integers, whether these
        are proven or measured in the input set, bits, tables and levels, and the circuit's costs.
        """
        return f"{shown_rows(self._rows)}\n{self!r}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("set", self.parameters.name or "unnamed"),
            ("tables", f"{self.costs['tables']:,} in {self.costs['levels']:,} levels"),
            ("rotations", f"{self.costs['bootstraps']:,}"),
            ("messages", f"p = {self._program.p}"),
            ("failure", f"2^{self.failure_log2:.1f} at most"),
            ("keys", of_bytes(self.costs["key_bytes"])),
        ]

    def __repr__(self) -> str:
        return (
            f"<Circuit: {self.costs['tables']:,} tables in {self.costs['levels']:,} levels, "
            f"{self.costs['bootstraps']:,} rotations, p = {self._program.p}, "
            f"{self.parameters.name or 'unnamed'}, fails 2^{self.failure_log2:.1f} at most>"
        )


def load(path: PathName, *, max_bytes: int | None = None, allow_insecure: bool = False) -> Circuit:
    """Reads a file of `Circuit.save`, on the client's side or the server's.

    Nothing of it is executed, and everything is checked: the digest, the version, sizes, ranges of
    all numbers, the order of tables, and with the library's account how often it fails.

    Args:
        max_bytes: how large the file may be; default: 256 MiB.
        allow_insecure: accept parameters that are estimated under 128 bits.

    `FormatError` and its kinds for bytes that are no circuit, `IoError` for a file that cannot be
    read.
    """
    name = as_path(path)
    most = limit("max_bytes", max_bytes, MOST_BYTES)
    try:
        with open(name, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise IoError(f"{name}: {error.strerror or error}") from None
    return from_bytes(data, max_bytes=max_bytes, allow_insecure=allow_insecure)


def from_bytes(
    data: bytes, *, max_bytes: int | None = None, allow_insecure: bool = False
) -> Circuit:
    """As `load`, of bytes."""
    most = limit("max_bytes", max_bytes, MOST_BYTES)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data: bytes are needed, not {type(data).__name__}")
    return circuit_of(*read(bytes(data), most, allow_insecure))


def circuit_of(account: Account, program: Program, rows: Sequence[Row]) -> Circuit:
    """The circuit of a program, with what the account says of it."""
    costs = {
        "tables": len(program.looks),
        "bootstraps": account.bootstraps,
        "levels": len(program.levels),
        "inputs": program.fresh,
        "outputs": len(program.ends),
        "key_bytes": account.key_bytes,
    }
    return Circuit(account.parameters, account.failure_log2, costs, program, tuple(rows))


def shown_rows(rows: Any) -> str:
    """The operations as a table of text."""
    lines = [("", "operation", "shape", "bounds", "", "bits", "tables", "level")]
    for number, row in enumerate(rows):
        lines.append(
            (
                str(number),
                row.name,
                "×".join(map(str, row.shape)) or "1",
                f"{row.low} … {row.high}",
                "measured" if row.measured else "proven",
                str(int(row.high - row.low).bit_length()),
                str(row.tables),
                str(row.level),
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(each.ljust(width) for each, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
