"""Small tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable


class Shown:
    """An object that notebooks show as a table. A subclass gives the facts in it."""

    __slots__ = ()

    def _facts(self) -> Iterable[tuple[str, str]]:
        """Names and values for people, public ones only."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """A table of two columns; what users named is escaped."""
        rows = "".join(
            f'<tr><th style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for name, value in self._facts()
        )
        title = html.escape(type(self).__name__)
        return (
            f'<table><thead><tr><th colspan="2" style="text-align:left">{title}</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )


def of_bytes(count: int) -> str:
    """A number of bytes, for people: `1,536 (1.5 KiB)`."""
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count:,}" if unit == "bytes" else f"{count:,} ({size:.1f} {unit})"
