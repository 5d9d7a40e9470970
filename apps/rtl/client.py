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
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl.client.binfhe import Ciphertexts, Client, parameters


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts every bit."""
    offer = read_json(folder / "offer.json")
    made = make_keys_and_query(
        folder,
        lambda: Client(parameters(offer["parameters"])),
        lambda client: client.encrypt(np.load(folder / "bits.npy")),
        threads=threads,
    )
    write_json(folder / "prepared.json", made.seconds)


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
