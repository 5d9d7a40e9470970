"""Search for parameter sets: the cheapest that reach a failure probability and a security.

Noise, failure probability and security come from the library itself (``whorl.binfhe.parameters``),
so that nothing here repeats a formula; only the cost model and the order of the search are here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from itertools import count
from typing import Any

from .._core.progress import Report
from ._parameters import parameters as parameters_of

Literal = dict[str, Any]

#: Bits of a table's digit and of Q_ks that are worth trying.
LOG_B_KS = range(1, 9)
LOG_Q_KS = range(11, 25)
GADGET_DIGITS = range(1, 5)
SIGMA = 3.19

Rotation = tuple[str, int, int]
#: Methods of blind rotation that are worth trying, by the name that a request has for them. P of a
#: raised modulus follows from Q.
ROTATIONS: dict[str, tuple[tuple[str, int], ...]] = {
    "ginx": (("ginx", 1),),
    "unrolled": tuple(("unrolled", m) for m in range(2, 7)),
    "unrolled_all": tuple(("unrolled_all", m) for m in range(2, 7)),
    "ap": (("ap", 32), ("ap", 64)),
    "automorphism": (("automorphism", 1), ("automorphism", 10)),
    "raised": (("ginx", 1), ("unrolled", 2), ("ap", 32)),
    "block": (("block", 3), ("block", 4)),
}
#: Names of `ROTATIONS` that "any" leaves out: their keys have no estimate of security.
UNESTIMATED = ("block",)
#: n of keys in blocks of 3 or 4, for that of binary keys of the wanted security: 687 for TFHE's 630
#: (Lee, Min, Song, CCS 2023). No estimate of our own stands behind it (docs/parameters.md).
BLOCK_DIMENSION = (687, 630)
#: Of a latency, on an H200: what a step of blind rotation takes for itself, in µs; flops in a µs of
#: eight multiprocessors, which work on one ciphertext; bytes in a µs that all of them bring from
#: memory. docs/parameters.md has the sources.
STEP_US, FLOPS_A_US, BYTES_A_US = 1.0, 2.0e6, 4.0e6


@dataclass(frozen=True)
class Request:
    """What a set must do.

    p: messages of a look-up table, or 4 for gates. padding: whether a padding bit lies above them.
    failure_log2: largest log2 of the failure probability of the worst operation.
    security, ring_security: least bits of the LWE and of the ring key (the ring has few
    dimensions to choose from: N = 1024 at 26 bits is measured at 131.3).
    secret: "binary", "ternary" or "any". N: ring dimensions to try. log_Q: sizes of Q to try.
    rotation: a name of `ROTATIONS`, or "any", which leaves out `UNESTIMATED`. Sets of these have
    the n of a binary key of `security` bits times `BLOCK_DIMENSION`, and no estimate.
    max_key_switch_mb: largest key-switching key; max_key_mb: largest sum of both keys. objective:
    "throughput" (work of one bootstrap in a large batch), "latency" (of one alone) or "keys" (bytes
    of evaluation keys).
    """

    p: int = 4
    padding: bool = False
    failure_log2: float = -64.0
    security: float = 132.0
    ring_security: float = 131.0
    secret: str = "any"
    N: tuple[int, ...] = (1024, 2048, 4096)
    log_Q: tuple[int, ...] = tuple(range(24, 54))
    rotation: str = "any"
    max_key_switch_mb: float = 64.0
    max_key_mb: float = math.inf
    objective: str = "throughput"

    def __post_init__(self) -> None:
        if self.p < 2 or self.p & (self.p - 1):
            raise ValueError(f"p = {self.p} must be a power of two from 2")
        if self.failure_log2 >= 0:
            raise ValueError(f"failure_log2 = {self.failure_log2} must be below 0")
        if self.secret not in ("binary", "ternary", "any"):
            raise ValueError(f'secret = "{self.secret}" must be binary, ternary or any')
        if self.rotation not in ("any", *ROTATIONS):
            raise ValueError(
                f'rotation = "{self.rotation}" must be any or one of {", ".join(ROTATIONS)}'
            )
        if self.objective not in ("throughput", "latency", "keys"):
            raise ValueError(f'objective = "{self.objective}" must be throughput, latency or keys')


@dataclass(frozen=True)
class Evaluation:
    """What the library says of one literal."""

    lwe_bits: float
    ring_bits: float
    blind_rotation: float
    failure_log2: float


@dataclass(frozen=True)
class Cost:
    """flops: of one bootstrap, with bytes of keys counted as flops at the rate they stream.
    latency_us: of one bootstrap alone, by a model of an H200."""

    flops: float
    latency_us: float
    rotation_bytes: int
    key_switch_bytes: int


@dataclass(frozen=True)
class Candidate:
    """A set that meets the request."""

    literal: Literal
    cost: Cost
    evaluation: Evaluation


def evaluate(literal: Mapping[str, Any]) -> Evaluation:
    """Ask the library about a literal; insecure ones included."""
    parameters = parameters_of(literal, allow_insecure=True)
    security = parameters.security
    return Evaluation(
        lwe_bits=security.lwe_bits,
        ring_bits=security.ring_bits,
        blind_rotation=parameters.noise().blind_rotation,
        failure_log2=parameters.failure_log2,
    )


def _is_prime(n: int) -> bool:
    """Miller-Rabin with the twelve bases that are proven for 64 bits."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    twos = ((n - 1) & (1 - n)).bit_length() - 1

    def passes(base: int) -> bool:
        halves = (pow(base, (n - 1) >> k, n) for k in range(1, twos + 1))
        return pow(base, (n - 1) >> twos, n) == 1 or n - 1 in halves

    return n in bases or (n > 1 and all(map(passes, bases)))


@cache
def ring_prime(log_Q: int, N: int) -> int:
    """The largest prime = 1 mod 2N below 2^log_Q."""
    candidate = (1 << log_Q) - 2 * N + 1
    while candidate > 2 * N:
        if _is_prime(candidate):
            return candidate
        candidate -= 2 * N
    raise ValueError(f"no prime of {log_Q} bits is 1 mod {2 * N}")


@cache
def _rotation(
    n: int, N: int, Q: int, secret: str, gadget: tuple[Any, ...], rotation: Rotation
) -> tuple[float, int, int]:
    """The library's transforms of a blind rotation, rows of its key, and their bytes."""
    literal = {"n": n, "q": 2 * N, "N": N, "Q": Q, "Q_ks": 2 * N, "log_B_ks": 8, "gadget": gadget}
    literal |= {"lwe_secret": secret, "rotation": rotation}
    parameters = parameters_of(literal, allow_insecure=True)
    rows, key_bytes = parameters.rotation_key_rows, parameters.rotation_key_bytes("fft")
    return parameters.rotation_transforms, rows, key_bytes


def _steps_and_rows(
    literal: Mapping[str, Any], transforms: float, rows: int
) -> tuple[float, float]:
    """Dependent steps of one blind rotation, and rows of spectra that it multiplies."""
    (_, _, digits), *_ = literal["gadget"]
    kind = literal["rotation"][0]
    products = transforms / (2 * digits + 2)
    if kind == "ginx":
        return products, rows
    if kind == "block" or kind.startswith("unrolled"):  # every key for the bundle, then that
        return products, rows + products * 2 * digits
    if kind == "ap":
        return products, products * 2 * digits
    n = literal["n"]
    automorphisms = (transforms - n * (2 * digits + 2)) / (digits + 2)
    return n + automorphisms, n * 2 * digits + automorphisms * digits


def cost(literal: Mapping[str, Any]) -> Cost:
    """Work and keys of one bootstrap.

    The work is that of the transforms of M = N/2 complex points (5 M log2 M flops each), and of M
    complex multiply-adds (8 flops) for each half of a row that is multiplied: of the rotation key,
    and of the bundle of an unrolled step or a block. Key switching adds N·digits rows. A byte of
    rotation key that is read, which a batch shares unless the method is AP, counts as half a flop.
    A byte of a table row, which each ciphertext reads for itself, also counts as half. A 32-bit
    multiply-add counts as one flop. The latency is STEP_US a step, the work by eight
    multiprocessors, and the bytes of both keys that all of them read.
    """
    return _with_key_switch(_rotation_cost(literal), literal, literal)


def _rotation_cost(literal: Mapping[str, Any]) -> Cost:
    """The cost without key switching."""
    n, N = literal["n"], literal["N"]
    points = N // 2
    gadget = tuple(tuple(part) for part in literal["gadget"])
    rotation = tuple(literal["rotation"])
    transforms, rows, rotation_bytes = _rotation(
        n, N, literal["Q"], literal["lwe_secret"], gadget, rotation
    )
    steps, multiplied = _steps_and_rows(literal, transforms, rows)
    flops = transforms * 5 * points * math.log2(points) + multiplied * 2 * points * 8
    read = rotation_bytes * min(1.0, multiplied / rows)
    latency = steps * STEP_US + flops / FLOPS_A_US + read / BYTES_A_US
    return Cost(flops + read / 2, latency, rotation_bytes, 0)


def _with_key_switch(
    rotation: Cost, literal: Mapping[str, Any], key_switch: Mapping[str, Any]
) -> Cost:
    """The cost of a rotation, which is that of a literal, with a key switching."""
    log_q_ks = (literal["Q_ks"] - 1).bit_length()
    log_b = key_switch["log_B_ks"]
    digits = key_switch["ks_digits"] or -(-log_q_ks // log_b)
    # `word_bytes_for` of word_array.h for powers of two, which Q_ks is in each set of a search.
    word = 2 if log_q_ks <= 16 else 4 if log_q_ks <= 32 else 8
    touched = literal["N"] * digits * (literal["n"] + 1)
    if key_switch["key_switch"] == "table":
        key_bytes, flops = touched * word << (log_b - 1), touched * (word + 1) / 2
    else:
        key_bytes, flops = touched * word, touched * word / 4
    latency = rotation.latency_us + touched * word / BYTES_A_US
    return Cost(rotation.flops + flops, latency, rotation.rotation_bytes, key_bytes)


def _methods(request: Request, N: int, log_Q: int, secret: str) -> Iterator[Rotation]:
    """The methods that a request asks for and that serve for such secrets. P has so many bits more
    than Q as make the errors of keys less than roundings of the division."""
    names = (
        [name for name in ROTATIONS if name not in UNESTIMATED]
        if request.rotation == "any"
        else [request.rotation]
    )
    for name in names:
        for kind, group in ROTATIONS[name]:
            if (kind.startswith("unrolled") or kind == "block") and secret != "binary":
                continue
            if name != "raised":
                yield kind, group, 1
            elif log_Q + 6 <= 30 or (31 < log_Q and log_Q + 6 < 60):
                yield kind, group, ring_prime(log_Q + 6, N)


def _skeleton(request: Request, N: int, log_Q: int, secret: str, rotation: Rotation) -> Literal:
    n = 16 + -16 % rotation[1] if rotation[0] == "block" else 16
    return {
        "name": "search",
        "source": "whorl params search",
        "n": n,
        "q": 2048,
        "N": N,
        "Q": ring_prime(log_Q, N),
        "Q_ks": 2048,
        "key_switch": "table",
        "log_B_ks": 8,
        "ks_digits": 0,
        "gadget": [(n, log_Q // 2, 1 if rotation[2] > 1 else 2)],
        "rotation": rotation,
        "lwe_secret": "block_binary" if rotation[0] == "block" else secret,
        "ring_secret": "ternary",
        "sigma_lwe": SIGMA,
        "sigma_ring": SIGMA,
        "transform": "fft",
        "max_p": request.p,
        "padding": request.padding,
    }


def _least_dimension(base: Literal, log_q_ks: int, bits: float) -> int | None:
    """Smallest n of at least `bits` bits at Q_ks = 2^log_q_ks, by bisection."""

    def lwe_bits(n: int) -> float:
        gadget = [(n, *base["gadget"][0][1:])]
        return evaluate({**base, "n": n, "gadget": gadget, **_moduli(base, log_q_ks)}).lwe_bits

    low, high = 16, 2048
    if lwe_bits(high) < bits:
        return None
    while low < high:
        middle = (low + high) // 2
        if lwe_bits(middle) >= bits:
            high = middle
        else:
            low = middle + 1
    return low


def _dimension(base: Literal, log_q_ks: int, bits: float) -> int | None:
    """n of a set for `bits` bits: the smallest, or for blocks what the comment at BLOCK_DIMENSION
    says, in whole blocks."""
    kind, length, _ = base["rotation"]
    if kind != "block":
        return _least_dimension(base, log_q_ks, bits)
    binary = {**base, "rotation": ("ginx", 1, 1), "lwe_secret": "binary"}
    n = _least_dimension(binary, log_q_ks, bits)
    blocks, of = BLOCK_DIMENSION
    return n and -(-n * blocks // (of * length)) * length


def _moduli(base: Literal, log_q_ks: int) -> Literal:
    """Ciphertexts stay at Q_ks; they are rounded to 2N when a rotation starts."""
    return {"q": 1 << log_q_ks, "Q_ks": 1 << log_q_ks}


def _best_base(base: Literal, log_Q: int, digits: int) -> int:
    """The base that adds the least noise; it costs nothing."""
    if base["rotation"][2] > 1:  # digits are whole coefficients
        return min(log_Q, 30)
    bases = [b for b in range(2, 31) if b * digits <= log_Q]

    def noise(log_base: int) -> float:
        return evaluate({**base, "gadget": [(base["n"], log_base, digits)]}).blind_rotation

    return min(bases, key=noise)


def _key_switches(log_q_ks: int) -> Iterator[Literal]:
    for log_b in LOG_B_KS:
        for digits in range(1, -(-log_q_ks // log_b) + 1):
            for kind in ("table", "product"):
                yield {"key_switch": kind, "log_B_ks": log_b, "ks_digits": digits}


def _moduli_of_ciphertexts(literal: Literal) -> Iterator[Literal]:
    """The literal with each q that is worth trying: Q_ks, and if it is less the 2N that a rotation
    rounds to. They cost the same."""
    for q in sorted({literal["Q_ks"], min(literal["Q_ks"], 2 * literal["N"])}):
        yield {**literal, "q": q}


def _rotations(request: Request, progress: Report | None) -> Iterator[Literal]:
    """Every choice except that of key switching, each with the base of least noise."""
    secrets = ("binary", "ternary") if request.secret == "any" else (request.secret,)
    dimensions: dict[tuple[str, int, int], int | None] = {}
    choices = [
        (secret, N, log_Q, rotation)
        for secret in secrets
        for N in request.N
        for log_Q in request.log_Q
        for rotation in _methods(request, N, log_Q, secret)
    ]
    for done, (secret, N, log_Q, rotation) in enumerate(choices):
        if progress:
            progress(done, len(choices))
        if 4 * request.p > N:  # the library's bound on max_p
            continue
        base = _skeleton(request, N, log_Q, secret, rotation)
        if evaluate(base).ring_bits < request.ring_security:
            continue
        for digits in GADGET_DIGITS if rotation[2] == 1 else (1,):
            log_base = _best_base(base, log_Q, digits)
            for log_q_ks in LOG_Q_KS:
                if 1 << log_q_ks > base["Q"] or 1 << log_q_ks < 2 * N:
                    continue
                length = rotation[1] if rotation[0] == "block" else 1
                key = (base["lwe_secret"], length, log_q_ks)
                if key not in dimensions:
                    dimensions[key] = _dimension(base, log_q_ks, request.security)
                n = dimensions[key]
                if n is not None:
                    gadget = [(n, log_base, digits)]
                    yield {**base, "n": n, "gadget": gadget, **_moduli(base, log_q_ks)}
    if progress:
        progress(len(choices), len(choices))


def _reachable(rotation: Literal, request: Request) -> bool:
    """Whether the quietest key switching lets the rotation meet the request: a table of the widest
    digits, with any number of them kept."""
    widest = max(LOG_B_KS)
    log_q_ks = rotation["Q_ks"].bit_length() - 1
    return any(
        evaluate({**rotation, "log_B_ks": widest, "ks_digits": digits}).failure_log2
        <= request.failure_log2
        for digits in range(1, -(-log_q_ks // widest) + 1)
    )


def search(
    request: Request,
    top: int = 10,
    progress: Report | None = None,
) -> list[Candidate]:
    """The `top` best sets for `request`, best first; empty if none meets it.

    Equal costs are ordered by bytes of keys, then by failure probability (whole bits), then by Q.
    `progress(done, total)` is called as ring sizes are gone through.
    """

    def order(price: Cost) -> tuple[float, float]:
        size = price.rotation_bytes + price.key_switch_bytes
        if request.objective == "keys":
            return size, price.flops
        return (price.flops if request.objective == "throughput" else price.latency_us), size

    def priced(rotation: Literal, without: Cost) -> Iterator[tuple[tuple[float, float], Literal]]:
        """All key switchings of a rotation, by their rank."""
        for key_switch in _key_switches(rotation["Q_ks"].bit_length() - 1):
            price = _with_key_switch(without, rotation, key_switch)
            if (
                price.key_switch_bytes <= request.max_key_switch_mb * 1e6
                and price.key_switch_bytes + price.rotation_bytes <= request.max_key_mb * 1e6
            ):
                yield order(price), {**rotation, **key_switch}

    # No set is cheaper than its rotation alone, so key switchings are tried as far as needed.
    rotations = [(each, _rotation_cost(each)) for each in _rotations(request, progress)]
    rotations.sort(key=lambda entry: order(entry[1]))
    candidates: list[tuple[tuple[float, float], int, Literal]] = []
    number = count()  # literals have no order
    found: list[tuple[tuple[Any, ...], Candidate]] = []
    for index in range(len(rotations) + 1):
        least = order(rotations[index][1]) if index < len(rotations) else (math.inf, math.inf)
        while candidates and candidates[0][0] <= least:
            rank, _, literal = heappop(candidates)
            if len(found) >= top and rank > found[-1][0][:2]:
                found.sort(key=lambda entry: entry[0])
                return [candidate for _, candidate in found[:top]]
            evaluated = [(evaluate(each), each) for each in _moduli_of_ciphertexts(literal)]
            evaluation, literal = min(evaluated, key=lambda each: each[0].failure_log2)
            if evaluation.failure_log2 <= request.failure_log2:
                key = (*rank, round(evaluation.failure_log2), literal["Q"])
                found.append((key, Candidate(literal, cost(literal), evaluation)))
        if index < len(rotations) and _reachable(rotations[index][0], request):
            for rank, literal in priced(*rotations[index]):
                heappush(candidates, (rank, next(number), literal))
    found.sort(key=lambda entry: entry[0])
    return [candidate for _, candidate in found[:top]]
