"""The command line: its parts, and errors as one line."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from .. import __version__
from ..errors import Error
from . import _bench, _bench_bgv, _data, _demo, _info, _params
from ._bgv import BGV
from ._output import err
from ._scheme import register

app = typer.Typer(
    name="whorl",
    help="Compute on encrypted data: Boolean gates, look-up tables, exact vectors.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.command("keygen")(_data.keygen)
app.command("encrypt")(_data.encrypt)
app.command("eval")(_data.evaluate)
app.command("decrypt")(_data.decrypt)
register(app, BGV)
app.add_typer(_params.app, name="params")
app.command("info")(_info.info)
_bench.app.command("bgv")(_bench_bgv.bgv)
app.add_typer(_bench.app, name="bench")
app.command("demo")(_demo.demo)


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


def _fail(message: str, code: int) -> NoReturn:
    err.print(f"whorl: {message}", markup=False, style="red")
    sys.exit(code)


def main() -> NoReturn:
    """Runs the command. Exit codes: 1 failure, 2 wrong usage, 130 Ctrl-C."""
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Error as error:
        _fail(f"{type(error).__name__}: {error}", 1)
    except OSError as error:
        _fail(f"{error.filename or 'system'}: {error.strerror or error}", 1)
    except (ValueError, TypeError) as error:
        _fail(str(error), 2)
    except Exception as error:
        # Typer's own: Click's, or its copy of Click's, by version; known by what they can do.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ != "NoArgsIsHelpError":
            _fail(error.format_message(), 2)
        typer.echo(error.format_message())
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
