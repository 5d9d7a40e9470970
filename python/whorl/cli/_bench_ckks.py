"""bench ckks: what CKKS's operations cost on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer

from .._core.progress import bar
from .._ring.parameters import stands_alone
from ..ckks import (
    Client,
    EncryptedArray,
    LinearMap,
    Parameters,
    Polynomial,
    Server,
    linear_map,
    parameter_sets,
    parameters,
)
from ..errors import ParameterError
from . import _bench_ring as ring_bench
from . import _ckks as scheme
from . import _ring_options as ring_options
from . import _sets as sets
from ._completion import from_list

ROW: np.ndarray[Any, np.dtype[np.float64]] = np.linspace(-1, 1, 1024)
"""The plaintext of mult_plain."""
POLYNOMIAL = Polynomial(0.5 ** np.arange(16))
"""A polynomial of degree 15, in Chebyshev's basis; it takes four levels."""

On = Callable[[EncryptedArray, EncryptedArray], object]
OPERATIONS: dict[str, On] = {
    "add": lambda a, b: a + b,
    "mult_plain": lambda a, b: a * ROW,
    "mult_integer": lambda a, b: a * 3,
    "mult": lambda a, b: a.multiply(b, relinearise=False, rescale=False),
    "mult_relin": lambda a, b: a.multiply(b, rescale=False),
    "mult_relin_rescale": lambda a, b: a * b,
    "square": lambda a, b: a.square(rescale=False),
    "rotate": lambda a, b: a.rotate(1),
    "rotate_many": lambda a, b: a.rotate_many(ring_bench.STEPS),
    "conjugate": lambda a, b: a.conjugate(),
    "polynomial": lambda a, b: a.evaluate(POLYNOMIAL),
    "bootstrap": lambda a, b: a.bootstrap(),
}
"""The operations that are timed, on operands that are on the device."""
ON_SERVER = (*OPERATIONS, "rescale", "matrix")
"""The same; rescale of a product that is not divided yet, matrix with one that is encoded before.
"""
SIDE = 64
"""Rows and columns of `matrix`, which is prepared, and has no zeros."""


def _matrix() -> LinearMap:
    return linear_map(np.random.default_rng().uniform(-1, 1, (SIDE, SIDE)) / SIDE)


def _work(
    op: str, client: Client, server: Server, count: int, level: int, slots: int, matrix: LinearMap
) -> Callable[[], object]:
    """What to time on a batch of `count`; level -1: that of fresh ones, or where a bootstrap begins
    at the latest. `slots`: of vectors that are refreshed."""
    chosen = client.parameters
    if level < 0:
        level = chosen.least_bootstrap_level if op == "bootstrap" else chosen.depth
    slots = slots if op == "bootstrap" else chosen.slots
    length = SIDE if op == "matrix" else min(slots, ROW.size) if op == "mult_plain" else slots
    values = np.random.default_rng().uniform(-1, 1, (count, length))
    if op == "encrypt":
        return lambda: client.encrypt(values)
    if op == "keygen":
        return lambda: client.evaluation_keys()
    a, b = client.encrypt(values), client.encrypt(values[::-1])
    if op == "decrypt":
        return lambda: client.decrypt(a, raw=True)
    x, y = (server.upload(each).lower(level) for each in (a, b))
    if op == "end_to_end":
        a, b = x.to_host(), y.to_host()
        return lambda: server.multiply(a, b).to_host()
    if op == "matrix":
        encoded = server.encode(matrix, level)
        return lambda: x.apply(encoded)
    if op == "rescale":
        product = x.multiply(y, rescale=False)
        return lambda: product.rescale()
    return lambda: OPERATIONS[op](x, y)


def _chosen(name: str | None, bootstrap: bool, needs: dict[str, Any]) -> Parameters:
    """A named set, or parameters for what is needed."""
    if name is None:
        return parameters(**scheme.as_chosen(needs), bootstrap=bootstrap)
    if bootstrap:
        needs = {**needs, "slots": 0}  # they say what is refreshed
    stands_alone(ckks, "--set", needs)
    return sets.find_ckks(name, allow_insecure=True)  # its security is printed beside the times


@ring_bench.command("ckks", ON_SERVER)
def ckks(
    names: list[str],
    device: str | None,
    threads: int,
    *,
    set_name: Annotated[
        str | None,
        typer.Option(
            "--set",
            help="A named set of parameters, or a file with the literal of one, in place of the "
            "options that choose parameters.",
            autocompletion=from_list(parameter_sets),
        ),
    ] = None,
    depth: ring_options.Depth = 12,
    scale_bits: scheme.ScaleBits = 40,
    slots: scheme.Slots = 0,
    value_bits: scheme.ValueBits = 0,
    ring: ring_options.Ring = 0,
    dnum: ring_options.Digits = 0,
    word_bits: scheme.WordBits = 32,
    level: Annotated[
        int,
        typer.Option(
            min=-1,
            help="Of the operands; -1: as encrypted, for bootstrap the lowest that it takes.",
        ),
    ] = -1,
) -> ring_bench.Opened:
    """CKKS: time of a single operation, and how many a second in batches.

    Operands lie on the device, and stay there, but for end_to_end, which uploads two ciphertexts,
    multiplies, relinearises, rescales and downloads. Parameters are chosen as
    `whorl.ckks.parameters` does, with bootstrapping for bootstrap, or are those of --set.
    """
    given = locals()
    refreshes = "bootstrap" in names
    chosen = _chosen(set_name, refreshes, {name: given[name] for name in scheme.CHOOSING})
    refreshed = 1 << (slots - 1).bit_length() if slots else chosen.slots
    if level > chosen.depth:
        raise ParameterError(f"level: {level} is above the depth, {chosen.depth}")
    client, matrix = Client(chosen), _matrix()
    rotations = {*ring_bench.rotations_of(names), *(matrix.rotations if "matrix" in names else ())}
    keys = client.evaluation_keys(
        rotations=sorted(rotations),
        conjugate="conjugate" in names,
        bootstrap=[refreshed] if refreshes else (),
        threads=threads,
        progress=True,
    )
    with bar("preparing keys"):
        server = Server(keys, device, threads)
    if refreshes:
        server.prepare_bootstrap(refreshed, progress=True)

    def work(name: str, count: int) -> Callable[[], object]:
        return _work(name, client, server, count, level, refreshed, matrix)

    return server, keys, work
