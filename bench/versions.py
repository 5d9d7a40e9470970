"""Two builds of the Python package in turn on one device: is any operation slower than before?

python3 bench/versions.py OLD NEW [--device cuda:0] [--rounds 7] [--only PATTERN]
    [--commits OLD NEW] [--record FILE]

OLD and NEW are folders that hold `whorl/`, as `pip install --target FOLDER .` makes them. A build
has a process of its own, which prepares all operations and warms each one up; then every operation
is measured in both processes in turn, `--rounds` times. A measurement is the wall time of as many
calls as take about 20 ms and of waiting for the device, divided by their number. Keys, encryption
and transfers are outside, but where the operation is one of them. A record has NEW's times; its
peer is OLD, and its ratio (OLD over NEW, above 1: faster now) is the median over rounds. Records
belong in bench/results/h100 or h200.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common.processes import Process
from common.records import append, stamped

Calls = dict[str, Callable[[], object]]
Literals = dict[str, Any]
"""The parameters of BGV and CKKS, by the scheme; empty: OLD chooses them."""

LEAST_SECONDS = 0.02


def gates(server: Any, x: Any, y: Any, z: Any) -> Calls:
    """Gates of one ciphertext, of as many as a GPU has multiprocessors, and of all."""
    a, b, c, few, one = x[:132], y[:132], z[:132], y[0], x[0]
    return {
        "nand_1": lambda: server.nand(one, few),
        "nand_132": lambda: server.nand(a, b),
        "nand_4096": lambda: server.nand(x, y),
        "xor_4096": lambda: server.xor(x, y),
        "mux_132": lambda: server.mux(a, b, c),
        "mux_constants_4096": lambda: server.mux(x, 1, 0),
        "not_4096": lambda: ~x,
        "take_4096": lambda: x[::-1],
    }


def of_binfhe(device: str, literals: Literals) -> Iterator[tuple[str, Calls]]:
    """Gates and tables, of named sets."""
    del literals
    from whorl import binfhe

    for name in ("W128_P64_M3", "W128_P64"):
        client = binfhe.Client(binfhe.parameters(name))
        server = binfhe.Server(client.evaluation_keys(), device=device)
        bits = [server.upload(client.encrypt(np.arange(4096) % 2)) for _ in range(3)]
        yield f"binfhe {name}", gates(server, *bits)
    parameters = binfhe.parameters("W128_P64")
    client = binfhe.Client(parameters)
    tables = binfhe.Server(client.evaluation_keys(), device=device)
    numbers = tables.upload(client.encrypt(np.arange(1024) % 4, p=4, padding=True))
    table = binfhe.Lut(parameters, [0, 1, 0, 1], p=4, padding=True)
    yield "binfhe W128_P64, p = 4", {"table_1024": lambda: tables.apply(table, numbers)}


def vectors(server: Any, host: Any, values: Any) -> Calls:
    """BGV's operations on a batch of vectors."""
    x, plain = server.upload(host), server.encode(values)
    return {
        "add": lambda: x + x,
        "add_scalar": lambda: x + 7,
        "multiply": lambda: x * x,
        "multiply_scalar": lambda: x * 3,
        "multiply_plain": lambda: x * plain,
        "multiply_array": lambda: x * values[0],
        "rotate": lambda: server.rotate(x, 1),
        "sum": lambda: x.sum(),
        "dot": lambda: server.dot(x, x),
        "upload": lambda: server.upload(host),
        "to_host": lambda: x.to_host(),
    }


def of_bgv(device: str, literals: Literals) -> Iterator[tuple[str, Calls]]:
    """Element-wise operations, rotations and sums, of one ciphertext and of eight."""
    from whorl import bgv

    parameters = bgv.parameters(literal=literals["bgv"])
    client = bgv.Client(parameters)
    keys = client.evaluation_keys(**bgv.rotations_for(parameters, sums=True))
    server = bgv.Server(keys, device=device)
    values = np.arange(8 * 1000).reshape(8, 1000) % 1000
    for batch in (1, 8):
        host = client.encrypt(values[:batch])
        yield f"bgv depth 5, batch {batch}", vectors(server, host, values[:batch])


def numbers_of(server: Any, x: Any, values: Any, stages: Any, series: Any, encoded: Any) -> Calls:
    """CKKS's operations on a batch of vectors."""
    raw = server.multiply(x, x, rescale=False)
    positive = (x * 0.25 + 0.6).with_bound(0.9)
    return {
        "add": lambda: x + x,
        "add_scalar": lambda: x + 0.5,
        "add_array": lambda: x + values[0],
        "multiply": lambda: x * x,
        "square": lambda: server.square(x),
        "multiply_scalar": lambda: x * 0.5,
        "multiply_integer": lambda: x * 3,
        "multiply_array": lambda: x * values[0],
        "rescale": lambda: server.rescale(raw),
        "rotate": lambda: server.rotate(x, 1),
        "lower": lambda: x.lower(6),
        "sum": lambda: x.sum(),
        "tanh_31": lambda: x.evaluate(series),
        "sign": lambda: x.sign(stages),
        "greater": lambda: x.greater(x, stages),
        "maximum": lambda: x.maximum(x, stages),
        "map_of_8_diagonals": lambda: encoded @ x,
        "with_bound": lambda: positive.with_bound(0.8),
        "to_host": lambda: x.to_host(),
    }


def of_ckks(device: str, literals: Literals) -> Iterator[tuple[str, Calls]]:
    """Element-wise operations, polynomials, comparisons, maps; of one ciphertext and of eight."""
    from whorl import ckks

    client = ckks.Client(ckks.parameters(literal=literals["ckks"]))
    slots = 1024
    steps = {sign << k for k in range(10) for sign in (1, -1)}
    turns = sorted({*steps, *range(1, 8), *range(32, slots, 32)})
    server = ckks.Server(client.evaluation_keys(relinearise=3, rotations=turns), device=device)
    map = ckks.diagonals({k: np.full(slots, 0.1) for k in range(8)}, slots)
    encoded = server.encode(map, level=12)
    series = ckks.approximate(np.tanh, -1, 1, degree=31)
    stages = ckks.minimax_sign(2**-4, 2**-10)
    values = np.linspace(-1, 1, 8 * slots).reshape(8, slots)
    for batch in (1, 8):
        x = server.upload(client.encrypt(values[:batch]))
        yield (
            f"ckks depth 12, batch {batch}",
            numbers_of(server, x, values, stages, series, encoded),
        )
    host = client.encrypt(values[0])
    yield (
        "ckks client",
        {
            "encrypt": lambda: client.encrypt(values[0]),
            "decrypt": lambda: client.decrypt(host, raw=True),
        },
    )


def batch_of(params: str, op: str) -> int:
    """How many ciphertexts an operation has; gates say it in their names."""
    where = rf"{params}, batch {op.rpartition('_')[2]}" if "binfhe" in params else params
    found = re.search(r"batch (\d+)", where)
    return int(found[1]) if found else 1


def serve(device: str, literals: Literals) -> None:
    """Prepares all operations, says which, and answers "INDEX TIMES" with seconds of one call.

    Without `literals` it chooses parameters of BGV and CKKS; it says them, too.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed is no answer
    prepared: list[tuple[str, str, Callable[[], object]]] = []
    waits: list[Callable[[], object]] = []
    from whorl import bgv, binfhe, ckks

    if not literals:
        chosen: dict[str, Any] = {"bgv": bgv.parameters(5, 786433), "ckks": ckks.parameters(12)}
        literals = {name: parameters.literal() for name, parameters in chosen.items()}
    kinds = (binfhe.EncryptedArray, bgv.EncryptedArray, ckks.EncryptedArray)
    for scheme in (of_binfhe, of_bgv, of_ckks):
        for params, calls in scheme(device, literals):
            for op, call in calls.items():
                result = call()
                result = call()
                server = result._server if isinstance(result, kinds) else None
                waits.append(server.synchronise if server is not None else lambda: None)
                prepared.append((params, op, call))
    ops = [(params, op) for params, op, _ in prepared]
    print(json.dumps({"literals": literals, "ops": ops}), file=out, flush=True)
    for line in sys.stdin:
        index, times = map(int, line.split())
        call, wait = prepared[index][2], waits[index]
        start = time.perf_counter()
        for _ in range(times):
            call()
        wait()
        seconds = (time.perf_counter() - start) / times
        print(json.dumps({"seconds": seconds}), file=out, flush=True)


def build(folder: str, device: str, literals: Literals) -> Process:
    """A process with one of the builds."""
    path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, "--device", device, "--serve", json.dumps(literals)]
    return Process(command, PYTHONPATH=path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("builds", nargs="*", help="folders of OLD and of NEW")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="regular expression of scheme and operation")
    parser.add_argument("--commits", nargs=2, default=["old", "new"])
    parser.add_argument("--name", default="", help="of the device, in records")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--serve", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.device, options.serve)
        return
    if len(options.builds) != 2:
        parser.error("two builds are compared")
    # OLD chooses parameters for both.
    before = build(options.builds[0], options.device, {})
    builds = [before, build(options.builds[1], options.device, before.about["literals"])]
    ops = before.about["ops"]
    if builds[1].about["ops"] != ops:
        raise SystemExit("the two builds offer other operations")
    worst = 1e9
    for index, (params, op) in enumerate(ops):
        if not re.search(options.only, f"{params} {op}"):
            continue
        once = min(each.answer(f"{index} 1") for each in builds)
        times = max(1, round(LEAST_SECONDS / once))
        old: list[float] = []
        new: list[float] = []
        for round_ in range(options.rounds):
            for which in (0, 1) if round_ % 2 == 0 else (1, 0):
                (old, new)[which].append(builds[which].answer(f"{index} {times}"))
        ratios = [a / b for a, b in zip(old, new, strict=True)]
        ratio = statistics.median(ratios)
        worst = min(worst, ratio)
        print(
            f"{params:22} {op:20} {statistics.median(new) * 1e3:9.3f} ms, before "
            f"{statistics.median(old) * 1e3:9.3f} ms: {ratio:5.3f}x, least of the fastest "
            f"{min(old) / min(new):5.3f}x",
            flush=True,
        )
        if options.record:
            line = stamped(
                *("versions", op, params.split()[0], params, new),
                device=options.name or options.device,
                batch=batch_of(params, op),
                transfers="included" if op in ("upload", "to_host") else "excluded",
                peer="whorl, the version before",
                peer_version=options.commits[0],
                peer_median=statistics.median(old),
                ratio=ratio,
            )
            append(options.record, {**line, "commit": options.commits[1]})
    print(f"the least ratio: {worst:.3f}")


if __name__ == "__main__":
    main()
