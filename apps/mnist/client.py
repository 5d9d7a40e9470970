"""The client's process: it owns the images and the secret key.

usage: python -m mnist.client prepare FOLDER   client.json, images.npy -> keys, query, secret.key
       python -m mnist.client read FOLDER      answer.whorl -> logits.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from common.files import read_json, write_json
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl.client.ckks import Ciphertexts, Client

from . import layout


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the images, a pixel of all of them in a ciphertext."""
    insecure = read_json(folder / "client.json")["insecure"]
    parameters = layout.insecure() if insecure else layout.parameters()
    pixels = layout.pixels_of(np.load(folder / "images.npy"), parameters.slots)
    made = make_keys_and_query(
        folder,
        lambda: Client(parameters),
        lambda client: client.encrypt(pixels, bound=(0, 1)),
        threads=threads,
    )
    write_json(folder / "prepared.json", made.seconds | {"ciphertexts": made.query.size})


def read(folder: Path) -> None:
    """Decrypts the logits of each image."""
    insecure = read_json(folder / "client.json")["insecure"]
    count = len(np.load(folder / "images.npy"))
    client = Client.load(folder / "secret.key", passphrase_given(), allow_insecure=insecure)
    answer = Ciphertexts.load(folder / "answer.whorl", allow_insecure=insecure)
    started = time.perf_counter()
    logits = layout.logits_of(client.decrypt(answer, raw=True), count)
    told = {
        "logits": logits.tolist(),
        "error": answer.error,
        "decryption_seconds": time.perf_counter() - started,
    }
    write_json(folder / "logits.json", told)


if __name__ == "__main__":
    client_main("mnist", __doc__, prepare, read)
