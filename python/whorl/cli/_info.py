"""info: about the machine, or about a file."""

from __future__ import annotations

import importlib
import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__, cpu_target, devices
from .._core.session import device_name
from .._core.text import at_least_bits, counted
from ..binfhe import parameter_sets, parameters
from ..errors import DeviceError, OutOfMemoryError
from ._completion import files
from ._files import Expanded, MaxBytes, MaxCount
from ._frames import frame_info
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


def device_rows(option: str | None = None) -> list[tuple[str, str]]:
    """The device that a server takes by default or by --device, and why; then every device."""
    found = devices()
    wanted = option or os.environ.get("WHORL_DEVICE", "")
    if wanted:
        reason = f"--device {wanted}" if option else f"WHORL_DEVICE={wanted}"
    elif any(device.usable for device in found if device.name.startswith("cuda")):
        reason = "best found: a GPU that can be used goes before the CPU"
    else:
        reason = "best found: no GPU can be used"
    try:
        rows = [("device used", f"{device_name(wanted)} ({reason})")]
    except (DeviceError, OutOfMemoryError) as error:
        rows = [("device used", f"none ({reason}): {error}")]
    for device in found:
        parts = [device.description]
        if device.memory:
            parts.append(f"{size(device.memory)}, {size(device.free_memory)} free")
        parts.append(f"{'usable' if device.usable else 'not usable'}: {device.why}")
        rows.append((device.name, "; ".join(parts)))
    return rows


def _file(path: Path) -> list[tuple[str, str]]:
    frame = frame_info(path)
    digest = frame["parameters_digest"].hex()
    named = [
        name for name in parameter_sets() if parameters(name, allow_insecure=True).digest == digest
    ]
    key, kind = frame["key_id"].hex(), str(frame["type"])
    known = f"{', '.join(named) or 'none of the named sets'}, "
    if kind.startswith(("BGV", "CKKS")):  # of which no named sets are listed
        known = ""
    return [
        ("file", str(path)),
        ("type", kind),
        ("format version", str(frame["version"])),
        ("size", size(path.stat().st_size)),
        ("parameters", f"{known}digest {digest}"),
        ("key id", key if key.strip("0") else "none"),
    ]


_SCHEMES = {"FHEW/TFHE": "binfhe", "BGV": "bgv", "CKKS": "ckks"}
"""First word of a file's type -> package."""
_READERS = {
    "parameters": "Parameters",
    "evaluation keys": "EvaluationKeys",
    "public key": "PublicKey",
    "compression keys": "CompressionKeys",
    "product keys": "ProductKeys",
    "ciphertexts": "Ciphertexts",
}
"""What a type of files is called behind its scheme -> class that reads it."""
_BETWEEN = {
    "CKKS keys for LWE input": "LweInputKeys",
    "CKKS keys for LWE output": "LweOutputKeys",
}
"""Type of a file of keys between schemes -> class of `whorl.lanes` that reads it."""
_REFLECTIONS = {
    "BGV evaluation keys": ("exchange of rows", "swap_rows"),
    "CKKS evaluation keys": ("conjugation", "conjugate"),
}
"""Type of a file of keys for rotations -> what one more key is for, and whether there is one."""
_SHOWN = 12
"""Rotations that are listed."""


def _contents(path: Path, kind: str, **limits: int | None) -> list[tuple[str, str]]:
    """What a file holds; nothing of a secret key or a table. `Error` if it is damaged."""
    if kind == "FHEW/TFHE packed ciphertexts":
        packed = importlib.import_module("whorl.binfhe").PackedCiphertexts
        described: list[tuple[str, str]] = packed.load(path, allow_insecure=True, **limits)._facts()
        return described
    if kind in _BETWEEN:
        reader = getattr(importlib.import_module("whorl.lanes"), _BETWEEN[kind])
        facts: list[tuple[str, str]] = reader.load(path, allow_insecure=True, **limits)._facts()
        return facts
    scheme, _, what = kind.partition(" ")
    if scheme not in _SCHEMES or what not in _READERS:
        return []
    package = _SCHEMES[scheme]
    module = importlib.import_module(f"whorl.{package}")
    loaded: Any = getattr(module, _READERS[what]).load(path, allow_insecure=True, **limits)
    if what == "ciphertexts":
        return _ciphertexts(loaded, package)
    made_under = loaded.parameters
    rows = [*made_under._details(), ("security", f"{at_least_bits(made_under.security_bits)} bits")]
    if kind in _REFLECTIONS:
        reflection, attribute = _REFLECTIONS[kind]
        held = loaded.rotations
        listed = ", ".join(map(str, held[:_SHOWN])) or "none"
        more = f", … ({len(held)} in all)" if len(held) > _SHOWN else ""
        rows += [
            ("relinearise", f"up to {loaded.relinearise} parts"),
            ("rotations", f"{listed}{more}"),
            (reflection, "yes" if getattr(loaded, attribute) else "no"),
        ]
    return rows


def _ciphertexts(array: Any, package: str) -> list[tuple[str, str]]:
    rows = [("ciphertexts", str(array.size)), ("shape", str(array.shape))]
    if package == "binfhe":
        padding = "under a padding bit" if array.padding else "without a padding bit"
        return [*rows, ("p", f"{array.p}, {padding}")]
    chosen = array.parameters
    if package == "ckks":
        return [*rows, *array._details()]
    return [
        *rows,
        ("t", str(chosen.t)),
        ("values in each", f"{chosen.N}, in {array.packing}"),
        ("length", f"{counted(array.length, 'value')} of each vector"),
        ("primes left", f"{array.limbs} of {chosen.limbs}"),
    ]


def info(
    file: Annotated[
        Path | None,
        typer.Argument(help="A file of Whorl's; default: this machine.", autocompletion=files),
    ] = None,
    max_bytes: MaxBytes = None,
    max_count: MaxCount = None,
    max_expanded_bytes: Expanded = None,
) -> None:
    """What this machine offers, or what a file holds."""
    if file is not None:
        rows = _file(file)
        try:
            rows += _contents(
                file,
                dict(rows)["type"],
                max_bytes=max_bytes,
                max_count=max_count,
                max_expanded_bytes=max_expanded_bytes,
            )
        finally:  # of a damaged file, what its header says
            pairs(rows)
        return
    model, features = _cpu()
    pairs(
        [
            ("whorl", __version__),
            ("python", platform.python_version()),
            ("processor", model),
            ("features", " ".join(features) or "unknown"),
            ("SIMD used", cpu_target()),
            ("cores", str(len(os.sched_getaffinity(0)))),
            *device_rows(),
        ]
    )
