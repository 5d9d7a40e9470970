"""None and foreign objects in lists: an exception from each entry that takes a list, no crash.

All entries are tried in one process of their own, which says what came of each; a crash would leave
the entry, and those after it, without an answer.
"""

import json
from pathlib import Path

import pytest
from support import Kit, run_python
from whorl import binfhe

TRY_ALL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import whorl
from support import TOY, bgv_literal, ckks_literal, make_bgv_kit, make_ckks_kit, make_kit
from whorl import bgv, binfhe, ckks

kit, toy, small = make_kit(), make_bgv_kit(), make_ckks_kit()
bits, row = kit.client.encrypt([0, 1]), toy.client.encrypt([[1], [2]])
on_device, vectors = kit.server.upload(bits), toy.server.upload(row)
lut = binfhe.Lut(kit.parameters, [0, 1, 2, 3])
public, only = toy.client.public_key(), small.client.public_key()
numbers = small.client.encrypt([[0.5], [0.25]])
reals = small.server.upload(numbers)

# Each takes a list that holds something foreign among what it should.
ENTRIES = {
    "binfhe.concatenate": lambda x: binfhe.concatenate([bits, x]),
    "binfhe.concatenate, first": lambda x: binfhe.concatenate([x, bits]),
    "binfhe.concatenate, alone": lambda x: binfhe.concatenate([x]),
    "binfhe.concatenate, device": lambda x: binfhe.concatenate([on_device, x]),
    "binfhe.concatenate, device last": lambda x: binfhe.concatenate([x, on_device]),
    "binfhe.stack": lambda x: binfhe.stack([bits, x]),
    "binfhe.stack, device": lambda x: binfhe.stack([x, on_device, x]),
    "binfhe.upload": lambda x: kit.server.upload([x]),
    "binfhe.download": lambda x: kit.server.download([x]),
    "binfhe.gate": lambda x: kit.server.gate("and", bits, x),
    "binfhe.gate, alone": lambda x: kit.server.gate("nand", x, x),
    "binfhe.majority": lambda x: kit.server.majority(bits, on_device, x),
    "binfhe.and4": lambda x: kit.server.and4(x, bits, bits, x),
    "binfhe.mux": lambda x: kit.server.mux(bits, on_device, x),
    "binfhe.not_": lambda x: kit.server.not_([x]),
    "binfhe.bootstrap": lambda x: kit.server.bootstrap([x]),
    "binfhe.operators": lambda x: on_device & [x],
    "binfhe.linear": lambda x: kit.server.linear([1, 1], [bits, x]),
    "binfhe.linear, alone": lambda x: kit.server.linear([1], [x]),
    "binfhe.linear, weights": lambda x: kit.server.linear([1, x], [bits, bits]),
    "binfhe.linear, constant": lambda x: kit.server.linear([1], [bits], [x]),
    "binfhe.apply": lambda x: kit.server.apply([lut, x], bits),
    "binfhe.apply, alone": lambda x: kit.server.apply([x], bits),
    "binfhe.apply, nested": lambda x: kit.server.apply([[lut, x]], bits),
    "binfhe.apply, array": lambda x: kit.server.apply(np.array([lut, x], dtype=object), bits),
    "binfhe.apply, ciphertexts": lambda x: kit.server.apply(lut, [x]),
    "binfhe.trivial": lambda x: kit.server.trivial([1, x]),
    "binfhe.encrypt": lambda x: kit.client.encrypt([1, x]),
    "binfhe.decrypt": lambda x: kit.client.decrypt([bits, x]),
    "binfhe.noise": lambda x: kit.client.noise(bits, [1, x]),
    "binfhe.Lut": lambda x: binfhe.Lut(kit.parameters, [0, 1, x, 3]),
    "binfhe.Lut, function": lambda x: binfhe.Lut(kit.parameters, lambda m: x, p=4),
    "binfhe.Lut, parameters": lambda x: binfhe.Lut(x, [0, 1, 2, 3]),
    "binfhe.Server": lambda x: binfhe.Server([x], "cpu"),
    "binfhe.Server, session": lambda x: binfhe.Server(kit.keys, session=[x]),
    "binfhe.Client": lambda x: binfhe.Client([x]),
    "binfhe.parameters": lambda x: binfhe.parameters({**TOY, "gadget": [x]}, True),
    "binfhe.parameters, inner": lambda x: binfhe.parameters({**TOY, "gadget": [(32, x, 4)]}, True),
    "binfhe.index": lambda x: bits[[0, x]] if x is not None else bits[[0, [x]]],
    "binfhe.reshape": lambda x: bits.reshape([x]),
    "binfhe.transpose": lambda x: on_device.transpose([x]),
    "binfhe.broadcast_to": lambda x: bits.broadcast_to((2, x)),
    "bgv.concatenate": lambda x: bgv.concatenate([row, x]),
    "bgv.concatenate, first": lambda x: bgv.concatenate([x, row]),
    "bgv.concatenate, alone": lambda x: bgv.concatenate([x]),
    "bgv.concatenate, device": lambda x: bgv.concatenate([vectors, x]),
    "bgv.concatenate, device last": lambda x: bgv.concatenate([x, vectors]),
    "bgv.stack": lambda x: bgv.stack([row, x]),
    "bgv.stack, device": lambda x: bgv.stack([x, vectors, x]),
    "bgv.upload": lambda x: toy.server.upload([x]),
    "bgv.download": lambda x: toy.server.download([x]),
    "bgv.add": lambda x: toy.server.add(vectors, [1, x]),
    "bgv.sub": lambda x: toy.server.sub(vectors, [1, x]),
    "bgv.multiply": lambda x: toy.server.multiply(vectors, [1, x]),
    "bgv.operators": lambda x: vectors * [x],
    "bgv.add, first": lambda x: toy.server.add([x], vectors),
    "bgv.square": lambda x: toy.server.square([x]),
    "bgv.encode": lambda x: toy.server.encode([[1, x]]),
    "bgv.rotate_many": lambda x: toy.server.rotate_many(vectors, [1, x]),
    "bgv.rotate_many, array": lambda x: toy.server.rotate_many([x], [1]),
    "bgv.encrypt": lambda x: toy.client.encrypt([1, x]),
    "bgv.encrypt, public": lambda x: public.encrypt([1, x]),
    "bgv.decrypt": lambda x: toy.client.decrypt([row, x]),
    "bgv.noise_budget": lambda x: toy.client.noise_budget([row, x]),
    "bgv.evaluation_keys": lambda x: toy.client.evaluation_keys(rotations=[1, x]),
    "bgv.key_size": lambda x: toy.parameters.key_size(rotations=[1, x]),
    "bgv.Server": lambda x: bgv.Server([x], "cpu"),
    "bgv.Server, session": lambda x: bgv.Server(toy.keys, session=[x]),
    "bgv.Client": lambda x: bgv.Client([x]),
    "bgv.parameters, chain": lambda x: bgv.parameters(
        literal={**bgv_literal(), "chain": [x]}, allow_insecure=True
    ),
    "bgv.parameters, special": lambda x: bgv.parameters(
        literal={**bgv_literal(), "special": [x]}, allow_insecure=True
    ),
    "bgv.index": lambda x: row[[0, [x]]],
    "bgv.reshape": lambda x: row.reshape([x]),
    "ckks.concatenate": lambda x: ckks.concatenate([numbers, x]),
    "ckks.stack, device": lambda x: ckks.stack([x, reals, x]),
    "ckks.upload": lambda x: small.server.upload([x]),
    "ckks.download": lambda x: small.server.download([x]),
    "ckks.add": lambda x: small.server.add(reals, [1, [x]]),
    "ckks.multiply": lambda x: small.server.multiply(reals, [1, [x]]),
    "ckks.multiply, ciphertexts": lambda x: small.server.multiply(reals, [reals, x]),
    "ckks.rotate_many": lambda x: small.server.rotate_many(reals, [1, x]),
    "ckks.evaluate": lambda x: small.server.evaluate(reals, [x]),
    "ckks.evaluate, array": lambda x: ckks.evaluate([x], ckks.Polynomial([0, 1])),
    "ckks.linear_map": lambda x: ckks.linear_map([[1, [x]]]),
    "ckks.diagonals": lambda x: ckks.diagonals({0: [1, [x]]}, 2),
    "ckks.diagonals, distance": lambda x: ckks.diagonals({0: 1, str(x): 1}, 2),
    "ckks.diagonals, mapping": lambda x: ckks.diagonals([x], 2),
    "ckks.encode": lambda x: small.server.encode([x]),
    "ckks.apply": lambda x: small.server.apply(reals, [x]),
    "ckks.apply, ciphertexts": lambda x: small.server.apply([x], ckks.linear_map([[1]])),
    "ckks.matmul": lambda x: [[1, [x]]] @ reals,
    "ckks.matmul, right": lambda x: reals @ [[x, [x]]],
    "ckks.sign": lambda x: small.server.sign(reals, [x]),
    "ckks.maximum": lambda x: small.server.maximum(reals, [x], ckks.minimax_sign(0.5, 0.5)),
    "ckks.SignStages": lambda x: ckks.SignStages([ckks.Polynomial([0, 1]), x], 0.5, 0.5),
    "ckks.minimax_sign": lambda x: ckks.minimax_sign([x], 0.5),
    "ckks.sqrt_of": lambda x: ckks.sqrt_of(0.5, [x], 0.5),
    "ckks.add_released": lambda x: small.client.add_released([[x], x]),
    "ckks.Polynomial": lambda x: ckks.Polynomial([1, [x]]),
    "ckks.approximate": lambda x: ckks.approximate(abs, 0, 1, degree=[x]),
    "ckks.encrypt": lambda x: small.client.encrypt([1, [x]]),
    "ckks.encrypt, bound": lambda x: small.client.encrypt([1], [x]),
    "ckks.encrypt, public": lambda x: only.encrypt([1, [x]]),
    "ckks.decrypt": lambda x: small.client.decrypt([numbers, x], raw=True),
    "ckks.release": lambda x: small.client.release([numbers, x]),
    "ckks.evaluation_keys": lambda x: small.client.evaluation_keys(rotations=[1, x]),
    "ckks.precision": lambda x: ckks.precision([1, [x]], [1, 2]),
    "ckks.Server": lambda x: ckks.Server([x], "cpu"),
    "ckks.Client": lambda x: ckks.Client([x]),
    "ckks.parameters, chain": lambda x: ckks.parameters(
        literal={**ckks_literal(), "chain": [x]}, allow_insecure=True
    ),
    "ckks.parameters, levels": lambda x: ckks.parameters(
        literal={**ckks_literal(), "levels": [(1, x)]}, allow_insecure=True
    ),
}
FOREIGN = {
    "None": None,
    "object": object(),
    "text": "x",
    "float": 1.5,
    "list": [None],
    "mapping": {},
    "type": binfhe.Ciphertexts,
    "core": bits._core,
    "core of vectors": row._core,
    "core on a device": on_device._core,
    "not made": binfhe.Ciphertexts.__new__(binfhe.Ciphertexts),
    "not made, on a device": bgv.EncryptedArray.__new__(bgv.EncryptedArray),
    "server": kit.server,
    "keys": toy.keys,
}
for name, work in ENTRIES.items():
    said = {}
    for what, foreign in FOREIGN.items():
        try:
            result = work(foreign)
        except (TypeError, ValueError, IndexError, whorl.Error):
            said[what] = None
        except AttributeError as error:  # objects that nothing has made lack their parts
            said[what] = None if what.startswith("not made") else repr(error)
        else:
            said[what] = repr(result)
    print(json.dumps([name, said]), flush=True)
# All of them still work.
assert kit.client.decrypt(kit.server.nand(bits, bits)).tolist() == [1, 0]
assert toy.client.decrypt(vectors + row)[:, 0].tolist() == [2, 4]
print(json.dumps(["end", {}]))
"""
ENTRIES = [line.split('"')[1] for line in TRY_ALL.splitlines() if line.startswith('    "')]
ENTRIES = [name for name in ENTRIES if "." in name]


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, str | None]]:
    """What each entry gave for each foreign object; None: an exception that fits."""
    done = run_python(TRY_ALL, str(Path(__file__).parents[1]))
    answers = dict(json.loads(line) for line in done.stdout.splitlines())
    if "end" not in answers:
        last = next((name for name in ENTRIES if name not in answers), "end")
        pytest.fail(f"{last}: the process ended with {done.returncode}: {done.stderr[-2000:]}")
    return answers


@pytest.mark.parametrize("entry", ENTRIES)
def test_foreign_objects_raise(said: dict[str, dict[str, str | None]], entry: str) -> None:
    taken = {what: result for what, result in said[entry].items() if result is not None}
    assert not taken


def test_the_foreign_object_is_named(kit: Kit) -> None:
    bits, lut = kit.client.encrypt([0, 1]), binfhe.Lut(kit.parameters, [0, 1, 2, 3])
    for work, message in (
        (lambda: binfhe.concatenate([bits, None]), "not NoneType at index 1$"),  # type: ignore[type-var]
        (lambda: binfhe.stack([bits, kit.server.upload(bits), 2]), "not int at index 2$"),  # type: ignore[type-var]
        (lambda: kit.server.apply([lut, None], bits), "not NoneType at index 1$"),
        (lambda: kit.server.apply([[lut, lut], [lut, 3]], bits), r"not int at index \(1, 1\)$"),
        (lambda: kit.server.apply(None, bits), "not NoneType$"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=message):
            work()


# What the Python classes stand on. The library's own lists of pointers take None as a null pointer.
CORES = {
    "binfhe host": "bits._core.concatenate([bits._core, None])",
    "bgv host": "row._core.concatenate([None])",
    "binfhe device": "kit.server._core.concatenate([None])",
    "bgv device": "toy.server._core.concatenate([None])",
    "ckks host": "numbers._core.concatenate([None])",
    "ckks device": "small.server._core.concatenate([None])",
    "gate": "kit.server._core.gate('and', [None, None], None)",
    "linear": "kit.server._core.linear(np.array([1], dtype=np.int32), [None], 0)",
    "apply": "kit.server._core.apply([None], nothing, kit.server.upload(bits)._core)",
}
TRY_CORE = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import whorl
from support import make_bgv_kit, make_ckks_kit, make_kit
kit, toy, small = make_kit(), make_bgv_kit(), make_ckks_kit()
bits, row = kit.client.encrypt([0, 1]), toy.client.encrypt([[1], [2]])
numbers = small.client.encrypt([[0.5], [0.25]])
nothing = np.empty(0, np.uint32)
try:
    {code}
except (TypeError, whorl.Error):
    print("raised")
"""


@pytest.mark.parametrize("name", CORES)
def test_none_in_lists_beneath_raises(name: str) -> None:
    done = run_python(TRY_CORE.format(code=CORES[name]), str(Path(__file__).parents[1]))
    assert done.stdout == "raised\n", (done.returncode, done.stderr[-2000:])
