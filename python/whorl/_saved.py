"""What is saved, sent and pickled: frames of the C++ library, checked before they are used."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Generic, TypeVar

S = TypeVar("S", bound="Saved")
P = TypeVar("P")


class Saved:
    """Has a frame. A scheme's class names the class of the library that reads it, and wraps that.

    A pickle is a frame and nothing else, and what is read from one is checked as a file is: type,
    size, hash, parameters, ranges. Parameters under 128 bits are accepted only if the object was
    made so, with `allow_insecure`, and no frame holds a secret. (Python's pickles can name any code
    to run: from strangers take files or `from_bytes`.)
    """

    __slots__ = ()

    _core: Any
    _reader: ClassVar[Any]
    """Class of the C++ library, with from_bytes and load."""
    _most: ClassVar[int] = 1 << 32
    """Bytes of a frame that are read if the caller sets no limit."""

    @classmethod
    def _wrap(cls: type[S], core: Any) -> S:
        """The object around one of the library's, which it does not check."""
        raise NotImplementedError

    def _frame(self) -> Any:
        """What of the library writes the frame."""
        return self._core

    def _bits(self) -> float:
        """Security of the parameters, in bits."""
        bits: float = self.parameters.security_bits  # type: ignore[attr-defined]
        return bits

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads. `IoError` if the system refuses."""
        self._frame().save(os.fspath(path))

    @classmethod
    def load(
        cls: type[S],
        path: str | os.PathLike[str],
        allow_insecure: bool = False,
        max_bytes: int | None = None,
    ) -> S:
        """Reads and checks a file; keys are mapped, and used where they lie.

        `TypeMismatchError` for a file of another type, as a secret key; other children of
        `FormatError` for a file that is damaged, or larger than `max_bytes` or unpacking to more;
        `ParameterError` for parameters under 128 bits unless `allow_insecure`; `IoError`.
        """
        limit = cls._most if max_bytes is None else max_bytes
        return cls._wrap(cls._reader.load(os.fspath(path), allow_insecure, limit))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        frame: bytes = self._frame().to_bytes()
        return frame

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @classmethod
    def from_bytes(
        cls: type[S], data: bytes, allow_insecure: bool = False, max_bytes: int | None = None
    ) -> S:
        """Inverse of `to_bytes`, with the errors of `load`."""
        limit = cls._most if max_bytes is None else max_bytes
        return cls._wrap(cls._reader.from_bytes(data, allow_insecure, limit))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(), self._bits() < 128)


class Keys(Saved, Generic[P]):
    """What a client gives away; nothing secret."""

    __slots__ = ("_core",)

    _made_by: ClassVar[str]
    _parameters_type: ClassVar[Any]

    def __init__(self, core: Any) -> None:
        if not isinstance(core, self._reader):
            raise TypeError(f"{type(self).__name__}: made by {self._made_by}, not of {core!r}")
        self._core = core

    @classmethod
    def _wrap(cls: type[S], core: Any) -> S:
        return cls(core)  # type: ignore[call-arg]

    @property
    def parameters(self) -> P:
        """Parameters that they were made under."""
        made_under: P = self._parameters_type(self._core.parameters)
        return made_under

    @property
    def key_id(self) -> str:
        """Label shared with the secret key and its ciphertexts, 32 hexadecimal digits."""
        label: str = self._core.key_id.hex()
        return label

    @property
    def nbytes(self) -> int:
        """Bytes that travel, without the frame."""
        count: int = self._core.nbytes
        return count

    def _contents(self) -> str:
        """What is in them, for people."""
        return ""

    def __repr__(self) -> str:
        name = self.parameters.name or "unnamed"  # type: ignore[attr-defined]
        return (
            f"<{type(self).__name__} of key {self.key_id[:8]}…, {name}{self._contents()}, "
            f"{self.nbytes / 2**20:.1f} MiB>"
        )
