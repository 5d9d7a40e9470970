"""The direction of dependencies, in this tree and in trees that break it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "tools" / "check_includes.py"

GOOD_TREE = {
    "include/whorl/error.h": "#pragma once\n#include <string>\n",
    "include/whorl/binfhe/server.h": '#include "whorl/error.h"\n// backend::Device is not named\n',
    "include/whorl/io.h": '#include "whorl/binfhe/server.h"\n',
    "src/math/modulus.h": '#include "whorl/error.h"\n',
    "src/ring/ntt.cpp": '#include "math/modulus.h"\n#include <hwy/highway.h>\n',
    "src/backend/contract/ring.h": '#include "ring/ntt.h"\n',
    "src/backend/cpu/ring.cpp": (
        '#include "backend/contract/ring.h"\n#include "backend/cpu/kernels.h"\n'
    ),
    "src/run/fleet.h": '#include "backend/contract/ring.h"\n',
    "src/lattice/lwe/keys.h": '#include "run/fleet.h"\n',
    "src/schemes/binfhe/server.cpp": (
        '#include "backend/contract/ring.h"\n#include "lattice/lwe/keys.h"\n'
    ),
    "src/io/frame.cpp": '#include "schemes/binfhe/keys.h"\n',
    "python/src/client/module.cpp": '#include "whorl/io_secret.h"\n',
    "python/src/server/module.cpp": '#include "io/frame.h"\n#include "whorl/binfhe/server.h"\n',
    "python/whorl/__init__.py": "from . import arrays\n",
    "python/whorl/arrays.py": "import numpy as np\n",
    "python/whorl/cli/__init__.py": "from .. import arrays\n",
    "python/whorl/__main__.py": "from whorl.cli import main\n",
}

BREACHES = {
    "math uses ring": ("src/math/modulus.h", '#include "ring/ntt.h"\n'),
    "ring uses backend": ("src/ring/ntt.cpp", '  #  include "backend/contract/ring.h"\n'),
    "backend uses lattice": ("src/backend/contract/ring.h", '#include "lattice/lwe/keys.h"\n'),
    "backend uses schemes": ("src/backend/cpu/ring.cpp", '#include "schemes/binfhe/gates.h"\n'),
    "backend uses a scheme's public header": (
        "src/backend/contract/ring.h",
        '#include "whorl/binfhe/server.h"\n',
    ),
    "lattice uses schemes": ("src/lattice/lwe/keys.h", '#include "schemes/binfhe/keys.h"\n'),
    "backend uses run": ("src/backend/contract/ring.h", '#include "run/fleet.h"\n'),
    "run uses lattice": ("src/run/fleet.h", '#include "lattice/lwe/keys.h"\n'),
    "run uses a device": ("src/run/fleet.h", '#include "backend/cpu/ring.h"\n'),
    "lattice uses io": ("src/lattice/lwe/keys.h", "#include <whorl/io.h>\n"),
    "schemes use a device": ("src/schemes/binfhe/server.cpp", '#include "backend/cpu/ring.h"\n'),
    "io uses a device": ("src/io/frame.cpp", '#include "backend/cuda/runtime/stream.h"\n'),
    "public error uses a scheme": ("include/whorl/error.h", '#include "whorl/binfhe/server.h"\n'),
    "public header uses a private one": ("include/whorl/io.h", '#include "lattice/lwe/keys.h"\n'),
    "public header uses CUDA": ("include/whorl/io.h", "#include <cuda_runtime.h>\n"),
    "public header names a CUDA type": ("include/whorl/io.h", "void f(cudaStream_t stream);\n"),
    "public header names the backend": ("include/whorl/io.h", "void f(backend::Device& d);\n"),
    "a server's module encrypts": (
        "python/src/server/module.cpp",
        '#include "whorl/binfhe/client.h"\n',
    ),
    "a server's module loads secret keys": (
        "python/src/server/module.cpp",
        '#include "whorl/io_secret.h"\n',
    ),
    "a server's module uses the client's": (
        "python/src/common/values.h",
        '#include "../client/bgv.h"\n',
    ),
    "a lattice uses the other": (
        "src/lattice/lwe/keys.h",
        '#include "lattice/rlwe/evaluator.h"\n',
    ),
    "a scheme uses another": (
        "src/schemes/binfhe/server.cpp",
        '#include "whorl/bgv/server.h"\n',
    ),
    "a folder that is no layer": ("src/utils/misc.h", "#pragma once\n"),
    "package imports an application": ("python/whorl/arrays.py", "from apps.tree import train\n"),
    "package imports tests": ("python/whorl/arrays.py", "import tests.helpers\n"),
    "library imports the CLI": ("python/whorl/arrays.py", "from whorl.cli import main\n"),
    "library imports the CLI, relatively": ("python/whorl/arrays.py", "from . import cli\n"),
}


def write_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run_checker(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHECKER), str(root)], capture_output=True, text=True, check=False
    )


def test_this_tree_is_clean() -> None:
    result = run_checker(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_good_tree_passes(tmp_path: Path) -> None:
    write_tree(tmp_path, GOOD_TREE)
    result = run_checker(tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found(tmp_path: Path, breach: str) -> None:
    name, text = BREACHES[breach]
    write_tree(tmp_path, GOOD_TREE | {name: GOOD_TREE.get(name, "") + text})
    result = run_checker(tmp_path)
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 1, result.stdout
    assert name in result.stdout


def test_an_empty_tree_is_no_success(tmp_path: Path) -> None:
    assert run_checker(tmp_path).returncode == 2
