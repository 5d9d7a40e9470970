"""What a program of encrypted integers costs, and how often it fails, before there are keys."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from .. import binfhe, ckks, lanes
from .._core.array import Shape
from .._core.plan import as_shape, listed_inputs, said
from .._core.text import Shown
from .._server import binfhe as _lib
from ..binfhe._plan import Fresh as FreshDigits
from ..binfhe._plan import _FollowingServer
from ..errors import NoiseError, ShapeError
from ._arrays import IntegerArray
from ._carry import Form
from ._circuit import SECTORS, Circuit, Saves
from ._engines import TABLE_FAILURE_LOG2, BinfheEngine, account_of
from ._programs import Programs
from ._server import Server, check_saves
from ._types import Kind, as_kind, kind_of_values

MOST_FAILURE_LOG2 = -64.0


@dataclasses.dataclass(frozen=True)
class Fresh:
    """Encryptions of integers of a shape, for `plan`; a number k as shape means k integers, and ()
    a single one. Errors are those of `Client.encrypt`.

    >>> Fresh(8, bits=64)
    Fresh(shape=(8,), bits=64, signed=False)
    """

    shape: int | Shape = ()
    bits: int = 64
    signed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_shape(self.shape) if self.shape != () else ())
        kind = as_kind(self.bits, self.signed)
        object.__setattr__(self, "bits", kind.bits)
        object.__setattr__(self, "signed", kind.signed)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Plan(Shown):
    """What a program of encrypted integers costs, and how often it fails; `plan` makes it."""

    costs: dict[str, int]
    """How many operations there are. Of FHEW/TFHE `rotations`, blind rotations with a key switch
    each, one for each value of each table; and `layers`, calls one after the other, since all
    tables of a layer are one call. Of lanes `bootstraps`, `cleanings` and `products` of vectors."""
    failure_log2: float
    """log2 of a bound on the probability that any of the results is wrong (`binfhe.Plan`,
    `lanes.Plan`)."""

    @property
    def rotations(self) -> int:
        """Blind rotations; 0 in lanes."""
        return self.costs.get("rotations", 0)

    @property
    def layers(self) -> int:
        """Layers of tables; 0 in lanes."""
        return self.costs.get("layers", 0)

    def _facts(self) -> list[tuple[str, str]]:
        return [("operations", said(self.costs)), ("failure", self._failure())]

    def _failure(self) -> str:
        never = math.isinf(self.failure_log2)
        return "never" if never else f"2^{math.ceil(self.failure_log2 * 10) / 10:.1f} at most"

    def __repr__(self) -> str:
        return f"<Plan: {said(self.costs)}, fails {self._failure()}>"


def plan(
    function: Callable[..., Any],
    inputs: Fresh | Any | Sequence[Fresh | Any],
    *,
    parameters: binfhe.Parameters | ckks.Parameters,
    table_failure_log2: float = TABLE_FAILURE_LOG2,
    most_failure_log2: float = MOST_FAILURE_LOG2,
    products: bool = False,
    saves: Saves = "both",
) -> Plan:
    """Runs a function of encrypted integers without ciphertexts, and says what it costs.

    Args:
        function: takes one array for each input, and returns arrays, alone or in tuples, lists and
            dictionaries. What they still have of carries counts as `carries=True` sends it.
        inputs: one input, or a list or tuple of inputs: `Fresh`, or examples that are NumPy's.
        parameters: those of the keys, of FHEW/TFHE or, for lanes, of CKKS with bootstraps.
        table_failure_log2: as for `Server`.
        most_failure_log2: `NoiseError` if the function fails more often.
        products: whether the server has keys for products.
        saves: as for `Server`.

    >>> from whorl.binfhe import parameters
    >>> found = plan(lambda x, y: x < y, [Fresh(), Fresh()], parameters=parameters("W128_P128"))
    >>> found.rotations, found.layers, found.failure_log2 < -70
    (21, 3, True)
    """
    if isinstance(parameters, ckks.Parameters):
        return _in_lanes(function, inputs, parameters, most_failure_log2)
    if not isinstance(parameters, binfhe.Parameters):
        raise TypeError(f"parameters: {type(parameters).__name__} is not what parameters() makes")
    run = _lib.DryRun.create(parameters._core, None, 1.0)
    following = _FollowingServer(run, parameters)
    server = DryServer(following, float(table_failure_log2), products, check_saves(saves))
    arrays = [server.fresh(each) for each in listed_inputs(function, inputs, Fresh, of_example)]
    rows = [server.rows(each) for each in arrays_in(function(*arrays), "plan")]
    failure = run.failure_log2([each._core for each in rows])
    refuse_failures("plan", failure, most_failure_log2)
    return Plan({"rotations": server.rotations, "layers": server.layers}, failure)


def refuse_failures(name: str, failure: float, most: float) -> None:
    """`NoiseError` where a function fails more often than it may."""
    if failure > most:
        raise NoiseError(
            f"{name}: the function fails with a probability of up to 2^{failure:.1f}, above "
            f"2^{most:g}: allow it by most_failure_log2, or give {name} and Server a "
            "smaller table_failure_log2"
        )


def _in_lanes(
    function: Callable[..., Any], inputs: Any, parameters: ckks.Parameters, most: float
) -> Plan:
    """The plan of `whorl.lanes`, whose last axes are those of lanes."""
    listed = listed_inputs(function, inputs, Fresh, of_example)
    given_shapes = [cast(Shape, each.shape) for each in listed]
    count = given_shapes[0][-1] if given_shapes[0] else 0
    shapes: list[Shape] = []
    for each, shape in zip(listed, given_shapes, strict=True):
        if not shape or shape[-1] != count:
            raise ShapeError("inputs: in lanes all have a last axis of one length, of the lanes")
        shapes.append((each.bits, *shape[:-1]))

    def of_bits(*arrays: lanes.LaneArray) -> list[lanes.LaneArray]:
        server = Server(arrays[0].server)
        on: Any = server._on
        given = [
            server._array(on.on_device(array, each.bits, each.signed), shape)
            for array, each, shape in zip(arrays, listed, given_shapes, strict=True)
        ]
        return [on.vectors(each._core, each.shape) for each in arrays_in(function(*given), "plan")]

    found = lanes.plan(of_bits, shapes, parameters, count, most_log2_failure=most)
    names = ("bootstraps", "cleanings", "products")
    return Plan({name: getattr(found, name) for name in names}, found.log2_failure)


class DryServer(Server):
    """A server over a dry run."""

    __slots__ = ()

    def __init__(
        self,
        server: _FollowingServer,
        table_failure_log2: float,
        products: bool,
        saves: Saves,
    ) -> None:
        account = account_of(server.parameters, table_failure_log2)
        self._server = server
        multiplier = binfhe.Multiplier._dry(server) if products else None
        engine = BinfheEngine(
            server, account, apart=True, multiplier=multiplier, failure_log2=table_failure_log2
        )
        self._on = Programs(Circuit(engine, saves))

    def fresh(self, each: Fresh) -> Any:
        """Encryptions, all different."""
        assert isinstance(each.shape, tuple)
        on: Any = self._on
        count, size = Form(each.bits, each.signed).digits, math.prod(each.shape)
        following: Any = self._server
        rows = following.fresh(FreshDigits((count, size), SECTORS, under="ring"))
        return self._array(on.on_device(rows, each.bits, each.signed), each.shape)

    def rows(self, x: IntegerArray) -> Any:
        """The ciphertexts of a result."""
        on: Any = self._on
        return self._server.to_lwe_key(on.rows(self.upload(x)._core))


def arrays_in(returned: Any, name: str) -> list[IntegerArray]:
    """The arrays that a function returned; `TypeError`, by `plan` or who else asks, for others."""
    if isinstance(returned, IntegerArray):
        return [returned]
    if isinstance(returned, dict):
        returned = list(returned.values())
    if not isinstance(returned, (list, tuple)) or not returned:
        raise TypeError(
            f"{name}: the function must return arrays of integers, not {type(returned).__name__}"
        )
    return [array for each in returned for array in arrays_in(each, name)]


def of_example(given: Any, field: str) -> Fresh:
    """Encryptions like an array of NumPy's integers."""
    kind: Kind = kind_of_values(given)
    return Fresh(given.shape, kind.bits, kind.signed)
