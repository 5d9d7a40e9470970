"""Functions of encrypted integers as programs of the C++ library, which files keep."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from .. import binfhe
from .._core.part import Made, Part
from .._core.plan import listed_inputs
from .._core.saved import Saved
from .._server import binfhe as _lib
from ..binfhe._plan import _FollowingServer
from ..errors import ShapeError
from ._arithmetic import DigitArithmetic
from ._arrays import IntegerArray
from ._ciphertexts import Ciphertexts
from ._circuit import Saves
from ._compiled import program_of
from ._engines import FRESH, TABLE_FAILURE_LOG2
from ._plan import MOST_FAILURE_LOG2, DryServer, Fresh, arrays_in, of_example, refuse_failures
from ._programs import Held, Recorder, needed
from ._server import Server, check_saves


def _listed(arrays: list[tuple[int, bool, list[int], str]]) -> tuple[Fresh, ...]:
    return tuple(Fresh(tuple(shape), bits, signed) for bits, signed, shape, _ in arrays)


class Program(Saved, Made):
    """A function of encrypted integers, which any server runs by one call; `compile` makes it.

    `save` and `load` keep it in files, which C++ reads as `whorl::integers::Program`, so that
    services compute without Python (docs/integers.md). It belongs to parameters and to no key.
    """

    __slots__ = ("_core",)

    _core: _lib.IntegerProgram
    _reader = _lib.IntegerProgram
    _most = 1 << 30

    _made_by = "compile, or by Program.load"

    @classmethod
    def _wrap(cls, core: _lib.IntegerProgram) -> Program:
        return cls._of(core)

    @property
    def parameters(self) -> binfhe.Parameters:
        """Parameters of the keys."""
        return binfhe.Parameters(self._core.parameters)

    inputs = Part[tuple[Fresh, ...]](
        "_core.inputs", "What it takes: shape, bits and sign of each input.", _listed
    )
    results = Part[tuple[Fresh, ...]](
        "_core.results", "What it makes: shape, bits and sign of each result.", _listed
    )
    rotations = Part[int]("_core.rotations", "Blind rotations of a run.")
    layers = Part[int]("_core.layers", "Layers of tables, which wait for one another.")
    failure_log2 = Part[float](
        "_core.failure_log2", "log2 of a bound on the probability that any result is wrong."
    )

    def run(self, server: Server, *inputs: Ciphertexts) -> list[Ciphertexts]:
        """What the function gives of these inputs, for a client that decrypts it.

        Args:
            server: with any keys of these parameters.
            inputs: what clients encrypted, of the shapes and types of `inputs`.

        One device of the server does all of the work, and keeps the results of all rotations until
        the end. Errors are those of C++'s `Program::run`: `ShapeError` for other numbers of inputs
        or other shapes, `EncodingError` for integers of other types, `KeyMismatchError` for results
        of servers and ciphertexts of other keys, `ParameterMismatchError`, and `NoiseError` for
        more noise than clients leave, and for a ciphertext that comes twice among the inputs:
        `failure_log2` holds of independent errors. For f(x, x) compile a function of x, or encrypt
        x twice. `TypeError` for what a public key encrypted.
        """
        inner = getattr(server, "_server", None)
        if not isinstance(server, Server) or not isinstance(inner, binfhe.Server):
            raise TypeError(
                "server: an integers.Server over a binfhe.Server is needed, not "
                f"{type(server if inner is None else inner).__name__}"
            )
        given = []
        for index, each in enumerate(inputs):
            data = each.data if isinstance(each, Ciphertexts) else None
            if not isinstance(data, binfhe.Ciphertexts):
                raise TypeError(
                    f"input {index}: integers.Ciphertexts, as Client.encrypt makes them, are "
                    f"needed, not {type(each if data is None else data).__name__}"
                )
            given.append((data._core, each.bits, each.signed, list(each.shape)))
        made = self._core.run(inner._core, given)
        inner._warn()
        circuit: Any = server._circuit
        circuit.rotations += self.rotations
        circuit.layers += self.layers
        return [
            Ciphertexts(binfhe.Ciphertexts._wrap(core), result.bits, result.signed)
            for core, result in zip(made, self.results, strict=True)
        ]

    def __repr__(self) -> str:
        inputs, results = (
            ", ".join(f"{each.bits} bits{each.shape or ''}" for each in side)
            for side in (self.inputs, self.results)
        )
        return (
            f"<Program {inputs} -> {results}: {self.rotations} rotations in {self.layers} layers>"
        )


def compile(
    function: Callable[..., Any],
    inputs: Fresh | Any | Sequence[Fresh | Any],
    *,
    parameters: binfhe.Parameters,
    table_failure_log2: float = TABLE_FAILURE_LOG2,
    most_failure_log2: float = MOST_FAILURE_LOG2,
    saves: Saves = "both",
    carries: bool = True,
) -> Program:
    """Writes down what a function of encrypted integers does, without ciphertexts and keys.

    Args:
        function: as for `plan`; its arrays, in tuples, lists and dictionaries, become a list.
        inputs: one input, or a list or tuple of at most 31 (`ShapeError` else): `Fresh`, or
            examples that are NumPy's.
        parameters: those of the keys, of FHEW/TFHE.
        table_failure_log2: as for `Server`.
        most_failure_log2: `NoiseError` if the function fails more often.
        saves: as for `Server`.
        carries: whether results keep carries that are still to be made, which clients add up;
            without them other servers take results, too.

    Products take tables only: a program knows no product keys.

    >>> from whorl.binfhe import parameters
    >>> less = compile(lambda x, y: x < y, [Fresh(), Fresh()], parameters=parameters("W128_P128"))
    >>> less
    <Program 64 bits, 64 bits -> 1 bits: 21 rotations in 3 layers>
    """
    if not isinstance(parameters, binfhe.Parameters):
        raise TypeError(
            f"parameters: those of FHEW/TFHE are needed, not {type(parameters).__name__}"
        )
    given = listed_inputs(function, inputs, Fresh, of_example)
    if not 0 < len(given) <= _lib.most_program_inputs:
        raise ShapeError(
            f"inputs: there are {len(given)}; a program has 1 … {_lib.most_program_inputs}: stack "
            "integers to arrays"
        )
    run = _lib.DryRun.create(parameters._core, None, 1.0)
    following = _FollowingServer(run, parameters)
    server = _RecordingServer(following, float(table_failure_log2), False, check_saves(saves))
    arrays = [server.fresh(each) for each in given]
    made = [server.result(x, carries) for x in arrays_in(function(*arrays), "compile")]
    rows = [server._server.to_lwe_key(held.rows) for held, _ in made]
    failure = run.failure_log2([each._core for each in rows])
    refuse_failures("compile", failure, most_failure_log2)
    numbers = [held.number for held, _ in made]
    steps = needed(server.recorder.steps, set(numbers))
    taken = list(enumerate(server.shapes))
    digits, _ = program_of(parameters, server.engine._lut, steps, taken, numbers)
    sides = [(each.bits, each.signed, list(_shape(each)), "canonical") for each in given]
    results = [result for _, result in made]
    return Program._wrap(_lib.IntegerProgram.create(digits, sides, results, FRESH, failure))


def _shape(each: Fresh) -> tuple[int, ...]:
    assert isinstance(each.shape, tuple)
    return each.shape


class _RecordingServer(DryServer):
    """A server over a dry run that writes down what its arithmetic calls."""

    __slots__ = ("engine", "recorder", "shapes")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        circuit: Any = self._circuit
        self.engine = circuit.engine
        self.recorder = circuit.engine = Recorder(self.engine, _lib.most_program_inputs)
        self.shapes: list[tuple[int, ...]] = []

    def fresh(self, each: Fresh) -> Any:
        """Encryptions, whose number is that of the input."""
        x = super().fresh(each)
        number = x._core
        [rows] = number.wires.batches
        held = Held(len(self.shapes), rows)
        self.shapes.append(held.shape)
        wires = dataclasses.replace(number.wires, batches=(held,))
        return self._array(dataclasses.replace(number, wires=wires), x.shape)

    def result(self, x: IntegerArray, carries: bool) -> tuple[Held, Any]:
        """The ciphertexts of a result, and what the library is told of it."""
        on = self._on
        assert isinstance(on, DigitArithmetic)
        number = self.upload(x)._core
        number = number if carries else on.flush(number)
        form = "flags" if number.unit != 1 else "carries" if carries else "canonical"
        held: Held = on.rows(number)
        return held, (x.bits, x.signed, list(x.shape), form)
