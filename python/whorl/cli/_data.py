"""keygen, encrypt, eval, decrypt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

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
)
from . import _expressions
from . import _files as files
from . import _records as shared
from . import _sets as sets
from ._output import err

PIECE = 1 << 20
"""Ciphertexts that are worked on at once: some GB with the largest sets."""


def keygen(
    secret: files.Secret = files.SECRET,
    keys: files.Keys = files.KEYS,
    params: sets.Params = "W128_P64",
    passphrase_file: files.PassphraseFile = None,
    threads: shared.Threads = 0,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
    overwrite_secret: files.OverwriteSecret = False,
) -> None:
    """Make a secret key, and the evaluation keys that a server needs."""
    files.new_keys(
        *(secret, keys, passphrase_file, force, overwrite_secret),
        lambda: Client(sets.find(params, allow_insecure)),
        lambda client: client.evaluation_keys(threads, progress=True),
    )


def encrypt(
    messages: files.Messages,
    output: files.Output,
    secret: files.Secret = files.SECRET,
    passphrase_file: files.PassphraseFile = None,
    p: Annotated[int, typer.Option("-p", "--p", help="Messages are 0 … p-1; bits: 4.")] = 4,
    padding: Annotated[bool, typer.Option("--padding", help="Leave a bit above messages.")] = False,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
) -> None:
    """Encrypt bits or integers."""
    files.encrypt(
        lambda client, values: client.encrypt(values, p, padding),
        lambda: files.opened(Client, secret, passphrase_file, allow_insecure),
        *(messages, output, force),
    )


def evaluate(
    inputs: files.Inputs,
    output: files.Output,
    keys: files.Keys = files.KEYS,
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
    device: shared.Device = None,
    threads: shared.Threads = 0,
    transform: Annotated[str | None, typer.Option(help="ntt or fft; default: the set's.")] = None,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
) -> None:
    """Evaluate a gate or a look-up table on ciphertexts; needs no secret."""
    if (gate is None) == (lut is None):
        raise ValueError("one of --gate and --lut is needed")
    files.new_file(output, force)
    server = Server(EvaluationKeys.load(keys, allow_insecure), device, threads, transform=transform)
    arrays = [Ciphertexts.load(path, allow_insecure) for path in inputs]
    with files.timed(output, server) as done:
        if gate is not None:
            done(_gate(server, gate.lower(), arrays, p_out))
        else:
            done(_lut(server, str(lut), arrays, p_out))


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
    ciphertexts: files.Input,
    secret: files.Secret = files.SECRET,
    passphrase_file: files.PassphraseFile = None,
    allow_insecure: files.Insecure = False,
    output: files.Values = None,
    force: files.Force = False,
) -> None:
    """Decrypt a ciphertext file."""
    files.decrypt(
        lambda client: client.decrypt(Ciphertexts.load(ciphertexts, allow_insecure)).reshape(-1),
        lambda: files.opened(Client, secret, passphrase_file, allow_insecure),
        *(output, force),
    )
