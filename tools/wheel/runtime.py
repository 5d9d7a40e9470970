"""Lays out the sources of whorl-fhe-runtime alone, from this checkout, for its sdist.

usage: runtime.py FOLDER

FOLDER becomes a project that pip builds where no wheel serves. packaging/runtime takes the sources
from two folders above it, which an sdist does not have; here they lie beside pyproject.toml.
"""

import shutil
import sys
from pathlib import Path

from front import ROOT, replaced

SOURCES = ("CMakeLists.txt", "cmake", "include", "src", "python/src", "python/whorl/errors.py")
"""What CMake reads for the modules. The backend for GPUs is a distribution of its own."""


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyc", "cuda")
    shutil.copytree(ROOT / "packaging" / "runtime", folder, ignore=ignored)  # follows links
    for name in SOURCES:
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to, ignore=ignored)
        else:
            shutil.copy(ROOT / name, to)
    text = (folder / "pyproject.toml").read_text("utf-8")
    text = replaced(text, r'^cmake\.source-dir = "\.\./\.\."', 'cmake.source-dir = "."')
    text = replaced(text, r'^input = "\.\./\.\./CMakeLists\.txt"', 'input = "CMakeLists.txt"')
    text = replaced(text, r"\n# `cibuildwheel packaging/runtime`.*", "")
    (folder / "pyproject.toml").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
