"""The client's process: it owns the readings, the thresholds and the secret key.

usage: python -m sign.client prepare FOLDER     offer.json, readings.npy, limits.npy -> keys, query
       python -m sign.client read FOLDER        answer.whorl, rounded.whorl -> found.json

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

from . import circuit


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the limits and then the readings, one ciphertext each."""
    offer = read_json(folder / "offer.json")
    readings, limits = np.load(folder / "readings.npy"), np.load(folder / "limits.npy")
    numbers = circuit.messages(np.concatenate([limits[None], readings]))
    made = make_keys_and_query(
        folder,
        lambda: Client(parameters(offer["parameters"])),
        lambda client: client.encrypt(numbers, circuit.P),
        threads=threads,
    )
    write_json(folder / "prepared.json", made.seconds)


def read(folder: Path) -> None:
    """Decrypts which readings are above their limits, and the rounded readings."""
    client = Client.load(folder / "secret.key", passphrase_given())
    answer = Ciphertexts.load(folder / "answer.whorl")
    rounded = Ciphertexts.load(folder / "rounded.whorl")
    started = time.perf_counter()
    above = client.decrypt(answer)
    numbers = circuit.signed(client.decrypt(rounded), rounded.p)
    decrypted = time.perf_counter()
    write_json(
        folder / "found.json",
        {
            "above": above.tolist(),
            "rounded": numbers.tolist(),
            "decryption_seconds": decrypted - started,
        },
    )


if __name__ == "__main__":
    client_main("sign", __doc__, prepare, read)
