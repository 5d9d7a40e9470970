"""The client's process: it owns the sentences and the secret key, and has the table of words.

usage: python -m sentiment.client prepare FOLDER   offer.json, table.npz, sentences.json -> keys,
                                                   query, secret.key
       python -m sentiment.client read FOLDER      answer.whorl -> read.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl.ckks import Ciphertexts, Client, parameters

from .circuit import Layout, keys
from .words import Table


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the vectors of the sentences' words."""
    offer = read_json(folder / "offer.json")
    layout = Layout(**offer["layout"])
    sentences = read_json(folder / "sentences.json")
    vectors = Table.load(folder / "table.npz").vectors(sentences, offer["steps"])
    params = parameters(literal=offer["parameters"])
    made = make_keys_and_query(
        folder,
        lambda: Client(params),
        lambda client: client.encrypt(layout.pack(vectors)),
        **keys(params, layout, offer["steps"]),
        threads=threads,
    )
    counts = {"rotation_keys": len(made.keys.rotations), "ciphertexts": made.query.size}
    write_json(folder / "prepared.json", made.seconds | counts)


def read(folder: Path) -> None:
    """Decrypts the scores."""
    client = Client.load(folder / "secret.key", passphrase_given())
    count = len(read_json(folder / "sentences.json"))
    answer = Ciphertexts.load(folder / "answer.whorl")
    started = time.perf_counter()
    scores = client.decrypt(answer, raw=True).reshape(-1)[:count]
    decrypted = time.perf_counter()
    write_json(
        folder / "read.json",
        {"scores": scores.tolist(), "decryption_seconds": decrypted - started},
    )


if __name__ == "__main__":
    client_main("sentiment", __doc__, prepare, read)
