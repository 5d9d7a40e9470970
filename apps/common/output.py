"""Numbers for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

EXTRA = 'pip install "whorl-fhe[apps]"'
"""The command that brings scikit-learn and matplotlib."""


def size(count: float) -> str:
    """Bytes for people."""
    if count < 1e4:
        return f"{count:,.0f} bytes"
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def rows(*pairs: tuple[str, str]) -> None:
    """Prints a table of two columns."""
    for name, value in pairs:
        print(f"  {name:<38}{value}".rstrip())


def picture(what: str, path: Path, draw: Callable[[Path], None]) -> bool:
    """Draws to a file and says where, or which command brings matplotlib."""
    try:
        draw(path)
    except ModuleNotFoundError as missing:
        rows((what, f"none: {missing}; {EXTRA}"))
        return False
    rows((what, str(path)))
    return True
