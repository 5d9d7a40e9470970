"""keygen, encrypt, eval, decrypt."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._progress import bar
from ..binfhe import (
    Ciphertexts,
    Client,
    EncryptedArray,
    EvaluationKeys,
    Lut,
    Server,
    concatenate,
    parameters,
)
from . import _expressions, _passphrase
from ._output import duration, err, out, size

PassphraseFile = Annotated[
    Path | None,
    typer.Option(help="Its first line is the passphrase; else WHORL_PASSPHRASE, else asked."),
]
Insecure = Annotated[
    bool, typer.Option("--allow-insecure", help="Accept parameter sets under 128 bits.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]

PIECE = 1 << 20
"""Ciphertexts that are worked on at once: some GB with the largest sets."""


def _new(path: Path, force: bool) -> Path:
    if path.exists() and not force:
        raise ValueError(f"{path} exists; --force replaces it")
    return path


def keygen(
    secret: Annotated[Path, typer.Option("--secret", help="Secret key to write.")] = Path(
        "secret.whorl"
    ),
    keys: Annotated[Path, typer.Option("--keys", help="Evaluation keys to write.")] = Path(
        "keys.whorl"
    ),
    params: Annotated[str, typer.Option("--params", help="Parameter set.")] = "W128_P64",
    passphrase_file: PassphraseFile = None,
    threads: Annotated[int, typer.Option(min=0, help="0: all cores.")] = 0,
    allow_insecure: Insecure = False,
    force: Force = False,
) -> None:
    """Make a secret key, and the evaluation keys that a server needs."""
    _new(secret, force)
    _new(keys, force)
    chosen = parameters(params, allow_insecure)
    client = Client(chosen)
    phrase = _passphrase.read(passphrase_file, confirm=True)
    evaluation = client.evaluation_keys(threads, progress=True)
    client.save(secret, phrase)
    evaluation.save(keys)
    out.print(f"{secret}: secret key; keep it", markup=False)
    out.print(f"{keys}: evaluation keys for a server, {size(keys.stat().st_size)}", markup=False)


def _read_messages(values: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
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


def encrypt(
    messages: Annotated[
        list[str], typer.Argument(help="Integers 0 … p-1, or one .npy, .csv or .txt file, or -.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Ciphertext file to write.")],
    secret: Annotated[Path, typer.Option("--secret", help="Secret key.")] = Path("secret.whorl"),
    p: Annotated[int, typer.Option("-p", "--p", help="Messages are 0 … p-1; bits: 4.")] = 4,
    padding: Annotated[bool, typer.Option("--padding", help="Leave a bit above messages.")] = False,
    passphrase_file: PassphraseFile = None,
    allow_insecure: Insecure = False,
    force: Force = False,
) -> None:
    """Encrypt bits or integers."""
    values = _read_messages(messages)
    _new(output, force)
    client = Client.load(secret, _passphrase.read(passphrase_file, False), allow_insecure)
    client.encrypt(values, p, padding).save(output)
    out.print(f"{output}: {values.size} ciphertexts, {size(output.stat().st_size)}", markup=False)


def evaluate(
    inputs: Annotated[list[Path], typer.Argument(help="Ciphertext files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Ciphertext file to write.")],
    keys: Annotated[Path, typer.Option("--keys", help="Evaluation keys.")] = Path("keys.whorl"),
    gate: Annotated[
        str | None,
        typer.Option(
            help="AND, OR, NAND, NOR, XOR, XNOR, MAJORITY, AND3, OR3, AND4, OR4, NOT, BOOTSTRAP, "
            "or MUX (select, then, else)."
        ),
    ] = None,
    lut: Annotated[
        str | None, typer.Option(help='Table: values "0,1,4,9", or an expression in x: "x*x % 4".')
    ] = None,
    p_out: Annotated[int | None, typer.Option(help="p of a table's outputs; default: p.")] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, cuda:1, cuda:0,1, cuda:all; default: WHORL_DEVICE, or best."),
    ] = None,
    threads: Annotated[int, typer.Option(min=0, help="0: all cores.")] = 0,
    transform: Annotated[str | None, typer.Option(help="ntt or fft; default: the set's.")] = None,
    allow_insecure: Insecure = False,
    force: Force = False,
) -> None:
    """Evaluate a gate or a look-up table on ciphertexts; needs no secret."""
    if (gate is None) == (lut is None):
        raise ValueError("one of --gate and --lut is needed")
    _new(output, force)
    server = Server(EvaluationKeys.load(keys, allow_insecure), device, threads, transform)
    arrays = [Ciphertexts.load(path, allow_insecure) for path in inputs]
    started = time.perf_counter()
    if gate is not None:
        result = _gate(server, gate.lower(), arrays, p_out)
    else:
        result = _lut(server, str(lut), arrays, p_out)
    took = time.perf_counter() - started
    result.save(output)
    err.print(f"{result.size} ciphertexts in {duration(took)} on {server.device}", markup=False)
    out.print(f"{output}: {result.size} ciphertexts", markup=False)


def _pieces(
    server: Server,
    arrays: list[Ciphertexts],
    work: Callable[[list[Ciphertexts]], EncryptedArray],
) -> Ciphertexts:
    """The work in pieces, so that a bar can move, and a file may have more ciphertexts than fit
    into a device's memory; a file of one goes with all."""
    count = max(array.size for array in arrays)
    step = 64 * max(1, server.threads) if err.is_terminal else PIECE
    if count <= step:
        return work(arrays).to_host()
    results = []
    with bar("evaluating") as report:
        for first in range(0, count, step):
            part = [array if array.size == 1 else array[first : first + step] for array in arrays]
            results.append(work(part).to_host())
            report(min(first + step, count), count)
    return concatenate(results)


def _gate(server: Server, name: str, arrays: list[Ciphertexts], p_out: int | None) -> Ciphertexts:
    special = {"not": 1, "bootstrap": 1, "mux": 3, "cmux": 3}
    if name in special and len(arrays) != special[name]:
        raise ValueError(f"{name}: {len(arrays)} inputs, expected {special[name]}")
    match name:
        case "not":
            return server.not_(arrays[0]).to_host()
        case "bootstrap":
            return _pieces(server, arrays, lambda parts: server.bootstrap(parts[0], p_out))
        case "mux" | "cmux":
            return _pieces(server, arrays, lambda parts: server.mux(*parts))
    return _pieces(server, arrays, lambda parts: server.gate(name, *parts, p_out=p_out))


def _lut(server: Server, text: str, arrays: list[Ciphertexts], p_out: int | None) -> Ciphertexts:
    if len(arrays) != 1:
        raise ValueError(f"--lut: {len(arrays)} inputs, expected 1")
    [array] = arrays
    p_out = array.p if p_out is None else p_out
    values = _expressions.table(text, array.p, p_out)
    lut = Lut(server.parameters, values, array.p, p_out, array.padding)
    return _pieces(server, arrays, lambda parts: server.apply(lut, parts[0]))


def decrypt(
    ciphertexts: Annotated[Path, typer.Argument(help="Ciphertext file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".npy, else text; default: printed.")
    ] = None,
    secret: Annotated[Path, typer.Option("--secret", help="Secret key.")] = Path("secret.whorl"),
    passphrase_file: PassphraseFile = None,
    allow_insecure: Insecure = False,
    force: Force = False,
) -> None:
    """Decrypt a ciphertext file."""
    if output is not None:
        _new(output, force)
    client = Client.load(secret, _passphrase.read(passphrase_file, False), allow_insecure)
    values = client.decrypt(Ciphertexts.load(ciphertexts, allow_insecure))
    if output is None:
        typer.echo(" ".join(map(str, values)))
    elif output.suffix == ".npy":
        np.save(output, values)
    else:
        output.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
