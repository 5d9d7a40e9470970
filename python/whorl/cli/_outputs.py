"""Files that commands write: never half of a file, and never in place of one to be kept."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .. import _server
from ..errors import Error, FormatError, IoError, TruncatedError

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Error numbers of file systems that have no hard links."""


def new_file(path: Path, force: bool) -> None:
    """Raises `ValueError` if the file exists, unless `force`, and always if it holds a secret key.

    `FileNotFoundError` if the folder is missing. A device or a pipe may exist: it is not replaced.
    """
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if _may_not_be_lost(path):
        raise ValueError(
            f"{path} holds a secret key, which --force does not replace; "
            "only keygen --overwrite-secret does"
        )
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a file is needed")
    # A link that leads nowhere exists too: somebody else may have chosen where it leads.
    if os.path.lexists(path) and not is_special(path) and not force:
        raise ValueError(f"{path} exists; --force replaces it")


def new_secret(path: Path, force: bool, overwrite_secret: bool) -> None:
    """Raises `ValueError` if the file exists, unless the flag for what it holds is given."""
    if not _may_not_be_lost(path):
        new_file(path, force)
    elif not overwrite_secret:
        raise ValueError(
            f"{path} holds a secret key, which --force does not replace; --overwrite-secret does, "
            "and what was encrypted under it is then lost"
        )


def is_special(path: Path) -> bool:
    """Whether the path is a device or a pipe, which is written directly."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_secret_key(path: Path) -> bool:
    """Whether a secret key is in that file. `Error` if it is Whorl's and cannot be understood."""
    if not path.is_file():
        return False
    try:
        return str(_server.frame_info(os.fspath(path))["type"]).endswith("secret key")
    except FormatError as error:
        if type(error) in (FormatError, TruncatedError):  # not Whorl's, or less than a header
            return False
        raise


def _may_not_be_lost(path: Path) -> bool:
    """`is_secret_key`, with a `ValueError` for a file that could be one."""
    try:
        return is_secret_key(path)
    except Error as error:
        raise ValueError(
            f"{path} is not replaced, since it could hold a secret key ({error}); "
            "name another file, or remove this one"
        ) from None


def same_file(one: Path, other: Path) -> bool:
    """Whether both names lead to one file, which need not exist yet."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def not_over(output: Path, **inputs: Path | None) -> None:
    """`ValueError` if the output is one file with an input; their names are those of options."""
    for name, path in inputs.items():
        if path is not None and same_file(output, path):
            option = name.replace("_", "-")
            raise ValueError(
                f"--output {output} and --{option} {path} are one file, which would be replaced"
            )


class Staged:
    """A file that is being made. `commit` puts it in its place; without it nothing is left.

    `check` raises if the place may not be taken. It is called at once, before any work, and again
    when the file takes its place, while no other command of Whorl changes the folder.

    The file lies in a locked folder of its own, beside its place. A folder that is not locked
    belongs to a command that was killed: the next command for the same place removes it.
    """

    def __init__(self, path: Path, check: Callable[[], None]) -> None:
        check()
        if is_special(path):
            raise ValueError(f"{path} is no regular file")
        self._path, self._check = path, check
        self._target = Path(os.path.realpath(path))
        around = self._target.parent
        prefix = f".whorl-{hashlib.sha256(os.fsencode(self._target.name)).hexdigest()[:16]}-"
        with _about(path), alone_in(around):
            for leftover in around.glob(f"{prefix}*/"):
                _remove_unless_locked(leftover)
            self._folder = Path(tempfile.mkdtemp(prefix=prefix, dir=around))  # mode 0700
            self._lock = _locked(self._folder)
        self.temporary = self._folder / self._target.name
        """Where to write."""

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)
        if isinstance(error, IoError):  # as _about does it
            message = str(error).replace(str(self.temporary), str(self._path))
            raise IoError(message) from None

    def commit(self) -> Callable[[], None]:
        """Gives the file its name. What it returns takes it away again, if nothing was replaced."""
        target = self._target
        with _about(self._path), alone_in(target.parent) as folder:
            self._check()
            new = not os.path.lexists(target)
            if not new or not self._link():
                os.replace(self.temporary, target)
            with suppress(OSError):  # some file systems cannot sync a folder
                os.fsync(folder)
        return target.unlink if new else lambda: None

    def _link(self) -> bool:
        """Gives the file its name by a hard link, which fails if that name exists already. False if
        the file system has no links."""
        try:
            os.link(self.temporary, self._target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return False
        return True


def _locked(folder: Path, wait: bool = True) -> int:
    """A descriptor of the folder, which is locked until it is closed. `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if not wait or error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            os.close(descriptor)
            raise
        # Where there are no locks nothing is removed by others either.
    return descriptor


@contextmanager
def alone_in(folder: Path) -> Iterator[int]:
    """Waits for other commands that are about to change the folder."""
    descriptor = _locked(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_unless_locked(folder: Path) -> None:
    with suppress(OSError):
        descriptor = _locked(folder, wait=False)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                shutil.rmtree(folder)
        finally:
            os.close(descriptor)


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Errors name the file that the user has named, not the one beside it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def private_file(path: Path, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, of mode 0600 from its first moment; it gets its name when it is complete.

    A device or a pipe is written as it is.
    """
    if is_special(path):
        with _about(path), path.open("wb") as stream:
            yield stream
        return
    with Staged(path, lambda: new_file(path, force)) as staged:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with _about(path), open(os.open(staged.temporary, flags, 0o600), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        staged.commit()
