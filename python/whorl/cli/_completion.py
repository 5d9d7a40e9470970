"""What a shell offers for an argument or an option's value.

Where nothing is offered, shells complete the names of files, as they do for other commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

Complete = Callable[[str], list[str]]


def files(incomplete: str) -> list[str]:
    """Offers nothing, so that the shell completes names of files itself."""
    return []


def one_of(*names: str) -> Complete:
    """The names that begin with what was typed."""
    return from_list(lambda: names)


def in_any_case(*names: str) -> Complete:
    """Those names; in small letters if the user has begun with small letters."""

    def complete(incomplete: str) -> list[str]:
        found = [name.lower() if incomplete.islower() else name for name in names]
        return [name for name in found if name.startswith(incomplete)]

    return complete


def from_list(names: Callable[[], Iterable[str]]) -> Complete:
    """The names that `names` gives when a shell asks."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def named_files(incomplete: str) -> list[str]:
    """FILE of NAME=FILE, for shells that see one word; bash completes FILE by itself."""
    name, equals, start = incomplete.partition("=")
    if not equals:
        return []
    folder = Path(start if start.endswith("/") else Path(start).parent)
    before = start[: len(start) - len(start.rpartition("/")[2])]
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        text = f"{before}{path.name}{'/' * path.is_dir()}"
        if text.startswith(start) and not (path.name.startswith(".") and before == start):
            found.append(f"{name}={text}")
    return found


DEVICES = one_of("cpu", "cuda", "cuda:all")
TRANSFORMS = one_of("ntt", "fft")
