"""The NTT path against big integers, bit for bit."""

from typing import Any

import numpy as np
import pytest
from reference import Reference, chacha20
from whorl.binfhe import Client, Server, parameters

SMALL = {
    "name": "small",
    "n": 16,
    "q": 512,
    "N": 256,
    "Q": 134215681,
    "Q_ks": 2**14,
    "log_B_ks": 4,
    "gadget": [(16, 7, 4)],
    "lwe_secret": "ternary",
    "transform": "ntt",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "ternary": {},
    "binary": {"lwe_secret": "binary"},
    "rounded": {"q": 2048},
    "rounded_binary": {"q": 2048, "lwe_secret": "binary"},
    "approximate": {"gadget": [(10, 6, 3), (6, 9, 2)]},
    "product": {"key_switch": "product", "ks_digits": 3},
    "wide": {"Q": 1125899906826241, "Q_ks": 2**35, "log_B_ks": 5, "gadget": [(16, 17, 3)]},
}


def test_chacha20_known_answer() -> None:
    # draft-strombergson-chacha-test-vectors, TC1: key and nonce 0, 20 rounds.
    expected = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    assert chacha20(bytes(32), range(1), 32).tobytes().hex() == expected


@pytest.mark.parametrize("name", VARIANTS)
def test_nand_equals_big_integers(name: str, generator: np.random.Generator) -> None:
    chosen = parameters({**SMALL, **VARIANTS[name]}, allow_insecure=True)
    client = Client(chosen)
    keys = client.evaluation_keys()
    server = Server(keys, device="cpu", transform="ntt", allow_failure=1)
    reference = Reference(keys)
    x, y = (client.encrypt(generator.integers(0, 2, size=5)) for _ in range(2))
    result = server.nand(x, y).to_host()
    for i in range(5):
        assert result.data[i].tolist() == reference.nand(x[i], y[i])
