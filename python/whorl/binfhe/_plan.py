"""Finds what a function of encrypted messages costs and how often it fails, by running it without
ciphertexts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.integers import as_modulus, whole_numbers
from .._core.literal import as_text
from .._core.plan import SEED_BYTES, Following, as_shape, listed_inputs, said
from .._core.text import Shown, of_bytes
from .._server import binfhe as _lib
from ._messages import ALLOWED_FAILURE, as_bool, as_messages, as_probability
from ._parameters import Parameters
from ._server import EncryptedArray, Server


@dataclasses.dataclass(frozen=True)
class Fresh:
    """Encryptions of a shape, for `plan`.

    `shape`, `p`, `padding` and `under` are those of the messages that `Client.encrypt` takes; a
    number k as shape means k ciphertexts, and () a single one. `ShapeError` for a shape without
    ciphertexts, `TypeError` for lengths that are not integers, and `EncodingError` for a p that is
    no modulus; `plan` refuses one that the parameters do not carry, and another name of a key.

    >>> Fresh(8, p=16)
    Fresh(shape=(8,), p=16, padding=False, under='lwe')
    """

    shape: int | Shape = ()
    p: int = 4
    padding: bool = False
    under: str = "lwe"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_shape(self.shape) if self.shape != () else ())
        object.__setattr__(self, "p", as_modulus(self.p, "p"))
        object.__setattr__(self, "padding", as_bool("padding", self.padding))
        object.__setattr__(self, "under", as_text("under", self.under))


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Plan(Shown):
    """What a function of encrypted messages costs, and how often it fails; `plan` makes it."""

    costs: dict[str, int]
    """How many operations there are, of one ciphertext each: `bootstraps` (blind rotations; a mux
    takes two, a table up to two, and so do all tables of one `apply_many`), `key_switches` (from
    the ring key to the LWE key) and `sums` (weighted sums and sums with constants, also before
    rotations)."""
    failure_log2: float
    """log2 of a bound on the probability that any result decrypts wrongly: the sum, over all
    ciphertexts of all operations, of the probabilities that the server compares with
    `allow_failure`, and of those of the decryption of results; at most 0. Tables with
    `exact=False` count with values that are further off than they may be, and what is made of their
    results with messages further off than `error_bound`."""
    noise: tuple[float, ...]
    """The variance of each result's errors, in units of that of a bootstrapped ciphertext
    (`EncryptedArray.noise`)."""
    error_bounds: tuple[int, ...]
    """How far each result's messages may be from those of exact tables, where tables with
    `exact=False` were on their way (`EncryptedArray.error_bound`)."""
    key_bytes: int
    """Bytes of the evaluation keys as they are sent."""
    input_bytes: int
    """Bytes of the inputs as a client sends them, seeded."""
    output_bytes: int
    """Bytes of the results in memory."""
    _parameters: Parameters

    def parameters(self) -> Parameters:
        """The parameters that were planned with."""
        return self._parameters

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("set", self._parameters.name or "unnamed"),
            ("operations", said(self.costs)),
            ("failure", self._failure()),
            ("noise", ", ".join(f"{each:.3g}" for each in self.noise)),
            ("error bounds", ", ".join(map(str, self.error_bounds))),
            ("keys", of_bytes(self.key_bytes)),
            ("inputs", of_bytes(self.input_bytes)),
            ("results' bytes", of_bytes(self.output_bytes)),
        ]

    def _failure(self) -> str:
        never = math.isinf(self.failure_log2)
        return "never" if never else f"2^{math.ceil(self.failure_log2 * 10) / 10:.1f} at most"

    def __repr__(self) -> str:
        return (
            f"<Plan: {said(self.costs)}, fails {self._failure()}, "
            f"{self._parameters.name or 'unnamed'}, keys of {of_bytes(self.key_bytes)}>"
        )


def plan(
    function: Callable[..., Any],
    inputs: Fresh | ArrayLike | Sequence[Fresh | ArrayLike],
    *,
    parameters: Parameters,
    transform: str | None = None,
    allow_failure: float = ALLOWED_FAILURE,
) -> Plan:
    """Runs a function without ciphertexts, and says what it costs and how often it fails.

    The function gets arrays with all methods of an `EncryptedArray`; `x.server` has the gates that
    are not operators. It returns arrays, alone or in tuples, lists and dictionaries. Nothing is
    encrypted and no key is made: blind rotations and key switches are counted, and not done. All
    else is as on a `Server`, with the same encodings, noise, ranges and errors.

    Args:
        function: takes one encrypted array for each input.
        inputs: one input, or a list or tuple of inputs. An input is a `Fresh`, or an example: an
            array of bits, or one bit, as `Client.encrypt` takes them with p = 4.
        parameters: those of the keys.
        transform, allow_failure: as for `Server`. `allow_failure` bounds each operation on a
            ciphertext; `Plan.failure_log2` is that of the whole function.

    Raises `NoiseError` for an operation that fails more often than `allow_failure`, and the other
    errors of `Server`. Raises `TypeError` if the function compares ciphertexts, branches on them,
    uses other ciphertexts than its inputs, or returns none. Errors of the function itself pass
    through.

    >>> from whorl.binfhe import parameters
    >>> either = lambda a, b: a.server.mux(a, b, a ^ b)
    >>> chosen = plan(either, [Fresh(8), Fresh(8)], parameters=parameters("W128_P64"))
    >>> chosen.costs["bootstraps"], chosen.costs["key_switches"]
    (24, 16)
    >>> chosen.failure_log2 < -60, chosen.noise[0] > 1
    (True, True)
    """
    if not isinstance(parameters, Parameters):
        raise TypeError(f"parameters: {type(parameters).__name__} is not what parameters() makes")
    run = _lib.DryRun.create(
        parameters._core,
        None if transform is None else as_text("transform", transform),
        as_probability(allow_failure, "allow_failure"),
    )
    server = _FollowingServer(run, parameters)
    arrays = [server.fresh(each) for each in listed_inputs(function, inputs, Fresh, _of_example)]
    results = server.results_in(function(*arrays))
    costs = run.costs()
    return Plan(
        costs={name: costs[name] for name in ("bootstraps", "key_switches", "sums")},
        failure_log2=run.failure_log2([each._core for each in results]),
        noise=tuple(each.noise for each in results),
        error_bounds=tuple(each.error_bound for each in results),
        key_bytes=costs["key_bytes"],
        input_bytes=sum(SEED_BYTES + _sent_word(each) * each.size for each in arrays),
        output_bytes=sum(each.nbytes for each in results),
        _parameters=parameters,
    )


class _FollowingServer(Following, Server):
    """A server over a dry run."""

    __slots__ = ("_run",)

    def __init__(self, run: _lib.DryRun, parameters: Parameters) -> None:
        self._run = run
        self._follow(run.server, parameters)

    def fresh(self, each: Fresh) -> EncryptedArray:
        """Encryptions, all different."""
        assert isinstance(each.shape, tuple)
        core = self._run.fresh((each.p, each.padding), math.prod(each.shape), each.under)
        return EncryptedArray._wrap(core, self, each.shape)


def _sent_word(fresh: EncryptedArray) -> int:
    """Bytes of a word in files."""
    of = fresh.parameters
    if fresh.under == "lwe":
        return 2 if of.q <= 1 << 16 else 4
    return 2 if of.Q <= 1 << 16 else 4 if of.Q < 1 << 31 else 8


def _of_example(given: Any, field: str) -> Fresh:
    return Fresh(np.shape(as_messages(whole_numbers(given, field), field, Fresh.p)))
