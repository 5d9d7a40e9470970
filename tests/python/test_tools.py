"""The scripts in tools/ that say what they did not do, with tools that only pretend."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What scripts themselves need.
PLAIN = ("bash", "dirname", "env", "find", "grep", "mkdir", "nproc", "paste", "sed", "sort")


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
