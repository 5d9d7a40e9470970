"""The server's half: gates and look-up tables on ciphertexts. It cannot decrypt."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias, Union

from numpy.typing import ArrayLike

from .._core.array import Array
from .._core.integers import as_index, as_modulus
from .._core.literal import as_text
from .._core.part import Part
from .._core.paths import PathName
from .._core.session import Session
from .._server import binfhe as _lib
from ..errors import KeyMismatchError
from ._ciphertexts import Ciphertexts, Uploaded
from ._gates import Bits
from ._keys import EvaluationKeys, PublicKey
from ._lut import Lut
from ._messages import ALLOWED_FAILURE, as_bool, as_probability
from ._packed import PackedCiphertexts
from ._parameters import Parameters
from ._sums import Messages
from ._tables import Tables

Encrypted: TypeAlias = Union["EncryptedArray", Ciphertexts]


class Server(Tables["EncryptedArray"]):
    """Evaluates on arrays of ciphertexts with evaluation keys only.

    `help(Server.__init__)` explains the arguments that servers of every scheme have, the errors
    that they raise, and what happens if a GPU fails; `Ciphertexts`, and arrays uploaded from them,
    are not lost then, since the host has them. With a bound of `key_bytes`, keys are prepared when
    the server is made, and again when they are used after they had to leave.

    Args:
        transform: `"ntt"` (exact) or `"fft"`; default: the parameters'.
        rotation: how a GPU spreads blind rotations, for comparison: `"single"` (one ciphertext in a
            thread block), `"cluster"` (one over several blocks), `"grid"` (the same, meeting in
            device memory: the multi-blocks of Xiao et al., TCHES 2025), `"shared"` (several in a
            block); default `"auto"`: the fastest for the batch, and the only one with a `session`.
            A CPU ignores it.
        allow_failure: the largest probability with which an operation on a ciphertext may give a
            wrong result, 2^-40 by default; 1 allows all.

    Raises:
        ParameterError: a transform or rotation that is not known; the rotation `"grid"` with keys
            other than GINX's; an `allow_failure` that is not above 0 and at most 1.

    Methods take arrays on the devices, or `Ciphertexts`, which they upload. Results stay on the
    devices. Inputs broadcast as in NumPy. If the devices' memory is short, pieces of arrays that
    are not in use wait in the host's memory. Evaluation is deterministic: the same input gives the
    same bits, whatever the batch or the number of threads. There is one exception: with the FFT on
    a GPU the bits depend on `rotation`, and `"auto"` changes it with the batch; results then differ
    by rounding. Several Python threads may call methods at once; methods release the GIL, and
    Ctrl-C stops them. Give whole batches: a call spreads over all cores, or over all GPUs.

    If the FPGA accelerator runs no key of the set, a `RuntimeWarning` says that the CPU behind it
    does all the work.

    All methods raise `ParameterMismatchError` or `KeyMismatchError` for ciphertexts that were not
    made under the server's keys. They raise `EncodingError` for a p that the operation does not
    take, and `ValueError` for shapes that do not broadcast. They raise `NoiseError` for an
    operation that fails more often than `allow_failure`; it names the probability, and a set or p
    that would serve. They raise `DeviceError` for arrays of another server, and if no working
    device is left. The server can still be used after an `OutOfMemoryError`.

    Inputs of gates may be known bits: bools, integers 0 and 1, and arrays of them. If all inputs of
    a gate but one are known, it needs no bootstrap. The result is then that input, its negation, or
    a trivial encryption, and has the input's noise.

    >>> from whorl.binfhe import Client, parameters
    >>> client = Client(parameters("W128_P64"))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> a, b = server.upload(client.encrypt([0, 1])), client.encrypt([[0], [1]])
    >>> client.decrypt(a ^ b)
    array([[0, 1],
           [1, 0]])
    """

    __slots__ = ()

    _core: _lib.Server
    _parameters: Parameters
    _maker = _lib.Server
    _keys_type = EvaluationKeys
    _host_type = Ciphertexts

    def __init__(
        self,
        keys: EvaluationKeys | PathName,
        device: str | None = None,
        threads: int = 0,
        allow_insecure: bool = False,
        key_bytes: int = 0,
        session: Session | None = None,
        *,
        transform: str | None = None,
        rotation: str = "auto",
        allow_failure: float = ALLOWED_FAILURE,
    ) -> None:
        options = (
            None if transform is None else as_text("transform", transform),
            as_text("rotation", rotation),
            as_probability(allow_failure, "allow_failure"),
        )
        self._open(keys, device, threads, allow_insecure, key_bytes, session, *options)
        # With a bound keys are prepared when they are used.
        bound = key_bytes if session is None else session.key_bytes
        if bound == 0 and self._core.device_keys == 0:
            warnings.warn(
                f"no key of {self.parameters.name} is of a kind that the accelerator runs: the "
                f"device {self.device} leaves all work to the CPU behind it",
                RuntimeWarning,
                stacklevel=2,
            )

    parameters = Part[Parameters]("_parameters", "Parameters of the keys.")
    rotation = Part[str]("_core.rotation", "`auto`, `single`, `cluster`, `grid` or `shared`.")
    transform = Part[str]("_core.transform", "`ntt` or `fft`.")
    allow_failure = Part[float](
        "_core.allow_failure", "The largest failure probability that an operation may have."
    )

    def upload(self, ciphertexts: Encrypted | PackedCiphertexts) -> EncryptedArray:
        """The ciphertexts on the device, as an array whose operators know this server.

        An array of this server is returned unchanged. One of another server on one `Session` with
        the same parameters and key becomes an array of this one, and nothing is copied. What a
        public key encrypted is taken apart on the host, into one LWE ciphertext of N + 1 words for
        each message. `RangeError` for residues that are not below their modulus;
        `ParameterMismatchError` or `KeyMismatchError` for ciphertexts of other parameters or
        another key; `DeviceError` for an array of another session; `EncodingError` for compressed
        results, which are for clients.
        """
        if isinstance(ciphertexts, PackedCiphertexts):
            host = ciphertexts._core.unpack(self.threads)
            return self._wrap(self._core.upload(host), ciphertexts.shape)
        return super().upload(ciphertexts)

    def rerandomise(self, a: Encrypted | PackedCiphertexts, key: PublicKey) -> EncryptedArray:
        """The same messages, with encryptions of 0 added that `key` makes anew.

        Whoever does not have the secret key cannot tell which ciphertexts the result was computed
        from. Its owner sees errors, which are larger than those that are added: the result may tell
        the owner more about the computation than its value does. Ciphertexts are under the ring key
        (`KeyMismatchError`), and their noise is counted. Each call gives others.

        >>> from whorl.binfhe import Client, parameters
        >>> client = Client(parameters("W128_P128"))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> x = server.upload(client.encrypt([3, 1], p=16, under="ring"))
        >>> y = server.rerandomise(x, client.public_key())
        >>> client.decrypt(y), bool((x.to_host().data == y.to_host().data).any())
        (array([3, 1]), False)
        """
        x = self.upload(a)
        if not isinstance(key, PublicKey):
            raise TypeError(f"key: a PublicKey is needed, not {type(key).__name__}")
        if x.under != "ring":
            raise KeyMismatchError(
                "rerandomise: ciphertexts are under the LWE key, and a public key encrypts under "
                'the ring key: give the operation that made them under="ring"'
            )
        zeros = self.upload(key._zeros(x.shape, x.p, x.padding))
        # Without a range the sum is one of 0 … largest, whatever that is.
        return self.linear([1, 1], [x, zeros], modular=x.range is None)

    def device_counters(self) -> dict[str, dict[str, int]]:
        """What the FPGA accelerator counted in its last run of each kind.

        The devices `"rtl"` and `"rtl-model"` have the runs `"rotate"` (blind rotation and
        extraction) and `"key_switch"`; other devices give an empty dictionary. A run's counters, by
        name, are those of `rtl/README.md`, section 6:

        - in cycles: CYCLES, from the start to the last answer of the memory; WAIT_KEY, WAIT_ACC and
          WAIT_LOAD, in which a slot could not begin because a part of the bootstrapping key, an
          accumulator or the inputs were missing; KS_BUSY, in which key switching had a product;
        - SLOTS that began, and PE_SLOTS, the sum over slots of the processing elements that had a
          ciphertext in it;
        - BK_BEATS, KSK_BEATS, IO_READ_BEATS and IO_WRITE_BEATS at the memory ports, each as wide as
          its port; BK_BEATS are those of the key's first port;
        - RESULTS: ciphertexts.

        A batch too large for the memory behind the device takes several runs, of which this is the
        last. The model counts its cycles when it is asked. The call waits for a run that is under
        way.

        >>> import whorl
        >>> client = whorl.binfhe.Client(whorl.binfhe.parameters("W128_P64_RTL_M2"))
        >>> server = whorl.binfhe.Server(client.evaluation_keys(), device="rtl-model")
        >>> server.device_counters()
        {}
        >>> bits = server.nand(client.encrypt([0, 1]), client.encrypt([1, 1]))
        >>> counters = server.device_counters()
        >>> counters["rotate"]["SLOTS"], counters["key_switch"]["RESULTS"]
        (684, 2)
        """
        return self._core.device_counters()

    def _about(self) -> str:
        return f", {self.transform}"

    # ---- large precision

    def eval_floor(self, a: Encrypted, round_bits: int) -> EncryptedArray:
        """m >> `round_bits`, modulo p >> `round_bits`, for messages m (OpenFHE: EvalFloor).

        p is a power of two up to q/256, which may be more than one rotation tells apart; with a
        padding bit up to q/512. Each 4 bits (for N = 2048; log2(2N/256) in general) take two blind
        rotations. Messages are rounded down; add half of 2^`round_bits` before to round to the
        nearest. Raises `EncodingError` for another p, and unless 1 ≤ `round_bits` < log2 p. Inputs
        count with their own noise here, so that fresh ones may pass where computed ones do not.
        (Liu, Micciancio, Polyakov, ASIACRYPT 2022, §5.)

        >>> from whorl.binfhe import Client, parameters
        >>> small = {"n": 16, "q": 2**15, "N": 512, "Q": 18014398509404161, "Q_ks": 2**35}
        >>> small |= {"log_B_ks": 5, "gadget": [(16, 18, 2)], "transform": "ntt"}
        >>> client = Client(parameters(small, allow_insecure=True))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> numbers = client.encrypt([100, 37, 64], p=128)
        >>> client.decrypt(server.eval_floor(numbers, 3))
        array([12,  4,  8])
        >>> client.decrypt(server.eval_sign(numbers))
        array([1, 0, 1])
        >>> [client.decrypt(digit).tolist() for digit in server.eval_decomp(numbers)]
        [[0, 1, 0], [1, 1, 0], [2, 2, 0], [1, 0, 1]]
        """
        return self._on(a, self._core.eval_floor, as_modulus(round_bits, "round_bits"))

    def eval_sign(self, a: Encrypted, p_out: int = 4, padding_out: bool = False) -> EncryptedArray:
        """Bits: 1 for messages m ≥ p/2, which stand for m - p < 0, else 0 (OpenFHE: EvalSign).

        With padding the sign is the padding bit, which is 0 for messages below p: compare padded x
        and y by the sign of `sub(x, y, modular=True)`, which is 1 where x < y.
        p as for `eval_floor`. Takes two blind rotations for each 4 bits of p above 4, and one more:
        11 for p = 2^21. The bits have p = `p_out`. To compare numbers x and y that are less than
        p/2 apart, take the sign of x - y. `Parameters.sign_failure_log2` has the probability of a
        wrong sign.
        """
        output = as_modulus(p_out, "p_out"), as_bool("padding_out", padding_out)
        return self._on(a, self._core.eval_sign, output)

    def eval_decomp(self, a: Encrypted) -> list[EncryptedArray]:
        """The digits of messages, the lowest first (OpenFHE: EvalDecomp).

        p as for `eval_floor`. Digits have p = 2N/256, which is 16 for N = 2048; the last may have a
        smaller p. They keep the noise of the steps, and the lowest has the input's errors; tables
        and gates take them. Raises `EncodingError` if a padding bit may be set (`largest`).
        """
        x = self.upload(a)
        return [self._wrap(digit, x.shape) for digit in self._core.eval_decomp(x._core)]


class EncryptedArray(Uploaded["Server"]):
    """An immutable array of LWE ciphertexts on the devices of a `Server`.

    `Server.upload` and operations make them; nothing leaves the devices before `to_host`. Bits of
    p = 4 have the operators `&`, `|`, `^` and `~`. The other operand is such an array, or
    `Ciphertexts` (which are uploaded), or known bits as in `x & True` and `x ^ [1, 0, 1]`, which
    need no bootstrap.

    Messages have the operators `+`, `-`, `*` and `-a` without a bootstrap, as `Server.linear` has
    them. The other operand of sums and differences is such an array, `Ciphertexts`, an integer or
    an array of integers; that of a product is one integer. `W @ x` and `x @ W` are products with
    matrices of integers, in NumPy's shapes. `with_range` states which integers the
    messages stand for, so that differences can be negative.

    Shape, indexing, iteration, `reshape`, `transpose`, `concatenate` and `stack` are NumPy's, on
    the devices. `==` raises.

    >>> from whorl.binfhe import Client, Server, parameters
    >>> client = Client(parameters("W128_P64"))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> a, b = server.upload(client.encrypt([0, 1])), client.encrypt([[0], [1]])
    >>> client.decrypt((a ^ b)[1])
    array([1, 0])
    """

    __slots__ = ()

    _core: _lib.Array
    _may_be_empty = True

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")

    # ---- operations, as the server's

    def bootstrap(
        self, p_out: int | None = None, padding_out: bool | None = None, *, under: str = "lwe"
    ) -> EncryptedArray:
        """`Server.bootstrap`."""
        return self._server.bootstrap(self, p_out, padding_out, under=under)

    def apply(self, luts: Any, within: int | None = None, *, under: str = "lwe") -> EncryptedArray:
        """`Server.apply`."""
        return self._server.apply(luts, self, within, under=under)

    def apply_many(
        self, luts: Sequence[Lut], within: int | None = None, *, under: str = "lwe"
    ) -> list[EncryptedArray]:
        """`Server.apply_many`."""
        return self._server.apply_many(luts, self, within, under=under)

    def divided(self, by: int) -> EncryptedArray:
        """`Server.divided`."""
        return self._server.divided(self, by)

    def to_lwe_key(self) -> EncryptedArray:
        """`Server.to_lwe_key`."""
        return self._server.to_lwe_key(self)

    def eval_floor(self, round_bits: int) -> EncryptedArray:
        """`Server.eval_floor`."""
        return self._server.eval_floor(self, round_bits)

    def eval_sign(self, p_out: int = 4, padding_out: bool = False) -> EncryptedArray:
        """`Server.eval_sign`."""
        return self._server.eval_sign(self, p_out, padding_out)

    def eval_decomp(self) -> list[EncryptedArray]:
        """`Server.eval_decomp`."""
        return self._server.eval_decomp(self)

    def with_range(self, low: int, high: int) -> EncryptedArray:
        """`Server.with_range`."""
        return self._server.with_range(self, low, high)

    def __add__(self, other: Messages) -> EncryptedArray:
        return self._server._combined(1, self, 1, other)

    __radd__ = __add__

    def __sub__(self, other: Messages) -> EncryptedArray:
        return self._server._combined(1, self, -1, other)

    def __rsub__(self, other: Messages) -> EncryptedArray:
        return self._server._combined(-1, self, 1, other)

    def __mul__(self, factor: int) -> EncryptedArray:
        given: object = factor
        if isinstance(given, Array):
            instead = self._in_place_of("product")
            raise TypeError(f"factor: an integer is needed, not {given._kind()}: {instead}")
        return self._server.linear([as_index(factor, "factor")], [self])

    __rmul__ = __mul__

    def __matmul__(self, other: ArrayLike) -> EncryptedArray:
        given: object = other
        if isinstance(given, Array):
            instead = self._in_place_of("product")
            raise TypeError(f"weights: integers are needed, not {given._kind()}: {instead}")
        return self._server._matmul(other, self, left=False)

    def __rmatmul__(self, other: ArrayLike) -> EncryptedArray:
        return self._server._matmul(other, self, left=True)

    def __neg__(self) -> EncryptedArray:
        return self * -1

    def __pos__(self) -> EncryptedArray:
        return self

    def __and__(self, other: Bits) -> EncryptedArray:
        return self._server.and_(self, other)

    def __or__(self, other: Bits) -> EncryptedArray:
        return self._server.or_(self, other)

    def __xor__(self, other: Bits) -> EncryptedArray:
        return self._server.xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> EncryptedArray:
        return self._server.not_(self)


Server._device_type = EncryptedArray
