"""What the tests share: a small insecure parameter set, so that a bootstrap takes a moment."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import whorl
from whorl.binfhe import Client, EvaluationKeys, Parameters, Server, parameters

ROOT = Path(__file__).resolve().parents[2]

# Noise is so small that 2^-64 bounds the failure of what the tests do: see test_toy_set_is_exact.
TOY = {
    "name": "toy",
    "n": 32,
    "q": 2048,
    "N": 1024,
    "Q": 134215681,
    "Q_ks": 2**20,
    "log_B_ks": 5,
    "gadget": [(32, 7, 4)],
    "lwe_secret": "ternary",
    "transform": "ntt",
    "max_p": 8,
}


@dataclass(frozen=True)
class Kit:
    """Both halves under one key."""

    parameters: Parameters
    client: Client
    keys: EvaluationKeys
    server: Server


def make_kit(**changes: object) -> Kit:
    chosen = parameters({**TOY, **changes}, allow_insecure=True)
    client = Client(chosen)
    keys = client.evaluation_keys()
    return Kit(chosen, client, keys, Server(keys, device="cpu"))


def run_python(code: str, *args: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own; PYTHONPATH finds this very package."""
    package = str(Path(whorl.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": package}
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        **kwargs,  # type: ignore[arg-type]
    )
