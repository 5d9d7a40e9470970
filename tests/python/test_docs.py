"""Every example runs: Python blocks of the documentation, and docstrings."""

import ast
import doctest
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import support
import whorl
from support import ROOT
from whorl.cli._bgv import BGV
from whorl.cli._binfhe import BINFHE
from whorl.cli._ckks import CKKS
from whorl.cli._main import app
from whorl.cli._scheme import Scheme

BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


PRINTED = re.compile(r"^print\(.*\) +# (.*)$", re.MULTILINE)


def blocks(text: str) -> list[str]:
    """Python blocks of a page, or of a part of one, without those marked no-run."""
    return [code for mark, code in BLOCK.findall(text) if "no-run" not in mark]


JOBS = ROOT / "docs" / "jobs.md"


def sections(path: Path) -> list[str]:
    """The text below each heading of the second level, with the heading's words first."""
    return re.split("^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


PAGES = [path for path in FILES if path != JOBS and blocks(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_blocks_run_in_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder of their own; a comment behind print(...) is what it prints. A block that begins
    with `# NAME.py` is a program of its own."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, code in enumerate(blocks(path.read_text(encoding="utf-8"))):
        run(code, f"{path.name}, block {number + 1}", names)
        printed = capsys.readouterr().out
        for line in PRINTED.findall(code):
            assert line in printed


@pytest.mark.parametrize("job", sections(JOBS), ids=lambda job: job.partition("\n")[0])
def test_a_job_is_a_program_of_its_own(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has at most 20 lines, and prints what its comments say and nothing else."""
    monkeypatch.chdir(tmp_path)
    code = blocks(job)
    assert 0 < sum(bool(line.strip()) for line in "".join(code).splitlines()) <= 20
    names: dict[str, object] = {}
    for number, each in enumerate(code):
        run(each, f"job, block {number + 1}", names)
    expected = [line for each in code for line in PRINTED.findall(each)]
    assert expected
    assert capsys.readouterr().out.splitlines() == expected


def test_there_are_fifteen_jobs() -> None:
    assert len(sections(JOBS)) == 15


def run(code: str, name: str, names: dict[str, object]) -> None:
    """A block in the folder of now, as a program of its own if it begins with `# NAME.py`."""
    if program := re.match(r"# (\w+\.py)\n", code):
        run_program(Path(program[1]).absolute(), code)
    else:
        exec(compile(code, name, "exec"), names)


def run_program(path: Path, code: str) -> None:
    """Prints what it prints."""
    path.write_text(code, encoding="utf-8")
    done = support.run(sys.executable, path.name, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    print(done.stdout, end="")


def test_recipes_are_short() -> None:
    """All blocks of a recipe together; the keys that all recipes share come first."""
    recipes = sections(ROOT / "docs" / "recipes.md")
    assert len(recipes) >= 9
    for recipe in recipes:
        code = "".join(blocks(recipe)).splitlines()
        lines = [line for line in code if line.strip() and not line.startswith("#")]
        assert 0 < len(lines) <= 10, recipe


COMPILED = ("whorl._server", "whorl._client")


def modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(whorl.__path__, "whorl."):
        if found.name not in COMPILED and not found.name.endswith("__main__"):
            yield found.name


def imported(name: str) -> ModuleType:
    """A module of the package; those that read models of torch need torch."""
    if "_torch" in name:
        pytest.importorskip("torch")
    return importlib.import_module(name)


@pytest.mark.parametrize("name", ["whorl", *modules()])
def test_docstrings(name: str) -> None:
    module = imported(name)
    assert module.__doc__, f"{name} has no docstring"
    failures, _ = doctest.testmod(module)
    assert failures == 0


def is_overload(function: ast.FunctionDef) -> bool:
    """Whether it is a signature without a body."""
    return any(ast.unparse(mark) == "overload" for mark in function.decorator_list)


@pytest.mark.parametrize("name", ["whorl", *modules()])
def test_what_is_public_is_documented(name: str) -> None:
    path = imported(name).__file__
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    missing = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            members = [
                m for m in node.body if isinstance(m, ast.FunctionDef) and not is_overload(m)
            ]
            missing += [
                f"{node.name}.{m.name}"
                for m in members
                if not m.name.startswith("_") and not ast.get_docstring(m)
            ]
            if not ast.get_docstring(node):
                missing.append(node.name)
    missing += [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
        and not is_overload(node)
    ]
    assert not missing


@pytest.mark.parametrize("scheme", [BGV, CKKS, BINFHE], ids=lambda scheme: scheme.name)
def test_functions_of_expressions_are_documented(scheme: Scheme) -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {scheme.name} \| .*`.* \| (.*) \|$", text, re.MULTILINE)
    assert sorted(set(re.findall(r"`(\w+)[(`]", row))) == sorted(scheme.calls)


def test_the_commands_are_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    names = [command.name for command in app.registered_commands]
    names += [group.name for group in app.registered_groups]
    assert len(names) >= 8
    for name in names:
        assert f"whorl {name}" in text


def test_the_public_names_are_documented() -> None:
    text = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    for name in whorl.binfhe.__all__:
        assert f"`{name}" in text or f"binfhe.{name}" in text, name
    for scheme in (whorl.bgv, whorl.ckks):
        short = scheme.__name__.rpartition(".")[2]
        text = (ROOT / "docs" / f"{short}.md").read_text(encoding="utf-8")
        for name in scheme.__all__:
            if name != "ParameterLiteral":  # a type for checkers only
                assert f"`{name}" in text or f"{short}.{name}" in text, name
    assert os.path.exists(Path(whorl.__file__).parent / "py.typed")
