"""Ciphertexts under the ring key: results that are added up before their key is switched."""

from pathlib import Path

import numpy as np
import pytest
import whorl
from support import Kit, pickled
from whorl.binfhe import Ciphertexts, Fresh, Lut, concatenate, plan


def test_encryptions(kit: Kit, tmp_path: Path, generator: np.random.Generator) -> None:
    messages = generator.integers(0, 8, size=(3, 4))
    x = kit.client.encrypt(messages, p=8, under="ring")
    assert x.under == "ring" and "ring key" in repr(x)
    assert kit.client.encrypt(messages, p=8).under == "lwe"
    assert x.data.shape == (3, 4, kit.parameters.N + 1) and x.data.dtype == np.uint32
    assert np.array_equal(kit.client.decrypt(x), messages)
    assert np.array_equal(kit.client.decrypt(x[1:, ::2]), messages[1:, ::2])
    x.save(tmp_path / "x")
    for loaded in (Ciphertexts.load(tmp_path / "x", allow_insecure=True), pickled(x)):
        assert loaded.under == "ring" and np.array_equal(loaded.data, x.data)
    # A seed and a word for each.
    assert (tmp_path / "x").stat().st_size < 1000
    assert x.noise < kit.client.encrypt(messages, p=8).noise
    assert np.abs(kit.client.noise(x, messages)).max() < 40
    with pytest.raises(whorl.ParameterError, match="under: 'ringed' is not known"):
        kit.client.encrypt(messages, p=8, under="ringed")
    with pytest.raises(whorl.ParameterError, match="under: 1 is not a string"):
        kit.client.encrypt(messages, p=8, under=1)  # type: ignore[arg-type]


def test_tables_between_sums(kit: Kit, generator: np.random.Generator) -> None:
    """Two layers: sums at Q, a key switch for each table's input, and not for each term."""
    square = Lut(kit.parameters, [m * m % 4 for m in range(8)], p=8, padding=True)
    messages = generator.integers(0, 4, size=(3, 5))
    x = kit.client.encrypt(messages, p=8, padding=True)
    first = kit.server.apply(square, x, under="ring")
    assert first.under == "ring" and first.noise == 1
    total = kit.server.linear([1, 2], [first[0], first[1]])
    assert total.under == "ring"
    expected = (messages[0] ** 2 % 4 + 2 * (messages[1] ** 2 % 4)) ** 2 % 4
    second = total.apply(square, under="ring")
    assert np.array_equal(kit.client.decrypt(second), expected)
    assert np.array_equal(kit.client.decrypt(kit.server.apply(square, total)), expected)
    switched = total.to_lwe_key()
    assert switched.under == "lwe"
    assert np.array_equal(kit.client.decrypt(switched), kit.client.decrypt(total))
    assert np.array_equal(switched.apply(square).to_host().data, total.apply(square).to_host().data)
    assert switched.to_lwe_key() is not None and switched.to_lwe_key().under == "lwe"


def test_gates_and_operators(kit: Kit) -> None:
    a, b = (kit.server.upload(kit.client.encrypt(m, under="ring")) for m in ([0, 0, 1, 1], [0, 1]))
    bits = concatenate([b, b])
    assert np.array_equal(kit.client.decrypt(a & bits), [0, 0, 0, 1])
    for name, expected in (("xor", [0, 1, 1, 0]), ("nand", [1, 1, 1, 0])):
        out = kit.server.gate(name, a, bits, under="ring")
        assert out.under == "ring" and np.array_equal(kit.client.decrypt(out), expected)
    chosen = kit.server.mux(a, bits, 1, under="ring")
    assert np.array_equal(kit.client.decrypt(chosen), [1, 1, 0, 1])
    assert np.array_equal(kit.client.decrypt(a.bootstrap(p_out=8, under="ring")), [0, 0, 1, 1])
    kept = a ^ [1, 0, 1, 0]
    assert kept.under == "ring" and np.array_equal(kit.client.decrypt(kept), [1, 0, 0, 1])
    assert np.array_equal(kit.client.decrypt(~a), [1, 1, 0, 0])
    assert np.array_equal(kit.client.decrypt(a + np.arange(4)), [0, 1, 3, 0])
    known = kit.server.trivial([1, 2], under="ring")
    assert known.under == "ring" and np.array_equal(kit.client.decrypt(known), [1, 2])


def test_kinds_are_not_mixed(kit: Kit, large_kit: Kit) -> None:
    x, y = kit.client.encrypt([0, 1]), kit.client.encrypt([0, 1], under="ring")
    for call in (
        lambda: kit.server.add(x, y),
        lambda: kit.server.nand(y, x),
        lambda: concatenate([x, y]),
        lambda: concatenate([kit.server.upload(x), kit.server.upload(y)]),
    ):
        with pytest.raises(whorl.KeyMismatchError, match=r"under the ring key.*to_lwe_key"):
            call()
    number = large_kit.client.encrypt([100], p=2**8, under="ring")
    for each in ("eval_sign", "eval_decomp"):
        with pytest.raises(whorl.KeyMismatchError, match=f"{each} takes ciphertexts under the LWE"):
            getattr(large_kit.server, each)(number)
    with pytest.raises(whorl.KeyMismatchError, match="eval_floor takes"):
        large_kit.server.eval_floor(number, 2)
    sign = large_kit.server.eval_sign(large_kit.server.to_lwe_key(number))
    assert np.array_equal(large_kit.client.decrypt(sign), [0])


def test_plans(kit: Kit) -> None:
    """A sum of four results takes one key switch of 3 ciphertexts each, and not four."""
    turn = Lut(kit.parameters, [0, 1, 0, 3])

    def layers(x: whorl.binfhe.EncryptedArray) -> whorl.binfhe.EncryptedArray:
        first = x.apply(turn, under="ring")
        return x.server.linear([1] * 4, list(first)).apply(turn)

    found = plan(layers, Fresh((4, 3)), parameters=kit.parameters)
    assert found.costs["bootstraps"] == 12 + 3
    assert found.costs["key_switches"] == 3 + 3
    ring = plan(layers, Fresh((4, 3), under="ring"), parameters=kit.parameters)
    assert ring.costs["key_switches"] == 12 + 3 + 3
    assert ring.input_bytes == 32 + 4 * 12
    with pytest.raises(whorl.ParameterError, match="under"):
        plan(layers, Fresh(4, under="other"), parameters=kit.parameters)
