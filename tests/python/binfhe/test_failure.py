"""What fails too often is refused, and accepted knowingly."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import whorl
from support import Kit, make_kit
from whorl.binfhe import Client, Lut, Server, parameters


@pytest.fixture(scope="module")
def noisy() -> Kit:
    """Few operations but gates of two inputs fail with less than 2^-40: q is 2^8."""
    return make_kit(n=16, gadget=[(16, 7, 4)], q=256, Q_ks=2**14)


def test_four_inputs_with_a_set_for_two() -> None:
    client = Client(parameters("W128_P64"))
    keys = client.evaluation_keys()
    bits = client.encrypt([0, 1], p=8)
    server = Server(keys, device="cpu")
    message = (
        r"and4 with p = 8 under W128_P64 fails with a probability of 2\^-12\.5, which is above the "
        r"2\^-40 that is allowed\. The set W128_P128 would serve\. allow_failure = 2\^-12 accepts"
    )
    with pytest.raises(whorl.NoiseError, match=message):
        server.and4(bits, bits, bits, bits)
    with pytest.raises(whorl.NoiseError, match="a table of two rotations with p = 4"):
        server.apply(Lut(server.parameters, [3, 1, 2, 2]), client.encrypt([0, 1]))
    knowing = Server(keys, device="cpu", allow_failure=2**-12)
    assert knowing.allow_failure == 2**-12
    # Fails with 2^-12, at most: seldom enough for a test that may be repeated.
    assert knowing.and4(bits, bits, bits, bits).shape == (2,)
    assert client.decrypt(server.nand(client.encrypt(1), client.encrypt(1))) == 0


@pytest.mark.parametrize("wrong", [0, -1, 1.5, float("nan")])
def test_probabilities(kit: Kit, wrong: float) -> None:
    for work in (
        lambda: Server(kit.keys, device="cpu", allow_failure=wrong),
        lambda: kit.client.encrypt([1], allow_failure=wrong),
    ):
        with pytest.raises(whorl.ParameterError, match="allow_failure"):
            work()
    with pytest.raises(TypeError, match="probability"):
        Server(kit.keys, device="cpu", allow_failure="often")  # type: ignore[arg-type]


def test_every_operation_is_checked(noisy: Kit) -> None:
    client, server = noisy.client, noisy.server
    lenient = Server(noisy.keys, device="cpu", allow_failure=1)

    def on(server: Server) -> list[Callable[[], object]]:
        bits = client.encrypt([0, 1], p=16, allow_failure=1)
        padded = client.encrypt([0, 1], p=8, padding=True, allow_failure=1)
        table = Lut(noisy.parameters, np.arange(8)[::-1], padding=True)
        return [
            lambda: server.and_(bits, bits),
            lambda: server.mux(bits, bits, bits),
            lambda: server.bootstrap(bits),
            lambda: server.apply(table, padded),
            lambda: server.gate("and", *[client.encrypt([0, 1])] * 2, p_out=32),
            lambda: server.linear([9], [server.bootstrap(client.encrypt([0, 1], p=2))]),
        ]

    for work in on(server):
        with pytest.raises(whorl.NoiseError, match="allow_failure"):
            work()
    for work in on(lenient):
        work()


def test_a_sum_has_more_noise_than_its_terms(noisy: Kit) -> None:
    """What decrypts, and what passes a gate, follows from how many were added."""
    lenient = Server(noisy.keys, device="cpu", allow_failure=1)
    bit = lenient.bootstrap(noisy.client.encrypt([1], p=2))
    noisy.server.bootstrap(bit.to_host())
    many = lenient.linear([1] * 81, [bit] * 81).to_host()
    with pytest.raises(whorl.NoiseError, match="bootstrap with p = 2"):
        noisy.server.bootstrap(many)
    with pytest.raises(whorl.NoiseError):
        noisy.server.bootstrap(many[:1])  # a part of it has the same noise


def test_encryption(noisy: Kit) -> None:
    assert noisy.parameters.fresh_failure_log2(16) > -40 > noisy.parameters.fresh_failure_log2(4)
    with pytest.raises(
        whorl.NoiseError, match=r"a fresh ciphertext with p = 16 .* p = \d+ would serve"
    ):
        noisy.client.encrypt([1], p=16)
    assert noisy.client.encrypt([1], p=16, allow_failure=0.5).p == 16
    with pytest.raises(whorl.EncodingError, match="expected: value 9 is not below p = 4"):
        noisy.client.noise(noisy.client.encrypt([1]), 9)


def test_approximate_tables(noisy: Kit, generator: np.random.Generator, tmp_path: Path) -> None:
    p = 16
    smooth = np.minimum(np.arange(p), p - 1 - np.arange(p))
    fresh = noisy.client.encrypt(np.repeat(np.arange(p), 32), p, padding=True, allow_failure=1)
    exact = Lut(noisy.parameters, smooth, p_out=p, padding=True, padding_out=False)
    rough = Lut(noisy.parameters, smooth, p_out=p, padding=True, padding_out=False, exact=False)
    with pytest.raises(whorl.NoiseError):
        noisy.server.apply(exact, fresh)
    got = noisy.client.decrypt(noisy.server.apply(rough, fresh))
    apart = (got - np.repeat(smooth, 32)) % p
    assert 0 < rough.error_bound < p // 2
    assert np.minimum(apart, p - apart).max() <= rough.error_bound
    # The flag is a part of the table: in files, pickles, comparisons.
    assert exact.exact and not rough.exact and exact != rough
    assert f"within {rough.error_bound}" in repr(rough)
    rough.save(tmp_path / "t.whorl")
    assert Lut.load(tmp_path / "t.whorl", allow_insecure=True) == rough
    with whorl.allow_insecure_pickles():
        assert pickle.loads(pickle.dumps(rough)) == rough


def test_tables_that_are_exact_have_no_error(kit: Kit) -> None:
    assert Lut(kit.parameters, [1, 2, 3, 0], padding=True).error_bound == 0
    assert Lut(kit.parameters, [1, 2, 3, 0], padding=True, exact=False).error_bound == 0
