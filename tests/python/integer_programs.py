"""Random programs of integers, on any server of them and in Python's own integers.

    python tests/python/integer_programs.py [--programs 100000] [--seed 1] [--processes 2]
        [--bits 20] [--size 3] [--steps 4] [--device cuda] [--set W128_P128_M3] [--products]

runs them on clear digits, by the algorithms that ciphertexts go through, or with a device on
ciphertexts there. Each is of several integers of up to so many bits at once. A failure names its
seed and number.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import multiprocessing
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from whorl import binfhe, ckks, integers, lanes
from whorl.integers._arithmetic import DigitArithmetic
from whorl.integers._carry import Form
from whorl.integers._circuit import SECTORS, Circuit, Saves
from whorl.integers._digits import digits_of, integers_of
from whorl.integers._engines import ClearEngine, account_of
from whorl.integers._types import Kind, as_kind, as_numbers, as_values

TOY = {
    **binfhe.parameters("W128_P128").literal(),
    **{"name": "toy", "n": 16, "gadget": [(16, 23, 1)]},
}
"""`W128_P128` with so short a key that a rotation takes a fiftieth; not secure."""


class ClearServer(integers.Server):
    """A server whose ciphertexts are clear digits; it is its own client."""

    __slots__ = ()

    def __init__(
        self, table_failure_log2: float = -128.0, products: int = 0, saves: Saves = "both"
    ) -> None:
        account = account_of(binfhe.parameters("W128_P128"), table_failure_log2)
        engine = ClearEngine(account, products=products)
        self._on = DigitArithmetic(Circuit(engine, saves))

    @property
    def device(self) -> str:
        return "clear"

    def encrypt(self, values: Any, bits: int, signed: bool = False) -> Any:
        kind = as_kind(bits, signed)
        given = as_values(values, kind, "values")
        digits = digits_of(given.reshape(-1).tolist(), Form(bits, signed)) % SECTORS
        on: Any = self._on
        return self._array(on.on_device(digits, bits, signed), given.shape)

    def decrypt(self, x: Any) -> Any:
        on: Any = self._on
        digits = (on.rows(x._core) + 16) % SECTORS - 16
        digits = digits // x._core.unit
        return as_numbers(integers_of(digits, x.bits, x.signed), x.kind).reshape(x.shape)


class Encrypted:
    """A client and a server of FHEW/TFHE, which are not secure unless a set is named."""

    client: integers.Client
    server: integers.Server

    def __init__(
        self,
        device: str = "cpu",
        name: str | None = None,
        products: bool = False,
        saves: Saves = "both",
    ) -> None:
        literal = binfhe.parameters(name).literal() if name else TOY
        lwe = binfhe.Client(binfhe.parameters(literal, allow_insecure=not name))
        self.client = integers.Client(lwe)
        self.server = integers.Server(
            binfhe.Server(lwe.evaluation_keys(), device=device),
            products=lwe.product_keys() if products else None,
            saves=saves,
        )

    def encrypt(self, values: Any, bits: int, signed: bool = False) -> Any:
        return self.server.upload(self.client.encrypt(values, bits, signed))

    def decrypt(self, x: Any) -> Any:
        return self.client.decrypt(x)


class InLanes(Encrypted):
    """A client and a server of lanes that are not secure; programs have as many values as lanes."""

    def __init__(self, size: int = 4) -> None:
        literal = {**ckks.parameters("W128_BITS5_L10").literal(), "N": 1024, "name": "small"}
        client = lanes.Client(ckks.parameters(literal=literal, allow_insecure=True))
        self.client = integers.Client(client)
        self.server = integers.Server(lanes.Server(client.evaluation_keys(size), device="cpu"))


# ---- in Python's integers

Values = list[int]


@dataclasses.dataclass
class Held:
    """An array of a program, and the integers that it holds."""

    array: Any
    values: Values
    kind: Kind


def quotient(a: int, b: int) -> int:
    return a // b if b else -1


def remainder(a: int, b: int) -> int:
    return a % b if b else a


def rotated(a: int, by: int, kind: Kind) -> int:
    bits = a % (1 << kind.bits)
    by %= kind.bits
    return bits << by | bits >> kind.bits - by


BINARY: dict[str, tuple[Callable[..., Any], Callable[[int, int], int]]] = {
    **{name: (getattr(operator, name),) * 2 for name in ("add", "sub", "mul", "and_", "or_")},
    "xor": (operator.xor, operator.xor),
    "min": (integers.minimum, min),
    "max": (integers.maximum, max),
    "floordiv": (operator.floordiv, quotient),
    "mod": (operator.mod, remainder),
}
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[int, Kind], int]]] = {
    "neg": (operator.neg, lambda a, _: -a),
    "invert": (operator.invert, lambda a, _: ~a),
    "abs": (abs, lambda a, _: abs(a)),
}
COUNTS: dict[str, Callable[[int, Kind], int]] = {
    "popcount": lambda a, kind: bin(a % (1 << kind.bits)).count("1"),
    "leading_zeros": lambda a, kind: kind.bits - (a % (1 << kind.bits)).bit_length(),
    "trailing_zeros": lambda a, kind: (a & -a).bit_length() - 1 if a else kind.bits,
}


class Program:
    """A program of a few steps; each step's result is compared."""

    def __init__(self, on: Any, seed: int, number: int, size: int = 3, most: int = 20) -> None:
        self.on, self.random, self.size = on, np.random.default_rng([seed, number]), size
        kind = self.kind(most)
        self.held = [self.fresh(kind) for _ in range(2)]

    def below(self, most: int) -> int:
        return int(self.random.integers(0, most))

    def kind(self, most: int) -> Kind:
        return Kind(1 + self.below(most), bool(self.below(2)))

    def value(self, kind: Kind) -> int:
        """Small and extreme ones come often."""
        bits = self.below(kind.bits + 1)
        value = int.from_bytes(self.random.bytes(32), "little") % (1 << bits)
        return kind.wrap(value if self.below(3) else ~value)

    def fresh(self, kind: Kind) -> Held:
        values = [self.value(kind) for _ in range(self.size)]
        return Held(self.on.encrypt(values, kind.bits, kind.signed), values, kind)

    def pick(self) -> Held:
        return self.held[self.below(len(self.held))]

    def beside(self, x: Held) -> tuple[Any, Values]:
        """Another operand of the type of x: encrypted or known, one or many."""
        choice = self.below(6)
        if choice == 0:
            value = self.value(x.kind)
            return value, [value] * self.size
        if choice == 1:
            values = [self.value(x.kind) for _ in range(self.size)]
            return np.array(values, dtype=np.object_), values
        y = self.pick()
        if y.kind == x.kind:
            return y.array, y.values
        cast = y.array.astype(x.kind.bits, x.kind.signed)
        return cast, [x.kind.wrap(value) for value in y.values]

    def keep(self, array: Any, values: Iterable[int], kind: Kind) -> None:
        wrapped = [kind.wrap(int(value)) for value in values]
        assert (array.bits, array.signed, array.shape) == (kind.bits, kind.signed, (self.size,))
        found = [int(value) for value in self.on.decrypt(array)]
        assert found == wrapped, f"{self.steps}: {found} in place of {wrapped}"
        self.held.append(Held(array, wrapped, kind))

    def run(self, steps: int) -> None:
        self.steps: list[str] = []
        for _ in range(steps):
            step = getattr(self, f"step_{STEPS[self.below(len(STEPS))]}")
            step(self.pick())

    def step_binary(self, x: Held) -> None:
        name = list(BINARY)[self.below(len(BINARY))]
        encrypted, clear = BINARY[name]
        y, values = self.beside(x)
        self.steps.append(f"{name} of {x.kind}, {x.values} and {values}")
        self.keep(encrypted(x.array, y), map(clear, x.values, values), x.kind)

    step_binary_again = step_binary

    def step_compare(self, x: Held) -> None:
        name = COMPARISONS[self.below(6)]
        y, values = self.beside(x)
        self.steps.append(f"{name} of {x.kind}, {x.values} and {values}")
        made = map(getattr(operator, name), x.values, values)
        self.keep(getattr(operator, name)(x.array, y), made, Kind(1))

    def step_unary(self, x: Held) -> None:
        name = list(UNARY)[self.below(len(UNARY))]
        encrypted, clear = UNARY[name]
        self.steps.append(f"{name} of {x.kind}, {x.values}")
        made = [
            clear(value, x.kind) if x.kind.signed or name != "abs" else value for value in x.values
        ]
        self.keep(encrypted(x.array), made, x.kind)

    def step_count(self, x: Held) -> None:
        name = list(COUNTS)[self.below(3)]
        self.steps.append(f"{name} of {x.kind}, {x.values}")
        made = [COUNTS[name](value, x.kind) for value in x.values]
        self.keep(getattr(x.array, name)(), made, Kind(x.kind.bits.bit_length()))

    def step_where(self, x: Held) -> None:
        flags = [each for each in self.held if each.kind == Kind(1)]
        chosen = flags[self.below(len(flags))] if flags else self.fresh(Kind(1))
        y, values = self.beside(x)
        self.steps.append(f"where of {chosen.values}, {x.values} and {values}")
        made = [a if c else b for c, a, b in zip(chosen.values, x.values, values, strict=True)]
        self.keep(integers.where(chosen.array, x.array, y), made, x.kind)

    def step_shift(self, x: Held) -> None:
        name = ("lshift", "rshift", "rotl", "rotr")[self.below(4)]
        if self.below(2):
            amount = self.below(x.kind.bits + 3)
            array, amounts = amount, [amount] * self.size
        else:
            by = self.fresh(Kind(1 + self.below(x.kind.bits.bit_length() + 1)))
            array, amounts = by.array, by.values
        self.steps.append(f"{name} of {x.kind}, {x.values} by {amounts}")
        if name in ("lshift", "rshift"):
            made = map(getattr(operator, name), x.values, amounts)
            self.keep(getattr(operator, name)(x.array, array), made, x.kind)
        else:
            sign = 1 if name == "rotl" else -1
            turned = [rotated(a, sign * k, x.kind) for a, k in zip(x.values, amounts, strict=True)]
            self.keep(getattr(x.array, name)(array), turned, x.kind)

    def step_cast(self, x: Held) -> None:
        kind = self.kind(24)
        self.steps.append(f"cast of {x.kind}, {x.values} to {kind}")
        self.keep(x.array.astype(kind.bits, kind.signed), x.values, kind)

    def step_slice(self, x: Held) -> None:
        first = self.below(x.kind.bits)
        last = first + 1 + self.below(x.kind.bits - first)
        self.steps.append(f"bits {first} … {last} of {x.kind}, {x.values}")
        made = [value >> first for value in x.values]
        self.keep(x.array.bit_slice(first, last), made, Kind(last - first))

    def step_shape(self, x: Held) -> None:
        if isinstance(self.on, InLanes):
            return
        order = self.random.integers(0, self.size, self.size)
        self.steps.append(f"[{order}]")
        self.keep(x.array[order], [x.values[i] for i in order], x.kind)

    def step_join(self, x: Held) -> None:
        """Some of the integers of several arrays, of which some are known."""
        parts = [(x.array, x.values), *(self.beside(x) for _ in range(1 + self.below(2)))]
        arrays = [
            each
            if hasattr(each, "kind")
            else x.array.server.known(values, x.kind.bits, x.kind.signed)
            for each, values in parts
        ]
        self.steps.append(f"joined of {x.kind}, {[values for _, values in parts]}")
        if isinstance(self.on, InLanes) or self.below(2):
            place = self.below(len(parts))
            self.keep(integers.stack(arrays)[place], parts[place][1], x.kind)
            return
        order = self.random.integers(0, len(parts) * self.size, self.size)
        held = [value for _, values in parts for value in values]
        self.keep(integers.concatenate(arrays)[order], [held[i] for i in order], x.kind)

    def step_sum(self, x: Held) -> None:
        y, values = self.beside(x)
        if not hasattr(y, "kind"):
            return
        self.steps.append(f"sum of {x.kind}, {x.values} and {values}")
        both = integers.stack([x.array, y, x.array])
        self.keep(
            both.sum(axis=0), [2 * a + b for a, b in zip(x.values, values, strict=True)], x.kind
        )

    def step_overflow(self, x: Held) -> None:
        name, call = (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul))[
            self.below(3)
        ]
        y, values = self.beside(x)
        self.steps.append(f"overflowing_{name} of {x.kind}, {x.values} and {values}")
        made, lost = getattr(integers, f"overflowing_{name}")(x.array, y)
        exact = [call(a, b) for a, b in zip(x.values, values, strict=True)]
        self.keep(made, exact, x.kind)
        self.keep(lost, [x.kind.wrap(value) != value for value in exact], Kind(1))


STEPS = [name.removeprefix("step_") for name in dir(Program) if name.startswith("step_")]


def run_one(on: Any, seed: int, number: int, steps: int = 4, most: int = 20, size: int = 3) -> str:
    """What went wrong; an empty text if all results are right."""
    program = Program(on, seed, number, 4 if isinstance(on, InLanes) else size, most)
    try:
        program.run(steps)
    except Exception as error:
        return f"seed {seed}, program {number}: {type(error).__name__} {error}; {program.steps}"
    return ""


def run_clear(
    seed: int, numbers: Iterable[int], given: argparse.Namespace | None = None
) -> list[str]:
    """What went wrong of programs on clear digits."""
    strict = -131.4
    servers = [
        ClearServer(strict),
        ClearServer(strict, saves="layers"),
        ClearServer(strict, saves="rotations"),
        ClearServer(saves="layers"),
        ClearServer(saves="rotations"),
        *[ClearServer()] * 3,
    ]
    shape = (given.steps, given.bits, given.size) if given else ()
    return [wrong for i in numbers if (wrong := run_one(servers[i % 8], seed, i, *shape))]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--bits", type=int, default=20)
    options.add_argument("--size", type=int, default=3)
    options.add_argument("--steps", type=int, default=4)
    options.add_argument("--device", help="default: on clear digits")
    options.add_argument("--set", default="W128_P128")
    options.add_argument("--products", action="store_true", help="with product keys")
    options.add_argument("--saves", default="both", help="rotations, both or layers")
    given = options.parse_args()
    if given.device:
        on = Encrypted(given.device, given.set, given.products, given.saves)
        numbers = range(given.programs)
        made = (run_one(on, given.seed, i, given.steps, given.bits, given.size) for i in numbers)
        wrong = [found for found in made if found]
    else:
        starts = range(0, given.programs, 100)
        parts = [range(start, min(start + 100, given.programs)) for start in starts]
        with multiprocessing.Pool(given.processes) as pool:
            found = pool.map(functools.partial(run_clear, given.seed, given=given), parts)
        wrong = [each for part in found for each in part]
    print(*wrong[:10], sep="\n")
    print(f"programs={given.programs} wrong={len(wrong)}", "FAILED" if wrong else "PASSED")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
