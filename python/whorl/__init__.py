"""Whorl computes on encrypted data.

A client makes keys, encrypts and decrypts. A server holds evaluation keys only, and computes:

>>> import whorl
>>> params = whorl.binfhe.parameters("W128_P64")
>>> client = whorl.binfhe.Client(params)
>>> server = whorl.binfhe.Server(client.evaluation_keys())
>>> c = server.nand(client.encrypt([0, 0, 1, 1]), client.encrypt([0, 1, 0, 1]))
>>> client.decrypt(c)
array([1, 1, 1, 0])

`whorl.binfhe` has FHEW/TFHE: gates and look-up tables. `whorl.bgv` has BGV: exact arithmetic on
encrypted vectors of integers. `whorl.ckks` has CKKS: approximate arithmetic on encrypted vectors of
real or complex numbers. `whorl.lanes` has exact gates on thousands of bits at once, and
`whorl.integers` encrypted integers of 1 to 256 bits. `whorl.nn` runs networks on encrypted vectors.
`whorl.circuit` runs circuits of gates, read from files, on bits of FHEW/TFHE, and `whorl.trace`
makes tables of a function of integers that is written with NumPy (`whorl.tracing`). `whorl.client`
and `whorl.server` are the two halves of the
package; each has all schemes. A server's process imports only `whorl.server`, which has no name
that makes, loads or uses a secret key. Every failure raises a subclass of `whorl.Error`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true; typing itself is imported late
if TYPE_CHECKING:
    from typing import Any

    from . import (
        bgv,
        binfhe,
        circuit,
        ckks,
        client,
        errors,
        integers,
        lanes,
        ml,
        nn,
        server,
        tracing,
    )
    from ._core.saved import allow_insecure_pickles
    from ._core.session import DeviceInfo, Session, devices
    from ._server import cpu_target
    from .errors import *  # noqa: F403
    from .tracing import trace

    __version__: str
    __all__ = [
        "DeviceInfo",
        "Session",
        "__version__",
        "allow_insecure_pickles",
        "bgv",
        "binfhe",
        "circuit",
        "ckks",
        "client",
        "cpu_target",
        "devices",
        "integers",
        "lanes",
        "ml",
        "nn",
        "server",
        "trace",
        "tracing",
    ]
    __all__ += errors.__all__


def _add_compiled(path: list[str]) -> None:
    """The compiled modules lie here, or in the distribution whorl-fhe-runtime."""
    import os

    if any(name.startswith("_server.") for name in os.listdir(path[0])):
        return
    try:
        import whorl_runtime
    except ModuleNotFoundError as error:
        raise ImportError(
            "whorl has no compiled part: `pip install --force-reinstall whorl-fhe` brings it"
        ) from error
    path.extend(whorl_runtime.__path__)


_add_compiled(__path__)  # noqa: F405

# Everything is imported at first use: `import whorl.server` does not bring the client in, and the
# command is ready for Ctrl-C before anything that takes time.
_packages = (
    *("bgv", "binfhe", "circuit", "ckks", "client", "errors", "integers", "lanes", "ml", "nn"),
    *("server", "tracing"),
)
_names = {
    "DeviceInfo": "_core.session",
    "Session": "_core.session",
    "allow_insecure_pickles": "_core.saved",
    "cpu_target": "_server",
    "devices": "_core.session",
    "trace": "tracing",
}


def __getattr__(name: str) -> Any:
    import importlib

    def part(module: str) -> Any:
        return importlib.import_module(f"{__name__}.{module}")

    if name in _packages:
        return part(name)
    if name == "__version__":
        value = part("_server").version()
    elif name == "__all__":
        public = {*_packages, *_names, "__version__", *part("errors").__all__} - {"errors"}
        value = sorted(public)
    elif name in _names:
        value = getattr(part(_names[name]), name)
    elif name[:1] != "_" and name in part("errors").__all__:
        value = getattr(part("errors"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
