"""What the command has to know about a scheme. Each scheme has a file that says it."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, get_args

from ..errors import TypeMismatchError
from ._frames import Header, contents

Work = Callable[[Any, list[Any]], Any]
"""What is called with a server and arrays of ciphertexts."""


def _open_server(scheme: Scheme, keys: Any, device: str | None, threads: int) -> Any:
    return scheme.part("Server")(keys, device=device, threads=threads)


@dataclass(frozen=True)
class Scheme:
    """What the command has to know about a scheme.

    The functions get the scheme as their first argument. Their keyword-only arguments are options
    of the command, annotated for Typer and with a default. `--help` shows them as the scheme's own.
    """

    name: str
    """The value of `--scheme`."""
    module: str
    """Where `EvaluationKeys`, `Ciphertexts`, `Server` and `Client` are."""
    keys: str
    """Type of its files of evaluation keys, as `whorl info` tells it."""
    ciphertexts: str
    """Type of its files of ciphertexts."""
    secret: str = ""
    """Type of its files of secret keys. Without it there is no keygen, encrypt and decrypt."""
    functions: Sequence[str] = ()
    """Methods of `Server` that expressions may call."""
    operators: str = ""
    """Operators of its arrays, as messages list them."""
    circuits: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """(server, …): what else they may call, each by its name."""
    integers: bool = True
    """Whether values are integers, and no real or complex numbers."""
    division: str = ""
    """What a message says in place of /, if expressions have none."""
    keygen: Callable[..., tuple[Any, Mapping[str, Any]]] | None = None
    """(scheme, allow_insecure, *, …): parameters, and arguments of `Client.evaluation_keys`."""
    encrypt: Callable[..., Any] = lambda scheme, client, values: client.encrypt(values)
    """(scheme, client, values, *, …): ciphertexts."""
    work: Callable[..., Work | None] = lambda scheme: None
    """(scheme, *, …): what `eval` does, if options say it and not an expression."""
    server: Callable[..., Any] = _open_server
    """(scheme, keys, device, threads, *, …): a server."""
    decrypt: Callable[..., Any] = lambda scheme, client, _, ciphertexts: client.decrypt(ciphertexts)
    """(scheme, client, its file, ciphertexts, *, …): an array of numbers."""

    def part(self, name: str) -> Any:
        """A class of the scheme's module, imported when it is needed."""
        return getattr(importlib.import_module(self.module), name)

    @property
    def calls(self) -> list[str]:
        """Names of all that expressions may call."""
        return [*self.functions, *self.circuits]

    @property
    def offers(self) -> str:
        """What there is for expressions, for messages."""
        operators = f"the operators {self.operators} and " * bool(self.operators)
        return f"{operators}the functions {', '.join(self.calls)}"

    def bound(self, server: Any) -> dict[str, Callable[..., Any]]:
        """The same, to be called with what stands in the expression."""
        return {
            **{name: getattr(server, name) for name in self.functions},
            **{name: partial(circuit, server) for name, circuit in self.circuits.items()},
        }

    def options(self, *parts: str) -> dict[str, inspect.Parameter]:
        """The keyword-only arguments of the functions `parts`."""
        return {
            each.name: each
            for function in (getattr(self, part) for part in parts)
            for each in (options_of(function) if function else [])
        }


def of_whorl(name: str, title: str, **more: Any) -> Scheme:
    """One of Whorl's own schemes; types of its files begin with the title."""
    types = f"{title} evaluation keys", f"{title} ciphertexts", f"{title} secret key"
    return Scheme(name, f"whorl.{name}", *types, **more)


class Schemes:
    """The schemes that an application knows."""

    def __init__(self, schemes: Sequence[Scheme]) -> None:
        self._schemes = schemes

    @property
    def offers(self) -> str:
        """What there is for expressions, for the help of `eval`."""
        each = (f"Of {scheme.name}: {scheme.offers}." for scheme in self._schemes)
        return "\n\n".join(("In expressions there are:", *each))

    def named(self, name: str) -> Scheme:
        """The scheme of that name; `ValueError` if there is none that makes keys."""
        makers = {scheme.name: scheme for scheme in self._schemes if scheme.keygen}
        if name not in makers:
            raise ValueError(f"--scheme: {name!r} is not one of {', '.join(makers)}")
        return makers[name]

    def of(self, header: Header, kind: str) -> Scheme:
        """The scheme whose `kind` of file it is, secret or keys; `TypeMismatchError` if none is."""
        for scheme in self._schemes:
            if getattr(scheme, kind) == header.type:
                return scheme
        wanted = {"secret": "a secret key is", "keys": "evaluation keys are"}[kind]
        raise TypeMismatchError(f"{header.path} holds {contents(header.type)}, but {wanted} needed")

    def command(self, body: Callable[..., None], *parts: str) -> Callable[..., None]:
        """`body` as a command that has the options of all schemes' `parts` in addition to its own.

        `body` gets the schemes as its first argument. An option of a scheme that was not given is
        None; `arguments` checks the others.
        """
        parameters = arguments_of(body)[1:]
        owners: dict[str, list[str]] = {}
        found: dict[str, inspect.Parameter] = {}
        for scheme in self._schemes:
            for name, option in scheme.options(*parts).items():
                owners.setdefault(name, []).append(scheme.name)
                found.setdefault(name, option)
        for name, option in found.items():
            panel = f"Options of {' and '.join(owners[name])}"
            parameters.append(option.replace(default=None, annotation=_optional(option, panel)))

        def command(**given: Any) -> None:
            body(self, **given)

        command.__doc__ = body.__doc__
        return with_arguments(command, parameters)


def arguments(scheme: Scheme, given: Mapping[str, Any], *parts: str) -> list[dict[str, Any]]:
    """The options that were given, for each part; `ValueError` for those of another scheme."""
    used = {name: value for name, value in given.items() if value is not None}
    for name in used:
        if name not in scheme.options(*parts):
            option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is not an option of the scheme {scheme.name}")
    return [{name: used[name] for name in used if name in scheme.options(part)} for part in parts]


def arguments_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The arguments of its signature that have names, with annotations as types, for
    `with_arguments`."""
    return [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(function, eval_str=True).parameters.values()
        if each.kind is not inspect.Parameter.VAR_KEYWORD
    ]


def options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those that are keyword-only."""
    kinds = {each.name: each.kind for each in inspect.signature(function).parameters.values()}
    only = inspect.Parameter.KEYWORD_ONLY
    return [each for each in arguments_of(function) if kinds[each.name] is only]


def with_arguments(
    command: Callable[..., None], arguments: list[inspect.Parameter]
) -> Callable[..., None]:
    """The command, of which Typer reads that it has these arguments."""
    command.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in arguments}
    return command


def _optional(option: inspect.Parameter, panel: str) -> Any:
    """Its annotation with None as default; `--help` shows the default that it really has."""
    kind, shown, *_ = get_args(option.annotation)
    shown = copy.copy(shown)
    shown.rich_help_panel = panel
    shown.show_default = False if option.default in (None, False) else str(option.default)
    return Annotated[kind | None, shown]
