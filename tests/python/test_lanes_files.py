"""Lanes that travel: bits that clients send compactly, and results that servers store."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path

import numpy as np
import pytest
import whorl
from whorl import ckks, lanes

LANES = 64


@functools.cache
def parameters() -> ckks.Parameters:
    """A set for bits in a smaller ring, which is not secure."""
    literal = {**ckks.parameters("W128_BITS5_L10").literal(), "N": 1024, "name": "toy"}
    return ckks.parameters(literal=literal, allow_insecure=True)


@functools.cache
def party() -> tuple[lanes.Client, lanes.Server]:
    client = lanes.Client(parameters())
    return client, lanes.Server(client.evaluation_keys(LANES), device="cpu")


@pytest.mark.parametrize("shape", [(), (1,), (3,), (10,), (2, 3), (11, 1)])
@pytest.mark.parametrize("length", [LANES, 40])
def test_bits_are_sent_compactly(shape: tuple[int, ...], length: int) -> None:
    client, server = party()
    a, b = np.random.default_rng(1).integers(0, 2, (2, *shape, length))
    sent = client.encrypt(a, compact=True)
    assert (sent.shape, sent.lanes, sent.key_id) == (shape, length, client.key_id)
    numbers = -(-int(np.prod(shape)) // 5)
    assert sent.nbytes == numbers * LANES * 2 + 32
    before = server.bootstraps
    x = server.upload(sent)
    assert server.bootstraps - before == np.prod(shape)
    assert (x.shape, x.lanes, x.level) == (shape, length, parameters().depth)
    assert np.array_equal(client.decrypt(x), a)
    assert np.array_equal(client.decrypt(x & client.encrypt(b)), a & b)
    raw = ckks.Client.decrypt(client, x.to_host(), raw=True)
    assert np.abs(raw - a).max() <= x.error + 2**-12  # what a product leaves at level 0


def test_compact_bits_take_few_bytes() -> None:
    client, _ = party()
    literal = {**ckks.parameters("W128_BITS5_L10").literal(), "N": 2**14, "name": "larger"}
    large = lanes.Client(ckks.parameters(literal=literal, allow_insecure=True))
    bits = np.random.default_rng(2).integers(0, 2, (10, 2**13))
    assert len(large.encrypt(bits, compact=True).to_bytes()) < 0.41 * bits.size + 1000
    assert "toy" in repr(client.encrypt(bits[:, :LANES], compact=True))


def test_compact_bits_travel(tmp_path: Path) -> None:
    client, server = party()
    bits = np.random.default_rng(3).integers(0, 2, (2, 3, LANES))
    sent = client.encrypt(bits, compact=True)
    sent.save(tmp_path / "bits.whorl")
    back = lanes.CompactBits.load(tmp_path / "bits.whorl", allow_insecure=True)
    with whorl.allow_insecure_pickles():
        again = pickle.loads(pickle.dumps(back))
    assert again.to_bytes() == sent.to_bytes()
    assert np.array_equal(client.decrypt(server.upload(again)), bits)
    with pytest.raises(whorl.ParameterError):
        lanes.CompactBits.load(tmp_path / "bits.whorl")
    with pytest.raises(whorl.TypeMismatchError, match="compact bits"):
        ckks.Ciphertexts.load(tmp_path / "bits.whorl", allow_insecure=True)
    with pytest.raises(whorl.KeyMismatchError):
        lanes.CompactBits.load(tmp_path / "bits.whorl", allow_insecure=True, expect_key="0" * 32)
    frame = bytearray(sent.to_bytes())
    frame[-40] ^= 1
    with pytest.raises(whorl.CorruptionError):
        lanes.CompactBits.from_bytes(bytes(frame), allow_insecure=True)


def test_wrong_compact_bits_are_refused() -> None:
    client, server = party()
    bits = np.ones((2, LANES), np.int64)
    for shape in ((), (0,), (2, 0), (513,)):
        with pytest.raises(whorl.ShapeError, match="lanes"):
            client.encrypt(np.ones(shape, np.int64), compact=True)
    with pytest.raises(whorl.EncodingError, match="neither 0 nor 1"):
        client.encrypt([0, 2], compact=True)
    with pytest.raises(whorl.KeyMismatchError):
        server.upload(lanes.Client(parameters()).encrypt(bits, compact=True))
    other = {**parameters().literal(), "sigma": 3.5}
    of_others = lanes.Client(ckks.parameters(literal=other, allow_insecure=True))
    with pytest.raises(whorl.ParameterMismatchError):
        server.upload(of_others.encrypt(bits, compact=True))
    with pytest.raises(whorl.ShapeError, match=r"more than 32 and at most 64 bits"):
        server.upload(client.encrypt(bits[:, :32], compact=True))
    real = {**ckks.parameters(5, bootstrap=True).literal(), "N": 1024, "name": "real"}
    of_numbers = lanes.Client(ckks.parameters(literal=real, allow_insecure=True))
    with pytest.raises(whorl.ParameterError, match=r"bootstrap\.bits"):
        of_numbers.encrypt(bits, compact=True)
    with pytest.raises(TypeError, match="shapes"):
        lanes.plan(lambda x: x & client.encrypt(bits, compact=True), [()], parameters(), LANES)
    with pytest.raises(TypeError, match="CompactBits"):
        client.decrypt(client.encrypt(bits, compact=True))  # type: ignore[arg-type]


def test_results_are_stored(tmp_path: Path) -> None:
    client, server = party()
    a, b = np.random.default_rng(4).integers(0, 2, (2, 2, 3, LANES))
    x, y = (server.upload(client.encrypt(bits)) for bits in (a, b))
    z = ~(x ^ y)
    z.stored().save(tmp_path / "z.whorl")
    keys = client.evaluation_keys(LANES)
    later = lanes.Server(keys, device="cpu")
    back = later.upload(ckks.Ciphertexts.load(tmp_path / "z.whorl", allow_insecure=True))
    assert (back.shape, back.lanes, back.level) == ((2, 3), LANES, z.level)
    assert z.error <= back.error < 1.05 * z.error  # that of NOT's constant besides
    assert np.array_equal(client.decrypt(back & back[0]), (1 - a ^ b) & (1 - a ^ b)[0])
    least = parameters().least_bootstrap_level
    small = z.stored(level=least)
    assert len(small.to_bytes()) < len(z.stored().to_bytes()) / 3
    with whorl.allow_insecure_pickles():
        again = later.upload(pickle.loads(pickle.dumps(small)))
    assert again.level == least
    assert np.array_equal(client.decrypt(again ^ back), np.zeros_like(a))
    assert later.bootstraps > 0


def test_what_is_not_stored_is_refused() -> None:
    client, server = party()
    x = server.upload(client.encrypt(np.ones(LANES, np.int64)))
    for level in (parameters().least_bootstrap_level - 1, x.level + 1):
        with pytest.raises(whorl.ParameterError, match="level"):
            x.stored(level)
    with pytest.raises(whorl.EncodingError, match="level 0"):
        client.decrypt(x.stored())
    with pytest.raises(whorl.EncodingError, match=r"store"):
        server.upload(x.to_host())
    with pytest.raises(TypeError, match="a plan"):
        lanes.plan(lambda y: y.stored(), [()], parameters(), LANES)
