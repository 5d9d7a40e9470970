"""Objects that can be saved, sent and pickled, as frames that are checked before they are used."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import FormatError, ParameterError
from .part import Part
from .paths import PathName, as_path
from .text import shown

S = TypeVar("S", bound="Saved")
P = TypeVar("P")


class allow_insecure_pickles:
    """Lets this process unpickle objects whose parameters have fewer than 128 bits of security.

    Without this call, unpickling them raises `ParameterError`: the author of a pickle must not
    decide this for its reader. `pickle.load` has no argument for it, so the program makes this
    call. It takes effect at once, for all threads (a pool unpickles results in a thread of its
    own). In a `with` statement it is in effect until the end of the block, otherwise until the
    process ends. If several blocks overlap, it is in effect until the last one ends.

    A child process that is forked inherits it. One that is spawned does not: give it to a pool as
    `initializer`, or call it at the top of the program's module.

    >>> import pickle, whorl
    >>> toy = {"n": 16, "q": 2048, "N": 1024, "Q": 134215681, "Q_ks": 2**20, "log_B_ks": 5}
    >>> p = whorl.binfhe.parameters({**toy, "gadget": [(16, 7, 4)]}, allow_insecure=True)
    >>> with whorl.allow_insecure_pickles():
    ...     pickle.loads(pickle.dumps(p)) == p
    True
    >>> pickle.loads(pickle.dumps(p))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    whorl.ParameterError: ...
    """

    __slots__ = ("__weakref__",)

    _held: ClassVar[set[allow_insecure_pickles]] = set()
    """Consents that have not ended."""

    def __init__(self) -> None:
        self._held.add(self)

    def __enter__(self) -> None:
        self._held.add(self)

    def __exit__(self, *_: object) -> None:
        self._held.discard(self)


@contextlib.contextmanager
def file_named(path: PathName) -> Iterator[str]:
    """The file's name as the library takes it. Names the file in a `FormatError` about its
    contents."""
    name = as_path(path)
    try:
        yield name
    except FormatError as error:
        if name in str(error):
            raise
        raise type(error)(f"{name}: {error}") from None


def limit(field: str, value: Any, default: int | None = None) -> int:
    """A bound of 64 bits, for None the default if there is one; `TypeError` unless it is an
    integer, `ValueError` out of range."""
    if value is None and default is not None:
        return default
    try:
        bound = operator.index(value)
    except TypeError:
        raise TypeError(f"{field}: an integer is needed, not {shown(value)}") from None
    if not 0 <= bound < 2**64:
        raise ValueError(f"{field}: {shown(bound)} is outside 0 … 2^64 - 1")
    return bound


def not_parameters(field: str, given: Any, wanted: Any = None) -> TypeError:
    """The error about what is given in place of parameters, of the scheme of `wanted`."""
    scheme = getattr(given, "_scheme", None)
    if scheme is not None and wanted is not None:
        return TypeError(f"{field}: parameters of {wanted._scheme} are needed, not of {scheme}")
    return TypeError(f"{field}: what parameters() makes is needed, not {type(given).__name__}")


def expectations(parameters: Any, key: str | None) -> tuple[bytes | None, bytes | None]:
    """What a loader must check first: the digest of the parameters, and the key's id.

    `TypeError` if `parameters` are not parameters, or the key's id is not a string; `ValueError` if
    the id does not have 32 hexadecimal digits.
    """
    digest = getattr(getattr(parameters, "_core", None), "digest", None)
    if parameters is not None and not isinstance(digest, bytes):
        raise not_parameters("expect_parameters", parameters)
    if key is None:
        return digest, None
    if not isinstance(key, str):
        raise TypeError(f"expect_key: a key_id is needed, a string, not {type(key).__name__}")
    try:
        label = bytes.fromhex(key)
    except ValueError:
        label = b""
    if len(label) != 16:
        raise ValueError(f"expect_key: {key!r} is not a key_id of 32 hexadecimal digits")
    return digest, label


class Saved:
    """An object that a frame holds. A scheme's class names the C++ class that reads the frame.

    A pickle contains the frame only. It is checked like a file: type, size, hash, parameters,
    ranges. Parameters under 128 bits raise `ParameterError` unless the program that unpickles has
    called `whorl.allow_insecure_pickles()`. No frame holds a secret. (Any pickle can run code when
    it is loaded: from strangers take files or `from_bytes`, not pickles.) Objects do not change, so
    `copy.copy` and `copy.deepcopy` return the object itself.
    """

    __slots__ = ()

    _core: Any
    _reader: ClassVar[Any]
    """Class of the C++ library, with from_bytes and load."""
    _most: ClassVar[int] = 1 << 32
    """Bytes of a frame that are read if the caller sets no limit."""

    @classmethod
    def _wrap(cls: type[S], core: Any) -> S:
        """The Python object for an object of the C++ library, without checks."""
        raise NotImplementedError

    def _frame(self) -> Any:
        """The object of the C++ library that writes the frame."""
        return self._core

    def save(self, path: PathName) -> None:
        """Writes a file that `load` reads.

        `IoError` if the system refuses, and for a file that holds a secret key.
        """
        self._frame().save(as_path(path))

    @classmethod
    def load(
        cls: type[S],
        path: PathName,
        allow_insecure: bool = False,
        max_bytes: int | None = None,
        *,
        max_count: int | None = None,
        max_expanded_bytes: int | None = None,
        expect_parameters: Any = None,
        expect_key: str | None = None,
    ) -> S:
        """Reads a file once, and checks it. Later changes of the file do not matter.

        Args:
            path: the file: str, bytes or os.PathLike. Its name need not be UTF-8.
            allow_insecure: accept parameters under 128 bits.
            max_bytes: the largest size in bytes of the payload, and of the unpacked ciphertexts.
            max_count: the largest number of ciphertexts; None: any number.
            max_expanded_bytes: the largest size in bytes of fresh ciphertexts after they are
                expanded from their seed; None: 2^28, which is some 100,000 of FHEW/TFHE.
                Ciphertexts of at most four times the payload are accepted in any case, as BGV's and
                CKKS's always are; `max_bytes` bounds these.
            expect_parameters: the parameters that the object must be made under.
            expect_key: the `key_id` that it must have. Parameters and look-up tables have none.

        Raises `TypeMismatchError` for a file of another type, such as a secret key. Raises
        `OversizedError`, with count, bytes and bound, for a file above one of the bounds; the
        message says which bound accepts it. Raises
        `ParameterMismatchError` or `KeyMismatchError` if parameters or key are not the expected
        ones. These are checked before anything is expanded. Raises other subclasses of
        `FormatError` for a damaged file, `ParameterError` for parameters under 128 bits unless
        `allow_insecure`, and `IoError` if the system refuses.
        """
        bounds = max_bytes, max_count, max_expanded_bytes
        checks = cls._checks(allow_insecure, bounds, expect_parameters, expect_key)
        with file_named(path) as name:
            return cls._wrap(cls._reader.load(name, *checks))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        frame: bytes = self._frame().to_bytes()
        return frame

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @classmethod
    def from_bytes(
        cls: type[S],
        data: bytes,
        allow_insecure: bool = False,
        max_bytes: int | None = None,
        *,
        max_count: int | None = None,
        max_expanded_bytes: int | None = None,
        expect_parameters: Any = None,
        expect_key: str | None = None,
    ) -> S:
        """Inverse of `to_bytes`, with the arguments and errors of `load`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data: bytes are needed, not {type(data).__name__}")
        bounds = max_bytes, max_count, max_expanded_bytes
        checks = cls._checks(allow_insecure, bounds, expect_parameters, expect_key)
        return cls._wrap(cls._reader.from_bytes(bytes(data), *checks))

    @classmethod
    def _checks(
        cls,
        allow_insecure: bool,
        bounds: tuple[int | None, int | None, int | None],
        parameters: Any,
        key: str | None,
    ) -> tuple[bool, tuple[int, int, int], tuple[bytes | None, bytes | None]]:
        """What `load` and `from_bytes` are told, as the library takes it. `ValueError` unless each
        bound fits 64 bits."""
        max_bytes, max_count, max_expanded_bytes = bounds
        limits = (
            limit("max_bytes", max_bytes, cls._most),
            limit("max_count", max_count, 2**64 - 1),
            limit("max_expanded_bytes", max_expanded_bytes, 2**28),
        )
        return bool(allow_insecure), limits, expectations(parameters, key)

    @classmethod
    def _unpickle(cls: type[S], frame: bytes) -> S:
        """Called by a pickle. `ParameterError` if the parameters are insecure and not allowed."""
        consent = bool(allow_insecure_pickles._held)
        try:
            # No limits: a malicious pickle can do worse than fill the memory.
            return cls.from_bytes(frame, consent, max_expanded_bytes=cls._most)
        except ParameterError as error:
            if consent or "allow_insecure" not in str(error):
                raise
            raise ParameterError(f"{error} (in a pickle: whorl.allow_insecure_pickles())") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._unpickle, (self.to_bytes(),)

    def __copy__(self: S) -> S:
        return self

    def __deepcopy__(self: S, _: Any) -> S:
        return self


class Keys(Saved, Generic[P]):
    """Keys that a client gives away. They hold nothing secret."""

    __slots__ = ("_core",)

    _made_by: ClassVar[str]
    _parameters_type: ClassVar[Any]

    def __init__(self, core: Any) -> None:
        if not isinstance(core, self._reader):
            raise TypeError(
                f"{type(self).__name__}: it is made by {self._made_by}, not of {core!r}"
            )
        self._core = core

    @classmethod
    def _wrap(cls: type[S], core: Any) -> S:
        return cls(core)  # type: ignore[call-arg]

    @property
    def parameters(self) -> P:
        """The parameters that the keys were made under."""
        made_under: P = self._parameters_type(self._core.parameters)
        return made_under

    key_id = Part[str](
        "_core.key_id",
        "Label shared with the secret key and its ciphertexts, 32 hexadecimal digits.",
        bytes.hex,
    )
    nbytes = Part[int]("_core.nbytes", "Size in bytes, without the frame.")

    def _contents(self) -> str:
        """Text about the contents, for `repr`."""
        return ""

    def __repr__(self) -> str:
        name = self.parameters.name or "unnamed"  # type: ignore[attr-defined]
        return (
            f"<{type(self).__name__} of key {self.key_id[:8]}…, {name}{self._contents()}, "
            f"{self.nbytes / 2**20:.1f} MiB>"
        )
