"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def client_on_demand(
    package: str, public: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a scheme's package, which import `Client` at its first use.

    So a server's process never has it.
    """

    def get(name: str) -> Any:
        if name == "Client":
            return importlib.import_module("._client", package).Client
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(public)
