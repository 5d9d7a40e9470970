"""Where a passphrase comes from: a file, the environment, or a prompt."""

from __future__ import annotations

import getpass
import os
import stat
import sys
from pathlib import Path

from .._core.text import counted
from ._output import warn

VARIABLE = "WHORL_PASSPHRASE"
SHORT = 12
"""Characters, below which a new passphrase is warned about."""
LONGEST = 1 << 16
"""Bytes of a passphrase in a file."""


def new(file: Path | None, allow_readable_by_others: bool = False) -> str | bytes:
    """A passphrase for a new key, as `read` gives it, with a warning if it is short."""
    phrase = read(file, True, allow_readable_by_others)
    if len(phrase) < SHORT:
        warn(
            f"the passphrase has {counted(len(phrase), 'character')}: who gets the secret key's "
            f"file can try all that are so short; take {SHORT} characters or more"
        )
    return phrase


def read(file: Path | None, confirm: bool, allow_readable_by_others: bool = False) -> str | bytes:
    """The passphrase of `file`, else WHORL_PASSPHRASE, else a prompt; `ValueError` if there is
    none, and for a file that group or others can read or change, unless that is allowed.

    All bytes of `file` belong to the passphrase, except for one newline at its end.

    `confirm`: ask twice, as for a new key.
    """
    if file is not None:
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            readable = stat.S_ISREG(status.st_mode) and status.st_mode & 0o066
            if readable and not allow_readable_by_others:
                raise ValueError(
                    f"{file} has mode {stat.S_IMODE(status.st_mode):04o}, so that group or others "
                    f"can read or change the passphrase: chmod 600 {file}, or add "
                    "--allow-readable-by-others"
                )
            content = stream.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise ValueError(f"{file} has more than {LONGEST} bytes; this is no passphrase")
        content = content.removesuffix(b"\r\n" if content.endswith(b"\r\n") else b"\n")
        if not content:
            raise ValueError(f"{file}: the passphrase in it is empty")
        return content
    given = os.environ.get(VARIABLE)
    if given:
        return os.fsencode(given)  # the bytes that it was given in, text or not
    if not sys.stdin.isatty():
        raise ValueError(f"no passphrase is given: use --passphrase-file or set {VARIABLE}")
    try:
        phrase = getpass.getpass("Passphrase: ")
        if not phrase:
            raise ValueError("passphrase: it is empty")
        if confirm and getpass.getpass("Again: ") != phrase:
            raise ValueError("passphrase: the two differ")
    except EOFError:
        raise ValueError("passphrase: none was given") from None
    return phrase
