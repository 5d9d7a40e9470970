"""The base class of every scheme's server: evaluation keys on devices, and arrays on them."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np

from .array import DeviceArray, HostArray, Shape, no_ciphertexts, repeated
from .part import Part
from .paths import PathName
from .saved import Keys
from .session import OnDevices, Session, of_session, opening, where

H = TypeVar("H", bound=HostArray)
D = TypeVar("D", bound="DeviceArray[Any]")
K = TypeVar("K", bound=Keys[Any])


class BaseServer(OnDevices, Generic[K, H, D]):
    """Evaluation keys on devices. A scheme's class names its classes and adds operations."""

    __slots__ = ("_core", "_parameters", "_warned_of")

    _maker: ClassVar[Any]
    """Class of the C++ library, with `create(keys, session, …)`; a session is one of the C++
    library, or the options of one."""
    _keys_type: ClassVar[type[Keys[Any]]]
    _host_type: type[H]
    _device_type: ClassVar[type[Any]]

    def __init__(
        self,
        keys: K | PathName,
        device: str | None = None,
        threads: int = 0,
        allow_insecure: bool = False,
        key_bytes: int = 0,
        session: Session | None = None,
    ) -> None:
        """Opens the devices, unless a session has, and gives them the keys.

        Without a bound of `key_bytes` all keys lie on the devices from the start. If one of several
        GPUs fails, it is left out from then on, and a `RuntimeWarning` names it. The others repeat
        the call, unless it needs results that lay on that GPU alone. Then `DeviceError` names these
        results; the server can still be used.

        Args:
            keys: evaluation keys, or the path of a file of them.
            device, threads, key_bytes: as those of `whorl.Session`, for a session of its own. The
                property `device` tells which device is used.
            allow_insecure: with a path, accept parameters under 128 bits.
            session: a `whorl.Session`, whose devices and room for keys several servers share.

        Raises:
            DeviceError: the device is not there, or no device has that name; no other device takes
                its place.
            OutOfMemoryError: the keys do not fit into a device's memory, or a single key does not
                fit into `key_bytes`.
            ParameterError: `key_bytes` is not an integer in 0 … 2^64 - 1, or a device, threads or
                `key_bytes` stand beside a session.
            TypeMismatchError: a file that does not hold evaluation keys but, for example, a secret
                key; with a path also the other errors of `EvaluationKeys.load`.
        """
        self._open(keys, device, threads, allow_insecure, key_bytes, session)

    def _open(
        self,
        keys: Any,
        device: str | None,
        threads: int,
        allow_insecure: bool,
        key_bytes: int,
        session: Session | None,
        *options: Any,
    ) -> None:
        on: Any
        if session is None:
            on = where(device, threads, key_bytes)
        else:
            on = of_session(session, device, threads, key_bytes)
        if not isinstance(keys, self._keys_type):
            if not isinstance(keys, (str, bytes, os.PathLike)):
                raise TypeError(
                    f"keys: {_public_name(self._keys_type)}, or the path of a file of them, are "
                    f"needed, not {_public_name(type(keys))}"
                )
            keys = self._keys_type.load(keys, allow_insecure)
        with opening():
            self._core = self._maker.create(keys._core, on, *options)
        self._parameters = keys.parameters
        self._warned_of = 0

    key_id = Part[str]("_core.key_id", "Label of the keys, 32 hexadecimal digits.", bytes.hex)
    key_bytes = Part[int]("_core.key_bytes", "Bytes of the keys as they lie on the devices now.")

    def _about(self) -> str:
        """Text that `repr` adds."""
        return ""

    def __repr__(self) -> str:
        name = self._parameters.name or "unnamed"
        return f"<Server on {self.device}{self._about()}, {name}, key {self.key_id[:8]}…>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a server holds a device and cannot be pickled; send its EvaluationKeys")

    # ---- to and from the device

    def upload(self, ciphertexts: H | D) -> D:
        """The ciphertexts on the device, as an array whose operators know this server.

        An array of this server is returned unchanged. One of another server on one `Session` with
        the same parameters and key becomes an array of this one, and nothing is copied.
        `RangeError` for residues that are not below their modulus; `ParameterMismatchError` or
        `KeyMismatchError` for ciphertexts of other parameters or another key; `DeviceError` for an
        array of another session.
        """
        if isinstance(ciphertexts, self._device_type):
            if ciphertexts._server is self:
                return ciphertexts
            self._core.check(ciphertexts._core)
            return self._wrap(ciphertexts._core, ciphertexts.shape)
        if not isinstance(ciphertexts, self._host_type):
            raise no_ciphertexts(self._parameters, ciphertexts)
        return self._wrap(self._core.upload(ciphertexts._core), ciphertexts.shape)

    def download(self, a: D) -> H:
        """Waits for the array and copies it to the host's memory."""
        if not isinstance(a, self._device_type):
            raise TypeError(f"an encrypted array is needed, not {type(a).__name__}")
        core = self._core.download(self.upload(a)._core)
        self._warn()
        host: H = self._host_type._wrap(core, a.shape, self._parameters)
        return host

    # ---- operands and results

    def _wrap(self, core: Any, shape: Shape) -> D:
        self._warn()
        array: D = self._device_type._wrap(core, self, shape)
        return array

    def _on(self, a: H | D, work: Callable[..., Any], *arguments: Any) -> D:
        """What `work` of the C++ library makes of the ciphertexts, each by itself."""
        x = self.upload(a)
        return self._wrap(work(x._core, *arguments), x.shape)

    def _meet(self, *operands: H | D) -> tuple[list[D], Shape]:
        """Uploads operands and broadcasts them to one shape; a single ciphertext stays single."""
        arrays = [self.upload(operand) for operand in operands]
        shape, each = arrays[0].shape, arrays[0]._each
        if all(array.shape == shape and array._each == each for array in arrays[1:]):
            return arrays, shape
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        each = max(array._each for array in arrays)
        spread_out = (spread(array, shape) for array in arrays)
        return [a if a.size == 1 else repeated(a, each) for a in spread_out], shape

    def _warn(self) -> None:
        """Warns of each device that has failed, once."""
        failed = self.failed_devices
        new, self._warned_of = failed[self._warned_of :], len(failed)
        for name, message in new:
            warnings.warn(
                f"{name} has failed and is not used any more: {message}",
                RuntimeWarning,
                stacklevel=4,
            )


def _public_name(kind: type[Any]) -> str:
    """The name by which users import it: whorl.bgv.EvaluationKeys."""
    module = kind.__module__.partition("._")[0]
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def spread(a: D, shape: Shape) -> D:
    """`a` broadcast to that shape; a single ciphertext stays single."""
    total = math.prod(shape)
    alone = a.size == 1 and a._each == 1 and total
    return a if a.size == total or alone else a.broadcast_to(shape)
