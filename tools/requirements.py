"""Print what pip needs for the build, the package and the given extras, from pyproject.toml.

`pip install .[extra]` would build the module as well; set-up wants the packages first and apart.
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib


def requirements(pyproject: Path, extras: list[str]) -> list[str]:
    """Build, run-time and extra requirements, in the order of the file."""
    data = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    found = [*data["build-system"]["requires"], *data["project"]["dependencies"]]
    for extra in extras:
        found += data["project"]["optional-dependencies"][extra]
    return found


if __name__ == "__main__":
    print("\n".join(requirements(Path(__file__).parent.parent / "pyproject.toml", sys.argv[1:])))
