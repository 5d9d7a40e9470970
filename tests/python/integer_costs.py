"""What operations on encrypted integers cost, as docs/integers.md has it.

python tests/python/integer_costs.py writes the tables of that page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from integer_programs import ClearServer
from whorl import integers
from whorl.integers._circuit import Saves

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integers.md"
PLACES = [
    re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    for name in ("costs", "costs with product keys", "fewer layers", "fewer rotations")
]
WAYS: list[tuple[bool, Saves]] = [
    (False, "both"),
    (True, "both"),
    (True, "layers"),
    (True, "rotations"),
]
"""Whether there are product keys, and what is saved, of each table."""
MOST_DIGITS = 128
"""The first factors of products have so many digits at most."""
WIDTHS = (8, 16, 32, 64)


def _amount(bits: int) -> int:
    return bits.bit_length() - 1


def _same(bits: int) -> int:
    return bits


def _bit(_: int) -> int:
    return 1


Widths = tuple[Callable[[int], int], ...]
OPERATIONS: dict[str, tuple[Callable[..., Any], Widths]] = {
    "`x + y`, `x - y`": (lambda x, y: x + y, (_same, _same)),
    "`-x`, `x + 7`": (lambda x: x + 7, (_same,)),
    "`x * y`": (lambda x, y: x * y, (_same, _same)),
    "`x * 100`": (lambda x: x * 100, (_same,)),
    "`divmod(x, y)`": (lambda x, y: divmod(x, y), (_same, _same)),
    "`x // y`": (lambda x, y: x // y, (_same, _same)),
    "`x // 10`": (lambda x: x // 10, (_same,)),
    "comparisons": (lambda x, y: x < y, (_same, _same)),
    "`x & y`": (lambda x, y: x & y, (_same, _same)),
    "`where(c, x, y)`": (integers.where, (_bit, _same, _same)),
    "`maximum(x, y)`": (integers.maximum, (_same, _same)),
    "`x << k`, `x >> k`": (lambda x, k: x << k, (_same, _amount)),
    "`x >> 1`": (lambda x: x >> 1, (_same,)),
    "`x.rotl(k)`": (lambda x, k: x.rotl(k), (_same, _amount)),
    "`x.popcount()`": (lambda x: x.popcount(), (_same,)),
    "`x.leading_zeros()`": (lambda x: x.leading_zeros(), (_same,)),
}


def without_carries(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with results that have no carries left; comparisons have none."""

    def made(*inputs: Any) -> Any:
        results = function(*inputs)
        listed = results if isinstance(results, tuple) else (results,)
        return [x if x.bits == 1 else x.server.canonical(x) for x in listed]

    return made


def cost(name: str, bits: int, products: bool = False, saves: Saves = "both") -> tuple[int, int]:
    """Rotations and layers of one integer, counted on clear digits."""
    function, widths = OPERATIONS[name]
    server = ClearServer(products=MOST_DIGITS if products else 0, saves=saves)
    without_carries(function)(*(server.encrypt(1, width(bits)) for width in widths))
    return server.rotations, server.layers


def table(way: int = 0) -> str:
    """Rows of the page: all operations, or those that cost something else than without product keys
    or, with these, than where both are saved."""
    lines = ["| rotations; layers | " + " | ".join(f"{bits} bits" for bits in WIDTHS) + " |"]
    lines.append("|---" * (len(WIDTHS) + 1) + "|")
    for name in OPERATIONS:
        costs = [cost(name, bits, *WAYS[way]) for bits in WIDTHS]
        if way and costs == [cost(name, bits, *WAYS[min(way - 1, 1)]) for bits in WIDTHS]:
            continue
        lines.append(f"| {name} | " + " | ".join(f"{n:,}; {m}" for n, m in costs) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for way, place in enumerate(PLACES):
        found, made = place.search(page), table(way)
        assert found is not None
        page = page[: found.start()] + found[1] + made + found[2] + page[found.end() :]
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
