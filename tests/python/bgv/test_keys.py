"""Keys hold what was asked for; what is secret stays where it is."""

import numpy as np
import pytest
from support import BgvKit, run_python
from whorl import OutOfMemoryError, ParameterError
from whorl.bgv import Server


def test_a_server_process_has_no_client() -> None:
    done = run_python(
        "import sys, whorl.bgv\n"
        "whorl.bgv.Server, whorl.bgv.EvaluationKeys, whorl.bgv.parameters(1)\n"
        "assert 'whorl.bgv._client' not in sys.modules\n"
        "print('alone')"
    )
    assert done.stdout == "alone\n", done.stderr


def test_keys_take_turns_within_a_budget(toy_bgv: BgvKit) -> None:
    keys, x = toy_bgv.keys, toy_bgv.client.encrypt([1, 2, 3])
    everything = Server(keys, device="cpu")
    assert everything.key_bytes % len(keys._core.contents) == 0
    one = everything.key_bytes // len(keys._core.contents)
    server = Server(keys, device="cpu", key_bytes=2 * one)
    assert server.key_bytes == 0
    for columns in (1, 2, 4, 1):
        turned, expected = server.rotate(x, columns), everything.rotate(x, columns)
        assert np.array_equal(turned.to_host().data, expected.to_host().data)
        assert 0 < server.key_bytes <= 2 * one
    with pytest.raises(OutOfMemoryError):
        Server(keys, device="cpu", key_bytes=one - 1).rotate(x, 1)
    for budget in (-1, 2**64, 1.5):
        with pytest.raises(ParameterError, match="key_bytes"):
            Server(keys, device="cpu", key_bytes=budget)  # type: ignore[arg-type]
