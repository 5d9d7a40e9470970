"""Which keys networks ask for, and how their maps are kept."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from nn.networks import client, server_of, small_parameters
from whorl import nn
from whorl.nn._keys import choose_keys, file_size, serves

Maps = list[tuple[int, set[int]]]
ALL = 32
"""Stands for keys of all levels."""


def bytes_of(maps: Maps, held: set[int], places: tuple[int, ...]) -> int:
    """Bytes of the keys if each map takes them at one of these levels."""
    usual, at_level = set(held), dict[int, set[int]]()
    for (_, turns), place in zip(maps, places, strict=True):
        if place == ALL:
            usual |= turns
        else:
            at_level.setdefault(place, set()).update(turns)
    return small_parameters().key_size(rotations=usual, low_rotations=at_level)


def test_keys_are_nearly_the_smallest_of_all_choices() -> None:
    """Each map takes keys of its level, of a higher one, or of all levels."""
    random = np.random.default_rng(1)
    for _ in range(20):
        levels = sorted(random.choice(np.arange(1, 20), 4, replace=False).tolist())
        maps: Maps = [(level, set(random.integers(1, 9, 4).tolist())) for level in levels]
        held = set(random.integers(1, 9, 2).tolist())
        rotations, low = choose_keys(maps, small_parameters(), held, [])
        for level, turns in maps:
            assert serves(low, level, turns) or turns <= set(rotations)
        assert held <= set(rotations)
        choices = [[at for at in (*levels, ALL) if at >= level] for level in levels]
        best = min(bytes_of(maps, held, each) for each in itertools.product(*choices))
        chosen = small_parameters().key_size(rotations=rotations, low_rotations=low)
        assert best <= chosen <= 1.1 * best


def network(max_key_bytes: int | None = None) -> nn.Network:
    """Maps of long and of short diagonals, with a function between."""
    random = np.random.default_rng(2)
    b = nn.Builder((2, 16, 16))
    x = b.windows("conv", 0, random.normal(size=(4, 2, 3, 3)) / 4, padding=(1, 1))
    x = b.function("square", x, "polynomial", [0.0, 0.5, 1.0])
    x = b.windows("other", x, random.normal(size=(4, 4, 3, 3)) / 6, padding=(1, 1))
    graph = b.graph(b.linear("last", x, random.normal(size=(3, 1024)) / 32))
    return nn.compile(
        graph,
        random.uniform(-1, 1, (20, 2, 16, 16)),
        max_key_bytes=max_key_bytes,
        parameters=small_parameters(),
    )


def test_maps_are_kept_whole_or_compact_as_there_is_room() -> None:
    net = network()
    server = server_of(net)
    x = net.ends.encrypt(client(), np.random.default_rng(3).uniform(-1, 1, (1, 2, 16, 16)))
    whole = net.on(server)
    want = server.download(whole(x)).to_bytes()
    sizes = []
    for share in (0.9, 0.6, 0.3, 0.1, 0):
        runner = net.on(server, max_bytes=int(share * whole.nbytes))
        assert runner.nbytes <= share * whole.nbytes
        assert server.download(runner(x)).to_bytes() == want
        sizes.append(runner.nbytes)
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) >= 3 and sizes[-1] == 0


def test_fewer_keys_are_taken_where_they_must_be_small() -> None:
    net = network()
    few = network(net.key_bytes - 1)
    assert few.key_bytes < net.key_bytes
    x = np.random.default_rng(4).uniform(-1, 1, (2, 2, 16, 16))
    got = few.ends.decrypt(client(), few.run(server_of(few), few.ends.encrypt(client(), x)), 2)
    assert np.abs(got - few.simulate(x)).max() <= 6 * few.ends.output.error
    assert np.array_equal(few.simulate(x), net.simulate(x))
    with pytest.raises(whorl.ParameterError, match="max_key_bytes"):
        network(few.key_bytes // 2)


def test_a_limit_is_that_of_the_file(tmp_path: Path) -> None:
    few = network(network().key_bytes - 1)
    for net in (network(few.key_bytes), network()):
        client().evaluation_keys(**net.keys).save(tmp_path / "keys")
        assert (tmp_path / "keys").stat().st_size == net.key_bytes
    assert network(few.key_bytes).key_bytes == few.key_bytes
    with pytest.raises(whorl.ParameterError, match="max_key_bytes"):
        network(few.key_bytes - 1)


@pytest.mark.parametrize("count", range(9))
def test_sizes_of_files_have_their_frame(count: int) -> None:
    """Zeros before the keys depend on their number."""
    asked: dict[str, Any] = {"relinearise": 2 + count % 3, "rotations": range(count // 2)}
    asked["low_rotations"] = {3: range(1, count + 1 - count // 2)}
    made = client().evaluation_keys(**asked)
    assert file_size(small_parameters(), asked) == len(made.to_bytes())


def test_linear_maps_before_dense_layers_are_merged() -> None:
    random = np.random.default_rng(5)
    b = nn.Builder((2, 4, 4))
    x = b.function("square", 0, "polynomial", [0.0, 0.0, 1.0])
    pool = b.average("pool", x, (2, 2), (2, 2))
    flat = b.reshaped("flat", pool, (8,))
    last = b.linear("last", flat, random.normal(size=(3, 8)), random.normal(size=3))
    images = random.uniform(-1, 1, (20, 2, 4, 4))
    net = nn.compile(b.graph(last), images, parameters=small_parameters())
    assert [step.name for step in net.steps[1:]] == ["square", "last"]
    assert np.abs(net.graph(images) - b.graph(last)(images)).max() < 1e-12
    # What something else takes too stays as it is.
    wide = b.linear("wide", b.reshaped("all", 0, (32,)), random.normal(size=(8, 32)))
    other = b.linear("other", wide, random.normal(size=(8, 8)))
    graph = b.graph(b.linear("end", b.sum("sum", wide, other), random.normal(size=(2, 8))))
    net = nn.compile(graph, images, parameters=small_parameters())
    assert {"wide", "other", "end"} <= {node.name for node in net.graph.nodes}
