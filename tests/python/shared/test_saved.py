"""What is saved, sent and pickled is checked before it is used."""

import copy
import multiprocessing
import operator
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit, CkksKit, Kit, pickled, run_python
from whorl import bgv, binfhe, ckks
from whorl._core.saved import Saved


@pytest.fixture(
    params=[
        *("parameters", "keys", "ciphertexts", "lut", "vectors", "public key"),
        *("ckks parameters", "ckks keys", "ckks vectors", "ckks public key"),
    ]
)
def insecure(request: pytest.FixtureRequest, kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit) -> Saved:
    """One of each type, under parameters of no security."""
    made: Saved = {
        "parameters": lambda: kit.parameters,
        "keys": lambda: toy_bgv.keys,
        "ciphertexts": lambda: kit.client.encrypt([[0, 1], [1, 1]]),
        "lut": lambda: binfhe.Lut(kit.parameters, [0, 1, 3, 2]),
        "vectors": lambda: toy_bgv.client.encrypt([[[1], [2]]]),
        "public key": lambda: toy_bgv.client.public_key(),
        "ckks parameters": lambda: toy_ckks.parameters,
        "ckks keys": lambda: toy_ckks.keys,
        "ckks vectors": lambda: toy_ckks.client.encrypt([[[0.5 + 0j], [1j]]]),
        "ckks public key": lambda: toy_ckks.client.public_key(),
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
    _, (frame,) = parts(insecure)
    assert frame == insecure.to_bytes() == bytes(insecure)
    again = pickled(insecure)
    assert type(again) is type(insecure) and again.to_bytes() == frame


def test_consent_is_not_given_by_pickling(insecure: Saved) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        given = pickle.dumps(insecure, protocol)
        with pytest.raises(whorl.ParameterError, match=r"bits.*allow_insecure_pickles\(\)"):
            pickle.loads(given)


def test_consent_ends_with_its_block(insecure: Saved) -> None:
    given = pickle.dumps(insecure)

    def refused() -> None:
        with pytest.raises(whorl.ParameterError, match="bits"):
            pickle.loads(given)

    refused()
    with whorl.allow_insecure_pickles():
        with whorl.allow_insecure_pickles():
            pickle.loads(given)
        assert pickle.loads(given).to_bytes() == insecure.to_bytes()
        with ThreadPoolExecutor(1) as pool:  # as pools read results
            assert pool.submit(pickle.loads, given).result().to_bytes() == insecure.to_bytes()
    refused()
    with suppress(LookupError), whorl.allow_insecure_pickles():
        raise LookupError
    refused()


CHILD = """
import pickle, sys
import whorl
{consent}
try:
    pickle.load(open(sys.argv[1], "rb"))
    print("read")
except whorl.ParameterError:
    print("refused")
"""


@pytest.mark.parametrize(
    ("consent", "result"), [("", "refused"), ("whorl.allow_insecure_pickles()", "read")]
)
def test_a_process_consents_for_itself(
    insecure: Saved, tmp_path: Path, consent: str, result: str
) -> None:
    path = tmp_path / "pickle"
    path.write_bytes(pickle.dumps(insecure))
    with whorl.allow_insecure_pickles():  # of this process alone
        done = run_python(CHILD.format(consent=consent), str(path))
    assert (done.stdout, done.stderr) == (f"{result}\n", "")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_workers(kit: Kit, method: str) -> None:
    """A pool consents by its initialiser, and reads what workers return if the program consents."""
    a = kit.client.encrypt([0, 1, 1])

    def work(**options: Any) -> binfhe.Ciphertexts:
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(1, context, **options) as pool:
            return pool.submit(operator.itemgetter(slice(1, None)), a).result()

    with pytest.raises((whorl.ParameterError, BrokenProcessPool)):
        work()
    with whorl.allow_insecure_pickles():
        part = work(initializer=whorl.allow_insecure_pickles)
    assert kit.client.decrypt(part).tolist() == [1, 1]


def test_what_is_secure_needs_no_consent() -> None:
    for chosen in (
        binfhe.parameters("W128_P64"),
        bgv.parameters(depth=1),
        ckks.parameters(depth=1),
    ):
        assert pickle.loads(pickle.dumps(chosen)) == chosen


def test_copies_need_no_consent(insecure: Saved) -> None:
    """What does not change is not copied."""
    assert copy.copy(insecure) is insecure
    assert copy.deepcopy([insecure])[0] is insecure


def test_damaged_pickles_are_refused(insecure: Saved) -> None:
    call, (frame,) = parts(insecure)
    flipped = bytearray(frame)
    flipped[len(frame) * 2 // 3] ^= 16
    for bad, error in (
        (bytes(flipped), whorl.CorruptionError),
        (frame[:-1], whorl.TruncatedError),
        (frame + b"x", whorl.OversizedError),
    ):
        with pytest.raises(error):
            pickled(Forged(call, bad))


def test_pickles_of_one_type_are_not_another(kit: Kit, tmp_path: Path) -> None:
    _, (keys,) = parts(kit.keys)
    kit.client.save(tmp_path / "secret", "correct horse")
    secret = (tmp_path / "secret").read_bytes()
    for kind in (
        *(binfhe.Ciphertexts, binfhe.Lut, bgv.EvaluationKeys, bgv.PublicKey),
        *(ckks.Ciphertexts, ckks.EvaluationKeys, ckks.PublicKey),
    ):
        for frame in (keys, secret):
            with pytest.raises(whorl.TypeMismatchError):
                pickled(Forged(kind.from_bytes, frame, True))
            with pytest.raises(whorl.TypeMismatchError):
                pickled(Forged(kind._unpickle, frame))


def test_limits_hold_for_pickles(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = pickle.dumps(kit.keys)
    monkeypatch.setattr(binfhe.EvaluationKeys, "_most", 1000)
    with pytest.raises(whorl.OversizedError):
        pickle.loads(pickled)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 2), (1, 2, 2)])
def test_shapes_are_kept(
    kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit, shape: tuple[int, ...], tmp_path: Path
) -> None:
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 4
    for array in (
        kit.client.encrypt(numbers),
        toy_bgv.client.encrypt(numbers[..., None]),
        toy_ckks.client.encrypt(numbers[..., None], bound=4),
    ):
        array.save(tmp_path / "array")
        kind = type(array)
        for again in (
            kind.load(tmp_path / "array", allow_insecure=True),
            kind.from_bytes(array.to_bytes(), allow_insecure=True),
            pickled(array),
            pickled(array.reshape(-1)).reshape(shape),
        ):
            assert again.shape == shape
            assert np.array_equal(again.data, array.data)
