"""What griffe does not know of Whorl's sources.

`Part[type](path, doc)` is a property that carries its docstring. Doctests become blocks of code,
and a[i][j] in a sentence is no link.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe


def as_markdown(docstring: str) -> str:
    """A docstring whose doctests are fenced."""
    lines: list[str] = []
    inside = False
    for line in docstring.split("\n"):
        if not inside and line.lstrip().startswith(">>>"):
            inside = True
            lines.append(line[: len(line) - len(line.lstrip())] + "```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        elif not inside:
            # What stands between back quotes stays.
            parts = re.split(r"(`[^`]*`)", line)
            line = "".join(p if p[:1] == "`" else p.replace("][", "]\\[") for p in parts)
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


class Sources(griffe.Extension):  # type: ignore[misc]
    """Mends what was read of the package."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """All of the package has been read."""
        self._mend(pkg)

    def _mend(self, each: griffe.Object | griffe.Alias) -> None:
        if isinstance(each, griffe.Alias):
            return
        if isinstance(each, griffe.Attribute):
            self._part(each)
        if each.docstring:
            each.docstring.value = as_markdown(each.docstring.value)
        for member in each.members.values():
            self._mend(member)

    def _part(self, attribute: griffe.Attribute) -> None:
        value = attribute.value
        if not isinstance(value, griffe.ExprCall):
            return
        part = value.function
        if isinstance(part, griffe.ExprSubscript) and str(part.left) == "Part":
            text = ast.literal_eval(str(value.arguments[1]))
            attribute.annotation = part.slice
            attribute.docstring = griffe.Docstring(text, parent=attribute, parser="google")
            attribute.value = None
            attribute.labels.add("property")
