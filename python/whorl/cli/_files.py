"""Files that commands of every scheme read and write, and the options that name them."""

from __future__ import annotations

import os
import shlex
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import typer

from .. import _server
from ..errors import Error, FormatError, TruncatedError
from . import _passphrase
from ._output import duration, err, out, size

Integers = np.ndarray[Any, np.dtype[np.int64]]

PassphraseFile = Annotated[
    Path | None,
    typer.Option(help="All of it but one newline at its end; else WHORL_PASSPHRASE, else asked."),
]
Insecure = Annotated[
    bool, typer.Option("--allow-insecure", help="Accept parameter sets under 128 bits.")
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
Secret = Annotated[Path, typer.Option("--secret", help="Secret key.")]
Keys = Annotated[Path, typer.Option("--keys", help="Evaluation keys.")]
Messages = Annotated[
    list[str], typer.Argument(help="Integers, or one .npy, .csv or .txt file, or -.")
]
Input = Annotated[Path, typer.Argument(help="Ciphertext file.")]
Inputs = Annotated[list[Path], typer.Argument(help="Ciphertext files.")]
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""Settings of a command that takes -5 for a message; `read_integers` refuses unknown options."""
Output = Annotated[Path, typer.Option("--output", "-o", help="Ciphertext file to write.")]
Values = Annotated[
    Path | None,
    typer.Option("--output", "-o", help=".npy, else text, of mode 0600; default: printed."),
]
SECRET, KEYS = Path("secret.whorl"), Path("keys.whorl")


def new_file(path: Path, force: bool) -> Path:
    """`path`; `ValueError` if it exists, unless `force`, and always if it holds a secret key."""
    if _may_not_be_lost(path):
        raise ValueError(
            f"{path} holds a secret key, which --force does not replace; "
            "only keygen --overwrite-secret does"
        )
    if path.exists() and not force:
        raise ValueError(f"{path} exists; --force replaces it")
    return path


def new_secret(path: Path, force: bool, overwrite_secret: bool) -> Path:
    """`path`; `ValueError` if it exists, unless the flag for what it holds is given."""
    if not _may_not_be_lost(path):
        return new_file(path, force)
    if not overwrite_secret:
        raise ValueError(
            f"{path} holds a secret key, which --force does not replace; --overwrite-secret does, "
            "and what was encrypted under it is then lost"
        )
    return path


def is_secret_key(path: Path) -> bool:
    """Whether a secret key is in that file. `Error` if it is Whorl's and cannot be understood."""
    if not path.is_file():
        return False
    try:
        return str(_server.frame_info(os.fspath(path))["type"]).endswith("secret key")
    except FormatError as error:
        if type(error) in (FormatError, TruncatedError):  # not Whorl's, or less than a header
            return False
        raise


def _may_not_be_lost(path: Path) -> bool:
    """`is_secret_key`, with a `ValueError` for a file that could be one."""
    try:
        return is_secret_key(path)
    except Error as error:
        raise ValueError(
            f"{path} is not replaced, since it could hold a secret key ({error}); "
            "name another file, or remove this one"
        ) from None


def same_file(one: Path, other: Path) -> bool:
    """Whether both names lead to one file, which need not exist yet."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def new_keys(
    secret: Path,
    keys: Path,
    passphrase_file: Path | None,
    force: bool,
    overwrite_secret: bool,
    make_client: Callable[[], Any],
    make_keys: Callable[[Any], Any],
) -> None:
    """Makes and saves both; the passphrase is asked for before the long part, evaluation keys."""
    if same_file(secret, keys):
        raise ValueError(
            f"--secret {secret} and --keys {keys} are one file; "
            "the evaluation keys would replace the secret key"
        )
    new_secret(secret, force, overwrite_secret)
    new_file(keys, force)
    client = make_client()
    phrase = _passphrase.read(passphrase_file, confirm=True)
    evaluation = make_keys(client)
    new_secret(secret, force, overwrite_secret)  # another process may have made one meanwhile
    client.save(secret, phrase)
    evaluation.save(keys)
    shown = size(keys.stat().st_size)
    out.print(f"{secret}: secret key; keep it", markup=False)
    out.print(f"{keys}: evaluation keys for a server, {shown}", markup=False)


def encrypt(
    work: Callable[[Any, Integers], Any],
    open_client: Callable[[], Any],
    messages: list[str],
    output: Path,
    force: bool,
) -> None:
    """Reads integers, and writes what `work` makes of a client and them."""
    values = read_integers(messages)
    new_file(output, force)
    encrypted = work(open_client(), values)
    encrypted.save(output)
    shown = size(output.stat().st_size)
    out.print(f"{output}: {encrypted.size} ciphertexts, {shown}", markup=False)


def decrypt(
    work: Callable[[Any], Integers],
    open_client: Callable[[], Any],
    output: Path | None,
    force: bool,
) -> None:
    """Writes what `work` makes of a client."""
    if output is not None:
        new_file(output, force)
    write_integers(work(open_client()), output)


@contextmanager
def timed(output: Path, server: Any) -> Iterator[Callable[[Any], None]]:
    """Yields save(ciphertexts), which tells how long they took from the start."""
    started = time.perf_counter()

    def save(result: Any) -> None:
        took = time.perf_counter() - started
        result.save(output)
        err.print(f"{result.size} ciphertexts in {duration(took)} on {server.device}", markup=False)
        out.print(f"{output}: {result.size} ciphertexts", markup=False)

    yield save


def read_integers(values: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Integers given one by one, in CSV, or in one .npy or .csv file (- for standard input)."""
    if len(values) == 1 and values[0].endswith(".npy"):
        array = np.load(values[0], allow_pickle=False)
        if array.dtype.kind not in "iub":
            raise ValueError(f"{values[0]}: integers are needed, not {array.dtype}")
        return np.asarray(array.reshape(-1), dtype=np.int64)
    for value in values:
        if value.startswith("-") and value != "-" and not value[1:2].isdigit():
            raise ValueError(f"No such option: {value}")
    text = " ".join(values)
    if values == ["-"]:
        text = sys.stdin.read()
    elif len(values) == 1 and values[0].endswith((".csv", ".txt")):
        text = Path(values[0]).read_text(encoding="utf-8")
    try:
        return np.array([int(part) for part in text.replace(",", " ").split()], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"messages: {error}") from None


def write_integers(values: Integers, output: Path | None) -> None:
    """A row prints as a line, its values apart by blanks; a text file has one value a line."""
    if output is None:
        for row in np.atleast_2d(values):
            typer.echo(" ".join(map(str, row)))
        return
    with private_file(output) as stream:
        if output.suffix == ".npy":
            np.save(stream, values)
        else:
            stream.writelines(f"{value}\n".encode() for value in values.reshape(-1))


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, of mode 0600 from its first moment; it gets its name when it is complete.

    A device or a pipe is written as it is.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        descriptor, temporary = tempfile.mkstemp(".tmp", ".whorl-", target.parent)  # mode 0600
        try:
            with open(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(descriptor)
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def opened(client: Any, secret: Path, passphrase_file: Path | None, allow_insecure: bool) -> Any:
    """A client of that class, of a file. `ValueError` if others may read the file."""
    if is_secret_key(secret):
        mode = stat.S_IMODE(secret.stat().st_mode)
        if mode & (stat.S_IRGRP | stat.S_IROTH):
            raise ValueError(
                f"{secret}: its mode {mode:04o} lets group or others read this secret key; "
                f"mend it with: chmod 600 {shlex.quote(str(secret))}"
            )
    return client.load(secret, _passphrase.read(passphrase_file, False), allow_insecure)
