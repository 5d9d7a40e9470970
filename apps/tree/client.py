"""The client's process: it owns the flowers and the secret key.

usage: python -m tree.client prepare FOLDER     offer.json, flowers.npy -> keys, query, secret.key
       python -m tree.client read FOLDER        answer.whorl (trace.whorl) -> classes.json

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

from . import security
from .model import Quantiser


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the flowers' features, one ciphertext each."""
    offer = read_json(folder / "offer.json")
    insecure = offer["insecure"]
    quantiser = Quantiser(**offer["quantiser"])
    flowers = np.load(folder / "flowers.npy")

    def encrypted(client: Client, chosen: slice = slice(None)) -> Ciphertexts:
        # Levels that a set tells apart only nearly decrypt to a neighbour now and then.
        return client.encrypt(
            quantiser(flowers[chosen]),
            p=quantiser.levels,
            padding=True,
            allow_failure=1 if quantiser.guard else 2**-40,
        )

    made = make_keys_and_query(
        folder,
        lambda: Client(security.named(offer["parameters"], insecure)),
        encrypted,
        threads=threads,
    )
    one = len(encrypted(made.client, slice(1)).to_bytes())
    counts = {"ciphertexts": made.query.size, "one_flower_bytes": one}
    write_json(folder / "prepared.json", made.seconds | counts)


def read(folder: Path) -> None:
    """Decrypts the classes, and with a trace the leaf that each flower ended in."""
    started = time.perf_counter()
    insecure = read_json(folder / "offer.json")["insecure"]
    client = Client.load(folder / "secret.key", passphrase_given(), allow_insecure=insecure)
    answer = Ciphertexts.load(folder / "answer.whorl", allow_insecure=insecure)
    loaded = time.perf_counter()
    classes = client.decrypt(answer)
    decrypted = time.perf_counter()
    leaves = None
    if (folder / "trace.whorl").exists():
        trace = client.decrypt(Ciphertexts.load(folder / "trace.whorl", allow_insecure=insecure))
        trace = trace.reshape(answer.size, -1)
        if (trace.sum(axis=1) != 1).any() or trace.max() > 1:
            raise SystemExit("the trace does not name exactly one leaf a flower")
        leaves = trace.argmax(axis=1).tolist()
    write_json(
        folder / "classes.json",
        {
            "classes": classes.tolist(),
            "leaves": leaves,
            "ciphertexts": answer.size,
            "one_flower_bytes": len(answer[:1].to_bytes()),
            "key_seconds": loaded - started,
            "decryption_seconds": decrypted - loaded,
        },
    )


if __name__ == "__main__":
    client_main("tree", __doc__, prepare, read)
