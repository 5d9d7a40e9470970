"""Every public method with operands of all kinds: a value, or an exception that the docs name, with
a message of Whorl's own."""

import collections
import datetime
import decimal
import fractions
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import whorl
from support import BgvKit, CkksKit, Kit, make_bgv_kit, make_ckks_kit, make_kit
from whorl import binfhe, ckks

Kits = tuple[Kit, BgvKit, CkksKit]

DOCUMENTED = (whorl.Error, TypeError, ValueError, IndexError, ZeroDivisionError)
FOREIGN = (
    *("incompatible function", "nanobind", "std::", "inhomogeneous", "could not broadcast input"),
    *("setting an array element", "integer string conversion", "scalar index", "to convert"),
    *("int() argument", "float() argument", "string to float", "buffer", "to unpack"),
    *("interpreted as an integer", "unexpected keyword"),
)
"""What bindings, NumPy and Python say of what they cannot convert."""
TOO_LONG = frozenset(
    # They take the shape that they are asked for, or the time.
    ("broadcast_to", "reshape", "evaluation_keys", "bootstrap", "prepare_bootstrap")
)
OF_FILES = frozenset(("save", "load", "from_bytes"))
GOOD = {
    **{"values": [1, 0], "messages": [1, 0], "expected": [1, 0], "weights": [1, 1]},
    **{"packing": None, "bound": 1.0, "raw": True, "exponent": 2, "period": 1, "slots": 1},
    **{"columns": 1, "first": 0, "count": 1, "length": 2, "level": 1, "scale": 0, "limbs": 3},
    **{"low": 0.5, "high": 1, "error": 0.1, "step": 1, "queries": 2.0**40, "bits": 30, "key": 0},
    **{"p": 4, "padding": False, "name": "and", "round_bits": 1, "constant": 0, "memory": 0},
    **{"polynomial": ckks.Polynomial([0, 1]), "stages": ckks.minimax_sign(0.5, 0.5)},
    **{"map": ckks.linear_map([[1, 0], [0, 1]]), "released": (0, 0.0), "iterations": 1},
}
"""Arguments for parameters that have no default, or another one than serves here."""


def odd(everything: Kits) -> dict[str, Any]:
    """Operands of all kinds."""
    kit, toy, small = everything
    bits = kit.server.upload(kit.client.encrypt([0, 1]))
    row = toy.server.upload(toy.client.encrypt([[1, 2], [3, 4]]))
    real = small.server.upload(small.client.encrypt([[0.5, 0.25], [0.125, 0.5]]))
    held = np.empty(2, dtype=object)
    held[0], held[1] = real[0], real[1]
    endless: list[Any] = []
    endless.append(endless)
    fields = [("a", "i4")]
    numbers = (
        *(
            None,
            True,
            np.True_,
            1,
            -1,
            2**31,
            2**63,
            2**64,
            -(2**63),
            10**400,
            -(10**5000),
            0.5,
            1e-310,
        ),
        *(float("nan"), float("inf"), -0.0, 1e308, 1j, complex("nan"), fractions.Fraction(1, 3)),
        *(fractions.Fraction(10**5000, 3), decimal.Decimal("0.5"), decimal.Decimal("nan")),
        *(datetime.date(2020, 1, 1), np.datetime64("2020"), np.timedelta64(1, "s")),
    )
    text = ("x", "", "\udcff", b"ab", bytearray(b"ab"), memoryview(b"ab"))
    sequences: tuple[Any, ...] = (
        *([], (), {}, {1, 2}, range(2), [[]], [1, 2], (2,), [[1, 2], [3, 4]], [1, [2]]),
        *([[1, 2], [3]], [[[1], [2]], [[3], [4, 5]]], [np.ones((2, 2)), np.ones((2, 3))]),
        *(endless, collections.deque([1, 2]), slice(2), ...),
    )
    arrays = (
        *(np.array(1), np.array(0.5), np.array(1, object), np.array(None, object)),
        *(np.ones(2, kind) for kind in (np.float16, np.longdouble, np.complex64, np.bool_)),
        *(np.array([np.longdouble("1e4000")]), np.array([2**64 - 1, 1], np.uint64)),
        *(
            np.array(["a", "b"]),
            np.array([b"a"]),
            np.zeros(2, fields),
            np.rec.array([(1,)], fields),
        ),
        *(np.array([10**400, 1], object), np.empty(0), np.empty((2, 0)), np.ones((1,) * 32)),
        *(np.array(["2020"], "M8[D]"), np.array([1, 2], "m8[s]")),
    )
    masked: tuple[Any, ...] = (
        *(np.ma.masked, np.ma.array(1, mask=True), np.ma.array([1, 0])),
        *(np.ma.array([1, 0], mask=[False, True]), [np.ma.array([1, 0], mask=[False, True])]),
        *(np.ma.array(np.zeros(2, fields), mask=True),),
    )
    objects = (
        *(real, real.to_host(), [real[0], real[1]], held, row, row.to_host(), bits),
        *(bits.to_host(), [bits[0], bits[1]], toy.server.encode([1, 2]), GOOD["map"]),
        *(GOOD["polynomial"], GOOD["stages"], binfhe.Lut(kit.parameters, [0, 1, 2, 3])),
        *(small.server, kit.client, toy.keys, int, real._core, lambda m: m),
    )
    each = [*numbers, *text, *sequences, *arrays, *masked, *objects]
    return {f"{number}: {type(one).__name__}": one for number, one in enumerate(each)}


def calls(everything: Kits) -> Iterator[tuple[str, Any, list[inspect.Parameter], dict[str, Any]]]:
    """Each method, what it belongs to, its parameters, and arguments that serve."""
    kit, toy, small = everything
    lut = binfhe.Lut(kit.parameters, [0, 1, 2, 3])
    for holder, values in ((kit, [0, 1]), (toy, [[1, 2]]), (small, [[0.5, 0.25]])):
        one: Any = holder
        host = one.client.encrypt(values)
        array = one.server.upload(host)
        owners = [one.client, one.server, host, array]
        if holder is kit:
            owners += [lut]
        else:
            owners += [one.client.public_key()]
        good = {**GOOD, "luts": lut, "lut": lut, "inputs": array}
        good["packing"] = "slots" if holder is toy else None
        for owner in owners:
            for name in dir(type(owner)):
                method = inspect.getattr_static(type(owner), name)
                if name in TOO_LONG | OF_FILES or not inspect.isfunction(method):
                    continue
                if name.startswith("_") and name.strip("_") not in OPERATORS:
                    continue
                parameters = list(inspect.signature(method).parameters.values())[1:]
                given = {
                    each.name: good.get(
                        each.name, array if each.default is each.empty else each.default
                    )
                    for each in parameters
                }
                yield name, owner, parameters, given


OPERATORS = {
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "rmatmul"),
    *("pow", "and", "rand", "or", "ror", "xor", "rxor", "getitem", "call"),
}


def call(owner: Any, name: str, parameters: list[inspect.Parameter], given: dict[str, Any]) -> None:
    arguments: list[Any] = []
    named = {}
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL:
            arguments += [given[each.name]] * 2
        elif each.kind is each.KEYWORD_ONLY:
            named[each.name] = given[each.name]
        else:
            arguments.append(given[each.name])
    getattr(owner, name)(*arguments, **named)


def test_any_argument(generator: np.random.Generator) -> None:
    """A third of all pairs of parameters and operands, drawn anew each time."""
    # Keys of its own, since it releases results.
    everything = (make_kit(), make_bgv_kit(), make_ckks_kit())
    operands = odd(everything)
    wrong, tried = [], 0
    for name, owner, parameters, given in calls(everything):
        for parameter in parameters:
            for which, operand in operands.items():
                if generator.random() > 1 / 3:
                    continue
                tried += 1
                said: Any = None
                try:
                    with warnings.catch_warnings():
                        for kind in (UserWarning, RuntimeWarning):  # NumPy's
                            warnings.simplefilter("error", kind)
                        call(owner, name, parameters, {**given, parameter.name: operand})
                except DOCUMENTED as error:
                    if not str(error) or any(part in str(error) for part in FOREIGN):
                        said = error
                except Exception as error:
                    said = error
                if said is not None:
                    where = f"{type(owner).__module__}.{name}({parameter.name}={which})"
                    wrong.append(f"{where}: {said!r:.200}")
    assert tried > 5000
    assert not wrong, "\n".join(wrong)


KINDS: dict[str, Any] = {
    **{kind: lambda v, kind=kind: v.astype(kind) for kind in ("i1", ">i2", "u4", "<i8", ">u8")},
    **{"list": lambda v: v.tolist(), "tuple": lambda v: tuple(map(tuple, v.tolist()))},
    **{"object": lambda v: v.astype(object), "columns": lambda v: np.asfortranarray(v)},
    **{"backwards": lambda v: np.ascontiguousarray(v[..., ::-1])[..., ::-1]},
    **{"every second": lambda v: np.repeat(v, 2, axis=-1)[..., ::2]},
    **{"masks nothing": lambda v: np.ma.array(v, mask=np.zeros_like(v))},
    **{"memory": lambda v: memoryview(np.ascontiguousarray(v))},  # type: ignore[arg-type]
    **{"list of arrays": lambda v: list(v), "NumPy's numbers": lambda v: [list(row) for row in v]},
}
REAL: dict[str, Any] = {
    **{
        kind: lambda v, kind=kind: v.astype(kind)
        for kind in ("f2", ">f4", ">f8", "g", "c8", ">c16")
    },
    **{"fractions": lambda v: [[fractions.Fraction(int(x)) for x in row] for row in v]},
}


def test_values_of_any_kind(
    kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit, generator: np.random.Generator
) -> None:
    """Results are NumPy's, whatever the values are in."""
    a, b = generator.integers(0, 2, (2, 2, 2))
    for name, kind in {**KINDS, **REAL}.items():
        given = kind(b)
        x = toy_ckks.server.upload(toy_ckks.client.encrypt(kind(a)))
        for got, expected in (
            *((x + given, a + b), (given + x if hasattr(given, "shape") else x + given, a + b)),
            *((x - given, a - b), (x * given, a * b), (np.subtract(given, x), b - a)),
        ):
            decrypted = toy_ckks.client.decrypt(got, raw=True)
            assert np.abs(decrypted - expected).max() < 1e-4, name
        if name in REAL:
            continue
        y = toy_bgv.server.upload(toy_bgv.client.encrypt(kind(a)))
        for got, expected in (
            *((y + given, a + b), (y - given, a - b), (y * given, a * b)),
            *((np.subtract(given, y), b - a), (y * toy_bgv.server.encode(given), a * b)),
        ):
            decrypted = toy_bgv.client.decrypt(got, signed=True)[..., :2]
            assert np.array_equal(decrypted, expected), name
        bits = kit.server.upload(kit.client.encrypt(kind(a)))
        for got, expected in ((bits & given, a & b), (np.bitwise_xor(given, bits), a ^ b)):
            assert np.array_equal(kit.client.decrypt(got), expected), name
