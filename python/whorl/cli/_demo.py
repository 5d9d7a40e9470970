"""demo: the applications of the source tree, or an encrypted adder without it."""

from __future__ import annotations

import ast
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .._core import rounded
from ..binfhe import Client, EncryptedArray, Server, stack
from ..errors import Error
from . import _passphrase
from . import _sets as sets
from ._completion import from_list
from ._output import duration, err, out

DEFAULT = "tree"


def _applications() -> dict[str, Path]:
    """run.py of every application of the source tree, above the working directory or this file."""
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if (folder / "include" / "whorl").is_dir():
                scripts = sorted((folder / "apps").glob("*/run.py"))
                if scripts:
                    return {script.parent.name: script for script in scripts}
    return {}


def _summary(script: Path) -> str:
    """First line of a script's docstring."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def _list(applications: dict[str, Path]) -> None:
    for name, script in applications.items():
        out.print(f"  whorl demo {name:<10} {_summary(script)}", markup=False, soft_wrap=True)


def add(server: Server, a: EncryptedArray, b: EncryptedArray) -> EncryptedArray:
    """Sum of numbers given as bits along axis 0, lowest first, and one bit longer."""
    carry = server.trivial(np.zeros(a.shape[1:], dtype=np.int64))
    bits = []
    for x, y in zip(a, b, strict=True):
        half = server.xor(x, y)
        bits.append(server.xor(half, carry))
        carry = server.majority(x, y, carry)
    return stack([*bits, carry])


def _adder(params: str) -> None:
    chosen = sets.find(params)
    xor, majority = chosen.gate_failure_log2(8, 2), chosen.gate_failure_log2(3, 4)
    out.print(
        f"Four sums of 4-bit numbers under {chosen.name}: {rounded.bits(chosen.security.bits)} "
        "bits of security; a gate fails with a probability of at most "
        f"2^{math.ceil(max(xor, majority))} ({'XOR' if xor > majority else 'MAJORITY'}).",
        markup=False,
    )
    client = Client(chosen)
    keys = client.evaluation_keys(progress=True)
    server = Server(keys)
    numbers = np.random.default_rng().integers(0, 16, size=(2, 4))
    bits = (numbers[:, None, :] >> np.arange(4)[None, :, None]) & 1
    out.print("The client encrypts every bit; the server adds without reading any.", markup=False)
    a, b = (server.upload(client.encrypt(each)) for each in bits)
    started = time.perf_counter()
    total = add(server, a, b)
    took = time.perf_counter() - started
    answer = (client.decrypt(total) << np.arange(5)[:, None]).sum(axis=0)
    for x, y, z in zip(*numbers, answer, strict=True):
        out.print(f"  {x:2} + {y:2} = {z:2}", markup=False)
    if not np.array_equal(answer, numbers.sum(axis=0)):
        raise Error("the decrypted sums are wrong")
    out.print(f"48 gates in {duration(took)} on {server.device}.", markup=False)


def _run(command: list[str]) -> int:
    """Exit status of an application, which may start processes of its own.

    They are a session of their own, so that Ctrl-C reaches this process only, which then ends
    them all: none of them prints a traceback, and none goes on.
    """
    environment = {name: os.environ[name] for name in os.environ if name != _passphrase.VARIABLE}
    process = subprocess.Popen(command, start_new_session=True, env=environment)
    try:
        return process.wait()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            err.show_cursor()  # an application hides it while it draws progress


def demo(
    application: Annotated[
        str,
        typer.Argument(
            help="Folder in apps/; --list shows all.",
            autocompletion=from_list(lambda: _applications()),
        ),
    ] = DEFAULT,
    every: Annotated[bool, typer.Option("--list", help="The applications there are.")] = False,
    built_in: Annotated[
        bool, typer.Option("--built-in", help="The adder, even in a source tree.")
    ] = False,
    params: sets.Params = "W128_P64",
) -> None:
    """An application of the source tree, by default its decision tree; without it, an adder."""
    applications = {} if built_in else _applications()
    if every:
        _list(applications)
        return
    if not applications and application == DEFAULT:
        _adder(params)
        return
    if application not in applications:
        raise typer.BadParameter(
            f"{application} is not among {', '.join(applications)}"
            if applications
            else f"{application} is no application here"
        )
    command = [sys.executable, str(applications[application])]
    status = _run(command)
    others = {name: path for name, path in applications.items() if name != application}
    if others:
        out.print("\nOther applications")
        _list(others)
    raise typer.Exit(status)
