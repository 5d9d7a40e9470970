"""Servers of a service, of different schemes and clients, on one session."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
import whorl.server
from support import ROOT, BgvKit, CkksKit, Kit, make_bgv_kit
from whorl import OutOfMemoryError, ParameterError, Session, bgv, binfhe, ckks
from whorl._core.session import device_name, in_python


def test_a_session_says_what_it_has_opened() -> None:
    assert whorl.server.Session is Session and "Session" in whorl.__all__
    for room in (0, 1, 12345, np.uint32(7), 2**63):
        session = Session("cpu", threads=2, key_bytes=room)  # type: ignore[arg-type]
        assert session.key_bytes == room and type(session.key_bytes) is int
        assert session.threads == 2 and session.devices == (session.device,)
        assert session.failed_devices == ()
        assert repr(session).startswith(f"<Session on {session.device}")
        assert (f"{room} bytes for keys" in repr(session)) == (room != 0)
        session.synchronise()
    with pytest.raises(AttributeError):
        session.key_bytes = 3
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(session)


def test_a_missing_backend_has_one_remedy_in_python() -> None:
    """The library's own sentence also speaks to users of C++."""
    source = (ROOT / "src" / "backend" / "devices.cpp").read_text(encoding="utf-8")
    told = source.partition("DeviceError(\n")[2].partition(");\n")[0]
    sentence = "".join(re.findall(r'^ *"(.*)"$', told, re.MULTILINE)).replace('\\"', '"')
    assert "in C++" in sentence and "nvcc" in sentence
    assert in_python(f'device "cuda": {sentence}') == (
        'device "cuda": this build has no CUDA backend: `pip install "whorl-fhe[cuda13]"` brings '
        "one for Python"
    )


def test_a_missing_core_names_what_needs_nothing() -> None:
    """The simulated accelerator is built in a checkout."""
    with pytest.raises(whorl.errors.DeviceError) as refused:
        Session("rtl")
    with pytest.raises(whorl.errors.DeviceError) as unnamed:
        device_name("rtl")
    listed = next(each.why for each in whorl.devices() if each.name == "rtl")
    for told in (str(refused.value), str(unnamed.value), listed):
        assert "it needs a checkout, where `make -C rtl/sim" in told
        assert 'device="rtl-model" needs nothing' in told


def test_the_device_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_DEVICE", "abacus")
    with pytest.raises(whorl.errors.DeviceError, match="abacus"):
        Session()
    monkeypatch.setenv("WHORL_DEVICE", "cpu")
    assert Session().device.startswith("cpu (")


@pytest.mark.parametrize("room", [-1, 2**64, 1.5, "1000", None, True])
def test_a_room_that_is_none_is_refused(room: Any) -> None:
    with pytest.raises(ParameterError, match="key_bytes") as failure:
        Session("cpu", key_bytes=room)
    assert str(room) in str(failure.value)


def test_both_schemes_take_turns(kit: Kit, toy_bgv: BgvKit, tmp_path: Path) -> None:
    """From files, and the session held by the servers alone; arrays of both stay right."""
    toy_bgv.keys.save(tmp_path / "vectors")
    gate_bytes, vector_bytes = kit.server.key_bytes, toy_bgv.server.key_bytes
    room = max(gate_bytes, vector_bytes)
    session = Session("cpu", key_bytes=room)
    vectors = bgv.Server(tmp_path / "vectors", allow_insecure=True, session=session)
    gates = binfhe.Server(kit.keys, session=session)
    assert gates.device == vectors.device == session.device
    del session
    kept = vectors.upload(toy_bgv.client.encrypt([5, 6])), gates.upload(kit.client.encrypt([0, 1]))
    for _ in range(2):
        bits = gates.nand(kit.client.encrypt([0, 1]), kit.client.encrypt([1, 1]))
        assert kit.client.decrypt(bits).tolist() == [1, 0]
        assert gates.key_bytes == gate_bytes
        x = vectors.upload(toy_bgv.client.encrypt([3, 4]))
        for columns in (1, 2, 3, -1, 4):
            vectors.rotate(x, columns)
        square = vectors.relinearise(vectors.multiply(x, x, relinearise=False))
        assert toy_bgv.client.decrypt(square)[:2].tolist() == [9, 16]
        assert gates.key_bytes + vectors.key_bytes <= room
        assert toy_bgv.client.decrypt(kept[0])[:2].tolist() == [5, 6]
        assert kit.client.decrypt(kept[1]).tolist() == [0, 1]


@pytest.mark.parametrize("scheme", [bgv, ckks])
def test_servers_of_one_key_take_each_others_arrays(
    scheme: Any, toy_bgv: BgvKit, toy_ckks: CkksKit
) -> None:
    kit: Any = toy_bgv if scheme is bgv else toy_ckks
    client, x = kit.client, kit.client.encrypt([1, 0, 1, 1])
    session = Session("cpu")
    turns, multiplies, foreign = (
        scheme.Server(keys, session=session)
        for keys in (
            client.evaluation_keys(relinearise=2, rotations=[1]),
            client.evaluation_keys(),
            scheme.Client(kit.parameters).evaluation_keys(rotations=[1]),
        )
    )
    a = turns.upload(x)
    turned = turns.rotate(a, 1)
    for made, server in (
        (multiplies.multiply(turned, a), multiplies),
        (multiplies.upload(turned) * a, multiplies),
        (turned + multiplies.square(a), turns),
        (scheme.stack([turned, multiplies.upload(x)]), turns),
    ):
        assert made.server is server
    through_host = multiplies.multiply(turned.to_host(), x)
    product = multiplies.multiply(turned, a)
    assert product.to_host().to_bytes() == through_host.to_host().to_bytes()
    assert turns.download(product).to_bytes() == product.to_host().to_bytes()
    with pytest.raises(whorl.errors.MissingKeyError):
        turned * a
    elsewhere = scheme.Server(kit.keys, session=Session("cpu"))
    for server, error, told in (
        (foreign, whorl.errors.KeyMismatchError, "and the server of key"),
        (elsewhere, whorl.errors.DeviceError, "give both servers one session"),
    ):
        for method in (server.upload, server.download, server.negate, server.square):
            with pytest.raises(error, match=told):
                method(a)
        with pytest.raises(error, match=told):
            server.add(a, a)
    with pytest.raises(whorl.errors.DeviceError, match="give both servers one session"):
        scheme.stack([a, elsewhere.upload(x)])


def test_plaintexts_serve_every_key_of_their_parameters(toy_bgv: BgvKit, toy_ckks: CkksKit) -> None:
    """What one server encoded, another of the session takes, with the bits of its own."""
    session = Session("cpu")
    clients = toy_bgv.client, bgv.Client(toy_bgv.parameters)
    rotations = bgv.rotations_for(toy_bgv.parameters, (3, 2))
    server, lender = (
        bgv.Server(each.evaluation_keys(2, **rotations), session=session) for each in clients
    )
    x = server.upload(toy_bgv.client.encrypt([[1, 2, 3], [4, 5, 6]]))
    values, matrix = [[7, 8, 9], [1, 0, 1]], [[1, 2], [3, 4], [5, 6]]
    for lent, own in (
        (x * lender.encode(values), x * server.encode(values)),
        (x - lender.encode(values)[1], x - server.encode(values)[1]),
        (x @ lender.encode_matrix(matrix), x @ server.encode_matrix(matrix)),
    ):
        assert lent.server is server and lent.to_host().to_bytes() == own.to_host().to_bytes()

    swap = ckks.diagonals({0: [0.5, 1], 1: [1, 2]}, 2)
    product = ckks.MatrixProduct(2)
    reals, tenant = (
        ckks.Server(
            each.evaluation_keys(4, rotations=[*swap.rotations, *product.rotations]),
            session=session,
        )
        for each in (toy_ckks.client, ckks.Client(toy_ckks.parameters))
    )
    y = reals.upload(toy_ckks.client.encrypt([0.5, 0.25]))
    z = reals.upload(toy_ckks.client.encrypt([0.5, 0.25, 0.125, 1]))
    mapped, multiplied = tenant.encode(swap), tenant.encode(product)
    assert (mapped @ y).to_host().to_bytes() == (reals.encode(swap) @ y).to_host().to_bytes()
    with_own = z.matmul(z, reals.encode(product))
    assert z.matmul(z, multiplied).to_host().to_bytes() == with_own.to_host().to_bytes()

    elsewhere = bgv.Server(toy_bgv.client.evaluation_keys(2, **rotations), device="cpu")
    narrow = make_bgv_kit(t=40961)
    narrower = bgv.Server(narrow.client.evaluation_keys(2), session=session)
    for other, error, told in (
        (elsewhere, whorl.errors.DeviceError, "encode them here, or give both servers one session"),
        (narrower, whorl.errors.ParameterMismatchError, "whose parameters are others"),
    ):
        for work in (
            lambda m: x + m.encode(values),
            lambda m: x * m.encode(values),
            lambda m: x @ m.encode_matrix(matrix),
        ):
            with pytest.raises(error, match=f"plaintexts of another server.*{told}"):
                work(other)
    apart = ckks.Server(toy_ckks.keys, device="cpu")
    for call in (lambda: apart.encode(swap) @ y, lambda: z.matmul(z, apart.encode(product))):
        with pytest.raises(whorl.errors.DeviceError, match="encode them here"):
            call()


def test_refusals(kit: Kit, toy_bgv: BgvKit) -> None:
    session = Session("cpu", key_bytes=1)
    for keys, server in ((kit.keys, binfhe.Server), (toy_bgv.keys, bgv.Server)):
        make: Any = server
        for option in ({"device": "cpu"}, {"threads": 1}, {"key_bytes": 1000}):
            with pytest.raises(ParameterError, match=f"{next(iter(option))} = .* beside a session"):
                make(keys, session=session, **option)
        for other in (2**30, session._core, "cpu"):
            with pytest.raises(TypeError, match="session"):
                make(keys, session=other)
    with pytest.raises(OutOfMemoryError, match="1 bytes"):
        binfhe.Server(kit.keys, session=session)
    with pytest.raises(ParameterError, match="rotation: a session has opened"):
        binfhe.Server(kit.keys, session=Session("cpu"), rotation="single")
    small = bgv.Server(toy_bgv.keys, session=session)
    with pytest.raises(OutOfMemoryError, match="1 bytes"):
        small.rotate(toy_bgv.client.encrypt([1]), 1)
