"""whorl.integers: no table gets more noise than it bears, whichever errors ciphertexts share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from integer_errors import FollowingServer
from integer_programs import run_one
from whorl import binfhe, integers
from whorl.integers import Fresh
from whorl.integers._circuit import Circuit, Saves
from whorl.integers._engines import ClearEngine, account_of

W128 = binfhe.parameters("W128_P128")


def _bit(x: Any, y: Any) -> Any:
    return (x < y).astype(x.bits)


def _ragged(x: Any, y: Any) -> Any:
    """A number whose digits are multiples of one bit: 3b below, b above."""
    b = _bit(x, y)
    return b + b + b + (b << 2)


def _summed(x: Any, y: Any) -> Any:
    b = _bit(x, y)
    return integers.stack([b] * 3).sum(axis=0) + (b << 2)


def _turned(x: Any, y: Any) -> Any:
    z = _ragged(x, y)
    return z[::-1] + z


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "b beside 3b, compared": lambda x, y: _ragged(x, y) < 0x777,
    "b beside 3b, against another": lambda x, y: _ragged(x, y) > y,
    "b beside a sum of three": lambda x, y: _summed(x, y) > y,
    "joined with others": lambda x, y: (
        integers.concatenate([_ragged(x, y)[None], (x * y)[None]]) < 0x777
    ),
    "joined, then taken apart": lambda x, y: (
        integers.concatenate([(x * y)[None], _ragged(x, y)[None]])[1] < 0x777
    ),
    "of parts of an array": lambda x, y: _turned(x, y) < 0x777,
    "shifted onto itself": lambda x, y: _ragged(x, y) << (x & 3).astype(4),
    "turned onto itself": lambda x, y: _ragged(x, y).rotl(y.astype(4)),
    "a sign that is extended": lambda x, y: (
        (lambda z: z + z + z)((x > y).astype(1, True).astype(16, True)) * 0x1111
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_multiples_of_one_ciphertext(name: str) -> None:
    """Their weights add up, by the account that follows each ciphertext of a dry run."""
    planned = integers.plan(PROGRAMS[name], [Fresh(2, 16)] * 2, parameters=W128)
    assert planned.failure_log2 < -128 + np.log2(planned.rotations + 32)


@pytest.mark.parametrize(
    ("recorded", "saves"),
    [(False, "both"), (True, "both"), (True, "layers"), (True, "rotations")],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_error(name: str, recorded: bool, saves: Saves) -> None:
    """The same, by errors that are followed one by one; the second run is a recorded one."""
    server = FollowingServer(recorded=recorded, saves=saves)
    for _ in range(2):
        x, y = (server.encrypt(values, 16) for values in ([3, 70], [9, 4]))
        found = PROGRAMS[name](x, y)
        assert server.decrypt(found).shape == found.shape
    assert server.engine.worst > 4


@pytest.mark.parametrize("saves", get_args(Saves))
def test_each_error_of_random_programs(saves: Saves) -> None:
    server = FollowingServer(saves=saves)
    assert [wrong for i in range(60) if (wrong := run_one(server, 7, i, 5, 12, 2))] == []


def test_errors_of_sums_of_rows() -> None:
    """4b + 3b has the noise of 49 rotations, and b + c that of two."""
    account = account_of(W128)
    circuit = Circuit(ClearEngine(account))
    low = np.zeros(2, dtype=np.int64)
    bits = circuit.table(circuit.fresh(np.array([[0], [1]]), low, low + 1, 1), lambda v: v)
    rows = circuit.join(bits, circuit.linear((3, circuit.take(bits, [0]))))
    square, total = circuit.noise_of(rows, [[(0, 4), (2, 1)], [(0, 1), (1, 1)], [(0, -3), (2, 1)]])
    # Signs are not known: 3b - 3b counts as 6b.
    assert square.tolist() == [49, 2, 36] and total.tolist() == [7, 2, 6]
    made = circuit.sums(rows, [[(0, 4), (2, 1)], [(0, 1), (1, 1)]])
    assert made.square.tolist() == [49, 2]
    assert not circuit.account.bears(made.square[0], made.total[0])


def test_sums_of_many_are_recorded() -> None:
    """Sums of different values and of some that are the same are different programs."""
    server = FollowingServer()
    on: Any = server._on
    values = np.arange(20 * 2).reshape(20, 2)
    counts = []
    for _ in range(2):
        x = server.canonical(server.encrypt(values, 8) * 3)
        y = x[[0, *range(19)]]
        for array, wanted in ((x, values * 3), (y, values[[0, *range(19)]] * 3)):
            parts = [part._core for part in array]
            found = server._array(on.sum_of(parts), (2,))
            assert server.decrypt(found).tolist() == (wanted.sum(axis=0) % 256).tolist()
        counts.append((len(on._programs), server.rotations))
    assert counts[0][0] == counts[1][0] and counts[1][1] == 2 * counts[0][1]
    assert sum(key[0] == "sum_of" for key in on._programs) == 2


def test_forms_that_are_kept_count_as_bytes() -> None:
    server = FollowingServer()
    x, y = (server.encrypt([3, 70], 8) for _ in range(2))
    fresh, total = x.nbytes, x + y
    assert total.nbytes == fresh == x.nbytes
    before = total.nbytes
    assert server.decrypt(total >> 2).tolist() == [1, 35]
    kept = total._core.memo["flush"].wires.batches
    assert len(kept) > 1 and total.nbytes == before + sum(batch.nbytes for batch in kept)
    # Fresh integers have no other form, and forms that are asked for again are there.
    assert server.decrypt(x >> 2).tolist() == [0, 17] and x.nbytes == fresh
    held = total.nbytes
    assert server.decrypt(total & 3).tolist() == [2, 0] and total.nbytes == held
