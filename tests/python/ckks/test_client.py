"""Encryption, decryption and release."""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import DEVIATIONS, random_complex
from support import CkksKit
from whorl import ckks
from whorl.ckks import Client, Expectation, PublicKey, Server, Values


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
            assert np.abs(got - array).max() <= DEVIATIONS * host.error
            assert (host._core.seed is None) == (holder is public)


def test_raw_numbers_need_a_word(toy_ckks: CkksKit) -> None:
    host = toy_ckks.client.encrypt([0.5])
    with pytest.raises(ValueError, match=r"compute the secret key.*release\(ciphertexts\)"):
        toy_ckks.client.decrypt(host)
    with pytest.raises(TypeError):
        toy_ckks.client.decrypt(host, True)  # type: ignore[call-arg]


def test_the_norm_of_an_error_is_what_is_stated(toy_ckks: CkksKit) -> None:
    """It holds for coefficients, too, of which one has almost all of the message."""
    client, N = Client(toy_ckks.parameters), toy_ckks.parameters.N
    server = Server(client.evaluation_keys(), device="cpu")
    one, small = np.zeros(N), np.random.default_rng().uniform(-1, 1, N) / N
    one[0] = 1
    a = server.upload(client.encrypt(one, packing="coefficients"))
    b = server.upload(client.encrypt(small, 1 / N, "coefficients"))
    f = server.upload(client.encrypt([1.0, 0.0], packing="coefficients"))
    for result, exact in ((a, one), (f * b, small), (f * a, one)):
        errors = client.decrypt(result, raw=True) - exact
        # A sum of 1,024 squares has a deviation of 4.4 %: 1.3 is 6 away, a chance below 2^-30.
        assert np.sum(errors**2) < 1.3 * result.error**2


def test_release(toy_ckks: CkksKit) -> None:
    client = Client(toy_ckks.parameters)
    server = Server(client.evaluation_keys(), device="cpu")
    many = 100
    assert client.release(client.encrypt([0.5 + 0.5j]), many).dtype == np.complex128
    a = server.upload(client.encrypt([0.5, 0.25]))
    square = a * a
    # The noise of a slot's real part for 30 bits (docs/ckks-noise.md). Beyond 8 deviations: 2^-49.
    deviation = np.sqrt(6 * many * toy_ckks.parameters.N) * 2**15 * square.error
    assert np.abs(client.release(square, many) - [0.25, 0.0625]).max() < 8 * deviation
    with pytest.raises(whorl.NoiseError, match="take fewer queries or bits"):
        client.release(a, 2.0**40, 128)
    assert client.released == pytest.approx((2, 2 / many))


def test_the_count_can_be_kept(toy_ckks: CkksKit, tmp_path: Path) -> None:
    client, path = Client(toy_ckks.parameters), tmp_path / "secret.whorl"
    client.save(path, "correct horse")
    host = client.encrypt([0.5])
    client.release(host, 2)
    again = Client.load(path, "correct horse", allow_insecure=True)
    assert again.released == (0, 0)
    again.add_released(client.released)
    assert again.released == (1, 0.5)
    again.release(host, 2)
    with pytest.raises(whorl.ParameterError, match=r"1 result would spend 0\.5 .* after 2 results"):
        again.release(host, 2)
    wrongs: Any = ((-1, 0), (1, -0.5), (1, float("nan")), (1, float("inf")), (0.5, 1), (1, "a"))
    for wrong in wrongs:
        with pytest.raises(whorl.ParameterError, match=r"results|spent"):
            again.add_released(wrong)
    assert again.released == (2, 1)


def square(x: Any) -> Any:
    return x * x


def test_results_state_what_is_expected() -> None:
    made = ckks.plan(square, Values((3, 4), bound=2), scale_bits=50)
    [expected] = made.results
    client = Client(made.parameters())
    server = Server(client.evaluation_keys(**made.keys), device="cpu")
    values = np.linspace(-2, 2, 20).reshape(5, 4)
    many = 1e3

    def result(given: Any, bound: float = 2) -> Any:
        return square(server.upload(client.encrypt(given, bound)))

    for expect in (made, expected):
        assert np.abs(client.release(result(values), many, expect=expect) - values**2).max() < 0.5
        assert client.release(result(values[0]), many, expect=expect).shape == (4,)
        # Smaller bounds are within those of the plan.
        client.release(result(values / 2, 1), many, expect=expect)
    before = client.released
    x = server.upload(client.public_key().encrypt(values, 2))
    for message, wrong in (
        ("packing is real, .* state complex", result(values * 1j)),
        ("parts is 2, .* state 3", x.multiply(x, relinearise=False)),
        ("level is 0, .* state 1", x),
        ("length is 4, .* state 3", result(values[:, :3])),
        (r"bound is 2\^2 at most, .* state 2\^3\.16\d*: ", result(values, 3)),
        (r"error is 2\^-\d+.* at most, .* state 2\^-", (x * x + x * x).with_bound(4)),
    ):
        with pytest.raises(whorl.ParameterError, match=f"expect: {message}"):
            client.release(wrong, many, expect=expected)
    assert client.released == before


def test_expectations_are_plain(tmp_path: Path) -> None:
    made = ckks.plan(lambda x, y: [x * y, x - y], [Values(4), Values(1)], scale_bits=50)
    assert [each.level for each in made.results] == [0, 1]
    product, given = made.results
    difference: Any = given
    assert product != difference and hash(product) == hash(made.results[0])
    assert pickle.loads(pickle.dumps(product)) == product
    path = tmp_path / "expected.json"
    path.write_text(json.dumps(product))
    assert Expectation(*json.loads(path.read_text())) == product
    client: Any = Client(made.parameters())
    host = client.encrypt(np.zeros(4))
    for error, message, expect in (
        (whorl.ParameterError, "the plan has 2 results; give that of these ciphertexts", made),
        (TypeError, "a Plan or one of its results is needed, not tuple", tuple(difference)),
        (whorl.ParameterError, r"expect\.parts: -1 is", difference._replace(parts=-1)),
        (whorl.ParameterError, r"expect\.level: 0\.5 is not", difference._replace(level=0.5)),
        (whorl.ParameterError, r"expect\.scale: 'a' is not", difference._replace(scale="a")),
        (whorl.ParameterError, "expect: scale is 0,", difference._replace(scale=0)),
        (whorl.ParameterError, r"expect\.bound: 0\.0 is not p", difference._replace(bound=0)),
        (whorl.ParameterError, r"expect\.error: nan", difference._replace(error=math.nan)),
        (whorl.ParameterError, r"expect\.error: inf is not", difference._replace(error=math.inf)),
        (whorl.EncodingError, "packing: 'slots'", difference._replace(packing="slots")),
        (whorl.ParameterError, "packing: 1 is not", difference._replace(packing=1)),
        (whorl.ParameterMismatchError, "other parameters", ckks.plan(square, Values(4))),
    ):
        with pytest.raises(error, match=message):
            client.release(host, expect=expect)
    assert client.released == (0, 0)
    client.release(host, expect=difference)


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


def test_a_public_key_only_encrypts(toy_ckks: CkksKit) -> None:
    public = toy_ckks.client.public_key()
    assert isinstance(public, PublicKey) and public.parameters == toy_ckks.parameters
    assert public.key_id == toy_ckks.client.key_id and not hasattr(public, "decrypt")
    assert public.encrypt([0.5]).error > toy_ckks.client.encrypt([0.5]).error
    for part in ("PublicKey", "toy", "MiB"):
        assert part in repr(public)
