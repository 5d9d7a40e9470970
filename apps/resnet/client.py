"""The client's process: it owns the pictures and the secret key.

usage: python -m resnet.client prepare FOLDER    ends.whorlnn, pictures.npy -> keys, query
       python -m resnet.client read FOLDER       answer.whorl -> values.npy, read.json

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

from .network import normalised


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the pictures, one ciphertext each."""
    ends = nn.load_ends(folder / "ends.whorlnn")
    pictures = normalised(np.load(folder / "pictures.npy"))
    made = make_keys_and_query(
        folder,
        lambda: Client(ends.parameters),
        lambda client: ends.encrypt(client, pictures),
        **ends.keys,
        threads=threads,
        progress=True,
    )
    write_json(folder / "prepared.json", made.seconds | {"rotation_keys": len(made.keys.rotations)})


def read(folder: Path) -> None:
    """Decrypts what the network makes of each picture."""
    client = Client.load(folder / "secret.key", passphrase_given())
    ends = nn.load_ends(folder / "ends.whorlnn")
    answer = Ciphertexts.load(folder / "answer.whorl")
    started = time.perf_counter()
    values = ends.decrypt(client, answer)
    decrypted = time.perf_counter()
    np.save(folder / "values.npy", values)
    write_json(folder / "read.json", {"decryption_seconds": decrypted - started})


if __name__ == "__main__":
    client_main("resnet", __doc__, prepare, read)
