"""The scripts in tools/ that say what they did not do, with tools that only pretend."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What scripts themselves need.
PLAIN = (
    "bash",
    "dirname",
    "env",
    "find",
    "grep",
    "mkdir",
    "nproc",
    "paste",
    "sed",
    "sort",
    "uname",
)


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with plain programs alone."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PLAIN:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    pretend(folder, "python3", f'exec "{sys.executable}" "$@"')
    return folder


def pretend(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def run(folder: Path, script: str, *arguments: str, **variables: str) -> tuple[int, str]:
    """Exit status and output of a script that sees `folder` alone."""
    environment = {"PATH": str(folder), "WHORL_VENV": str(folder / "none"), **variables}
    done = subprocess.run(
        [shutil.which("bash") or "bash", str(ROOT / "tools" / script), *arguments],
        env={**{k: v for k, v in os.environ.items() if not k.startswith("WHORL_")}, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_lint_is_not_clean_where_a_tool_is_absent(bin_folder: Path) -> None:
    for name in ("clang-format", "ruff", "shellcheck"):
        pretend(bin_folder, name, "exit 0")
    status, said = run(bin_folder, "lint.sh", "--without-clang-tidy")
    assert status == 1 and "absent: mypy" in said and "clean" not in said
    status, said = run(bin_folder, "lint.sh", "--without-clang-tidy", "--allow-absent")
    assert status == 0 and "absent: mypy" in said and "clean" not in said
    pretend(bin_folder, "mypy", "exit 0")
    status, said = run(bin_folder, "lint.sh", "--without-clang-tidy")
    assert status == 1 and "whorl is not installed" in said
    stubs = bin_folder / "none" / "lib" / "python3" / "site-packages" / "whorl" / "_server"
    stubs.mkdir(parents=True)
    (stubs / "__init__.pyi").touch()
    status, said = run(bin_folder, "lint.sh", "--without-clang-tidy")
    assert status == 0 and said.endswith("lint: clean\n")
    assert run(bin_folder, "lint.sh", "--no-such-flag")[0] == 2


@pytest.mark.parametrize(
    ("gpus", "wanted", "why"),
    [
        ("9.0\n8.9\n9.0\n12.0", "89-real;90a-real;120-real", "8.9, 9.0, 12.0"),
        ("8.0", "80-real", "compute capability 8.0"),
        ("7.5", "90a-real", "no GPU here"),
        ("", "90a-real", "no GPU here"),
    ],
)
def test_every_gpu_here_is_built_for(bin_folder: Path, gpus: str, wanted: str, why: str) -> None:
    pretend(bin_folder, "nvidia-smi", f"printf '{gpus}\\n'")
    status, said = run(bin_folder, "setup.sh", "architectures")
    assert status == 0 and said.startswith(f"{wanted} (") and why in said


def test_architectures_that_are_asked_for_are_taken(bin_folder: Path) -> None:
    asked = {"WHORL_CUDA_ARCHITECTURES": "80-real;90-virtual"}
    status, said = run(bin_folder, "setup.sh", "architectures", **asked)
    assert status == 0 and said.startswith("80-real;90-virtual (WHORL_CUDA_ARCHITECTURES")


def test_the_demo_builds_cuda_where_it_is_of_use(bin_folder: Path, tmp_path: Path) -> None:
    """That is on a GPU, where it is asked for, and where an earlier build has it."""

    def chosen(goal: str, **variables: str) -> str:
        place = {"WHORL_BUILD": str(tmp_path / "build"), **variables}
        status, said = run(bin_folder, "setup.sh", "architectures", goal, **place)
        assert status == 0
        return said.partition(" ")[0]

    assert chosen("demo") == "none" and chosen("test") == "90a-real"
    assert chosen("demo", WHORL_CUDA="ON") == "90a-real"
    assert chosen("test", WHORL_CUDA="OFF") == "none"
    (tmp_path / "build").mkdir()
    cache = tmp_path / "build" / "CMakeCache.txt"
    cache.write_text("WHORL_CUDA:STRING=OFF\n", encoding="utf-8")
    assert chosen("demo") == "none"
    cache.write_text("WHORL_CUDA:UNINITIALIZED=AUTO\n", encoding="utf-8")
    assert chosen("demo") == "90a-real"
    pretend(bin_folder, "nvidia-smi", "echo 8.9")
    cache.unlink()
    assert chosen("demo") == "89-real"


def test_wheels_are_built_once_for_the_pythons_that_are_found(bin_folder: Path) -> None:
    """3.12 and newer share a module. What is not found is said."""

    def found() -> tuple[list[str], str]:
        status, said = run(bin_folder, "wheel/build.sh", "pythons")
        assert status == 0
        lines = said.splitlines()
        return [line for line in lines if line.startswith("python")], said

    def install(minor: int) -> None:
        version = f"(3, {minor})"
        pretend(bin_folder, f"python3.{minor}", f'case "$2" in *"{version}"*) ;; *) exit 1 ;; esac')

    nothing = "not found, and so without a wheel of whorl-fhe-runtime: python3."
    pythons, said = found()
    assert not pythons and said.count(nothing) == 3
    assert f"{nothing}12 python3.13 python3.14\n" in said
    install(13)
    install(14)
    pythons, said = found()
    assert pythons == ["python3.13"] and f"{nothing}11\n" in said and "3.12" not in said
    install(12)
    assert found()[0] == ["python3.12"]
    install(10)
    install(11)
    assert found()[1] == "python3.10\npython3.11\npython3.12\n"
    status, said = run(bin_folder, "wheel/build.sh", "pythons", WHORL_WHEEL_PYTHONS="a b")
    assert (status, said) == (0, "a\nb\n")


def test_the_gpu_bundle_has_the_kernels_once(bin_folder: Path, tmp_path: Path) -> None:
    """One program, with a name for each test and bench that is in it; at most 50 MB in all."""
    build, bundle = tmp_path / "build", tmp_path / "bundle"
    build.mkdir()
    for name in ("rm", "cat", "chmod", "cp", "tr", "du", "cut"):
        found = shutil.which(name)
        assert found, name
        (bin_folder / name).symlink_to(found)
    pretend(bin_folder, "cmake", f'echo "$*" >> "{tmp_path}/asked"')
    pretend(bin_folder, "strip", 'cp "$3" "$2"')
    (tmp_path / "libx.so").write_bytes(b"")
    pretend(bin_folder, "ldd", f'echo "libx.so => {tmp_path}/libx.so (0x1)"')
    pretend(bin_folder, "git", "echo 1234567")
    (build / "gpu_bundle.txt").write_text("whorl_tests_gpu\nbench_gpu\n", encoding="utf-8")
    (build / "whorl_gpu").write_text('#!/bin/sh\necho "runs: $*"\n', encoding="utf-8")
    (build / "whorl_gpu").chmod(0o755)
    place = {"WHORL_BUILD": str(build), "WHORL_CUDA_ARCHITECTURES": "90a-real"}
    status, said = run(bin_folder, "gpu-bundle.sh", str(bundle), **place)
    assert status == 0 and "2 programs" in said, said
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert "-DWHORL_CUDA_ARCHITECTURES=90a-real" in asked and "--target whorl_gpu" in asked
    assert sorted(path.name for path in (bundle / "bin").iterdir()) == [
        "bench_gpu",
        "whorl_tests_gpu",
    ]
    assert all(path.stat().st_size < 200 for path in (bundle / "bin").iterdir())
    assert (bundle / "lib" / "libx.so").exists()
    started = subprocess.run(
        [bundle / "run.sh", "test", "--gtest_filter=x"], capture_output=True, text=True, timeout=60
    )
    assert started.stdout == "runs: whorl_tests_gpu --gtest_filter=x\n", started
    # What a bundle of all architectures would be.
    with (build / "whorl_gpu").open("r+b") as program:
        program.seek(60 << 20)
        program.write(os.urandom(1 << 20))
    pretend(bin_folder, "strip", 'cp --sparse=never "$3" "$2"')
    status, said = run(bin_folder, "gpu-bundle.sh", str(bundle), **place)
    assert status == 1 and "more than 50 MB" in said, said
