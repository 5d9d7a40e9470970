"""What notebooks show: tables of parameters and arrays, and bars."""

from __future__ import annotations

import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support import TOY, BgvKit, CkksKit, Kit
from whorl import binfhe
from whorl._core import progress as _progress

ROW = re.compile(r"<tr><th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td></tr>")


def table(shown: Any) -> dict[str, str]:
    """Names and values of the rows, as they are in HTML."""
    text = shown._repr_html_()
    assert text.startswith("<table>") and text.endswith("</table>")
    assert text.count("<tr>") == 1 + len(ROW.findall(text))
    assert type(shown).__name__ in text
    return dict(ROW.findall(text))


def test_parameters(kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit) -> None:
    facts = table(kit.parameters)
    assert (facts["scheme"], facts["set"], facts["largest p"]) == ("FHEW/TFHE", "toy", "8")
    assert facts["security"].endswith("bits") and facts["failure"].startswith("2^-")
    facts = table(toy_bgv.parameters)
    assert (facts["scheme"], facts["set"], facts["N"]) == ("BGV", "toy", "1,024")
    assert facts["t"] == "12,289 (slots)"
    facts = table(toy_ckks.parameters)
    assert (facts["scheme"], facts["set"], facts["N"]) == ("CKKS", "toy", "1,024 (512 slots)")
    assert (facts["depth"], facts["scale"]) == ("3", "2^40.0")


def test_arrays_of_messages(kit: Kit) -> None:
    host = kit.client.encrypt([[0, 1, 1], [1, 0, 1]], p=8, padding=True)
    device = kit.server.upload(host)
    for array in (host, device):
        facts = table(array)
        assert (facts["scheme"], facts["set"]) == ("FHEW/TFHE", "toy")
        assert (facts["shape"], facts["count"], facts["p"]) == ("(2, 3)", "6", "8, padded")
        assert facts["bytes"] == f"{array.nbytes:,}"
        assert facts["key"] == f"{array.key_id[:8]}…"
        assert "noise budget" not in facts  # it is not public here
    assert table(device)["device"] == device.device and "device" not in table(host)
    assert table(kit.client.encrypt([]))["count"] == "0"


def test_arrays_of_numbers(toy_ckks: CkksKit) -> None:
    host = toy_ckks.client.encrypt([[0.5], [1.0]])
    product = toy_ckks.server.multiply(host, host)
    for array, level in ((host, 3), (product, 2)):
        facts = table(array)
        assert (facts["scheme"], facts["count"]) == ("CKKS", "2")
        assert (facts["packing"], facts["level"]) == ("real of N = 1,024", f"{level} of 3")
        assert facts["error"].startswith("2^-") and facts["bound of the values"] == "1"
    assert table(product)["device"] == product.device


def test_arrays_of_vectors(toy_bgv: BgvKit) -> None:
    host = toy_bgv.client.encrypt([[1], [2]])
    product = toy_bgv.server.multiply(host, host)
    for array in (host, product, product.to_host()):
        facts = table(array)
        assert (facts["scheme"], facts["shape"], facts["count"]) == ("BGV", "(2,)", "2")
        assert (facts["t"], facts["packing"]) == ("12,289", "slots of N = 1,024")
        assert facts["noise budget"] == f"{array.noise_budget:.0f} bits, by the bound"
        assert facts["bytes"].startswith(f"{array.nbytes:,} (") and "KiB" in facts["bytes"]
        assert facts["level"].startswith(f"{array.level} ")
    facts = table(toy_bgv.server.encode([[1], [2], [3]]))
    assert (facts["shape"], facts["packing"]) == ("(3,)", "slots of N = 1,024")
    assert "key" not in facts and "noise budget" not in facts


def test_names_are_escaped() -> None:
    chosen = binfhe.parameters({**TOY, "name": "<script>&"}, allow_insecure=True)
    assert table(chosen)["set"] == "&lt;script&gt;&amp;"
    assert table(binfhe.Client(chosen).encrypt([1]))["set"] == "&lt;script&gt;&amp;"


class Screen:
    """What a notebook would show, one picture after another."""

    def __init__(self) -> None:
        self.pictures: list[str] = []

    def display(self, picture: str, display_id: bool) -> Screen:
        assert display_id
        self.update(picture)
        return self

    def update(self, picture: str) -> None:
        self.pictures.append(picture)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A stand-in for IPython, running in a kernel."""
    made = Screen()
    ipython, drawing = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    drawing.HTML, drawing.display = str, made.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", drawing)
    return made


def test_bars_in_notebooks(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    with _progress.bar("a < b") as report:
        for done in range(1001):
            report(done, 1000)
    assert screen.pictures[0] == "a &lt; b"
    assert '<progress value="0" max="1000"></progress>' in screen.pictures[1]
    assert '<progress value="1000" max="1000"></progress>' in screen.pictures[-2]
    assert screen.pictures[-1] == ""  # it goes away
    assert len(screen.pictures) < 100  # not one a report
    assert capsys.readouterr() == ("", "")


def test_bars_go_away_after_errors(screen: Screen) -> None:
    with pytest.raises(LookupError), _progress.bar("work") as report:
        report(1, 2)
        raise LookupError
    assert screen.pictures[-1] == ""


def test_keys_show_a_bar(screen: Screen, kit: Kit) -> None:
    kit.client.evaluation_keys(progress=True)
    assert screen.pictures[0] == "evaluation keys" and screen.pictures[-1] == ""
    assert any("<progress" in picture for picture in screen.pictures)


def test_ipython_without_a_kernel_is_a_terminal(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell in (None, object(), SimpleNamespace(kernel=None)):
        monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda shell=shell: shell)
        with _progress.bar("work") as report:
            report(1, 2)
    assert screen.pictures == []
    assert capsys.readouterr() == ("", "")  # standard error is no terminal here
