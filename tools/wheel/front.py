"""Lays out the distribution whorl-fhe, which is Python alone, from this checkout.

usage: front.py FOLDER STUBS

FOLDER becomes a project that pip builds: the package of python/whorl, the stubs of its compiled
modules from the folder STUBS, and the metadata of pyproject.toml with what the parts need of one
another: the compiled part of exactly this version.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def replaced(text: str, pattern: str, by: str, count: int = 1) -> str:
    """`text` with the places that match the pattern replaced, of which there are `count`."""
    text, found = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE | re.DOTALL)
    if found != count:
        raise SystemExit(f"error: there are {found} places like {pattern!r}, not {count}")
    return text


def version() -> str:
    found = re.search(r"VERSION (\d+\.\d+\.\d+)\n", (ROOT / "CMakeLists.txt").read_text("utf-8"))
    if not found:
        raise SystemExit("error: CMakeLists.txt names no version")
    return found[1]


def metadata() -> str:
    """pyproject.toml of the front: no C++, and the compiled part by version."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    runtime = f"whorl-fhe-runtime=={version()}"
    text = replaced(text, r"^dependencies = \[", f'dependencies = ["{runtime}", ')
    text = replaced(text, r'^dynamic = \["version"\]', f'version = "{version()}"')
    text = replaced(
        text,
        r"^\[tool\.scikit-build\].*?(?=^\[tool\.(?!scikit-build))",
        '[tool.scikit-build]\nwheel.cmake = false\nwheel.packages = ["whorl"]\n'
        'wheel.py-api = "py3"\nwheel.platlib = false\n\n',
    )
    text = replaced(text, r"^license-files = .*?$", 'license-files = ["LICENSE", "DATA_LICENCES"]')
    text = replaced(text, r" AND BSD-3-Clause| AND MIT", "", count=2)  # what the modules hold
    return replaced(text, r'"scikit-build-core>=1.0", "nanobind>=3.1"', '"scikit-build-core>=0.10"')


def readme() -> str:
    """README.md as an index of packages shows it: it says how to install from there, and has no
    links into this checkout, which lead nowhere."""
    text = (ROOT / "README.md").read_text("utf-8")
    text = replaced(
        text,
        r"^It runs after `pip install`\..*?$",
        "It runs after `pip install whorl-fhe`. The module is `whorl`.",
    )
    return re.sub(r"\[([^\]]+)\]\((?!https?://)[^)]+\)", r"\1", text)


def main() -> None:
    folder, stubs = (Path(given) for given in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")  # the runtime has what is compiled
    shutil.copytree(ROOT / "python" / "whorl", folder / "whorl", ignore=ignored)
    shutil.copytree(ROOT / "apps", folder / "whorl" / "_apps", ignore=ignored)
    for module in ("_server", "_client"):
        shutil.copytree(stubs / module, folder / "whorl" / module)
    for path in (ROOT / "LICENSE", ROOT / "packaging" / "DATA_LICENCES"):
        shutil.copy(path, folder)
    (folder / "README.md").write_text(readme(), "utf-8")
    (folder / "pyproject.toml").write_text(metadata(), "utf-8")


if __name__ == "__main__":
    main()
