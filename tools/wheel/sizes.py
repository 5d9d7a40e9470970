"""Prints how large the wheels of a folder are, and fails if one is too large.

usage: sizes.py FOLDER
"""

import sys
from pathlib import Path

AT_MOST = {"whorl_fhe": 6.0, "whorl_fhe_runtime": 5.0, "whorl_fhe_cuda13": 100.0}
"""Megabytes of each distribution's wheels."""


def main() -> None:
    wrong = []
    for wheel in sorted(Path(sys.argv[1]).glob("*.whl")):
        size, limit = wheel.stat().st_size / 1e6, AT_MOST[wheel.name.partition("-")[0]]
        print(f"{wheel.name}: {size:.2f} MB, at most {limit:g}")
        if size > limit:
            wrong.append(f"error: {wheel.name} has {size:.2f} MB, more than {limit:g}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
