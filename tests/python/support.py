"""What the tests share: a small insecure parameter set, so that a bootstrap takes a moment."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import whorl
from whorl import bgv, ckks
from whorl.binfhe import Client, EvaluationKeys, Lut, Parameters, Server, parameters

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]

DATA = Path(os.environ.get("WHORL_TEST_DATA", ROOT.parent / "shared" / "data"))
"""Data that the repository may not carry."""


def shared_data(name: str) -> Path:
    """A file of them; without it the test is skipped."""
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{path} is absent; WHORL_TEST_DATA names the folder that has {name}")
    return path


# Noise is so small that 2^-64 bounds the failure of what the tests do: see test_toy_set_is_exact.
TOY = {
    "name": "toy",
    "n": 32,
    "q": 2048,
    "N": 1024,
    "Q": 134215681,
    "Q_ks": 2**20,
    "log_B_ks": 5,
    "gadget": [(32, 7, 4)],
    "lwe_secret": "ternary",
    "transform": "ntt",
    "max_p": 8,
}


@dataclass(frozen=True)
class Kit:
    """Both halves under one key."""

    parameters: Parameters
    client: Client
    keys: EvaluationKeys
    server: Server


# The literal of messages of many bits, which is not secure.
LARGE = {
    "name": "large",
    "q": 2**20,
    "N": 512,
    "Q": 18014398509404161,
    "Q_ks": 2**35,
    "key_switch": "product",
    "gadget": [(32, 14, 3)],
    "small_modulus_gadgets": [(17, 18, 2), (12, 27, 1)],
}


def make_kit(**changes: object) -> Kit:
    chosen = parameters({**TOY, **changes}, allow_insecure=True)
    client = Client(chosen)
    keys = client.evaluation_keys()
    return Kit(chosen, client, keys, Server(keys, device="cpu"))


def ntt_primes(bits: int, N: int, count: int) -> list[int]:
    """The largest primes of so many bits that are 1 modulo 2N, descending."""
    found: list[int] = []
    candidate = (1 << bits) - 2 * N + 1
    while len(found) < count:
        if all(pow(base, candidate - 1, candidate) == 1 for base in (2, 3, 5, 7, 11)):
            found.append(candidate)
        candidate -= 2 * N
    return found


@dataclass(frozen=True)
class BgvKit:
    """Both halves of BGV under one key, and the N and t of the parameters."""

    parameters: bgv.Parameters
    client: bgv.Client
    keys: bgv.EvaluationKeys
    server: bgv.Server
    N: int
    t: int


BGV_ROTATIONS = (1, 2, 3, -1, 5)


def bgv_literal(t: int = 12289, bits: int = 30, limbs: int = 12) -> bgv.ParameterLiteral:
    """Small and insecure: N = 1024, three digits."""
    digit = -(-limbs // 3)
    primes = ntt_primes(bits, 1024, limbs + digit)
    return {
        "name": "toy",
        "N": 1024,
        "t": t,
        "chain": primes[digit:],
        "special": primes[:digit],
        "digit_limbs": digit,
    }


def make_bgv_kit(t: int = 12289, bits: int = 30, limbs: int = 12) -> BgvKit:
    chosen = bgv.parameters(literal=bgv_literal(t, bits, limbs), allow_insecure=True)
    client = bgv.Client(chosen)
    keys = client.evaluation_keys(4, (*BGV_ROTATIONS, 4), swap_rows=True)
    return BgvKit(chosen, client, keys, bgv.Server(keys, device="cpu"), chosen.N, chosen.t)


@dataclass(frozen=True)
class CkksKit:
    """Both halves of CKKS under one key."""

    parameters: ckks.Parameters
    client: ckks.Client
    keys: ckks.EvaluationKeys
    server: ckks.Server


CKKS_ROTATIONS = (1, 2, 3, -1)


def ckks_literal(
    depth: int = 3, scale_bits: int = 40, word_bits: int = 32, name: str = "toy"
) -> ckks.ParameterLiteral:
    """Small and insecure: the primes of secure parameters, which also serve N = 1024."""
    secure = ckks.parameters(depth, scale_bits, word_bits=word_bits)
    return {**secure.literal(), "N": 1024, "name": name}


def make_ckks_kit(depth: int = 3, scale_bits: int = 40, word_bits: int = 32) -> CkksKit:
    literal = ckks_literal(depth, scale_bits, word_bits)
    chosen = ckks.parameters(literal=literal, allow_insecure=True)
    client = ckks.Client(chosen)
    keys = client.evaluation_keys(4, CKKS_ROTATIONS, conjugate=True, sums=8)
    return CkksKit(chosen, client, keys, ckks.Server(keys, device="cpu"))


def pickled(value: T) -> T:
    """What comes back of a pickle, with consent to parameters of no security."""
    with whorl.allow_insecure_pickles():
        again: T = pickle.loads(pickle.dumps(value))
    return again


def child_succeeds(work: Callable[[], bool]) -> bool:
    """Whether `work` says yes, in a forked child, within a minute."""
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = work()
        finally:
            os._exit(0 if good else 1)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended == child:
            return status == 0
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def check_bad_files(
    load: Callable[[Path], object], good: Path, others: Iterable[Path], folder: Path
) -> None:
    """Each kind of damage to the file `good` has its own exception; `others` are of other types."""
    load(good)
    data = good.read_bytes()
    flipped, version = bytearray(data), bytearray(data)
    flipped[len(data) * 2 // 3] ^= 16
    version[4] ^= 0x40
    bad = folder / "bad.whorl"
    for damaged, error in (
        (data[:-1], whorl.TruncatedError),
        (data[:40], whorl.TruncatedError),
        (b"", whorl.FormatError),
        (b"PK\3\4" + data[4:], whorl.FormatError),
        (data + b"x", whorl.OversizedError),
        (bytes(flipped), whorl.CorruptionError),
        (bytes(version), whorl.VersionError),
    ):
        bad.write_bytes(damaged)
        bad.chmod(0o600)
        with pytest.raises(error):
            load(bad)
    for other in others:
        with pytest.raises(whorl.TypeMismatchError):
            load(other)
    with pytest.raises(whorl.IoError):
        load(folder / "absent.whorl")


def environment(**more: str) -> dict[str, str]:
    """The environment of a process whose PYTHONPATH finds this very package."""
    return {**os.environ, "PYTHONPATH": str(Path(whorl.__file__).parent.parent), **more}


def run_python(code: str, *args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own."""
    return run(sys.executable, "-c", code, *args, **kwargs)


def run(*command: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
        **kwargs,
    )


PASSPHRASE = "correct horse"


def save_files(kit: Any, values: Any, work: Callable[[Any], Any], folder: Path) -> dict[str, Path]:
    """A file of each type that a scheme has; results are work(fresh)."""
    fresh = kit.client.encrypt(values)
    made = {
        "parameters": kit.parameters,
        "keys": kit.keys,
        "ciphertexts": fresh,
        "results": work(kit.server.upload(fresh)).to_host(),
    }
    if isinstance(kit, Kit):
        made["lut"] = Lut(kit.parameters, [0, 1, 2, 3])
    else:
        made["public"] = kit.client.public_key()
    paths = {name: folder / f"{name}.whorl" for name in (*made, "secret")}
    for name, value in made.items():
        value.save(paths[name])
    kit.client.save(paths["secret"], PASSPHRASE)
    return paths
