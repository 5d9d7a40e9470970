"""What a server does to refresh ciphertexts, and what it keeps for that."""

from __future__ import annotations

import threading
from typing import Any

from .._core.literal import as_integer
from .._core.progress import Report, reports
from .._ring.server import RingServer, needing
from .._server import ckks as _lib
from ._ciphertexts import Ciphertexts, EncryptedArray
from ._keys import EvaluationKeys
from ._parameters import as_slots


class Refreshing(RingServer[EvaluationKeys, Ciphertexts, EncryptedArray]):
    """The part of a `Server` that bootstraps."""

    __slots__ = ("_bootstraps", "_encoding", "_making")

    _core: _lib.Server

    def _open(self, *arguments: Any) -> None:
        super()._open(*arguments)
        self._bootstraps: dict[int, _lib.EncodedBootstrap] = {}
        self._encoding = threading.Lock()
        self._making = threading.RLock()

    def bootstrap(
        self, a: EncryptedArray | Ciphertexts, iterations: int = 1, slots: int = 0
    ) -> EncryptedArray:
        """The same values at the level `parameters.depth`, for a whole batch at once.

        It needs the keys of `evaluation_keys(bootstrap=[slots])`, where `slots` is the least power
        of two that is not below `a.length`. Maps for so many slots are encoded in the first call,
        and kept (`prepare_bootstrap`). Values are real or complex numbers in slots; real ones take
        about three quarters of the time of complex ones. No value may be above 1 by `a.bound`
        (`EncodingError`; `with_bound` states a bound that you know), and `a.level` must be at least
        `parameters.least_bootstrap_level` (`NoiseError`). Coefficients are refused
        (`EncodingError`), as are parameters without bootstrapping (`ParameterError`).

        With more `iterations`, 2 … 4, what the result lacks is magnified and refreshed too
        (META-BTS: Bae, Cheon, Cho, Kim, Kim, CCS 2022). Each takes the time of a bootstrap and one
        level, and adds bits, as many as the scale holds. `ParameterError` for another number.

        `slots` may be a larger power of two, up to N/2: then the vectors are refreshed as if they
        were so long, by the keys and maps for that number, and vectors of several lengths share
        them. `ShapeError` for another number.

        The result's `error` says how precise it is, and `parameters.log2_failure` how unlikely it
        is to be wrong. Slots are moved to coefficients first (Chen and Han, EUROCRYPT 2018), or
        last if the parameters say `coefficients_last`. The modulus is raised under a sparse secret
        (Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022). (Cheon, Han, Kim, Kim, Song, EUROCRYPT
        2018. OpenFHE: EvalBootstrap; Lattigo: bootstrapping.Evaluator.Bootstrap.)
        """
        x = self.upload(a)
        own = 1 << (x._core.length - 1).bit_length()
        wanted = as_slots(slots) if slots else own
        times = as_integer("iterations", iterations, 1, 4)
        with needing("a bootstrap", f"bootstrap=[{wanted}]"):
            self._core.check_bootstrap(x._core)
            core = self._core.bootstrap(x._core, self._encoded(wanted), times)
            return self._wrap(core, x.shape)

    def prepare_bootstrap(self, slots: int, progress: bool | Report | None = None) -> int:
        """Encodes what `bootstrap` needs for vectors of so many slots; its bytes on each device.

        `bootstrap` does this in its first call. It is kept until `drop_bootstrap`, or as long as
        the server; a second call gives the same number at once. Ctrl-C stops it, and then nothing
        is kept. (OpenFHE: EvalBootstrapSetup; Lattigo: bootstrapping.NewEvaluator.)

        Args:
            slots: a power of two up to N/2 (`ShapeError`).
            progress: True for a bar on terminals and in notebooks, or a callable that is called
                with the number of diagonals that are done and of all. Default: none.

        `ParameterError` for parameters without bootstrapping. What `progress` raises stops the
        work, and passes through.
        """
        return self._encoded(as_slots(slots), progress).nbytes

    @property
    def prepared_bootstraps(self) -> dict[int, int]:
        """For each number of slots whose maps are kept, their bytes on each device.

        Maps that `encode` returned are not counted: they live as long as the `EncodedMap`, whose
        `nbytes` says their size.
        """
        with self._encoding:
            return {slots: maps.nbytes for slots, maps in sorted(self._bootstraps.items())}

    def drop_bootstrap(self, slots: int | None = None) -> int:
        """Drops what is kept for `bootstrap` of so many slots, by default of all numbers of slots.

        Returns the bytes that are free on each device, at the latest when calls of other threads
        that use them have ended; 0 if nothing was kept. A later `bootstrap` encodes them again.
        Keys stay: `key_bytes` bounds their memory. `ParameterError` unless `slots` is an integer
        of at least 1.
        """
        wanted = None if slots is None else as_slots(slots)
        with self._encoding:
            which = list(self._bootstraps) if wanted is None else [wanted]
            gone = [self._bootstraps.pop(each) for each in which if each in self._bootstraps]
        return sum(maps.nbytes for maps in gone)

    def _encoded(self, slots: int, progress: bool | Report | None = None) -> _lib.EncodedBootstrap:
        # Reports may come back to this server: only what is kept is locked while they run.
        with self._making, reports(progress, "maps of a bootstrap") as report:
            with self._encoding:
                if slots in self._bootstraps:
                    return self._bootstraps[slots]
            made = self._core.encode_bootstrap(slots, report)
            with self._encoding:
                return self._bootstraps.setdefault(slots, made)
