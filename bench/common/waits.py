"""Seconds of what a server enqueues, with a wait at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(server: Any, call: Callable[[], Any], runs: int) -> list[float]:
    """Seconds of each call but the first; results are dropped."""
    times = []
    for _ in range(runs + 1):
        server.synchronise()
        begun = time.perf_counter()
        result = call()
        server.synchronise()
        times.append(time.perf_counter() - begun)
        del result
    return times[1:]
