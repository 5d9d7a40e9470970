"""FHEW/TFHE in NumPy with real errors, for prototypes: keys, rotations, packing, RGSW ciphertexts.

Keys, ciphertexts and errors are those of `W128_P128`: N = 2048, a prime of 48 bits, n = 843, and
sigma 3.19. Transforms are in doubles with keys in two halves, so that products are exact but for
one unit now and then. Names and formulas are those of docs/algorithm.md and docs/noise.md.
"""

import math
from typing import Any

import numpy as np
from whorl import binfhe

Words = np.ndarray[Any, np.dtype[np.int64]]
Spectra = np.ndarray[Any, np.dtype[np.complex128]]

NAME = "W128_P128"
LITERAL = binfhe.parameters(NAME).literal()
N, Q, SIGMA = LITERAL["N"], LITERAL["Q"], LITERAL["sigma_ring"]
HALF = 24
"""Bits of the lower half of a key's words."""
TERNARY = 1 + N * 2 / 3
"""1 + N E[z^2] of the ring key."""
TWIST = np.exp(-1j * np.pi / N * np.arange(N // 2))
KEY_SWITCH = 4.26
"""Mean square of a key switch of one ciphertext of Q, in units of 2N (docs/noise.md)."""

Gadget = tuple[int, int]
"""Bits of a digit, and digits that are kept."""
ONE: Gadget = (23, 1)
"""The gadget of the set's rotations."""
SWITCH: Gadget = (6, 8)
"""The gadget of key switches in the ring."""


def transforms(gadget: Gadget) -> int:
    """An external product's number of them: digits of two parts there, two parts back."""
    return 2 * gadget[1] + 2


def dropped(gadget: Gadget) -> int:
    """Bits that a gadget leaves out."""
    return 48 - gadget[0] * gadget[1]


def product_variance(gadget: Gadget, row_variance: float, message: float) -> float:
    """An external product adds this (docs/noise.md); E[m^2] is `message`."""
    bits, digits = gadget
    lost = (4.0 ** dropped(gadget) + 2) / 12 * TERNARY if dropped(gadget) else 0.0
    return 2 * N * digits * (4.0**bits + 2) / 12 * row_variance + message * lost


def rotation_variance(gadget: Gadget, dimension: int) -> float:
    """A blind rotation by a binary key adds this."""
    return dimension * product_variance(gadget, SIGMA**2, 0.5)


def switch_variance(gadget: Gadget) -> float:
    """A key switch in the ring, which decomposes one part, adds this."""
    bits, digits = gadget
    lost = 4.0 ** dropped(gadget) / 12 * N * 2 / 3 if dropped(gadget) else 0.0
    return N * digits * (4.0**bits + 2) / 12 * SIGMA**2 + lost


def log2_failure(margin: float, variance: float) -> float:
    """The probability of a wrong decision; both are in units of 2N."""
    x = margin / math.sqrt(2 * variance)
    if x < 25:
        return math.log2(math.erfc(x))
    return -(x * x) / math.log(2) - math.log2(x * math.sqrt(math.pi))


def centred(x: Any) -> Words:
    """Residues from -Q/2 to Q/2."""
    return (np.asarray(x, np.int64) + Q // 2) % Q - Q // 2


def shifted(x: Words, bits: int) -> Words:
    """x 2^bits modulo Q, without overflows."""
    for _ in range(bits // 12):
        x = x % Q << 12
    return (x % Q << bits % 12) % Q


def forward(x: Any) -> Spectra:
    """Negacyclic transforms of polynomials, which are folded (docs/algorithm.md)."""
    x = np.asarray(x, np.float64)
    folded: Spectra = np.fft.fft((x[..., : N // 2] - 1j * x[..., N // 2 :]) * TWIST)
    return folded


def backward(x: Spectra) -> Words:
    """The nearest polynomials of integers, which are below 2^63."""
    folded = np.fft.ifft(x) * TWIST.conj()
    return np.rint(np.concatenate([folded.real, -folded.imag], -1)).astype(np.int64)


def halves(x: Any) -> Spectra:
    """Transforms of the lower and of the upper half of words modulo Q."""
    x = centred(x)
    low = (x + (1 << HALF - 1)) % (1 << HALF) - (1 << HALF - 1)
    return forward(np.stack([low, x - low >> HALF], -2))


def joined(x: Spectra) -> Words:
    """The way back, modulo Q."""
    parts = backward(x)
    return (shifted(parts[..., 1, :], HALF) + parts[..., 0, :]) % Q


def times_monomial(x: Words, powers: Any) -> Words:
    """x X^powers, with one power for each row of `powers`."""
    places = (np.arange(N) - np.asarray(powers)[..., None]) % (2 * N)
    places = np.broadcast_to(places, x.shape)
    values = np.take_along_axis(x, places % N, -1)
    return np.where(places >= N, -values, values)


def automorphism(x: Words, power: int) -> Words:
    """X to X^power."""
    places = np.arange(N) * power % (2 * N)
    made = np.empty_like(x)
    made[..., places % N] = np.where(places >= N, -x, x)
    return made


def digits_of(x: Words, gadget: Gadget) -> Words:
    """Balanced digits of polynomials (…, N), the lowest first: (…, digits, N)."""
    bits, digits = gadget
    rest = centred(x)
    if drop := dropped(gadget):
        rest = rest + (1 << drop - 1) >> drop
    made = []
    for _ in range(digits - 1):
        low = (rest + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        made.append(low)
        rest = rest - low >> bits
    return np.stack([*made, rest], -2)


def places_of(gadget: Gadget) -> list[int]:
    """Powers of two that the digits stand for."""
    return [1 << dropped(gadget) + gadget[0] * j for j in range(gadget[1])]


class Scheme:
    """Both keys, and what servers are given. Ciphertexts are (…, 2, N): b and a of b - a s."""

    def __init__(self, dimension: int, seed: int) -> None:
        self.n, self.random = dimension, np.random.default_rng(seed)
        self.secret: Words = self.random.integers(-1, 2, N)
        self.lwe: Words = self.random.integers(0, 2, dimension)
        self.square = centred(self.negacyclic(self.secret, self.secret))
        self._made: dict[Any, Spectra] = {}
        kept = [4**j << 4 for j in range(8)]  # 8 digits of 2 bits of 20
        self.to_lwe = self.random.integers(0, 1 << 20, (N * 8, dimension)).astype(np.float64)
        noise = np.rint(self.random.normal(0, SIGMA, N * 8)).astype(np.int64)
        messages = (self.secret[:, None] * np.array(kept)).ravel()
        self.to_lwe_b = (self.to_lwe @ self.lwe + noise + messages).astype(np.float64)

    def negacyclic(self, x: Any, small: Any) -> Words:
        """A product with a polynomial of small words."""
        return joined(halves(x) * forward(small)[..., None, :])

    def encrypt(self, phases: Words, sigma: float = SIGMA) -> Words:
        """Ring ciphertexts of (…, N)."""
        a = self.random.integers(0, Q, phases.shape)
        noise = np.rint(self.random.normal(0, sigma, phases.shape)).astype(np.int64)
        return np.stack([(self.negacyclic(a, self.secret) + noise + phases) % Q, a], -2)

    def phase(self, ciphertext: Words) -> Words:
        """b - a s."""
        a_s = self.negacyclic(ciphertext[..., 1, :], self.secret)
        return centred(ciphertext[..., 0, :] - a_s)

    def rgsw(self, message: int, gadget: Gadget) -> Spectra:
        """Rows of b's digits, then of a's: (2 digits, 2, halves, N / 2)."""
        rows = self.encrypt(np.zeros((2 * gadget[1], N), np.int64))
        for j, place in enumerate(places_of(gadget)):
            rows[j, 0, 0] += message * place
            rows[gadget[1] + j, 1, 0] += message * place
        return halves(rows)

    def switch_key(self, gadget: Gadget, message: Words) -> Spectra:
        """Rows of message g_j, kept by the message."""
        name = (gadget, message.tobytes())
        if name not in self._made:
            phases = [shifted(message, place.bit_length() - 1) for place in places_of(gadget)]
            self._made[name] = halves(self.encrypt(np.stack(phases)))
        return self._made[name]

    def external(self, rows: Spectra, ciphertext: Words, gadget: Gadget) -> Words:
        """Rows times the digits of both parts."""
        digits = digits_of(ciphertext, gadget)
        spectra = forward(digits.reshape(*digits.shape[:-3], 2 * gadget[1], N))
        return joined(np.einsum("...rf,rphf->...phf", spectra, rows))

    def switched(self, x: Words, message: Words, gadget: Gadget) -> Words:
        """A ciphertext of x times the message, which is not public."""
        spectra = forward(digits_of(x, gadget))
        return joined(np.einsum("...rf,rphf->...phf", spectra, self.switch_key(gadget, message)))

    def exponents(self, samples: Words, grid: int) -> tuple[Words, Words]:
        """Key switch of samples (count, N + 1), b last, to b and a in units of 2N / grid."""
        to_20 = np.rint(centred(samples) * (2.0**20 / Q)).astype(np.int64) % (1 << 20)
        rest, parts = to_20[:, :N] + 8 >> 4, []
        for _ in range(8):
            low = (rest + 2) % 4 - 2
            parts.append(low)
            rest = rest - low >> 2
        small = np.stack(parts, -1).reshape(len(samples), -1).astype(np.float64)
        a = -np.rint(small @ self.to_lwe).astype(np.int64)
        b = to_20[:, N] - np.rint(small @ self.to_lwe_b).astype(np.int64)
        step = grid << 8  # From 2^20 to 2N.
        rounded = a + step // 2 >> (step.bit_length() - 1)
        left = (a - rounded * step).sum(-1) / 2  # Keys have a mean of 1/2.
        return np.floor((b - left) / step + 0.5).astype(np.int64), rounded

    def rotate(self, samples: Words, tables: Words, gadget: Gadget, grid: int = 1) -> Words:
        """Accumulators whose coefficients 0 … grid - 1 are the tables' entries: (count, 2, N)."""
        if gadget not in self._made:
            keys = [self.rgsw(int(bit), gadget) for bit in self.lwe]
            self._made[gadget] = np.stack(keys)
        b, a = self.exponents(samples, grid)
        start = np.zeros((len(samples), 2, N), np.int64)
        start[:, 0] = times_monomial(np.broadcast_to(tables, (len(samples), N)), -b * grid)
        for i, rows in enumerate(self._made[gadget]):
            turned = times_monomial(start, (a[:, i] * grid)[:, None])
            start = (start + self.external(rows, turned - start, gadget)) % Q
        return start


def sample(ciphertexts: Words, place: int) -> Words:
    """The coefficient at a place as samples under the ring key: (…, N + 1), b last."""
    b, a = ciphertexts[..., 0, place], ciphertexts[..., 1, :]
    index = place - np.arange(N)
    return np.concatenate([np.where(index < 0, -a[..., index], a[..., index]), b[..., None]], -1)


def as_ring(samples: Words) -> Words:
    """Ring ciphertexts whose coefficient 0 has the samples' phases."""
    a = samples[..., :N]
    turned = np.concatenate([a[..., :1], -a[..., :0:-1]], -1)
    b = np.zeros_like(turned)
    b[..., 0] = samples[..., N]
    return np.stack([b, turned], -2)


def halved(x: Words, times: int) -> Words:
    """x / 2^times modulo Q, which is odd."""
    for _ in range(times):
        x = x % Q
        x = x + x % 2 * Q >> 1
    return x


def folded(scheme: Scheme, x: Words, power: int) -> Words:
    """The automorphism X to X^power of ciphertexts."""
    turned = automorphism(x, power)
    secret = automorphism(scheme.secret, power)
    made = -scheme.switched(turned[..., 1, :], secret, SWITCH)
    made[..., 0, :] += turned[..., 0, :]
    return made % Q


def packed(scheme: Scheme, samples: Words) -> Words:
    """2^k samples at the coefficients 0, N / 2^k, … of one ciphertext, by Chen, Dai, Kim and Song
    (ACNS 2021); one sample stays alone, which is the trace. Further axes in front are batches."""
    made = halved(as_ring(samples), 11)
    count, level = samples.shape[-2], 0
    while count > 1:
        count, level = count // 2, level + 1
        even, odd = made[..., :count, :, :], made[..., count:, :, :]
        odd = times_monomial(odd, np.full(1, N >> level))
        made = even + odd + folded(scheme, (even - odd) % Q, (1 << level) + 1)
    for step in range(level + 1, 12):
        made = made + folded(scheme, made % Q, (1 << step) + 1)
    return made[..., 0, :, :] % Q


def rgsw_of(scheme: Scheme, levels: Words) -> Spectra:
    """Rows from samples (…, levels, N + 1) of m g_j (Wang et al., EUROCRYPT 2024)."""
    rows = packed(scheme, levels[..., None, :])
    other = scheme.switched(rows[..., 1, :], scheme.square, SWITCH)
    other[..., 1, :] += rows[..., 0, :]
    return halves(np.concatenate([rows, other % Q], -3))


TRACE_POWER = switch_variance(SWITCH) * 4.0**11
"""Sum of the mean squares of all coefficients: a third in coefficient 0, as much in N / 2, the rest
in multiples of smaller powers of two. Each step doubles the errors of those before."""


def row_power(rotation: Gadget, dimension: int) -> float:
    """The errors of a row of b and of one of a: mean squares, summed over all coefficients.

    The trace leaves the error of a rotation in coefficient 0 alone; rows of a have it times s.
    """
    return (rotation_variance(rotation, dimension) + TRACE_POWER) * TERNARY


def product_power(gadget: Gadget, rows: float, message: float) -> float:
    """An external product by such rows adds this; E[m^2] is `message`."""
    bits, digits = gadget
    lost = (4.0 ** dropped(gadget) + 2) / 12 * TERNARY
    return digits * (4.0**bits + 2) / 12 * rows + message * lost


def units(variance: float) -> float:
    """A variance modulo Q in units of 2N."""
    return variance * (2 * N / Q) ** 2


def rounding(scheme: Scheme, grid: int = 1) -> float:
    """Mean square of a centred rounding to 2N / grid exponents, in units of 2N."""
    return (1 + scheme.n / 4) / 12 * grid**2
