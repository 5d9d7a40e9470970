"""Gates of an FHEW/TFHE server, on ciphertexts and known bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.base_server import BaseServer, spread
from .._core.entries import refuse_unreadable
from .._core.integers import as_modulus
from .._core.literal import as_text
from .._core.text import counted, shown
from .._server import binfhe as _lib
from ..errors import KeyMismatchError, ParameterError
from ._ciphertexts import Ciphertexts, Encoded, EncryptedArray, Uploaded
from ._keys import EvaluationKeys
from ._messages import Words, as_bits, as_bool, as_messages

GATES = dict(_lib.gates())
"""Name -> number of inputs of the gates that take one bootstrap."""

Bits: TypeAlias = Uploaded[Any] | Ciphertexts | ArrayLike
"""Ciphertexts of bits, or known bits."""
Output = tuple[int, bool] | None


class Gates(BaseServer[EvaluationKeys, Ciphertexts, EncryptedArray]):
    """What a server does with bits."""

    def gate(
        self,
        name: str,
        *inputs: Bits,
        p_out: int | None = None,
        padding_out: bool | None = None,
        under: str | None = None,
    ) -> EncryptedArray:
        """A gate by name, in one bootstrap (OpenFHE: EvalBinGate).

        `name`: and, or, nand, nor, xor, xnor (two inputs), majority, and3, or3 (three), and4, or4
        (four), in any case. Inputs are bits. Their p is 4 for two inputs and for majority, 6 for
        and3 and or3, and 8 for and4 and or4. All gates except xor and xnor also take a larger even
        p. If all their inputs are encrypted, xor and xnor also take sums: they tell whether all of
        them together are odd. The bits that come out have p = `p_out`, by default the inputs' p.
        They are under the key `under`: `"lwe"`, or `"ring"` where no key switch follows the
        rotation. By default it is `"lwe"`; if all inputs but one are known, and no rotation is
        needed, it is the key of that input. From there `"lwe"` takes a key switch, and `"ring"`
        raises `KeyMismatchError`.
        Raises `ValueError` for another name, `TypeError` for another number of inputs or if none is
        encrypted, and `EncodingError` if a known input is neither 0 nor 1, or an encrypted one may
        be no bit.

        `parameters.failure_log2` bounds the failure of gates of two inputs. Other gates fail more
        often. With W128_P64 majority fails with 2^-57, a gate on two outputs of `mux` with 2^-56,
        and3 and or3 with 2^-27, and and4 and or4 with 2^-12. The last four raise `NoiseError`
        unless the server has a larger `allow_failure`. W128_P128 serves all of them;
        `openfhe_1_5/STD128_3` and `STD128_4` are made for three and four inputs.
        `Parameters.gate_failure_log2` gives the probability for any set.
        """
        if not isinstance(name, str):
            raise TypeError(f"gate: the name of a gate is needed, not {shown(name)}")
        key = name.lower().rstrip("_")
        of_key = as_key(under)
        if key not in GATES:
            raise ValueError(f"gate: {name!r} is not one of {', '.join(GATES)}")
        if len(inputs) != GATES[key]:
            raise TypeError(f"{key} has {counted(len(inputs), 'input')}; it takes {GATES[key]}")
        first = _first_encrypted(key, inputs)
        output = _output(first, p_out, padding_out)
        known = [as_bits(each, key) for each in inputs if not is_encrypted(each)]
        if len(known) == len(inputs) - 1 and not (
            of_key == "ring" and output not in (None, (first.p, first.padding))
        ):
            x = self.upload(first)
            ones = sum(np.broadcast_arrays(*known), np.zeros((), dtype=np.uint32))
            shape = np.broadcast_shapes(x.shape, ones.shape)
            core = self._core.gate_of_known(key, spread(x, shape)._core, _flat(ones, shape), output)
            return self._brought(self._wrap(core, shape), of_key, key)
        arrays, shape = self._meet(*self._encrypted(key, first, inputs))
        cores = [each._core for each in arrays]
        core = self._core.gate(key, cores, output, of_key or "lwe")
        return self._wrap(core, shape)

    def _brought(self, a: EncryptedArray, under: str | None, what: str) -> EncryptedArray:
        """What needed no rotation, under the key that was asked for, if one was."""
        if under is None or a.under == under:
            return a
        if under == "ring":
            raise KeyMismatchError(
                f"{what}: known bits leave the result under the LWE key, without a rotation: leave "
                'under="ring" out; or bootstrap the result with under="ring"'
            )
        return self.to_lwe_key(a)

    def _encrypted(self, name: str, first: Encoded, inputs: Sequence[Bits]) -> list[Any]:
        """The inputs; known bits are trivial encryptions with the encoding of `first`."""
        return [
            each
            if is_encrypted(each)
            else self.trivial(as_bits(each, name), first.p, first.padding, under=first.under)
            for each in inputs
        ]

    def and_(self, a: Bits, b: Bits) -> EncryptedArray:
        """a ∧ b (OpenFHE: EvalBinGate(AND, a, b))."""
        return self.gate("and", a, b)

    def or_(self, a: Bits, b: Bits) -> EncryptedArray:
        """a ∨ b (OpenFHE: EvalBinGate(OR, a, b))."""
        return self.gate("or", a, b)

    def nand(self, a: Bits, b: Bits) -> EncryptedArray:
        """¬(a ∧ b) (OpenFHE: EvalBinGate(NAND, a, b))."""
        return self.gate("nand", a, b)

    def nor(self, a: Bits, b: Bits) -> EncryptedArray:
        """¬(a ∨ b) (OpenFHE: EvalBinGate(NOR, a, b))."""
        return self.gate("nor", a, b)

    def xor(self, a: Bits, b: Bits) -> EncryptedArray:
        """a ⊕ b; p = 4 only (OpenFHE: EvalBinGate(XOR, a, b))."""
        return self.gate("xor", a, b)

    def xnor(self, a: Bits, b: Bits) -> EncryptedArray:
        """¬(a ⊕ b); p = 4 only (OpenFHE: EvalBinGate(XNOR, a, b))."""
        return self.gate("xnor", a, b)

    def majority(self, a: Bits, b: Bits, c: Bits) -> EncryptedArray:
        """1 where at least two are 1 (OpenFHE: EvalBinGate(MAJORITY, {a, b, c}))."""
        return self.gate("majority", a, b, c)

    def and3(self, a: Bits, b: Bits, c: Bits) -> EncryptedArray:
        """a ∧ b ∧ c; p = 6 or larger even (OpenFHE: EvalBinGate(AND3, {a, b, c}))."""
        return self.gate("and3", a, b, c)

    def or3(self, a: Bits, b: Bits, c: Bits) -> EncryptedArray:
        """a ∨ b ∨ c; p = 6 or larger even (OpenFHE: EvalBinGate(OR3, {a, b, c}))."""
        return self.gate("or3", a, b, c)

    def and4(self, a: Bits, b: Bits, c: Bits, d: Bits) -> EncryptedArray:
        """a ∧ b ∧ c ∧ d; p = 8 or larger even (OpenFHE: EvalBinGate(AND4, {a, b, c, d}))."""
        return self.gate("and4", a, b, c, d)

    def or4(self, a: Bits, b: Bits, c: Bits, d: Bits) -> EncryptedArray:
        """a ∨ b ∨ c ∨ d; p = 8 or larger even (OpenFHE: EvalBinGate(OR4, {a, b, c, d}))."""
        return self.gate("or4", a, b, c, d)

    def not_(self, a: EncryptedArray | Ciphertexts) -> EncryptedArray:
        """¬a; free: no bootstrap, no added noise (OpenFHE: EvalNOT)."""
        return self._on(a, self._core.not_)

    def mux(self, select: Bits, a: Bits, b: Bits, *, under: str | None = None) -> EncryptedArray:
        """select ? a : b, in two blind rotations and one key switch; p = 4 or larger even.

        If `select` is known, or both a and b are known, no bootstrap is needed. `under` is as of
        `gate`.
        The result has the noise of two rotations. A gate on two such results fails more often (with
        W128_P64: 2^-56), unless `bootstrap` comes first.
        (OpenFHE: EvalBinGate(CMUX, {a, b, select}).)
        """
        first, of_key = _first_encrypted("mux", (select, a, b)), as_key(under)
        if not is_encrypted(select):
            bits = as_bits(select, "select")
            arrays = [self.upload(each) for each in self._encrypted("mux", first, (a, b))]
            shape = np.broadcast_shapes(bits.shape, *(each.shape for each in arrays))
            cores = [spread(each, shape)._core for each in arrays]
            chosen = self._wrap(self._core.mux_by_known(_flat(bits, shape), *cores), shape)
            return self._brought(chosen, of_key, "mux")
        if not is_encrypted(a) and not is_encrypted(b):
            x, of_1, of_0 = self.upload(first), as_bits(a, "a"), as_bits(b, "b")
            shape = np.broadcast_shapes(x.shape, of_1.shape, of_0.shape)
            core = self._core.mux_of_known(
                spread(x, shape)._core, _flat(of_1, shape), _flat(of_0, shape)
            )
            return self._brought(self._wrap(core, shape), of_key, "mux")
        arrays, shape = self._meet(*self._encrypted("mux", first, (select, a, b)))
        x, y, z = (each._core for each in arrays)
        return self._wrap(self._core.mux(x, y, z, of_key or "lwe"), shape)

    cmux = mux

    def bootstrap(
        self,
        a: EncryptedArray | Ciphertexts,
        p_out: int | None = None,
        padding_out: bool | None = None,
        *,
        under: str = "lwe",
    ) -> EncryptedArray:
        """Makes the noise of bits small again; may change their p (OpenFHE: Bootstrap).

        The result is under the key `under`, as of `gate`.
        """
        x = self.upload(a)
        output = _output(x, p_out, padding_out)
        return self._wrap(self._core.bootstrap(x._core, output, as_text("under", under)), x.shape)

    def to_lwe_key(self, a: EncryptedArray | Ciphertexts) -> EncryptedArray:
        """The same messages under the LWE key, by one key switch each.

        Ciphertexts that are under it already are returned as they are. Gates and tables do the same
        with inputs under the ring key, once for each sum that is rotated; floors, signs, digits and
        lanes do not. The noise is that of the input scaled from Q to q, and that of the key switch
        and its roundings (docs/noise.md). Raises `NoiseError` if the result decrypts wrongly with a
        probability above `allow_failure`.

        >>> from whorl.binfhe import Client, Server, parameters
        >>> client = Client(parameters("W128_P64"))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> x = server.gate("nand", client.encrypt([0, 1]), client.encrypt([1, 1]), under="ring")
        >>> y = server.to_lwe_key(x)
        >>> x.under, y.under, client.decrypt(x), client.decrypt(y)
        ('ring', 'lwe', array([1, 0]), array([1, 0]))
        """
        return self._on(a, self._core.to_lwe_key)

    def trivial(
        self, messages: ArrayLike, p: int = 4, padding: bool = False, *, under: str = "lwe"
    ) -> EncryptedArray:
        """Ciphertexts of known messages 0 … p-1, of the same shape, without noise or mask.

        Anyone can read them: they are for constants. `under`: the key of the ciphertexts that they
        are added to. Errors as `Client.encrypt`'s.
        """
        encoding = as_modulus(p, "p"), as_bool("padding", padding)
        values = as_messages(messages, "messages", encoding[0])
        core = self._core.trivial(values.reshape(-1), encoding, as_text("under", under))
        return self._wrap(core, values.shape)


def _output(a: Encoded, p: int | None, padding: bool | None) -> Output:
    if p is None and padding is None:
        return None
    return (
        a.p if p is None else as_modulus(p, "p_out"),
        a.padding if padding is None else as_bool("padding_out", padding),
    )


def as_key(under: str | None) -> str | None:
    """The name of a key; `ParameterError` for another name."""
    if under is None or as_text("under", under) in ("lwe", "ring"):
        return under
    raise ParameterError(f'under: {shown(under)} is neither "lwe" nor "ring"')


def is_encrypted(operand: object) -> bool:
    """Whether an operand is ciphertexts, on the host or on devices."""
    return isinstance(operand, Encoded)


def _first_encrypted(name: str, inputs: Sequence[Bits]) -> Any:
    """The first encrypted input, whose encoding known bits take. `TypeError` if there is none."""
    for each in inputs:
        if is_encrypted(each):
            return each
    for each in inputs:
        refuse_unreadable(each, name)  # such as a list of ciphertexts
    raise TypeError(f"{name}: no input is encrypted; ciphertexts are needed")


def _flat(bits: Words, shape: Shape) -> Words:
    """The values in that shape, flattened; a single value stays single."""
    if bits.size == 1:
        return bits.reshape(-1)
    return np.ascontiguousarray(np.broadcast_to(bits, shape)).reshape(-1)
