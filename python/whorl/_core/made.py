"""Objects that users get from functions and methods, and do not make by calling their class."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, TypeVar

M = TypeVar("M", bound="Made")


class Made:
    """An object around one of the C++ library, `_core`."""

    __slots__ = ()

    _made_by: ClassVar[str]
    """What makes it, for people."""

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is made by {self._made_by}")

    @classmethod
    def _of(cls: type[M], core: Any, **attributes: Any) -> M:
        made: Any = cls.__new__(cls)
        made._core = core
        for name, value in attributes.items():
            setattr(made, name, value)
        return made  # type: ignore[no-any-return]


class OnDevice(Made):
    """An object on the device of a server."""

    __slots__ = ()

    _sent_as: ClassVar[str]
    """What is sent in its place, for people."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"an object on a device cannot be pickled; send {self._sent_as}")
