"""The training on ciphertexts: what lies in which slot, and an iteration in 4 levels.

**Layout.** A mini-batch of B samples with F features fills B·F slots, which are `shares`
ciphertexts of `slots` slots. A sample has `run` = slots/B slots side by side in each of them. Slot
t of share r holds

    D_r[t] = Z[t div run, (t + r·run) mod F],

and a vector of weights is repeated with the period F. So rot_(r·run)(v), times D_r, summed over r,
has in the `run` slots of a sample all products of its inner product. This is the method of
diagonals (Halevi, Shoup, CRYPTO 2014). Rotations of one ciphertext are hoisted, and the sum of
products is relinearised and rescaled once. Rotations are to the left.

One vector of many shares, as in a mini-batch of 16,384, would need too many rotations. Therefore
r = i + b·j has a baby step i < b and a giant step j (Halevi, Shoup, EUROCRYPT 2015), and share r
is encrypted as C_r = rot_(-j·b·run)(D_r). Up to b shares there is one giant step, and C_r is D_r.

**An iteration** from V, at level l; T is the inner products:

1. l-1  T = Σ_j rot_(j·b·run)(Σ_i C_r · rot_(i·run)(V)). Each sum over i is relinearised and
        rescaled; sums meet in pairs, so that log2 of their number are the rotations that need
        keys. Then the sum of `run` neighbours, by doubling. It is right in the first slot of each
        sample, and something else in the others.
2. l-2  T², and T·M with M = 1 in the first slots, 0 in the others, times public constants.
3. l-3  s = (T² + β)·(T·M) + α·M is the cubic in the first slots, and 0 in the others. Rotations to
        the right by doubling bring it to all slots of its sample.
4. l-4  G = Σ_j rot_(-j·b·run)(Σ_i E_r · rot_(-i·run)(s)), with E_r = rot_(-i·run)(D_r)/B, which
        is made once for each mini-batch. Slot t has a part of the gradient of feature t mod F. The
        sum of all slots F apart, by doubling, is the gradient with period F.

So the mask takes no level of its own: it meets one of the two factors of the cubic. Division by B
is in E, which has levels to spare, and not in s, whose numbers would come near its error.

**The state** is two vectors: w and v of `model`, over UNIT so that they stay in -1 … 1. w is kept
as W_t = (1 - γ_(t-1))·w_t, so that one gradient with the factor 1 - γ serves both:

    W' = (1 - γ_t)·V + gradient        V' = W' + δ_t·W,  δ_t = γ_t/(1 - γ_(t-1)).

**Rounds.** After `round` iterations the state is refreshed. Then it is one vector of period 2F, W
in its lower and V in its upper half: W' + H·(δ·W), where H = 1 in the upper half. Products with δ
and H are on levels that nothing else waits for. After refreshing, the sum of both halves of H·X is
V (one level), and that of X is W + V (none).

A product with a vector in the clear would encode it at each call. M and H are therefore made
ciphertexts once, without a secret: 0·x + M.

The library's estimate of errors takes all of them to have one direction. Over iterations it grows
without end, where the training pulls weights together. So the state is said to have the error
ERROR; tests measure less.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from whorl.ckks import EncryptedArray, Parameters, parameters, stack

from .digits import Floats
from .model import BATCH, SIGMOID, Schedule, states

ROUND = 3  # iterations between two bootstraps, unless it is said
LEVELS = 4  # of an iteration
BABIES = 16  # shares up to which there is one giant step
UNIT = 8.0  # weights are kept over this
MOST = 4.0  # of inner products over UNIT, the numbers beside them included
ERROR = 2.0**-14  # standard deviation of the state's error


@dataclasses.dataclass(frozen=True)
class Layout:
    """What lies in which slot; all numbers are powers of two."""

    slots: int = 2**15
    batch: int = BATCH
    features: int = 256

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value < 1 or value & (value - 1):
                raise ValueError(f"{name}: {value} is not a power of two")
        if not self.batch < self.slots or not self.run < self.features <= self.slots // 2:
            raise ValueError(
                f"layout: {self.batch} samples of {self.features} features do not fit ciphertexts "
                f"of {self.slots} slots: batch < slots < batch · features and 2 · features ≤ slots"
            )

    @property
    def run(self) -> int:
        """Slots that a sample has in each ciphertext."""
        return self.slots // self.batch

    @property
    def shares(self) -> int:
        """Ciphertexts of a mini-batch."""
        return self.features // self.run

    @property
    def period(self) -> int:
        """Values of the state."""
        return 2 * self.features

    @property
    def babies(self) -> int:
        """Shares of a giant step."""
        return min(self.shares, BABIES)

    @property
    def giants(self) -> int:
        """Giant steps."""
        return self.shares // self.babies

    @property
    def offsets(self) -> list[int]:
        """Slots of the baby steps, from the second on."""
        return [self.run * i for i in range(1, self.babies)]

    @property
    def strides(self) -> list[int]:
        """Slots of the giant steps 1, 2, 4 …"""
        return doublings(self.run * self.babies, self.features)

    def pack(self, batches: Floats) -> Floats:
        """Samples (batches, batch, at most features) as the slots of (batches, shares)."""
        padding = [(0, 0), (0, 0), (0, self.features - batches.shape[-1])]
        padded = np.pad(batches, padding)
        giant, baby = np.divmod(np.arange(self.shares)[:, None], self.babies)
        slot = np.arange(self.slots)
        sample = (slot - self.run * self.babies * giant) % self.slots // self.run
        packed: Floats = padded[:, sample, (slot + self.run * baby) % self.features]
        return packed

    def first(self) -> Floats:
        """1 in the first slot of each sample."""
        return np.where(np.arange(self.slots) % self.run == 0, 1.0, 0.0)

    def upper(self) -> Floats:
        """1 in the upper half of the state."""
        return np.where(np.arange(self.period) >= self.features, 1.0, 0.0)

    def rotations(self) -> list[int]:
        """Slots that a server rotates by, for which it needs keys."""
        within, across = doublings(1, self.run), doublings(self.features, self.slots)
        both = [*self.offsets, *self.strides, *within]
        return [*both, *across, *(-step for step in both)]


def doublings(step: int, end: int) -> list[int]:
    """step, 2·step, 4·step … below end."""
    return [step << i for i in range((end // step).bit_length() - 1)]


def depth(round: int = ROUND) -> int:
    """Levels between two bootstraps."""
    return 1 + round * LEVELS


def choose(round: int = ROUND) -> Parameters:
    """128 bits or more, a bootstrap after so many iterations."""
    return parameters(depth=depth(round), bootstrap=True)


def inner_product(
    columns: Sequence[EncryptedArray], x: EncryptedArray, offsets: list[int], strides: list[int]
) -> EncryptedArray:
    """The sum over i and j of columns[i][j] times x rotated by the i-th offset, the first being 0,
    rotated by j times the first stride."""
    turned = [x, *x.rotate_many(offsets)]
    products = (
        column.multiply(each, relinearise=False, rescale=False)
        for column, each in zip(columns, turned, strict=True)
    )
    sums = functools.reduce(operator.add, products).relinearise().rescale()
    for stride in strides:
        sums = sums[::2] + sums[1::2].rotate(stride)
    return sums[0]


def spread(x: EncryptedArray, steps: list[int]) -> EncryptedArray:
    """The sum of x rotated by all sums of some of the steps."""
    for step in steps:
        x = x + x.rotate(step)
    return x


def known(state: EncryptedArray) -> EncryptedArray:
    """A state, or a half of one, of which more is known than operations state."""
    return state.with_bound(1).with_error(ERROR)


class Training:
    """A training on a server; `run` is the whole of it."""

    def __init__(
        self, layout: Layout, schedule: Schedule, data: EncryptedArray, round: int = ROUND
    ) -> None:
        """`data`: mini-batches on the server's device, of shape (batches, shares)."""
        self._layout, self._schedule, self._round = layout, schedule, round
        self._batches = len(data)
        zero = data[0, 0] * 0
        self._start = zero.sum(layout.period)
        self._first = (zero + layout.first()).with_bound(1)
        self._upper = (self._start + layout.upper()).with_bound(1)
        share = np.arange(layout.shares).reshape(layout.giants, layout.babies)
        self._early = data[:, share.T]
        # E_r meets numbers that are LEVELS below the highest.
        late = self._early.lower(data.level - LEVELS + 1) * (1 / layout.batch)
        self._late = self._turned(late)
        self._kept: dict[tuple[bool, int, int], list[EncryptedArray]] = {}

    def _turned(self, data: EncryptedArray) -> EncryptedArray:
        """E_r from C_r/B, both of shape (batches, babies, giants)."""
        layout, rows = self._layout, []
        for j in range(layout.giants):
            row = data[:, :, j]
            for bit, stride in enumerate(layout.strides):
                row = row.rotate(stride) if j >> bit & 1 else row
            rows.append(row)
        columns = stack(rows, axis=2)
        back = [columns[:, i].rotate(-step) for i, step in enumerate(layout.offsets, start=1)]
        return stack([columns[:, 0], *back], axis=1)

    def _columns(self, late: bool, t: int, level: int) -> list[EncryptedArray]:
        """The data of iteration t at a level, by baby steps. They are kept if an iteration takes
        them again."""
        index = t % self._batches
        if found := self._kept.get((late, index, level)):
            return found
        columns = list((self._late if late else self._early)[index].lower(level))
        if t + math.lcm(self._batches, self._round) < self._schedule.iterations:
            self._kept[late, index, level] = columns
        return columns

    def unpack(self, x: EncryptedArray) -> tuple[EncryptedArray, EncryptedArray]:
        """W and V of a state."""
        v = known((x * self._upper).sum(self._layout.features))
        return known(x.sum(self._layout.features) - v), v

    def pack(self, w: EncryptedArray, jump: EncryptedArray) -> EncryptedArray:
        """A state, of W and V - W."""
        period = self._layout.period
        return known(w.repeat(period) + jump.repeat(period) * self._upper)

    def gradient(self, v: EncryptedArray, t: int, rate: float) -> EncryptedArray:
        """rate times the mean of z·σ(-z·v·UNIT) of the mini-batch of iteration t."""
        layout, (c0, c1, c2) = self._layout, SIGMOID
        early = self._columns(False, t, v.level)
        x = inner_product(early, v.repeat(layout.slots), layout.offsets, layout.strides)
        x = spread(x, doublings(1, layout.run)).with_bound(MOST)
        # c2·UNIT³·x·(x² + β) + c0, times rate and mask.
        masked = x * (self._first * (rate * c2 * UNIT**3))
        cubic = (x.square() + c1 / (c2 * UNIT**2)) * masked + self._first * (rate * c0)
        bound = rate * (c0 + abs(c1) * UNIT * MOST + c2 * (UNIT * MOST) ** 3)
        s = spread(cubic, [-step for step in doublings(1, layout.run)]).with_bound(bound)
        back = [[-step for step in steps] for steps in (layout.offsets, layout.strides)]
        g = inner_product(self._columns(True, t, s.level), s, *back)
        return g.sum(layout.features)

    def step(
        self, t: int, w: EncryptedArray, v: EncryptedArray
    ) -> tuple[EncryptedArray, EncryptedArray]:
        """W and V - W after iteration t."""
        momenta = [0.0, *self._schedule.momenta()]
        before, now = 1 - momenta[t], 1 - momenta[t + 1]
        g = self.gradient(v, t, self._schedule.rate * now / UNIT)
        return known(v * now + g), known(w * (momenta[t + 1] / before))

    def run(self, refresh: Callable[[EncryptedArray], EncryptedArray]) -> Iterator[EncryptedArray]:
        """W after each iteration; `refresh` brings a state back to the highest level."""
        w, v = self.unpack(self._start)
        for t in range(self._schedule.iterations):
            w, jump = self.step(t, w, v)
            yield w
            if (t + 1) % self._round:
                v = known(w + jump)
            elif t + 1 < self._schedule.iterations:
                w, v = self.unpack(refresh(self.pack(w, jump)))


def check(layout: Layout, batches: Floats, schedule: Schedule) -> None:
    """`ValueError` if the training leaves the bounds that the circuit states, on these samples.

    Who has the samples trains in the clear, and so looks at each number that has a bound.
    """
    if batches.shape[-1] > layout.features:
        raise ValueError(
            f"{batches.shape[-1] - 1} features are more than the {layout.features - 1} that the "
            "layout has room for"
        )
    packed, momenta = layout.pack(batches), schedule.momenta()
    for t, (v, w) in enumerate(states(batches, schedule)):
        weights = max(np.abs(v).max(), (1 - momenta[t]) * np.abs(w).max())
        repeated = np.resize(np.pad(v, (0, layout.features - len(v))), layout.slots)
        turned = np.stack([np.roll(repeated, -step) for step in (0, *layout.offsets)])
        shares = packed[t % len(packed)].reshape(layout.giants, layout.babies, -1)
        products = np.zeros(layout.slots)
        for j, part in enumerate(np.einsum("jis,is->js", shares, turned)):
            products += np.roll(part, -j * layout.babies * layout.run)
        for step in doublings(1, layout.run):
            products = products + np.roll(products, -step)
        for what, found, most in (
            ("a weight", weights, UNIT),
            ("an inner product", np.abs(products).max(), UNIT * MOST),
        ):
            if not found <= most:  # nor nan
                raise ValueError(
                    f"in iteration {t + 1} {what} is {found:.3g}, above the {most:g} that the "
                    "circuit has room for; a smaller --rate or fewer --iterations serve"
                )


def read(values: Floats, schedule: Schedule, features: int) -> Floats:
    """The weights w of each iteration, from decrypted W of shape (iterations, slots)."""
    scales = UNIT / (1 - np.array(schedule.momenta()))
    weights: Floats = values[:, :features] * scales[-len(values) :, None]
    return weights
