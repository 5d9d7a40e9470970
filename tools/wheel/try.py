"""Tries an installed package: fails if an answer is wrong, or if its import takes too long.

usage: try.py [gate]        gate: one gate and nothing else
"""

import platform
import sys
import time

began, worked = time.perf_counter(), time.process_time()
import whorl  # noqa: E402

Client = whorl.binfhe.Client  # a scheme is imported at its first use
elapsed, worked = time.perf_counter() - began, time.process_time() - worked
if "gate" not in sys.argv[1:]:
    print(f"import of whorl.binfhe: {elapsed:.3f} s, processor {worked:.3f} s")
    # Other programs lengthen the first of them alone; other architectures may be emulated.
    assert worked < 0.3 or platform.machine() != "x86_64"

gates = Client(whorl.binfhe.parameters("W128_P64"))
server = whorl.binfhe.Server(gates.evaluation_keys(), device="cpu")
bits = server.nand(gates.encrypt([0, 0, 1, 1]), gates.encrypt([0, 1, 0, 1]))
assert gates.decrypt(bits).tolist() == [1, 1, 1, 0]

if "gate" not in sys.argv[1:]:
    integers = whorl.bgv.Client(whorl.bgv.parameters(depth=1))
    x = integers.encrypt([2, 3, 5])
    products = whorl.bgv.Server(integers.evaluation_keys(), device="cpu").upload(x) * x
    assert integers.decrypt(products).tolist() == [4, 9, 25]

    reals = whorl.ckks.Client(whorl.ckks.parameters(depth=1))
    y = reals.encrypt([0.5, -0.25])
    squares = whorl.ckks.Server(reals.evaluation_keys(), device="cpu").upload(y) * y
    assert abs(reals.decrypt(squares, raw=True) - [0.25, 0.0625]).max() < 10 * squares.error

    # The exceptions of the compiled modules are those of the package.
    try:
        whorl.binfhe.parameters("none")
    except whorl.ParameterError:
        pass
    else:
        raise AssertionError("there is no set named none")
    print(*(f"{device.name}: {device.why}" for device in whorl.devices()), sep="\n")
