"""Names of files, as users give them and as the library takes them."""

from __future__ import annotations

import os
from typing import Any, TypeAlias, Union

PathName: TypeAlias = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def as_path(path: Any) -> str:
    """A file's name; bytes that are no UTF-8 are in it as `os.fsdecode` gives them.

    `TypeError` for what is no name, and `ValueError` for a name that no file can have.
    """
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"path: {path!r} has characters that no file's name has") from None
    except TypeError:
        raise TypeError(
            f"path: the name of a file is needed (str, bytes, os.PathLike), not "
            f"{type(path).__name__}"
        ) from None
    if b"\0" in name:
        raise ValueError(f"path: {os.fsdecode(name)!r} has a NUL, which no file's name has")
    return os.fsdecode(name)
