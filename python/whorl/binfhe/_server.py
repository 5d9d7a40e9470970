"""The server's half: gates and look-up tables on ciphertexts. It cannot decrypt."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import EncodingError, ParameterMismatchError
from ._ciphertexts import Ciphertexts, Shape, check_alike
from ._keys import EvaluationKeys
from ._lut import Lut
from ._messages import as_messages
from ._parameters import Parameters

GATES = dict(_core.gates())
"""Name -> number of inputs of the gates that take one bootstrap."""

Tables = Lut | Sequence[Any] | np.ndarray[Any, np.dtype[np.object_]]


class Server:
    """Evaluates on arrays of ciphertexts with evaluation keys only.

    Args:
        keys: evaluation keys, or the path of a file of them, which is mapped.
        device: `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, several GPUs as `"cuda:0,1"` or
            `"cuda:all"`, or `""` for the best found: a GPU that can be used, else the CPU.
            Default: the environment's WHORL_DEVICE, else `""`. `whorl.devices()` lists what there
            is; the property `device` tells which is used.
        threads: of the CPU; default 0: all cores.
        transform: `"ntt"` (exact) or `"fft"`; default: the parameters'.
        allow_insecure: with a path, accept parameter sets under 128 bits.
        rotation: how a GPU spreads blind rotations, for comparison: `"single"` (one ciphertext in a
            thread block), `"cluster"` (one over several blocks), `"shared"` (several in a block);
            default `"auto"`: the fastest for the batch. A CPU ignores it.

    Raises:
        DeviceError: a device that is not there, or a name that is none; there is no silent
            fallback.
        OutOfMemoryError: the keys do not fit into a device's memory.
        ParameterError: a transform or rotation that is not known.
        TypeMismatchError: a file that does not hold evaluation keys, as a secret one; with a path
            also
            the other errors of `EvaluationKeys.load`.

    Inputs broadcast as NumPy's do; results have the broadcast shape and are bound to the server.
    Evaluation is deterministic: the same input gives the same bits, whatever the batch or the
    number of threads; with the FFT on a GPU, for one `rotation` (`"auto"` changes it with the
    batch, and results then differ by rounding). Methods may be called from several Python threads
    at once; they release the GIL, and Ctrl-C stops them. Give whole batches: a call spreads over
    all cores, or over all GPUs by their speed; one larger than a GPU's memory goes through it in
    pieces. One GPU of several that fails is left out from then on and its share done by the
    others: a `RuntimeWarning` names
    it.

    All methods raise `ParameterMismatchError` or `KeyMismatchError` for ciphertexts that were not
    made under the server's keys, `EncodingError` for a p that the operation does not take,
    `ValueError` for shapes that do not broadcast, `DeviceError` if no device is left that works,
    and `OutOfMemoryError` if not even one ciphertext fits into its memory, after which the server
    can still be used.

    >>> from whorl.binfhe import Client, parameters
    >>> client = Client(parameters("W128_P64"))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> a, b = server.bind(client.encrypt([0, 1])), client.encrypt([[0], [1]])
    >>> client.decrypt(a ^ b)
    array([[0, 1],
           [1, 0]])
    """

    def __init__(
        self,
        keys: EvaluationKeys | str | os.PathLike[str],
        device: str | None = None,
        threads: int = 0,
        transform: str | None = None,
        allow_insecure: bool = False,
        rotation: str = "auto",
    ) -> None:
        if not isinstance(keys, EvaluationKeys):
            keys = EvaluationKeys.load(keys, allow_insecure)
        if device is None:
            device = os.environ.get("WHORL_DEVICE", "")
        if threads < 0:
            raise ValueError(f"threads: {threads} is below 0")
        self._core = _core.Server.create(keys._core, device, threads, transform, rotation)
        self._warned_of = 0
        self._parameters = Parameters(self._core.parameters)

    @property
    def parameters(self) -> Parameters:
        """Parameters of the keys."""
        return self._parameters

    @property
    def key_id(self) -> str:
        """Label of the keys, 32 hexadecimal digits."""
        return self._core.key_id.hex()

    @property
    def device(self) -> str:
        """The hardware used: `cpu (AVX3, 8 threads)`, `cuda:0 (NVIDIA H200)`; several in a row."""
        return self._core.device

    @property
    def devices(self) -> tuple[str, ...]:
        """Each device used, named as in `device`."""
        return tuple(self._core.devices)

    @property
    def failed_devices(self) -> tuple[tuple[str, str], ...]:
        """Those of several `devices` that failed and are not used any more, and why."""
        return tuple(self._core.failed_devices)

    @property
    def rotation(self) -> str:
        """`auto`, `single`, `cluster` or `shared`, as asked for."""
        return self._core.rotation

    @property
    def transform(self) -> str:
        """`ntt` or `fft`."""
        return self._core.transform

    @property
    def threads(self) -> int:
        """Threads used."""
        return self._core.threads

    @property
    def key_bytes(self) -> int:
        """Memory of the keys in the form that the device uses, in bytes."""
        return self._core.key_bytes

    def __repr__(self) -> str:
        return (
            f"<Server on {self.device}, {self.transform}, {self.parameters.name or 'unnamed'}, "
            f"key {self.key_id[:8]}…>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a server holds a device and cannot be pickled; pickle its EvaluationKeys")

    def bind(self, ciphertexts: Ciphertexts) -> Ciphertexts:
        """The same ciphertexts, whose operators `&`, `|`, `^`, `~` run on this server."""
        check_alike([ciphertexts])
        return ciphertexts._with(ciphertexts._data.view(), same=True, server=self)

    def _warn(self) -> None:
        """Warns of each device that has failed, once."""
        failed = self.failed_devices
        new, self._warned_of = failed[self._warned_of :], len(failed)
        for name, message in new:
            warnings.warn(
                f"{name} has failed and is not used any more: {message}",
                RuntimeWarning,
                stacklevel=4,
            )

    def _wrap(self, batch: _core.Batch, shape: Shape) -> Ciphertexts:
        self._warn()
        return Ciphertexts._from_batch(batch, shape, self._parameters, self)

    # ---- gates

    def gate(
        self,
        name: str,
        *inputs: Ciphertexts,
        p_out: int | None = None,
        padding_out: bool | None = None,
    ) -> Ciphertexts:
        """A gate by name, in one bootstrap (OpenFHE: EvalBinGate).

        `name`: and, or, nand, nor, xor, xnor (two inputs), majority, and3, or3 (three), and4, or4
        (four), in any case. Inputs are bits with p = 4 for two inputs and for majority, 6 for and3
        and or3, 8 for and4 and or4; a larger even p is taken by all but xor and xnor. The bits that
        come out have p = `p_out`, by default the inputs' p. Raises `ValueError` for another name
        and `TypeError` for another number of inputs.

        `parameters.failure_log2` bounds the failure of gates of two inputs. The others fail more
        often: with W128_P64 majority with 2^-57, and3 and or3 2^-27, and4 and or4 2^-12, and a
        gate on two outputs of `mux` 2^-56. `openfhe_1_5/STD128_3` and `STD128_4` are made for
        three and four inputs; `Parameters.gate_failure_log2` tells of any set.
        """
        key = name.lower().rstrip("_")
        if key not in GATES:
            raise ValueError(f"gate: {name!r} is none of {', '.join(GATES)}")
        if len(inputs) != GATES[key]:
            raise TypeError(f"{key}: {len(inputs)} inputs, expected {GATES[key]}")
        batches, shape = _broadcast(inputs)
        output = _output(inputs[0], p_out, padding_out)
        return self._wrap(self._core.gate(key, batches, output), shape)

    def and_(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """a ∧ b (OpenFHE: EvalBinGate(AND, a, b))."""
        return self.gate("and", a, b)

    def or_(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """a ∨ b (OpenFHE: EvalBinGate(OR, a, b))."""
        return self.gate("or", a, b)

    def nand(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """¬(a ∧ b) (OpenFHE: EvalBinGate(NAND, a, b))."""
        return self.gate("nand", a, b)

    def nor(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """¬(a ∨ b) (OpenFHE: EvalBinGate(NOR, a, b))."""
        return self.gate("nor", a, b)

    def xor(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """a ⊕ b; p = 4 only (OpenFHE: EvalBinGate(XOR, a, b))."""
        return self.gate("xor", a, b)

    def xnor(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """¬(a ⊕ b); p = 4 only (OpenFHE: EvalBinGate(XNOR, a, b))."""
        return self.gate("xnor", a, b)

    def majority(self, a: Ciphertexts, b: Ciphertexts, c: Ciphertexts) -> Ciphertexts:
        """1 where at least two are 1 (OpenFHE: EvalBinGate(MAJORITY, {a, b, c}))."""
        return self.gate("majority", a, b, c)

    def and3(self, a: Ciphertexts, b: Ciphertexts, c: Ciphertexts) -> Ciphertexts:
        """a ∧ b ∧ c; p = 6 or larger even (OpenFHE: EvalBinGate(AND3, {a, b, c}))."""
        return self.gate("and3", a, b, c)

    def or3(self, a: Ciphertexts, b: Ciphertexts, c: Ciphertexts) -> Ciphertexts:
        """a ∨ b ∨ c; p = 6 or larger even (OpenFHE: EvalBinGate(OR3, {a, b, c}))."""
        return self.gate("or3", a, b, c)

    def and4(self, a: Ciphertexts, b: Ciphertexts, c: Ciphertexts, d: Ciphertexts) -> Ciphertexts:
        """a ∧ b ∧ c ∧ d; p = 8 or larger even (OpenFHE: EvalBinGate(AND4, {a, b, c, d}))."""
        return self.gate("and4", a, b, c, d)

    def or4(self, a: Ciphertexts, b: Ciphertexts, c: Ciphertexts, d: Ciphertexts) -> Ciphertexts:
        """a ∨ b ∨ c ∨ d; p = 8 or larger even (OpenFHE: EvalBinGate(OR4, {a, b, c, d}))."""
        return self.gate("or4", a, b, c, d)

    def not_(self, a: Ciphertexts) -> Ciphertexts:
        """¬a; free: no bootstrap, no added noise (OpenFHE: EvalNOT)."""
        check_alike([a])
        return self._wrap(self._core.not_(a._as_batch()), a.shape)

    def mux(self, select: Ciphertexts, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """select ? a : b, in two blind rotations and one key switch; p = 4 or larger even.

        What comes out has the noise of two rotations: a gate on two such fails more often (with
        W128_P64 2^-56), unless `bootstrap` comes first.
        (OpenFHE: EvalBinGate(CMUX, {a, b, select}).)
        """
        batches, shape = _broadcast((select, a, b))
        return self._wrap(self._core.mux(*batches), shape)

    cmux = mux

    def bootstrap(
        self, a: Ciphertexts, p_out: int | None = None, padding_out: bool | None = None
    ) -> Ciphertexts:
        """Refreshes bits, whose encoding it may change (OpenFHE: Bootstrap)."""
        check_alike([a])
        output = _output(a, p_out, padding_out)
        return self._wrap(self._core.bootstrap(a._as_batch(), output), a.shape)

    # ---- tables

    def apply(self, luts: Tables, ciphertexts: Ciphertexts) -> Ciphertexts:
        """Looks up each ciphertext in a table, one for all or one each (OpenFHE: EvalFunc).

        `luts`: a `Lut`, or nested lists or an object array of them, broadcast against the
        ciphertexts. All have the ciphertexts' p and padding, and the same p_out and padding_out:
        `EncodingError` otherwise. Equal tables are stored once. One blind rotation each for
        negacyclic and padded tables, two for arbitrary ones.

        >>> from whorl.binfhe import Client, Lut, parameters
        >>> params = parameters("W128_P64")
        >>> client = Client(params)
        >>> server = Server(client.evaluation_keys())
        >>> invert, keep = Lut(params, [1, 0, 0, 0], p=4), Lut(params, [0, 1, 0, 0], p=4)
        >>> client.decrypt(server.apply([invert, keep, invert], client.encrypt([1, 1, 0])))
        array([0, 1, 1])
        """
        check_alike([ciphertexts])
        tables = np.empty((), dtype=np.object_)
        if isinstance(luts, Lut):
            tables[()] = luts
        else:
            tables = np.array(luts, dtype=np.object_)
        shape = np.broadcast_shapes(tables.shape, ciphertexts.shape)
        ciphertexts = ciphertexts.broadcast_to(shape)
        # Each different table once, in the order of appearance.
        numbers: dict[Lut, int] = {}
        indices = np.empty(tables.size, dtype=np.uint32)
        lut: Any
        for position, lut in enumerate(tables.ravel().tolist()):
            if not isinstance(lut, Lut):
                raise TypeError(f"luts: tables are needed, not {type(lut).__name__}")
            indices[position] = numbers.setdefault(lut, len(numbers))
        distinct = list(numbers)
        if not distinct:
            raise ValueError("luts: at least one table is needed")
        _check_tables(distinct, ciphertexts)
        if len(distinct) == 1:
            nothing = np.empty(0, dtype=np.uint32)
            batch = self._core.apply([distinct[0]._core], nothing, ciphertexts._as_batch())
            return self._wrap(batch, shape)
        index = np.broadcast_to(indices.reshape(tables.shape), shape).reshape(-1)
        return self._apply_kinds(distinct, index, ciphertexts)

    def _apply_kinds(
        self,
        luts: list[Lut],
        index: np.ndarray[Any, np.dtype[np.uint32]],
        ciphertexts: Ciphertexts,
    ) -> Ciphertexts:
        """One call a kind of table: the kinds differ in the number of blind rotations."""
        kinds = np.array([lut.kind for lut in luts])
        flat = ciphertexts.ravel()
        result: Ciphertexts | None = None
        data = np.empty(flat.data.shape, dtype=np.uint32)
        for kind in np.unique(kinds):
            chosen = np.flatnonzero(kinds == kind)
            numbers = np.zeros(len(luts), dtype=np.uint32)
            numbers[chosen] = np.arange(len(chosen), dtype=np.uint32)
            where = np.flatnonzero(np.isin(index, chosen))
            part = flat if len(where) == flat.size else flat[where]
            batch = self._core.apply(
                [luts[i]._core for i in chosen], numbers[index[where]], part._as_batch()
            )
            result = self._wrap(batch, part.shape)
            if part is flat:
                return result.reshape(ciphertexts.shape)
            data[where] = result.data
        assert result is not None
        return result._with(data).reshape(ciphertexts.shape)

    # ---- sums

    def linear(
        self, weights: ArrayLike, ciphertexts: Sequence[Ciphertexts], constant: int = 0
    ) -> Ciphertexts:
        """constant + Σ weights[k]·ciphertexts[k] modulo p, without bootstrap.

        Noise variances add up, times the squares of the weights. Raises `ValueError` unless there
        are as many weights as arrays, at least one.
        """
        numbers = np.asarray(weights)
        if numbers.size and numbers.dtype.kind not in "iu":
            raise TypeError(f"weights: integers are needed, not {numbers.dtype}")
        limits = np.iinfo(np.int32)
        for number in (*numbers.flat, constant):
            if not limits.min <= int(number) <= limits.max:
                raise EncodingError(f"weights, constant: {number} is outside -2^31 … 2^31 - 1")
        arrays = tuple(ciphertexts)
        if numbers.ndim != 1 or len(numbers) != len(arrays) or not arrays:
            raise ValueError(f"weights: shape {numbers.shape} for {len(arrays)} arrays")
        batches, shape = _broadcast(arrays)
        return self._wrap(self._core.linear(numbers.astype(np.int32), batches, constant), shape)

    def add(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """a + b modulo p, without bootstrap."""
        return self.linear([1, 1], [a, b])

    def sub(self, a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
        """a - b modulo p, without bootstrap."""
        return self.linear([1, -1], [a, b])

    def trivial(self, messages: ArrayLike, p: int = 4, padding: bool = False) -> Ciphertexts:
        """Ciphertexts of known messages 0 … p-1, of the same shape, without noise or mask.

        Anyone can read them: they are for constants.
        """
        values = as_messages(messages, "messages")
        return self._wrap(self._core.trivial(values.reshape(-1), p, padding), values.shape)


def _broadcast(inputs: Sequence[Ciphertexts]) -> tuple[list[_core.Batch], Shape]:
    check_alike(inputs)
    shape = np.broadcast_shapes(*(each.shape for each in inputs))
    return [each.broadcast_to(shape)._as_batch() for each in inputs], shape


def _output(a: Ciphertexts, p: int | None, padding: bool | None) -> tuple[int, bool] | None:
    if p is None and padding is None:
        return None
    return (a.p if p is None else p, a.padding if padding is None else padding)


def _check_tables(luts: Sequence[Lut], ciphertexts: Ciphertexts) -> None:
    """Raises unless all tables take these ciphertexts and give the same encoding."""
    first = luts[0]
    for lut in luts:
        if lut.parameters != ciphertexts.parameters:
            raise ParameterMismatchError(
                f"luts: a table for parameters {lut.parameters.digest} on ciphertexts under "
                f"{ciphertexts.parameters.digest}"
            )
        if (lut.p, lut.padding) != (ciphertexts.p, ciphertexts.padding):
            raise EncodingError(
                f"luts: a table for p, padding = {lut.p}, {lut.padding} on ciphertexts with "
                f"{ciphertexts.p}, {ciphertexts.padding}"
            )
        if (lut.p_out, lut.padding_out) != (first.p_out, first.padding_out):
            raise EncodingError(
                f"luts: p_out, padding_out = {lut.p_out}, {lut.padding_out} beside "
                f"{first.p_out}, {first.padding_out}"
            )
