"""What the compiled modules hold: kernels of every chip in few bytes, and none for a client."""

import struct
from collections import Counter
from pathlib import Path

import pytest
import whorl

KERNELS = ".nv_fatbin"
MOST = 24_000_000
"""Bytes of an architecture's kernels: a wheel of 100 MB has to hold four."""


def module(name: str) -> bytes:
    (path,) = Path(whorl.__file__).parent.glob(f"{name}.*so")
    return path.read_bytes()


def section(elf: bytes, name: str) -> bytes:
    """A section of a file in ELF's format of 64 bits, little endian; nothing if it has none."""
    (headers,), (count, of_names) = (
        struct.unpack_from("<Q", elf, 0x28),
        struct.unpack_from("<HH", elf, 0x3C),
    )

    def header(number: int) -> tuple[int, int, int]:
        found = struct.unpack_from("<IIQQQQ", elf, headers + 64 * number)
        return found[0], found[4], found[5]

    _, names, _ = header(of_names)
    for number in range(count):
        at, begin, size = header(number)
        if elf[names + at : elf.index(b"\0", names + at)].decode() == name:
            return elf[begin : begin + size]
    return b""


def by_architecture(fatbins: bytes) -> Counter[int]:
    """Bytes of the binaries in a section of CUDA's fat binaries, one for each object file."""
    sizes: Counter[int] = Counter()
    at = 0
    while at < len(fatbins):
        magic, _, header, size = struct.unpack_from("<IHHQ", fatbins, at)
        if magic != 0xBA55ED50:  # the space between two
            at += 8
            continue
        entry, at = at + header, at + header + size
        while entry < at:
            _, _, header, size = struct.unpack_from("<HHIQ", fatbins, entry)
            (architecture,) = struct.unpack_from("<I", fatbins, entry + 28)
            sizes[architecture] += header + size
            entry += header + size
    return sizes


def test_kernels_of_an_architecture_are_small() -> None:
    kernels = section(module("_server"), KERNELS)
    if not kernels:
        pytest.skip("this build has no CUDA backend")
    sizes = by_architecture(kernels)
    assert sum(sizes.values()) > 0.99 * len(kernels)
    for architecture, size in sizes.items():
        assert 1_000_000 < size < MOST, architecture


def test_a_client_holds_no_kernels() -> None:
    client = module("_client")
    assert section(client, ".text")
    assert not section(client, KERNELS)
