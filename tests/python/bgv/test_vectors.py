"""Over the values of each vector: matrices, dot products, sums, means; vectors longer than N."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit, bgv_literal, make_bgv_kit, pickled
from whorl import bgv

T = 65537


@pytest.fixture(scope="module")
def wide() -> BgvKit:
    """t = 65537 and keys of sums and of one matrix's shape."""
    chosen = bgv.parameters(literal=bgv_literal(t=T, limbs=9), allow_insecure=True)
    client = bgv.Client(chosen)
    shapes = [(5, 3), (3, 5), (700, 4)]
    keys = client.evaluation_keys(**bgv.rotations_for(chosen, *shapes, sums=True))
    return BgvKit(chosen, client, keys, bgv.Server(keys, device="cpu"), chosen.N, chosen.t)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (700, 4)])
def test_matrices(wide: BgvKit, generator: np.random.Generator, shape: tuple[int, int]) -> None:
    m = generator.integers(-50, 50, size=shape)
    x = generator.integers(-50, 50, size=(2, shape[0]))
    a = wide.server.upload(wide.client.encrypt(x))
    prepared = wide.server.encode_matrix(m)
    assert prepared.shape == shape and prepared.nbytes > 0 and str(shape) in repr(prepared)
    got: Any
    for got in (a @ m, a @ prepared, m.T @ a, a @ m.tolist(), wide.server.matmul(a, m)):
        assert got.shape == (2,) and got.length == shape[1] and got.noise_budget > 0
        assert np.array_equal(wide.client.decrypt(got), x @ m % T)
    # Behind the values there may be anything.
    ones = wide.server.upload(wide.client.encrypt([1])).sum()
    assert wide.client.decrypt(a + ones, all_slots=True)[0, shape[0]] == 1
    due = (x + 1) @ m % T
    for plus in (a + 1, a + ones):
        assert np.array_equal(wide.client.decrypt(plus @ prepared), due)


def test_products_one_after_the_other(wide: BgvKit, generator: np.random.Generator) -> None:
    x, one, two = (generator.integers(-9, 9, size=s) for s in (5, (5, 3), (3, 5)))
    a = wide.server.upload(wide.client.encrypt(x))
    got = wide.client.decrypt(a @ one @ two, signed=True)
    assert np.array_equal(got, x @ one @ two)


def test_sums_means_and_dots(wide: BgvKit, generator: np.random.Generator) -> None:
    for length in (1, 5, wide.N, 2500):
        x, y = generator.integers(-99, 99, size=(2, 3, length))
        a, b = (wide.server.upload(wide.client.encrypt(v)) for v in (x, y))

        def read(array: bgv.EncryptedArray) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
            assert array.shape == (3,) and array.length == 1 and array.noise_budget > 0
            values = wide.client.decrypt(array, all_slots=True)
            assert values.shape == (3, wide.N) and (values == values[:, :1]).all()
            assert np.array_equal(wide.client.decrypt(array), values[:, :1])
            return values[:, 0]

        assert np.array_equal(read(a.sum()), x.sum(axis=-1) % T)
        assert np.array_equal(read((a + 3).sum()), (x + 3).sum(axis=-1) % T)
        dots = (x * y).sum(axis=-1) % T
        for got in (a.dot(b), a @ b, a.dot(wide.server.encode(y)), a.dot(y)):
            assert np.array_equal(read(got), dots)
        total, count = a.mean()
        assert count == length and np.array_equal(read(total), x.sum(axis=-1) % T)
        # What a sum meets keeps its length.
        centred = length * a - a.sum()
        assert centred.length == length
        due = (length * x - x.sum(axis=-1, keepdims=True)) % T
        assert np.array_equal(wide.client.decrypt(centred), due)
        assert np.array_equal(read(centred.sum()), due.sum(axis=-1) % T)


def test_mean_and_variance_in_the_documentation_s_way(wide: BgvKit) -> None:
    data = [3, 1, 4, 1, 5, 9, 2, 6]
    x = wide.server.upload(wide.client.encrypt(data))
    (total, n), squares = x.mean(), (x * x).sum()
    mean = wide.client.decrypt(total)[0] / n
    assert mean == np.mean(data)
    assert wide.client.decrypt(squares)[0] / n - mean**2 == pytest.approx(np.var(data))


def test_diagonals(wide: BgvKit, generator: np.random.Generator) -> None:
    d = generator.integers(0, T, size=(2, 3, wide.N))
    x = generator.integers(0, T, size=wide.N)
    a = wide.server.upload(wide.client.encrypt(x))
    maps = wide.server.encode_diagonals(d)
    rows = x.reshape(2, -1)
    terms = [np.roll(rows, -k, axis=-1).reshape(-1) * d[:, k] % T for k in range(3)]
    got = wide.client.decrypt(a @ maps)
    assert np.array_equal(got, sum(terms) % T)
    assert np.array_equal(wide.client.decrypt(a @ wide.server.encode_diagonals(d[1])), got[1])


def test_keys_are_named_as_asked(wide: BgvKit) -> None:
    chosen = wide.parameters
    none = bgv.Server(wide.client.evaluation_keys(rotations=[1, 2, -4]), device="cpu")
    x = none.upload(wide.client.encrypt([1, 2, 3]))
    held = "the keys hold rotations 1, 2, -4"
    for action, message in (
        (lambda: x.rotate(3), f"rotation by 3 has no key: .*=.3.; {held}"),
        (lambda: x.rotate(-1), f"rotation by -1 has no key: .*=.-1.; {held}"),
        (lambda: x.rotate_many([1, 5]), f"rotation by 5 has no key: .*=.5.; {held}"),
        (lambda: x.inner_sum(8), f"rotation by 4 has no key: .*=.4.; {held}"),
        (lambda: x.swap_rows(), f"the exchange of rows has no key: .*; {held}"),
        (lambda: x.sum(), "rotation by 4 has no key"),
        (lambda: x @ np.ones((3, 9), int), "rotation by -8 has no key"),
    ):
        with pytest.raises(whorl.MissingKeyError, match=message):
            action()
    request = bgv.rotations_for(chosen, (3, 2), diagonals=[(16, 5)])
    assert request == {"rotations": [-1, 2, 5, 10, 15, 20, 40, 60], "swap_rows": False}
    assert bgv.rotations_for(chosen, (1024, 1), sums=True)["swap_rows"]
    assert chosen.key_size(**request) > 0
    with pytest.raises(whorl.ShapeError, match="1025"):
        bgv.rotations_for(chosen, (2, 1025))
    parts = (bgv.rotations_for(chosen, (rows, 2)) for rows in (1024, 7))
    both = {each for part in parts for each in part["rotations"]}
    assert set(bgv.rotations_for(chosen, (1031, 2))["rotations"]) == both
    with pytest.raises(whorl.ShapeError, match="rows, columns"):
        bgv.rotations_for(chosen, (1, 2, 3))


def test_what_cannot_be_multiplied(wide: BgvKit) -> None:
    x = wide.server.upload(wide.client.encrypt([1, 2, 3]))
    for action, error, message in (
        (lambda: x @ np.ones((4, 2), int), whorl.ShapeError, "3 values .* 4 rows and 2 columns"),
        (lambda: x.sum() @ np.ones((1, 2), int), whorl.ShapeError, "1 values"),
        (lambda: x @ np.ones((2, 2, 2), int), whorl.ShapeError, "shape \\(2, 2, 2\\)"),
        (lambda: x @ np.ones((3, 2000), int), whorl.ShapeError, "2000"),
        (lambda: x @ [[1.5], [2], [3]], TypeError, "integers are needed"),  # type: ignore[operator]
        (lambda: x.dot([1, 2]), whorl.ShapeError, "3 values meet vectors of 2 values"),
        (lambda: x.dot(5), whorl.ShapeError, "single number"),
        (lambda: wide.server.encode_diagonals([[1, 2]]), whorl.ShapeError, "diagonals"),
    ):
        with pytest.raises(error, match=message):
            action()
    other = bgv.Server(wide.keys, device="cpu")
    with pytest.raises(whorl.DeviceError):
        x @ other.encode_matrix(np.ones((3, 2), int))
    with pytest.raises(TypeError, match="encode_matrix"):
        bgv.Matrix()


def test_long_vectors(wide: BgvKit, generator: np.random.Generator, tmp_path: Path) -> None:
    client, server, length = wide.client, wide.server, 2500
    x, y = generator.integers(0, 100, size=(2, 4, length))
    fresh = client.encrypt(x)
    assert (fresh.shape, fresh.length, fresh.data.shape[2]) == ((4,), length, 12)
    assert np.array_equal(client.decrypt(fresh), x)
    assert np.array_equal(client.decrypt(fresh, signed=True), x)
    assert client.noise_budget(fresh).shape == (4,)
    for part, due in ((fresh[1:3], x[1:3]), (fresh[-1], x[-1]), (fresh.reshape(2, 2), x)):
        assert np.array_equal(client.decrypt(part).reshape(due.shape), due)
        part.save(tmp_path / "part.whorl")
        again = bgv.Ciphertexts.load(tmp_path / "part.whorl", True)
        assert (again.shape, again.length) == (part.shape, length)
        assert np.array_equal(client.decrypt(again).reshape(due.shape), due)
        assert pickled(part).shape == part.shape
    public = client.public_key().encrypt(x[0])
    assert public.shape == () and np.array_equal(client.decrypt(public), x[0])
    assert np.array_equal(client.decrypt(bgv.concatenate([fresh, fresh[:1]]))[4], x[0])

    a, b = server.upload(fresh), server.upload(client.encrypt(y))
    row = y[0]
    table = server.encode(y)
    for got, expected in (
        (a + b, x + y),
        (a * b - 3, x * y - 3),
        (-a * row, -x * row),
        (a + y[:, ::-1], x + y[:, ::-1]),
        (a * table, x * y),
        (a[0] * b, x[0] * y),
        (a * b[2], x * y[2]),
        (a[1] * table, x[1] * y),
        (bgv.stack([a, b])[1], y),
        ((a**2)[1:], x[1:] ** 2),
        (a.to_host(), x),
    ):
        assert got.shape == expected.shape[:-1] and got.length == length
        assert np.array_equal(client.decrypt(got), expected % T)
    for action in (
        lambda: a.rotate(1),
        lambda: a.swap_rows(),
        lambda: a.inner_sum(2),
        lambda: a @ np.ones((length - 1, 2), int),
        lambda: a + client.encrypt([1, 2]),
        lambda: a * [1, 2],
        lambda: bgv.concatenate([a, server.upload(client.encrypt([[1]]))]),
    ):
        with pytest.raises(whorl.ShapeError):
            action()
    with pytest.raises(whorl.ShapeError, match="coefficients"):
        client.encrypt(x, "coefficients")


@pytest.mark.parametrize("length", [1025, 2500])
def test_matrices_of_long_vectors(generator: np.random.Generator, length: int) -> None:
    chosen = bgv.parameters(literal=bgv_literal(t=T, limbs=9), allow_insecure=True)
    client = bgv.Client(chosen)
    keys = client.evaluation_keys(**bgv.rotations_for(chosen, (length, 3)))
    server = bgv.Server(keys, device="cpu")
    x, m = (generator.integers(-50, 50, size=s) for s in ((2, length), (length, 3)))
    a = server.upload(client.encrypt(x))
    prepared = server.encode_matrix(m)
    assert prepared.shape == m.shape and prepared.nbytes > server.encode_matrix(m[:1024]).nbytes
    got: Any
    for got in (a @ m, m.T @ a, a @ prepared):
        assert (got.shape, got.length) == ((2,), 3) and got.noise_budget > 0
        assert np.array_equal(client.decrypt(got), x @ m % T)
    # What operations leave behind the values does not count.
    ones = np.ones(length, int)
    assert np.array_equal(client.decrypt((a * 2 - a + 1) @ m), (x + ones) @ m % T)
    with pytest.raises(whorl.ShapeError, match=f"{length} values meet a matrix of 1024 rows"):
        a @ m[:1024]


def test_short_vectors_meet_longer_ones(wide: BgvKit) -> None:
    """What lies behind the values never counts."""
    client, server = wide.client, wide.server
    x, y = server.upload(client.encrypt([1, 2])), server.upload(client.encrypt([1, 2, 3, 4]))
    ones = server.upload(client.encrypt([1])).sum()
    assert client.decrypt(x + 1).tolist() == [2, 3]
    assert client.decrypt(x + 1, all_slots=True)[:4].tolist() == [2, 3, 0, 0]
    assert client.decrypt(x + ones, all_slots=True)[:4].tolist() == [2, 3, 1, 1]
    budget = (x + 1).noise_budget
    assert budget > x.noise_budget - 2 and (x + ones + y).noise_budget < budget - 10
    for plus in (x + 1, 3 - (2 - x), x + ones):
        assert client.decrypt((plus + y).sum())[0] == 15
        assert client.decrypt((y - plus).sum())[0] == 5
        assert client.decrypt(plus * y).tolist() == [2, 6, 0, 0]
        assert client.decrypt((plus + np.ones(4, int)).sum())[0] == 9
        assert client.decrypt((plus + server.encode([1, 1, 1])).sum())[0] == 8
        both = bgv.concatenate([plus[None], y[None]])
        assert both.length == 4 and client.decrypt(both.sum())[:, 0].tolist() == [5, 10]
        assert client.decrypt(bgv.stack([y, plus]))[1, :4].tolist() == [2, 3, 0, 0]
        assert client.decrypt(plus.rotate(1))[:2].tolist() == [3, 0]
        assert client.decrypt(plus.inner_sum(2))[:3].tolist() == [5, 3, 0]
    # On the host nothing can be multiplied.
    host = (x + ones)[None].to_host()
    with pytest.raises(whorl.ShapeError, match="vectors of 2 values meet vectors of 4 values"):
        bgv.concatenate([host, client.encrypt([[1, 2, 3, 4]])])
    assert bgv.concatenate([host, client.encrypt([[5, 6]])]).length == 2


def test_sums_meet_long_vectors(wide: BgvKit, generator: np.random.Generator) -> None:
    client, server = wide.client, wide.server
    length = 2 * wide.N + 5
    x, y = generator.integers(0, 99, size=(2, 3)), generator.integers(0, 99, size=(2, length))
    totals, due = server.upload(client.encrypt(x)).sum(), x.sum(axis=-1, keepdims=True)
    table, encrypted = server.encode(y), server.upload(client.encrypt(y))
    for got, expected in (
        (totals + y, due + y),
        (totals * y, due * y),
        (y[0] - totals, y[0] - due),
        (totals - table, due - y),
        (totals[0] * table, due[0] * y),
        (totals * table[1], due * y[1]),
        (totals + encrypted, due + y),
        (totals[0] + y, due[0] + y),
    ):
        assert got.shape == (2,) and got.length == length
        assert np.array_equal(client.decrypt(got), expected % T)
    for one, other in ((totals, encrypted), (totals.to_host(), encrypted.to_host())):
        joined = bgv.concatenate([one, other])
        assert joined.shape == (4,) and joined.length == length
        both = np.concatenate([np.broadcast_to(due, y.shape), y])
        assert np.array_equal(client.decrypt(joined), both)
    # Sums of what is behind the values do not count.
    assert np.array_equal(client.decrypt((totals + y).sum())[:, 0], (due + y).sum(axis=-1) % T)


@pytest.mark.parametrize("length", [3, 1024, 3000])
def test_as_many_values_as_were_encrypted(
    wide: BgvKit, generator: np.random.Generator, tmp_path: Path, length: int
) -> None:
    client, server = wide.client, wide.server
    x, y = generator.integers(0, 100, size=(2, 2, length))
    a, b = server.upload(client.encrypt(x)), client.encrypt(y)
    single = a.mod_switch(1)
    assert single.limbs == 1 and np.array_equal(client.decrypt(single), x)
    for got, expected in (
        (a + b, x + y),
        (a - y, x - y),
        (a * b, x * y),
        (3 * a - 7, 3 * x - 7),
        (-a, -x),
        (a**2, x * x),
        (a.shrink(), x),
        (a[1], x[1]),
        (bgv.concatenate([a, server.upload(b)]), np.concatenate([x, y])),
        (a.sum(), x.sum(axis=-1, keepdims=True)),
        (a.dot(y[0]), x @ y[0][:, None]),
    ):
        got.to_host().save(tmp_path / "x.whorl")
        loaded = bgv.Ciphertexts.load(tmp_path / "x.whorl", True)
        for each in (got, loaded, pickled(loaded)):
            assert np.array_equal(client.decrypt(each), expected % T)
    each = -(-length // wide.N)
    assert client.decrypt(a, all_slots=True).shape == (2, each * wide.N)
    assert np.array_equal(client.decrypt(a, all_slots=True)[:, :length], x)


def test_lengths(wide: BgvKit) -> None:
    client, server = wide.client, wide.server
    a = server.upload(client.encrypt([[1, 2, 3], [4, 5, 6]]))
    assert (a.length, a[0].length, (a + np.arange(4)).length) == (3, 3, 4)
    assert (a + 1).length == 3 and a.rotate(1).length == wide.N
    host = (a + 1).to_host()
    assert pickled(host).length == 3
    # What is behind the values is known after a file, too.
    again = server.upload(pickled(host))
    assert client.decrypt(again.sum())[:, 0].tolist() == [9, 18]
    assert client.encrypt([1, 2], "coefficients").length == wide.N
    no_slots = make_bgv_kit(t=1000, limbs=3)
    with pytest.raises(whorl.EncodingError):
        no_slots.server.sum(no_slots.client.encrypt([1], "coefficients"))
