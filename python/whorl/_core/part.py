"""Objects around one of the C++ library: read-only properties, and what users do not make."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

T = TypeVar("T")
M = TypeVar("M", bound="Made")


class Part(Generic[T]):
    """A read-only property: the attribute of the object that `path` names, such as "_core.p"."""

    def __init__(self, path: str, doc: str, convert: Callable[[Any], T] | None = None) -> None:
        self._get = operator.attrgetter(path)
        self._convert = convert
        self.__doc__ = doc

    def __get__(self, owner: Any, _: Any = None) -> T:
        if owner is None:
            return self  # type: ignore[return-value]
        value = self._get(owner)
        return self._convert(value) if self._convert else value

    def __set__(self, owner: Any, value: Any) -> None:
        raise AttributeError(f"{type(owner).__name__} cannot be changed")


class Made:
    """An object, around `_core`, that functions and methods make, and not the call of its class."""

    __slots__ = ()

    _made_by: ClassVar[str]
    """What makes it, for people."""

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is made by {self._made_by}")

    @classmethod
    def _of(cls: type[M], core: Any, **attributes: Any) -> M:
        made = cls.__new__(cls)
        for name, value in {"_core": core, **attributes}.items():
            setattr(made, name, value)
        return made


class OnDevice(Made):
    """An object on the device of a server."""

    __slots__ = ()

    _sent_as: ClassVar[str]
    """What is sent in its place, for people."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"an object on a device cannot be pickled; send {self._sent_as}")
