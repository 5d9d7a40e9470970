"""The client's process: it owns the digits to learn from and the secret key.

usage: python -m logistic.client prepare FOLDER   offer.json, samples.npy -> keys, query, secret.key
       python -m logistic.client read FOLDER      answer.whorl, trace.whorl -> weights.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from common.files import read_json, write_json
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl.ckks import Ciphertexts, Client, parameters

from . import circuit
from .circuit import Layout
from .model import Schedule


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts the mini-batches."""
    offer = read_json(folder / "offer.json")
    layout = Layout(**offer["layout"])
    samples = np.load(folder / "samples.npy")
    made = make_keys_and_query(
        folder,
        lambda: Client(parameters(literal=offer["parameters"])),
        lambda client: client.encrypt(layout.pack(samples)),
        rotations=layout.rotations(),
        bootstrap=[layout.period],
        threads=threads,
    )
    counts = {"rotation_keys": len(made.keys.rotations), "ciphertexts": made.query.size}
    write_json(folder / "prepared.json", made.seconds | counts)


def read(folder: Path) -> None:
    """Decrypts the weights: the last ones, and with a trace those after each iteration."""
    client = Client.load(folder / "secret.key", passphrase_given())
    offer = read_json(folder / "offer.json")
    schedule, features = Schedule(**offer["schedule"]), offer["features"]

    def weights(name: str) -> list[list[float]]:
        state = client.decrypt(Ciphertexts.load(folder / name), raw=True)
        rows: list[list[float]] = circuit.read(state, schedule, features).tolist()
        return rows

    started = time.perf_counter()
    (last,) = weights("answer.whorl")
    decrypted = time.perf_counter()
    trace = weights("trace.whorl") if (folder / "trace.whorl").exists() else None
    write_json(
        folder / "weights.json",
        {"weights": last, "trace": trace, "decryption_seconds": decrypted - started},
    )


if __name__ == "__main__":
    client_main("logistic", __doc__, prepare, read)
