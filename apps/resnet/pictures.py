"""Pictures to recognise: drawn ones, or those of a file.

CIFAR-10's images have no licence, so that the application carries none of them.
"""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .network import CLASSES

SIDE = 32
FINE = 4  # points a pixel, both ways

Pixels = npt.NDArray[np.uint8]
Colour = tuple[float, float, float]
Points = Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Pictures:
    """Pixels of shape (count, 3, 32, 32), and the class of each picture, where it is known."""

    pixels: Pixels
    labels: list[int] | None


def load(path: Path, count: int) -> Pictures:
    """The first pictures of a file: `images` of `numpy.savez`, bytes of shape (…, 3, 32, 32), and
    `labels` if it has them. `ValueError` for anything else, and for too few."""
    try:
        with path.open("rb") as file, np.lib.npyio.NpzFile(file) as given:
            pixels, labels = given["images"], given.get("labels")
    except (KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: no file of numpy.savez with `images`: {error}") from None
    if pixels.dtype != np.uint8 or pixels.shape[1:] != (3, SIDE, SIDE):
        raise ValueError(
            f"{path}: images are {pixels.dtype} of shape {pixels.shape}; uint8 of shape "
            f"(count, 3, {SIDE}, {SIDE}) is needed"
        )
    if len(pixels) < count:
        raise ValueError(f"{path}: it has {len(pixels)} images, and --count asks for {count}")
    if labels is None:
        return Pictures(pixels[:count], None)
    if labels.shape != pixels.shape[:1] or not np.isin(labels, range(len(CLASSES))).all():
        raise ValueError(f"{path}: labels are not {len(pixels)} numbers of 0 … {len(CLASSES) - 1}")
    return Pictures(pixels[:count], labels[:count].astype(int).tolist())


def draw(count: int, seed: int) -> Pictures:
    """Ships, planes and trucks in turn; the seed says how they differ."""
    kinds = [(_ship, "ship"), (_plane, "plane"), (_truck, "truck")]
    pixels, labels = [], []
    for number in range(count):
        scene, name = kinds[number % len(kinds)]
        canvas = _Canvas(np.random.default_rng([seed, number]))
        scene(canvas)
        pixels.append(canvas.pixels())
        labels.append(CLASSES.index(name))
    return Pictures(np.stack(pixels), labels)


class _Canvas:
    """A picture with its origin at the upper left, as points of 0 … 32."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self._y, self._x = (np.mgrid[: SIDE * FINE, : SIDE * FINE] + 0.5) / FINE
        self._light = np.zeros((3, SIDE * FINE, SIDE * FINE))
        self._dx, self._dy = random.uniform(-1.5, 1.5, 2)

    def shade(self, top: Colour, bottom: Colour, first: float = 0, last: float = SIDE) -> None:
        """Colours of all rows between two heights, and what lies outside of them not."""
        share = np.clip((self._y - first) / (last - first), 0, 1)
        inside = (self._y >= first) & (self._y < last)
        for light, one, other in zip(self._light, top, bottom, strict=True):
            light[inside] = ((1 - share) * one + share * other)[inside]

    def convex(self, colour: Colour, points: Points) -> None:
        """A convex polygon, with its corners clockwise on the picture; it moves with the scene."""
        x, y = self._x - self._dx, self._y - self._dy
        inside = np.ones_like(x, dtype=bool)
        for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
            inside &= (x1 - x0) * (y - y0) >= (y1 - y0) * (x - x0)
        self._light[:, inside] = np.array(colour)[:, None]

    def box(self, colour: Colour, left: float, top: float, right: float, bottom: float) -> None:
        """A rectangle."""
        self.convex(colour, [(left, top), (right, top), (right, bottom), (left, bottom)])

    def oval(self, colour: Colour, x: float, y: float, wide: float, high: float) -> None:
        """An ellipse by its middle and its half axes."""
        turns = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        points = zip(x + wide * np.cos(turns), y + high * np.sin(turns), strict=True)
        self.convex(colour, list(points))

    def pixels(self) -> Pixels:
        """Averages of the points, with a little grain."""
        means = self._light.reshape(3, SIDE, FINE, SIDE, FINE).mean(axis=(2, 4))
        grain = self.random.normal(0, 3, (SIDE, SIDE))
        return np.clip(np.rint(means + grain), 0, 255).astype(np.uint8)

    def varied(self, colour: Colour) -> Colour:
        """A colour that is a little lighter or darker from picture to picture."""
        by = self.random.uniform(0.85, 1.1)
        return tuple(min(255.0, by * each) for each in colour)  # type: ignore[return-value]


def _ship(c: _Canvas) -> None:
    c.shade(c.varied((150, 185, 220)), (215, 225, 235))
    c.shade(c.varied((60, 95, 130)), (30, 60, 95), first=20)
    hull, white = c.varied((60, 40, 45)), c.varied((230, 230, 230))
    c.box(white, 10, 13, 23, 18)
    c.box(white, 13, 10, 20, 13)
    c.box(c.varied((190, 60, 40)), 15, 6, 18, 10)
    c.convex(hull, [(3, 17.5), (29, 17.5), (26, 23), (6, 23)])
    c.box(c.varied((150, 40, 40)), 6, 22, 26, 23.5)


def _plane(c: _Canvas) -> None:
    c.shade(c.varied((90, 140, 205)), (175, 205, 235))
    body, wing = c.varied((225, 228, 232)), c.varied((150, 155, 165))
    c.convex(wing, [(4, 9), (7, 9), (11, 15), (7, 15.5)])
    c.oval(body, 16, 16.5, 13, 2.4)
    c.convex(wing, [(13, 16.5), (19, 16.5), (13, 25), (10, 25)])
    c.convex(wing, [(14, 15), (18, 15), (14, 10), (12, 10)][::-1])


def _truck(c: _Canvas) -> None:
    c.shade(c.varied((190, 205, 220)), (215, 215, 210))
    c.shade(c.varied((120, 120, 118)), (95, 95, 95), first=23)
    c.box(c.varied((205, 205, 200)), 3, 7, 20, 22)
    c.convex(c.varied((190, 45, 35)), [(20.5, 12), (25, 12), (28, 16), (28, 23), (20.5, 23)])
    c.convex((60, 75, 90), [(22, 13), (24.7, 13), (26.8, 16.5), (22, 16.5)])
    c.box((50, 50, 50), 3, 22, 28, 23.5)
    for x in (7, 11, 24):
        c.oval((25, 25, 25), x, 24, 2.3, 2.3)
        c.oval((140, 140, 140), x, 24, 1, 1)
