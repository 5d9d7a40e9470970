"""EvalFloor, EvalSign and EvalDecomp: shapes, encodings, files, misuse."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import whorl
from support import LARGE, Kit, make_kit
from whorl.binfhe import Ciphertexts, EvaluationKeys, Lut, Server, parameters

P = 2**12


def test_numbers_of_any_shape(large_kit: Kit, generator: np.random.Generator) -> None:
    client, server = large_kit.client, large_kit.server
    numbers = np.append(generator.integers(P, size=4), [0, P - 1]).reshape(2, 3)
    x = server.upload(client.encrypt(numbers, P))
    floor = x.eval_floor(5)
    assert (floor.shape, floor.p, floor.padding) == ((2, 3), P >> 5, False)
    assert np.array_equal(client.decrypt(floor), numbers >> 5)
    sign = x[0].eval_sign()
    assert (sign.shape, sign.p) == ((3,), 4)
    assert np.array_equal(
        client.decrypt(sign & ~x[1].eval_sign()), (numbers >= P // 2)[0] & ~(numbers >= P // 2)[1]
    )
    digits = x.eval_decomp()
    assert [digit.p for digit in digits] == [4] * 6
    assert all(digit.shape == (2, 3) for digit in digits)
    total = sum(client.decrypt(digit) << 2 * place for place, digit in enumerate(digits))
    assert np.array_equal(total, numbers)


def test_comparing_and_rounding_signed_numbers(large_kit: Kit) -> None:
    """The sign of a difference, and rounding to the nearest."""
    client, server = large_kit.client, large_kit.server
    a, b = np.array([-900, 5, 700, 0]), np.array([-899, -900, 700, 1])
    x, y = client.encrypt(a % P, P), client.encrypt(b % P, P)
    assert client.decrypt(server.eval_sign(server.sub(x, y), p_out=2)).tolist() == [1, 0, 0, 1]
    rounded = client.decrypt(server.linear([1], [x], 8).eval_floor(4))
    signed = np.where(rounded >= P >> 5, rounded - (P >> 4), rounded)
    assert signed.tolist() == [-56, 0, 44, 0]


def test_padding_and_tables_on_digits(large_kit: Kit) -> None:
    client, server, params = large_kit.client, large_kit.server, large_kit.parameters
    numbers = np.array([0, 7, P // 2 - 1])
    x = server.upload(client.encrypt(numbers, P // 2, padding=True))
    assert client.decrypt(x.eval_sign(3, True)).tolist() == [0, 0, 0]
    assert x.eval_floor(2).padding
    # A sum modulo p may set the padding bit. Its floor is one modulo p >> bits, its sign is that
    # bit; it has no digits.
    total = server.add(x, client.encrypt([5, 6, 1], P // 2, padding=True), modular=True)
    assert client.decrypt(total).tolist() == [5, 13, 0]
    assert client.decrypt(total.eval_floor(2)).tolist() == [1, 3, 0]
    assert (total.largest, total.eval_floor(2).largest) == (P - 1, P // 4 - 1)
    assert client.decrypt(total.eval_sign()).tolist() == [0, 0, 1]
    with pytest.raises(whorl.EncodingError, match="eval_decomp takes messages 0 … 2047"):
        total.eval_decomp()
    low = x.eval_decomp()[0]
    square = Lut(params, lambda m: m * m % 4, p=4)
    assert client.decrypt(low.apply(square)).tolist() == [0, 1, 1]


def test_keys_of_several_bases_travel(large_kit: Kit, tmp_path: Path) -> None:
    keys = large_kit.keys
    assert large_kit.parameters.small_modulus_gadgets == ((17, 18, 2), (12, 27, 1))
    keys.save(tmp_path / "keys.whorl")
    loaded = EvaluationKeys.load(tmp_path / "keys.whorl", allow_insecure=True)
    assert loaded.parameters == large_kit.parameters
    x = large_kit.client.encrypt([1, P - 1, 2000], P)
    x.save(tmp_path / "x.whorl")
    again = Ciphertexts.load(tmp_path / "x.whorl", allow_insecure=True)
    server = Server(loaded, device="cpu")
    ours = large_kit.server.eval_sign(x).to_host()
    assert np.array_equal(server.eval_sign(again).to_host().data, ours.data)
    # Results keep their noise in files.
    floor = server.eval_floor(again, 3).to_host()
    floor.save(tmp_path / "floor.whorl")
    back = Ciphertexts.load(tmp_path / "floor.whorl", allow_insecure=True)
    assert (back.p, back.noise) == (P >> 3, floor.noise)
    assert large_kit.client.decrypt(server.eval_sign(back)).tolist() == [0, 1, 0]
    with whorl.allow_insecure_pickles():
        assert pickle.loads(pickle.dumps(floor)).noise == floor.noise


def test_results_with_less_noise_than_encryptions_travel() -> None:
    """A floor, and the digits of a constant, may have less error than a set's encryptions."""
    kit = make_kit(
        **{"name": "noisy encryptions", "q": 2**15, "N": 512, "Q": 18014398509404161},
        **{"Q_ks": 2**35, "log_B_ks": 5, "gadget": [(32, 18, 2)], "transform": "ntt"},
        sigma_lwe=12.0,
    )
    for x, values in (
        (kit.server.upload(kit.client.encrypt([100, 37], p=128)), np.array([100, 37])),
        (kit.server.trivial([100, 37], p=128), np.array([100, 37])),
    ):
        for array, expected in (
            (x.eval_floor(3), values >> 3),
            (x.eval_sign(), values >> 6),
            *((digit, values >> 2 * place & 3) for place, digit in enumerate(x.eval_decomp())),
        ):
            host = array.to_host()
            again = Ciphertexts.from_bytes(host.to_bytes(), allow_insecure=True)
            assert again.noise == host.noise
            assert np.array_equal(kit.client.decrypt(again) % host.p, expected % host.p)


def test_one_base_and_several_differ_in_keys_and_digest() -> None:
    one = parameters("openfhe_1_6/STD128_LOGQ_25", allow_insecure=True)
    more = parameters("openfhe_1_6/STD128_LOGQ_25_TIME", allow_insecure=True)
    assert one != more and one.digest != more.digest
    assert more.rotation_key_rows * 2 == one.rotation_key_rows * 3  # digits: 2, and 2 + 1
    assert more.sign_failure_log2(2**17) < -64 and one.sign_failure_log2(2**18) == 0
    assert len(more.noise().small_modulus_rotations) == 1
    assert parameters(more.literal(), allow_insecure=True) == more


def test_misuse_is_named(large_kit: Kit) -> None:
    client, server = large_kit.client, large_kit.server
    x = client.encrypt([1, 2], P)
    for bits in (0, 12, 99):
        with pytest.raises(whorl.EncodingError, match=f"round_bits = {bits} is not in 1 … 11"):
            server.eval_floor(x, bits)
    with pytest.raises(TypeError, match="round_bits"):
        server.eval_floor(x, 1.5)  # type: ignore[arg-type]
    with pytest.raises(whorl.EncodingError, match="power of two in 2 … 4096"):
        server.eval_sign(client.encrypt([1], 1000))
    with pytest.raises(whorl.EncodingError, match="is not in 2 … 4096"):
        client.encrypt([1], 2 * P)
    with pytest.raises(whorl.EncodingError, match="of gates and tables"):
        server.bootstrap(x)
    failure = large_kit.parameters.sign_failure_log2(P)
    assert -1000 < failure < -40
    strict = Server(large_kit.keys, device="cpu", allow_failure=2.0 ** (failure - 1))
    with pytest.raises(whorl.NoiseError, match="eval_sign with p = 4096 under large fails"):
        strict.eval_sign(x)
    Server(large_kit.keys, device="cpu", allow_failure=2.0 ** (failure + 1)).eval_sign(x)
    # A floor has a figure of its own, and digits that of the sign.
    floor = large_kit.parameters.floor_failure_log2(P, 5)
    assert -1000 < floor <= failure
    assert large_kit.parameters.floor_failure_log2(P, 0) == 0
    assert large_kit.parameters.floor_failure_log2(P, 12) == 0
    assert large_kit.parameters.floor_failure_log2(P - 1, 5) == 0
    below = Server(large_kit.keys, device="cpu", allow_failure=2.0 ** (floor - 1))
    with pytest.raises(whorl.NoiseError, match="eval_floor with p = 4096 under large fails"):
        below.eval_floor(x, 5)
    above = Server(large_kit.keys, device="cpu", allow_failure=2.0 ** (floor + 1))
    above.eval_floor(x, 5)
    with pytest.raises(whorl.NoiseError, match="eval_decomp with p = 4096 under large fails"):
        strict.eval_decomp(x)
    with pytest.raises(whorl.ParameterError, match="small_modulus_gadgets log_modulus = 21"):
        make_kit(**LARGE | {"small_modulus_gadgets": [(21, 18, 2)]})
    with pytest.raises(whorl.ParameterError, match="log_modulus, log_base, digits"):
        make_kit(**LARGE | {"small_modulus_gadgets": [(17, 18)]})
