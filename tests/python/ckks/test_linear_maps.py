"""Linear maps of encrypted vectors against NumPy's, and in clear."""

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import LENGTHS, check, random_complex
from support import CkksKit, make_ckks_kit
from whorl import ckks
from whorl.ckks import LinearMap, Server, diagonals, linear_map


def kit_for(kit: CkksKit, *maps: LinearMap) -> CkksKit:
    """The same key, and a server with the rotations of these maps."""
    rotations = [distance for each in maps for distance in each.rotations]
    keys = kit.client.evaluation_keys(3, rotations)
    return CkksKit(kit.parameters, kit.client, keys, Server(keys, device="cpu"))


@pytest.mark.parametrize(
    "shape",
    [(1, 1), (1, 5), (5, 1), (4, 4), (3, 8), (8, 3), (7, 7), (2, 13), (3, 511), (511, 5), (5, 3)],
)
def test_matrices(
    any_ckks: CkksKit, generator: np.random.Generator, shape: tuple[int, int]
) -> None:
    x = random_complex(generator, 2, shape[1])
    matrix = random_complex(generator, *shape) / shape[1]
    of = linear_map(matrix)
    assert (of.length, of.columns) == shape
    assert np.allclose(of(x), x @ matrix.T)
    kit = kit_for(any_ckks, of)
    a = kit.server.upload(kit.client.encrypt(x))
    encoded = kit.server.encode(of)
    assert encoded.level == a.level and encoded.nbytes > 0
    assert encoded.key_switches <= encoded.diagonals
    got: Any
    for got in (of @ a, encoded @ a, matrix @ a, a @ matrix.T, a.apply(of), a.apply(encoded)):
        assert got.level == a.level - 1 and got.shape == (2,) and got.length == shape[0]
        check(kit, got, x @ matrix.T)
    assert np.array_equal((of @ a).to_host().data, (encoded @ a).to_host().data)
    # At a lower level, and of a product that is not relinearised yet.
    low = kit.server.encode(of, 1)
    check(kit, low @ a, x @ matrix.T)
    assert (low @ a).level == 0
    check(kit, of @ a.multiply(a, relinearise=False), x * x @ matrix.T)
    check(kit, kit.server.apply(kit.client.encrypt(x), of), x @ matrix.T)


def test_few_diagonals_of_long_vectors(toy_ckks: CkksKit, generator: np.random.Generator) -> None:
    n = 512
    weights: dict[int, Any] = {-2: 0.1, -1: 0.2, 0: 0.4, n // 2: 0.1}
    weights[1] = generator.uniform(-1, 1, n)
    of = diagonals(weights, n)
    x = generator.uniform(-1, 1, (3, n))
    expected = sum(np.asarray(w) * np.roll(x, -k, axis=-1) for k, w in weights.items())
    assert np.allclose(of(x), expected) and of(x).dtype == np.float64
    kit = kit_for(toy_ckks, of)
    a = kit.server.upload(kit.client.encrypt(x))
    result = of @ a
    assert result.packing == "real" and len(of.rotations) <= 5
    check(kit, result, expected)
    assert np.abs(kit.client.decrypt(result, raw=True) - expected).max() < 1e-5
    # A vector with a period that divides the map's.
    short = generator.uniform(-1, 1, 64)
    check(kit, of @ kit.server.upload(kit.client.encrypt(short)), of(short))
    check(kit, diagonals({0: 1j}, n) @ a, 1j * x)


def test_results_that_are_shorter(toy_ckks: CkksKit) -> None:
    """Sums of neighbours of a vector of four: two values, which repeat."""
    of = diagonals({0: 1, 2: 1}, 4, length=2)
    x = np.array([0.1, 0.2, 0.3, 0.4])
    assert np.allclose(of(x), [0.4, 0.6])
    kit = kit_for(toy_ckks, of)
    check(kit, of @ kit.server.upload(kit.client.encrypt(x)), [0.4, 0.6])
    with pytest.raises(whorl.ShapeError, match=r"rows 0 and 2.*differ"):
        diagonals({0: [1, 2, 3, 4]}, 4, length=2)


@pytest.mark.parametrize("n", [32, *LENGTHS])
def test_a_fourier_transform(toy_ckks: CkksKit, generator: np.random.Generator, n: int) -> None:
    forward = linear_map(np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n))
    back = linear_map(np.exp(2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n) / n)
    kit, x = kit_for(toy_ckks, forward, back), random_complex(generator, n)
    a = kit.server.upload(kit.client.encrypt(x))
    check(kit, forward @ a, np.fft.fft(x))
    check(kit, back @ (forward @ a), x)


def test_keys_of_low_levels_and_compact_plaintexts(
    toy_ckks: CkksKit, generator: np.random.Generator, tmp_path: Path
) -> None:
    """Values of any number, bounds on both sides of 1, each level up to the keys' own; keys go
    through a file."""
    client = toy_ckks.client
    maps = [diagonals({0: 0.5}, 1), linear_map(generator.uniform(-1, 1, (3, 3)))]
    maps.append(diagonals({0: 0.5, 1: 0.25, 3: 0.1}, 4))
    rotations = {distance for each in maps for distance in each.rotations}
    client.evaluation_keys(low_rotations={2: rotations}).save(tmp_path / "keys")
    keys = ckks.EvaluationKeys.load(tmp_path / "keys", allow_insecure=True)
    server = Server(keys, device="cpu")
    for bound in (0.25, 1.0, 8.0):
        for of, length in zip(maps, (1, 3, 4), strict=True):
            x = generator.uniform(-bound, bound, length)
            a = server.upload(client.encrypt(x, bound=bound))
            for level in (1, 2):
                for compact in (False, True):
                    y = server.encode(of, level, low_rotations=True, compact=compact) @ a
                    assert y.level == level - 1
                    check(toy_ckks, y, of(x))
    usual = toy_ckks.parameters.key_size(rotations=rotations)
    assert toy_ckks.parameters.key_size(low_rotations={1: rotations}) < usual
    top = toy_ckks.parameters.top
    refused: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (
            whorl.MissingKeyError,
            "low_rotations={3: ",
            lambda: server.encode(maps[2], 3, low_rotations=True),
        ),
        (
            whorl.ParameterError,
            f"0 … {top}",
            lambda: client.evaluation_keys(low_rotations={top + 1: [1]}),
        ),
        (TypeError, "a mapping", lambda: client.evaluation_keys(low_rotations=[1])),  # type: ignore[arg-type]
        (
            whorl.ParameterError,
            "options of a LinearMap",
            lambda: server.encode(ckks.MatrixProduct(2, 2), compact=True),  # type: ignore[call-overload]
        ),
    ]
    for error, text, call in refused:
        with pytest.raises(error, match=re.escape(text)):
            call()


def test_few_rotations() -> None:
    fast, small = (
        diagonals({k: 0.1 for k in range(48)}, 64, few_rotations=few) for few in (False, True)
    )
    assert len(small.rotations) < len(fast.rotations)
    again = pickle.loads(pickle.dumps(small))
    assert again.few_rotations and again.rotations == small.rotations


def test_maps_are_plain_data(generator: np.random.Generator) -> None:
    for of in (
        linear_map(random_complex(generator, 3, 5)),
        diagonals({-1: 0.5, 3: generator.uniform(-1, 1, 8)}, 8),
        linear_map(np.zeros((2, 2))),
    ):
        for again in (pickle.loads(pickle.dumps(of)), copy.copy(of)):
            assert (again.period, again.length, again.columns, again.rotations) == (
                *(of.period, of.length, of.columns, of.rotations),
            )
            assert again.diagonals.keys() == of.diagonals.keys()
            assert all(np.array_equal(v, of.diagonals[k]) for k, v in again.diagonals.items())
            assert repr(again) == repr(of)
    with pytest.raises(AttributeError, match="cannot be changed"):
        of.period = 4


def test_what_is_refused(toy_ckks: CkksKit) -> None:
    kit = toy_ckks
    swap, third = linear_map([[0, 1], [1, 0]]), linear_map(np.eye(3))
    host: Any = kit.client.encrypt([0.5, 0.25])
    x = kit.server.upload(host)
    other = kit_for(kit, swap)
    encoded = other.server.encode(swap)
    wrong: Any = [[1, 0], [0, 1]]
    bare = make_ckks_kit(depth=1)
    keyless = Server(kit.client.evaluation_keys(2), device="cpu")
    for error, match, work in (
        (whorl.ShapeError, r"shape \(3,\) is not .rows, columns.", lambda: linear_map([1, 2, 3])),
        (whorl.ShapeError, r"shape \(0, 2\)", lambda: linear_map(np.zeros((0, 2)))),
        (whorl.ShapeError, "different lengths", lambda: linear_map([[1], [1, 2]])),
        (whorl.EncodingError, r"nan at index \(0, 1\)", lambda: linear_map([[1, np.nan]])),
        (TypeError, "numbers are needed", lambda: linear_map([["a"]])),
        (whorl.ParameterError, "period: 0 is outside", lambda: diagonals({0: 1}, 0)),
        (whorl.ShapeError, "period 6", lambda: diagonals({0: 1}, 6)),
        (whorl.ShapeError, "results of 9 values", lambda: diagonals({0: 1}, 8, length=9)),
        (whorl.ShapeError, r"diagonal 1: shape \(3,\)", lambda: diagonals({1: [1, 2, 3]}, 4)),
        (whorl.ParameterError, "there is none", lambda: diagonals({}, 4)),
        (whorl.ParameterError, "there twice", lambda: diagonals({1: 1, -3: 1}, 4)),
        (whorl.ParameterError, "distance: 0.5", lambda: diagonals({0.5: 1}, 4)),  # type: ignore[dict-item]
        (whorl.EncodingError, "inf at index 1", lambda: diagonals({0: [1, np.inf]}, 2)),
        (TypeError, "a mapping", lambda: diagonals(wrong, 2)),
        (TypeError, "made by ckks.linear_map", LinearMap),
        (TypeError, "made by Server.encode", ckks.EncodedMap),
        (whorl.ShapeError, "vectors of 3 values, not of 2", lambda: third([1, 2])),
        (whorl.ShapeError, "power of two up to 4", lambda: diagonals({0: 1}, 4)([1, 2, 3])),
        (whorl.ShapeError, "2 values meet a matrix of 3 columns", lambda: third @ x),
        (whorl.ShapeError, "period 2 meet .* period 1", lambda: diagonals({0: 1}, 1) @ x),
        (whorl.ShapeError, "period 1024", lambda: kit.server.encode(diagonals({0: 1}, 1024))),
        (whorl.ParameterError, "level: 4 is outside", lambda: kit.server.encode(swap, 4)),
        (whorl.ParameterError, "level: 0 is outside", lambda: kit.server.encode(swap, 0)),
        (whorl.ParameterError, "scale = 0.5", lambda: kit.server.encode(swap, 1, 0.5)),
        (whorl.NoiseError, "takes 1 level, and the ciphertexts have 0", lambda: swap @ x.lower(0)),
        (
            whorl.NoiseError,
            "for level 3 meets .* level 2",
            lambda: other.server.apply(other.server.upload(host).lower(2), encoded),
        ),
        (whorl.DeviceError, "another server", lambda: encoded @ x),
        (TypeError, "a LinearMap or an EncodedMap is needed", lambda: x.apply(wrong)),
        (TypeError, "a LinearMap is needed", lambda: kit.server.encode(wrong)),
        (TypeError, "write map @ x", lambda: x @ swap),  # type: ignore[operator]
        (TypeError, "operators need a server", lambda: swap @ host),
        (TypeError, "cannot be pickled", lambda: pickle.dumps(encoded)),
        (
            whorl.MissingKeyError,
            r"evaluation_keys\(rotations=map\.rotations\)",
            lambda: keyless.apply(host, swap),
        ),
        (
            whorl.ParameterMismatchError,
            "toy",
            lambda: kit.server.apply(bare.client.encrypt([0.5, 0.25]), swap),
        ),
    ):
        with pytest.raises(error, match=match):
            work()
