"""What does not belong together, and arguments out of range."""

from collections.abc import Callable

import numpy as np
import pytest
import whorl
from support import BgvKit, Kit
from whorl.bgv import Client, EvaluationKeys, Parameters, Server


def test_packings_do_not_mix(toy_bgv: BgvKit) -> None:
    a = toy_bgv.server.upload(toy_bgv.client.encrypt([1]))
    with pytest.raises(whorl.EncodingError, match="packed"):
        a + toy_bgv.client.encrypt([1], "coefficients")
    with pytest.raises(whorl.EncodingError, match="coefficients"):
        toy_bgv.server.rotate(toy_bgv.client.encrypt([1], "coefficients"), 1)


def test_the_other_scheme_is_named(toy_bgv: BgvKit, kit: Kit) -> None:
    bits, row = kit.client.encrypt([1]), toy_bgv.client.encrypt([1])
    on_device = kit.server.upload(bits)
    wanted = "ciphertexts of BGV are needed, not of FHEW/TFHE"
    for work, match in (
        (lambda: toy_bgv.client.decrypt(bits), wanted),  # type: ignore[arg-type]
        (lambda: toy_bgv.client.decrypt(on_device), wanted),  # type: ignore[arg-type]
        (lambda: toy_bgv.server.upload(bits), wanted),  # type: ignore[arg-type]
        (
            lambda: kit.client.decrypt(row),  # type: ignore[arg-type]
            "ciphertexts of FHEW/TFHE are needed, not of BGV",
        ),
        (
            lambda: Server(kit.keys),  # type: ignore[arg-type]
            r"keys: whorl\.bgv\.EvaluationKeys, .* not whorl\.binfhe\.EvaluationKeys$",
        ),
        (lambda: Server(3), "not int$"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=match):
            work()


def test_keys_for_vectors_are_named(toy_bgv: BgvKit) -> None:
    bare = Server(toy_bgv.client.evaluation_keys(), device="cpu")
    a = bare.upload(toy_bgv.client.encrypt([1, 2]))
    sums = r"rotation by .*client.evaluation_keys\(sums=2\)$"
    for work, match in (
        (lambda: a.sum(), f"^a sum needs .*{sums}"),
        (lambda: a.mean(), f"^a mean needs .*{sums}"),
        (lambda: a.dot(a), f"^a dot product needs .*{sums}"),
        (lambda: a @ [[1, 2], [3, 4]], r"^a product with a matrix .*\(parameters, \(2, 2\)\)\)$"),
        (
            lambda: a @ bare.encode_diagonals(np.ones((4, toy_bgv.N), dtype=int)),
            r"^a product with diagonals .*diagonals=\[\(4, step\)\]\)\)$",
        ),
    ):
        with pytest.raises(whorl.MissingKeyError, match=match):
            work()


def test_a_spent_bound_is_refused(toy_bgv: BgvKit) -> None:
    """Products beyond the depth of the set: no wrong value without a word."""
    values = np.arange(toy_bgv.N)
    array = toy_bgv.server.upload(toy_bgv.client.encrypt(values))
    while array.noise_budget > 0:
        assert np.array_equal(toy_bgv.client.decrypt(array), values)
        array, values = array * array, values * values % toy_bgv.t
    with pytest.raises(whorl.NoiseError, match=r"budget is spent: by its bound -?\d+\.\d bits"):
        toy_bgv.client.decrypt(array)
    assert toy_bgv.client.decrypt(array, allow_spent=True).shape == (array.length,)


def test_arguments_out_of_range(toy_bgv: BgvKit) -> None:
    a = toy_bgv.server.upload(toy_bgv.client.encrypt([1]))
    work: Callable[[], object]
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
        lambda: toy_bgv.client.evaluation_keys(sums=-1),
    ):
        with pytest.raises(whorl.ParameterError):
            work()
    t = toy_bgv.t
    for beyond in (t, -t, 2**63, -(10**30), [0, t], np.array([0, -t])):
        for refused in (
            lambda: a + beyond,  # noqa: B023
            lambda: beyond - a,  # noqa: B023
            lambda: a - beyond,  # noqa: B023
            lambda: a * beyond,  # noqa: B023
        ):
            with pytest.raises(whorl.EncodingError, match=rf"value -?\d+.* not in .* t = {t}"):
                refused()
    with pytest.raises(whorl.EncodingError, match=f"value {t} at index 1"):
        toy_bgv.server.encode([0, t])
    for wrong in ([1.5], "a", None):
        with pytest.raises(TypeError):
            a + wrong
        with pytest.raises(TypeError):
            a * wrong
    with pytest.raises(whorl.ShapeError):
        a + np.ones(1025, int)
    for work in (
        lambda: Client("W128"),
        lambda: toy_bgv.client.decrypt([1]),  # type: ignore[arg-type]
        lambda: toy_bgv.server.upload([1]),  # type: ignore[arg-type]
        lambda: toy_bgv.server.download([1]),  # type: ignore[arg-type]
        lambda: EvaluationKeys(3),
        lambda: Parameters(3),
    ):
        with pytest.raises(TypeError):
            work()
    with pytest.raises(whorl.DeviceError):
        Server(toy_bgv.keys, device="abacus")
    with pytest.raises(ValueError, match="threads"):
        Server(toy_bgv.keys, threads=-1)
