"""Options that commands share, and what they do with the files that these name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .._core.progress import bar
from ..errors import Error
from . import _passphrase
from ._completion import files
from ._frames import Header
from ._output import out, size

PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the passphrase, which is all of it but one newline at its end; "
        "default: WHORL_PASSPHRASE, or a prompt.",
        autocompletion=files,
    ),
]
Insecure = Annotated[
    bool, typer.Option("--allow-insecure", help="Accept parameter sets under 128 bits.")
]
_READABLE = "Accept a secret key or a passphrase file that group or others can read."
Readable = Annotated[bool, typer.Option("--allow-readable-by-others", help=_READABLE)]


def whole(text: str | int) -> int:
    """A number below 2^64 as people write it: 1000, 2^30.

    >>> whole("2^30")
    1073741824
    """
    base, power, exponent = str(text).partition("^")
    try:
        value = int(base) ** min(int(exponent), 64) if power else int(base)
    except ValueError:
        value = -1
    if not 0 <= value < 2**64 or "-" in exponent:
        raise typer.BadParameter(f"{text} is not a number 0 … 2^64 - 1, such as 1000 or 2^30")
    return value


def _bound(name: str, unit: str, help: str, default: str) -> Any:
    return typer.Option(name, metavar=unit, parser=whole, help=help, show_default=default)


_BYTES = "What the ciphertexts of a file may take, in the file and in memory."
_EXPANDED = "What the fresh ciphertexts of a file, which travel as seeds, may take in memory."
_COUNT = "How many ciphertexts a file may hold."
MaxBytes = Annotated[int | None, _bound("--max-bytes", "BYTES", _BYTES, "2^32")]
MaxCount = Annotated[int | None, _bound("--max-count", "COUNT", _COUNT, "any number")]
Expanded = Annotated[int | None, _bound("--max-expanded-bytes", "BYTES", _EXPANDED, "2^28")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that exist, but no secret key.")
]
_OVERWRITE = "Replace a secret key that exists; what was encrypted under it is lost."
OverwriteSecret = Annotated[bool, typer.Option("--overwrite-secret", help=_OVERWRITE)]
Secret = Annotated[Path, typer.Option("--secret", help="Secret key.", autocompletion=files)]
Keys = Annotated[Path, typer.Option("--keys", help="Evaluation keys.", autocompletion=files)]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Ciphertext file to write.", autocompletion=files)
]
NamedColumns = Annotated[
    bool,
    typer.Option("--header", help="The first line of .csv, .txt and - has the names of columns."),
]
SECRET, KEYS = Path("secret.whorl"), Path("keys.whorl")
DASHES = {"ignore_unknown_options": True}
"""Settings of a command to which -5 is a message. It refuses unknown options itself."""


@contextmanager
def about(path: Path | str) -> Iterator[None]:
    """Errors name the file; an empty path is none."""
    try:
        yield
    except Error as error:
        name = str(path)
        if not name or str(error).startswith(name):
            raise
        raise type(error)(f"{name}: {error}") from error


def open_client(
    client: Any,
    header: Header,
    passphrase_file: Path | None,
    allow_insecure: bool,
    allow_readable_by_others: bool,
) -> Any:
    """The client of that class in the file that had this header."""
    phrase = _passphrase.read(passphrase_file, False, allow_readable_by_others)
    with bar("opening the secret key"), about(header.path):
        return client.load(
            header.path,
            phrase,
            allow_insecure,
            expect_key=header.key.hex(),
            allow_readable_by_others=allow_readable_by_others,
        )


def tell(path: Path, what: str) -> None:
    """Prints what was written."""
    out.print(f"{path}: {what}, {size(path.stat().st_size)}", markup=False)
