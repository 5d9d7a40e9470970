"""The package on a GPU: same results as on the CPU. Skipped where there is none to use."""

import functools
import gc
import threading
from typing import Any

import numpy as np
import pytest
import whorl
from nn.networks import RandomNetwork, client
from support import make_bgv_kit, make_ckks_kit, make_kit
from whorl import bgv, binfhe, ckks, integers, lanes, nn

GPUS = [d.name for d in whorl.devices() if d.name.startswith("cuda") and d.usable]
pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU to test on")


@pytest.mark.parametrize(("scale_bits", "word_bits"), [(40, 32), (50, 64)])
def test_ckks_has_the_cpus_bits(scale_bits: int, word_bits: int) -> None:
    kit = make_ckks_kit(depth=4, scale_bits=scale_bits, word_bits=word_bits)
    values = np.random.default_rng(scale_bits).uniform(-1, 1, (3, 8))
    encrypted = kit.client.encrypt(values)
    exponential = ckks.approximate(np.exp, -1, 1, degree=7)
    blur = ckks.diagonals({-1: 0.25, 0: 0.5, 1: 0.25j}, 8)
    stages = ckks.minimax_sign(0.5, 0.25)

    def results(server: ckks.Server) -> list[Any]:
        x = server.upload(encrypted)
        arrays = [x * x[0] + x, x * values, x * 0.3 + 1j, x.rotate(1), x.conjugate(), x.sum()]
        arrays += [ckks.evaluate(x, exponential), x.lower(0), ckks.concatenate([x, x * x])]
        arrays += [blur @ x, server.encode(blur, 2) @ x, x.relu(stages), x.greater(-x, stages)]
        return [array.to_host().data for array in arrays]

    servers = [ckks.Server(kit.keys, device=name) for name in ("cpu", GPUS[0])]
    for one, other in zip(*map(results, servers), strict=True):
        assert np.array_equal(one, other)


def test_lanes_have_the_cpus_bits() -> None:
    """Gates, tables and what they clean and refresh on the way."""
    literal = {**ckks.parameters(9, bootstrap=True).literal(), "N": 1024, "name": "toy"}
    owner = lanes.Client(ckks.parameters(literal=literal, allow_insecure=True))
    keys = owner.evaluation_keys(64)
    bits = np.random.default_rng(0).integers(0, 2, (2, 4, 3, 64))
    inputs = [owner.encrypt(each) for each in bits]

    def results(server: lanes.Server) -> list[Any]:
        x, y = map(server.upload, inputs)
        arrays = [
            lanes.add(x, y),
            lanes.less(x, y),
            server.lookup(x, range(15, -1, -1)),
            server.lookup(x, np.arange(16) ** 2 % 17),
            server.lookup(lanes.concatenate([x, y]), np.arange(256) ** 3 % 257 % 256),
        ]
        for _ in range(40):
            x, y = x ^ y, x | ~y
        assert server.bootstraps > 0 and server.cleanings > 0
        return [array.to_host().data for array in [*arrays, x]]

    servers = [lanes.Server(keys, device=name) for name in ("cpu", GPUS[0])]
    for one, other in zip(*map(results, servers), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("bits", [30, 50])
def test_bgv_has_the_cpus_bits(bits: int) -> None:
    kit = make_bgv_kit(bits=bits)
    servers = [bgv.Server(kit.keys, device=name) for name in ("cpu", GPUS[0])]
    values = np.random.default_rng(bits).integers(0, kit.t, (3, kit.N))
    encrypted = kit.client.encrypt(values)

    def results(server: bgv.Server) -> list[Any]:
        x = server.upload(encrypted)
        row = server.encode(values[0])
        return [
            x * x[0] + x,
            (x - x[1]) * row,
            x[::-1] + row,
            bgv.concatenate([x, x * x])[[0, 4]],
            x[:2].inner_sum(4),
            *x[2].rotate_many([1, 2]),
            (x * x).shrink(),
            3 - x.square() * 2,
        ]

    for number, (cpu, gpu) in enumerate(zip(*map(results, servers), strict=True)):
        a, b = cpu.to_host(), gpu.to_host()
        assert a.to_bytes() == b.to_bytes(), number
    x = servers[1].upload(encrypted)
    assert np.array_equal(kit.client.decrypt(x * x), values * values % kit.t)


@pytest.mark.skipif(len(GPUS) < 2, reason="one GPU")
def test_several_gpus_have_the_bits_of_one() -> None:
    vectors, gates = make_bgv_kit(), make_kit()
    values = np.arange(5 * vectors.N).reshape(5, vectors.N) % vectors.t
    rows = vectors.client.encrypt(values)
    bits = np.random.default_rng(1).integers(0, 2, (2, 100))
    a, b = (gates.client.encrypt(row) for row in bits)
    for name in (GPUS[0], "cuda:all"):
        server = bgv.Server(vectors.keys, device=name)
        x = server.upload(rows)
        product = (x * x[::-1] + x[0]).rotate(1)
        gate_server = binfhe.Server(gates.keys, device=name, transform="ntt", rotation="single")
        y = gate_server.upload(a)
        nested = ~((y ^ b) & y)[::3]
        if name == GPUS[0]:
            one = product.to_host().to_bytes(), nested.to_host().to_bytes()
    assert len(server.devices) == len(gate_server.devices) == len(GPUS)
    assert one == (product.to_host().to_bytes(), nested.to_host().to_bytes())
    expected = 1 - ((bits[0] ^ bits[1]) & bits[0])[::3]
    assert np.array_equal(gates.client.decrypt(nested), expected)


def test_arrays_dropped_while_the_server_works() -> None:
    kit = make_bgv_kit()
    server = bgv.Server(kit.keys, device=GPUS[0])
    values = np.arange(2 * kit.N).reshape(2, kit.N) % kit.t
    x = server.upload(kit.client.encrypt(values))
    heap: list[Any] = []
    over = threading.Event()

    def collect() -> None:
        while not over.is_set():
            heap.clear()
            gc.collect()

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for _ in range(200):
            y = x + x
            heap.extend([y * x, y])
            cycle: list[Any] = [y + y]
            cycle.append(cycle)
        assert np.array_equal(kit.client.decrypt(y), 2 * values % kit.t)
    finally:
        over.set()
        collector.join()


def test_gates() -> None:
    kit = make_kit()
    a, b = np.random.default_rng(1).integers(0, 2, (2, 100)).astype(bool)
    x, y = kit.client.encrypt(a), kit.client.encrypt(b)
    for transform in ("ntt", "fft"):
        server = binfhe.Server(kit.keys, device=GPUS[0], transform=transform)
        assert np.array_equal(kit.client.decrypt(server.nand(x, y)), ~(a & b))
        assert np.array_equal(kit.client.decrypt(server.xor(x, y)), a ^ b)


def test_compression_has_the_cpus_bits() -> None:
    """What is switched, packed and rounded is exact on both; the key is too short to be secure."""
    literal = binfhe.parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    client = binfhe.Client(binfhe.parameters(literal, allow_insecure=True))
    keys, compression = client.evaluation_keys(), client.compression_keys()
    messages = np.random.default_rng(1).integers(0, 32, 5000)
    sent = client.public_key().encrypt(messages, p=32)
    answers = []
    for name in ("cpu", GPUS[0]):
        server = binfhe.Server(keys, device=name)
        answers.append(binfhe.Compressor(server, compression).compress(server.upload(sent)))
    assert np.array_equal(client.decrypt(answers[1]), messages)
    assert answers[0].to_bytes() == answers[1].to_bytes()


def test_products_have_the_cpus_bits() -> None:
    """By NTT all steps are exact on both; by FFT products are the same. The key is too short to be
    secure."""
    literal = binfhe.parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    owner = binfhe.Client(binfhe.parameters(literal, allow_insecure=True))
    client, products = integers.Client(owner), owner.product_keys()
    keys, numbers = owner.evaluation_keys(), np.random.default_rng(1).integers(0, 2**63, (2, 150))
    sent = [client.encrypt(each.astype(np.uint64), bits=64) for each in numbers]
    exact = [int(a) * int(b) % 2**64 for a, b in numbers.T]
    for transform in ("ntt", "fft"):
        answers = []
        for name in ("cpu", GPUS[0]):
            inner = binfhe.Server(keys, device=name, transform=transform)
            server = integers.Server(inner, products=products)
            # The CPU takes a few: it is there for their bits.
            some = slice(0, 3 if name == "cpu" else None)
            x, y = (server.upload(each)[some] for each in sent)
            made = server.download(x * y, carries=True)
            assert [int(v) for v in client.decrypt(made)] == exact[some]
            answers.append(made.data[..., :3].to_bytes())
        assert transform == "fft" or answers[0] == answers[1]


@functools.cache
def compiled(seed: int, large: bool) -> tuple[nn.Network, ckks.EvaluationKeys, ckks.Ciphertexts]:
    """A network, keys for it, and three inputs."""
    random = RandomNetwork(seed, large)
    net = random.compiled()
    owner = client(net.parameters.N)
    keys = owner.evaluation_keys(**net.keys)
    return net, keys, net.ends.encrypt(owner, random.examples[:3])


@pytest.mark.parametrize(
    ("room", "prefetch"), [(None, False), (0.5, False), (0.0, False), (0.0, True)]
)
@pytest.mark.parametrize(
    ("seed", "large"), [*((seed, False) for seed in range(6)), (1, True), (4, True), (10, True)]
)
def test_networks_have_the_cpus_bits(
    seed: int, large: bool, room: float | None, prefetch: bool
) -> None:
    """Tensors of large networks take several ciphertexts. `room`: the share of its maps that a
    device has memory for; where it is half, those that have no room whole are compact."""
    net, keys, encrypted = compiled(seed, large)
    assert (max(step.parts for step in net.steps) > 1) == large
    servers = [ckks.Server(keys, device=name) for name in ("cpu", GPUS[0])]
    whole = net.on(servers[0]).nbytes
    most = None if room is None else int(room * whole)
    runners = [net.on(server, most, prefetch=prefetch) for server in servers]
    assert all((each.nbytes > 0) == (room != 0) for each in runners)
    assert room is None or runners[0].nbytes < whole
    cpu, gpu = (runner(encrypted).to_host().data for runner in runners)
    assert np.array_equal(cpu, gpu)
