"""What the Python package says of designs and their modules, without its compiled modules.

python/whorl/_rtl/design.py and modules.py import nothing but each other. Here they are parts
of a package that has no __init__.py, so that synthesis needs no build of the library.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

SOURCES = Path(__file__).resolve().parents[2] / "python" / "whorl"


def _load() -> tuple[ModuleType, ModuleType]:
    name = "whorl_sources"
    parent = sys.modules.setdefault(name, ModuleType(name))
    parent.__path__ = [str(SOURCES)]
    return tuple(
        importlib.import_module(f"{name}.{part}") for part in ("_rtl.design", "_rtl.modules")
    )


design, modules = _load()
Design = design.Design
MOST_BITS, MOST_PORTS = design.MOST_BITS, design.MOST_PORTS
