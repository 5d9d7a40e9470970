"""Keys that tests share, and random generators whose seed is printed with a failure."""

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support import LARGE, ROOT, BgvKit, CkksKit, Kit, make_bgv_kit, make_ckks_kit, make_kit

# Shells start background work with SIGINT ignored, and the programs that tests stop by Ctrl-C would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile(
    "whorl",
    deadline=None,
    max_examples=30,
    print_blob=True,
    derandomize=False,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # a busy machine is slow
)
hypothesis.settings.load_profile("whorl")


@pytest.fixture(scope="session")
def kit() -> Kit:
    return make_kit()


@pytest.fixture(scope="session", params=["ntt", "fft", "binary", "padded"])
def any_kit(request: pytest.FixtureRequest) -> Kit:
    """Each transform, each kind of key, and 64-bit words."""
    return {
        "ntt": lambda: make_kit(),
        "fft": lambda: make_kit(transform="fft"),
        "binary": lambda: make_kit(lwe_secret="binary", transform="fft"),
        "padded": lambda: make_kit(Q=(1 << 50) - 16383, gadget=[(32, 13, 4)], max_p=16),
    }[request.param]()


@pytest.fixture(scope="session")
def large_kit() -> Kit:
    return make_kit(**LARGE)


@pytest.fixture(scope="session")
def toy_bgv() -> BgvKit:
    return make_bgv_kit()


@pytest.fixture(scope="session", params=["narrow", "wide", "coefficients"])
def any_bgv(request: pytest.FixtureRequest) -> BgvKit:
    """Each width of word, and a modulus without slots."""
    return {
        "narrow": lambda: make_bgv_kit(),
        "wide": lambda: make_bgv_kit(bits=55, limbs=6),
        "coefficients": lambda: make_bgv_kit(t=1000),
    }[request.param]()


@pytest.fixture(scope="session")
def toy_ckks() -> CkksKit:
    return make_ckks_kit()


@pytest.fixture(scope="session", params=["narrow", "wide"])
def any_ckks(request: pytest.FixtureRequest) -> CkksKit:
    """Each width of word."""
    return {
        "narrow": lambda: make_ckks_kit(),
        "wide": lambda: make_ckks_kit(scale_bits=50, word_bits=64),
    }[request.param]()


@pytest.fixture(scope="session", params=["kit", "toy_bgv", "toy_ckks"])
def each_kit(request: pytest.FixtureRequest) -> Any:
    """A kit of each scheme."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def generator() -> np.random.Generator:
    """Random, its seed printed with a failure."""
    seed = int.from_bytes(os.urandom(8), "little")
    print(f"seed {seed}")
    return np.random.default_rng(seed)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Imports a module of a folder of the repository, with those of bench.

    Folders have modules of the same names, so others of them are put aside for the test.
    """
    roots = tuple(str(ROOT / folder) for folder in ("apps", "bench", "rtl"))

    def theirs() -> dict[str, ModuleType]:
        known = sys.modules.items()
        return {n: m for n, m in known if (getattr(m, "__file__", None) or "").startswith(roots)}

    def load(name: str, folder: str = "bench") -> ModuleType:
        for path in ("bench", folder):
            monkeypatch.syspath_prepend(str(ROOT / path))
        return importlib.import_module(name)

    aside = theirs()
    for name in aside:
        del sys.modules[name]
    yield load
    for name in theirs():
        del sys.modules[name]
    sys.modules.update(aside)
