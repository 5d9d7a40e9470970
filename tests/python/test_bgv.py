"""BGV: parameters, encryption, arrays and their operators against NumPy, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import whorl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import BGV_ROTATIONS, BgvKit, bgv_literal, make_bgv_kit, run_python
from whorl.bgv import (
    Ciphertexts,
    Client,
    EncryptedArray,
    EvaluationKeys,
    Parameters,
    Plaintexts,
    Server,
    concatenate,
    parameters,
    stack,
)

Ints = np.ndarray[Any, np.dtype[np.int64]]


def random_values(kit: BgvKit, shape: tuple[int, ...], generator: np.random.Generator) -> Ints:
    return generator.integers(0, kit.t, size=(*shape, kit.N))


def packing(kit: BgvKit) -> Any:
    return "slots" if kit.parameters.has_slots else "coefficients"


def product(kit: BgvKit, a: Ints, b: Ints) -> Ints:
    """Slot by slot, or of polynomials modulo X^N + 1."""
    if kit.parameters.has_slots:
        return a * b % kit.t
    rows = []
    for x, y in zip(a.reshape(-1, kit.N), b.reshape(-1, kit.N), strict=True):
        full = np.convolve(x, y)
        full = np.append(full, 0)
        rows.append((full[: kit.N] - full[kit.N :]) % kit.t)
    return np.array(rows).reshape(a.shape)


def rolled(values: Ints, columns: int) -> Ints:
    rows = values.reshape(*values.shape[:-1], 2, -1)
    return np.roll(rows, -columns, axis=-1).reshape(values.shape)


# ---- parameters


def test_parameters_are_chosen_from_a_depth() -> None:
    chosen = parameters(depth=2)
    assert (chosen.t, chosen.depth, chosen.has_slots) == (65537, 2, True)
    assert chosen.security_bits >= 128
    assert chosen.limbs == len(chosen.chain)
    assert all(prime % (2 * chosen.N) == 1 for prime in (*chosen.chain, *chosen.special))
    assert chosen.digits == -(-chosen.limbs // chosen.digit_limbs)
    for part in (f"N = {chosen.N}", "65537", "slots", "bits of security"):
        assert part in chosen.describe()
    for part in (f"N={chosen.N}", "t=65537 (slots)", "bits of security"):
        assert part in repr(chosen)
    assert parameters(depth=2, N=2 * chosen.N).N == 2 * chosen.N
    wide = parameters(depth=2, prime_bits=55)
    assert wide.word_bits == 64 and chosen.word_bits == 32
    assert wide.chain[0] > 2**54
    assert not parameters(depth=1, plain_modulus=1000, slots=False).has_slots
    deeper = parameters(depth=2, sums=20)
    assert deeper.log2_Q > chosen.log2_Q


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"depth": 100}, "depth"),
        ({"depth": -1}, "depth"),
        ({"depth": 1.5}, "depth"),
        ({"depth": True}, "depth"),
        ({"plain_modulus": 1}, "t"),
        ({"plain_modulus": 2**31}, "t"),
        ({"plain_modulus": 1000}, "t"),
        ({"depth": 24}, "t"),
        ({"depth": 5, "N": 4096}, "N"),
        ({"N": 5000}, "N"),
        ({"N": 512}, "N"),
        ({"dnum": 0}, "dnum"),
        ({"dnum": 17}, "dnum"),
        ({"prime_bits": 40}, "prime_bits"),
        ({"prime_bits": 25}, "prime_bits"),
        ({"sums": -1}, "sums"),
        ({"sums": "3"}, "sums"),
    ],
)
def test_what_cannot_be_chosen_is_named(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
        parameters(**arguments)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"N": 1000}, "N"),
        ({"t": 1}, "t"),
        ({"chain": []}, "chain"),
        ({"chain": [1000003], "digit_limbs": 1}, "chain"),
        ({"chain": 3}, "chain"),
        ({"chain": ["3"]}, "chain"),
        ({"special": []}, "special"),
        ({"digit_limbs": 13}, "digit_limbs"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": "3"}, "sigma"),
        ({"name": "x" * 65}, "name"),
        ({"name": 3}, "name"),
        ({"colour": 3}, "colour"),
    ],
)
def test_a_bad_literal_names_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
        parameters(literal={**bgv_literal(), **changes}, allow_insecure=True)


def test_a_literal_of_ones_own(toy_bgv: BgvKit) -> None:
    literal = toy_bgv.parameters.literal()
    assert {k: literal[k] for k in bgv_literal()} == bgv_literal()  # type: ignore[literal-required]
    same = parameters(literal=literal, allow_insecure=True)
    assert same == toy_bgv.parameters and hash(same) == hash(toy_bgv.parameters)
    assert parameters(literal={**literal, "t": 65537}, allow_insecure=True) != same
    with pytest.raises(whorl.ParameterError, match="128"):
        parameters(literal=literal)
    for field in ("N", "t", "chain", "special"):
        rest = {k: v for k, v in literal.items() if k != field}
        with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
            parameters(literal=rest)
    with pytest.raises(TypeError):
        parameters(literal=3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        same.N = 3  # type: ignore[misc]


# ---- encryption


@given(shape=hnp.array_shapes(min_dims=0, max_dims=2, max_side=3), k=st.integers(1, 1024))
def test_round_trip(any_bgv: BgvKit, shape: tuple[int, ...], k: int) -> None:
    values = np.random.default_rng().integers(-(2**62), 2**62, size=(*shape, k))
    for encrypted in (
        any_bgv.client.encrypt(values, packing(any_bgv)),
        any_bgv.client.public_key().encrypt(values, packing(any_bgv)),
    ):
        assert encrypted.shape == shape and encrypted.size == int(np.prod(shape))
        assert (encrypted.level, encrypted.parts, encrypted.factor) == (0, 2, 1)
        decrypted = any_bgv.client.decrypt(encrypted)
        assert decrypted.shape == (*shape, any_bgv.N) and decrypted.dtype == np.int64
        assert np.array_equal(decrypted[..., :k], values % any_bgv.t)
        assert not decrypted[..., k:].any()
        assert np.all(any_bgv.client.noise_budget(encrypted) > encrypted.noise_budget)


def test_signed_values(any_bgv: BgvKit) -> None:
    t = any_bgv.t
    values = np.array([0, 1, -1, t // 2, -(t // 2) + 1, t - 1])
    encrypted = any_bgv.client.encrypt(values, packing(any_bgv))
    signed = any_bgv.client.decrypt(encrypted, signed=True)[: values.size]
    assert np.array_equal(signed % t, values % t)
    assert signed.min() >= -(t // 2) and signed.max() <= t // 2
    assert signed[2] == -1 and signed[5] == -1


def test_what_is_encrypted(toy_bgv: BgvKit) -> None:
    client, N, t = toy_bgv.client, toy_bgv.N, toy_bgv.t
    for values in (
        np.array([1, 0, 1], dtype=np.uint8),
        np.array([True, False]),
        np.array([2**64 - 1], dtype=np.uint64),
        [3, 4, 5],
        np.arange(2 * 8).reshape(2, 8)[:, ::2],
    ):
        expected = np.asarray(values).astype(object) % t
        got = client.decrypt(client.encrypt(values))
        assert np.array_equal(got[..., : expected.shape[-1]], expected.astype(np.int64))
    for wrong in (3, np.zeros((0, 4), int), np.zeros((2, 0), int), np.zeros(N + 1, int)):
        with pytest.raises(whorl.ShapeError):
            client.encrypt(wrong)
    for wrong in ([1.5], ["a"], [None], [2**70]):
        with pytest.raises(TypeError, match="integers"):
            client.encrypt(wrong)
    with pytest.raises(whorl.EncodingError, match="packing"):
        client.encrypt([1], "rows")  # type: ignore[arg-type]
    no_slots = make_bgv_kit(t=1000, limbs=3)
    with pytest.raises(whorl.EncodingError, match="slots"):
        no_slots.client.encrypt([1])
    with pytest.raises(whorl.EncodingError, match="slots"):
        no_slots.client.public_key().encrypt([1])


def test_encryptions_differ(toy_bgv: BgvKit) -> None:
    for source in (toy_bgv.client, toy_bgv.client.public_key()):
        a, b = source.encrypt([1]), source.encrypt([1])
        assert not np.array_equal(a.data, b.data)


# ---- arrays in the host's memory


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
def test_host_indexing(toy_bgv: BgvKit, data: st.DataObject, shape: tuple[int, ...]) -> None:
    numbers = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    encrypted = toy_bgv.client.encrypt(numbers[..., None])
    key = data.draw(
        st.one_of(
            hnp.basic_indices(shape, allow_newaxis=True),
            hnp.integer_array_indices(shape),
            hnp.arrays(bool, shape),
        )
    )
    expected = numbers[key]
    if expected.size == 0:
        with pytest.raises(whorl.ShapeError, match="empty"):
            encrypted[key]
        return
    part = encrypted[key]
    assert part.shape == expected.shape
    assert np.array_equal(toy_bgv.client.decrypt(part)[..., 0], expected)


def test_host_arrays(toy_bgv: BgvKit) -> None:
    client = toy_bgv.client
    numbers = np.arange(6).reshape(2, 3)
    x = client.encrypt(numbers[..., None])

    def plain(c: Ciphertexts) -> list[Any]:
        return client.decrypt(c)[..., 0].tolist()

    assert (len(x), x.ndim, x.size, x.limbs) == (2, 2, 6, toy_bgv.parameters.limbs)
    assert x.data.shape == (2, x.limbs, 6, toy_bgv.N) and x.nbytes == x.data.nbytes
    assert [plain(row) for row in x] == numbers.tolist()
    assert plain(x.reshape(3, -1)) == numbers.reshape(3, 2).tolist()
    assert plain(x.ravel()) == numbers.ravel().tolist()
    assert plain(x[0].broadcast_to((2, 3))) == [[0, 1, 2]] * 2
    assert plain(concatenate([x, x[:1]])) == [*numbers.tolist(), [0, 1, 2]]
    assert plain(concatenate([x, x], axis=1)) == np.concatenate([numbers] * 2, 1).tolist()
    assert plain(stack([x, x], axis=1)) == np.stack([numbers] * 2, 1).tolist()
    assert x.key_id == client.key_id and x.parameters == toy_bgv.parameters
    for part in ("(2, 3)", "slots", "level 0", "N=1024", x.key_id[:8]):
        assert part in repr(x)
    for wrong in (lambda: x.reshape(5), lambda: concatenate([x, x[0]]), lambda: concatenate([])):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(ValueError, match="read-only"):
        x.data[...] = 0
    lower = toy_bgv.server.mod_switch(x).to_host()
    with pytest.raises(whorl.ShapeError, match="limbs"):
        concatenate([x, lower])
    with pytest.raises(whorl.KeyMismatchError):
        concatenate([x, Client(toy_bgv.parameters).encrypt([[[1]]])])
    with pytest.raises(TypeError, match="server"):
        x + x
    with pytest.raises(TypeError, match="compared"):
        x == x  # noqa: B015
    with pytest.raises(TypeError):
        bool(x)
    with pytest.raises(TypeError):
        np.asarray(x)
    single = x[0, 0]
    for work in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            work(single)


def test_fresh_wholes_travel_as_seeds(toy_bgv: BgvKit) -> None:
    fresh = toy_bgv.client.encrypt(np.arange(4)[:, None])
    whole = len(toy_bgv.server.upload(fresh).to_host().to_bytes())
    assert len(fresh.to_bytes()) < 0.51 * whole
    assert len(fresh.reshape(2, 2).to_bytes()) == len(fresh.to_bytes())
    assert len(fresh[:2].to_bytes()) > 0.49 * whole
    again = pickle.loads(pickle.dumps(fresh.reshape(2, 2)))
    assert again.shape == (2, 2) and np.array_equal(again.data, fresh.data)
    assert np.array_equal(copy.deepcopy(fresh[1:]).data, fresh[1:].data)


# ---- operators


def test_operators(any_bgv: BgvKit, generator: np.random.Generator) -> None:
    kit, t = any_bgv, any_bgv.t
    x, y = (random_values(kit, (2,), generator) for _ in range(2))
    row = random_values(kit, (), generator)
    a = kit.server.upload(kit.client.encrypt(x, packing(kit)))
    b = kit.server.upload(kit.client.encrypt(y, packing(kit)))
    one = np.ones(kit.N, int)
    if not kit.parameters.has_slots:
        one = np.eye(1, kit.N, dtype=int)[0]
    rows = np.broadcast_to(row, x.shape)
    for got, expected in (
        (a + b, x + y),
        (a - b, x - y),
        (-a, -x),
        (+a, x),
        (a * b, product(kit, x, y)),
        (a.multiply(b, relinearise=False), product(kit, x, y)),
        (a.multiply(b, relinearise=False).relinearise(), product(kit, x, y)),
        (a.square(), product(kit, x, x)),
        (a**1, x),
        (a**3, product(kit, product(kit, x, x), x)),
        (a + 5, x + 5 * one),
        (5 + a, x + 5 * one),
        (a - 5, x - 5 * one),
        (5 - a, 5 * one - x),
        (a * -3, -3 * x),
        (np.int64(7) * a, 7 * x),
        (a + np.array(2), x + 2 * one),
        (a * 10**30, (10**30 % t) * x),
        (a + row, x + row),
        (row + a, x + row),
        (a - row, x - row),
        (row - a, row - x),
        (a * row, product(kit, x, rows)),
        (row * a, product(kit, x, rows)),
        (a + y, x + y),
        (a * y, product(kit, x, y)),
        (a.mod_switch() + b, x + y),
        (a.mod_switch(2) - b.mod_switch(3), x - y),
        (a * b - 3 * a.mod_switch(), product(kit, x, y) - 3 * x),
        (a.shrink(), x),
        (a.multiply(b, relinearise=False) + a, product(kit, x, y) + x),
        (a - a.multiply(b, relinearise=False), x - product(kit, x, y)),
    ):
        assert isinstance(got, EncryptedArray)
        assert got.noise_budget > 0
        assert np.array_equal(kit.client.decrypt(got), expected % t)
        assert np.all(kit.client.noise_budget(got) >= got.noise_budget)


@pytest.mark.parametrize("t", [2, 4, 1000, 30030, 65536, 12289])
def test_factors_of_composite_moduli_stay_invertible(t: int) -> None:
    """Sums of arrays with the same primes but other histories, and so other factors."""
    kit = make_bgv_kit(t=t, limbs=8)
    a = kit.server.upload(kit.client.encrypt([3, 1], "coefficients"))
    for i in range(3, 8):
        for j in range(3, 8):
            squared, other = a.mod_switch(i).square(), a.mod_switch(j)
            limbs = min(squared.limbs, other.limbs)
            total = squared.mod_switch(limbs) + other.mod_switch(limbs)
            values = kit.client.decrypt(total)
            assert values[:4].tolist() == [12 % t, 7 % t, 1 % t, 0]


def test_slots_move(toy_bgv: BgvKit, generator: np.random.Generator) -> None:
    kit = toy_bgv
    x = random_values(kit, (2, 1), generator)
    a = kit.server.upload(kit.client.encrypt(x))
    swapped = np.concatenate([x[..., kit.N // 2 :], x[..., : kit.N // 2]], axis=-1)
    for got, expected in (
        *((a.rotate(c), rolled(x, c)) for c in BGV_ROTATIONS),
        *zip(a.rotate_many(BGV_ROTATIONS), (rolled(x, c) for c in BGV_ROTATIONS), strict=True),
        (a.rotate(0), x),
        (a.rotate(1 + kit.N // 2), rolled(x, 1)),
        (a.rotate(1 - 2 * kit.N), rolled(x, 1)),
        (a.swap_rows(), swapped),
        (a.inner_sum(8), sum(rolled(x, c) for c in range(8))),
        (a.inner_sum(1), x),
        (a.multiply(a, relinearise=False).rotate(2), rolled(x * x, 2)),
    ):
        assert np.array_equal(kit.client.decrypt(got), expected % kit.t)
    assert a.rotate_many([]) == []


def test_powers_take_the_least_depth(toy_bgv: BgvKit) -> None:
    values = np.array([2, 3, 5, -1])
    a = toy_bgv.server.upload(toy_bgv.client.encrypt(values))
    for exponent in (2, 5, 7, 8):
        power = a**exponent
        expected = np.array([pow(int(v), exponent, toy_bgv.t) for v in values])
        assert np.array_equal(toy_bgv.client.decrypt(power)[:4], expected)
    deepest = a
    for _ in range(3):
        deepest = deepest.square()
    assert (a**7).limbs >= deepest.limbs - 1
    for wrong in (0, -1, 2**17, 1.5, "2", True):
        with pytest.raises(whorl.ParameterError, match="exponent"):
            a**wrong  # type: ignore[operator]


def test_broadcasting(toy_bgv: BgvKit) -> None:
    client, server = toy_bgv.client, toy_bgv.server
    numbers = np.arange(1, 7).reshape(2, 3)
    a = server.upload(client.encrypt(numbers[..., None]))

    def plain(c: EncryptedArray) -> list[Any]:
        return client.decrypt(c)[..., 0].tolist()

    assert plain(a * [7, 8]) == (7 * numbers).tolist()
    rows = np.array([[1], [2], [3]])
    assert plain(a + rows) == (numbers + rows[:, 0]).tolist()
    tens = np.array([[10], [20]])
    assert plain(a + tens[..., None]) == (numbers + tens).tolist()
    column = client.encrypt(tens[..., None])
    for c in (column, server.upload(column)):  # on the host, on the device
        assert plain(a + c) == (numbers + tens).tolist()
        assert plain(server.sub(c, a)) == (tens - numbers).tolist()
        assert plain(server.multiply(c, client.encrypt([[1], [2]]))) == [[10, 20], [20, 40]]
    one = server.upload(client.encrypt([[5]]))
    assert plain(a + one) == plain(one + a) == (numbers + 5).tolist()
    assert plain(one * a) == plain(a * one) == (5 * numbers).tolist()
    assert plain(one - a) == ((5 - numbers) % toy_bgv.t).tolist()
    assert plain(one * np.array([[1], [2], [3]])) == [5, 10, 15]
    assert plain(one[0] - np.array([[1], [2], [3]])) == [4, 3, 2]
    assert plain(one[0] + one[0]) == 10
    assert plain(a.mod_switch() * one + one.mod_switch(4)) == (5 * numbers + 5).tolist()
    assert a.reshape(3, 2).shape == (3, 2)
    assert plain(a[0].broadcast_to((2, 3))) == [numbers[0].tolist()] * 2
    assert plain(one + one.reshape(1, 1).reshape(1)) == [10]
    for wrong in (np.ones((4, 1), int), client.encrypt(np.ones((4, 1), int))):
        with pytest.raises(ValueError, match="broadcast"):
            a + wrong
    with pytest.raises(ValueError):
        a.reshape(5)


@given(data=st.data())
def test_device_arrays_index_as_numpy_does(toy_bgv: BgvKit, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    a = toy_bgv.server.upload(toy_bgv.client.encrypt(numbers[..., None]))
    table = toy_bgv.server.encode(numbers[..., None])
    key: Any = data.draw(
        st.one_of(
            hnp.basic_indices(shape, allow_newaxis=True),
            hnp.integer_array_indices(shape),
            hnp.arrays(np.bool_, shape),
        )
    )
    expected = numbers[key]
    if expected.size == 0:
        for whole in (a, table):
            with pytest.raises(whorl.ShapeError, match="empty"):
                whole[key]
        return
    part, rows = a[key], table[key]
    assert part.shape == rows.shape == expected.shape
    assert np.array_equal(toy_bgv.client.decrypt(part)[..., 0], expected)
    assert np.array_equal(toy_bgv.client.decrypt(part + rows)[..., 0], 2 * expected)


def test_device_arrays_are_sequences(toy_bgv: BgvKit) -> None:
    client, server = toy_bgv.client, toy_bgv.server
    numbers = np.arange(6).reshape(2, 3)
    a, table = server.upload(client.encrypt(numbers[..., None])), server.encode(numbers[..., None])
    for whole in (a, table):
        assert len(whole) == 2 and [each.shape for each in whole] == [(3,), (3,)]
        assert whole[-1, ::2].shape == (2,) and whole.ravel().shape == (6,)
        assert whole.reshape(3, -1).nbytes == whole[...].nbytes == whole.nbytes
        assert whole[1].nbytes == whole.nbytes // 2
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
            whole[2]
        with pytest.raises(IndexError, match="index -4 is out of bounds for axis 1 with size 3"):
            whole[0, -4]
        with pytest.raises(IndexError, match="boolean"):
            whole[np.array([True, False, True])]
        with pytest.raises(IndexError):
            whole["x"]
        for wrong in (len, iter):
            with pytest.raises(TypeError, match="0-d"):
                wrong(whole[0, 0])
        with pytest.raises(ValueError):
            whole.broadcast_to((5, 3))
    assert [client.decrypt(row)[:, 0].tolist() for row in a] == numbers.tolist()
    # A product of three parts, on another level: the account goes along.
    bare = a.mod_switch(9).multiply(a, relinearise=False)
    part = bare[1, [2, 0]]
    assert (part.parts, part.limbs, part.factor) == (3, bare.limbs, bare.factor)
    assert part.noise_budget == bare.noise_budget
    assert client.decrypt(part)[:, 0].tolist() == [25, 9]


def test_concatenate_on_the_device(toy_bgv: BgvKit) -> None:
    client, server = toy_bgv.client, toy_bgv.server
    numbers = np.arange(6).reshape(2, 3)
    host = client.encrypt(numbers[..., None])
    a = server.upload(host)

    def plain(c: EncryptedArray | Ciphertexts) -> list[Any]:
        assert isinstance(c, EncryptedArray)
        return client.decrypt(c)[..., 0].tolist()

    for axis in (0, 1, -1):
        expected = np.concatenate([numbers, numbers**2], axis).tolist()
        assert plain(concatenate([a, a * a], axis)) == expected
        expected = np.stack([numbers, numbers**2, numbers], axis).tolist()
        assert plain(stack([a, a * a, host], axis)) == expected
    assert plain(concatenate([host, a[:1]])) == [*numbers.tolist(), [0, 1, 2]]
    assert plain(concatenate([a])) == numbers.tolist()
    powers = [a**k for k in (1, 2, 4, 1)]
    together = concatenate(powers)
    assert together.limbs == min(each.limbs for each in powers)
    assert together.noise_budget > 0
    expected = np.concatenate([numbers**k for k in (1, 2, 4, 1)]).tolist()
    assert plain(together) == (np.array(expected) % toy_bgv.t).tolist()
    for join, wrong in (
        (concatenate, [a, a[:, :2]]),
        (concatenate, [a[0, 0], a[0, 0]]),
        (stack, [a, a[:1]]),
    ):
        with pytest.raises(ValueError):
            join(wrong)
    bare = a.multiply(a, relinearise=False)
    with pytest.raises(whorl.ShapeError, match="2 and of 3 parts"):
        concatenate([a, bare])
    with pytest.raises(whorl.EncodingError):
        concatenate([a, client.encrypt([[[1]] * 3], "coefficients")])
    with pytest.raises(whorl.KeyMismatchError):
        concatenate([a, Client(toy_bgv.parameters).encrypt([[[1]] * 3])])
    other = Server(toy_bgv.keys, device="cpu").upload(host)
    with pytest.raises(whorl.DeviceError):
        concatenate([a, other])
    with pytest.raises(TypeError):
        concatenate([a, numbers])  # type: ignore[list-item]


def test_prepared_plaintexts(any_bgv: BgvKit, generator: np.random.Generator) -> None:
    kit, t = any_bgv, any_bgv.t
    server, how = kit.server, packing(any_bgv)
    x, m = (random_values(kit, (2, 3), generator) for _ in range(2))
    a = server.upload(kit.client.encrypt(x, how))
    table = server.encode(m, how)
    assert (table.shape, table.ndim, table.size, len(table)) == ((2, 3), 2, 6, 2)
    assert table.packing == how and table.server is server and table.device == server.device
    assert table.parameters == kit.parameters
    assert table.nbytes == 6 * kit.N * a.nbytes // (2 * 6 * kit.N)
    for part in ("(2, 3)", how, f"N={kit.N}", "on cpu"):
        assert part in repr(table)
    low = a.mod_switch(kit.parameters.limbs - 2)
    for b in (a, low):
        for got, same, expected in (
            (b + table, b + m, x + m),
            (table + b, m + b, x + m),
            (b - table, b - m, x - m),
            (b * table, b * m, product(kit, x, m)),
            (table * b, m * b, product(kit, x, m)),
            (b * table[1], b * m[1], product(kit, x, np.broadcast_to(m[1], x.shape))),
            (b + table[0, 0], b + m[0, 0], x + m[0, 0]),
            (b[0] - table[:, :1], b[0] - m[:, :1], x[0] - m[:, :1]),
            (b[1, 1] * table, b[1, 1] * m, product(kit, np.broadcast_to(x[1, 1], x.shape), m)),
        ):
            assert got.noise_budget == same.noise_budget and got.factor == b.factor
            assert np.array_equal(got.to_host().data, same.to_host().data)
            assert np.array_equal(kit.client.decrypt(got), expected % t)
    assert np.array_equal(kit.client.decrypt(table - a), (m - x) % t)
    assert a.factor == 1 and (t in (2, 4) or low.factor != 1)


def test_plaintexts_that_do_not_fit(toy_bgv: BgvKit) -> None:
    server = toy_bgv.server
    a = server.upload(toy_bgv.client.encrypt(np.ones((2, 1), int)))
    table = server.encode([[1], [2], [3]])
    with pytest.raises(ValueError, match="broadcast"):
        a * table
    with pytest.raises(whorl.EncodingError, match="packed"):
        a + server.encode([1], "coefficients")
    with pytest.raises(whorl.DeviceError):
        a * Server(toy_bgv.keys, device="cpu").encode([1])
    for values, error in (
        (5, whorl.ShapeError),
        ([], whorl.ShapeError),
        (np.ones(1025, int), whorl.ShapeError),
        ([1.5], TypeError),
    ):
        with pytest.raises(error):
            server.encode(values)
    bare = make_bgv_kit(t=1000, limbs=3)
    with pytest.raises(whorl.EncodingError):
        bare.server.encode([1])
    for wrong in (np.asarray, pickle.dumps):
        with pytest.raises(TypeError):
            wrong(table)
    for operation in (lambda: table + table, lambda: table * 2, lambda: np.ones(3, int) * table):
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(TypeError, match="encode"):
        Plaintexts()
    with pytest.raises(TypeError):
        server.upload(table)  # type: ignore[arg-type]


def test_arrays_tell_what_they_are(toy_bgv: BgvKit) -> None:
    server = toy_bgv.server
    a = server.upload(toy_bgv.client.encrypt(np.ones((2, 3, 4), int)))
    assert (a.shape, a.ndim, a.size, len(a)) == ((2, 3), 2, 6, 2)
    assert a.server is server and a.device == server.device and "cpu" in a.device
    assert (a.level, a.limbs, a.parts, a.factor, a.packing) == (0, 12, 2, 1, "slots")
    assert a.nbytes == 2 * 12 * 6 * 1024 * 4
    assert a.key_id == toy_bgv.client.key_id and a.parameters == toy_bgv.parameters
    product_ = a.square().square().square()
    assert product_.level > 0 and product_.noise_budget < a.noise_budget
    assert product_.nbytes == 2 * product_.limbs * 6 * 1024 * 4, "of its third part nothing"
    for part in ("(2, 3)", "level 0 (12 of 12 limbs)", "2 parts", "bits of budget", "on cpu"):
        assert part in repr(a)
    assert a.shrink().nbytes < a.nbytes
    host = product_.to_host()
    assert host.shape == (2, 3) and host.noise_budget == pytest.approx(product_.noise_budget)
    with pytest.raises(TypeError, match="0-d"):
        len(server.upload(host[0, 0]))
    with pytest.raises(TypeError, match="compared"):
        a == a  # noqa: B015
    for wrong in (bool, np.asarray, pickle.dumps, hash):
        with pytest.raises(TypeError):
            wrong(a)
    with pytest.raises(TypeError):
        EncryptedArray()
    with pytest.raises(TypeError):
        Ciphertexts()
    with pytest.raises(TypeError, match="EvaluationKeys"):
        pickle.dumps(server)


# ---- what does not belong together


def test_others_ciphertexts_and_keys(toy_bgv: BgvKit) -> None:
    other_key = Client(toy_bgv.parameters)
    other = make_bgv_kit(limbs=3)
    a = toy_bgv.server.upload(toy_bgv.client.encrypt([1]))
    for wrong, error in (
        (other_key.encrypt([1]), whorl.KeyMismatchError),
        (other.client.encrypt([1]), whorl.ParameterMismatchError),
        (other.server.upload(other.client.encrypt([1])), whorl.DeviceError),
    ):
        with pytest.raises(error):
            a + wrong
    with pytest.raises(whorl.KeyMismatchError):
        toy_bgv.client.decrypt(other_key.encrypt([1]))
    with pytest.raises(whorl.ParameterMismatchError):
        toy_bgv.client.noise_budget(other.client.encrypt([1]))
    with pytest.raises(whorl.EncodingError, match="packed"):
        a + toy_bgv.client.encrypt([1], "coefficients")
    with pytest.raises(whorl.EncodingError, match="coefficients"):
        toy_bgv.server.rotate(toy_bgv.client.encrypt([1], "coefficients"), 1)


def test_missing_keys_are_named(toy_bgv: BgvKit) -> None:
    x = toy_bgv.client.encrypt([1])
    bare = Server(toy_bgv.client.evaluation_keys(relinearise=2), device="cpu")
    a = bare.upload(x)
    for work, match in (
        (lambda: a * a, "relinearise = 3"),
        (lambda: a.rotate(1), "rotation"),
        (lambda: a.swap_rows(), "exchange of rows"),
        (lambda: a.inner_sum(4), "rotation"),
    ):
        with pytest.raises(whorl.KeyMismatchError, match=match):
            work()
    assert bare.key_bytes == 0
    assert toy_bgv.client.decrypt(a.multiply(a, relinearise=False))[0] == 1
    b = toy_bgv.server.upload(x)
    cube = b.multiply(b, relinearise=False).multiply(b, relinearise=False)
    assert cube.parts == 4 and cube.relinearise().parts == 2
    with pytest.raises(whorl.KeyMismatchError, match="relinearise = 5"):
        cube.multiply(b)


def test_arguments_out_of_range(toy_bgv: BgvKit) -> None:
    a = toy_bgv.server.upload(toy_bgv.client.encrypt([1]))
    for work in (
        lambda: a.mod_switch(0),
        lambda: a.mod_switch(13),
        lambda: a.mod_switch(1).mod_switch(),
        lambda: a.inner_sum(3),
        lambda: a.inner_sum(1024),
        lambda: a.rotate(1.5),  # type: ignore[arg-type]
        lambda: a.rotate(2**70),
        lambda: toy_bgv.client.evaluation_keys(relinearise=1),
        lambda: toy_bgv.client.evaluation_keys(relinearise=9),
        lambda: toy_bgv.client.evaluation_keys(rotations=[1.5]),  # type: ignore[list-item]
        lambda: toy_bgv.client.evaluation_keys(inner_sum=3),
    ):
        with pytest.raises(whorl.ParameterError):
            work()
    for wrong in ([1.5], "a", None, [2**70]):
        with pytest.raises(TypeError):
            a + wrong  # type: ignore[operator]
        with pytest.raises(TypeError):
            a * wrong  # type: ignore[operator]
    with pytest.raises(whorl.ShapeError):
        a + np.ones(1025, int)
    for work in (
        lambda: Client("W128"),  # type: ignore[arg-type]
        lambda: toy_bgv.client.decrypt([1]),  # type: ignore[arg-type]
        lambda: toy_bgv.server.upload([1]),  # type: ignore[arg-type]
        lambda: toy_bgv.server.download([1]),  # type: ignore[arg-type]
        lambda: EvaluationKeys(3),  # type: ignore[arg-type]
        lambda: Parameters(3),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            work()
    with pytest.raises(whorl.DeviceError):
        Server(toy_bgv.keys, device="abacus")
    with pytest.raises(ValueError, match="threads"):
        Server(toy_bgv.keys, threads=-1)


# ---- keys


def test_keys_hold_what_was_asked_for(toy_bgv: BgvKit) -> None:
    client, half = toy_bgv.client, toy_bgv.N // 2
    keys = client.evaluation_keys(3, np.array([1, 2, -1, 0, 1]), swap_rows=True)
    assert keys.relinearise == 3 and keys.swap_rows
    assert keys.rotations == (1, 2, half - 1)
    assert client.evaluation_keys(inner_sum=8).rotations == (1, 2, 4)
    assert client.evaluation_keys(2).nbytes == 0
    for part in ("relinearise=3", "3 rotations", "swap_rows", "MiB"):
        assert part in repr(keys)
    for request in ({}, {"rotations": [1, -1, 4]}, {"relinearise": 5, "swap_rows": True}):
        size = client.key_size(**request)  # type: ignore[arg-type]
        assert size == toy_bgv.parameters.key_size(**request)  # type: ignore[arg-type]
        made = client.evaluation_keys(**request)  # type: ignore[arg-type]
        assert size == made.nbytes
        assert size <= len(made.to_bytes()) <= size + 1024
        # On a device the uniform halves are there, too.
        assert Server(made, device="cpu").key_bytes >= 2 * (size - 1024)


def test_progress(toy_bgv: BgvKit) -> None:
    seen: list[tuple[int, int]] = []
    toy_bgv.client.evaluation_keys(3, [1, 2], progress=lambda *report: seen.append(report))
    assert seen[-1] == (9, 9) and all(total == 9 for _, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt(f"{done} of {total}")

    with pytest.raises(KeyboardInterrupt):
        toy_bgv.client.evaluation_keys(3, progress=stop)
    toy_bgv.client.evaluation_keys(3, progress=True)


def test_two_threads_share_a_server(toy_bgv: BgvKit) -> None:
    from concurrent.futures import ThreadPoolExecutor

    client, server = toy_bgv.client, toy_bgv.server
    arrays = [server.upload(client.encrypt([i, 1])) for i in range(6)]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda a: (a * a + 1).rotate(1), arrays))
    for i, result in enumerate(results):
        values = client.decrypt(result)
        assert values[0] == 2 and values[toy_bgv.N // 2 - 1] == i * i + 1


def test_arrays_are_dropped_while_others_work(toy_bgv: BgvKit) -> None:
    """By the collector of garbage, in whichever thread it runs: calls hold no GIL."""
    import gc
    import threading

    client, server = toy_bgv.client, toy_bgv.server
    values = np.arange(8 * 4).reshape(8, 4)
    a = server.upload(client.encrypt(values))
    table = server.encode(values)
    expected = a * a + table
    due = expected.to_host().data
    done, failures = threading.Event(), []

    def drop() -> None:
        while not done.is_set():
            # In cycles, so that nothing but the collector frees them.
            for make in (lambda: a[::-1], lambda: a[0] + 1, lambda: table[::2], lambda: a[1]):
                cycle: list[Any] = [make()]
                cycle.append(cycle)
                del cycle
            gc.collect()

    def work() -> None:
        try:
            for _ in range(15):
                if not np.array_equal((a * a + table).to_host().data, due):
                    failures.append("other bits")
        except Exception as error:
            failures.append(repr(error))

    droppers = [threading.Thread(target=drop) for _ in range(2)]
    workers = [threading.Thread(target=work) for _ in range(2)]
    for thread in (*droppers, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    for thread in droppers:
        thread.join()
    assert not failures
    assert np.array_equal(client.decrypt(expected)[:, :4], (values**2 + values) % toy_bgv.t)


def test_ctrl_c_stops_work() -> None:
    done = run_python(
        "import _thread, threading, time, numpy as np, whorl\n"
        "bgv = whorl.bgv\n"
        "client = bgv.Client(bgv.parameters(depth=12))\n"
        "server = bgv.Server(client.evaluation_keys(), device='cpu')\n"
        "a = server.upload(client.encrypt(np.ones((24, 8), int)))\n"
        "started = time.perf_counter()\n"
        "threading.Timer(0.3, _thread.interrupt_main).start()\n"
        "try:\n"
        "    for _ in range(1000): a * a\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', time.perf_counter() - started < 3)\n"
    )
    assert done.stdout == "stopped True\n", done.stderr


# ---- secrets


def test_a_client_shows_and_sends_nothing(toy_bgv: BgvKit) -> None:
    client = toy_bgv.client
    for secret in (client, client._core, [client]):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="secret key"):
                pickle.dumps(secret, protocol)
        with pytest.raises(TypeError, match="secret key"):
            copy.deepcopy(secret)
    assert repr(client) == f"<Client of key {client.key_id[:8]}…, toy>"
    public = {name for name in dir(client._core) if not name.startswith("_")}
    assert public == {
        *("parameters", "key_id", "generate", "encrypt", "decrypt", "noise_budget"),
        *("public_key", "evaluation_keys", "save", "load"),
    }


def test_a_server_process_has_no_client() -> None:
    done = run_python(
        "import sys, whorl.bgv\n"
        "whorl.bgv.Server, whorl.bgv.EvaluationKeys, whorl.bgv.parameters(1)\n"
        "assert 'whorl.bgv._client' not in sys.modules\n"
        "print('alone')"
    )
    assert done.stdout == "alone\n", done.stderr
