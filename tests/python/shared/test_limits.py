"""What strangers send and what callers ask for is bounded: sizes, costs, threads, memory, time."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit, CkksKit, Kit, child_succeeds, run_python
from whorl import bgv, binfhe, ckks


def test_fresh_ciphertexts_expand_within_limits(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "fresh.whorl"
    fresh = kit.client.encrypt(np.zeros(1000, int))
    fresh.save(path)
    frame = fresh.to_bytes()
    size = 1000 * (kit.parameters.n + 1) * 4
    loads: tuple[Callable[..., object], ...] = (
        lambda **limits: binfhe.Ciphertexts.load(path, True, **limits),
        lambda **limits: binfhe.Ciphertexts.from_bytes(frame, True, **limits),
    )
    for load in loads:
        load(max_count=1000, max_expanded_bytes=size)
        with pytest.raises(
            whorl.OversizedError, match=rf"1000 unpack to {size} bytes; at most 999"
        ):
            load(max_count=999)
        with pytest.raises(
            whorl.OversizedError,
            match=rf"1000 unpack .* {size - 1} are accepted .max_expanded_bytes",
        ):
            load(max_expanded_bytes=size - 1)
        for wrong in (-1, 2**64):
            with pytest.raises(ValueError, match=f"max_count: {wrong}"):
                load(max_count=wrong)


def test_a_small_frame_of_gigabytes_is_refused() -> None:
    """A frame as an attacker makes it: 900 KB, of which a gigabyte and more would become."""
    params = binfhe.parameters("W128_P64")
    count = 2**30 // (4 * (params.n + 1)) + 1
    one = binfhe.Client(params).encrypt([0]).to_bytes()
    word = 2 if params.q <= 2**16 else 4
    at = one.index((1).to_bytes(8, "little"), 64)
    frame = bytearray(one[: -32 - word] + bytes(word * count))
    frame[at : at + 8] = count.to_bytes(8, "little")
    frame = _sealed(frame)
    size = 4 * (params.n + 1) * count
    with pytest.raises(
        whorl.OversizedError,
        match=rf"{count} unpack .* at most {2**28} are accepted "
        rf"\(max_expanded_bytes = {size} accepts them\)",
    ):
        binfhe.Ciphertexts.from_bytes(bytes(frame))


def test_shapes_that_numpy_cannot_hold_are_refused(kit: Kit) -> None:
    frame = bytearray(kit.client.encrypt(np.zeros((0, 77), int)).to_bytes()[:-32])
    at = frame.rindex((77).to_bytes(8, "little"))

    def load(length: int) -> binfhe.Ciphertexts:
        frame[at : at + 8] = length.to_bytes(8, "little")
        return binfhe.Ciphertexts.from_bytes(bytes(_sealed(frame[:])), True)

    a = load(2**40)
    assert a.data.shape == (0, 2**40, kit.parameters.n + 1)
    assert a.T.shape == (2**40, 0)
    assert kit.client.decrypt(kit.server.not_(a)).shape == a.shape == (0, 2**40)
    for length in (2**40 + 1, 2**62, 2**63, 2**64 - 1):
        with pytest.raises(whorl.FormatError, match=r"shape: .* NumPy holds no larger arrays"):
            load(length)


def _sealed(frame: bytearray) -> bytearray:
    """With the payload's length, the header's check and the digest that belong to it."""
    from hashlib import blake2b

    frame[16:24] = (len(frame) - 64).to_bytes(8, "little")
    frame[56:64] = blake2b(bytes(frame[:56]), digest_size=16).digest()[:8]
    return frame + blake2b(bytes(frame), digest_size=32).digest()


@pytest.mark.parametrize("kind", ["ciphertexts", "keys"])
def test_what_is_expected_is_checked(
    kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit, tmp_path: Path, kind: str
) -> None:
    for mine, others in ((kit, toy_bgv), (toy_bgv, toy_ckks), (toy_ckks, kit)):
        value = mine.client.encrypt([0, 1]) if kind == "ciphertexts" else mine.keys
        path = tmp_path / "value.whorl"
        value.save(path)
        load = type(value).load
        load(path, True, expect_parameters=mine.parameters, expect_key=mine.client.key_id)
        with pytest.raises(whorl.ParameterMismatchError):
            load(path, True, expect_parameters=others.parameters)
        with pytest.raises(whorl.KeyMismatchError):
            load(path, True, expect_key="00" * 16)
        for wrong in ("ab", "x" * 32):
            with pytest.raises(ValueError, match="expect_key"):
                load(path, True, expect_key=wrong)
        with pytest.raises(TypeError, match="expect_parameters"):
            load(path, True, expect_parameters="W128")


def test_keys_without_a_payload_make_no_tables() -> None:
    """A server would make tables of hundreds of MB for few bytes that name large parameters."""
    from support import ntt_primes

    primes = ntt_primes(50, 2**17, 20)
    literal: bgv.ParameterLiteral = {
        "name": "large",
        "N": 2**17,
        "t": 65537,
        "chain": primes[1:],
        "special": primes[:1],
        "digit_limbs": 1,
    }
    chosen = bgv.parameters(literal=literal, allow_insecure=True)
    frame = bytearray(chosen.to_bytes()[:-32])
    frame[6:8] = (18).to_bytes(2, "little")  # BGV evaluation keys: none of them
    frame += bytes(8)
    frame += bytes(-len(frame) % 64)
    sealed = bytes(_sealed(frame))
    assert len(sealed) < 1000
    with pytest.raises(whorl.OversizedError, match=r"0 keys .* expect_parameters"):
        bgv.EvaluationKeys.from_bytes(sealed, True)
    assert bgv.EvaluationKeys.from_bytes(sealed, True, expect_parameters=chosen).nbytes == 0


def test_the_cost_of_a_passphrase_is_the_callers(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "secret.whorl"
    kit.client.save(path, "correct horse")
    started = time.process_time()
    bounds: tuple[dict[str, Any], ...] = ({"max_kdf_passes": 2}, {"max_kdf_bytes": 2**27})
    for bound in bounds:
        with pytest.raises(whorl.OversizedError, match="3 passes over 268435456 bytes; at most"):
            binfhe.Client.load(path, "correct horse", True, **bound)
    assert time.process_time() - started < 0.5
    with pytest.raises(whorl.KeyMismatchError):
        binfhe.Client.load(path, "correct horse", True, expect_key="00" * 16)
    again = binfhe.Client.load(
        path, "correct horse", True, expect_parameters=kit.parameters, expect_key=kit.client.key_id
    )
    assert again.key_id == kit.client.key_id


@pytest.mark.parametrize("threads", [2**30, 1025])
def test_threads_are_bounded(kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit, threads: int) -> None:
    for ask in (
        lambda: kit.client.evaluation_keys(threads=threads),
        lambda: toy_bgv.client.evaluation_keys(threads=threads),
        lambda: binfhe.Server(kit.keys, "cpu", threads),
        lambda: bgv.Server(toy_bgv.keys, "cpu", threads),
        lambda: toy_ckks.client.evaluation_keys(threads=threads),
        lambda: ckks.Server(toy_ckks.keys, "cpu", threads),
    ):
        with pytest.raises(whorl.ParameterError, match=f"threads = {threads} is above 1024"):
            ask()


def test_short_memory_is_an_exception() -> None:
    """Under a limit on memory: no more threads, and no more bytes, than the system gives."""
    code = """
import resource
import numpy as np, whorl
client = whorl.binfhe.Client(whorl.binfhe.parameters("W128_P64"))
messages = np.zeros(2**19, np.uint32)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))
try:
    client.encrypt(messages)
except whorl.OutOfMemoryError as error:
    print("refused:", error)
try:
    client.evaluation_keys(threads=1024)
    print("made")
except whorl.OutOfMemoryError:
    print("made not")
"""
    said = run_python(code).stdout
    assert "refused: fresh ciphertexts" in said
    assert "made" in said


def test_a_fork_amid_calls_of_another_thread(kit: Kit, toy_bgv: BgvKit) -> None:
    """The child's calls work, or say what to do; none waits for threads that it has not."""
    bits = kit.client.encrypt([0, 1])
    rows = toy_bgv.client.encrypt([[1, 2], [3, 4]])
    enough = threading.Event()

    def call() -> None:
        a = toy_bgv.server.upload(rows)
        while not enough.is_set():
            toy_bgv.server.rotate(a * a, 1)
            kit.server.nand(bits, bits)

    def in_child() -> bool:
        for work, expected in (
            (lambda: kit.client.decrypt(kit.server.nand(bits, bits)).tolist(), [1, 0]),
            (lambda: toy_bgv.client.decrypt(toy_bgv.server.multiply(rows, rows))[1, 1], 16),
        ):
            try:
                if work() != expected:
                    return False
            except whorl.DeviceError as error:
                if "forked" not in str(error):
                    return False
        anew = bgv.Server(toy_bgv.keys, "cpu")
        return bool(toy_bgv.client.decrypt(anew.multiply(rows, rows))[1, 1] == 16)

    other = threading.Thread(target=call)
    other.start()
    try:
        for _ in range(10):
            assert child_succeeds(in_child)
            time.sleep(0.01)
    finally:
        enough.set()
        other.join()


def test_a_file_changed_after_loading(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "keys.whorl"
    kit.keys.save(path)
    keys = binfhe.EvaluationKeys.load(path, True)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * (size // 4))
    os.truncate(path, size // 2 + 100)
    server = binfhe.Server(keys, "cpu")
    bits = kit.client.encrypt([0, 1])
    assert kit.client.decrypt(server.nand(bits, bits)).tolist() == [1, 0]
    with pytest.raises(whorl.TruncatedError):
        binfhe.EvaluationKeys.load(path, True)
