"""The side of the DESILO FHE library in bench/python_peers.py.

Its engine is asked for levels only; it chooses N, primes and scale, and does not say the last two.
Its licence is for use that is not commercial.
"""

from __future__ import annotations

from typing import Any

from ckks_serving import Data, requested, serve
from desilofhe import Engine


def main() -> None:
    """Products are relinearised and rescaled at once, as its `multiply` with a key does."""
    shape = requested()
    engine = Engine(max_level=shape.depth, mode="cpu", thread_count=1)
    if engine.slot_count != shape.N // 2:
        raise SystemExit(f"{engine.slot_count} slots were chosen, not {shape.N // 2}")
    secret = engine.create_secret_key()
    public = engine.create_public_key(secret)
    relinearisation = engine.create_relinearization_key(secret)
    rotation, rolls = engine.create_fixed_rotation_key(secret, 1), engine.create_roll_key(secret)
    data = Data(shape)
    x = data.x
    a, b = engine.encrypt(x, public), engine.encrypt(data.y, public)
    product = engine.multiply(a, b, relinearisation)

    def shown(result: Any) -> Any:
        return engine.decrypt(result, secret)

    operation = data.operation
    operations = [
        operation("encrypt", lambda: engine.encrypt(x, public), shown),
        operation("encrypt_secret", lambda: engine.encrypt(x, secret), shown),
        operation("decrypt", lambda: engine.decrypt(a, secret), lambda values: values),
        operation("add", lambda: engine.add(a, b), shown),
        operation("mult_relin_rescale", lambda: engine.multiply(a, b, relinearisation), shown),
        operation("rotate", lambda: engine.rotate(a, rotation), shown),
        operation("rotate_product", lambda: engine.rotate(product, rotation), shown),
        operation("sum", lambda: engine.sum(a, rolls), shown),
    ]
    params = f"max_level={engine.max_level}, N={2 * engine.slot_count}"
    serve("desilofhe", params, dict(operations))


if __name__ == "__main__":
    main()
