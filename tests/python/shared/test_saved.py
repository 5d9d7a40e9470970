"""What is saved, sent and pickled is checked before it is used."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit, Kit
from whorl import bgv, binfhe
from whorl._saved import Saved


@pytest.fixture(params=["parameters", "keys", "ciphertexts", "lut", "vectors", "public key"])
def insecure(request: pytest.FixtureRequest, kit: Kit, toy_bgv: BgvKit) -> Saved:
    """Of each type, under parameters of no security."""
    made: Saved = {
        "parameters": lambda: kit.parameters,
        "keys": lambda: toy_bgv.keys,
        "ciphertexts": lambda: kit.client.encrypt([[0, 1], [1, 1]]),
        "lut": lambda: binfhe.Lut(kit.parameters, [0, 1, 3, 2]),
        "vectors": lambda: toy_bgv.client.encrypt([[[1], [2]]]),
        "public key": lambda: toy_bgv.client.public_key(),
    }[request.param]()
    return made


def parts(value: Saved) -> tuple[Any, tuple[Any, ...]]:
    """What a pickle calls, and with what."""
    call, arguments = value.__reduce__()
    return call, arguments


class Forged:
    """Pickles to a call of somebody's choice."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.made = (call, arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.made


def test_a_pickle_is_a_frame(insecure: Saved) -> None:
    _, (frame, consent) = parts(insecure)
    assert frame == insecure.to_bytes() == bytes(insecure)
    assert consent is True
    again = pickle.loads(pickle.dumps(insecure))
    assert type(again) is type(insecure) and again.to_bytes() == frame


def test_consent_is_not_given_by_pickling(insecure: Saved) -> None:
    call, (frame, _) = parts(insecure)
    for arguments in ((frame,), (frame, False)):
        with pytest.raises(whorl.ParameterError, match="bits"):
            pickle.loads(pickle.dumps(Forged(call, *arguments)))


def test_what_is_secure_needs_no_consent() -> None:
    for chosen in (binfhe.parameters("W128_P64"), bgv.parameters(depth=1)):
        _, (_, consent) = parts(chosen)
        assert consent is False
        assert pickle.loads(pickle.dumps(chosen)) == chosen
    loose = binfhe.parameters("W128_P64", allow_insecure=True)
    assert parts(loose)[1][1] is False


def test_damaged_pickles_are_refused(insecure: Saved) -> None:
    call, (frame, consent) = parts(insecure)
    flipped = bytearray(frame)
    flipped[len(frame) * 2 // 3] ^= 16
    for bad, error in (
        (bytes(flipped), whorl.CorruptionError),
        (frame[:-1], whorl.TruncatedError),
        (frame + b"x", whorl.OversizedError),
    ):
        with pytest.raises(error):
            pickle.loads(pickle.dumps(Forged(call, bad, consent)))


def test_pickles_of_one_type_are_not_another(kit: Kit, tmp_path: Path) -> None:
    _, (keys, _) = parts(kit.keys)
    kit.client.save(tmp_path / "secret", "correct horse")
    secret = (tmp_path / "secret").read_bytes()
    for kind in (binfhe.Ciphertexts, binfhe.Lut, bgv.EvaluationKeys, bgv.PublicKey):
        for frame in (keys, secret):
            with pytest.raises(whorl.TypeMismatchError):
                pickle.loads(pickle.dumps(Forged(kind.from_bytes, frame, True)))


def test_limits_hold_for_pickles(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = pickle.dumps(kit.keys)
    monkeypatch.setattr(binfhe.EvaluationKeys, "_most", 1000)
    with pytest.raises(whorl.OversizedError):
        pickle.loads(pickled)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 2), (1, 2, 2)])
def test_shapes_are_kept(kit: Kit, toy_bgv: BgvKit, shape: tuple[int, ...], tmp_path: Path) -> None:
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 4
    for array in (kit.client.encrypt(numbers), toy_bgv.client.encrypt(numbers[..., None])):
        array.save(tmp_path / "array")
        kind = type(array)
        for again in (
            kind.load(tmp_path / "array", allow_insecure=True),
            kind.from_bytes(array.to_bytes(), allow_insecure=True),
            pickle.loads(pickle.dumps(array)),
            pickle.loads(pickle.dumps(array.reshape(-1))).reshape(shape),
        ):
            assert again.shape == shape
            assert np.array_equal(again.data, array.data)
