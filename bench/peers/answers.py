"""How each peer answers. It runs in their environments, with nothing but CPython 3.10."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def answer(call_of: Callable[[str], Callable[[], Any]], **about: Any) -> None:
    """Says who this is, then reads {"op", "runs"} and prints CPU {"seconds"} of a call.

    `process_time` is that of all threads, so that none is for free.
    """
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        call = call_of(request["op"])
        start = time.process_time()
        for _ in range(request["runs"]):
            call()
        seconds = (time.process_time() - start) / request["runs"]
        print(json.dumps({"seconds": seconds}), flush=True)
