"""Servers of a service, of both schemes, that share one room for keys."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
import whorl.server
from support import BgvKit, Kit, make_kit
from whorl import KeyCache, OutOfMemoryError, ParameterError, bgv, binfhe


def test_a_cache_says_its_room() -> None:
    assert whorl.server.KeyCache is KeyCache and "KeyCache" in whorl.__all__
    for room in (1, 12345, np.uint32(7), 2**64 - 1):
        cache = KeyCache(room)  # type: ignore[arg-type]
        assert cache.bytes_a_device == room and type(cache.bytes_a_device) is int
        assert repr(cache) == f"KeyCache({room})"
    with pytest.raises(AttributeError):
        cache.bytes_a_device = 3
    with pytest.raises(TypeError):
        pickle.dumps(cache)


@pytest.mark.parametrize("room", [0, -1, 2**64, 1.5, "1000", None, True])
def test_a_room_that_is_none_is_refused(room: Any) -> None:
    with pytest.raises(ParameterError, match="bytes_a_device") as failure:
        KeyCache(room)
    assert str(room) in str(failure.value)


def test_servers_of_vectors_take_turns(toy_bgv: BgvKit) -> None:
    """Two clients, and room for the keys of one."""
    values = np.array([1, 2, 3])
    other = bgv.Client(toy_bgv.parameters)
    pairs = [
        (client, client.evaluation_keys(rotations=[1, 2])) for client in (toy_bgv.client, other)
    ]
    room = bgv.Server(pairs[0][1], device="cpu").key_bytes
    cache = KeyCache(room)
    servers = [bgv.Server(keys, device="cpu", key_cache=cache) for _, keys in pairs]
    assert [server.key_bytes for server in servers] == [0, 0]
    for _ in range(2):
        for here, away in ((0, 1), (1, 0)):
            client, server = pairs[here][0], servers[here]
            x = server.upload(client.encrypt(values))
            turned = (x * x).rotate(1).rotate(2)
            expected = np.roll(np.pad(values**2, (0, toy_bgv.N // 2 - 3)), -3)
            assert np.array_equal(client.decrypt(turned)[: toy_bgv.N // 2], expected)
            assert server.key_bytes == room
            assert servers[away].key_bytes == 0


def test_servers_of_gates_take_turns() -> None:
    kits = [make_kit(transform="fft"), make_kit()]
    keys = [kit.server.key_bytes for kit in kits]
    # More than the larger: room is made for keys about as large as they are.
    cache = KeyCache(max(keys) * 8 // 5)
    assert sum(keys) > cache.bytes_a_device
    servers = [binfhe.Server(kit.keys, device="cpu", key_cache=cache) for kit in kits]
    assert servers[1].key_bytes == keys[1] and servers[0].key_bytes < keys[0]
    for _ in range(2):
        for here, away in ((0, 1), (1, 0)):
            a, b = (kits[here].client.encrypt(bits) for bits in ([0, 0, 1, 1], [0, 1, 0, 1]))
            assert kits[here].client.decrypt(servers[here].nand(a, b)).tolist() == [1, 1, 1, 0]
            assert servers[here].key_bytes == keys[here]
            assert servers[away].key_bytes < keys[away]
            assert sum(server.key_bytes for server in servers) <= cache.bytes_a_device


def test_both_schemes_take_turns(kit: Kit, toy_bgv: BgvKit, tmp_path: Path) -> None:
    """From files, and the cache held by the servers alone."""
    toy_bgv.keys.save(tmp_path / "vectors")
    gate_bytes, vector_bytes = kit.server.key_bytes, toy_bgv.server.key_bytes
    room = max(gate_bytes, vector_bytes)
    cache = KeyCache(room)
    vectors = bgv.Server(tmp_path / "vectors", "cpu", allow_insecure=True, key_cache=cache)
    gates = binfhe.Server(kit.keys, "cpu", key_cache=cache)
    del cache
    for _ in range(2):
        bits = gates.nand(kit.client.encrypt([0, 1]), kit.client.encrypt([1, 1]))
        assert kit.client.decrypt(bits).tolist() == [1, 0]
        assert gates.key_bytes == gate_bytes
        x = vectors.upload(toy_bgv.client.encrypt([3, 4]))
        for columns in (1, 2, 3, -1, 4):
            vectors.rotate(x, columns)
        square = vectors.relinearise(vectors.multiply(x, x, relinearise=False))
        assert toy_bgv.client.decrypt(square)[:2].tolist() == [9, 16]
        assert gates.key_bytes + vectors.key_bytes <= room


def test_refusals(kit: Kit, toy_bgv: BgvKit) -> None:
    cache: Any
    for keys, server in ((kit.keys, binfhe.Server), (toy_bgv.keys, bgv.Server)):
        make: Any = server
        with pytest.raises(ParameterError, match="key_budget = 1000 beside a key_cache"):
            make(keys, device="cpu", key_budget=1000, key_cache=KeyCache(2**30))
        for cache in (2**30, KeyCache(2**30)._core):
            with pytest.raises(TypeError, match="key_cache"):
                make(keys, device="cpu", key_cache=cache)
    with pytest.raises(OutOfMemoryError, match="1 bytes"):
        binfhe.Server(kit.keys, device="cpu", key_cache=KeyCache(1))
    small = bgv.Server(toy_bgv.keys, device="cpu", key_cache=KeyCache(1))
    with pytest.raises(OutOfMemoryError, match="1 bytes"):
        small.rotate(toy_bgv.client.encrypt([1]), 1)
