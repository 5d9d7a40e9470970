"""Products of encrypted matrices against NumPy's."""

import pickle
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import check, random_complex
from support import CkksKit, make_ckks_kit
from whorl import ckks
from whorl.ckks import MatrixProduct, Server


def kit_for(kit: CkksKit, product: MatrixProduct) -> CkksKit:
    """The same key, and a server with the rotations of the product."""
    keys = kit.client.evaluation_keys(rotations=product.rotations)
    return CkksKit(kit.parameters, kit.client, keys, Server(keys, device="cpu"))


@pytest.mark.parametrize(("rows", "side"), [(1, 1), (2, 2), (4, 4), (16, 16), (2, 8), (1, 16)])
def test_matrices_in_each_ciphertext(
    any_ckks: CkksKit, generator: np.random.Generator, rows: int, side: int
) -> None:
    product = MatrixProduct(side, rows)
    kit = kit_for(any_ckks, product)
    a = generator.uniform(-1, 1, (3, 1, rows, side))
    b = generator.uniform(-1, 1, (2, side, side))
    x = kit.server.upload(kit.client.encrypt(a.reshape(3, 1, -1)))
    y = kit.server.upload(kit.client.encrypt(b.reshape(2, -1)))
    encoded = kit.server.encode(product)
    wanted = (a @ b).reshape(3, 2, -1)
    for got in (x.matmul(y), x.matmul(y, product), x.matmul(y, encoded)):
        assert (got.level, got.length, got.packing) == (x.level - 2, rows * side, "real")
        check(kit, got, wanted)
    one = x[0, 0].matmul(y[1])
    assert one.shape == ()
    check(kit, one, wanted[0, 1])


def test_several_matrices_in_a_ciphertext(
    toy_ckks: CkksKit, generator: np.random.Generator
) -> None:
    product = MatrixProduct(4, 2, matrices=8)
    kit = kit_for(toy_ckks, product)
    a, b = random_complex(generator, 8, 2, 4), random_complex(generator, 8, 4, 4)

    def packed(matrices: Any) -> Any:
        return np.stack(matrices, axis=-1).reshape(-1)

    x = kit.server.upload(kit.client.encrypt(packed(a)))
    got = x.matmul(kit.client.encrypt(packed(b)), product)
    assert got.packing == "complex"
    check(kit, got, packed(a @ b))


def test_shapes_are_plain_data() -> None:
    product = MatrixProduct(8, 2, 4)
    again = pickle.loads(pickle.dumps(product))
    assert (again.side, again.rows, again.matrices, again.depth) == (8, 2, 4, 2)
    assert again.rotations == product.rotations
    assert repr(again).startswith("<MatrixProduct of 2 × 8 times 8 × 8, 4 a ciphertext, depth 2")
    with pytest.raises(AttributeError, match="cannot be changed"):
        product.side = 4


def test_what_is_refused(toy_ckks: CkksKit) -> None:
    product = MatrixProduct(2)
    kit = kit_for(toy_ckks, product)
    host: Any = kit.client.encrypt([0.5, 0.25, 0.125, 1.0])
    x = kit.server.upload(host)
    short = kit.server.upload(kit.client.encrypt([0.5, 0.25]))
    bare = make_ckks_kit(depth=2)
    keyless = Server(bare.client.evaluation_keys(), device="cpu")
    y = bare.server.upload(bare.client.encrypt([0.5, 0.25, 0.125, 1.0]))
    encoded = kit.server.encode(product)
    wrong: Any = 2
    assert repr(encoded).startswith("<EncodedMatrixProduct of 2 × 2 times 2 × 2, for level 3")
    assert encoded.nbytes > 0 and encoded.product.side == 2
    for error, match, work in (
        (whorl.ShapeError, "3 columns are not a power of two", lambda: MatrixProduct(3)),
        (whorl.ShapeError, "8 rows", lambda: MatrixProduct(4, 8)),
        (whorl.ShapeError, "3 matrices", lambda: MatrixProduct(4, matrices=3)),
        (whorl.ShapeError, "at most 65536", lambda: MatrixProduct(512)),
        (whorl.ParameterError, "side: 0", lambda: MatrixProduct(0)),
        (whorl.ShapeError, "4 and 2 values .* dot product", lambda: x.matmul(short)),
        (whorl.ShapeError, "16 for 4 × 4", lambda: x.matmul(x, MatrixProduct(4))),
        (whorl.NoiseError, "takes 2 levels, .* have 1", lambda: x.lower(1).matmul(x)),
        (whorl.NoiseError, "second operand at level 2", lambda: x.matmul(x.lower(2), encoded)),
        (whorl.ParameterError, "level = 1", lambda: kit.server.encode(product, 1)),
        (whorl.ParameterError, "level: 4", lambda: kit.server.encode(product, 4)),
        (
            whorl.MissingKeyError,
            r"rotations=product\.rotations",
            lambda: keyless.matmul(y.to_host(), y.to_host()),
        ),
        (whorl.DeviceError, "another server", lambda: y.matmul(y, encoded)),
        (TypeError, "a MatrixProduct is needed", lambda: x.matmul(x, wrong)),
        (TypeError, "made by Server.encode", ckks.EncodedMatrixProduct),
        (TypeError, "cannot be pickled", lambda: pickle.dumps(encoded)),
    ):
        with pytest.raises(error, match=match):
            work()
