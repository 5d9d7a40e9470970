"""Plans of functions of encrypted vectors: what BGV's and CKKS's have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from .._core.plan import SEED_BYTES, said
from .._core.text import Shown, at_least_bits, counted, of_bytes
from ..errors import DeviceError, ShapeError


class NoDevice:
    """What a server asks of its `_core`, of one that follows a function without ciphertexts."""

    device = "no device: a plan"
    devices = (device,)
    failed_devices = ()
    threads, key_bytes, key_id = 0, 0, bytes(16)

    parameters: Any
    run: Any
    """The dry run of the C++ library."""
    server: Any

    def __init__(self, parameters: Any, run: Any) -> None:
        self.parameters, self.run, self.server = parameters, run, run.server

    def check(self, a: Any) -> None:
        """Refuses an array of another server: a function that is followed has none of them."""
        raise DeviceError("plan: an array belongs to another server: the function makes its own")

    def __getattr__(self, name: str) -> Any:
        error = AttributeError if name.startswith("_") else TypeError
        raise error(f"plan: the operation {name!r} cannot be followed")

    def synchronise(self) -> None:
        """Nothing runs."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class RingPlan(Shown):
    """What the plans of both schemes say."""

    keys: dict[str, Any]
    """Arguments of `Client.evaluation_keys`."""
    costs: dict[str, int]
    """How many operations there are, of one ciphertext each: `products` of ciphertexts,
    `relinearisations`, `plain_products` (with plaintexts, also in linear maps), `rotations`
    (automorphisms of any kind), `key_switches`, and `bootstraps` (one of k iterations is k)."""
    input_bytes: int
    """Bytes of the inputs as a client sends them, seeded; under a public key twice as many."""
    output_bytes: int
    """Bytes of the results in memory."""
    layout: tuple[tuple[int, int], ...]
    """How many vectors each input in slots has, and how many values each of them has."""
    _parameters: Any

    @property
    def N(self) -> int:
        """Ring dimension."""
        return int(self._parameters.N)

    @property
    def _width(self) -> int:
        """Slots of a ciphertext."""
        raise NotImplementedError

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the function slower than it must be, for people: that no input fills half of
        the slots, and which one had fewer ciphertexts if another axis of it lay in the slots."""
        longest = max((length for _, length in self.layout), default=self._width)
        if 2 * longest >= self._width:
            return ()
        text = f"most slots are empty: {longest:,} of {self._width:,} hold values of an input"
        for index, (count, length) in enumerate(self.layout):
            turned = length * -(-count // self._width)
            if 2 * turned <= count:
                return (
                    f"{text}; inputs[{index}] takes {count:,} ciphertexts, and {turned:,} if its "
                    "long axis is the last one (values.T), which lies in the slots",
                )
        return (f"{text}; a ciphertext with more of them takes no longer",)

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys as they are sent; on a device twice as many."""
        return int(self._parameters.key_size(**self.keys))

    @property
    def rotations(self) -> tuple[int, ...]:
        """Distances that values are rotated by, to the left; negative ones to the right. Bootstraps
        of CKKS need more, which their keys bring."""
        return tuple(self.keys["rotations"])

    def _distances(self) -> tuple[str, str]:
        return "rotations", ", ".join(map(str, self.rotations)) or "none"

    def _ring_facts(self, keys: str = "", budget: str = "") -> list[tuple[str, str]]:
        """What a plan says of parameters and bytes."""
        chosen = self._parameters
        return [
            ("N", f"{chosen.N:,}"),
            ("Q, P", self._primes()),
            ("keys", keys + of_bytes(self.key_bytes)),
            ("operations", said(self.costs)),
            ("inputs", of_bytes(self.input_bytes)),
            ("results' bytes", of_bytes(self.output_bytes)),
            *([("noise budget", budget)] if budget else []),
            ("security", f"{at_least_bits(chosen.security_bits)} bits"),
            *(("warning", each) for each in self.warnings),
        ]

    def _text(self, circuit: str, more: str, keys: str = "keys", security: str = "") -> str:
        """The plan in a line, and a line for each warning."""
        text = (
            f"<Plan: {circuit}, {counted(len(self.rotations), 'rotation')}{more}; N={self.N}, "
            f"{self._primes()}, {keys} of {of_bytes(self.key_bytes)}{security}>"
        )
        return "\n".join([text, *(f"Warning: {each}" for each in self.warnings)])

    def _primes(self) -> str:
        return f"{self._parameters.limbs} + {len(self._parameters.special)} primes"


_COSTS = (
    "products",
    "relinearisations",
    "plain_products",
    "rotations",
    "key_switches",
    "bootstraps",
)


def sizes(dry_core: NoDevice, inputs: list[Any], results: list[Any]) -> dict[str, Any]:
    """What operations cost, and the bytes of arrays, as a plan names them."""
    costs = dry_core.run.costs()
    return {
        "costs": {name: costs[name] for name in _COSTS},
        "input_bytes": sum(SEED_BYTES + each._core.nbytes // 2 for each in inputs),
        "output_bytes": sum(each._core.nbytes for each in results),
        "layout": tuple(
            (each.size, each.length) for each in inputs if each.packing != "coefficients"
        ),
    }


def in_order(rotations: Iterable[int]) -> list[int]:
    """The shortest first."""
    return sorted(rotations, key=lambda each: (abs(each), each))


def check_example(values: Any, field: str) -> None:
    """`ShapeError` for an example without values."""
    if values.size == 0:
        raise ShapeError(f"{field}: shape {values.shape} holds no values")
