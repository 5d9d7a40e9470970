"""Whorl's side of bench/python_peers.py: the Python module, as users call it."""

from __future__ import annotations

from math import log2
from typing import Any

from ckks_serving import Data, requested, serve
from whorl import ckks


def in_words(parameters: ckks.Parameters) -> str:
    """As bench_ckks has it; fresh ciphertexts have all primes of the chain."""
    return (
        f"depth={parameters.depth}, scale=2^{log2(parameters.scale(0)):.0f}, N={parameters.N}, "
        f"limbs {parameters.limbs} + {len(parameters.special)}, dnum {parameters.digits}"
    )


def main() -> None:
    """As many digits of key switching as there are levels: with fewer, N would be too small."""
    shape = requested()
    parameters = ckks.parameters(
        depth=shape.depth, scale_bits=shape.scale_bits, N=shape.N, dnum=shape.depth
    )
    client, data = ckks.Client(parameters), Data(shape)
    public = client.public_key()
    rotations = ckks.linear_map(data.matrix.T).rotations
    keys = client.evaluation_keys(rotations=rotations, sums=parameters.slots, threads=1)
    server = ckks.Server(keys, device="cpu", threads=1)
    x, matrix = data.x, data.matrix
    a, b, vector = (server.upload(public.encrypt(each)) for each in (x, data.y, data.vector))
    host, product = a.to_host(), a * b

    def shown(result: Any) -> Any:
        return client.decrypt(result, raw=True)

    operation = data.operation
    operations = [
        operation("encrypt", lambda: public.encrypt(x), shown),
        operation("encrypt_secret", lambda: client.encrypt(x), shown),
        operation("decrypt", lambda: client.decrypt(host, raw=True), lambda values: values),
        operation("add", lambda: a + b, shown),
        operation("mult_relin_rescale", lambda: a * b, shown),
        operation("rotate", lambda: server.rotate(a, 1), shown),
        operation("rotate_product", lambda: server.rotate(product, 1), shown),
        operation("sum", lambda: server.sum(a), shown),
        operation("matmul", lambda: vector @ matrix, shown),
    ]
    security = round(parameters.security_bits, 1)
    serve("whorl-fhe", in_words(parameters), dict(operations), security_bits=security)


if __name__ == "__main__":
    main()
