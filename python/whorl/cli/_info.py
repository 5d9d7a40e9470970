"""info: of the machine, or of a file."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__, _core, cpu_target
from ..binfhe import parameter_sets, parameters
from ..errors import DeviceError
from ._output import pairs, size

_SIMD = ("sse4_1", "avx2", "fma", "avx512f", "avx512dq", "avx512ifma", "asimd", "sve")


def _cpu() -> tuple[str, list[str]]:
    """Model and features that matter here, as Linux tells them."""
    model, features = platform.machine(), set[str]()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                model = value.strip()
            elif name.strip() in ("flags", "Features"):
                features = set(value.split())
    except OSError:
        pass
    return model, [feature for feature in _SIMD if feature in features]


def _devices() -> list[tuple[str, str]]:
    wanted = os.environ.get("WHORL_DEVICE", "")
    reason = f"WHORL_DEVICE={wanted}" if wanted else "best found"
    try:
        chosen = f"{_core.device_name(wanted)} ({reason})"
    except DeviceError as error:
        chosen = f"none ({reason}): {error}"
    try:
        cuda = _core.device_name("cuda")
    except DeviceError as error:
        cuda = f"not available: {error}"
    return [("device used", chosen), ("cuda", cuda)]


def _file(path: Path) -> list[tuple[str, str]]:
    frame = _core.frame_info(os.fspath(path))
    digest = frame["parameters_digest"].hex()
    named = [
        name for name in parameter_sets() if parameters(name, allow_insecure=True).digest == digest
    ]
    key = frame["key_id"].hex()
    return [
        ("file", str(path)),
        ("type", str(frame["type"])),
        ("format version", str(frame["version"])),
        ("size", size(path.stat().st_size)),
        ("parameters", f"{', '.join(named) or 'none of the named sets'} (digest {digest})"),
        ("key id", key if key.strip("0") else "none"),
    ]


def info(
    file: Annotated[
        Path | None, typer.Argument(help="A file of Whorl's; default: this machine.")
    ] = None,
) -> None:
    """What this machine offers, or what a file holds."""
    if file is not None:
        pairs(_file(file))
        return
    model, features = _cpu()
    pairs(
        [
            ("whorl", __version__),
            ("python", platform.python_version()),
            ("cpu", model),
            ("cpu features", " ".join(features) or "unknown"),
            ("SIMD used", cpu_target()),
            ("cores", str(len(os.sched_getaffinity(0)))),
            *_devices(),
        ]
    )
