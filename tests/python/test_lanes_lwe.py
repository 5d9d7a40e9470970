"""LWE ciphertexts of FHEW/TFHE in lanes."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path

import numpy as np
import pytest
import whorl
from whorl import binfhe, ckks, lanes

LANES = 64


@functools.cache
def parameters(name: str = "W128_BITS5_L10") -> ckks.Parameters:
    """A set for bits in a smaller ring, which is not secure."""
    literal = {**ckks.parameters(name).literal(), "N": 1024, "name": "toy"}
    return ckks.parameters(literal=literal, allow_insecure=True)


@functools.cache
def gates() -> binfhe.Client:
    return binfhe.Client(binfhe.parameters("W128_P64"))


@functools.cache
def party() -> tuple[lanes.Client, lanes.Server]:
    client = lanes.Client(parameters())
    server = lanes.Server(
        client.evaluation_keys(LANES),
        device="cpu",
        lwe_input=client.lwe_input_keys(gates()),
        lwe_output=client.lwe_output_keys(gates()),
    )
    return client, server


def test_a_client_sends_lwe_ciphertexts() -> None:
    client, server = party()
    a, b = np.random.default_rng(1).integers(0, 2, (2, 3, LANES))
    x, y = (server.from_lwe(gates().encrypt(bits)) for bits in (a, b))
    assert x.shape == (3,)
    assert x.lanes == LANES
    assert np.array_equal(client.decrypt(x), a)
    assert np.array_equal(client.decrypt((x & y) ^ ~y), (a & b) ^ (1 - b))
    assert server.log2_failure < -64


def test_messages_of_several_bits() -> None:
    client, server = party()
    numbers = np.random.default_rng(2).integers(0, 4, (2, LANES))
    found = server.from_lwe(gates().encrypt(numbers), bits=2)
    assert found.shape == (2, 2)
    low, high = client.decrypt(found)
    assert np.array_equal(low + 2 * high, numbers)
    alone = server.from_lwe(gates().encrypt(numbers % 2, p=2), bits=1)
    assert alone.shape == (1, 2)
    assert np.array_equal(client.decrypt(alone)[0], numbers % 2)


@pytest.mark.parametrize("shared", [True, False])
def test_results_of_gates_go_on_in_lanes(shared: bool) -> None:
    client, server = party()
    if shared:
        session = whorl.Session(device="cpu")
        server = lanes.Server(
            client.evaluation_keys(LANES),
            session=session,
            lwe_input=client.lwe_input_keys(gates()),
        )
        of_gates = binfhe.Server(gates().evaluation_keys(), session=session)
    else:
        of_gates = binfhe.Server(gates().evaluation_keys(), device="cpu")
    a, b = np.random.default_rng(3).integers(0, 2, (2, LANES))
    x, y = (of_gates.upload(gates().encrypt(bits)) for bits in (a, b))
    found = server.from_lwe(x & y)
    assert found.shape == ()
    assert found.error > server.limit
    assert np.array_equal(client.decrypt(found ^ server.from_lwe(x)), (a & b) ^ a)
    both = of_gates.upload(gates().encrypt(np.stack([a, b])))
    assert np.array_equal(client.decrypt(server.from_lwe(both, bits=1)[0]), np.stack([a, b]))
    with pytest.raises(whorl.ShapeError, match="64 lanes"):
        server.from_lwe(x[1:])
    with pytest.raises(whorl.EncodingError, match="sectors"):
        server.from_lwe(x, bits=3)


def test_keys_say_how_secure_they_are() -> None:
    # The smallest of three estimates: of this ring, which is not secure, of a secure one, and of an
    # LWE key that is not.
    client, _ = party()
    for keys in (client.lwe_input_keys(gates()), client.lwe_output_keys(gates())):
        assert keys.security_bits == client.parameters.security_bits < 128
    secure = lanes.Client(ckks.parameters("W128_BITS5_L10"))
    assert gates().parameters.security_bits >= 128
    assert 128 <= secure.lwe_input_keys(gates()).security_bits <= gates().parameters.security_bits
    toy = binfhe.Client(binfhe.parameters("openfhe_1_5/TOY", allow_insecure=True))
    assert secure.lwe_input_keys(toy).security_bits == toy.parameters.security_bits < 100


def test_gates_go_on_with_lanes() -> None:
    client, server = party()
    of_gates = binfhe.Server(gates().evaluation_keys(), device="cpu")
    a, b = np.random.default_rng(4).integers(0, 2, (2, 2, LANES))
    x, y = (server.upload(client.encrypt(bits)) for bits in (a, b))
    c, d = server.to_lwe(x ^ y), server.to_lwe(~x)
    assert c.shape == (2, LANES)
    assert c.largest == 1
    assert np.array_equal(
        gates().decrypt(of_gates.upload(c) & of_gates.upload(d)), (a ^ b) & ~a & 1
    )
    padded = server.to_lwe(client.encrypt(a[0]), p=2, padding=True)
    assert np.array_equal(gates().decrypt(padded), a[0])
    # There and back.
    assert np.array_equal(client.decrypt(server.from_lwe(c)), a ^ b)
    with pytest.raises(whorl.EncodingError):
        server.to_lwe(x, p=6)
    with pytest.raises(whorl.ParameterError, match="p"):
        server.to_lwe(x, p=1)
    without = lanes.Server(client.evaluation_keys(LANES), device="cpu")
    with pytest.raises(whorl.MissingKeyError, match="lwe_output"):
        without.to_lwe(client.encrypt(a))


def test_lanes_that_fill_no_vector_go_out_alone() -> None:
    client, server = party()
    bits = np.random.default_rng(4).integers(0, 2, (2, LANES - 1))
    assert np.array_equal(gates().decrypt(server.to_lwe(client.encrypt(bits))), bits)


def test_keys_travel(tmp_path: Path) -> None:
    client, _ = party()
    out = client.lwe_output_keys(gates())
    assert out.lwe_key_id == gates().key_id
    out.save(tmp_path / "out")
    keys = client.lwe_input_keys(gates())
    assert keys.key_id == client.key_id
    assert keys.lwe_key_id == gates().key_id
    assert keys.lwe_parameters == gates().parameters
    assert "W128_P64" in repr(keys)
    keys.save(tmp_path / "keys")
    with whorl.allow_insecure_pickles():
        again = pickle.loads(pickle.dumps(keys))
    assert again.to_bytes() == keys.to_bytes()
    server = lanes.Server(
        client.evaluation_keys(LANES),
        device="cpu",
        allow_insecure=True,
        lwe_input=tmp_path / "keys",
        lwe_output=tmp_path / "out",
    )
    bits = np.ones(LANES, np.int64)
    assert np.array_equal(gates().decrypt(server.to_lwe(client.encrypt(bits))), bits)
    assert np.array_equal(client.decrypt(server.from_lwe(gates().encrypt(bits))), bits)
    with pytest.raises(whorl.ParameterError):
        lanes.LweInputKeys.load(tmp_path / "keys")


def test_wrong_input_is_refused() -> None:
    client, server = party()
    bits = np.ones(LANES, np.int64)
    with pytest.raises(whorl.KeyMismatchError):
        server.from_lwe(binfhe.Client(gates().parameters).encrypt(bits))
    with pytest.raises(whorl.ShapeError, match="64 lanes"):
        server.from_lwe(gates().encrypt(bits[1:]))
    with pytest.raises(whorl.ShapeError, match="64 lanes"):
        server.from_lwe(gates().encrypt(1))
    with pytest.raises(whorl.EncodingError, match="sectors"):
        server.from_lwe(gates().encrypt(bits, p=6))
    with pytest.raises(whorl.EncodingError, match="sectors"):
        server.from_lwe(gates().encrypt(bits), bits=3)
    with pytest.raises(whorl.ParameterError, match="bits"):
        server.from_lwe(gates().encrypt(bits), bits=0)
    with pytest.raises(TypeError, match="binfhe"):
        server.from_lwe(client.encrypt(bits))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"binfhe\.Client"):
        client.lwe_input_keys(client)  # type: ignore[arg-type]
    without = lanes.Server(client.evaluation_keys(LANES), device="cpu")
    with pytest.raises(whorl.MissingKeyError, match="lwe_input"):
        without.from_lwe(gates().encrypt(bits))
    other = lanes.Client(parameters())
    with pytest.raises(whorl.KeyMismatchError):
        lanes.Server(
            other.evaluation_keys(LANES), device="cpu", lwe_input=client.lwe_input_keys(gates())
        )
    real = {**ckks.parameters(5, bootstrap=True).literal(), "N": 1024, "name": "real"}
    of_numbers = lanes.Client(ckks.parameters(literal=real, allow_insecure=True))
    with pytest.raises(whorl.ParameterError, match="bits"):
        of_numbers.lwe_input_keys(gates())
