"""Tries an installed package: fails if an answer is wrong, or if its import takes too long.

usage: try.py [gate | cuda]     gate: one gate and nothing else
                             cuda: on a GPU too: a gate, 16,384 of them, the CPU's bits of a
                             product, and a bootstrap of 128 bits of security (2 GB of keys)
"""

import platform
import subprocess
import sys
import time

# The first import reads files from the disk; NumPy's other threads wait busily for work.
subprocess.run([sys.executable, "-c", "import whorl.binfhe"], check=True)
began, worked = time.perf_counter(), time.thread_time()
import whorl  # noqa: E402

Client = whorl.binfhe.Client  # a scheme is imported at its first use
elapsed, worked = time.perf_counter() - began, time.thread_time() - worked
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

if "cuda" in sys.argv[1:]:
    import numpy as np
    from whorl import bgv, binfhe, ckks

    device = binfhe.Server(gates.evaluation_keys(), device="cuda")
    assert gates.decrypt(device.nand(gates.encrypt([0, 1]), gates.encrypt([1, 1]))).tolist() == [
        1,
        0,
    ]
    print(f"a gate on {device.devices}: {time.perf_counter() - began:.1f} s after the import began")
    random = np.random.default_rng(0)
    one, other = random.integers(0, 2, (2, 16384))
    results = device.nand(gates.encrypt(one), gates.encrypt(other))
    assert (gates.decrypt(results) == 1 - (one & other)).all()

    parameters = bgv.parameters(depth=5)
    client = bgv.Client(parameters)
    keys, z = client.evaluation_keys(), client.encrypt(np.arange(100))
    on_cpu, on_gpu = (
        (lambda v: (v * v + v).to_host().data)(bgv.Server(keys, device=name).upload(z))
        for name in ("cpu", "cuda")
    )
    assert np.array_equal(on_cpu, on_gpu)

    owner = ckks.Client(ckks.parameters("W128_L13_B20"))
    refresher = ckks.Server(owner.evaluation_keys(bootstrap=[256]), device="cuda")
    values = random.uniform(-0.7, 0.7, 256) + 1j * random.uniform(-0.7, 0.7, 256)
    low = refresher.upload(owner.encrypt(values, bound=1)).lower(3)
    refreshed = low.bootstrap()
    assert abs(owner.decrypt(refreshed, raw=True) - values).max() < 2.0**-20
    print("16,384 gates, a product and a bootstrap on a GPU are right")
