"""Arrays of ciphertexts: NumPy's shapes and indexing over flat batches, on the host or a device.

NumPy works on an array of positions, which has the same shape. A batch then only has to take the
members at given positions, and to be joined with others.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, cast

import numpy as np

from ..errors import ShapeError
from .part import Made, OnDevice, Part
from .refused import AS_OPERATORS, kind_of, refused_operators
from .saved import Saved
from .text import Shown, of_bytes, shown

Shape = tuple[int, ...]
Positions = np.ndarray[Any, np.dtype[np.intp]]
A = TypeVar("A", bound="Array")
H = TypeVar("H", bound="HostArray")
S = TypeVar("S", bound="Serving")
D = TypeVar("D", bound="DeviceArray[Any]")


def _as_operator(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy leaves to arrays of ciphertexts: its functions that are operators, and the
    operators of its own arrays. `np.add(x, y)` is `x + y`."""
    known = method == "__call__" and not options
    name = AS_OPERATORS.get(ufunc.__name__) if known else None
    if name and isinstance(inputs[0], Array):
        return getattr(operator, name)(*inputs)
    if name and isinstance(inputs[-1], Array):
        return getattr(inputs[-1], f"__r{name.strip('_')}__")(inputs[0])
    if "out" in options:
        raise _not_taken(ufunc, self, "no array of numbers holds them: write a = a + x, not a += x")
    if method != "__call__":
        raise _not_taken(ufunc, self, f"{ALL_THERE_IS}, and np.{ufunc.__name__}.{method} is none")
    raise _not_taken(ufunc, self, _instead(ufunc, self))


_SAME_METHODS = frozenset(
    ("shape", "ndim", "size", "reshape", "ravel", "transpose", "broadcast_to", "copy")
)
"""Functions of NumPy that mean what the attribute or method of this name does."""


_JOINING = frozenset(
    ("stack", "concatenate", "vstack", "hstack", "dstack", "column_stack", "append", "block")
)
"""Functions of NumPy that make one array of several."""


ALL_THERE_IS = "ciphertexts have the operators and methods of their class"


def _not_taken(function: Any, array: Any, instead: str, options: Sequence[str] = ()) -> TypeError:
    given = f" with {', '.join(options)}" if options else ""
    return TypeError(f"{_named(function)} does not take {array._kind()}{given}: {instead}")


def _named(function: Any) -> str:
    """A function as users write it, which need not be NumPy's own."""
    name = str(function.__name__)
    return f"np.{name}" if hasattr(np, name) else name


def _instead(function: Any, array: Array) -> str:
    """What is written in place of NumPy's function."""
    name = function.__name__
    if name in _JOINING:
        package = _package(array)
        return f"{package}.stack and {package}.concatenate join ciphertexts"
    method = getattr(type(array), name, None)
    if not inspect.isfunction(method):
        return array._in_place_of(kind_of(function), _named(function))
    _, *inputs = inspect.signature(method).parameters.values()
    needed = (each for each in inputs if each.default is each.empty)
    names = ", ".join(str(each.replace(annotation=each.empty)) for each in needed)
    return f"write x.{name}({names}); help(x.{name}) says what it does"


def _takes(method: Callable[..., Any], given: Sequence[Any], options: dict[str, Any]) -> bool:
    """Whether a method has parameters for these arguments."""
    try:
        inspect.signature(method).bind(*given, **options)
    except TypeError:
        return False
    return True


class _LeftToNumPy:
    """`__array_ufunc__`: NumPy asks a class for it and calls it. np.ma asks an object, and leaves
    operators to one that has None."""

    def __get__(self, array: Any, _: Any) -> Any:
        return _as_operator if array is None else None


class Array(Shown):
    """An immutable array of any shape over a flat batch of the C++ library, `_core`."""

    __slots__ = ("_core", "_shape")

    __hash__ = None  # type: ignore[assignment]

    _may_be_empty: ClassVar[bool] = False
    _core: Any
    _shape: Shape

    def _like(self: A, core: Any, shape: Shape) -> A:
        """An array that differs in contents and shape only."""
        raise NotImplementedError

    def _gather(self, flat: np.ndarray[Any, np.dtype[np.uint32]]) -> Any:
        """A batch of the members at the positions `flat`."""
        raise NotImplementedError

    def _joined(self: A, arrays: Sequence[A]) -> A:
        """The arrays one after another; shape (count,)."""
        raise NotImplementedError

    @property
    def _each(self) -> int:
        """How many members of the batch an element of the array takes."""
        return 1

    def _take(self: A, positions: Positions) -> A:
        """The elements at `positions` of the flat array; all of them in order are not copied."""
        flat = positions.reshape(-1)
        if flat.size == 0 and not self._may_be_empty:
            raise ShapeError(f"nothing is left: arrays of {type(self).__name__} are not empty")
        core = self._core
        if flat.size != self.size or not np.array_equal(flat, np.arange(self.size)):
            members = flat[:, None] * self._each + np.arange(self._each)
            core = self._gather(np.ascontiguousarray(members.reshape(-1), dtype=np.uint32))
        return self._like(core, positions.shape)

    def _positions(self) -> Positions:
        return np.arange(self.size).reshape(self._shape)

    def _about(self) -> str:
        """Text that `repr` adds."""
        return ""

    def _made_under(self) -> Any:
        """The parameters that the ciphertexts were made under."""
        raise NotImplementedError

    def _facts(self) -> list[tuple[str, str]]:
        parameters, array = self._made_under(), cast(Any, self)
        return [
            ("scheme", parameters._scheme),
            ("set", parameters.name or "unnamed"),
            ("shape", str(self.shape)),
            ("count", f"{self.size:,}"),
            *self._details(),
            ("bytes", of_bytes(array.nbytes)),
            *self._place(),
        ]

    def _details(self) -> list[tuple[str, str]]:
        """Rows that a scheme adds to the table in notebooks."""
        return []

    def _place(self) -> list[tuple[str, str]]:
        """Rows of the table in notebooks: the array's key and device."""
        return []

    # ---- what it is

    @property
    def shape(self) -> Shape:
        """Lengths of the axes; () for a single one."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    # ---- as an array

    def __len__(self) -> int:
        self._check_axis("len()")
        return self._shape[0]

    def __iter__(self: A) -> Iterator[A]:
        self._check_axis("axis to iterate over")
        return (self[i] for i in range(len(self)))

    def _check_axis(self, wanted: str) -> None:
        if not self._shape:
            raise TypeError(
                f"a 0-d {type(self).__name__} has no {wanted}: {self._in_place_of('axis')}"
            )

    def __getitem__(self: A, key: Any) -> A:
        """NumPy's indexing: integers, slices, ..., None, masks and arrays of integers.

        The elements that it takes are copied. Raises `IndexError` as NumPy does, and for a masked
        index, which NumPy would uncover. Raises `ShapeError` if nothing is left and arrays of this
        class may not be empty.
        """
        if any(map(is_masked, key if isinstance(key, tuple) else (key,))):
            raise IndexError("index: it has masked entries; leave them out, as .compressed()")
        try:
            found = self._positions()[key]
        except IndexError as error:
            if self._shape:
                raise
            raise IndexError(f"{error}: {self._in_place_of('axis')}") from None
        except (OverflowError, ValueError):
            raise IndexError(f"index: {shown(key)} is none") from None
        return self._take(np.asarray(found))

    def reshape(self: A, *shape: int | Sequence[int]) -> A:
        """The same elements in C order in another shape; nothing is copied. One length may be -1.

        Raises `ValueError` if the sizes differ.
        """
        return self._take(self._positions().reshape(_integers(shape)))

    def ravel(self: A) -> A:
        """All elements in C order, shape (size,); nothing is copied."""
        return self.reshape(self.size)

    def copy(self: A) -> A:
        """The array itself: arrays are immutable and need no copy."""
        return self._like(self._core, self._shape)

    def transpose(self: A, *axes: int | Sequence[int]) -> A:
        """Axes in reverse, or in the order given.

        `ValueError` if `axes` is not a permutation.
        """
        return self._take(self._positions().transpose(_integers(axes) if axes else None))

    @property
    def T(self: A) -> A:
        """Axes in reverse."""
        return self.transpose()

    def broadcast_to(self: A, shape: Shape) -> A:
        """Repeated along new axes and axes of length 1, as NumPy does. Raises `ValueError`.

        Operations broadcast by themselves; nothing is copied when one ciphertext is combined with a
        batch.
        """
        return self._take(np.broadcast_to(self._positions(), _integers((shape,))))

    # ---- what they cannot do

    def _in_place_of(self, kind: str, function: str = "f") -> str:
        """What is written in place of an operation of that kind, such as `function`."""
        told: str = self._made_under()._instead.get(kind, ALL_THERE_IS)
        return told.format(function=function)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self._kind()} has no truth value: {self._in_place_of('choice')}")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        package = _package(self)
        raise TypeError(
            f"{type(self).__name__} is not an array of numbers: {package}.stack and "
            f"{package}.concatenate join ciphertexts; for numbers, decrypt it first"
        )

    def __array_function__(
        self, function: Any, _: Any, inputs: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        """NumPy's functions that are no ufuncs: those of shapes are methods."""
        if function.__name__ in _SAME_METHODS and inputs and isinstance(inputs[0], Array):
            found = getattr(inputs[0], function.__name__)
            if callable(found) and _takes(found, inputs[1:], options):
                return found(*inputs[1:], **options)
            if not callable(found) and len(inputs) == 1 and not options:
                return found
        raise _not_taken(function, self, _instead(function, self), list(options))

    __array_ufunc__ = _LeftToNumPy()
    # pandas leaves operators to what is above its own classes, which have up to 4000.
    __pandas_priority__ = 5000

    # ---- in messages

    def _kind(self) -> str:
        """What it is, and of which scheme."""
        return f"{type(self).__name__} of {self._made_under()._scheme}"


class HostArray(Array, Saved, Made):
    """Ciphertexts in the host's memory, where they are encrypted, saved, sent and decrypted."""

    __slots__ = ("_parameters",)

    _parameters_type: ClassVar[Any]
    _parameters: Any

    _made_by = "Client.encrypt, by EncryptedArray.to_host, or by Ciphertexts.load"

    @classmethod
    def _wrap(cls: type[H], core: Any, shape: Shape | None = None, parameters: Any = None) -> H:
        self = cls._of(core, _parameters=parameters or cls._parameters_type(core.parameters))
        self._shape = _kept(core, self._each) if shape is None else shape
        return self

    def _like(self: H, core: Any, shape: Shape) -> H:
        return self._wrap(core, shape, self._parameters)

    def _gather(self, flat: np.ndarray[Any, np.dtype[np.uint32]]) -> Any:
        return self._core.take(flat)

    def _joined(self: H, arrays: Sequence[H]) -> H:
        for array in arrays:
            if not isinstance(array, type(self)):
                raise no_ciphertexts(self._parameters, array)
        core = self._core.concatenate([array._core for array in arrays])
        return self._wrap(core, (sum(array.size for array in arrays),), self._parameters)

    def _made_under(self) -> Any:
        return self._parameters

    def _place(self) -> list[tuple[str, str]]:
        return [("key", f"{self.key_id[:8]}…")]

    nbytes = Part[int]("_core.data.nbytes", "Bytes in memory. Files of fresh ones are smaller.")
    key_id = Part[str]("_core.key_id", "Label of the secret key, 32 hexadecimal digits.", bytes.hex)

    def _frame(self) -> Any:
        core, each = self._core, self._each
        if self._shape == _kept(core, each):
            return core
        return core.with_shape(self._shape if each == 1 else (*self._shape, each))

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of shape {self.shape}{self._about()}, key {self.key_id[:8]}…>"
        )

    def _in_place_of(self, kind: str, function: str = "f") -> str:
        told = super()._in_place_of(kind, function)
        if kind in ("axis", "number"):
            return told
        first = "operators need a server: write server.upload(a) first"
        return first if told == ALL_THERE_IS else f"{first}. Then: {told}"


def _kept(core: Any, each: int) -> Shape:
    """The shape that a batch was saved with, or (count,) if it has none.

    If an element of the array takes several members of the batch, the last axis of the saved shape
    counts these members. That axis is left out here.
    """
    saved = (core.count,) if core.shape is None else core.shape
    if each == 1:
        return saved
    if len(saved) == 1:
        return () if core.count == each else (core.count // each,)
    return saved[:-1]


class Serving(Protocol):
    """What arrays on a device ask of their server."""

    _core: Any
    _parameters: Any

    def download(self, a: Any, /) -> Any:
        """The array in the host's memory."""


class DeviceArray(Array, OnDevice, Generic[S]):
    """An array on the devices of a server."""

    __slots__ = ("_server",)

    _server: S
    _made_by, _sent_as = "a Server: upload, encode, operations", "Ciphertexts, or values"

    @classmethod
    def _wrap(cls: type[D], core: Any, server: Any, shape: Shape) -> D:
        made = cls.__new__(cls)  # not by _of, which takes a microsecond longer
        made._core, made._server, made._shape = core, server, shape
        return made

    def _like(self: D, core: Any, shape: Shape) -> D:
        return self._wrap(core, self._server, shape)

    def _gather(self, flat: np.ndarray[Any, np.dtype[np.uint32]]) -> Any:
        return self._server._core.take(self._core, flat)

    def _joined(self: D, arrays: Sequence[D]) -> D:
        core = self._server._core.concatenate([array._core for array in arrays])
        return self._like(core, (sum(array.size for array in arrays),))

    def _made_under(self) -> Any:
        return self._server._parameters

    def _place(self) -> list[tuple[str, str]]:
        return [("device", self.device)]

    @property
    def server(self) -> S:
        """The server on whose devices the array lies."""
        return self._server

    nbytes = Part[int]("_core.nbytes", "Bytes on the device.")
    device = Part[str]("_server.device", "Where it lies: `cuda:0 (NVIDIA H200)`.")


class DeviceCiphertexts(DeviceArray[S], Generic[S, H]):
    """Ciphertexts on the devices of a server, and the class that they have on the host."""

    __slots__ = ()

    key_id = Part[str]("_server.key_id", "Label of the secret key, 32 hexadecimal digits.")

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of shape {self.shape}{self._about()}, "
            f"key {self.key_id[:8]}…, on {self.device}>"
        )

    def _place(self) -> list[tuple[str, str]]:
        return [("key", f"{self.key_id[:8]}…"), *super()._place()]

    def to_host(self) -> H:
        """Waits for the array, and copies it to the host's memory."""
        host: H = self._server.download(self)
        return host


def _left_to(array: Array, other: object) -> bool:
    """Arrays on devices have the operators, those of ciphertexts before others."""
    return any(
        isinstance(other, kind) and not isinstance(array, kind)
        for kind in (DeviceArray, DeviceCiphertexts)
    )


for _name, _method in refused_operators(_left_to).items():
    setattr(Array, _name, _method)


def is_masked(values: Any) -> bool:
    """Whether it is a masked array that has a masked entry."""
    return (
        isinstance(values, np.ma.MaskedArray)
        and values.dtype.names is None
        and bool(np.ma.is_masked(values))
    )


def no_ciphertexts(parameters: Any, given: object) -> TypeError:
    """The error about what is given in place of ciphertexts under `parameters`."""
    if isinstance(given, (HostArray, DeviceCiphertexts)):
        wanted, other = parameters._scheme, given._made_under()._scheme
        if wanted != other:
            return TypeError(
                f"ciphertexts of {wanted} are needed, not of {other}: schemes have keys of their "
                "own, and only a client can bring values from one to the other"
            )
    parts: Any = given.ravel() if isinstance(given, np.ndarray) else given
    several = isinstance(parts, (list, tuple, np.ndarray)) and len(parts) > 0
    hint = joined_by(parts[0]) if several else ""
    return TypeError(f"ciphertexts are needed, not {type(given).__name__}{hint}")


def joined_by(part: Any) -> str:
    """What makes one array of a list, or an object array, that has `part`; "" for other parts."""
    return f"; {_package(part)}.stack makes one array of them" if isinstance(part, Array) else ""


def _package(array: Array) -> str:
    """Where users find what its class is beside: whorl.ckks."""
    return type(array).__module__.partition("._")[0]


def concatenate(arrays: Sequence[A], axis: int = 0) -> A:
    """Joins arrays along an existing axis, as `numpy.concatenate`.

    Arrays on the host give an array on the host. If some are on a device, the others are uploaded,
    and the result is on the device. Raises `ValueError` for shapes that do not fit, and
    `ParameterMismatchError` or `KeyMismatchError` if parameters or keys differ. Raises
    `DeviceError` for arrays of several servers, `EncodingError` or `ShapeError` for ciphertexts
    that cannot be in one batch, and `TypeError` for anything but arrays of ciphertexts.

    Ciphertexts stay as they are: values of several are not brought into one, as by OpenFHE's
    EvalMerge and Lattigo's ring packing. (OpenFHE: a std::vector of Ciphertext; Lattigo: a slice of
    rlwe.Ciphertext.)
    """
    return _join(arrays, lambda positions: np.concatenate(positions, axis=_axis(axis)))


def stack(arrays: Sequence[A], axis: int = 0) -> A:
    """Joins arrays of equal shape along a new axis, as `numpy.stack`. Errors as `concatenate`."""
    return _join(arrays, lambda positions: np.stack(positions, axis=_axis(axis)))


def _join(arrays: Sequence[A], join: Callable[[list[Positions]], Positions]) -> A:
    given: list[Any] = list(arrays)
    for index, array in enumerate(given):
        if not isinstance(array, Array):
            raise TypeError(
                f"arrays: ciphertexts are needed, not {type(array).__name__} at index {index}"
            )
    server = next((array._server for array in given if isinstance(array, DeviceArray)), None)
    if server is not None:
        given = [server.upload(array) for array in given]
    if not given:
        raise ValueError("at least one array is needed")
    each = max(array._each for array in given)
    whole = given[0]._joined([repeated(array, each) for array in given])
    starts = np.cumsum([0, *(array.size for array in given)])
    places = zip(given, starts, strict=False)
    result: A = whole._take(join([array._positions() + start for array, start in places]))
    return result


def repeated(a: A, each: int) -> A:
    """`a` with each member `each` times, so that it matches vectors of `each` ciphertexts."""
    if a._each == each:
        return a
    members = np.repeat(np.arange(a.size, dtype=np.uint32), each)
    return a._like(a._gather(members), a.shape)


def _axis(axis: Any) -> int:
    """The number of an axis, as NumPy takes it."""
    [number] = _integers((axis,))
    if abs(number) >= 2**31:
        raise ValueError(f"axis: there is no axis {shown(number)}")
    return number


def _integers(given: tuple[int | Sequence[int], ...]) -> Shape:
    """Integers given one by one or as one sequence, as NumPy's methods take them."""
    first: Any = given[0] if len(given) == 1 else None
    items: Any = first if np.iterable(first) and not isinstance(first, str) else given
    try:
        return tuple(operator.index(item) for item in items)
    except TypeError:
        raise TypeError(f"integers are needed, not {shown(items)}") from None
