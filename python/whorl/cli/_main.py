"""The command line: its parts, and errors as one line."""

from __future__ import annotations

import io
import os
import resource
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn

import typer

from .. import __version__
from ..errors import Error
from . import (
    _bench,
    _bench_bgv,
    _bench_ckks,
    _bench_lanes,
    _demo,
    _doctor,
    _info,
    _interrupt,
    _params,
    _rtl,
)
from ._bgv import BGV
from ._binfhe import BINFHE
from ._ckks import CKKS
from ._data import register
from ._messages import in_options
from ._output import err, warn

app = typer.Typer(
    name="whorl",
    help="Compute on encrypted data: Boolean gates, look-up tables, exact and approximate vectors.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

register(app, [BINFHE, BGV, CKKS])
app.add_typer(_params.app, name="params")
app.command("doctor")(_doctor.doctor)
app.command("info")(_info.info)
_bench.app.command("bgv")(_bench_bgv.bgv)
_bench.app.command("ckks")(_bench_ckks.ckks)
_bench.app.command("lanes")(_bench_lanes.lanes)
app.add_typer(_bench.app, name="bench")
app.command("demo", context_settings=_demo.SETTINGS)(_demo.demo)
app.add_typer(_rtl.app, name="rtl")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whorl {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def _fail(message: str, code: int) -> int:
    err.print(f"whorl: {' '.join(message.split())}", markup=False, style="red")
    return code


def _discard_output() -> None:
    """Otherwise Python would try at exit to write the output that is left, and complain."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def run() -> NoReturn:
    """What `whorl.cli.main` does after the imports."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # names of files need not be UTF-8
    warnings.showwarning = lambda message, *_, **__: warn(str(message))
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    # A core dump would have a passphrase in it, or what was decrypted.
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        _interrupt.unwind()
        code = _status()
        _interrupt.ignore()
    except (_interrupt.Interrupted, KeyboardInterrupt, typer.Abort):
        _interrupt.ignore()
        err.print(_interrupt.MESSAGE, markup=False, style="red")
        code = _interrupt.STATUS
    sys.exit(code)


def _status() -> int:
    """Runs the command, tells of a failure, and gives the exit status."""
    code: Any = 0
    try:
        code = app(prog_name="whorl", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output has seen enough of it
        _discard_output()
    except SystemExit as error:  # what Typer and rich make of the same
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        _discard_output()
    except Error as error:
        return _fail(f"{type(error).__name__}: {in_options(str(error))}", 1)
    except OSError as error:
        if error.filename is None:
            _discard_output()  # it may be what has failed
        return _fail(f"{error.filename or 'system'}: {error.strerror or error}", 1)
    except (ValueError, TypeError) as error:
        return _fail(str(error), 2)
    except typer.Abort:
        raise
    except Exception as error:
        # Typer's own: Click's, or its copy of Click's, by version; known by what they can do.
        if not hasattr(error, "format_message"):
            if os.environ.get("WHORL_TRACEBACK"):
                raise
            return _fail(f"{type(error).__name__}: {error} (WHORL_TRACEBACK=1 shows where)", 1)
        if type(error).__name__ != "NoArgsIsHelpError":
            return _fail(error.format_message(), 2)
        typer.echo(error.format_message())
        return 2
    return code if isinstance(code, int) else 0
