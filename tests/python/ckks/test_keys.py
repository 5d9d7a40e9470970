"""Keys hold what was asked for; missing ones are named."""

import pytest
import whorl
from support import CkksKit
from whorl.ckks import EvaluationKeys, Server


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
