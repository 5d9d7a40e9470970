"""Devices that this machine has or might have."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _server


@dataclass(frozen=True)
class DeviceInfo:
    """A device, or why there is none of its kind."""

    name: str
    """As `Server(device=...)` takes it: `cpu`, `cuda:0`; `cuda` if no GPU can be used."""
    description: str
    """The hardware's own name: `NVIDIA H200`."""
    usable: bool
    why: str
    """Why it cannot be used, or which kernels would run."""
    memory: int
    """In bytes; 0: unknown."""
    free_memory: int
    """In bytes; 0: unknown."""


def devices() -> list[DeviceInfo]:
    """All devices, the CPU first. A CUDA entry is always there, and says why if it is not usable.

    >>> import whorl
    >>> whorl.devices()[0].name
    'cpu'
    """
    return [DeviceInfo(**entry) for entry in _server.devices()]
