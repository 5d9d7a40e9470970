"""What was released of a secret key, counted in a file beside it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import _outputs as outputs

SUFFIX = ".released"
MOST_BYTES = 1 << 20
"""The file is no larger: a line for each key that lay at the path."""


def file_beside(secret: Path) -> Path:
    """Where the count of that secret key is; links to one key have one count."""
    target = Path(os.path.realpath(secret))
    return target.with_name(target.name + SUFFIX)


def counting(secret: Path, client: Any, release: Callable[[], Any]) -> Any:
    """What `release` gives, once the count that it brings `client.released` to is saved.

    The client gets the count first, so that it refuses what goes beyond its budget. Other commands
    with a key in that folder wait meanwhile. If the count cannot be read or saved, nothing is
    returned: `ValueError` for a file that is no count, and for a key of several names; `OSError`.
    """
    path, key = file_beside(secret), client.key_id
    with outputs.alone_in(path.parent) as folder:
        _check_names(secret)
        counts = _read(path)
        client.add_released(counts.get(key, (0, 0.0)))
        values = release()
        counts[key] = client.released
        _write(path, counts, folder)
    return values


def _check_names(secret: Path) -> None:
    """Each name of a file has a count beside it, which knows nothing of the others."""
    names = os.stat(secret).st_nlink
    if names > 1:
        raise ValueError(
            f"{secret} has {names} names (hard links), and what is released under one of them is "
            "not counted under the others: remove all but one, or use symbolic links, which have "
            "one count"
        )


def _read(path: Path) -> dict[str, tuple[int, float]]:
    """By the label of a key, in hexadecimal digits."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    try:
        if len(text) > MOST_BYTES:
            raise ValueError
        return {key: _checked(**each) for key, each in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f"{path} does not hold what was released of the keys that lay beside it, as decrypt "
            "--queries writes it: bring it back from a copy, or take a new key"
        ) from None


def _checked(results: int, spent: float) -> tuple[int, float]:
    if type(results) is not int or type(spent) is not float or not (results >= 0 and spent >= 0):
        raise ValueError
    return results, spent


def _write(path: Path, counts: dict[str, tuple[int, float]], folder: int) -> None:
    """The old file or the new one is there at any time, also after a crash."""
    lines = {key: {"results": each[0], "spent": each[1]} for key, each in counts.items()}
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as stream:
            json.dump(lines, stream, indent=1)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    with suppress(OSError):  # some file systems cannot sync a folder
        os.fsync(folder)
