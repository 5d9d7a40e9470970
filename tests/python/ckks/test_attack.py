"""The attack of Li and Micciancio (EUROCRYPT 2021, ia.cr/2020/1533) on numbers that others see.

A ciphertext (c_0, c_1) carries v = c_0 + c_1·s modulo q, with the secret s. Decrypted numbers are v
divided by the scale, as complex numbers. So whoever sees them encodes them again, rounds to
integers, and has v itself; then s = (v - c_0)/c_1. Nothing of the library is used for this but the
numbers and the ciphertexts.
"""

import ctypes
import hashlib
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import random_complex
from whorl.ckks import Ciphertexts, Client, Plan, Server, Values, parameters, plan

Integers = np.ndarray[Any, np.dtype[np.int64]]
Residues = np.ndarray[Any, np.dtype[np.uint64]]


def encoded(values: Any, scale: float, N: int) -> Any:
    """The real polynomial with these N/2 values at ζ^(5^j), ζ = exp(iπ/N), times the scale."""
    at_odd_powers = np.empty(N, dtype=np.complex128)  # entry t is the value at ζ^(2t + 1)
    power = 1
    for value in values:
        at_odd_powers[(power - 1) // 2] = value
        at_odd_powers[(2 * N - power - 1) // 2] = value.conjugate()
        power = 5 * power % (2 * N)
    twist = np.exp(-1j * np.pi * np.arange(N) / N)
    return (np.fft.fft(at_odd_powers) * twist).real / N * scale


@dataclass
class Field:
    """Polynomials modulo X^N + 1 and a prime, by their values at odd powers of psi."""

    N: int
    q: int

    def __post_init__(self) -> None:
        self.psi = next(
            root
            for g in range(2, 100)
            if pow(root := pow(g, (self.q - 1) // (2 * self.N), self.q), self.N, self.q)
            == self.q - 1
        )
        bits = self.N.bit_length() - 1
        reversed_bits = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(self.N)]
        self.place = np.array(reversed_bits)  # result i is at psi^(2·place[i] + 1)

    def powers(self, root: int, count: int) -> Residues:
        found = np.ones(1, dtype=np.uint64)
        while found.size < count:
            step = pow(root, found.size, self.q)
            found = np.concatenate([found, found * np.uint64(step) % np.uint64(self.q)])
        return found[:count]

    def cyclic(self, rows: Residues, root: int) -> Residues:
        """The sums of a_k·root^(t·k) over k, for each t and each row a."""
        n, q = rows.shape[-1], np.uint64(self.q)
        if n == 1:
            return rows
        halves = self.cyclic(np.concatenate([rows[:, ::2], rows[:, 1::2]]), root * root % self.q)
        even, odd = np.split(halves, 2)
        odd = odd * self.powers(root, n // 2) % q
        return np.concatenate([(even + odd) % q, (even + q - odd) % q], axis=-1)

    def values(self, coefficients: Integers) -> Residues:
        twisted = (coefficients % self.q).astype(np.uint64) * self.powers(self.psi, self.N)
        rows = twisted[None, :] % np.uint64(self.q)
        return self.cyclic(rows, self.psi**2 % self.q)[0][self.place]

    def coefficients(self, values: Residues) -> Integers:
        """Between -q/2 and q/2."""
        natural = np.empty_like(values)
        natural[self.place] = values
        back, q = pow(self.psi, -1, self.q), np.uint64(self.q)
        sums = self.cyclic(natural[None, :], back * back % self.q)[0]
        sums = sums * self.powers(back, self.N) % q * np.uint64(pow(self.N, -1, self.q)) % q
        found = sums.astype(np.int64)
        return np.where(found > self.q // 2, found - self.q, found)

    def inverse(self, values: Residues) -> Residues:
        result, square, q = np.ones_like(values), values, np.uint64(self.q)
        exponent = self.q - 2
        while exponent:
            if exponent & 1:
                result = result * square % q
            square, exponent = square * square % q, exponent >> 1
        return result


def attacked(host: Ciphertexts, values: Any) -> Integers:
    """What the attack takes for the secret, from a ciphertext and its numbers."""
    chosen = host.parameters
    v = np.rint(encoded(values, host.scale, chosen.N)).astype(np.int64)
    primes = [chosen.literal()["chain"][i] for i in chosen._core.primes(host.level)]
    for q, c_0, c_1 in zip(primes, host.data[0, :, 0], host.data[1, :, 0], strict=True):
        if c_1.all():  # invertible modulo this prime
            field = Field(chosen.N, q)
            difference = (field.values(v) + np.uint64(q) - c_0) % np.uint64(q)
            quotient = difference * field.inverse(c_1.astype(np.uint64)) % np.uint64(q)
            return field.coefficients(quotient)
    raise AssertionError("c_1 has a zero modulo each prime, of a chance below 2^-11 each")


def saved_secret(client: Client, path: Path) -> Integers:
    """The coefficients in the file that `save` writes, as docs/file-format.md describes it."""
    try:
        sodium = ctypes.CDLL("libsodium.so.23")
    except OSError:
        pytest.skip("libsodium.so.23 is absent, which opens the file of the secret key")
    client.save(path, "correct horse")
    frame = path.read_bytes()
    at = 64 + 4 + int.from_bytes(frame[64:68], "little")
    kind, _, passes, memory = struct.unpack_from("<IIQQ", frame, at)
    salt, nonce = frame[at + 24 : at + 40], frame[at + 40 : at + 64]
    assert kind == 2
    key = ctypes.create_string_buffer(32)
    phrase = b"correct horse"
    assert not sodium.crypto_pwhash(
        *(key, ctypes.c_ulonglong(32), phrase, ctypes.c_ulonglong(len(phrase)), salt),
        *(ctypes.c_ulonglong(passes), ctypes.c_size_t(memory), kind),
    )
    wrapped, before = frame[at + 64 : -32], frame[: at + 64]
    plain = ctypes.create_string_buffer(len(wrapped))
    assert not sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        *(plain, None, None, wrapped, ctypes.c_ulonglong(len(wrapped))),
        *(before, ctypes.c_ulonglong(len(before)), nonce, key),
    )
    return np.frombuffer(plain.raw[: 4 * client.parameters.N], dtype="<i4").astype(np.int64)


@dataclass
class Case:
    plan: Plan
    client: Client
    server: Server
    fresh: Ciphertexts
    product: Ciphertexts
    double: Ciphertexts

    @property
    def slots(self) -> int:
        return self.client.parameters.slots


def planned(x: Any) -> Any:
    return x * x + x, x + x


@pytest.fixture(scope="module")
def case() -> Case:
    """Parameters of 128 bits, and ciphertexts whose values fill all slots."""
    slots = parameters(depth=1, scale_bits=50).slots
    made = plan(planned, Values((4, slots), packing="complex"), scale_bits=50)
    chosen = made.parameters()
    assert chosen.security_bits >= 128 and chosen.slots == slots >= 2**11
    client = Client(chosen)
    server = Server(client.evaluation_keys(**made.keys), device="cpu")
    fresh = client.encrypt(random_complex(np.random.default_rng(), 4, slots))
    product, double = (each.to_host() for each in planned(server.upload(fresh)))
    return Case(made, client, server, fresh, product, double)


def test_raw_numbers_give_the_secret_key(case: Case, tmp_path: Path) -> None:
    secret = attacked(case.fresh[0], case.client.decrypt(case.fresh[0], raw=True))
    assert set(np.unique(secret)) == {-1, 0, 1}
    # Whatever was computed, and each ciphertext alone.
    for host in (case.fresh[1], case.product[0], case.product[3]):
        assert np.array_equal(attacked(host, case.client.decrypt(host, raw=True)), secret)
    # It decrypts what nobody has decrypted yet.
    host = case.client.encrypt(np.full(case.fresh.length, 0.25))
    q = host.parameters.literal()["chain"][host.parameters._core.primes(host.level)[0]]
    field = Field(host.parameters.N, q)
    c_0, c_1 = (host.data[part, 0, 0].astype(np.uint64) for part in (0, 1))
    found = field.coefficients((c_0 + c_1 * field.values(secret) % np.uint64(q)) % np.uint64(q))
    message = np.zeros(host.parameters.N)
    message[0] = 0.25 * host.scale
    errors = (found - message + q // 2) % q - q // 2
    assert np.abs(errors).max() < 10 * 3.19
    assert np.array_equal(saved_secret(case.client, tmp_path / "secret.whorl"), secret)


@pytest.mark.parametrize(("queries", "bits"), [(64.0, 30.0), (1e4, 30.0), (64.0, 40.0)])
@pytest.mark.parametrize("kind", ["fresh", "product"])
def test_released_numbers_do_not(case: Case, kind: str, queries: float, bits: float) -> None:
    host: Ciphertexts = getattr(case, kind)
    N, scale = host.parameters.N, host.scale
    client = case.client
    raw, released = client.decrypt(host, raw=True), client.release(host, queries, bits)
    secret = attacked(host[0], raw[0])
    wrong = attacked(host[0], released[0])
    # Like uniform residues of primes of 25 bits and more: not ternary, and far from the secret.
    assert np.mean(np.abs(wrong) <= 1) < 2**-10
    assert np.mean(wrong == secret) < 2**-10
    assert np.abs(wrong - secret).mean() > 2**22
    noise = np.concatenate(
        [encoded(r, scale, N) - encoded(v, scale, N) for r, v in zip(released, raw, strict=True)]
    )
    wanted = math.sqrt(12 * queries) * 2 ** (bits / 2) * host.error * scale
    # 32,768 samples or more: the deviation's own is 0.4 %, the mean's 0.6 % of it; 2^-70 beyond
    # 5 % of the first and 10^-15 beyond 5 % of the second. That of the fourth moment is 0.027.
    assert noise.size >= 2**15
    assert abs(noise.std() / wanted - 1) < 0.05
    assert abs(noise.mean()) < 0.05 * wanted
    assert abs(np.mean(noise**4) / np.mean(noise**2) ** 2 - 3) < 0.25
    assert abs(np.mean(noise[1:] * noise[:-1])) < 0.05 * wanted**2


def restated(host: Ciphertexts, scale: float, log2_bound: float, log2_error: float) -> Ciphertexts:
    """The same residues in a file that states other facts about them."""
    frame = bytearray(host.to_bytes())
    for old, new in (
        (host.scale, scale),
        (host._core.bound, log2_bound),
        (host._core.error, log2_error),
    ):
        assert frame.count(struct.pack("<d", old)) == 1
        at = frame.index(struct.pack("<d", old))
        frame[at : at + 8] = struct.pack("<d", new)
    frame[-32:] = hashlib.blake2b(frame[:-32], digest_size=32).digest()
    made = Ciphertexts.from_bytes(bytes(frame))
    assert made.scale == scale and np.array_equal(made.data, host.data)
    return made


def test_planned_results_are_released(case: Case) -> None:
    """Inputs are under either key, and any number of ciphertexts."""
    values = random_complex(np.random.default_rng(), 2, 3, case.slots)
    for holder in (case.client, case.client.public_key()):
        results = planned(case.server.upload(holder.encrypt(values)))
        for result, wanted, exact in zip(
            results, case.plan.results, (values**2 + values, 2 * values), strict=True
        ):
            assert result.error <= wanted.error
            for each, numbers in ((result, exact), (result[1, 0], exact[1, 0])):
                got = case.client.release(each, 1e4, expect=wanted)
                noise = math.sqrt(12e4 * case.client.parameters.N) * 2**15 * wanted.error
                # 4,096 complex numbers or more: 2^-90 beyond 15 %.
                assert abs(np.sqrt(np.mean(np.abs(got - numbers) ** 2)) / noise - 1) < 0.15


def test_a_forged_file_gives_the_key_unless_it_is_known_what_to_expect(case: Case) -> None:
    """A result times 2^30, said to have 2^30 times the scale, and hardly an error."""
    client, honest, expect = case.client, case.double[0], case.plan.results[1]
    secret = attacked(honest, client.decrypt(honest, raw=True))
    assert set(np.unique(secret)) == {-1, 0, 1}
    larger = (case.server.upload(honest) * 2**30).to_host()
    forged = restated(larger, honest.scale * 2**30, honest._core.bound, -200)
    assert np.array_equal(attacked(honest, client.release(forged, 64)), secret)
    before = client.released
    with pytest.raises(whorl.ParameterError, match=r"expect: scale is .*, but the .* state "):
        client.release(forged, 64, expect=expect)
    assert client.released == before
    # Without the other scale the planned error hides what is there.
    small = restated(honest, honest.scale, honest._core.bound, -200)
    wrong = attacked(honest, client.release(small, 64, expect=expect))
    assert np.mean(np.abs(wrong) <= 1) < 2**-10
    # What an honest server states is released.
    wrong = attacked(honest, client.release(honest, 64, expect=expect))
    assert np.mean(np.abs(wrong) <= 1) < 2**-10


def test_made_up_residues_give_the_key_whatever_is_expected(case: Case) -> None:
    """What SECURITY.md says of servers that do not keep to the protocol: an encryption of zeros,
    times 2^40, in place of the result."""
    client, expect = case.client, case.plan.results[1]
    zeros = client.encrypt(np.zeros((1, case.slots), dtype=complex))[0]
    larger = (case.server.upload(zeros) * 2**40).to_host()
    forged = restated(larger, expect.scale, math.log2(expect.bound), math.log2(expect.error))
    secret = attacked(case.fresh[0], client.decrypt(case.fresh[0], raw=True))
    released = client.release(forged, 64, expect=expect)
    assert np.array_equal(attacked(zeros, released / 2**40), secret)


def test_the_attack_needs_all_numbers(case: Case) -> None:
    """A check of the test itself: one number that is off by a little spoils the attack."""
    values = case.client.decrypt(case.fresh[0], raw=True)
    values[5] += 2.0**-20
    assert np.mean(np.abs(attacked(case.fresh[0], values)) <= 1) < 2**-10
