"""Files that commands of every scheme read and write, and the options that name them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from . import _passphrase
from ._output import duration, err, out, size

Integers = np.ndarray[Any, np.dtype[np.int64]]

PassphraseFile = Annotated[
    Path | None,
    typer.Option(help="Its first line is the passphrase; else WHORL_PASSPHRASE, else asked."),
]
Insecure = Annotated[
    bool, typer.Option("--allow-insecure", help="Accept parameter sets under 128 bits.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Secret = Annotated[Path, typer.Option("--secret", help="Secret key.")]
Keys = Annotated[Path, typer.Option("--keys", help="Evaluation keys.")]
Messages = Annotated[
    list[str], typer.Argument(help="Integers, or one .npy, .csv or .txt file, or -.")
]
Input = Annotated[Path, typer.Argument(help="Ciphertext file.")]
Inputs = Annotated[list[Path], typer.Argument(help="Ciphertext files.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Ciphertext file to write.")]
Values = Annotated[
    Path | None, typer.Option("--output", "-o", help=".npy, else text; default: printed.")
]
SECRET, KEYS = Path("secret.whorl"), Path("keys.whorl")


def new_file(path: Path, force: bool) -> Path:
    """`path`; `ValueError` if it exists, unless `force`."""
    if path.exists() and not force:
        raise ValueError(f"{path} exists; --force replaces it")
    return path


def new_keys(
    secret: Path,
    keys: Path,
    passphrase_file: Path | None,
    force: bool,
    make_client: Callable[[], Any],
    make_keys: Callable[[Any], Any],
) -> None:
    """Makes and saves both; the passphrase is asked for before the long part, evaluation keys."""
    new_file(secret, force)
    new_file(keys, force)
    client = make_client()
    phrase = _passphrase.read(passphrase_file, confirm=True)
    evaluation = make_keys(client)
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
    text = " ".join(values)
    if values == ["-"]:
        text = sys.stdin.read()
    elif len(values) == 1 and values[0].endswith((".csv", ".txt")):
        text = Path(values[0]).read_text(encoding="utf-8")
    try:
        return np.array([int(part) for part in text.replace(",", " ").split()], dtype=np.int64)
    except ValueError as error:
        raise ValueError(f"messages: {error}") from None


def write_integers(values: Integers, output: Path | None) -> None:
    """A row prints as a line, its values apart by blanks; a text file has one value a line."""
    if output is None:
        for row in np.atleast_2d(values):
            typer.echo(" ".join(map(str, row)))
    elif output.suffix == ".npy":
        np.save(output, values)
    else:
        text = "".join(f"{value}\n" for value in values.reshape(-1))
        output.write_text(text, encoding="utf-8")


def opened(client: Any, secret: Path, passphrase_file: Path | None, allow_insecure: bool) -> Any:
    """A client of that class, of a file."""
    return client.load(secret, _passphrase.read(passphrase_file, False), allow_insecure)
