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


def licences(pyproject: Path) -> list[str]:
    """Identifiers of the licence expression, all of which hold; the expression is a valid one."""
    stated = re.search(r'^license = "(.*)"', pyproject.read_text("utf-8"), re.MULTILINE)
    assert stated
    expressions = pytest.importorskip("packaging.licenses")
    assert expressions.canonicalize_license_expression(stated[1]) == stated[1]
    return stated[1].split(" AND ")


def third_party(distribution: str) -> dict[str, str]:
    """What a distribution's wheels carry of others, and the identifier of its licence."""
    text = (ROOT / "packaging" / "THIRD_PARTY").read_text("utf-8")
    parts = re.findall(r"^(\S[^:\n]*): (.*?)\n  (.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    found = {}
    for name, where, licence in parts:
        identifiers = re.findall(r"^  SPDX: (.+)$", licence, re.MULTILINE)
        assert len(identifiers) == 1, name
        if distribution in where:
            found[name] = identifiers[0]
    return found


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
    assert extras(text) == {"cuda13", "nn", "apps"}
    assert "cmake.define" not in text and "wheel.cmake = false" in text


def extras(pyproject: str) -> set[str]:
    """Names of the extras, which the metadata of wheels have, unlike groups of dependencies."""
    table = re.search(
        r"^\[project\.optional-dependencies\]\n(.*?)^\[", pyproject, re.MULTILINE | re.DOTALL
    )
    assert table
    return set(re.findall(r"^([\w-]+) = \[", table[1], re.MULTILINE))


def test_wheels_ask_for_no_tools_of_developers() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert extras(text) == {"cuda13", "nn", "apps"}
    assert f'cuda13 = ["whorl-fhe-cuda13=={version()}"]\n' in text
    script = ROOT / "tools" / "requirements.py"
    asked = [sys.executable, str(script), "test", "docs-check", "apps"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert all(f"\n{name}>=" in listed for name in ("pytest", "playwright", "scikit-learn"))


def test_the_front_has_python_alone(front: Path) -> None:
    suffixes = {path.suffix for path in (front / "whorl").rglob("*") if path.is_file()}
    assert suffixes <= {".py", ".pyi", ".typed", ".json", ".csv", ".npz", ".md", ".txt"}
    assert (front / "whorl" / "_server" / "__init__.pyi").exists()


def test_the_front_links_to_no_file_of_the_checkout(front: Path) -> None:
    text = (front / "README.md").read_text("utf-8")
    assert "docs/start-here.md says which scheme" in text
    assert "It runs after `pip install whorl-fhe`." in text and "not on PyPI" not in text
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert all(target.startswith("https://") for target in targets), targets


def test_data_of_others_have_a_licence_in_the_wheels(front: Path) -> None:
    text = (ROOT / "packaging" / "DATA_LICENCES").read_text("utf-8")
    named = set(re.findall(r"^(apps/\S+\.\w+):", text, re.MULTILINE))
    listed = subprocess.run(
        ["git", "ls-files", "apps"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert named == {path for path in listed if not path.endswith((".py", ".md"))}
    assert (front / "DATA_LICENCES").read_text("utf-8") == text
    found = re.findall(r"^  (CC BY[-\w. ]*\d)(?=,)|^  (BSD \d-Clause)(?=:)", text, re.MULTILINE)
    of_data = {(creative or other).replace(" ", "-") for creative, other in found}
    assert licences(front / "pyproject.toml") == sorted({"Apache-2.0", *of_data})
    # pip compiles modules, which have nanobind inside, and libraries of the system beside them.
    whole_licences = licences(ROOT / "pyproject.toml")
    assert whole_licences == sorted({"Apache-2.0", *of_data, "BSD-3-Clause", "MIT"})
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    assert f"  license: {' AND '.join(whole_licences)}\n" in recipe
    assert 'license-files = ["LICENSE", "DATA_LICENCES"]' in (front / "pyproject.toml").read_text()
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    line = 'license-files = ["LICENSE", "packaging/DATA_LICENCES", "packaging/THIRD_PARTY"]'
    assert line in whole
    included = re.search(r"^sdist\.include = (.*)$", whole, re.MULTILINE)
    assert included and all(name in included[1] for name in re.findall(r'"[^"]+"', line))


def test_the_sdist_takes_no_folder_with_all_that_git_ignores() -> None:
    """What is included by name is so even if git ignores it: compiled modules, for instance."""
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    included = re.search(r"^sdist\.include = (.*)$", whole, re.MULTILINE)
    assert included
    assert all((ROOT / name).is_file() for name in re.findall(r'"([^"]+)"', included[1]))


def test_all_parts_say_who_made_them_and_which_pythons_they_serve() -> None:
    """Those that tools/wheel/try.sh tries."""
    tried = re.search(
        r"^for python in (.*); do$", (ROOT / "tools/wheel/try.sh").read_text("utf-8"), re.MULTILINE
    )
    assert tried
    pythons = {f"3.{minor}" for minor in re.findall(r"python3\.(\d+)", tried[1])}
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    about = re.findall(r"^(?:authors|keywords) = .*$", whole, re.MULTILINE)
    assert len(about) == 2 and "The Whorl authors" in about[0]
    for folder in (".", *(f"packaging/{part}" for part in PARTS)):
        text = (ROOT / folder / "pyproject.toml").read_text("utf-8")
        assert all(line in text for line in about), folder
        assert set(re.findall(r"Python :: (3\.\d+)", text)) == pythons, folder


def test_a_wheel_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "whorl_fhe-0.1.0-py3-none-any.whl").write_bytes(bytes(4_000_000))
    sizes = [sys.executable, str(ROOT / "tools" / "wheel" / "sizes.py"), str(tmp_path)]
    done = subprocess.run(sizes, capture_output=True, text=True)
    assert done.returncode == 0 and "4.00 MB, at most 6" in done.stdout
    with (tmp_path / "whorl_fhe_cuda13-0.1.0-py3-none-linux_x86_64.whl").open("wb") as large:
        large.truncate(100_010_000)
    done = subprocess.run(sizes, capture_output=True, text=True)
    assert done.returncode == 1
    assert "whorl_fhe_cuda13-0.1.0-py3-none-linux_x86_64.whl has 100.01 MB" in done.stderr


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_named_and_licensed_as_the_whole_is(part: str) -> None:
    folder = ROOT / "packaging" / part
    text = (folder / "pyproject.toml").read_text("utf-8")
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'name = "whorl-fhe-{part}"' in text
    assert 'license-files = ["LICENSE", "THIRD_PARTY"]' in text
    carried = third_party(f"whorl-fhe-{part}")
    # What the build of each part links, as CMake names it.
    linked = {"libsodium", "Highway", "libstdc++ and GCC's start files"}
    linked |= {"nanobind", "robin-map"} if part == "runtime" else {"CUDA runtime"}
    assert set(carried) == linked
    assert licences(folder / "pyproject.toml") == sorted({"Apache-2.0", *carried.values()})
    third = (folder / "THIRD_PARTY").read_bytes()
    assert third == (ROOT / "packaging" / "THIRD_PARTY").read_bytes()
    line = 'requires-python = ">=3.10"'
    assert line in text and line in whole
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_everything_that_is_linked_has_a_licence() -> None:
    """What CMake finds for the library and for the modules; threads and dl are of the C library."""
    texts = [path.read_text("utf-8") for path in (ROOT / "cmake").glob("Whorl[DLP]*.cmake")]
    found = set(re.findall(r"PkgConfig::whorl_(\w+)|CUDA::(\w+)", "\n".join(texts)))
    names = {pkg or cuda for pkg, cuda in found}
    named = {"hwy": "Highway", "sodium": "libsodium", "cudart_static": "CUDA runtime"}
    assert names == set(named)
    both = third_party("whorl-fhe-runtime") | third_party("whorl-fhe-cuda13")
    assert set(named.values()) < set(both)


def test_the_sdist_of_the_runtime_has_what_its_build_reads(tmp_path: Path) -> None:
    """All that the modules are made of, and nothing of tests, pages, applications and CUDA."""
    script = ROOT / "tools" / "wheel" / "runtime.py"
    subprocess.run([sys.executable, script, tmp_path / "sdist"], check=True)
    there = {
        path.relative_to(tmp_path / "sdist").as_posix()
        for path in (tmp_path / "sdist").rglob("*")
        if path.is_file()
    }
    folders = {path.partition("/")[0] for path in there}
    assert folders == {
        *("CMakeLists.txt", "LICENSE", "README.md", "THIRD_PARTY", "pyproject.toml"),
        *("cmake", "include", "python", "src", "whorl_runtime"),
    }
    listed = subprocess.run(
        ["git", "ls-files", "include", "src", "python/src", "python/whorl/errors.py", "cmake"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    wanted = {path for path in listed if not path.startswith("src/backend/cuda/")}
    sources = ("cmake/", "include/", "python/", "src/")
    assert {path for path in there if path.startswith(sources)} == wanted
    text = (tmp_path / "sdist" / "pyproject.toml").read_text("utf-8")
    assert "../" not in text and "cibuildwheel" not in text
    build = (ROOT / "tools" / "wheel" / "build.sh").read_text("utf-8")
    assert 'tools/wheel/runtime.py "$build/runtime-sdist"' in build


def test_the_conda_recipe_has_the_version() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    assert f'version: "{version()}"' in recipe
    whole = (ROOT / "pyproject.toml").read_text("utf-8")
    listed = re.search(r"^dependencies = \[(.*)\]", whole, re.MULTILINE)
    assert listed
    for each in re.findall(r'"([^"]+)"', listed[1]):
        assert f"- {each.replace('>=', ' >=')}\n" in recipe


def test_the_conda_package_is_licensed_and_tried() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    for name in ("LICENSE", "packaging/DATA_LICENCES", "packaging/THIRD_PARTY"):
        assert f"    - {name}\n" in recipe and (ROOT / name).is_file()
    tried = re.search(r"- python (\S+\.py) gate\n", recipe)
    assert tried and f"        - {tried[1]}\n" in recipe and (ROOT / tried[1]).is_file()


def test_the_changelog_has_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## \[(\S+)\]", text, re.MULTILINE)
    assert headings[:2] == ["Unreleased", version()]


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
    shutil.copytree(
        ROOT / "python" / "whorl", tmp_path / "whorl", ignore=shutil.ignore_patterns("_*.so")
    )
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
