"""demo: the encrypted decision tree of the source tree, or an encrypted adder without it."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..binfhe import Ciphertexts, Client, Server, parameters, stack
from ._output import duration, out


def _source_tree() -> Path | None:
    """apps/tree/run.py above the working directory or above this file."""
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            script = folder / "apps" / "tree" / "run.py"
            if script.is_file() and (folder / "include" / "whorl").is_dir():
                return script
    return None


def add(server: Server, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
    """Sum of numbers given as bits along axis 0, lowest first, and one bit longer."""
    carry = server.trivial(np.zeros(a.shape[1:], dtype=np.int64))
    bits = []
    for x, y in zip(a, b, strict=True):
        half = server.xor(x, y)
        bits.append(server.xor(half, carry))
        carry = server.majority(x, y, carry)
    return stack([*bits, carry])


def _adder(params: str) -> None:
    chosen = parameters(params)
    xor, majority = chosen.gate_failure_log2(8, 2), chosen.gate_failure_log2(3, 4)
    out.print(
        f"Four sums of 4-bit numbers under {chosen.name}: {chosen.security.bits:.0f} bits of "
        f"security; a gate fails with a probability of at most 2^{math.ceil(max(xor, majority))} "
        f"({'XOR' if xor > majority else 'MAJORITY'}).",
        markup=False,
    )
    client = Client(chosen)
    keys = client.evaluation_keys(progress=True)
    server = Server(keys)
    numbers = np.random.default_rng().integers(0, 16, size=(2, 4))
    bits = (numbers[:, None, :] >> np.arange(4)[None, :, None]) & 1
    out.print("The client encrypts every bit; the server adds without reading any.", markup=False)
    a, b = (client.encrypt(each) for each in bits)
    started = time.perf_counter()
    total = add(server, a, b)
    took = time.perf_counter() - started
    answer = (client.decrypt(total) << np.arange(5)[:, None]).sum(axis=0)
    for x, y, z in zip(*numbers, answer, strict=True):
        out.print(f"  {x:2} + {y:2} = {z:2}", markup=False)
    if not np.array_equal(answer, numbers.sum(axis=0)):
        raise ValueError("the decrypted sums are wrong")
    out.print(f"48 gates in {duration(took)} on {server.device}.", markup=False)


def demo(
    built_in: Annotated[
        bool, typer.Option("--built-in", help="The adder, even in a source tree.")
    ] = False,
    params: Annotated[str, typer.Option("--params", help="Set of the adder.")] = "W128_P64",
) -> None:
    """An encrypted decision tree classifies irises; without the source tree, an encrypted adder."""
    script = None if built_in else _source_tree()
    if script is None:
        _adder(params)
        return
    raise typer.Exit(subprocess.run([sys.executable, str(script)], check=False).returncode)
