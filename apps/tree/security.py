"""The parameter set of the tree, and the probability that one classification fails."""

from __future__ import annotations

import dataclasses
import math

from whorl.server.binfhe import Parameters, parameters

from .circuit import Circuit

# W128_P128 with a ring of twice the dimension: it tells 64 levels of a fresh feature apart, which
# are as many as the irises have at their resolution of 0.1 cm, where W128_P128 has 32.
TREE_P40 = {
    "name": "TREE_P40",
    "source": "apps/tree: features of 64 levels under a padding bit",
    "n": 843,
    "q": 2**20,
    "N": 4096,
    "Q": 281474976694273,
    "Q_ks": 2**20,
    "key_switch": "product",
    "log_B_ks": 2,
    "ks_digits": 8,
    "gadget": [(843, 23, 1)],
    "lwe_secret": "binary",
    "transform": "fft",
    "max_p": 32,
    "padding": True,
}
# The same with a fourth of the steps, for a short time on a GPU: keys are 3.7 times as large.
TREE_P40_UNROLLED = {**TREE_P40, "name": "TREE_P40_UNROLLED", "rotation": ("unrolled", 4)}
SETS = {str(each["name"]): each for each in (TREE_P40, TREE_P40_UNROLLED)}
# A flower may fail with at most this probability.
LIMIT_LOG2 = -40
MOST_LEVELS = 64


def named(name: str, insecure: bool = False) -> Parameters:
    """One of SETS, or one of the library's sets. `ParameterError` for another name, and for a set
    of less than 128 bits unless `insecure`."""
    return parameters(SETS.get(name, name), allow_insecure=insecure)


def _add(*logs: float) -> float:
    """log2 of a sum of powers of 2."""
    top = max(logs)
    return top + math.log2(sum(2.0 ** (each - top) for each in logs))


@dataclasses.dataclass(frozen=True)
class Failure:
    """log2 of a bound on the probability that a flower's class comes out wrong, by step."""

    tests: float
    leaves: float
    decryption: float

    @property
    def log2(self) -> float:
        """The bound for any of them."""
        return _add(self.tests, self.leaves, self.decryption)


def failure(params: Parameters, circuit: Circuit) -> Failure:
    """A union bound over all tables of a flower; noise is Gaussian with the predicted variance.

    Inputs of the tests are fresh; a leaf's is a sum of as many bootstrapped ciphertexts as its way
    is long. Their margin is half a sector, 2N / (4p) at modulus 2N. The answer adds up weighted
    bootstrapped ciphertexts; decrypting it rounds q only, so the bound, with a bootstrap's
    rounding, is above the truth.
    """
    noise = params.noise()
    fresh = params.gate_failure_log2(noise.fresh / noise.refreshed, 2 * circuit.p_in)
    ways = [
        params.gate_failure_log2(len(circuit.ways[leaf]), 2 * circuit.p_sum)
        for leaf in circuit.needed
    ]
    squares = sum(circuit.weights[leaf] ** 2 for leaf in circuit.needed)
    return Failure(
        tests=fresh + math.log2(len(circuit.tests)),
        leaves=_add(*ways),
        decryption=params.gate_failure_log2(max(1, squares), circuit.p_out),
    )


def coarse_failure(params: Parameters, circuit: Circuit) -> Failure:
    """The same for tests by tables that are not exact.

    `tests` bounds that any level is further off than `coarse.reach`, which is 2^-40 for one. A
    leaf's input is a sum under the ring key: the errors of its rotations, whose deviations may add
    up, in place of one rotation's, and one key switch.
    """
    noise = params.noise()
    of_rotation = (noise.blind_rotation + noise.rotation_constant) * (params.q / params.Q) ** 2
    longest = max(len(circuit.ways[leaf]) for leaf in circuit.needed)
    variance = 1 + (longest**2 - 1) * of_rotation / noise.refreshed
    leaf = params.gate_failure_log2(variance, 2 * circuit.p_sum)
    return Failure(
        tests=math.log2(len(circuit.tests)) - 40,
        leaves=leaf + math.log2(len(circuit.needed)),
        decryption=failure(params, circuit).decryption,
    )


def most_levels(params: Parameters, nodes: int) -> int:
    """The largest power of two up to 64 whose `nodes` tests fail with at most half the limit."""
    noise = params.noise()
    levels = MOST_LEVELS
    while levels >= 2:
        if levels * 8 <= min(2 * params.N, params.q):
            one = params.gate_failure_log2(noise.fresh / noise.refreshed, 2 * levels)
            if one + math.log2(nodes) <= LIMIT_LOG2 - 1:
                return levels
        levels //= 2
    raise ValueError(f"{params.name}: cannot carry a feature of 2 levels at 2^{LIMIT_LOG2}")
