"""Encryption, decryption and release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import random_complex
from support import CkksKit, make_ckks_kit
from whorl.ckks import Client, PublicKey


def test_round_trips(any_ckks: CkksKit, generator: np.random.Generator) -> None:
    client, public = any_ckks.client, any_ckks.client.public_key()
    for values, bound, packing in (
        (random_complex(generator, 3, 2, 5), 1.0, None),
        (generator.uniform(-3, 3, (2, 512)), 3.0, None),
        (generator.uniform(-1, 1, 7), 1.0, "complex"),
        (generator.uniform(-1, 1, (2, 1024)) / 64, 1 / 64, "coefficients"),
        ([1, 0, -1], 1, None),
        ([True, False], 1, None),
    ):
        for holder in (client, public):
            host = holder.encrypt(values, bound, packing)  # type: ignore[arg-type]
            array = np.asarray(values)
            assert host.shape == array.shape[:-1] and host.length == array.shape[-1]
            got = client.decrypt(host, raw=True)
            assert got.dtype == (np.complex128 if host.packing == "complex" else np.float64)
            assert np.abs(got - array).max() <= 10 * host.error
            assert (host._core.seed is None) == (holder is public)


def test_raw_numbers_need_a_word(toy_ckks: CkksKit) -> None:
    host = toy_ckks.client.encrypt([0.5])
    with pytest.raises(ValueError, match=r"compute the secret key.*release\(ciphertexts\)"):
        toy_ckks.client.decrypt(host)
    with pytest.raises(TypeError):
        toy_ckks.client.decrypt(host, True)  # type: ignore[misc]


def test_release_hides_errors(toy_ckks: CkksKit) -> None:
    """The noise has the deviation that the formula states, √(12·queries)·2^(bits/2) times the
    error's."""
    client = toy_ckks.client
    host = client.encrypt(np.zeros((8, 512)))
    for queries, bits in ((1.0, 30.0), (100.0, 30.0), (1.0, 36.0)):
        noise = client.release(host, queries, bits)
        assert noise.shape == (8, 512) and noise.dtype == np.float64
        wanted = np.sqrt(12 * queries) * 2 ** (bits / 2) * host.error
        # Real parts have half of the variance. 4,096 samples: 2^-40 beyond 15%.
        assert 0.85 < noise.std() / (wanted / np.sqrt(2)) < 1.15
    assert not np.array_equal(client.release(host), client.release(host))
    assert client.release(client.encrypt([0.5 + 0.5j])).dtype == np.complex128
    a = toy_ckks.server.upload(client.encrypt([0.5, 0.25]))
    assert np.abs(client.release(a * a) - [0.25, 0.0625]).max() < 1e-2
    with pytest.raises(whorl.NoiseError, match="take fewer queries or bits"):
        client.release(host, 2.0**40, 128)


def test_arguments_out_of_range(toy_ckks: CkksKit) -> None:
    client: Any = toy_ckks.client
    host = client.encrypt([0.5])
    for error, message, work in (
        (whorl.ParameterError, "queries = 0 is outside", lambda: client.release(host, 0)),
        (whorl.ParameterError, "bits = 29 is outside", lambda: client.release(host, bits=29)),
        (whorl.ParameterError, "bits: 'a' is not a number", lambda: client.release(host, 1, "a")),
        (whorl.EncodingError, r"3.*index 1.*above bound = 1", lambda: client.encrypt([1, 3])),
        (whorl.EncodingError, "bound = 0", lambda: client.encrypt([0], bound=0)),
        (whorl.EncodingError, "bound = nan", lambda: client.encrypt([0], bound=float("nan"))),
        (whorl.EncodingError, "does not fit", lambda: client.encrypt([0], bound=1e9)),
        (whorl.ParameterError, "bound: '1'", lambda: client.encrypt([0], bound="1")),
        (whorl.EncodingError, "inf at index .0, 1. is not", lambda: client.encrypt([[0, np.inf]])),
        (whorl.ShapeError, "513 values is longer", lambda: client.encrypt(np.zeros(513))),
        (whorl.ShapeError, "single number", lambda: client.encrypt(0.5)),
        (whorl.ShapeError, "holds no values", lambda: client.encrypt([])),
        (whorl.EncodingError, "packing 'real'", lambda: client.encrypt([1j], packing="real")),
        (whorl.EncodingError, "'coefficients'", lambda: client.encrypt([1j], 1, "coefficients")),
        (whorl.EncodingError, "packing: 'slots'", lambda: client.encrypt([1], packing="slots")),
        (TypeError, "numbers are needed, not 'a'", lambda: client.encrypt(["a"])),
        (TypeError, "ciphertexts are needed", lambda: client.decrypt([1], raw=True)),
    ):
        with pytest.raises(error, match=message):
            work()


def test_others_ciphertexts(toy_ckks: CkksKit) -> None:
    kit, other, shallow = toy_ckks, Client(toy_ckks.parameters), make_ckks_kit(depth=1)
    a = kit.server.upload(kit.client.encrypt([0.5]))
    for wrong, error in (
        (other.encrypt([0.5]), whorl.KeyMismatchError),
        (shallow.client.encrypt([0.5]), whorl.ParameterMismatchError),
        (shallow.server.upload(shallow.client.encrypt([0.5])), whorl.DeviceError),
    ):
        with pytest.raises(error):
            a + wrong
    for read in (lambda x: kit.client.decrypt(x, raw=True), kit.client.release):
        with pytest.raises(whorl.KeyMismatchError):
            read(other.encrypt([0.5]))
        with pytest.raises(whorl.ParameterMismatchError):
            read(shallow.client.encrypt([0.5]))


def test_a_public_key_only_encrypts(toy_ckks: CkksKit) -> None:
    public = toy_ckks.client.public_key()
    assert isinstance(public, PublicKey) and public.parameters == toy_ckks.parameters
    assert public.key_id == toy_ckks.client.key_id and not hasattr(public, "decrypt")
    assert public.encrypt([0.5]).error > toy_ckks.client.encrypt([0.5]).error
    for part in ("PublicKey", "toy", "MiB"):
        assert part in repr(public)


def test_a_client_shows_nothing(toy_ckks: CkksKit) -> None:
    client = toy_ckks.client
    assert repr(client) == f"<Client of key {client.key_id[:8]}…, toy>"
    public = {name for name in dir(client._core) if not name.startswith("_")}
    assert public == {
        *("parameters", "key_id", "generate", "encrypt", "encrypt_real", "decrypt_raw", "release"),
        *("public_key", "evaluation_keys", "save", "load"),
    }
