"""TenSEAL's side of bench/python_peers.py.

A vector of TenSEAL has no rotation, so that `rotate` is SEAL's own, which its module `sealapi` has.
Values are lists, as its documentation has them.
"""

from __future__ import annotations

from typing import Any

import tenseal
from ckks_serving import Data, requested, serve
from tenseal import sealapi

END_BITS = 60
"""Bits of the first prime and of the special one."""


def main() -> None:
    """Products are relinearised and rescaled at once, as by default."""
    shape = requested()
    sizes = [END_BITS, *[shape.scale_bits] * shape.depth, END_BITS]

    def context_of(encryption: Any) -> Any:
        context = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS,
            shape.N,
            coeff_mod_bit_sizes=sizes,
            encryption_type=encryption,
            n_threads=1,
        )
        context.global_scale = 2.0**shape.scale_bits
        return context

    context = context_of(tenseal.ENCRYPTION_TYPE.ASYMMETRIC)
    secret = context_of(tenseal.ENCRYPTION_TYPE.SYMMETRIC)
    context.generate_galois_keys()
    data = Data(shape)
    x, matrix = data.x.tolist(), data.matrix.tolist()
    a, b = tenseal.ckks_vector(context, x), tenseal.ckks_vector(context, data.y.tolist())
    vector = tenseal.ckks_vector(context, data.vector.tolist())

    seal, keys = context.seal_context().data, context.galois_keys().data
    (inner,), (product,) = a.ciphertext(), (a * b).ciphertext()
    evaluator, encoder = sealapi.Evaluator(seal), sealapi.CKKSEncoder(seal)
    decryptor = sealapi.Decryptor(seal, context.secret_key().data)

    def rotated(ciphertext: Any) -> Any:
        result = sealapi.Ciphertext()
        evaluator.rotate_vector(ciphertext, 1, keys, result)
        return result

    def opened(ciphertext: Any) -> Any:
        plaintext = sealapi.Plaintext()
        decryptor.decrypt(ciphertext, plaintext)
        return encoder.decode_double(plaintext)

    def shown(result: Any) -> Any:
        return result.decrypt()

    operation = data.operation
    operations = [
        operation("encrypt", lambda: tenseal.ckks_vector(context, x), shown),
        operation("encrypt_secret", lambda: tenseal.ckks_vector(secret, x), shown),
        operation("decrypt", lambda: a.decrypt(), lambda values: values),
        operation("add", lambda: a + b, shown),
        operation("mult_relin_rescale", lambda: a * b, shown),
        operation("rotate", lambda: rotated(inner), opened),
        operation("rotate_product", lambda: rotated(product), opened),
        operation("sum", lambda: a.sum(), shown),
        operation("matmul", lambda: vector.matmul(matrix), shown),
    ]
    params = (
        f"scale=2^{shape.scale_bits}, N={shape.N}, primes of {END_BITS}, {shape.depth} × "
        f"{shape.scale_bits}, {END_BITS} bits"
    )
    serve("tenseal", params, dict(operations))


if __name__ == "__main__":
    main()
