"""The client's process: it owns the images and the secret key.

usage: python -m digits.client prepare FOLDER   ends.whorlnn, images.npy -> keys, query, secret.key
       python -m digits.client read FOLDER      answer.whorl -> logits.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from common.files import write_json
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl import nn
from whorl.client.ckks import Ciphertexts, Client


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the images."""
    ends = nn.load_ends(folder / "ends.whorlnn")
    images = np.load(folder / "images.npy")
    made = make_keys_and_query(
        folder,
        lambda: Client(ends.parameters),
        lambda client: ends.encrypt(client, images),
        **ends.keys,
        threads=threads,
    )
    counts = {"rotation_keys": len(made.keys.rotations), "ciphertexts": made.query.size}
    write_json(folder / "prepared.json", made.seconds | counts)


def read(folder: Path) -> None:
    """Decrypts the logits of each image."""
    ends = nn.load_ends(folder / "ends.whorlnn")
    client = Client.load(folder / "secret.key", passphrase_given())
    answer = Ciphertexts.load(folder / "answer.whorl")
    started = time.perf_counter()
    logits = ends.decrypt(client, answer, len(np.load(folder / "images.npy")))
    decrypted = time.perf_counter()
    told = {"logits": logits.tolist(), "decryption_seconds": decrypted - started}
    write_json(folder / "logits.json", told)


if __name__ == "__main__":
    client_main("digits", __doc__, prepare, read)
