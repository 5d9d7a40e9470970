"""doctor: what is installed, which devices there are, and whether each scheme computes rightly."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .. import __version__, _server, bgv, binfhe, ckks, cpu_target, devices
from .._core.session import device_name
from ._info import device_rows
from ._output import duration, out, pairs
from ._records import Device

_GPU_PACKAGE = "whorl-fhe-cuda13"


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """What came of a check. `error`: the exception that ended it, if one did."""

    check: str
    parameters: str
    seconds: float
    right: bool
    error: str = ""


def _gate(device: str | None) -> bool:
    client = binfhe.Client(binfhe.parameters("W128_P64"))
    server = binfhe.Server(client.evaluation_keys(), device=device)
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    result = client.decrypt(server.nand(client.encrypt(a), client.encrypt(b)))
    return np.array_equal(result, 1 - a * b)


def _product(device: str | None) -> bool:
    client = bgv.Client(bgv.parameters(depth=1))
    server = bgv.Server(client.evaluation_keys(), device=device)
    x, y = np.array([2, 3, 5, 7]), np.array([11, 13, 17, 19])
    result = client.decrypt(server.upload(client.encrypt(x)) * client.encrypt(y))
    return np.array_equal(result, x * y)


def _bootstrap(device: str | None) -> bool:
    # The primes of a secure set, whose own ring would take minutes and gigabytes of keys.
    literal = {**ckks.parameters("W128_L13_B20").literal(), "N": 2048, "name": "doctor"}
    client = ckks.Client(ckks.parameters(literal=literal, allow_insecure=True))
    server = ckks.Server(client.evaluation_keys(bootstrap=[8]), device=device)
    values = np.linspace(-1, 1, 8)
    lowest = server.upload(client.encrypt(values)).lower(server.parameters.least_bootstrap_level)
    result = client.decrypt(lowest.bootstrap(), raw=True)
    return bool(np.abs(result - values).max() < 2**-15)


_CHECKS: dict[str, tuple[str, Callable[[str | None], bool]]] = {
    "FHEW/TFHE gate": ("W128_P64", _gate),
    "BGV product": ("a product of depth 1, of 128 bits", _product),
    "CKKS bootstrap": ("the primes of W128_L13_B20 at N = 2048, not secure", _bootstrap),
}
"""Check -> its parameters, and what keeps a device's results beside those in the clear."""


def _outcome(check: str, device: str | None) -> _Outcome:
    parameters, compute = _CHECKS[check]
    started = time.perf_counter()
    try:
        right, error = compute(device), ""
    except Exception as failure:  # whatever is wrong here, the others are checked too
        right, error = False, f"{type(failure).__name__}: {failure}"
    return _Outcome(check, parameters, time.perf_counter() - started, right, error)


def _gpu_package() -> str:
    """The version of the package with the GPU backend; empty if it is not installed."""
    try:
        return importlib.metadata.version(_GPU_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return ""


def doctor(
    device: Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what is installed and which devices there are, and check each scheme on one of them.

    Keys are made, and a gate, a product and a bootstrap are computed and decrypted. The status is 0
    if all results are right.
    """
    compiled = str(Path(_server.__file__).parent)
    used = device_name(device or os.environ.get("WHORL_DEVICE", ""))  # or an error
    package = _gpu_package()
    rows = [
        ("whorl", __version__),
        ("python", platform.python_version()),
        ("CPU target", cpu_target()),
        ("compiled part", compiled),
        *([("GPU backend", f"{_GPU_PACKAGE} {package}")] if package else []),
        *device_rows(device),
    ]
    # Who reads no further still gets the status of all checks.
    with suppress(BrokenPipeError):
        if not as_json:
            pairs([*rows, ("", "")])
    found = []
    width = max(map(len, _CHECKS))
    for check in _CHECKS:
        outcome = _outcome(check, device)
        found.append(outcome)
        said = "right" if outcome.right else outcome.error or "WRONG"
        took = f"{duration(outcome.seconds)} with keys ({outcome.parameters})"
        with suppress(BrokenPipeError):
            if not as_json:
                out.print(f"{check:<{width}}  {said}, {took}", markup=False)
    right = all(outcome.right for outcome in found)
    told = {
        "version": __version__,
        "python": platform.python_version(),
        "cpu_target": cpu_target(),
        "compiled": compiled,
        "gpu_package": package or None,
        "devices": [dataclasses.asdict(each) for each in devices()],
        "device": used,
        "checks": [dataclasses.asdict(outcome) for outcome in found],
        "right": right,
    }
    with suppress(BrokenPipeError):
        if as_json:
            typer.echo(json.dumps(told))
    raise typer.Exit(0 if right else 1)
