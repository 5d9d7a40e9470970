"""Read-only properties that are attributes of an object within."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


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
