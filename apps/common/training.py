"""Training on small images with NumPy alone: Adam, and images that are moved."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .idx import Bytes

FIRST, SECOND = 0.9, 0.999  # how long Adam's means of gradients and of their squares remember

Floats = npt.NDArray[np.float32]
Named = dict[str, Floats]


class Adam:
    """Adam (Kingma, Ba, ICLR 2015) on weights by name, at a rate that rises for `warm` steps and
    falls as a cosine until the last one. Gradients are clipped, and matrices decay."""

    def __init__(self, weights: Named, *, steps: int, rate: float, warm: int, decay: float) -> None:
        self._weights, self._steps = weights, steps
        self._rate, self._warm, self._decay = rate, warm, decay
        self._mean, self._square = (
            {name: np.zeros_like(x) for name, x in weights.items()} for _ in range(2)
        )
        self._step = 0

    def step(self, gradients: Named) -> None:
        """Changes the weights."""
        self._step += 1
        step, mean, square = self._step, self._mean, self._square
        length = np.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
        rate = self._rate * min(1, step / self._warm) * (1 + np.cos(np.pi * step / self._steps)) / 2
        for name, g in gradients.items():
            w = self._weights[name]
            g = g / max(1.0, length)
            mean[name] += (1 - FIRST) * (g - mean[name])
            square[name] += (1 - SECOND) * (g * g - square[name])
            spread = np.sqrt(square[name] / (1 - SECOND**step)) + 1e-8
            decay = self._decay * w if w.ndim > 1 else 0
            w -= rate * (mean[name] / (1 - FIRST**step) / spread + decay)


def framed(images: Bytes) -> Bytes:
    """Images with a frame of one pixel, as `moved` takes them."""
    return np.pad(images, ((0, 0), (1, 1), (1, 1)))


def moved(images: Bytes, random: np.random.Generator) -> Floats:
    """Square images of 0 … 1, moved by up to a pixel; `images` have a frame of one."""
    side = images.shape[1] - 2
    down, right = random.integers(0, 3, (2, len(images), 1))
    rows, columns = (at + np.arange(side) for at in (down, right))
    each = np.arange(len(images))[:, None, None]
    return images[each, rows[:, :, None], columns[:, None, :]].astype(np.float32) / 255


def entropy(logits: Floats, labels: Bytes) -> tuple[float, Floats]:
    """The mean cross entropy of logits, and its slopes."""
    count = len(labels)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    loss = -float(np.log(shares[np.arange(count), labels] + 1e-9).mean())
    shares[np.arange(count), labels] -= 1
    return loss, shares / count
