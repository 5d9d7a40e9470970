"""What operations on encrypted integers cost, on clear digits, in plans and on the page."""

from __future__ import annotations

import integer_costs
from whorl import binfhe, integers
from whorl.integers import Fresh

W128 = binfhe.parameters("W128_P128")


def test_costs_of_the_page() -> None:
    """They are those of clear digits, and of plans."""
    page = integer_costs.PAGE.read_text(encoding="utf-8")
    for way, place in enumerate(integer_costs.PLACES):
        held = place.search(page)
        assert held and integer_costs.table(way) in held[0]
    for name, (function, widths) in integer_costs.OPERATIONS.items():
        fresh = [Fresh((), width(8)) for width in widths]
        planned = integers.plan(integer_costs.without_carries(function), fresh, parameters=W128)
        assert (planned.rotations, planned.layers) == integer_costs.cost(name, 8)
        assert planned.failure_log2 < -120
        fewer = {}
        for saves in ("layers", "rotations"):
            fewer[saves] = integers.plan(
                integer_costs.without_carries(function), fresh, parameters=W128, saves=saves
            )
            found = fewer[saves].rotations, fewer[saves].layers
            assert found == integer_costs.cost(name, 8, False, saves)
            assert fewer[saves].failure_log2 < -120
        assert fewer["layers"].layers <= planned.layers
        assert fewer["rotations"].rotations <= planned.rotations
