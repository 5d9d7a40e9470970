"""Messages in coefficients: public keys, compressed results, and results with new randomness."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import whorl
from support import TOY, Kit, pickled
from whorl import binfhe
from whorl.binfhe import (
    Client,
    CompressionKeys,
    Compressor,
    Lut,
    PackedCiphertexts,
    PublicKey,
    Server,
)

LITERAL = binfhe.parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
WIDE = binfhe.parameters(LITERAL, allow_insecure=True)
FULL = binfhe.parameters("W128_P128")


class Owner:
    """A client of W128_P128 with a short LWE key, and what it gives away."""

    def __init__(self) -> None:
        self.client = Client(WIDE)
        self.key = self.client.public_key()
        self.server = Server(self.client.evaluation_keys(), device="cpu")
        self.keys = self.client.compression_keys()
        self.compressor = Compressor(self.server, self.keys)


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner()


def public_variance(p: binfhe.Parameters) -> float:
    """σ²·(1 + N·(E[u²] + E[s²])), of ternary u and s."""
    sigma: float = p.literal()["sigma_ring"]
    return sigma**2 * (1 + p.N * 4 / 3)


# ---- public keys


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (2, 300), (5, 1000)])
def test_encryptions(owner: Owner, generator: np.random.Generator, shape: tuple[int, ...]) -> None:
    messages = generator.integers(0, 16, size=shape)
    x = owner.key.encrypt(messages, p=16)
    assert (x.shape, x.ndim, x.p, x.padding, x.range) == (shape, len(shape), 16, False, None)
    assert np.array_equal(owner.client.decrypt(x), messages)
    on = owner.server.upload(x)
    assert on.under == "ring" and on.shape == shape
    assert np.array_equal(owner.client.decrypt(on), messages)
    # The least that can be sent: N words for each ring ciphertext, and one for each message.
    count = messages.size
    assert x.nbytes == math.ceil((math.ceil(count / WIDE.N) * WIDE.N + count) * 48 / 8)


def test_words_of_32_bits(kit: Kit, generator: np.random.Generator) -> None:
    key = kit.client.public_key()
    messages = generator.integers(0, 8, size=(kit.parameters.N + 3,))
    for padding in (False, True):
        x = key.encrypt(messages, p=8, padding=padding, allow_failure=1)
        assert x.padding == padding
        assert np.array_equal(kit.client.decrypt(x), messages)
        host = kit.server.upload(x).to_host()
        assert host.data.dtype == np.uint32
        assert np.array_equal(kit.client.decrypt(host), messages)


def test_noise_is_that_of_the_formula(owner: Owner, generator: np.random.Generator) -> None:
    """Over encryptions under several keys: the mean square of all coefficients."""
    squares = []
    for _ in range(6):
        client = Client(WIDE)
        messages = generator.integers(0, 32, size=4 * WIDE.N)
        x = client.public_key().encrypt(messages, p=32)
        squares.append(float(np.mean(client.noise(x, messages).astype(float) ** 2)))
    # 49,152 errors, of which those of one key have its secrets in common: some 2 % of deviation.
    assert abs(np.mean(squares) / public_variance(WIDE) - 1) < 0.1
    # The account has it: in units of a rotation's.
    unit = max(WIDE.noise(t).blind_rotation for t in ("ntt", "fft"))
    assert owner.key.noise == pytest.approx(public_variance(WIDE) / unit)
    on = owner.server.upload(owner.key.encrypt(messages, p=32))
    assert on.noise == pytest.approx(owner.key.noise)
    fresh = owner.server.upload(owner.client.encrypt(messages[:4], p=32, under="ring"))
    assert on.noise > 1000 * fresh.noise
    # Sums count it too.
    assert (on + on).noise >= 2 * on.noise


def test_encryptions_differ(owner: Owner) -> None:
    x, y = (owner.key.encrypt(np.zeros(16, np.uint8), p=16) for _ in range(2))
    a, b = (owner.server.upload(each).to_host().data for each in (x, y))
    assert np.mean(a == b) < 1e-4
    # Coefficients of one encryption are independent ciphertexts, of two masks with signs turned.
    assert len({row.tobytes() for row in a}) == 16


def test_tables_of_public_encryptions(owner: Owner) -> None:
    square = Lut(WIDE, [m * m % 16 for m in range(16)], p=16, padding=True)
    x = owner.server.upload(owner.key.encrypt(range(16), p=16, padding=True))
    assert np.array_equal(
        owner.client.decrypt(owner.server.apply(square, x)), np.arange(16) ** 2 % 16
    )


def test_files_of_keys(owner: Owner, tmp_path: Path) -> None:
    owner.key.save(tmp_path / "key")
    for key in (
        PublicKey.load(tmp_path / "key", allow_insecure=True, expect_key=owner.client.key_id),
        pickled(owner.key),
    ):
        assert key.key_id == owner.client.key_id and key.parameters == WIDE
        assert np.array_equal(owner.client.decrypt(key.encrypt([1, 2], p=4)), [1, 2])
    # One word a coefficient: the other half is a seed.
    assert owner.key.nbytes == 8 * WIDE.N + 32
    with pytest.raises(whorl.KeyMismatchError):
        PublicKey.load(tmp_path / "key", allow_insecure=True, expect_key="0" * 32)
    with pytest.raises(whorl.TypeMismatchError, match="public key"):
        CompressionKeys.load(tmp_path / "key", allow_insecure=True)
    with pytest.raises(whorl.ParameterError):
        PublicKey.load(tmp_path / "key")


def test_files_of_messages(owner: Owner, tmp_path: Path) -> None:
    sent = owner.key.encrypt([[3, 1], [2, 0]], p=4)
    small = owner.compressor.compress(owner.server.upload(sent))
    for x in (sent, small):
        x.save(tmp_path / "x")
        for back in (PackedCiphertexts.load(tmp_path / "x", allow_insecure=True), pickled(x)):
            assert back.shape == (2, 2) and back.log2_modulus == x.log2_modulus
            assert np.array_equal(owner.client.decrypt(back), [[3, 1], [2, 0]])
        # Nothing but the words, and a literal and a header.
        assert (tmp_path / "x").stat().st_size < x.nbytes + 600
    frame = bytearray(small.to_bytes())
    frame[-40] ^= 1
    with pytest.raises(whorl.CorruptionError):
        PackedCiphertexts.from_bytes(bytes(frame), allow_insecure=True)
    with pytest.raises(whorl.TruncatedError):
        PackedCiphertexts.from_bytes(bytes(frame[:-50]), allow_insecure=True)
    with pytest.raises(whorl.OversizedError):
        PackedCiphertexts.from_bytes(small.to_bytes(), allow_insecure=True, max_count=3)


def test_what_is_refused(owner: Owner, kit: Kit) -> None:
    with pytest.raises(whorl.EncodingError, match="not below p"):
        owner.key.encrypt([4], p=4)
    with pytest.raises(TypeError):
        owner.key.encrypt([0.5], p=4)
    with pytest.raises(whorl.EncodingError):
        owner.key.encrypt([0], p=1 << 20)
    noisy = binfhe.parameters({**TOY, "sigma_ring": 2.0**20}, allow_insecure=True)
    with pytest.raises(whorl.NoiseError, match="a public key encrypts"):
        Client(noisy).public_key().encrypt([0], p=4)
    with pytest.raises(whorl.ParameterMismatchError):
        kit.server.upload(owner.key.encrypt([0], p=4))
    with pytest.raises(whorl.KeyMismatchError):
        Client(WIDE).decrypt(owner.key.encrypt([0], p=4))
    with pytest.raises(TypeError, match=r"made by Client.public_key"):
        PublicKey(owner.keys)


# ---- compressed results


@pytest.mark.parametrize("count", [1, 31, 2048, 2049, 5000])
def test_compression(owner: Owner, generator: np.random.Generator, count: int) -> None:
    messages = generator.integers(0, 32, size=count)
    x = owner.server.upload(owner.client.encrypt(messages, p=32, under="ring"))
    for given in (x, x.to_lwe_key()):
        small = owner.compressor.compress(given)
        assert small.shape == (count,) and small.p == 32
        assert np.array_equal(owner.client.decrypt(small), messages)
        bits = small.log2_modulus
        assert small.nbytes == math.ceil((math.ceil(count / WIDE.N) * WIDE.N + count) * bits / 8)


def test_ranges_are_kept(owner: Owner) -> None:
    x = owner.server.upload(owner.client.encrypt([3, 1], p=16, under="ring")).with_range(0, 3)
    small = owner.compressor.compress(x - 4)
    assert small.range == (-4, -1)
    assert owner.client.decrypt(small).tolist() == [-1, -3]
    assert np.abs(owner.client.noise(small, [-1, -3])).max() < 2**small.log2_modulus / 32
    padded = owner.server.upload(owner.client.encrypt([3, 1], p=8, padding=True, under="ring"))
    assert owner.client.decrypt(
        owner.compressor.compress(padded.with_range(0, 3) * 2)
    ).tolist() == [6, 2]


def test_errors_of_compression_are_those_of_the_formula(
    owner: Owner, generator: np.random.Generator
) -> None:
    messages = generator.integers(0, 32, size=8 * WIDE.N)
    x = owner.server.upload(owner.client.encrypt(messages, p=32, under="ring")).to_lwe_key()
    small = owner.compressor.compress(x)
    last = 2.0**small.log2_modulus
    # Under one key a part of the key switch is the same in all, of any size: it is left out.
    found = float(np.var(owner.client.noise(small, messages) / last))
    # The array's own; its rounding to 2^k; the keys' are some 2^-16 of both.
    noise = max((WIDE.noise(t) for t in ("ntt", "fft")), key=lambda each: each.refreshed)
    unit = noise.refreshed
    down = (1 + WIDE.N * 2 / 3) / 12 / last**2
    stated = x.noise * unit / WIDE.q**2 + down
    assert 0.87 < found / (stated - noise.constant / WIDE.q**2) < 1.13
    # k is the least: the failure is below 2^-128, and above with one bit less.
    assert math.log2(math.erfc(1 / 64 / math.sqrt(2 * stated))) < -128
    less = x.noise * unit / WIDE.q**2 + 4 * down
    assert math.log2(math.erfc(1 / 64 / math.sqrt(2 * less))) > -128


def test_modulus_follows_the_failure_that_is_allowed(owner: Owner) -> None:
    x = owner.server.upload(owner.client.encrypt([7], p=32, under="ring"))
    moduli = [owner.compressor.compress(x, failure_log2=f).log2_modulus for f in (-10, -128, -600)]
    assert moduli[0] < moduli[1] < moduli[2]
    with pytest.raises(whorl.NoiseError, match="after compression"):
        owner.compressor.compress(x, failure_log2=-1e9)
    with pytest.raises(whorl.ParameterError, match="failure_log2"):
        owner.compressor.compress(x, failure_log2="low")  # type: ignore[arg-type]


def test_what_compression_refuses(owner: Owner, kit: Kit, tmp_path: Path) -> None:
    x = owner.server.upload(owner.client.encrypt([7], p=32, under="ring"))
    small = owner.compressor.compress(x)
    with pytest.raises(whorl.EncodingError, match="are for clients"):
        owner.server.upload(small)
    with pytest.raises(whorl.KeyMismatchError):
        Compressor(owner.server, Client(WIDE).compression_keys())
    with pytest.raises(whorl.ParameterMismatchError):
        Compressor(owner.server, kit.client.compression_keys())
    with pytest.raises(TypeError, match="CompressionKeys are needed"):
        Compressor(owner.server, owner.key)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Server is needed"):
        Compressor(owner.client, owner.keys)  # type: ignore[arg-type]
    other = Server(owner.client.evaluation_keys(), device="cpu")
    with pytest.raises(whorl.DeviceError):
        owner.compressor.compress(other.upload(small_input(owner)))
    owner.keys.save(tmp_path / "keys")
    keys = CompressionKeys.load(tmp_path / "keys", allow_insecure=True)
    assert keys.nbytes == owner.keys.nbytes == 16 * WIDE.N * 8 + 32
    assert owner.client.decrypt(Compressor(owner.server, keys).compress(x)).tolist() == [7]
    stopped: list[int] = []

    def stop(done: int, total: int) -> None:
        stopped.append(done)
        if done > 3:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        Compressor(owner.server, owner.keys, progress=stop)
    assert stopped


def small_input(owner: Owner) -> binfhe.Ciphertexts:
    return owner.client.encrypt([1], p=4, under="ring")


# ---- new randomness


def test_rerandomised(owner: Owner, generator: np.random.Generator) -> None:
    messages = generator.integers(0, 16, size=(3, 5))
    x = owner.server.upload(owner.client.encrypt(messages, p=16, under="ring"))
    y = owner.server.rerandomise(x, owner.key)
    assert np.array_equal(owner.client.decrypt(y), messages)
    assert y.noise == pytest.approx(x.noise + owner.key.noise, rel=1e-2)
    assert y.largest == x.largest
    # No word is the same, nor that of another call.
    words = [each.to_host().data for each in (x, y, owner.server.rerandomise(x, owner.key))]
    for i in range(3):
        assert np.mean(words[i] == words[i - 1]) < 1e-4
    ranged = owner.server.rerandomise(x.with_range(0, 15) - 3, owner.key)
    assert ranged.range == (-3, 12)
    assert np.array_equal(owner.client.decrypt(ranged), messages - 3)
    with pytest.raises(whorl.KeyMismatchError, match="under the LWE key"):
        owner.server.rerandomise(x.to_lwe_key(), owner.key)
    with pytest.raises(whorl.KeyMismatchError):
        owner.server.rerandomise(x, Client(WIDE).public_key())
    with pytest.raises(TypeError, match="a PublicKey is needed"):
        owner.server.rerandomise(x, owner.keys)  # type: ignore[arg-type]


def test_a_secure_set() -> None:
    """The same with W128_P128 as it is: no result is wrong, and the set is not said insecure."""
    client = Client(FULL)
    x = client.public_key().encrypt(range(32), p=32)
    assert client.decrypt(x).tolist() == list(range(32))
    assert PackedCiphertexts.from_bytes(x.to_bytes()).shape == (32,)
