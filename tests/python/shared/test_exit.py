"""Programs end quietly, whatever still holds keys and arrays."""

import os
import random
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
session = whorl.Session("cpu", key_bytes=2**30)
server = whorl.binfhe.Server(kit.keys, session=session)
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


# Each thread is in a long call of its own, over and over, when Python ends.
IN_CALLS = """
import sys, tempfile, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from support import make_bgv_kit, make_ckks_kit, make_kit
from whorl import _server
scheme, seconds, folder = sys.argv[2], float(sys.argv[3]), sys.argv[4]
kit = {"binfhe": make_kit, "bgv": make_bgv_kit, "ckks": make_ckks_kit}[scheme]()
client, server, keys = kit.client, kit.server, kit.keys
values = np.zeros(20_000, int) if scheme == "binfhe" else np.ones((200, 512))
values = values if scheme == "ckks" else values.astype(int)
batch = client.encrypt(values)
frame = batch.to_bytes()
a = server.upload(batch[:20])
batch.save(folder + "/loaded")
raw = {"raw": True} if scheme == "ckks" else {}
calls = [
    lambda: client.encrypt(values),
    lambda: client.encrypt(values[:1]),
    lambda: client.decrypt(batch, **raw),
    lambda: client.evaluation_keys(),
    lambda: client.evaluation_keys(progress=lambda done, total: time.sleep(1e-4)),
    lambda: type(server)(keys, device="cpu"),
    lambda: server.nand(a, a) if scheme == "binfhe" else a * a,
    lambda: server.download(server.upload(batch)),
    lambda: batch.save(folder + "/saved"),
    lambda: type(batch).load(folder + "/loaded", True),
    lambda: type(batch).from_bytes(batch.to_bytes(), True),
    lambda: _server.rtl.count_cycles({}, {}, 100, 2),
]
def run(call):
    while True:
        call()
for call in calls:
    threading.Thread(target=run, args=(call,), daemon=True).start()
time.sleep(seconds)
"""


@pytest.mark.parametrize("scheme", ["binfhe", "bgv", "ckks"])
def test_daemon_threads_amid_calls(scheme: str, tmp_path: Path) -> None:
    """Python ends threads that ask for its lock by unwinding them, which no C++ frame may see."""
    for _ in range(int(os.environ.get("WHORL_TEST_ENDS", "4"))):
        seconds = random.uniform(0, 0.3)
        tests, folder = str(Path(__file__).parents[1]), str(tmp_path)
        done = run_python(IN_CALLS, tests, scheme, f"{seconds}", folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), f"after {seconds} s"
