"""Random circuits of BGV against the same on NumPy's integers, step by step."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support import BGV_ROTATIONS, BgvKit
from whorl.bgv import EncryptedArray, Server, concatenate

Ints = np.ndarray[Any, np.dtype[np.int64]]
BATCH = 2
STEPS = 14


@dataclass
class Machine:
    """Registers, encrypted and clear."""

    kit: BgvKit
    server: Server
    encrypted: list[EncryptedArray] = field(default_factory=list)
    clear: list[Ints] = field(default_factory=list)

    def push(self, encrypted: EncryptedArray, clear: Ints) -> None:
        """Keeps a result whose bound says that it decrypts, and checks it."""
        if encrypted.noise_budget <= 0:
            return
        clear = clear % self.kit.t
        assert np.array_equal(self.kit.client.decrypt(encrypted), clear)
        assert np.all(self.kit.client.noise_budget(encrypted) >= encrypted.noise_budget)
        self.encrypted.append(encrypted)
        self.clear.append(clear)


def rotated(values: Ints, columns: int) -> Ints:
    rows = values.reshape(*values.shape[:-1], 2, -1)
    return np.roll(rows, -columns, axis=-1).reshape(values.shape)


def step(machine: Machine, data: st.DataObject, generator: np.random.Generator) -> None:
    """One operation on registers of the machine's choice."""
    kit = machine.kit
    pick = st.integers(0, len(machine.clear) - 1)
    i, j = data.draw(pick), data.draw(pick)
    a, b = machine.encrypted[i], machine.encrypted[j]
    x, y = machine.clear[i], machine.clear[j]
    t, N = kit.t, kit.N
    k = data.draw(st.integers(1 - t, t - 1))
    columns = data.draw(st.sampled_from(BGV_ROTATIONS))
    plain = generator.integers(1 - t, t, size=data.draw(st.sampled_from([(N,), (BATCH, N)])))
    some = generator.integers(-BATCH, BATCH, size=BATCH)
    match data.draw(st.sampled_from(range(18))):
        case 0:
            machine.push(a + b, x + y)
        case 1:
            machine.push(a - b, x - y)
        case 2 | 3:
            machine.push(a * b, x * y)
        case 4:
            machine.push(-a, -x)
        case 5:
            machine.push(a + k, x + k)
        case 6:
            machine.push(k - a, k - x)
        case 7:
            machine.push(a * k, x * (k % t))
        case 8:
            machine.push(plain - a, plain - x)
        case 9:
            machine.push(a * plain, x * (plain % t))
        case 10:
            machine.push(a.rotate(columns), rotated(x, columns))
        case 11:
            half = np.roll(x, N // 2, axis=-1)
            machine.push(a.swap_rows(), half)
        case 12:
            bare = a.multiply(b, relinearise=False)
            if bare.parts <= 4 and a.parts == b.parts == 2:
                machine.push((bare + a.square(relinearise=False)).relinearise(), x * y + x * x)
        case 13:
            machine.push(a[some] - b[0], x[some] - y[0])
        case 14:
            machine.push(a[-1] * b, x[-1] * y)
        case 15:
            table = machine.server.encode(plain)
            machine.push(a * table + table, x * (plain % t) + plain)
        case 16:
            if a.parts == b.parts:
                machine.push(concatenate([a, b])[::2], np.concatenate([x, y])[::2])
        case _:
            machine.push(a.mod_switch(max(1, a.limbs - 1)), x)


@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_random_circuits(toy_bgv: BgvKit, data: st.DataObject, seed: int) -> None:
    generator = np.random.default_rng(seed)
    machine = Machine(toy_bgv, toy_bgv.server)
    for source in (toy_bgv.client, toy_bgv.client.public_key()):
        values = generator.integers(0, toy_bgv.t, size=(BATCH, toy_bgv.N))
        machine.push(toy_bgv.server.upload(source.encrypt(values)), values)
    for _ in range(STEPS):
        step(machine, data, generator)


def test_products_go_to_the_depth_that_was_asked_for(generator: np.random.Generator) -> None:
    """Secure parameters, and at each level eight summands, as `sums` says."""
    from whorl import bgv

    chosen = bgv.parameters(depth=3)
    client = bgv.Client(chosen)
    server = bgv.Server(client.evaluation_keys(rotations=range(8)), device="cpu")
    clear = generator.integers(0, chosen.t, size=chosen.N)
    encrypted = server.upload(client.public_key().encrypt(clear))
    for _ in range(chosen.depth):
        turned = encrypted.rotate_many(range(8))
        total, expected = turned[0], clear
        for columns in range(1, 8):
            total, expected = total + turned[columns], expected + rotated(clear, columns)
        encrypted, clear = total * total, expected * expected % chosen.t
    assert encrypted.noise_budget > 0
    assert np.array_equal(client.decrypt(encrypted), clear)
