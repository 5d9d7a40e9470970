"""Products of integer matrices and arrays of ciphertexts, against NumPy's."""

from typing import Any

import numpy as np
import pytest
import whorl
from support import Kit, make_kit
from whorl.binfhe import Ciphertexts, Fresh, Lut, plan


@pytest.mark.parametrize("under", ["lwe", "ring"])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (0, 5)])
def test_shapes_and_values(
    kit: Kit, generator: np.random.Generator, under: str, shape: tuple[int, ...]
) -> None:
    weights = generator.integers(-2, 3, size=(4, 5))
    messages = generator.integers(0, 8, size=shape)
    bias = generator.integers(-(2**31), 2**31, size=4)
    x = kit.client.encrypt(messages, p=8, under=under)
    for constant in (bias, 3, bias.tolist()):
        got = kit.server.linear(weights, x, constant)
        assert got.under == under and got.shape == (*shape[:-1], 4)
        assert np.array_equal(kit.client.decrypt(got), (messages @ weights.T + constant) % 8)
    if not messages.size:
        return
    # The words are those of each row's sum.
    columns = np.moveaxis(np.arange(messages.size).reshape(shape), -1, 0)
    flat, words = kit.server.upload(x).ravel(), kit.server.linear(weights, x, bias).to_host().data
    for r in range(4):
        alone = kit.server.linear(weights[r], [flat[each] for each in columns], int(bias[r]))
        assert np.array_equal(alone.to_host().data, words[..., r, :])


def test_operators(kit: Kit, generator: np.random.Generator) -> None:
    weights = generator.integers(-2, 3, size=(4, 5))
    for shape in ((5,), (5, 3), (2, 5, 3)):
        messages = generator.integers(0, 8, size=shape)
        x = kit.server.upload(kit.client.encrypt(messages, p=8))
        products: list[Any] = [weights @ x, np.matmul(weights, x)]
        for each in products:
            assert np.array_equal(kit.client.decrypt(each), (weights @ messages) % 8)
        assert np.array_equal(kit.client.decrypt(weights[0] @ x), (weights[0] @ messages) % 8)
    for shape in ((4,), (3, 4), (2, 3, 4)):
        messages = generator.integers(0, 8, size=shape)
        x = kit.server.upload(kit.client.encrypt(messages, p=8))
        assert np.array_equal(kit.client.decrypt(x @ weights), (messages @ weights) % 8)
        assert np.array_equal(kit.client.decrypt(x @ [1, 2, 0, 1]), (messages @ [1, 2, 0, 1]) % 8)


def test_ranges(kit: Kit) -> None:
    weights = np.array([[1, 1, 1], [2, -1, 0]])
    x = kit.server.upload(kit.client.encrypt([1, 0, 1], p=8)).with_range(0, 1)
    got = kit.server.linear(weights, x, [0, 1])
    assert got.range == (0, 3) and np.array_equal(kit.client.decrypt(got), [2, 3])
    signed = kit.server.linear(weights, x, [0, -1])
    assert signed.range == (-2, 3) and np.array_equal(kit.client.decrypt(signed), [2, 1])
    with pytest.raises(whorl.EncodingError, match="are 11 integers"):
        kit.server.linear([[4, 4, 0], [-1, -1, 0]], x)
    padded = kit.client.encrypt([3, 2, 1], p=8, padding=True)
    with pytest.raises(whorl.EncodingError, match="the sum may be -7 … 21"):
        kit.server.linear(weights, padded)
    assert kit.server.linear(weights, padded, largest=6).largest == 6
    total = kit.server.linear(weights, padded, modular=True)
    assert np.array_equal(kit.client.decrypt(total), [6, 4]) and total.largest == 15


def test_two_layers(kit: Kit, generator: np.random.Generator) -> None:
    """A network of two layers, of which the last has no table: sums at Q, and one key switch for
    each neuron of the first."""
    first = generator.integers(-1, 2, size=(6, 9))
    second = generator.integers(-1, 2, size=(3, 6))
    sign = Lut(kit.parameters, [0, 1, 1, 1, 0, 0, 0, 0])
    bits = generator.integers(0, 2, size=(4, 9))
    bits[:, 3:] = 0  # so that sums lie in -3 … 3

    def network(x: Any) -> Any:
        neurons = x.server.linear(first, x).apply(sign, under="ring")
        return x.server.linear(second, neurons)

    x = kit.server.upload(kit.client.encrypt(bits, p=8, under="ring"))
    got = network(x)
    expected = ((bits @ first.T > 0) @ second.T) % 8
    assert got.under == "ring" and np.array_equal(kit.client.decrypt(got), expected)
    found = plan(network, Fresh((4, 9), p=8, under="ring"), parameters=kit.parameters)
    # A table without padding takes two rotations, of which the first is switched, too.
    assert found.costs["bootstraps"] == 2 * 4 * 6 and found.costs["key_switches"] == 2 * 4 * 6
    assert found.noise == (got.noise,)
    assert found.noise[0] >= (second**2).sum(axis=1).max()


def test_refusals(kit: Kit) -> None:
    x = kit.client.encrypt([[1, 2, 3]], p=8)
    for weights, error, words in (
        ([[1, 2]], whorl.ShapeError, r"\(1, 2\), and ciphertexts \(1, 3\)"),
        (np.zeros((0, 3), dtype=int), whorl.ShapeError, "neither of which is 0"),
        ([[[1, 2, 3]]], ValueError, r"weights has shape \(1, 1, 3\)"),
        ([[1, 2, 0.5]], TypeError, "0.5"),
        ([[1, 2, 2**31]], whorl.EncodingError, "2147483648"),
    ):
        with pytest.raises(error, match=words):
            kit.server.linear(weights, x)
    with pytest.raises(whorl.ShapeError, match=r"constant has shape \(3,\)"):
        kit.server.linear([[1, 2, 3]], x, [1, 2, 3])
    with pytest.raises(TypeError, match="stack makes one"):
        kit.server.linear([[1, 2, 3]], [x, x, x])
    with pytest.raises(whorl.ShapeError, match="@"):
        np.zeros((1, 1, 3), dtype=int) @ kit.server.upload(x)
    with pytest.raises(TypeError, match="integers are needed"):
        kit.server.upload(x) @ kit.server.upload(x)
    with pytest.raises(whorl.NoiseError, match="weighted sum"):
        kit.server.linear([[1, 2, 3], [2**20, 0, 0]], kit.server.upload(x))


def test_sums_that_are_known_nearly_state_their_bound() -> None:
    """Messages are fresh and carried only nearly, as a matrix and as a list."""
    toy = make_kit()
    p, random = 2**8, np.random.default_rng(11)
    x, weights = random.integers(0, p, (400, 24)), random.integers(-3, 4, (3, 24))
    fresh = toy.server.upload(toy.client.encrypt(x, p, allow_failure=1))
    some, few = [fresh[:, k] for k in range(4)], [9, -7, 5, 4]
    with pytest.raises(whorl.NoiseError, match="decryption of this weighted sum"):
        toy.server.linear(weights, fresh, modular=True)
    with pytest.raises(whorl.NoiseError, match="decryption of this weighted sum"):
        toy.server.linear(few, some, modular=True)
    product = toy.server.linear(weights, fresh, [1, 2, 3], modular=True, exact=False)
    alone = toy.server.linear(few, some, 5, modular=True, exact=False)
    wanted: Any = (x @ weights.T + [1, 2, 3], x[:, :4] @ few + 5)
    for found, exact in zip((product, alone), wanted, strict=True):
        apart = (toy.client.decrypt(found) - exact + p // 2) % p - p // 2
        # The bound is passed with 2^-40 at most, which is seven deviations.
        deviation = float(np.sqrt(np.mean(apart**2.0)))
        assert 0 < np.abs(apart).max() <= found.error_bound < p // 4
        assert 5 < (found.error_bound + 0.5) / deviation < 12
        assert -60 < found.failure_log2 <= -40
        host = found.to_host()
        loaded = Ciphertexts.from_bytes(host.to_bytes(), allow_insecure=True)
        for each in (host, loaded, toy.server.upload(loaded)):
            assert (each.error_bound, each.failure_log2) == (found.error_bound, found.failure_log2)
    # Sums of these are sums of what is known nearly, and tables read on from them.
    twice = toy.server.linear([2], [product], modular=True)
    assert twice.error_bound >= 2 * product.error_bound - 1
    smooth = np.minimum(np.arange(p), p - np.arange(p))
    table = Lut(toy.parameters, smooth, exact=False, one_rotation=True)
    with pytest.raises(whorl.NoiseError, match="within="):
        product.apply(table)
    bound = toy.server.error_bound(table, product[:3])
    read = toy.client.decrypt(product[:3].apply(table, bound))
    apart = (read - smooth[wanted[0][:3] % p] + p // 2) % p - p // 2
    assert np.abs(apart).max() <= bound


def test_exact_sums_stay_exact() -> None:
    """What has few errors may be said to be known nearly, and is read as before."""
    toy = make_kit()
    x = toy.client.encrypt([[1, 1], [0, 1]], p=4, padding=True)
    found = toy.server.linear([[1, 2]], x, largest=3, exact=False)
    assert toy.client.decrypt(found).tolist() == [[3], [2]] and found.error_bound == 0
    square = Lut(toy.parameters, np.arange(4) ** 2 % 4, padding=True)
    assert toy.client.decrypt(found.apply(square)).tolist() == [[1], [0]]
