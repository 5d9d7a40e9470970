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
    "src/circuits/bgv/slots.cpp": (
        '#include "circuits/common/matrix_layout.h"\n#include "whorl/circuits/bgv/slots.h"\n'
        "const CiphertextInfo& info = x.info();  // and no CiphertextInfo otherwise\n"
    ),
    "src/schemes/ckks/server.cpp": (
        "const Info info = account.add(a.info(), b.info());\n"
        "if (info.count == 1 || known.scale == 1) return array(info, sum);\n"
        "// account.cpp alone has Info out = a;\n"
    ),
    "src/schemes/ckks/account_batches.cpp": "Info out = a;\nout.count += b.count;\n",
    "src/schemes/binfhe/origin.cpp": "Origin out = origin;\nout.noise = 1;\n",
    "src/circuits/bgv/sums.cpp": "if (x.info().rest == Rest::same) return x;\n",
    "src/circuits/binfhe/floors.cpp": "const Outcome floor = state.of_floor(a, 3);\n",
    "src/networks/plan.cpp": (
        '#include "circuits/ckks/maps.h"\n#include "whorl/networks/placement.h"\n'
    ),
    "src/io/native/frame.cpp": '#include "schemes/binfhe/keys.h"\n',
    "python/src/client/module.cpp": '#include "whorl/io_secret.h"\n',
    "python/src/server/module.cpp": (
        '#include "io/native/frame.h"\n#include "whorl/binfhe/server.h"\n'
    ),
    "python/whorl/__init__.py": "from . import arrays\n",
    "python/whorl/arrays.py": "import numpy as np\n",
    "python/whorl/words.py": "import json\n",
    "python/whorl/cli/__init__.py": "from .. import words\n",
    "python/whorl/__main__.py": "from whorl.cli import main\n",
}

# What each file must not have, a line each.
BREACHES = {
    "src/math/modulus.h": ['#include "ring/ntt.h"'],
    "src/ring/ntt.cpp": ['  #  include "backend/contract/ring.h"'],
    "src/backend/contract/ring.h": [
        '#include "run/fleet.h"',
        '#include "lattice/lwe/keys.h"',
        '#include "whorl/binfhe/server.h"',
    ],
    "src/backend/cpu/ring.cpp": ['#include "schemes/binfhe/gates.h"'],
    "src/run/fleet.h": ['#include "lattice/lwe/keys.h"', '#include "backend/cpu/ring.h"'],
    "src/lattice/lwe/keys.h": [
        '#include "lattice/rlwe/evaluator.h"',
        '#include "schemes/binfhe/keys.h"',
        "#include <whorl/io.h>",
    ],
    "src/schemes/binfhe/server.cpp": [
        '#include "backend/cpu/ring.h"',
        '#include "whorl/bgv/server.h"',
    ],
    "src/circuits/bgv/slots.cpp": [
        '#include "networks/plan.h"',
        '#include "whorl/networks/plan.h"',
        '#include "circuits/ckks/maps.h"',
        '#include "whorl/circuits/ckks/functions.h"',
        '#include "whorl/ckks/server.h"',
        "CiphertextInfo info = x.info();",
        "void f(bgv::CiphertextInfo& info);",
        "auto info = x.info();",
    ],
    "src/circuits/bgv/sums.cpp": [
        "return state.array(state.account.with_vectors(x.info(), 1, Rest::same), y);"
    ],
    "src/schemes/ckks/server.cpp": [
        "CiphertextInfo info = a.info_;",
        "Info out = account.relinearise(a.info());",
        "Info& of = all[0];",
        "c.info.count += 1;",
        "a.info_.level = 2;",
        "++steps, info.count++;",
    ],
    "src/schemes/binfhe/batches.cpp": ["Origin of = *origin(a);", "out.noise = 1;"],
    "src/circuits/binfhe/floors.cpp": [
        "std::make_shared<Origin>(origin);",
        "Outcome floor{-40, {}};",
    ],
    "src/networks/plan.cpp": ['#include "whorl/io.h"', '#include "backend/cpu/ring.h"'],
    "src/io/native/frame.cpp": ['#include "backend/cuda/runtime/stream.h"'],
    "src/utils/misc.h": ["#pragma once"],  # a folder that is no layer
    "include/whorl/error.h": ['#include "whorl/binfhe/server.h"'],
    "include/whorl/io.h": [
        '#include "lattice/lwe/keys.h"',
        "#include <cuda_runtime.h>",
        "void f(cudaStream_t stream);",
        "void f(backend::Device& d);",
    ],
    "python/src/server/module.cpp": [
        '#include "whorl/binfhe/client.h"',
        '#include "whorl/io_secret.h"',
        '#include "whorl/secret_key.h"',
    ],
    "python/src/common/values.h": ['#include "../client/bgv.h"'],
    "python/whorl/arrays.py": [
        "from apps.tree import train",
        "import tests.helpers",
        "from whorl.cli import main",
        "from . import cli",
    ],
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


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, lines in BREACHES.items() for line in lines]
)
def test_a_breach_is_found(tmp_path: Path, name: str, line: str) -> None:
    write_tree(tmp_path, GOOD_TREE | {name: GOOD_TREE.get(name, "") + line + "\n"})
    result = run_checker(tmp_path)
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 1, result.stdout
    assert name in result.stdout


def test_an_empty_tree_is_no_success(tmp_path: Path) -> None:
    assert run_checker(tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ("from ._first import f\n", 2),
        ("import whorl._first\n", 2),
        ("try:\n    from . import _first\nexcept ImportError:\n    pass\n", 2),
        ("if TYPE_CHECKING:\n    from ._first import f\n", 2),
        ("def g() -> None:\n    from ._first import f\n", 2),
        ("import numpy as np\n", 0),
    ],
)
def test_circles_of_imports_are_found(tmp_path: Path, second: str, found: int) -> None:
    files = {"_first.py": "from ._second import g\n", "_second.py": second}
    write_tree(tmp_path, GOOD_TREE | {f"python/whorl/{name}": text for name, text in files.items()})
    lines = run_checker(tmp_path).stdout.splitlines()
    assert len(lines) == found and all("circle of imports" in line for line in lines)


def test_circles_of_packages_are_found(tmp_path: Path) -> None:
    files = {
        "_core/_sums.py": "def f() -> None:\n    from whorl import bgv\n",
        "bgv/__init__.py": "from ._server import g\n",
        "bgv/_server.py": "from .._core import _words\n",
        "_core/_words.py": "import json\n",
    }
    write_tree(tmp_path, GOOD_TREE | {f"python/whorl/{name}": text for name, text in files.items()})
    lines = run_checker(tmp_path).stdout.splitlines()
    assert lines == [
        "python: whorl._core <- whorl.bgv <- whorl._core is a circle of imports",
        "python: whorl.bgv <- whorl._core <- whorl.bgv is a circle of imports",
    ]
