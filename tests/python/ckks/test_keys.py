"""Keys hold what was asked for; missing ones are named."""

import pytest
import whorl
from ckks_values import check
from support import CKKS_ROTATIONS, CkksKit
from whorl.ckks import EvaluationKeys, Server


def test_keys_hold_what_was_asked_for(toy_ckks: CkksKit) -> None:
    client, half = toy_ckks.client, toy_ckks.parameters.slots
    keys = client.evaluation_keys(3, [1, 2, -1, 0, 1], conjugate=True)
    assert keys.relinearise == 3 and keys.conjugate
    assert keys.rotations == (1, 2, half - 1)
    assert client.evaluation_keys(sums=8).rotations == (1, 2, 4)
    assert client.evaluation_keys(2).nbytes == 0
    assert set(toy_ckks.keys.rotations) == {each % half for each in (*CKKS_ROTATIONS, 4)}
    for part in ("relinearise=3", "3 rotations", "conjugate", "MiB"):
        assert part in repr(keys)
    for request in ({}, {"rotations": [1, -1, 4]}, {"relinearise": 5, "conjugate": True}):
        size = toy_ckks.parameters.key_size(**request)  # type: ignore[arg-type]
        assert size == client.evaluation_keys(**request).nbytes  # type: ignore[arg-type]
        # All keys without bootstraps have one size.
        count = toy_ckks.parameters.key_count(**request)  # type: ignore[arg-type]
        assert size == count * toy_ckks.parameters.key_size()
    assert toy_ckks.parameters.key_count(2) == 0
    assert toy_ckks.parameters.key_count(5, [1, -1, 1], True, 4) == 3 + 3 + 1


def test_missing_keys_are_named(toy_ckks: CkksKit) -> None:
    client = toy_ckks.client
    bare = Server(client.evaluation_keys(relinearise=2), device="cpu")
    a = bare.upload(client.encrypt([0.5, 0.25]))
    for work, match in (
        (lambda: a * a, "relinearise = 3"),
        (lambda: a.rotate(1), r"rotation by 1 .*rotations \{1\}"),
        (lambda: a.conjugate(), r"^a conjugate needs .*evaluation_keys\(conjugate=True\)$"),
        (lambda: a.sum(), r"^a sum needs .*evaluation_keys\(sums=2\)$"),
    ):
        with pytest.raises(whorl.KeyMismatchError, match=match):
            work()
    assert bare.key_bytes == 0
    check(toy_ckks, a.multiply(a, relinearise=False), [0.25, 0.0625])
    b = toy_ckks.server.upload(client.encrypt([0.5]))
    cube = b.multiply(b, relinearise=False).multiply(b, relinearise=False)
    assert cube.parts == 4 and cube.relinearise().parts == 2
    check(toy_ckks, cube.relinearise(), [0.125])


def test_arguments_out_of_range(toy_ckks: CkksKit) -> None:
    client, a = toy_ckks.client, toy_ckks.server.upload(toy_ckks.client.encrypt([0.5] * 4))
    for work in (
        lambda: client.evaluation_keys(relinearise=1),
        lambda: client.evaluation_keys(relinearise=9),
        lambda: client.evaluation_keys(rotations=[1.5]),  # type: ignore[list-item]
        lambda: client.evaluation_keys(sums=-1),
        lambda: a.rotate(1.5),  # type: ignore[arg-type]
        lambda: a.rotate(2**70),
    ):
        with pytest.raises(whorl.ParameterError):
            work()
    three = toy_ckks.server.upload(client.encrypt([0.5] * 3))
    with pytest.raises(whorl.ShapeError, match="3 values has no period"):
        three.rotate(1)
    flat = toy_ckks.server.upload(client.encrypt([0.5], packing="coefficients"))
    for refused in (lambda: flat.rotate(1), lambda: flat.conjugate(), lambda: flat * 1j):
        with pytest.raises(whorl.EncodingError, match="coefficients"):
            refused()
    for wrong in (
        lambda: EvaluationKeys(3),
        lambda: Server(3),  # type: ignore[arg-type]
        lambda: toy_ckks.server.upload([1]),  # type: ignore[arg-type]
        lambda: toy_ckks.server.download([1]),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(whorl.DeviceError):
        Server(toy_ckks.keys, device="abacus")


def test_progress(toy_ckks: CkksKit) -> None:
    seen: list[tuple[int, int]] = []
    toy_ckks.client.evaluation_keys(3, [1, 2], progress=lambda *report: seen.append(report))
    assert seen and seen[-1][0] == seen[-1][1]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt(f"{done} of {total}")

    with pytest.raises(KeyboardInterrupt):
        toy_ckks.client.evaluation_keys(3, progress=stop)
