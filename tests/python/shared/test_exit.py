"""Programs end quietly, whatever still holds keys and arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import run_python

START = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import whorl
from support import make_bgv_kit, make_kit
kit = make_kit()
x = kit.server.upload(kit.client.encrypt([0, 1]))
"""
PROGRAMS = {
    "globals": "toy = make_bgv_kit(); y = toy.server.upload(toy.client.encrypt([1])); z = y * y",
    "views": "words = kit.client.encrypt([1, 2]).data; np.kept = words[0]",
    "closures": """
def make():
    own = make_kit()
    y = own.server.upload(own.client.encrypt([1]))
    return lambda: own.server.nand(y, y)
f = make()
g = f()
""",
    "cycles": """
class Node: pass
node = Node()
node.me, node.kit, node.x, node.f = node, kit, x, lambda: node
""",
    "a traceback": """
def bad(a):
    y = kit.server.nand(a, a)
    raise ValueError
try:
    bad(x)
except ValueError as error:
    held = error
    sys.last_value, sys.last_traceback = error, error.__traceback__
""",
    "an exception of the library's": """
try:
    kit.client.encrypt([9])
except whorl.EncodingError as error:
    held = error
""",
    "progress that stops": """
def stop(done, total):
    raise LookupError
try:
    kit.client.evaluation_keys(progress=stop)
except LookupError as error:
    held = error
""",
    "an early end": """
def f():
    y = kit.server.nand(x, x)
    raise SystemExit(0)
f()
""",
    "caches": """
import atexit, builtins, functools
@functools.cache
def cached():
    return make_kit()
builtins.kept = sys.kept = cached()
atexit.register(lambda a: None, x)
cache = whorl.KeyCache(2**30)
server = whorl.binfhe.Server(kit.keys, "cpu", key_cache=cache)
""",
    "a generator": """
def each():
    for a in x:
        yield kit.server.not_(a)
g = each()
next(g)
""",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
results = [pool.submit(kit.server.nand, x, x) for _ in range(4)]
[result.result() for result in results]
""",
    "notebook tables": "tables = [each._repr_html_() for each in (kit.parameters, x)]",
}
DAEMON = """
import threading, time
def run():
    y = kit.server.nand(x, x)
    threading.Event().wait()
threading.Thread(target=run, daemon=True).start()
time.sleep(0.2)
"""


def check(program: str) -> None:
    done = run_python(START + program, str(Path(__file__).parents[1]))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_quietly(name: str) -> None:
    check(PROGRAMS[name])


# Python ends without the frames of such a thread: what they hold is never dropped, and only
# nb::set_leak_warnings(false) in python/src/server/module.cpp keeps nanobind from listing it.
def test_daemon_threads_end_quietly() -> None:
    check(DAEMON)
