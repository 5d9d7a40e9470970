"""What the distributions say of themselves: one version, and parts that fit one another."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("runtime", "cuda13")


def version() -> str:
    found = re.search(r"VERSION (\d+\.\d+\.\d+)\n", (ROOT / "CMakeLists.txt").read_text("utf-8"))
    assert found
    return found[1]


@pytest.fixture
def front(tmp_path: Path) -> Path:
    """The project of whorl-fhe, as tools/wheel/front.py lays it out."""
    stubs = tmp_path / "stubs"
    for module in ("_server", "_client"):
        (stubs / module).mkdir(parents=True)
        (stubs / module / "__init__.pyi").touch()
    script = ROOT / "tools" / "wheel" / "front.py"
    subprocess.run([sys.executable, script, tmp_path / "front", stubs], check=True)
    return tmp_path / "front"


def test_the_front_asks_for_parts_of_its_version(front: Path) -> None:
    text = (front / "pyproject.toml").read_text("utf-8")
    assert f'version = "{version()}"' in text
    assert f'dependencies = ["whorl-fhe-runtime=={version()}", "numpy' in text
    assert f'cuda13 = ["whorl-fhe-cuda13=={version()}"]' in text
    assert "cmake.define" not in text and "wheel.cmake = false" in text


def test_the_front_has_python_alone(front: Path) -> None:
    suffixes = {path.suffix for path in (front / "whorl").rglob("*") if path.is_file()}
    assert suffixes <= {".py", ".pyi", ".typed", ".json", ".csv", ".npz", ".md"}
    assert (front / "whorl" / "_server" / "__init__.pyi").exists()


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_named_and_licensed_as_the_whole_is(part: str) -> None:
    folder = ROOT / "packaging" / part
    text = (folder / "pyproject.toml").read_text("utf-8")
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'name = "whorl-fhe-{part}"' in text
    for line in ('license = "Apache-2.0"', 'requires-python = ">=3.10"'):
        assert line in text and line in whole
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_conda_recipe_has_the_version() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    assert f'version: "{version()}"' in recipe
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    listed = re.search(r"^dependencies = \[(.*)\]", whole, re.MULTILINE)
    assert listed
    for each in re.findall(r'"([^"]+)"', listed[1]):
        assert f"- {each.replace('>=', ' >=')}\n" in recipe


def test_without_compiled_part_an_import_says_what_brings_it(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "python" / "whorl", tmp_path / "whorl", ignore=shutil.ignore_patterns("_*.so")
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import whorl"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "whorl has no compiled part: `pip install --force-reinstall whorl-fhe`" in done.stderr


def test_the_compiled_part_may_be_a_distribution_of_its_own(tmp_path: Path) -> None:
    compiled = importlib.util.find_spec("whorl._server")
    assert compiled and compiled.origin
    shutil.copytree(ROOT / "python" / "whorl", tmp_path / "whorl")
    (tmp_path / "whorl_runtime").mkdir()
    (tmp_path / "whorl_runtime" / "__init__.py").touch()
    shutil.copy(compiled.origin, tmp_path / "whorl_runtime")
    done = subprocess.run(
        [sys.executable, "-c", "from whorl import _server; print(_server.__file__)"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path / "whorl_runtime") in done.stdout
