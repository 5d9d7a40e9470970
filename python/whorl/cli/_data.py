"""keygen, encrypt, eval, decrypt: the same for all schemes."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._core.array import concatenate
from .._core.progress import bar
from .._core.text import counted
from . import _completion as completion
from . import _expressions, _frames, _passphrase, _values
from . import _files as files
from . import _outputs as outputs
from . import _records as shared
from ._output import duration, err
from ._scheme import Scheme, Schemes, Work, arguments

PIECE_SECONDS = 0.3
"""Seconds that a piece of work takes at least, so that a bar does not move too often."""


def keygen(
    schemes: Schemes,
    scheme: Annotated[
        str,
        typer.Option(
            help="binfhe: bits and small integers; bgv: vectors of integers; ckks: of numbers.",
            autocompletion=completion.one_of("binfhe", "bgv", "ckks"),
        ),
    ] = "binfhe",
    secret: files.Secret = files.SECRET,
    keys: files.Keys = files.KEYS,
    passphrase_file: files.PassphraseFile = None,
    allow_readable_by_others: files.Readable = False,
    threads: shared.Threads = 0,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
    overwrite_secret: files.OverwriteSecret = False,
    **given: Any,
) -> None:
    """Make a secret key, and the evaluation keys that a server needs."""
    chosen = schemes.named(scheme)
    [options] = arguments(chosen, given, "keygen")
    if outputs.same_file(secret, keys):
        raise ValueError(
            f"--secret {secret} and --keys {keys} are one file; "
            "the evaluation keys would replace the secret key"
        )
    with (
        outputs.Staged(
            secret, lambda: outputs.new_secret(secret, force, overwrite_secret)
        ) as new_secret,
        outputs.Staged(keys, lambda: outputs.new_file(keys, force)) as new_keys,
    ):
        assert chosen.keygen is not None  # those that `named` knows have it
        parameters, request = chosen.keygen(chosen, allow_insecure, **options)
        client = chosen.part("Client")(parameters)
        # Asked for before the long part.
        phrase = _passphrase.new(passphrase_file, allow_readable_by_others)
        evaluation = client.evaluation_keys(threads=threads, progress=True, **request)
        with bar("writing"):
            client.save(new_secret.temporary, phrase)
            evaluation.save(new_keys.temporary)
        undo = new_keys.commit()
        try:
            new_secret.commit()
        except BaseException:
            undo()
            raise
    files.tell(secret, "secret key; keep it")
    files.tell(keys, "evaluation keys for a server")


def encrypt(
    schemes: Schemes,
    messages: Annotated[
        list[str],
        typer.Argument(
            help="Numbers, or one .npy, .csv, .txt or .json file, or -.",
            autocompletion=completion.files,
        ),
    ],
    output: files.Output,
    header: files.NamedColumns = False,
    secret: files.Secret = files.SECRET,
    passphrase_file: files.PassphraseFile = None,
    allow_readable_by_others: files.Readable = False,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
    **given: Any,
) -> None:
    """Encrypt integers, or for ckks real or complex numbers."""
    outputs.not_over(output, passphrase_file=passphrase_file)
    with outputs.Staged(output, lambda: outputs.new_file(output, force)) as new:
        of_secret = _frames.read(secret)
        chosen = schemes.of(of_secret, "secret")
        [options] = arguments(chosen, given, "encrypt")
        values, names = _values.read(messages, chosen.integers, header)
        client = files.open_client(
            *(chosen.part("Client"), of_secret, passphrase_file),
            *(allow_insecure, allow_readable_by_others),
        )
        alone = messages[0] if len(messages) == 1 and _values.is_named_so(Path(messages[0])) else ""
        with bar("encrypting"), files.about(alone):
            encrypted = chosen.encrypt(chosen, client, values, **options)
            encrypted.save(new.temporary)
        new.commit()
    columns = f", columns {', '.join(names)}" if names else ""
    files.tell(output, _about(encrypted) + columns)


def evaluate(
    schemes: Schemes,
    what: Annotated[
        list[str],
        typer.Argument(
            help="An expression and the files of its names: 'x*y + 3' x=x.whorl y=y.whorl, "
            "or 'x @ m' with m=m.csv, whose values are not encrypted; "
            "after --gate or --lut files alone.",
            metavar="EXPRESSION NAME=FILE...",
            autocompletion=completion.named_files,
        ),
    ],
    output: files.Output,
    header: files.NamedColumns = False,
    keys: files.Keys = files.KEYS,
    device: shared.Device = None,
    threads: shared.Threads = 0,
    max_bytes: files.MaxBytes = None,
    max_count: files.MaxCount = None,
    max_expanded_bytes: files.Expanded = None,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
    **given: Any,
) -> None:
    """Evaluate an expression, a gate or a look-up table on ciphertexts; needs no secret."""
    outputs.not_over(output, keys=keys)
    with outputs.Staged(output, lambda: outputs.new_file(output, force)) as new:
        of_keys = _frames.read(keys)
        chosen = schemes.of(of_keys, "keys")
        of_work, of_server = arguments(chosen, given, "work", "server")
        work = chosen.work(chosen, **of_work)
        if work and header:
            raise ValueError("--header goes with an expression, not with --gate or --lut")
        job = _Job(_unnamed(what), work) if work else _expression(chosen, what, header)
        for path in job.paths:
            _frames.check(_frames.read(path), chosen.ciphertexts, of_keys)
        with files.about(keys):
            evaluation = chosen.part("EvaluationKeys").load(
                keys, allow_insecure, expect_key=of_keys.key.hex()
            )
        with bar("preparing keys"):
            server = chosen.server(chosen, evaluation, device, threads, **of_server)
        # Whatever has become of the files since their headers were read.
        limits = max_bytes, max_count, max_expanded_bytes
        expected = evaluation.parameters, of_keys.key.hex()
        arrays = [_load(chosen, path, allow_insecure, limits, *expected) for path in job.paths]
        started = time.perf_counter()
        result = _in_pieces(server, arrays, job)
        took = time.perf_counter() - started
        result.save(new.temporary)
        new.commit()
    err.print(f"{_about(result)} in {duration(took)} on {server.device}", markup=False)
    for note in sorted(job.notes):
        err.print(note, markup=False)
    files.tell(output, _about(result))


def decrypt(
    schemes: Schemes,
    ciphertexts: Annotated[
        Path, typer.Argument(help="Ciphertext file.", autocompletion=completion.files)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help=".npy, .json, .csv, else text, of mode 0600; default: printed.",
            autocompletion=completion.files,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Lists, as encrypt takes them.")] = False,
    secret: files.Secret = files.SECRET,
    passphrase_file: files.PassphraseFile = None,
    allow_readable_by_others: files.Readable = False,
    max_bytes: files.MaxBytes = None,
    max_count: files.MaxCount = None,
    max_expanded_bytes: files.Expanded = None,
    allow_insecure: files.Insecure = False,
    force: files.Force = False,
    **given: Any,
) -> None:
    """Decrypt a ciphertext file."""
    if output is not None:
        outputs.not_over(output, passphrase_file=passphrase_file)
        outputs.new_file(output, force)
    header = _frames.read(secret)
    chosen = schemes.of(header, "secret")
    [options] = arguments(chosen, given, "decrypt")
    # Before a passphrase is asked for.
    _frames.check(_frames.read(ciphertexts), chosen.ciphertexts, header)
    client = files.open_client(
        *(chosen.part("Client"), header, passphrase_file),
        *(allow_insecure, allow_readable_by_others),
    )
    with bar("decrypting"):
        limits = max_bytes, max_count, max_expanded_bytes
        expected = client.parameters, client.key_id
        array = _load(chosen, ciphertexts, allow_insecure, limits, *expected)
        values = chosen.decrypt(chosen, client, secret, array, **options)
    _values.write(values, output, as_json, force)


def _load(
    scheme: Scheme,
    path: Path,
    allow_insecure: bool,
    limits: tuple[int | None, int | None, int | None],
    parameters: Any,
    key: Any,
) -> Any:
    """Ciphertexts that have these parameters and this key."""
    max_bytes, max_count, max_expanded_bytes = limits
    with files.about(path):
        return scheme.part("Ciphertexts").load(
            path,
            allow_insecure,
            max_bytes,
            max_count=max_count,
            max_expanded_bytes=max_expanded_bytes,
            expect_parameters=parameters,
            expect_key=key,
        )


def _about(array: Any) -> str:
    shape = f" of shape {array.shape}" if array.ndim > 1 else ""
    return counted(array.size, "ciphertext") + shape


@dataclass(frozen=True)
class _Job:
    """What `eval` is to do."""

    paths: list[Path]
    """Files of ciphertexts."""
    work: Work
    in_pieces: bool = True
    """Whether the arrays may be cut."""
    notes: Collection[str] = ()
    """What the user must know about the result."""


def _unnamed(what: list[str]) -> list[Path]:
    """The files of a gate or a table."""
    for word in what:
        name, equals, path = word.partition("=")
        if equals and name.isidentifier() and not Path(word).exists():
            raise ValueError(
                f"{word!r}: files have names in expressions only, not with --gate or --lut; "
                f"write {path or 'the file alone'}"
            )
    return [Path(each) for each in what]


def _expression(scheme: Scheme, what: list[str], header: bool) -> _Job:
    """'x*y + 3' x=FILE y=FILE; whether text that is not encrypted has a header."""
    text, *given = what
    if not given:
        others = [f"--{name}" for name in ("gate", "lut") if name in scheme.options("work")]
        raise ValueError(
            f"{text!r}: an expression and NAME=FILE for each of its names are needed"
            + (f", or {' or '.join(others)} and files" if others else "")
        )
    names: dict[str, Path] = {}
    for word in given:
        name, equals, path = word.partition("=")
        if not equals or not path or not name.isidentifier():
            raise ValueError(f"{word!r}: NAME=FILE is needed")
        if name in scheme.calls:
            raise ValueError(f"{word!r}: {name} is a function; take another name")
        if name in names:
            raise ValueError(f"{name} is given twice")
        names[name] = Path(path)
    used = _expressions.names_of(text, scheme.calls, scheme.offers)
    for name in sorted(used ^ set(names)):
        raise ValueError(
            f"{name} is in '{text}', but no {name}=FILE is given"
            if name in used
            else f"{name} is given, but it is not in '{text}'"
        )

    in_clear = {name: path for name, path in names.items() if _values.is_named_so(path)}
    if header and not any(map(_values.is_text, in_clear.values())):
        raise ValueError("--header goes with a .csv or .txt file that is not encrypted")
    _expressions.check_in_clear(text, in_clear)
    _expressions.check_division(text, scheme.division)
    values = {
        name: _values.read_array(path, scheme.integers, header) for name, path in in_clear.items()
    }
    notes: set[str] = set()
    encrypted = [name for name in names if name not in in_clear]
    if not encrypted:
        raise ValueError(f"'{text}': there is nothing encrypted in it")

    def work(server: Any, arrays: list[Any]) -> Any:
        uploaded = {name: server.upload(each) for name, each in zip(encrypted, arrays, strict=True)}
        result = _expressions.evaluate(
            *(text, {**values, **uploaded}, scheme.bound(server), scheme.offers, scheme.integers)
        )
        if isinstance(result, tuple):  # a mean: total and number of values
            result, count = result
            notes.add(f"the mean is the decrypted value divided by {count}")
        if isinstance(result, (int, float, complex)) or type(result).__module__ == "numpy":
            raise ValueError(f"'{text}' is {result}: there is nothing encrypted in it")
        return result

    # What is not encrypted goes with the whole of an array, not with each piece.
    return _Job([names[name] for name in encrypted], work, not in_clear, notes)


def _in_pieces(server: Any, arrays: list[Any], job: _Job) -> Any:
    """Does the work on arrays of the host; on a terminal in pieces, so that a bar can move.

    Arrays of the result's size are cut, and a single ciphertext is combined with every piece. If an
    array has another size, it must be broadcast, and all the work is done at once.
    """

    def done(parts: list[Any]) -> Any:
        return server.download(job.work(server, parts))

    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    count = math.prod(shape)
    uniform = all(array.size in (1, count) for array in arrays)
    with bar("evaluating") as report:
        if not err.is_terminal or not job.in_pieces or not uniform or count < 2:
            return done(arrays)
        flat = [array.reshape(array.size if array.size == count else ()) for array in arrays]
        results, first, step = [], 0, 1
        while first < count:
            started = time.perf_counter()
            parts = [array[first : first + step] if array.shape else array for array in flat]
            results.append(done(parts))
            first += step
            report(min(first, count), count)
            took = time.perf_counter() - started
            step = max(1, step // 2) if took > 4 * PIECE_SECONDS else step
            step = 4 * step if took < PIECE_SECONDS else step
    return concatenate(results).reshape(shape)


def register(app: typer.Typer, schemes: Sequence[Scheme]) -> None:
    """Adds keygen, encrypt, eval and decrypt of these schemes."""
    known = Schemes(schemes)
    app.command("keygen")(known.command(keygen, "keygen"))
    app.command("encrypt", context_settings=files.DASHES)(known.command(encrypt, "encrypt"))
    app.command("eval", epilog=known.offers)(known.command(evaluate, "work", "server"))
    app.command("decrypt")(known.command(decrypt, "decrypt"))
