"""Options that commands share, and what they do with the files that these name."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path
from typing import Annotated, Any

import typer

from .._progress import bar
from . import _passphrase
from ._completion import files
from ._output import out, size

PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the passphrase; default: WHORL_PASSPHRASE, or a prompt.",
        autocompletion=files,
    ),
]
Insecure = Annotated[
    bool, typer.Option("--allow-insecure", help="Accept parameter sets under 128 bits.")
]
Expanded = Annotated[
    int | None,
    typer.Option(
        "--max-expanded-bytes",
        metavar="BYTES",
        min=0,
        help="What the fresh ciphertexts of a file, which travel as seeds, may take in memory.",
        show_default="2^30",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that exist, but no secret key.")
]
OverwriteSecret = Annotated[
    bool,
    typer.Option(
        "--overwrite-secret",
        help="Replace a secret key that exists; what was encrypted under it is lost.",
    ),
]
Secret = Annotated[Path, typer.Option("--secret", help="Secret key.", autocompletion=files)]
Keys = Annotated[Path, typer.Option("--keys", help="Evaluation keys.", autocompletion=files)]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Ciphertext file to write.", autocompletion=files)
]
SECRET, KEYS = Path("secret.whorl"), Path("keys.whorl")
DASHES = {"ignore_unknown_options": True}
"""Settings of a command to which -5 is a message. It refuses unknown options itself."""


def open_client(
    client: Any, secret: Path, passphrase_file: Path | None, allow_insecure: bool
) -> Any:
    """The client of that class in a file. `ValueError` if others may read the file."""
    mode = stat.S_IMODE(secret.stat().st_mode)
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise ValueError(
            f"{secret}: its mode {mode:04o} lets group or others read this secret key; "
            f"mend it with: chmod 600 {shlex.quote(str(secret))}"
        )
    phrase = _passphrase.read(passphrase_file, False)
    with bar("opening the secret key"):
        return client.load(secret, phrase, allow_insecure)


def tell(path: Path, what: str) -> None:
    """Prints what was written."""
    out.print(f"{path}: {what}, {size(path.stat().st_size)}", markup=False)
