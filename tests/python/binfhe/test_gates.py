"""Gates: truth tables on any shape, broadcasting, determinism."""

import itertools
import operator
import threading
import time
from typing import Any

import numpy as np
import pytest
import whorl
from applications import with_few_coefficients
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import Kit, make_kit
from truth import ARITY, TRUTH, bits_p
from whorl.binfhe import Ciphertexts, Client, Lut, Server, concatenate


def test_toy_set_is_exact() -> None:
    """What lets the other tests demand every bit: decryption fails with probability under 2^-64."""
    for changes in ({}, {"transform": "fft"}, {"lwe_secret": "binary"}):
        parameters = make_kit(**changes).parameters
        assert parameters.failure_log2 < -64
        assert parameters.gate_failure_log2(4, 8) < -64
        assert parameters.lut_failure_log2(8) < -64
        assert parameters.lut_failure_log2(8, padding=True, arbitrary=False) < -64


@pytest.mark.parametrize("name", TRUTH)
def test_truth_table(any_kit: Kit, name: str) -> None:
    """By name, and by the method of that name."""
    rows = np.array(list(itertools.product([0, 1], repeat=ARITY[name]))).T
    inputs = [any_kit.client.encrypt(row, p=bits_p(name)) for row in rows]
    method = getattr(any_kit.server, {"and": "and_", "or": "or_"}.get(name, name))
    for result in (any_kit.server.gate(name, *inputs), method(*inputs)):
        assert np.array_equal(any_kit.client.decrypt(result), TRUTH[name](*rows))
        assert result.p == bits_p(name)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (0, 4), (2, 1, 3)])
@pytest.mark.parametrize("name", ["nand", "majority", "and4"])
def test_shapes(
    kit: Kit, name: str, shape: tuple[int, ...], generator: np.random.Generator
) -> None:
    bits = [generator.integers(0, 2, size=shape) for _ in range(ARITY[name])]
    result = kit.server.gate(name, *(kit.client.encrypt(each, p=bits_p(name)) for each in bits))
    decrypted = kit.client.decrypt(result)
    assert result.shape == decrypted.shape == shape
    assert np.array_equal(decrypted, TRUTH[name](*bits))


@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), data=st.data()
)
def test_broadcasting(kit: Kit, shapes: hnp.BroadcastableShapes, data: st.DataObject) -> None:
    a, b = (
        data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 1)))
        for shape in shapes.input_shapes
    )
    result = kit.server.xor(kit.client.encrypt(a), kit.client.encrypt(b))
    assert result.shape == shapes.result_shape
    assert np.array_equal(kit.client.decrypt(result), a ^ b)


def test_shapes_that_do_not_broadcast(kit: Kit) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        kit.server.and_(kit.client.encrypt([0, 1]), kit.client.encrypt([0, 1, 1]))


def test_not_is_free(kit: Kit) -> None:
    fresh = kit.client.encrypt([[0, 1], [1, 0]])
    inverted = kit.server.not_(fresh)
    assert kit.client.decrypt(inverted).tolist() == [[1, 0], [0, 1]]
    noise, other = (
        kit.client.noise(fresh, [[0, 1], [1, 0]]),
        kit.client.noise(inverted, [[1, 0], [0, 1]]),
    )
    assert np.array_equal(noise, -other)


def test_mux(any_kit: Kit) -> None:
    select, a, b = np.array(list(itertools.product([0, 1], repeat=3))).T
    encrypted = [any_kit.client.encrypt(each) for each in (select, a, b)]
    expected = np.where(select == 1, a, b)
    assert np.array_equal(any_kit.client.decrypt(any_kit.server.mux(*encrypted)), expected)
    assert np.array_equal(any_kit.client.decrypt(any_kit.server.cmux(*encrypted)), expected)


def test_bootstrap_refreshes_and_changes_encoding(kit: Kit) -> None:
    bits = np.array([0, 1] * 32)
    noisy = kit.server.linear([1, 5, -5], [kit.client.encrypt(bits) for _ in range(3)], largest=1)
    refreshed = kit.server.bootstrap(noisy, p_out=8)
    assert refreshed.p == 8
    assert np.array_equal(kit.client.decrypt(refreshed), bits)
    before, after = kit.client.noise(noisy, bits), kit.client.noise(refreshed, bits)
    assert np.abs(after).max() < np.abs(before).max()


def test_output_encoding_feeds_the_next_gate(kit: Kit) -> None:
    a, b, c = (kit.client.encrypt([0, 1, 1]) for _ in range(3))
    wide = [kit.server.gate("and", a, b, p_out=6), kit.server.bootstrap(c, p_out=6)]
    result = kit.server.and3(wide[0], wide[1], kit.server.bootstrap(a, p_out=6))
    assert kit.client.decrypt(result).tolist() == [0, 1, 1]


def test_operators(kit: Kit) -> None:
    a, b = kit.server.upload(kit.client.encrypt([0, 0, 1, 1])), kit.client.encrypt([0, 1, 0, 1])
    for result, expected in (
        (a & b, [0, 0, 0, 1]),
        (b | a, [0, 1, 1, 1]),
        (a ^ b, [0, 1, 1, 0]),
        (~a, [1, 1, 0, 0]),
        (~(a ^ b) & a, [0, 0, 0, 1]),
    ):
        assert result.server is kit.server
        assert kit.client.decrypt(result).tolist() == expected


def test_operators_need_a_server(kit: Kit) -> None:
    a: Any = kit.client.encrypt([0, 1])
    with pytest.raises(TypeError, match="upload"):
        operator.invert(a)
    other = Server(kit.keys, device="cpu")
    with pytest.raises(whorl.DeviceError, match="another server"):
        kit.server.upload(a) & other.upload(a)


@pytest.mark.parametrize("transform", ["ntt", "fft"])
def test_threads_and_transform_are_options(kit: Kit, transform: str) -> None:
    """Bits are the same for any number of threads, and those of each transform its own."""
    a, b = kit.client.encrypt([0, 0, 1, 1]), kit.client.encrypt([0, 1, 0, 1])
    one, three = (Server(kit.keys, "cpu", threads, transform=transform) for threads in (1, 3))
    assert (one.threads, three.threads, one.transform) == (1, 3, transform)
    assert np.array_equal(one.nand(a, b).to_host().data, three.nand(a, b).to_host().data)


def test_wrong_use(kit: Kit) -> None:
    a = kit.client.encrypt([0, 1])
    with pytest.raises(ValueError, match="nandd"):
        kit.server.gate("nandd", a, a)
    with pytest.raises(TypeError, match="it takes 2"):
        kit.server.gate("nand", a)
    with pytest.raises(TypeError, match="ciphertexts"):
        kit.server.not_(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ciphertexts"):
        kit.server.nand(0, 1)
    with pytest.raises(whorl.EncodingError):
        kit.server.xor(kit.client.encrypt([0], p=6), kit.client.encrypt([0], p=6))
    with pytest.raises(whorl.EncodingError):
        kit.server.nand(a, kit.client.encrypt([0, 1], p=6))
    with pytest.raises(whorl.EncodingError):
        kit.client.encrypt([4], p=4)
    with pytest.raises(whorl.EncodingError):
        kit.client.encrypt([-1])
    with pytest.raises(TypeError):
        kit.client.encrypt([0.5])


def test_linear(kit: Kit, generator: np.random.Generator) -> None:
    a, b = generator.integers(0, 8, size=(2, 6))
    x, y = kit.client.encrypt(a, p=8), kit.client.encrypt(b, p=8)
    for result, expected in (
        (kit.server.linear([2, -1], [x, y], 3), 2 * a - b + 3),
        (kit.server.add(x, y), a + b),
        (kit.server.sub(x, y), a - b),
        (kit.server.add(x, kit.server.trivial(b, p=8)), a + b),
    ):
        assert np.array_equal(kit.client.decrypt(result), expected % 8)
    with pytest.raises(ValueError, match="weights"):
        kit.server.linear([1], [x, y])


def test_trivial(kit: Kit) -> None:
    known = kit.server.trivial([[0, 1], [2, 3]])
    assert not known.to_host().data[..., :-1].any()
    assert kit.client.decrypt(known).tolist() == [[0, 1], [2, 3]]
    assert not kit.client.noise(known, [[0, 1], [2, 3]]).any()


def test_known_messages_that_are_no_bits_are_refused(kit: Kit) -> None:
    """Whether a trivial encryption, a table or a sum brought them, also from a file."""
    server, x = kit.server, kit.server.upload(kit.client.encrypt([0, 1]))
    for two in (
        server.trivial([2, 1]),
        server.apply(Lut(kit.parameters, [0, 2, 0, 2]), x),
        server.linear([1], [x], 1),
        concatenate([x[:1], server.trivial([2])]),
    ):
        file = Ciphertexts.from_bytes(two.to_host().to_bytes(), allow_insecure=True)
        assert file.largest == two.largest >= 2
        for each in (two, two.to_host(), file):
            for work in (
                lambda each=each: server.xor(1, each),
                lambda each=each: server.nand(each, x),
                lambda each=each: server.mux(each, 0, 1),
                lambda each=each: server.mux(1, x, each),
                lambda each=each: server.not_(each),
                lambda each=each: server.upload(each) ^ False,
            ):
                with pytest.raises(whorl.EncodingError, match=r"takes bits, .* as large as [23]"):
                    work()
    # Those that are bits are taken as they are.
    bits = server.trivial([0, 1, 1])
    assert bits.largest == 1 and server.trivial([]).largest == 0
    for result, expected in (
        (bits ^ True, [1, 0, 0]),
        (server.mux(bits, 0, [1, 0, 1]), [1, 0, 0]),
        (server.linear([1], [server.trivial([2, 3, 3])], -2, largest=1) & 1, [0, 1, 1]),
    ):
        assert kit.client.decrypt(result).tolist() == expected


def test_device(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHORL_DEVICE", raising=False)
    gpu = any(d.usable for d in whorl.devices() if d.name.startswith("cuda"))
    assert Server(kit.keys).device.startswith("cuda:0" if gpu else "cpu")
    with pytest.raises(whorl.DeviceError):
        Server(kit.keys, device="abacus")
    monkeypatch.setenv("WHORL_DEVICE", "abacus")
    with pytest.raises(whorl.DeviceError):
        Server(kit.keys)
    assert "cpu" in Server(kit.keys, device="cpu").device


def test_devices_are_listed() -> None:
    first, *others = whorl.devices()
    gpus = [each for each in others if not each.name.startswith("rtl")]
    assert [each.name for each in others[len(gpus) :]] == ["rtl-model", "rtl"]
    assert first.name == "cpu" and first.usable and 0 < first.free_memory < first.memory
    assert gpus and all(each.name.startswith("cuda") for each in gpus)
    assert all(each.description and each.why for each in (first, *others))


@pytest.mark.parametrize("name", ["cuda:", "cuda:0,0", "cuda:x", "gpu", "cuda:0,", "cpu:1"])
def test_odd_device_names(kit: Kit, name: str) -> None:
    with pytest.raises(whorl.DeviceError, match="cuda:all"):
        Server(kit.keys, device=name)


def test_rotation_is_an_option(kit: Kit, generator: np.random.Generator) -> None:
    bits = generator.integers(0, 2, size=(2, 5))
    a, b = (kit.client.encrypt(row) for row in bits)
    assert kit.server.rotation == "auto"
    assert kit.server.devices == (kit.server.device,)
    for rotation in ("auto", "single", "cluster", "grid", "shared"):
        server = Server(kit.keys, device="cpu", rotation=rotation)
        assert server.rotation == rotation
        assert np.array_equal(
            server.nand(a, b).to_host().data, kit.server.nand(a, b).to_host().data
        )
    with pytest.raises(whorl.ParameterError, match="cluster"):
        Server(kit.keys, device="cpu", rotation="spiral")


@pytest.mark.parametrize("kind", [("unrolled", 2), ("ap", 32), ("automorphism", 10)])
def test_only_ginx_rotates_over_a_grid(kind: tuple[str, int]) -> None:
    short = with_few_coefficients("W128_P64", rotation=kind)
    keys = Client(short).evaluation_keys()
    with pytest.raises(whorl.ParameterError, match="takes keys of GINX"):
        Server(keys, device="cpu", rotation="grid", allow_insecure=True)
    assert Server(keys, device="cpu", rotation="cluster", allow_insecure=True).rotation == "cluster"


def test_absent_gpu_is_an_error(kit: Kit) -> None:
    try:
        server = Server(kit.keys, device="cuda")
    except whorl.DeviceError as error:
        assert "cuda" in str(error)
    else:
        assert "cuda" in server.device


def test_threads_share_a_server(kit: Kit, generator: np.random.Generator) -> None:
    bits = generator.integers(0, 2, size=(4, 2, 16))
    failures = []

    def work(pair: np.ndarray) -> None:
        for _ in range(5):
            result = kit.server.nand(*(kit.client.encrypt(row) for row in pair))
            if not np.array_equal(kit.client.decrypt(result), 1 - (pair[0] & pair[1])):
                failures.append(pair)

    threads = [threading.Thread(target=work, args=(pair,)) for pair in bits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released(kit: Kit) -> None:
    a = kit.client.encrypt(np.ones(800, dtype=int))
    done = threading.Event()

    def work() -> None:
        kit.server.nand(a, a)
        done.set()

    thread = threading.Thread(target=work)
    ticks = [time.perf_counter()]
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks.append(time.perf_counter())
    ticks.append(time.perf_counter())
    thread.join()
    # Held, the GIL would leave one long gap; the call takes hundreds of milliseconds.
    assert np.diff(ticks).max() < (ticks[-1] - ticks[0]) / 2
