"""Where a passphrase comes from: a file, the environment, or a prompt."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

VARIABLE = "WHORL_PASSPHRASE"


def read(file: Path | None, confirm: bool) -> str:
    """The first line of `file`, else WHORL_PASSPHRASE, else a prompt; `ValueError` if there is
    none.

    `confirm`: ask twice, as for a new key.
    """
    if file is not None:
        lines = file.read_text(encoding="utf-8").splitlines()
        if not lines or not lines[0]:
            raise ValueError(f"{file}: its first line, the passphrase, is empty")
        return lines[0]
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
