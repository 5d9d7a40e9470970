"""The base class of every scheme's client, which makes, holds and uses a secret key."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, TypeVar

from .array import DeviceCiphertexts, HostArray, no_ciphertexts
from .literal import CheckedParameters, as_threads
from .part import Part
from .paths import PathName, as_path
from .progress import Report, reports
from .saved import expectations, file_named, limit, not_parameters

K = TypeVar("K", bound="KeyHolder")


class KeyHolder:
    """A secret key in locked memory that is wiped. A scheme adds encryption and decryption."""

    __slots__ = ("_core", "_parameters")

    _maker: ClassVar[Any]
    """Class of the C++ library, with `generate` and `load`."""
    _parameters_type: ClassVar[type[CheckedParameters]]
    _host_type: ClassVar[type[HostArray]]
    _keys_type: ClassVar[Any]
    _core: Any
    _parameters: Any

    def __init__(self, parameters: Any) -> None:
        if not isinstance(parameters, self._parameters_type):
            raise not_parameters("parameters", parameters, self._parameters_type)
        self._core = self._maker.generate(parameters._core)
        self._parameters = parameters

    key_id = Part[str](
        "_core.key_id", "Random label of the key, 32 hexadecimal digits; not secret.", bytes.hex
    )

    def save(
        self,
        path: PathName,
        passphrase: str | bytes,
        *,
        overwrite_secret: bool = False,
    ) -> None:
        """Writes the secret key, encrypted under `passphrase`, to a file of mode 0600.

        It uses Argon2id and XChaCha20-Poly1305. Raises `ValueError` for an empty passphrase. Raises
        `IoError` if the system refuses, and for a file that already holds a secret key, unless
        `overwrite_secret`: what was encrypted under that key would be lost.
        """
        self._core.save(as_path(path), _passphrase(passphrase), bool(overwrite_secret))

    @classmethod
    def load(
        cls: type[K],
        path: PathName,
        passphrase: str | bytes,
        allow_insecure: bool = False,
        *,
        max_kdf_passes: int = 3,
        max_kdf_bytes: int = 2**28,
        expect_parameters: Any = None,
        expect_key: str | None = None,
        allow_readable_by_others: bool = False,
    ) -> K:
        """Reads a file that `save` wrote.

        The file states how much work it takes to derive a key from the passphrase (Argon2id). At
        most `max_kdf_passes` passes over `max_kdf_bytes` bytes are accepted (`ValueError` unless
        both are 0 … 2^64 - 1). The defaults are what
        `save` uses, which takes most of a second. `expect_parameters` and `expect_key` are as for
        `Ciphertexts.load`.

        Raises `IoError` if the system refuses. Raises it also, with the mode, for a file that group
        or others can read or change, unless `allow_readable_by_others`; `chmod 600` mends such a
        file. Raises `PassphraseError` for a wrong passphrase, and `OversizedError` for a cost above
        the bound. Raises other subclasses of `FormatError` for a damaged file or a file of another
        type. Raises `ParameterError` for parameters under 128 bits unless `allow_insecure`, and
        `ParameterMismatchError` or `KeyMismatchError` if the parameters or the key are not the
        expected ones.
        """
        client = cls.__new__(cls)
        cost = limit("max_kdf_passes", max_kdf_passes), limit("max_kdf_bytes", max_kdf_bytes)
        with file_named(path) as name:
            client._core = cls._maker.load(
                name,
                _passphrase(passphrase),
                bool(allow_insecure),
                cost,
                expectations(expect_parameters, expect_key),
                bool(allow_readable_by_others),
            )
        client._parameters = cls._parameters_type(client._core.parameters)
        return client

    def _generate_keys(self, threads: int, progress: bool | Report | None, *request: Any) -> Any:
        """Makes evaluation keys; `progress` True draws a bar on terminals and in notebooks."""
        threads = as_threads(threads)
        with reports(progress, "evaluation keys") as report:
            return self._keys_type(self._core.evaluation_keys(*request, threads, report))

    def _on_host(self, ciphertexts: Any) -> Any:
        """The ciphertexts in the host's memory; downloads them if they are on a device."""
        if isinstance(ciphertexts, DeviceCiphertexts):
            ciphertexts = ciphertexts._server.download(ciphertexts)
        if not isinstance(ciphertexts, self._host_type):
            raise no_ciphertexts(self._parameters, ciphertexts)
        return ciphertexts

    def __repr__(self) -> str:
        return f"<Client of key {self.key_id[:8]}…, {self._parameters.name or 'unnamed'}>"

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(
            "a client holds a secret key and can be neither pickled nor copied; "
            "use save(path, passphrase)"
        )


def _passphrase(passphrase: str | bytes) -> bytes:
    if not isinstance(passphrase, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"passphrase: text or bytes are needed, not {type(passphrase).__name__}")
    encoded = passphrase.encode() if isinstance(passphrase, str) else bytes(passphrase)
    if not encoded:
        raise ValueError("passphrase: it is empty")
    return encoded
