"""Fragments, broken tables and wrapped paragraphs, in this tree and in one that has them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "tools" / "check_prose.py"
TABLE = "| a | b |\n|---|:-:|\n| `x | y` | \\| |\n| c | |\n"


def problems(root: Path) -> list[str]:
    done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True)
    said = done.stdout.splitlines()
    assert done.returncode == (1 if said else 0), done.stderr
    return said


def test_this_tree_is_clean() -> None:
    assert problems(ROOT) == []


@pytest.mark.parametrize(
    ("where", "docstring", "bad"),
    [
        ("python/whorl/a.py", "Of each prime.", True),
        ("python/whorl/a.py", "For each prime: a list.", True),
        ("python/whorl/a.py", "With two devices, a batch is spread.", False),
        ("python/whorl/a.py", "The primes of each level.", False),
        ("apps/tree/a.py", "Of each prime.", True),
        ("tests/python/a.py", "For each prime: a list.", False),
    ],
)
@pytest.mark.parametrize("form", ['"""{}"""\n', 'a = 1\n"""{}"""\n', 'def f():\n    """{}"""\n'])
def test_fragments_are_found_in_docstrings(
    tmp_path: Path, form: str, where: str, docstring: str, bad: bool
) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(form.format(docstring), encoding="utf-8")
    said = problems(tmp_path)
    assert len(said) == bad and all(line.startswith(f"{where}:") for line in said)


@pytest.mark.parametrize(
    ("where", "comment", "bad"),
    [
        ("src/a.h", "/// Of each prime.", True),
        ("src/a.cu", "  /// Of each prime, in order.\n  /// It is kept.", True),
        ("src/a.h", "/// Returns one of each prime.", False),
        ("src/a.h", "int a;  ///< of each prime", False),
        ("src/a.h", "// Of each prime.", False),
        ("src/schemes/a.h", "/// From each digit.", False),
        ("src/schemes/a.h", "/// Of each digit.", True),
        ("src/run/a.h", "/// From each digit.", True),
        ("include/whorl/a.h", "/// From each digit.", True),
        ("include/whorl/a.h", "/// With several devices, a batch is\n/// spread.", False),
        ("python/src/a.h", "/// From each digit.", True),
        ("tests/support/a.h", "/// With each digit.", True),
        ("tests/unit/a.h", "/// Of each prime.", True),
        ("tests/unit/a.h", "/// With each digit.", False),
        ("bench/a.cuh", "/// Of each prime.", True),
    ],
)
def test_fragments_are_found(tmp_path: Path, where: str, comment: str, bad: bool) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(f"#pragma once\n{comment}\nint b;\n", encoding="utf-8")
    said = problems(tmp_path)
    assert len(said) == bad and all(line.startswith(f"{where}:2: ") for line in said)


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (TABLE, []),
        (f"```\n| a |\n```\n\n{TABLE}", []),
        (TABLE.replace("| c", "\n| c"), [5]),
        ("text\n\n| a | b |\n", [3]),
        (TABLE + "| a |\n", [5]),
        (TABLE + "| a | b\n", [5]),
        (TABLE.rstrip("\n"), []),
    ],
)
def test_broken_tables_are_found(tmp_path: Path, page: str, lines: list[int]) -> None:
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    said = problems(tmp_path)
    assert [int(line.split(":")[1]) for line in said] == lines


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("one line\n\nanother line\n- an item\n- an item\n", []),
        ("a paragraph\nthat is wrapped\nonce more\n", [2, 3]),
        ("- an item\n  that is wrapped\n", [2]),
        ("1. an item\n\n   its second paragraph\n2. an item\n   that is wrapped\n", [5]),
        ("# Heading\ntext\n![picture](a.svg)\n<!-- comment -->\ntext\n", []),
        ("text:\n\n    code\n    code\n\ntext\n", []),
        ("text:\n```\ncode\ncode\n```\ntext\nthat is wrapped\n", [7]),
        (TABLE + "text\nthat is wrapped\n", [6]),
    ],
)
def test_wrapped_paragraphs_are_found(tmp_path: Path, page: str, lines: list[int]) -> None:
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    said = problems(tmp_path)
    assert [int(line.split(":")[1]) for line in said] == lines
