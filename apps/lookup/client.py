"""The client's process: it owns the codes to look up and the secret key.

usage: python -m lookup.client prepare FOLDER    offer.json, codes.json -> keys, query, secret.key
       python -m lookup.client read FOLDER       answer.whorl -> rows.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import client_main
from common.processes import passphrase_given
from whorl.bgv import Ciphertexts, Client, parameters

from . import circuit
from .table import Grid, unpack


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts two vectors for each code."""
    offer = read_json(folder / "offer.json")
    grid = Grid(**offer["grid"])
    codes = read_json(folder / "codes.json")

    started = time.perf_counter()
    client = Client(parameters(literal=offer["parameters"]))
    keys = client.evaluation_keys(rotations=circuit.rotations(grid), threads=threads)
    keys.save(folder / "keys.whorl")
    made_keys = time.perf_counter()
    query = client.encrypt(circuit.question(grid, codes))
    query.save(folder / "query.whorl")
    encrypted = time.perf_counter()
    client.save(folder / "secret.key", passphrase_given())
    write_json(
        folder / "prepared.json",
        {
            "keys_seconds": made_keys - started,
            "encryption_seconds": encrypted - made_keys,
            "rotation_keys": len(keys.rotations),
        },
    )


def read(folder: Path) -> None:
    """Decrypts the rows; null where the table has none."""
    client = Client.load(folder / "secret.key", passphrase_given())
    grid = Grid(**read_json(folder / "offer.json")["grid"])
    answer = Ciphertexts.load(folder / "answer.whorl").reshape(-1, grid.layers)
    started = time.perf_counter()
    slots = client.decrypt(answer, all_slots=True)
    decrypted = time.perf_counter()
    budget = float(client.noise_budget(answer).min())
    write_json(
        folder / "rows.json",
        {
            "rows": [unpack(cell) for cell in circuit.read(slots)],
            "decryption_seconds": decrypted - started,
            "noise_budget": budget,
        },
    )


if __name__ == "__main__":
    client_main("lookup", __doc__, prepare, read)
