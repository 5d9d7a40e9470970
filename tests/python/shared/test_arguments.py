"""Arguments of the wrong kind: the error names the argument and what was given."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import whorl
from support import BgvKit, Kit
from whorl import bgv, binfhe

Call = Callable[[Kit, BgvKit], Any]

CALLS: dict[str, tuple[type[Exception], str, Call]] = {
    "padding": (
        TypeError,
        "padding: a bool is needed, not None",
        lambda k, _: k.client.encrypt([1], padding=None),  # type: ignore[arg-type]
    ),
    "threads of keys": (
        TypeError,
        "threads: an integer is needed, not 'two'",
        lambda k, _: k.client.evaluation_keys(threads="two"),  # type: ignore[arg-type]
    ),
    "many threads": (
        whorl.ParameterError,
        f"threads = {2**40} is above 1024",
        lambda k, _: k.client.evaluation_keys(threads=2**40),
    ),
    "threads of a server": (
        TypeError,
        "threads: an integer is needed, not None",
        lambda k, _: binfhe.Server(k.keys, device="cpu", threads=None),  # type: ignore[arg-type]
    ),
    "device": (
        TypeError,
        "device: a name such as 'cuda:0' is needed, not 0",
        lambda k, _: binfhe.Server(k.keys, device=0),  # type: ignore[arg-type]
    ),
    "progress": (
        TypeError,
        "progress: a bool or a callable is needed, not 5",
        lambda k, _: k.client.evaluation_keys(progress=5),  # type: ignore[arg-type]
    ),
    "data": (
        TypeError,
        "data: bytes are needed, not NoneType",
        lambda *_: binfhe.Ciphertexts.from_bytes(None),  # type: ignore[arg-type]
    ),
    "max_count": (
        TypeError,
        "max_count: an integer is needed, not 'a'",
        lambda *_: binfhe.Ciphertexts.from_bytes(b"", max_count="a"),  # type: ignore[arg-type]
    ),
    "passphrase": (
        TypeError,
        "passphrase: text or bytes are needed, not NoneType",
        lambda k, _: k.client.save("unused", None),  # type: ignore[arg-type]
    ),
    "gate": (
        TypeError,
        "gate: the name of a gate is needed, not None",
        lambda k, _: k.server.gate(None),  # type: ignore[arg-type]
    ),
    "rotations": (
        whorl.ParameterError,
        "rotations: 1 is not a list of integers",
        lambda _, b: b.client.evaluation_keys(rotations=1),  # type: ignore[arg-type]
    ),
    "parameters of another scheme": (
        TypeError,
        "parameters: parameters of FHEW/TFHE are needed, not of BGV",
        lambda _, b: binfhe.Client(b.parameters),
    ),
    "rows of different lengths": (
        whorl.ShapeError,
        "messages: rows have different lengths: row 0 has 1 value, and row 1 has 2",
        lambda k, _: k.client.encrypt([[1], [1, 0]]),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(kit: Kit, toy_bgv: BgvKit, name: str) -> None:
    error, message, call = CALLS[name]
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(kit, toy_bgv)
    assert "incompatible function arguments" not in str(caught.value)


def test_bytes_of_every_kind_are_loaded(kit: Kit) -> None:
    frame = kit.client.encrypt([1, 0]).to_bytes()
    for data in (frame, bytearray(frame), memoryview(frame)):
        loaded = binfhe.Ciphertexts.from_bytes(data, True)  # type: ignore[arg-type]
        assert kit.client.decrypt(loaded).tolist() == [1, 0]


def test_errors_name_keys_and_parameters(kit: Kit, tmp_path: Path) -> None:
    other = binfhe.Client(kit.parameters)
    strange = other.encrypt([1])
    both = f"{other.key_id[:8]}….*{kit.client.key_id[:8]}…"
    with pytest.raises(whorl.KeyMismatchError, match=both):
        kit.client.decrypt(strange)
    with pytest.raises(whorl.KeyMismatchError, match=both):
        kit.server.upload(strange)
    strange.save(tmp_path / "x")
    with pytest.raises(whorl.KeyMismatchError, match=both):
        binfhe.Ciphertexts.load(tmp_path / "x", True, expect_key=kit.client.key_id)
    wanted = binfhe.parameters("W128_P64")
    digests = f"{kit.parameters.digest[:8]}….*{wanted.digest[:8]}…"
    with pytest.raises(whorl.ParameterMismatchError, match=digests):
        binfhe.Ciphertexts.load(tmp_path / "x", True, expect_parameters=wanted)


def test_a_t_that_is_named_serves() -> None:
    """If no ring carries a circuit, the error says that, and names no t."""
    with pytest.raises(whorl.ParameterError, match=r"no parameters for depth 60"):
        bgv.parameters(depth=60)
    with pytest.raises(whorl.ParameterError, match="nearest t that serve") as caught:
        bgv.parameters(depth=3, plain_modulus=65539)
    named = [int(t) for t in re.findall(r"\d+", str(caught.value).partition("nearest")[2])]
    assert named
    for t in named:
        assert bgv.parameters(depth=3, plain_modulus=t).has_slots
