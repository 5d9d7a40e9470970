"""Parameters of every scheme: literals of plain data, checked field by field."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from ..errors import ParameterError
from .part import Part
from .saved import Saved
from .text import Shown, at_least_bits, shown

P = TypeVar("P", bound="CheckedParameters")
Check = Callable[[str, Any], Any]

MOST_THREADS = 1024
"""The library takes no more threads."""


def as_integer(field: str, value: Any, low: int, high: int) -> int:
    """`value` as an int; `ParameterError` unless it is an integer in `low` … `high`."""
    number = _index(value)
    if number is None:
        raise ParameterError(f"{field}: {shown(value)} is not an integer")
    if not low <= number <= high:
        raise ParameterError(f"{field}: {shown(number)} is outside {low} … {high}")
    return number


def _index(value: Any) -> int | None:
    """`value` as an int; None for what is no integer, such as a bool or a span of time."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return None
    with suppress(TypeError):  # NumPy calls its spans of time integers
        return operator.index(value)
    return None


def as_real(field: str, value: Any) -> float:
    """`value` as a float; `ParameterError` unless it is a number that a double holds."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{field}: {shown(value)} is not a number")
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(f"{field}: {too_large(value)}") from None
    except TypeError:  # NumPy calls its spans of time integers
        raise ParameterError(f"{field}: {shown(value)} is not a number") from None


def too_large(number: Any, where: str = "") -> str:
    """What an error says of a real number that is above all doubles, and of where it is.

    >>> from fractions import Fraction
    >>> too_large(Fraction(-(10**400), 3))
    'a number of about 2^1327 is above the largest double, 2^1024'
    """
    size = f"2^{abs(int(number)).bit_length() - 1}"
    return f"a number of about {size}{where} is above the largest double, 2^1024"


def as_text(field: str, value: Any) -> str:
    """`value`; `ParameterError` unless it is a string, and has no half of a surrogate pair."""
    if not isinstance(value, str):
        raise ParameterError(f"{field}: {shown(value)} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{field}: {shown(value)} is no text in UTF-8") from None
    return value


def as_flag(field: str, value: Any) -> bool:
    """`value`; `ParameterError` unless it is a bool."""
    if not isinstance(value, bool):
        raise ParameterError(f"{field}: {shown(value)} is not a bool")
    return value


def as_word(field: str, value: Any) -> int:
    """`value` as an int of 32 bits, without sign."""
    return as_integer(field, value, 0, 2**32 - 1)


def as_long(field: str, value: Any) -> int:
    """`value` as an int of 64 bits, without sign."""
    return as_integer(field, value, 0, 2**64 - 1)


def list_of(check: Check, what: str) -> Check:
    """A check of lists; error messages call the entries `what`."""

    def as_list(field: str, value: Any) -> list[Any]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ParameterError(f"{field}: {shown(value)} is not a list of {what}")
        return [check(field, each) for each in value]

    return as_list


def tuple_of(check: Check, what: str) -> Check:
    """A check of tuples as long as `what` has words, such as "count, log_base, digits"."""
    length = len(what.split(", "))

    def as_tuple(field: str, value: Any) -> tuple[Any, ...]:
        form = f"{field}: {shown(value)} must have the form ({what})"
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ParameterError(form)
        parts = tuple(value)
        if len(parts) != length:
            raise ParameterError(form)
        return tuple(check(field, each) for each in parts)

    return as_tuple


def record_of(make: Callable[[], Any], fields: Mapping[str, Check]) -> Check:
    """A check of mappings with some of these fields, or None; it fills what `make` makes."""

    def as_record(field: str, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise ParameterError(f"{field}: {shown(value)} is neither a mapping nor None")
        return filled(make(), fields, value, f"{field}.")

    return as_record


def filled(record: Any, fields: Mapping[str, Check], values: Mapping[str, Any], of: str) -> Any:
    """`record`, with its attributes set to values that were checked. `ParameterError` names a field
    that there is not, with `of` before it."""
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise ParameterError(
            f"{of}{unknown[0]}: no field has this name; the fields are {', '.join(fields)}"
        )
    for field, value in values.items():
        setattr(record, field, fields[field](f"{of}{field}", value))
    return record


def as_threads(threads: Any) -> int:
    """A number of threads, 0 for all cores. `TypeError` unless it is an integer, `ValueError` below
    0, `ParameterError` above `MOST_THREADS`."""
    count = _index(threads)
    if count is None:
        raise TypeError(f"threads: an integer is needed, not {shown(threads)}")
    if count < 0:
        raise ValueError(f"threads: {shown(count)} is below 0")
    if count > MOST_THREADS:
        raise ParameterError(f"threads = {shown(count)} is above {MOST_THREADS}")
    return count


class CheckedParameters(Shown, Saved):
    """Validated, immutable parameters around the C++ library's.

    Two are equal if their digests are equal: all fields that change ciphertexts or keys then agree.
    """

    __slots__ = ("_core", "_literal")

    _most = 1 << 20
    _scheme: ClassVar[str] = ""
    """Its name, for people."""
    _instead: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What is written in place of operations that ciphertexts lack, by their kinds
    (`_core/refused.py`). "{function}" stands for a function of numbers."""
    _literal_type: ClassVar[Any]
    _fields: ClassVar[Mapping[str, Check]]
    """All fields of a literal, and how each is checked."""
    _required: ClassVar[tuple[str, ...]]
    """Those without a default."""

    def __init__(self, core: Any) -> None:
        if not isinstance(core, self._reader):
            scheme = type(self).__module__.rpartition(".")[0]
            raise TypeError(f"parameters are made by {scheme}.parameters()")
        self._core = core
        self._literal = core.literal

    @classmethod
    def _wrap(cls: type[P], core: Any) -> P:
        return cls(core)

    @classmethod
    def _create(cls: type[P], fields: Mapping[str, Any], allow_insecure: bool) -> P:
        """Makes them of a mapping. `ParameterError` names an unknown, missing or wrong field."""
        literal = filled(cls._literal_type(), cls._fields, fields, "")
        missing = [field for field in cls._required if field not in fields]
        if missing:
            known = ", ".join(cls._required)
            raise ParameterError(f"{missing[0]}: it is missing; a literal has at least {known}")
        return cls(cls._reader.create(literal, bool(allow_insecure)))

    def _values(self) -> Any:
        """The literal's fields as a dictionary."""
        return {field: getattr(self._literal, field) for field in self._fields}

    def _facts(self) -> list[tuple[str, str]]:
        chosen = cast(Any, self)
        return [
            ("scheme", self._scheme),
            ("set", chosen.name or "unnamed"),
            *self._details(),
            ("security", f"{at_least_bits(chosen.security_bits)} bits"),
        ]

    def _details(self) -> list[tuple[str, str]]:
        """What a scheme adds to the table in notebooks."""
        return []

    @property
    def parameters(self: P) -> P:
        """The object itself, so that parameters and objects made under them read alike."""
        return self

    digest = Part[str](
        "_core.digest",
        "BLAKE2b-128 over all fields that change ciphertexts or keys, in hexadecimal.",
        bytes.hex,
    )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._core.digest == other._core.digest

    def __hash__(self) -> int:
        return hash(self._core.digest)
