"""The client's process: it owns the bits and the secret key.

usage: python -m rtl.client prepare FOLDER     offer.json, bits.npy -> keys, query
       python -m rtl.client read FOLDER        answer.whorl -> read.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from common.files import read_json, write_json
from common.halves import client_main
from common.processes import passphrase_given
from whorl.client.binfhe import Ciphertexts, Client, parameters


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts every bit."""
    offer = read_json(folder / "offer.json")
    started = time.perf_counter()
    client = Client(parameters(offer["parameters"]))
    client.evaluation_keys(threads).save(folder / "keys.whorl")
    made_keys = time.perf_counter()
    client.encrypt(np.load(folder / "bits.npy")).save(folder / "query.whorl")
    encrypted = time.perf_counter()
    client.save(folder / "secret.key", passphrase_given())
    write_json(
        folder / "prepared.json",
        {"keys_seconds": made_keys - started, "encryption_seconds": encrypted - made_keys},
    )


def read(folder: Path) -> None:
    """Decrypts sums and carries."""
    client = Client.load(folder / "secret.key", passphrase_given())
    answer = Ciphertexts.load(folder / "answer.whorl")
    started = time.perf_counter()
    bits = client.decrypt(answer)
    write_json(
        folder / "read.json",
        {"bits": bits.tolist(), "decryption_seconds": time.perf_counter() - started},
    )


if __name__ == "__main__":
    client_main("rtl", __doc__, prepare, read)
