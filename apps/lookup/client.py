"""The client's process: it owns the codes to look up and the secret key.

usage: python -m lookup.client prepare FOLDER    offer.json, codes.json -> keys, query, secret.key
       python -m lookup.client read FOLDER       answer.whorl -> rows.json

The secret key is kept between the two under the passphrase in WHORL_APP_PASSPHRASE.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import client_main, make_keys_and_query
from common.processes import passphrase_given
from whorl.bgv import Ciphertexts, Client, parameters

from . import circuit
from .table import Grid, unpack


def prepare(folder: Path, threads: int) -> None:
    """Makes keys, and encrypts two vectors for each code."""
    offer = read_json(folder / "offer.json")
    grid = Grid(**offer["grid"])
    codes = read_json(folder / "codes.json")
    made = make_keys_and_query(
        folder,
        lambda: Client(parameters(literal=offer["parameters"])),
        lambda client: client.encrypt(circuit.question(grid, codes)),
        rotations=circuit.rotations(grid),
        threads=threads,
    )
    write_json(folder / "prepared.json", made.seconds | {"rotation_keys": len(made.keys.rotations)})


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
