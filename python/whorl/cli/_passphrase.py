"""Where a passphrase comes from: a file, the environment, or a prompt."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

VARIABLE = "WHORL_PASSPHRASE"


def read(file: Path | None, confirm: bool) -> str | bytes:
    """The passphrase of `file`, else WHORL_PASSPHRASE, else a prompt; `ValueError` if there is
    none.

    All bytes of `file` are the passphrase, but one newline at its end.

    `confirm`: ask twice, as for a new key.
    """
    if file is not None:
        content = file.read_bytes()
        content = content.removesuffix(b"\r\n" if content.endswith(b"\r\n") else b"\n")
        if not content:
            raise ValueError(f"{file}: the passphrase in it is empty")
        return content
    given = os.environ.get(VARIABLE)
    if given:
        return given
    if not sys.stdin.isatty():
        raise ValueError(f"no passphrase: give --passphrase-file or set {VARIABLE}")
    phrase = getpass.getpass("Passphrase: ")
    if not phrase:
        raise ValueError("passphrase: empty")
    if confirm and getpass.getpass("Again: ") != phrase:
        raise ValueError("passphrase: the two differ")
    return phrase
