"""A bound for the memory that the keys of several servers take on a device."""

from __future__ import annotations

from . import _server
from ._literal import Part, as_integer, as_long


class KeyCache:
    """Room for the keys of several servers, of any scheme, on the devices that they share.

    Args:
        bytes_a_device: bytes that the keys of all its servers together may take of each device.

    Raises:
        ParameterError: `bytes_a_device` is not an integer in 1 … 2^64 - 1.

    Give it to each server as `key_cache`. Keys are prepared when they are used. When other keys
    need the room, those used least recently, of any of the servers, leave the device; they come
    back when they are used again. If a single key is larger than the room, using it raises
    `OutOfMemoryError`. Several threads may use the cache at once. It lives as long as the last of
    its servers.

    >>> import whorl
    >>> cache = whorl.KeyCache(2**30)
    >>> params = whorl.binfhe.parameters("W128_P64")
    >>> clients = [whorl.binfhe.Client(params) for _ in range(2)]
    >>> keys = [client.evaluation_keys() for client in clients]
    >>> servers = [whorl.binfhe.Server(each, "cpu", key_cache=cache) for each in keys]
    >>> sum(server.key_bytes for server in servers) <= cache.bytes_a_device
    True
    """

    __slots__ = ("_core",)

    def __init__(self, bytes_a_device: int) -> None:
        self._core = _server.KeyCache(as_integer("bytes_a_device", bytes_a_device, 1, 2**64 - 1))

    bytes_a_device = Part[int]("_core.bytes_a_device", "Bytes that keys may take of each device.")

    def __repr__(self) -> str:
        return f"KeyCache({self.bytes_a_device})"


def room_for_keys(
    key_budget: int, key_cache: KeyCache | None
) -> tuple[int, _server.KeyCache | None]:
    """The arguments `key_budget` and `key_cache` of a server, as the C++ library takes them.

    `ParameterError` if the budget is not an integer in 0 … 2^64 - 1; `TypeError` if `key_cache` is
    not a KeyCache.
    """
    if key_cache is not None and not isinstance(key_cache, KeyCache):
        raise TypeError(f"key_cache: a KeyCache is needed, not {type(key_cache).__name__}")
    cache = None if key_cache is None else key_cache._core
    return as_long("key_budget", key_budget), cache
