"""A scheme's commands, of what it says of itself: keygen, encrypt, eval, decrypt.

`register` adds them to `whorl`, as a group of the scheme's name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from . import _files as files
from . import _records as shared

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Scheme:
    """What the command has to know of a scheme."""

    name: str
    help: str
    module: str
    """Where `parameters`, `Client`, `Server`, `EvaluationKeys` and `Ciphertexts` are."""
    operations: Mapping[str, tuple[int, Callable[..., Any]]]
    """Name -> number of operands, and what is called with a server and them."""
    row: bool = True
    """Whether a ciphertext holds a row of integers, not one."""
    parameters: Settings = field(default_factory=dict)
    """Further arguments of `parameters`."""
    client: bool = True
    """Whether the module has `parameters` and `Client`: what keygen, encrypt and decrypt need."""

    def part(self, name: str) -> Any:
        """A class or function of the scheme's module, imported when it is needed."""
        return getattr(importlib.import_module(self.module), name)


def settings(given: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE, with integers, lists of integers (of one: `1,`), true and false.

    >>> settings(["depth=2", "rotations=1,-1", "swap_rows=true"])
    {'depth': 2, 'rotations': [1, -1], 'swap_rows': True}
    """
    return dict(_setting(each) for each in given or [])


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    words = {"true": True, "false": False}
    try:
        if not equals or not value:
            raise ValueError
        if value in words:
            return name, words[value]
        numbers = [int(part) for part in value.split(",") if part]
    except ValueError:
        raise ValueError(f"{text!r}: NAME=INTEGER, NAME=1,2,3 or NAME=true is needed") from None
    return name, numbers if "," in value else numbers[0]


def register(app: typer.Typer, scheme: Scheme) -> None:
    """Adds the group `whorl NAME` with the scheme's commands."""
    group = typer.Typer(help=scheme.help, no_args_is_help=True)
    app.add_typer(group, name=scheme.name)
    if scheme.client:
        _add_client(group, scheme)
    _add_server(group, scheme)


def _add_client(group: typer.Typer, scheme: Scheme) -> None:
    @group.command()
    def keygen(
        params: Annotated[
            list[str] | None, typer.Option("--set", help="Of the parameters: NAME=VALUE.")
        ] = None,
        wanted: Annotated[
            list[str] | None, typer.Option("--key", help="Of the evaluation keys: NAME=VALUE.")
        ] = None,
        secret: files.Secret = files.SECRET,
        keys: files.Keys = files.KEYS,
        passphrase_file: files.PassphraseFile = None,
        threads: shared.Threads = 0,
        force: files.Force = False,
        overwrite_secret: files.OverwriteSecret = False,
    ) -> None:
        """Make a secret key, and the evaluation keys that a server needs."""
        chosen = scheme.part("parameters")(**{**scheme.parameters, **settings(params)})
        request = {"threads": threads, "progress": True, **settings(wanted)}
        files.new_keys(
            *(secret, keys, passphrase_file, force, overwrite_secret),
            lambda: scheme.part("Client")(chosen),
            lambda client: client.evaluation_keys(**request),
        )

    @group.command(context_settings=files.NEGATIVE_NUMBERS)
    def encrypt(
        messages: files.Messages,
        output: files.Output,
        secret: files.Secret = files.SECRET,
        passphrase_file: files.PassphraseFile = None,
        allow_insecure: files.Insecure = False,
        force: files.Force = False,
    ) -> None:
        """Encrypt integers."""
        files.encrypt(
            lambda client, values: client.encrypt(values),
            lambda: files.opened(scheme.part("Client"), secret, passphrase_file, allow_insecure),
            *(messages, output, force),
        )

    @group.command()
    def decrypt(
        ciphertexts: files.Input,
        output: files.Values = None,
        secret: files.Secret = files.SECRET,
        passphrase_file: files.PassphraseFile = None,
        first: Annotated[int, typer.Option(min=0, help="Values of a row; 0: all.")] = 0,
        allow_insecure: files.Insecure = False,
        force: files.Force = False,
    ) -> None:
        """Decrypt a ciphertext file."""

        def work(client: Any) -> files.Integers:
            values = client.decrypt(scheme.part("Ciphertexts").load(ciphertexts, allow_insecure))
            rows: files.Integers = values if scheme.row else values.reshape(-1)
            return rows[..., : first or None]

        files.decrypt(
            work,
            lambda: files.opened(scheme.part("Client"), secret, passphrase_file, allow_insecure),
            *(output, force),
        )


def _add_server(group: typer.Typer, scheme: Scheme) -> None:
    known = ", ".join(scheme.operations)

    @group.command("eval", help=f"Evaluate one of {known} on ciphertexts; needs no secret.")
    def evaluate(
        inputs: files.Inputs,
        output: files.Output,
        op: Annotated[str, typer.Option("--op", help="What to evaluate.")],
        keys: files.Keys = files.KEYS,
        device: shared.Device = None,
        threads: shared.Threads = 0,
        allow_insecure: files.Insecure = False,
        force: files.Force = False,
    ) -> None:
        if op not in scheme.operations:
            raise ValueError(f"op: {op!r} is none of {known}")
        operands, work = scheme.operations[op]
        if len(inputs) != operands:
            raise ValueError(f"{op}: {len(inputs)} inputs, expected {operands}")
        files.new_file(output, force)
        evaluation = scheme.part("EvaluationKeys").load(keys, allow_insecure)
        server = scheme.part("Server")(evaluation, device=device, threads=threads)
        load = scheme.part("Ciphertexts").load
        arrays = [server.upload(load(path, allow_insecure)) for path in inputs]
        with files.timed(output, server) as done:
            done(server.download(work(server, *arrays)))
