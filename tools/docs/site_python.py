"""Pages of the Python interface, which mkdocstrings makes of the docstrings of python/whorl."""

from __future__ import annotations

MODULES = {
    "whorl": "The package whorl: devices, sessions, errors",
    "whorl.binfhe": "FHEW/TFHE in Python: whorl.binfhe",
    "whorl.bgv": "BGV in Python: whorl.bgv",
    "whorl.ckks": "CKKS in Python: whorl.ckks",
    "whorl.nn": "Networks in Python: whorl.nn",
    "whorl.circuit": "Circuits of gates in Python: whorl.circuit",
    "whorl.tracing": "Functions of integers in Python: whorl.trace",
    "whorl.lanes": "Exact bits in Python: whorl.lanes",
    "whorl.integers": "Encrypted integers in Python: whorl.integers",
}
BESIDE = {"whorl": ("whorl.errors",), "whorl.nn": ("whorl.ml",)}
"""Modules that stand on the page of another one."""


def pages() -> dict[str, str]:
    """Markdown of the pages, by their places."""
    made = {}
    for module, title in MODULES.items():
        lines = [f"# {title}", "", f"::: {module}"]
        for other in BESIDE.get(module, ()):
            lines += ["", f"::: {other}"]
        made[f"reference/python/{module.rpartition('.')[2]}.md"] = "\n".join(lines)
    return made
