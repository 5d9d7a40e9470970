"""Exact bits in the slots of CKKS ciphertexts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from lane_values import LANES, as_bits, as_numbers, parameters, party, random_bits
from whorl import circuit, ckks, lanes
from whorl.circuit._bits import _LaneBits


def test_gates_of_all_lanes() -> None:
    client, server = party()
    a, b, c = random_bits(1, 2), random_bits(2, 2), random_bits(3)
    x, y, z = (server.upload(client.encrypt(bits)) for bits in (a, b, c))
    total, carry = server.full_add(x, y, z)
    found = {
        "and": x & y,
        "or": x | y,
        "xor": x ^ y,
        "not": ~x,
        "broadcast": z & y,
        "where": server.where(x, y, z),
        "sum": total,
        "carry": carry,
        "rotate": x.rotate(1),
        "ones": server.constant(x, True),
        "zeros": server.constant(x, False),
        "ciphertexts": x & client.encrypt(b),
    }
    wanted = {
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "not": ~a,
        "broadcast": c & b,
        "where": np.where(a, b, c),
        "sum": a ^ b ^ c,
        "carry": a & b | (a | b) & c,
        "rotate": np.roll(a, -1, axis=-1),
        "ones": np.ones_like(a),
        "zeros": np.zeros_like(a),
        "ciphertexts": a & b,
    }
    for name, array in found.items():
        bits = client.decrypt(array)
        assert bits.dtype == np.uint8
        assert np.array_equal(bits, wanted[name]), name


def test_numpys_shapes() -> None:
    client, server = party()
    a = random_bits(4, 2, 3)
    x = server.upload(client.encrypt(a))
    assert (x.shape, x.lanes, x[1].shape, x.T.shape) == ((2, 3), LANES, (3,), (3, 2))
    assert np.array_equal(client.decrypt(x[:, 1]), a[:, 1])
    joined = lanes.concatenate([x, server.upload(client.encrypt(a[:1]))])
    assert np.array_equal(client.decrypt(joined), np.concatenate([a, a[:1]]))
    assert np.array_equal(client.decrypt(lanes.stack([x[0], x[1]])), a)
    assert "64 lanes" in repr(x)
    assert "64 lanes" in repr(server)
    with pytest.raises(TypeError, match="number"):
        np.asarray(x)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16])
def test_tables(bits: int) -> None:
    """All entries, where vectors have so many lanes together; random ones above."""
    client, server = party()
    random = np.random.default_rng(bits)
    vectors = max(2**bits // LANES, 1) if bits <= 10 else 1
    numbers = np.arange(vectors * LANES) % 2**bits
    if bits > 10:
        numbers = random.integers(0, 2**bits, LANES)
        numbers[:2] = 0, 2**bits - 1
    table = random.integers(0, 20, 2**bits)
    table[0] = 19
    x = server.upload(client.encrypt(as_bits(numbers, bits).reshape(bits, vectors, LANES)))
    found = client.decrypt(server.lookup(x, table))
    assert found.shape == (5, vectors, LANES)
    assert np.array_equal(as_numbers(found.reshape(5, -1)), table[numbers])


def test_tables_are_checked() -> None:
    client, server = party()
    x = server.upload(client.encrypt(random_bits(1, 2)))
    zeros = server.lookup(x[:, None], [0, 0, 0, 0])
    assert zeros.shape == (1, 1) and not client.decrypt(zeros).any()
    for table, part in (
        ([1, 2, 3], "the table has 3 entries, and 2 bits want 4"),
        ([1, 2, 3, -1], "entry 3 is -1, outside 0 … 2\\^31 - 1: look larger entries up in parts"),
        ([1, 2, 2**31, 0], "entry 2 is 2147483648, outside"),
    ):
        with pytest.raises(whorl.ParameterError, match=part):
            server.lookup(x, table)
    with pytest.raises(TypeError, match="integers are needed"):
        server.lookup(x, [0.5, 0, 1, 0])
    with pytest.raises(whorl.ShapeError, match="axis of bits"):
        server.lookup(x[0], [0, 1])
    with pytest.raises(whorl.ParameterError, match=r"17 bits .* outside 1 … 16.*Server\.where"):
        server.lookup(x[[0] * 17], [0] * 2**17)


def test_aes_in_counter_mode(tool: Any) -> None:
    """A client sends AES's ciphertexts and its key as lanes; the server has the text as lanes."""
    key = np.frombuffer(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"), np.uint8)
    counters = np.random.default_rng(9).integers(0, 256, (LANES, 16)).astype(np.uint8)
    counters[0] = list(bytes.fromhex("3243f6a8885a308d313198a2e0370734"))
    text = np.random.default_rng(10).integers(0, 256, (LANES, 16)).astype(np.uint8)
    stream = tool("common.aes").aes_in_clear(key, counters)
    assert bytes(stream[0]).hex() == "3925841d02dc09fbdc118597196a0b32"  # FIPS 197, appendix B

    def lanes_of(blocks: Any) -> Any:
        """Shape (8, 16, lanes)."""
        each = np.asarray(blocks, dtype=np.uint8)
        return np.unpackbits(each[..., None], axis=-1, bitorder="little").transpose(2, 1, 0)

    client, server = party()
    secret = server.upload(client.encrypt(lanes_of([key] * LANES)))
    known = server.known(secret[0, 0], lanes_of(counters))
    found = lanes.aes128(secret, known)
    assert np.array_equal(client.decrypt(found), lanes_of(stream))
    plain = found ^ server.known(secret[0, 0], lanes_of(text ^ stream))
    assert np.array_equal(client.decrypt(plain), lanes_of(text))
    with pytest.raises(whorl.ShapeError, match="aes128"):
        lanes.aes128(secret[0], known)
    with pytest.raises(whorl.ShapeError, match="last axis"):
        server.known(secret, [0, 1])
    with pytest.raises(whorl.EncodingError, match="neither"):
        server.known(secret, [2] * LANES)


def test_circuits() -> None:
    """With shared, inverted and constant outputs, an adder and a mux."""
    text = """
        .model some
        .inputs a b c s
        .outputs sum carry chosen one nor same
        .names a b c sum
        100 1
        010 1
        001 1
        111 1
        .names a b c carry
        11- 1
        1-1 1
        -11 1
        .names s a b chosen
        11- 1
        0-1 1
        .names one
        1
        .names a b nor
        00 1
        .names a same
        1 1
        .end
    """
    made = circuit.loads(text)
    client, server = party()
    bits = {name: random_bits(i, 3, 1) for i, name in enumerate("abcs")}
    inputs = {name: client.encrypt(each) for name, each in bits.items()}
    found = made.run(server, {**inputs, "a": server.upload(inputs["a"])})
    wanted = made({name: np.moveaxis(each, -2, -1) for name, each in bits.items()})
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        assert array.shape == (3, 1), name
        assert np.array_equal(client.decrypt(array), np.moveaxis(wanted[name], -1, -2)), name
    with pytest.raises(TypeError, match="b: ciphertexts"):
        made.run(server, {**inputs, "b": bits["b"]})
    with pytest.raises(TypeError, match=r"whorl\.lanes"):
        made.run(ckks.Server(client.evaluation_keys(LANES)), inputs)


def test_tables_of_circuits() -> None:
    """Another table for each gate."""
    client, server = party()
    a = random_bits(3, 3, 2, 2)
    inputs = [server.upload(client.encrypt(each)) for each in a]
    tables = [0b10010110, 0b11101000]
    found = _LaneBits(server, inputs[0]).table(inputs, tables)
    wanted = [
        np.array(tables[i] >> (a[0, i] + 2 * a[1, i] + 4 * a[2, i]) & 1, dtype=np.uint8)
        for i in range(2)
    ]
    assert np.array_equal(client.decrypt(found), wanted)


def test_a_plan_says_what_is_done() -> None:
    def program(x: lanes.LaneArray, y: lanes.LaneArray) -> lanes.LaneArray:
        for _ in range(12):
            x, y = x ^ y, x | ~y
        return x

    client, _ = party()
    plan = lanes.plan(program, [(3,), (3,)], parameters(), LANES, secret_key=True)
    server = lanes.Server(client.evaluation_keys(LANES), device="cpu")
    a, b = random_bits(5, 3), random_bits(6, 3)
    z = program(*(server.upload(client.encrypt(bits)) for bits in (a, b)))
    assert (server.bootstraps, server.cleanings) == (plan.bootstraps, plan.cleanings)
    assert plan.bootstraps > 0
    assert server.products == plan.products
    assert z.error <= server.limit
    for _ in range(12):
        a, b = a ^ b, a | ~b
    assert np.array_equal(client.decrypt(z), a)
    assert server.log2_failure == plan.log2_failure < -64  # decryption counts too
    with pytest.raises(whorl.NoiseError, match="most_log2_failure"):
        lanes.plan(program, [(3,), (3,)], parameters(), LANES, most_log2_failure=-100)


def test_what_is_sent_is_saved(tmp_path: Path) -> None:
    client, server = party()
    a = random_bits(7, 2)
    client.encrypt(a).save(tmp_path / "a.whorl")
    x = server.upload(ckks.Ciphertexts.load(tmp_path / "a.whorl", allow_insecure=True))
    (~x).to_host().save(tmp_path / "b.whorl")
    back = ckks.Ciphertexts.load(tmp_path / "b.whorl", allow_insecure=True)
    assert back.level == 0
    assert np.array_equal(client.decrypt(back), ~a)
    client.save(tmp_path / "key.whorl", "secret")
    again = lanes.Client.load(tmp_path / "key.whorl", "secret", allow_insecure=True)
    assert np.array_equal(again.decrypt(back), ~a)
    client.evaluation_keys(LANES).save(tmp_path / "keys.whorl")
    other = lanes.Server(tmp_path / "keys.whorl", device="cpu", allow_insecure=True)
    assert np.array_equal(client.decrypt(~other.upload(client.encrypt(a))), ~a)


def test_refusals() -> None:
    client, server = party()
    with pytest.raises(whorl.EncodingError, match="neither 0 nor 1"):
        client.encrypt([0, 1, 2])
    plain = ckks.Client.encrypt(client, [0.5] * LANES)
    with pytest.raises(whorl.EncodingError, match="bounds 0 and 1"):
        server.upload(plain)
    with pytest.raises(whorl.ShapeError, match="lanes"):
        server.upload(client.encrypt([0, 1]))
    with pytest.raises(whorl.MissingKeyError, match="rotations"):
        server.upload(client.encrypt(random_bits(1))).rotate(7)
    with pytest.raises(whorl.ParameterError, match="refresh nothing"):
        lanes.Server(ckks.Client.evaluation_keys(client), device="cpu")
    with pytest.raises(whorl.ParameterError, match="below 0"):
        lanes.Server(client.evaluation_keys(LANES), device="cpu", most_log2_failure=1.0)
    with pytest.raises(TypeError, match="pickled"):
        server.__reduce__()
    with pytest.raises(whorl.EncodingError, match="level 0"):
        client.decrypt(client.encrypt(random_bits(1)))


def test_numbers_of_lanes() -> None:
    client, _ = party()
    server = lanes.Server(client.evaluation_keys(48), device="cpu", lanes=33)
    assert server.lanes == 64
    bits = np.random.default_rng(9).integers(0, 2, (2, 48))
    x = server.upload(client.encrypt(bits))
    server.refresh(x)
    assert np.array_equal(client.decrypt(x[0] & x[1]), bits[0] & bits[1])
    with pytest.raises(whorl.MissingKeyError, match=r"evaluation_keys\(lanes=128\)"):
        lanes.Server(client.evaluation_keys(64), device="cpu", lanes=65)
    with pytest.raises(whorl.ShapeError, match="slots = 1024"):
        client.evaluation_keys(513)


def test_plans_have_no_ciphertexts() -> None:
    client, _ = party()
    bits = client.encrypt(random_bits(1))

    def planned(function: Any) -> lanes.Plan:
        return lanes.plan(function, [()], parameters(), LANES)

    with pytest.raises(TypeError, match="shapes"):
        planned(lambda x: x & bits)
    with pytest.raises(TypeError, match="return the array"):
        planned(lambda x: x.to_host())
    for result in (None, {"x": 1}, 5):
        with pytest.raises(TypeError, match="function: it must return"):
            planned(lambda x, result=result: result)
    assert planned(lambda x: [x.server.synchronise(), x & x][1:]).products == 1


def test_a_refusal_retires_the_key() -> None:
    client = lanes.Client(parameters())
    maker = ckks.Server(client.evaluation_keys(LANES), device="cpu")
    half = maker.upload(ckks.Client.encrypt(client, [0.5] * LANES, bound=(0, 1))).lower(0)
    right = maker.upload(client.encrypt(random_bits(1))).lower(0)
    assert np.array_equal(client.decrypt(right.to_host()), random_bits(1))
    with pytest.raises(whorl.NoiseError, match="farther than 1/8"):
        client.decrypt(half.to_host())
    with pytest.raises(whorl.NoiseError, match="refused before"):
        client.decrypt(right.to_host())


def test_what_is_decrypted_tells_nothing_of_the_key() -> None:
    """Li and Micciancio (EUROCRYPT 2021): of raw values a ciphertext's error follows, and then the
    secret is a linear equation. Of bits only what was computed follows."""
    client, server = party()
    bits = random_bits(8)
    host = server.upload(client.encrypt(bits)).to_host()
    raw = ckks.Client.decrypt(client, host, raw=True)
    error = raw - bits
    assert 0 < np.abs(error).max() < 2**-10  # which an attacker would solve for the secret with
    seen = client.decrypt(host)
    assert np.array_equal(seen, bits)
    assert not np.any(seen - bits)  # nothing is left to solve with


def test_the_halves_have_lanes() -> None:
    from whorl import client as clients
    from whorl import server as servers

    assert not hasattr(servers.lanes, "Client")
    assert clients.lanes.Client is lanes.Client
