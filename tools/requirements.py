"""Print what pip needs for the build, the package and the given extras and groups of dependencies,
from pyproject.toml.

`pip install .[extra]` would build the module as well; set-up wants the packages first and apart.
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib


def requirements(pyproject: Path, names: list[str]) -> list[str]:
    """Build and run-time requirements, and those of extras and groups, in this order."""
    data = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    named = data["project"]["optional-dependencies"] | data["dependency-groups"]
    found = [*data["build-system"]["requires"], *data["project"]["dependencies"]]
    for name in names:
        found += named[name]
    return found


if __name__ == "__main__":
    print("\n".join(requirements(Path(__file__).parent.parent / "pyproject.toml", sys.argv[1:])))
