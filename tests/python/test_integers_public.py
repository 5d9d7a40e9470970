"""Encrypted integers of clients with a public key, and results that are sent in few bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import whorl
from whorl import binfhe, integers, lanes
from whorl.integers import Ciphertexts, PublicClient

LITERAL = binfhe.parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
SMALL = binfhe.parameters(LITERAL, allow_insecure=True)


class Bank:
    """An owner of keys, one who has the public key only, and a server."""

    def __init__(self) -> None:
        self.lwe = binfhe.Client(SMALL)
        self.owner = integers.Client(self.lwe)
        self.key = self.lwe.public_key()
        self.client = PublicClient(self.key)
        self.binfhe = binfhe.Server(self.lwe.evaluation_keys(), device="cpu")
        self.keys = self.lwe.compression_keys()
        self.server = integers.Server(self.binfhe, compression=self.keys)


@pytest.fixture(scope="module")
def bank() -> Bank:
    return Bank()


def transfer(
    source: integers.UintArray, target: integers.UintArray, amount: integers.UintArray
) -> tuple[integers.UintArray, integers.UintArray]:
    moved = integers.where(source >= amount, amount, 0)
    return source - moved, target + moved


@pytest.mark.parametrize("bits,signed", [(1, False), (7, False), (8, True), (64, False)])
def test_public_clients(
    bank: Bank, generator: np.random.Generator, bits: int, signed: bool
) -> None:
    low = -(1 << bits - 1) if signed else 0
    values = [low + int(v) % (1 << bits) for v in generator.integers(0, 2**62, size=6)]
    sent = bank.client.encrypt(values, bits, signed)
    assert (sent.bits, sent.signed, sent.shape) == (bits, signed, (6,))
    assert isinstance(sent.data, binfhe.PackedCiphertexts)
    assert [int(v) for v in bank.owner.decrypt(sent)] == values
    x = bank.server.upload(sent)
    y = bank.server.upload(bank.owner.encrypt(values[::-1], bits, signed))
    wrapped = [low + (a + b - low) % (1 << bits) for a, b in zip(values, values[::-1], strict=True)]
    assert [int(v) for v in bank.owner.decrypt(x + y)] == wrapped
    pairs = zip(values, values[::-1], strict=True)
    assert bank.owner.decrypt(x < y).tolist() == [a < b for a, b in pairs]


def test_noise_of_public_encryptions_is_counted(bank: Bank) -> None:
    sent = bank.client.encrypt([3, 200], 8)
    wires = bank.server.upload(sent)._core.wires
    fresh = bank.server.upload(bank.owner.encrypt([3, 200], 8))._core.wires
    # Both are far below what tables see of a rotation: a millionth, which the account states.
    assert bank.key.noise < 1e-6
    assert np.array_equal(wires.square, fresh.square)
    assert bank.binfhe.upload(sent.data).noise == pytest.approx(bank.key.noise)


@pytest.mark.parametrize("count", [5, 64, 65])
def test_a_compressed_integer_takes_less_than_1_KB(bank: Bank, count: int) -> None:
    values = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = bank.server.upload(bank.client.encrypt(values))
    small = bank.server.compress(x)
    assert np.array_equal(bank.owner.decrypt(small), values)
    assert small.nbytes <= 1024 * count
    assert len(small.data.to_bytes()) <= 1024 * count
    if count == 64:
        assert len(small.data.to_bytes()) <= 128 * count


def test_compressed_results(bank: Bank, tmp_path: Path) -> None:
    a, b = np.array([[3, 250], [9, 77]], np.uint8), np.array([[4, 7], [200, 77]], np.uint8)
    x, y = (bank.server.upload(bank.client.encrypt(each)) for each in (a, b))
    for result, wanted in (
        (x + y, a + b),
        (x.astype(8, signed=True) - 5, (a - np.uint8(5)).astype(np.int8)),
        (x < y, a < b),
        (bank.server.known([7, 9], 8), np.array([7, 9])),
    ):
        small = bank.server.compress(result)
        assert np.array_equal(bank.owner.decrypt(small), wanted)
        small.data.save(tmp_path / "small")
        data = binfhe.PackedCiphertexts.load(tmp_path / "small", allow_insecure=True)
        again = Ciphertexts(data, small.bits, small.signed)
        assert np.array_equal(bank.owner.decrypt(again), wanted)
    with pytest.raises(whorl.EncodingError, match="are for clients"):
        bank.server.upload(small)


def test_transfers(bank: Bank) -> None:
    source = np.array([100, 5, 2**64 - 1, 0], np.uint64)
    target = np.array([1, 7, 0, 2**64 - 1], np.uint64)
    amount = np.array([100, 6, 2**63, 0], np.uint64)
    given = [bank.server.upload(bank.client.encrypt(v)) for v in (source, target, amount)]
    moved = np.where(source >= amount, amount, 0).astype(np.uint64)
    made = transfer(*given)
    for result, wanted in zip(made, (source - moved, target + moved), strict=True):
        hidden = bank.server.rerandomise(result, bank.key)
        assert np.array_equal(bank.owner.decrypt(bank.server.compress(hidden)), wanted)
    # Both lists in one.
    both = bank.server.compress(bank.server.rerandomise(integers.stack(made), bank.key))
    assert np.array_equal(bank.owner.decrypt(both), [source - moved, target + moved])


def test_rerandomised(bank: Bank) -> None:
    a = np.array([3, 250, 77], np.uint8)
    x = bank.server.upload(bank.owner.encrypt(a))
    hidden = bank.server.rerandomise(x, bank.key)
    first, second = (bank.server.download(each).data.data for each in (x, hidden))
    assert np.mean(first == second) < 0.01
    assert np.array_equal(bank.owner.decrypt(hidden), a)
    # It goes on, and is known to have the errors of x: their sum counts as twice x.
    assert np.array_equal(bank.owner.decrypt(hidden + x), a + a)
    assert np.array_equal(bank.owner.decrypt(bank.server.rerandomise(x > 70, bank.key)), a > 70)
    sums = bank.server.rerandomise(bank.server.redundant(x + x) + x, bank.key)
    assert np.array_equal(bank.owner.decrypt(sums), a + a + a)
    assert np.array_equal(bank.owner.decrypt(sums * 3), (a + a + a) * np.uint8(3))
    before, after = (each._core.wires for each in (x * x, bank.server.rerandomise(x * x, bank.key)))
    assert np.all(after.square >= before.square)
    assert np.allclose(after.total, before.total + np.sqrt(bank.key.noise), rtol=1e-12)
    known = bank.server.known([1, 2], 8)
    assert np.array_equal(bank.owner.decrypt(bank.server.rerandomise(known, bank.key)), [1, 2])
    mixed = x.astype(16)
    assert np.array_equal(bank.owner.decrypt(bank.server.rerandomise(mixed, bank.key)), a)


def test_what_is_refused(bank: Bank) -> None:
    x = bank.server.upload(bank.client.encrypt([1], 8))
    without = integers.Server(bank.binfhe)
    with pytest.raises(whorl.MissingKeyError, match="compression"):
        without.compress(without.upload(bank.client.encrypt([1], 8)))
    with pytest.raises(TypeError, match="an array of integers is needed"):
        bank.server.compress(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="PublicKey is needed"):
        bank.server.rerandomise(x, bank.keys)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="PublicKey is needed"):
        PublicClient(bank.lwe)  # type: ignore[arg-type]
    with pytest.raises(whorl.KeyMismatchError):
        bank.server.rerandomise(x, binfhe.Client(SMALL).public_key())
    with pytest.raises(whorl.KeyMismatchError):
        integers.Server(bank.binfhe, compression=binfhe.Client(SMALL).compression_keys())
    with pytest.raises(whorl.EncodingError):
        bank.client.encrypt([256], 8)
    with pytest.raises(TypeError, match="bits"):
        bank.client.encrypt([256])
    with pytest.raises(whorl.EncodingError, match="4 digits"):
        Ciphertexts(bank.key.encrypt(np.zeros(4, np.uint8), p=16), 8)
    with pytest.raises(whorl.NoiseError):
        bank.server.compress(x, failure_log2=-1e9)


def test_lanes_have_neither() -> None:
    from whorl import ckks

    ring = {**ckks.parameters("W128_BITS5_L10").literal(), "N": 1024, "name": "small"}
    owner = lanes.Client(ckks.parameters(literal=ring, allow_insecure=True))
    server = integers.Server(lanes.Server(owner.evaluation_keys(lanes=512)))
    x = server.upload(integers.Client(owner).encrypt(np.zeros(512, np.uint8)))
    lwe = binfhe.Client(SMALL)
    key = lwe.public_key()
    with pytest.raises(TypeError, match="in lanes are not compressed"):
        integers.Server(server._server, compression=lwe.compression_keys())
    with pytest.raises(TypeError, match="in lanes"):
        server.compress(x)
    with pytest.raises(TypeError, match="in lanes"):
        server.rerandomise(x, key)
    with pytest.raises(TypeError, match="in lanes"):
        server.upload(PublicClient(key).encrypt([1], 8))
