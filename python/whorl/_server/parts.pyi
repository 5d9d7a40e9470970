"""What classes of several schemes have; for checkers, and no module."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from . import Session

U32 = np.ndarray[Any, np.dtype[np.uint32]]
I32 = np.ndarray[Any, np.dtype[np.int32]]
I64 = np.ndarray[Any, np.dtype[np.int64]]
F64 = np.ndarray[Any, np.dtype[np.float64]]
C128 = np.ndarray[Any, np.dtype[np.complex128]]
Expected = tuple[bytes | None, bytes | None]
"""Digest of parameters, and key id."""

T = TypeVar("T")
P = TypeVar("P")
C = TypeVar("C")
A = TypeVar("A")
K = TypeVar("K")
L = TypeVar("L")
R = TypeVar("R", covariant=True)

class Read(Generic[R]):
    """A property that is only read."""

    def __get__(self, owner: object, kind: Any = ...) -> R: ...

class Saving:
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...

class Frame(Saving, Generic[T]):
    @staticmethod
    def from_bytes(
        data: bytes, allow_insecure: bool, limits: tuple[int, int, int], expected: Expected
    ) -> T: ...
    @staticmethod
    def load(
        path: str, allow_insecure: bool, limits: tuple[int, int, int], expected: Expected
    ) -> T: ...

class Origin(Generic[P]):
    parameters: Read[P]
    key_id: Read[bytes]

class Checked(Frame[T], Generic[T, L]):
    @staticmethod
    def create(literal: L, allow_insecure: bool) -> T: ...
    literal: Read[L]
    digest: Read[bytes]

class Keys(Frame[T], Origin[P], Generic[T, P]):
    nbytes: Read[int]

class Batch(Frame[T], Origin[P], Generic[T, P]):
    seed: Read[bytes | None]
    count: Read[int]
    shape: Read[tuple[int, ...] | None]
    def with_shape(self, shape: tuple[int, ...]) -> Saving: ...
    def take(self, index: U32) -> T: ...
    @staticmethod
    def concatenate(batches: Sequence[T]) -> T: ...

class OnDevice:
    nbytes: Read[int]

class OnSession(Origin[P], Generic[T, K, P, C, A]):
    @staticmethod
    def create(keys: K, session: Session | tuple[str, int, int]) -> T: ...
    threads: Read[int]
    device: Read[str]
    devices: Read[list[str]]
    failed_devices: Read[list[tuple[str, str]]]
    key_bytes: Read[int]
    def upload(self, batch: C) -> A: ...
    def download(self, a: A) -> C: ...
    def take(self, a: A, index: U32) -> A: ...
    def concatenate(self, arrays: Sequence[A]) -> A: ...
    def synchronise(self) -> None: ...

class Planned(Generic[P, T, K]):
    """A dry run of parameters, with its server, and requests for keys."""

    def __init__(self, parameters: P) -> None: ...
    server: Read[T]
    def asked(self) -> K: ...
    def costs(self) -> dict[str, Any]: ...

class Holder(Origin[P], Generic[T, P]):
    @staticmethod
    def generate(parameters: P) -> T: ...
    def save(self, path: str, passphrase: bytes, overwrite_secret: bool) -> None: ...
    @staticmethod
    def load(
        path: str,
        passphrase: bytes,
        allow_insecure: bool,
        max_kdf: tuple[int, int],
        expected: Expected,
        allow_readable_by_others: bool,
    ) -> T: ...
