"""The header of a file, 64 bytes, which is read first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _server
from .._core.saved import file_named
from ..errors import KeyMismatchError, ParameterMismatchError, TypeMismatchError


@dataclass(frozen=True)
class Header:
    """The header of a file of Whorl."""

    path: Path
    type: str
    parameters: bytes
    """Digest of the parameters."""
    key: bytes
    """Label of the key."""


def frame_info(path: Path) -> dict[str, Any]:
    """Fields of the header; `FormatError` for a file that is not Whorl's, `IoError`."""
    with file_named(path) as name:
        return _server.frame_info(name)


def contents(kind: str) -> str:
    """A type of files in a sentence.

    >>> contents("FHEW/TFHE secret key"), contents("BGV ciphertexts")
    ('a FHEW/TFHE secret key', 'BGV ciphertexts')
    """
    one = not kind.endswith("s") and not kind.startswith("type ")
    return f"a {kind}" if one else kind


def read(path: Path) -> Header:
    """The header; errors as `frame_info`."""
    frame = frame_info(path)
    return Header(path, frame["type"], frame["parameters_digest"], frame["key_id"])


def check(header: Header, wanted: str, like: Header) -> None:
    """Raises unless the file is of the type `wanted`, and under the parameters and key of `like`.

    A loader would find this out only after a passphrase was asked for, or after keys were read.
    """
    if header.type != wanted:
        raise TypeMismatchError(
            f"{header.path} holds {contents(header.type)}, but {contents(wanted)} are needed, "
            f"because {like.path} holds {contents(like.type)}"
        )
    if header.parameters != like.parameters:
        raise ParameterMismatchError(
            f"{header.path} was made under other parameters than {like.path}"
        )
    if header.key != like.key:
        raise KeyMismatchError(
            f"{header.path} belongs to key {header.key.hex()[:8]}…, "
            f"but {like.path} to key {like.key.hex()[:8]}…"
        )
