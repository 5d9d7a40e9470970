"""Devices that this machine has, and sessions on them, which servers of any scheme share."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from .. import _server
from ..errors import DeviceError, ParameterError
from .literal import as_long, as_text, as_threads
from .part import Part
from .text import shown


@dataclass(frozen=True)
class DeviceInfo:
    """A device, or why there is none of its kind."""

    name: str
    """What `Server(device=...)` takes: `cpu`, `cuda:0`; `cuda` if no GPU can be used."""
    description: str
    """The hardware's own name: `NVIDIA H200`."""
    usable: bool
    why: str
    """Why it cannot be used, or which kernels would run."""
    memory: int
    """Bytes in all; 0: unknown."""
    free_memory: int
    """Bytes that are free; 0: unknown."""


def devices() -> list[DeviceInfo]:
    """All devices, the CPU first. A CUDA entry is always there, and says why if it is not usable.

    >>> import whorl
    >>> whorl.devices()[0].name
    'cpu'
    """
    found = (DeviceInfo(**entry) for entry in _server.devices())
    return [replace(device, why=in_python(device.why)) for device in found]


_IN_PYTHON = (
    (r"; in C\+\+ name a library .*? and build Whorl again", ""),
    ("whorl::list_devices says what others lack", "`whorl doctor` says what others lack"),
    (
        r"build it with `make -C rtl/sim -f library.mk`, and set WHORL_RTL_CORE to its path",
        "it needs a checkout, where `make -C rtl/sim -f library.mk` builds it, and WHORL_RTL_CORE "
        'is its path; device="rtl-model" needs nothing',
    ),
)
"""What the C++ library says of a missing part, and what users of Python read in its place."""


def in_python(message: str) -> str:
    """A message of the C++ library about a device, as it is in Python."""
    for pattern, told in _IN_PYTHON:
        message = re.sub(pattern, told, message)
    return message


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Devices are opened: errors name what users of Python can do."""
    try:
        yield
    except DeviceError as error:
        raise DeviceError(in_python(str(error))) from None


def device_name(device: str) -> str:
    """The hardware that a server on this device would use. Errors as of `Session`."""
    with opening():
        return _server.device_name(device)


class OnDevices:
    """What sessions and servers say of their devices."""

    __slots__ = ()

    _core: Any

    device = Part[str](
        "_core.device",
        "The hardware used: `cpu (AVX3, 8 threads)`, `cuda:0 (NVIDIA H200)`; several in a row.",
    )
    devices = Part[tuple[str, ...]]("_core.devices", "Each device, named as in `device`.", tuple)
    failed_devices = Part[tuple[tuple[str, str], ...]](
        "_core.failed_devices",
        "Those of several `devices` that failed and are not used any more, and why.",
        tuple,
    )
    threads = Part[int]("_core.threads", "Threads used.")

    def synchronise(self) -> None:
        """Waits until all work so far is done: operations on a GPU return before they are done.

        A session waits for the work of all its servers.
        """
        self._core.synchronise()


class Session(OnDevices):
    """Opened devices, for servers of any scheme.

    Args:
        device: `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, several GPUs as `"cuda:0,1"` or
            `"cuda:all"`, or `""` for the best found: a GPU that can be used, else the CPU. Default:
            the environment's WHORL_DEVICE, else `""`. `whorl.devices()` lists what there is.
        threads: of the CPU; default 0: all cores.
        key_bytes: bytes that the keys of all its servers together may take on each device; those
            used least recently leave it then, and come back when they are used. Default 0: no
            bound.

    Raises:
        DeviceError: the device is not there, or no device has that name; no other device takes its
            place.
        ParameterError: `key_bytes` is not an integer in 0 … 2^64 - 1.

    Give it to each server as `session`. The servers then share the devices, the threads and the
    room for keys: their keys take turns, and where memory is short, arrays of one server that are
    not in use wait in the host's memory for a call of another. If a single key is larger than the
    room, using it raises `OutOfMemoryError`. Several threads may use a session at once. It is open
    as long as the last of its servers.

    >>> import whorl
    >>> session = whorl.Session("cpu", key_bytes=2**30)
    >>> params = whorl.binfhe.parameters("W128_P64")
    >>> clients = [whorl.binfhe.Client(params) for _ in range(2)]
    >>> keys = [client.evaluation_keys() for client in clients]
    >>> servers = [whorl.binfhe.Server(each, session=session) for each in keys]
    >>> sum(server.key_bytes for server in servers) <= session.key_bytes
    True
    """

    __slots__ = ("_core",)

    _core: _server.Session

    def __init__(self, device: str | None = None, threads: int = 0, key_bytes: int = 0) -> None:
        with opening():
            self._core = _server.Session(*where(device, threads, key_bytes))

    key_bytes = Part[int]("_core.key_bytes", "Bytes that keys may take on each device; 0: any.")

    def __repr__(self) -> str:
        room = f", {self.key_bytes} bytes for keys" if self.key_bytes else ""
        return f"<Session on {self.device}{room}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session holds devices and cannot be pickled")


def where(device: str | None, threads: int, key_bytes: int) -> tuple[str, int, int]:
    """A session's arguments as the C++ library takes them; each is checked."""
    if device is None:
        device = os.environ.get("WHORL_DEVICE", "")
    if not isinstance(device, str):
        raise TypeError(f"device: a name such as 'cuda:0' is needed, not {shown(device)}")
    return as_text("device", device), as_threads(threads), as_long("key_bytes", key_bytes)


def of_session(
    session: Session, device: str | None, threads: int, key_bytes: int
) -> _server.Session:
    """The session that a server was given, as the C++ library takes it.

    `TypeError` if it is none; `ParameterError` if options of a session are given beside it.
    """
    if not isinstance(session, Session):
        raise TypeError(f"session: a whorl.Session is needed, not {type(session).__name__}")
    given = {"device": device, "threads": threads, "key_bytes": key_bytes}
    for name, value in given.items():
        if value is not None and value != 0:
            raise ParameterError(
                f"{name} = {shown(value)} beside a session: give it to the session, which has "
                "opened its devices"
            )
    return session._core
