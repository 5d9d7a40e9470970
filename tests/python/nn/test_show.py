"""Tables and pictures of networks, and times of steps."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from nn.networks import client, server_of, small_parameters
from whorl import ckks, nn


def network(parameters: ckks.Parameters, relus: int = 1) -> nn.Network:
    b = nn.Builder((4,))
    x = b.linear("first", 0, np.eye(4) / 2)
    for _ in range(relus):
        x = b.sum("sum", b.function("relu", x, "relu"), b.linear("same", x, np.eye(4)))
    graph = b.graph(b.linear("same", x, np.ones((2, 4))))
    examples = np.random.default_rng(1).uniform(-1, 1, (30, 4))
    return nn.compile(graph, examples, precision=2**-5, parameters=parameters)


def test_a_summary_has_a_line_for_each_step() -> None:
    net = network(small_parameters())
    head, *lines, held, differ = net.summary().splitlines()
    assert held.startswith("errors hold for inputs")
    assert differ.startswith("on the examples, results differ from the model's by up to 0.0")
    assert head.split() == ["step", "kind", "of", "level", "error", "work"]
    assert len(lines) == len(net.steps)
    kinds = ("input", "map", "polynomial of degree", "product", "sum")
    assert all(any(kind in line for line in lines) for kind in kinds)
    for line, step, level in zip(lines, net.steps, net.levels, strict=True):
        assert step.name in line and line.split()[-3] == str(level)
    assert "same (2)" in lines[-1]


def test_each_step_has_a_name_of_its_own() -> None:
    b = nn.Builder((4,))
    x = 0
    for name in ("a", "a (2)", "a", "a"):
        x = b.function(name, x, "polynomial", (0, 0, 1))
    net = nn.compile(b.graph(x), np.eye(4), parameters=small_parameters())
    lines = [row.split("  ")[1].strip() for row in rows(net)]
    assert lines == ["input", "a", "a (2)", "a (3)", "a (4)"]


def test_steps_are_timed() -> None:
    net = network(small_parameters())
    runner = net.on(server_of(net))
    seconds = runner.profile(net.ends.encrypt(client(), [[0.5, -0.5, 0.25, 1.0]]))
    assert list(seconds) == [line.split("  ")[1].strip() for line in rows(net)[1:]]
    assert min(seconds.values()) > 0
    head, *lines, _, _ = net.summary(seconds).splitlines()
    assert head.endswith("ms")
    told = [float(line.split()[-1]) for line in lines]
    assert np.allclose(told, [0, *(1e3 * each for each in seconds.values())], atol=5e-4)


def rows(net: nn.Network) -> list[str]:
    return [line.strip() for line in net.summary().splitlines()[1:-2]]


def test_a_picture_has_all_steps_and_marks_bootstraps(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    net = network(ckks.parameters("W128_L16_B16"), relus=3)
    assert net.bootstraps
    path = tmp_path / "net.svg"
    figure = net.show(path=path)
    graph, costs = figure.axes
    marks = {each.get_label(): each.get_offsets() for each in graph.collections}
    assert sum(map(len, marks.values())) == len(net.steps)
    for x, level in np.concatenate(list(marks.values())):
        assert net.levels[int(x)] == level
    assert f"{net.bootstraps} × bootstrap" in marks
    edges = sum(len(step.inputs) for step in net.steps)
    assert len(graph.lines) == edges and len(costs.patches) == len(net.steps)
    assert path.read_text().startswith("<?xml")
    with pytest.raises(whorl.IoError, match="missing"):
        net.show(path=tmp_path / "missing" / "net.png")


def test_measured_times_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    net = network(small_parameters())
    seconds = {row.split("  ")[1].strip(): 0.001 * i for i, row in enumerate(rows(net)) if i}
    costs = net.show(seconds).axes[1]
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in costs.patches}
    assert heights == pytest.approx({number: number for number in range(len(net.steps))})
    for wrong in ({}, {**seconds, "more": 1.0}):
        with pytest.raises(whorl.ParameterError, match="seconds"):
            net.show(wrong)
        with pytest.raises(whorl.ParameterError, match="seconds"):
            net.summary(wrong)


def test_without_matplotlib_an_error_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(small_parameters())
    hidden: Any = None
    monkeypatch.setitem(sys.modules, "matplotlib.figure", hidden)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "whorl-fhe\[nn\]"'):
        net.show()


def test_large_networks_have_no_names_below() -> None:
    pytest.importorskip("matplotlib")
    net = network(small_parameters())
    many = dataclasses.replace(net, steps=net.steps * 8, levels=net.levels * 8)
    assert many.show().axes[1].get_xlabel() == "step"
    assert net.show().axes[1].get_xticklabels()[1].get_text() == "first"
