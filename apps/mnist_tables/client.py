"""The client's process: it owns the images and the secret key.

usage: python -m mnist_tables.client prepare FOLDER   client.json, pixels.npy -> keys, query,
                                                      secret.key
       python -m mnist_tables.client read FOLDER      answer.whorl -> logits.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from common.files import read_json, write_json
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl.client.binfhe import Ciphertexts, Client

from . import layout


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the images, a pixel in a ciphertext."""
    offer = read_json(folder / "client.json")
    pixels = np.load(folder / "pixels.npy")
    parameters = layout.named(**offer)
    made = make_keys_and_query(
        folder,
        lambda: Client(parameters),
        lambda client: client.encrypt(pixels, **layout.fresh(parameters)),
        threads=threads,
    )
    write_json(folder / "prepared.json", made.seconds | {"ciphertexts": made.query.size})


def read(folder: Path) -> None:
    """Decrypts the logits of each image."""
    insecure = read_json(folder / "client.json")["insecure"]
    client = Client.load(folder / "secret.key", passphrase_given(), allow_insecure=insecure)
    answer = Ciphertexts.load(folder / "answer.whorl", allow_insecure=insecure)
    started = time.perf_counter()
    logits = client.decrypt(answer)
    told = {"logits": logits.tolist(), "decryption_seconds": time.perf_counter() - started}
    write_json(folder / "logits.json", told)


if __name__ == "__main__":
    client_main("mnist_tables", __doc__, prepare, read)
