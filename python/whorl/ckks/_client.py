"""The client's half: it alone makes, holds and uses secret keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numpy.typing import ArrayLike

from .._client import ckks as _lib
from .._core.keyholder import KeyHolder
from .._core.literal import as_integer, as_real, tuple_of
from .._core.numbers import Numbers
from .._core.part import Part
from .._core.progress import Report
from ..errors import ParameterError, ParameterMismatchError
from ._ciphertexts import Ciphertexts
from ._expectation import Expectation, Released, checked
from ._keys import EvaluationKeys, PublicKey
from ._parameters import Parameters, as_request
from ._plan import Plan
from ._server import EncryptedArray
from ._values import Bound, Packing, decrypted, encrypted


class Client(KeyHolder):
    """Holds a secret key, in locked memory that is wiped; encrypts and decrypts.

    `Client(parameters)` generates a key (OpenFHE: KeyGen); `load` reads one. A client cannot be
    pickled or copied; `save` writes it under a passphrase.

    >>> from whorl.ckks import parameters
    >>> client = Client(parameters(depth=1))
    >>> client.decrypt(client.encrypt([0.5, -0.25]), raw=True).round(6)
    array([ 0.5 , -0.25])
    """

    __slots__ = ()

    _core: _lib.Client
    _maker = _lib.Client
    _parameters_type, _keys_type, _host_type = Parameters, EvaluationKeys, Ciphertexts

    parameters = Part[Parameters]("_parameters", "Parameters of the key.")

    def encrypt(
        self, values: ArrayLike, bound: Bound = 1.0, packing: Packing | None = None
    ) -> Ciphertexts:
        """Encrypts vectors of numbers.

        Args:
            values: real or complex numbers. Shape (..., k) gives an array of shape (...) of vectors
                of k values. In slots the values are repeated until the slots are full, with copies
                of the first ones behind them up to the next power of two. A vector of more than N/2
                values takes several ciphertexts, which stay together.
            bound: no value has a larger absolute value. A pair is a lower and an upper bound of
                real values in slots, as polynomials on an interval want them. It is public: errors
                and overflows are reckoned from it. A bound that is too large wastes room, so give
                the largest value that may come.
            packing: `"complex"` (default for complex arrays) and `"real"` (default for others) put
                the values in slots, and operations act on each value. `"coefficients"` makes a
                polynomial of up to N real values; a product is that of polynomials modulo X^N + 1.

        `ShapeError` for polynomials of more than N coefficients; `EncodingError` for values that
        are not finite or are outside the bound, for a bound that does not fit the parameters, for a
        pair where values are not real ones in slots, and for complex values in a packing of real
        ones;
        `TypeError` for what is no number. (OpenFHE: MakeCKKSPackedPlaintext, then Encrypt; Lattigo:
        Encoder.Encode, Encryptor.Encrypt.)
        """
        core = self._core
        batch, shape = encrypted(core.encrypt, core.encrypt_real, values, bound, packing)
        return Ciphertexts._wrap(batch, shape, self._parameters)

    def decrypt(
        self,
        ciphertexts: Ciphertexts | EncryptedArray,
        *,
        raw: bool = False,
        allow_spent: bool = False,
    ) -> Numbers:
        """The numbers with their errors, which are for this client alone; only with `raw=True`.

        Errors depend on the secret key. Whoever sees these numbers and the ciphertexts can compute
        the key (Li and Micciancio, EUROCRYPT 2021). So give numbers to others, the server included,
        by `release` only. Without `raw=True` it raises `ValueError`, which says this.

        Returns float64, or complex128 for complex packing, of shape `ciphertexts.shape` +
        (`ciphertexts.length`,). `KeyMismatchError` or `ParameterMismatchError` for ciphertexts of
        another key or parameters. `NoiseError` if the error is as large as the numbers;
        `allow_spent=True` decrypts nevertheless. (OpenFHE: Decrypt; Lattigo: Decryptor.Decrypt,
        Encoder.Decode.)
        """
        if not raw:
            raise ValueError(
                "raw: decrypted numbers carry errors, from which others who see them and the "
                "ciphertexts can compute the secret key. Use release(ciphertexts) for numbers that "
                "others may see, and decrypt(ciphertexts, raw=True) for numbers that stay here"
            )
        host = self._on_host(ciphertexts)
        values = self._core.decrypt_raw(host._core, bool(allow_spent))
        return decrypted(values, host.packing, host.shape)

    def release(
        self,
        ciphertexts: Ciphertexts | EncryptedArray,
        queries: float = 1,
        bits: float = 30,
        *,
        expect: Plan | Expectation | None = None,
    ) -> Numbers:
        """The numbers with noise that hides their errors, so that others may see them.

        Args:
            ciphertexts: as for `decrypt`; the result has the same form.
            queries: how many results of this key will be released in all, 1 … 2^40. A result is one
                ciphertext, so that a batch of shape (3, 4) has twelve. A vector of more than N/2
                values counts as the ciphertexts that it takes.
            bits: statistical security, 30 … 128. All results together have a Kullback-Leibler
                divergence of at most 2^-bits/24 from numbers without the key's errors, and so a
                total variation distance of at most √(2^-bits/48) from them: 2^-17.8 for 30 bits.
            expect: the plan of the function whose result this is (`ckks.plan`), or one of its
                `results` if there are several. What the ciphertexts state must be what the plan
                says: packing, parts, level, scale and length, and no larger bound or error. The
                number of ciphertexts and their shape are not compared. The noise is then scaled by
                the plan's error. Plans reckon with inputs under the public key. If this client
                encrypts them, plan with `Values(..., secret_key=True)` for up to 8 bits less noise.

        The noise is a Gaussian of √(12·queries·N)·2^(bits/2) times the error (after Li, Micciancio,
        Schultz, Sorrell, CRYPTO 2022). With the defaults it takes 23.3 bits of precision for
        N = 2^13 and 24.8 for N = 2^16 (docs/ckks-noise.md).

        Without `expect`, the error and the scale are those that the ciphertexts state, but the
        error counts as at least half of what rounding alone leaves. A server that states others
        than are true gets numbers without enough noise. So does a server that makes up residues,
        also with `expect`: what they encrypt cannot be seen from outside. Release what comes from
        servers that keep to the protocol, by a channel that nobody else can change.

        The client counts. Each result spends 1/queries of what may be released of the key, and
        `released` says how much is spent. What goes beyond it is refused, with nothing released. So
        state the same `queries` from the first result on. Threads may release at once. The count
        lives in this object. It is not in the file of the key: another client that is loaded from
        it begins at 0, unless you save `released` and give it to `add_released`. In a forked child
        this object releases nothing, since its parent counts.

        `ParameterError` for arguments out of range, for ciphertexts that do not state what is
        expected, for results beyond the number that was promised, and in a forked child;
        `ParameterMismatchError` for a plan with other parameters; `NoiseError` if the numbers drown
        in the noise.
        (OpenFHE: Decrypt after SetDecryptionNoiseMode(FIXED_NOISE_DECRYPT) with EXEC_EVALUATION;
        Lattigo: Encoder.DecodePublic, which rounds instead.)
        """
        host = self._on_host(ciphertexts)
        values = self._core.release(
            host._core, as_real("queries", queries), as_real("bits", bits), self._expected(expect)
        )
        return decrypted(values, host.packing, host.shape)

    def _expected(self, expect: Plan | Expectation | None) -> Expectation | None:
        if expect is None:
            return None
        if isinstance(expect, Plan):
            if expect.parameters() != self.parameters:
                raise ParameterMismatchError(
                    "expect: the plan has other parameters than this client; make the client with "
                    "those that its parameters() returns"
                )
            if len(expect.results) != 1:
                raise ParameterError(
                    f"expect: the plan has {len(expect.results)} results; give that of these "
                    "ciphertexts, which is one of the plan's results"
                )
            [expect] = expect.results
        if not isinstance(expect, Expectation):
            raise TypeError(
                f"expect: a Plan or one of its results is needed, not {type(expect).__name__}"
            )
        return checked(expect)

    @property
    def released(self) -> Released:
        """What this object has released under its key: results, and the part that is spent.

        `ParameterError` in a forked child, whose parent counts.
        """
        return Released(*self._core.released())

    def add_released(self, released: Released | tuple[int, float]) -> None:
        """Counts what was released under this key elsewhere: by another object, or another process.

        A pair `(results, spent)`, such as the `released` of a client whose key this is.
        `ParameterError` unless results is an integer of at least 0, and spent a finite number of at
        least 0, and in a forked child.
        """
        as_pair = tuple_of(lambda _, each: each, "results, spent")
        results, spent = as_pair("released", released)
        count = as_integer("results", results, 0, 2**63 - 1)
        self._core.add_released(count, as_real("spent", spent))

    def public_key(self) -> PublicKey:
        """A key for those who may only encrypt."""
        return PublicKey(self._core.public_key())

    def evaluation_keys(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        conjugate: bool = False,
        sums: int = 0,
        threads: int = 0,
        progress: bool | Report | None = None,
        *,
        bootstrap: Iterable[int] = (),
        low_rotations: Mapping[int, Iterable[int]] | None = None,
    ) -> EvaluationKeys:
        """Generates what a server needs for a circuit, in one call.

        Args:
            relinearise: largest number of parts, 2 … 8, that can be brought back to two; 2 makes no
                key. A product of two ciphertexts has three (OpenFHE: EvalMultKeyGen).
            rotations: slots to rotate by, to the left, negative ones to the right
                (OpenFHE: EvalRotateKeyGen, EvalAtIndexKeyGen; Lattigo: GenGaloisKeys).
            conjugate: whether values are to be conjugated.
            sums: the length of the longest vectors that `sum`, `mean` and `dot` are to add up. It
                adds the rotations by 1, 2, 4, … below it and below N/2 (OpenFHE: EvalSumKeyGen).
            threads: 0 for all cores.
            progress: True for a bar on terminals and in notebooks, or a callable that is called
                with (done, total); what it raises stops the generation.
            bootstrap: for each length of vectors that will be refreshed, the least power of two
                that is not below it. It adds relinearisation, conjugation, rotations, and keys for
                the sparse secret (OpenFHE: EvalBootstrapKeyGen; Lattigo:
                bootstrapping.Parameters.GenEvaluationKeys).
            low_rotations: for some levels, the rotations of linear maps at that level and below,
                such as {4: map.rotations}. These keys are over the primes of these levels only, so
                they are smaller, and `Server.encode(map, level, low_rotations=True)` uses them.

        `Parameters.key_size` gives the size before the keys are made. `ParameterError` for a number
        out of range, and for `bootstrap` with parameters that have none; `ShapeError` for a number
        of slots that is not a power of two up to N/2.
        """
        request = as_request(
            self._parameters, relinearise, rotations, conjugate, sums, bootstrap, low_rotations
        )
        keys: EvaluationKeys = self._generate_keys(threads, progress, request)
        return keys
