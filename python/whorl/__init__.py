"""Whorl computes on encrypted data.

A client makes keys, encrypts and decrypts; a server holds evaluation keys only and evaluates:

>>> import whorl
>>> params = whorl.binfhe.parameters("W128_P64")
>>> client = whorl.binfhe.Client(params)
>>> server = whorl.binfhe.Server(client.evaluation_keys())
>>> c = server.nand(client.encrypt([0, 0, 1, 1]), client.encrypt([0, 1, 0, 1]))
>>> client.decrypt(c)
array([1, 1, 1, 0])

`whorl.binfhe` has FHEW/TFHE: gates and look-up tables. `whorl.client` and `whorl.server` are its
two halves; a server process imports `whorl.server` alone and so has no name that makes, loads or
uses a secret key. `whorl.bgv` has BGV: exact arithmetic on encrypted vectors of integers. Every
failure is a child of `whorl.Error`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from ._devices import DeviceInfo, devices
from ._key_cache import KeyCache
from ._saved import allow_insecure_pickles
from ._server import cpu_target
from ._server import version as _version
from .errors import *  # noqa: F403

if TYPE_CHECKING:
    from . import bgv, binfhe, client, server

__version__ = _version()

__all__ = [
    "DeviceInfo",
    "KeyCache",
    "__version__",
    "allow_insecure_pickles",
    "bgv",
    "binfhe",
    "client",
    "cpu_target",
    "devices",
    "server",
]
__all__ += errors.__all__

# Imported at first use, so that `import whorl.server` does not bring the client in.
_modules = ("bgv", "binfhe", "client", "server")


def __getattr__(name: str) -> Any:
    if name in _modules:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
