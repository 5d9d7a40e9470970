"""Sentences as vectors of numbers: the client's part of the model, which is public.

A sentence is split into words. Each word has a row of the table; words that the table lacks share
one, and the places before a short sentence have another. `read_polarity` reads the sentences that
the network was trained on.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OWN = Path(__file__).with_name("sentences.txt")
PACKED = Path(__file__).with_name("table.npz")
NOTHING, UNKNOWN = 0, 1
"""Rows of the table: of places without a word, and of words that the table has no row for."""
LABELS = {"pos": 1, "neg": 0}
TEST = 1_000
"""Sentences that are kept for the test."""
MOST_TEXT = 10_000
"""Characters of a sentence that are read."""


def split(sentence: str) -> list[str]:
    """The words of a sentence in lower case, and its punctuation marks."""
    return re.findall(r"[\w'-]+|[^\w\s]", sentence[:MOST_TEXT].lower())


@dataclasses.dataclass(frozen=True)
class Table:
    """A vector for each word, shape (2 + words, cells), with values of at most 1."""

    words: list[str]
    values: Floats

    def save(self, path: Path) -> None:
        """Writes a small file: a byte for each value."""
        words = np.frombuffer("\n".join(self.words).encode(), dtype=np.uint8)
        values = np.rint(self.values * 127).astype(np.int8)
        np.savez_compressed(path, words=words, values=values)

    @classmethod
    def load(cls, path: Path = PACKED) -> Table:
        """Reads what `save` wrote. `ValueError` if it does not have a vector for each word."""
        with np.load(path) as packed:
            words = packed["words"].tobytes().decode().split("\n")
            values = packed["values"] / 127.0
        if values.ndim != 2 or len(values) != 2 + len(words):
            raise ValueError(f"{path}: {len(words)} words have vectors of shape {values.shape}")
        return cls(words, values)

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words, start=2)}

    def rows(self, sentences: Sequence[str], steps: int) -> Ints:
        """The rows of the last `steps` words of each sentence, shape (sentences, steps)."""
        out = np.full((len(sentences), steps), NOTHING)
        for row, sentence in zip(out, sentences, strict=True):
            known = [self._rows.get(word, UNKNOWN) for word in split(sentence)][-steps:]
            row[steps - len(known) :] = known
        return out

    def vectors(self, sentences: Sequence[str], steps: int) -> Floats:
        """What is encrypted of sentences, shape (sentences, steps, cells)."""
        found: Floats = self.values[self.rows(sentences, steps)]
        return found


@dataclasses.dataclass(frozen=True)
class Sentences:
    """Sentences, and a label for each: 1 if it praises, 0 if not."""

    texts: list[str]
    labels: Ints

    def __getitem__(self, which: slice | Ints) -> Sentences:
        return Sentences(np.array(self.texts, dtype=object)[which].tolist(), self.labels[which])


def read_own(path: Path = OWN) -> Sentences:
    """Lines of `pos` or `neg`, a tab and a sentence. `ValueError` says which line is another."""
    texts, labels = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        label, tab, text = line.partition("\t")
        if label not in LABELS or not tab or not text.strip():
            raise ValueError(f"{path}: line {number} is not pos or neg, a tab and a sentence")
        texts.append(text.strip())
        labels.append(LABELS[label])
    if not texts:
        raise ValueError(f"{path}: there is no sentence")
    return Sentences(texts, np.array(labels))


def read_polarity(folder: Path) -> tuple[Sentences, Sentences]:
    """The sentences of Pang and Lee (ACL 2005) for training, and `TEST` others for the test.

    `folder` has rt-polarity.pos and rt-polarity.neg. The split is always the same. `OSError` if a
    file is not there, `ValueError` if it has too few sentences or is no text.
    """
    texts: list[str] = []
    labels: list[int] = []
    for name, label in LABELS.items():
        path = folder / f"rt-polarity.{name}"
        # Lines end with a line feed: some have other characters that Python takes for ends.
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        if len(lines) < TEST:
            raise ValueError(f"{path}: {len(lines)} sentences, and {TEST} or more are needed")
        texts += lines
        labels += [label] * len(lines)
    both = Sentences(texts, np.array(labels))
    order = np.random.default_rng(0).permutation(len(texts))
    return both[order[TEST:]], both[order[:TEST]]


def joined(texts: Sequence[str], count: int, words: int) -> list[str]:
    """So many texts of so many words each, of sentences that follow one another."""
    each = itertools.chain.from_iterable(map(split, itertools.cycle(texts)))
    return [" ".join(itertools.islice(each, words)) for _ in range(count)]
