"""A dense matrix times an encrypted vector, with the matrix encoded before or in each product.

    .venv/bin/python bench/linear_maps.py [--device cuda] [--side 256] [--depths 7 16 34]
        [--runs 25] [--energy 1] [--record FILE] [--commit ID]

The map of a real matrix of side × side values meets one vector of as many real values, at the top
level of parameters of that depth, and is rescaled. `matvec256` encodes the matrix in each product;
`matvec256_encoded` has it encoded before. A run is one product with a wait at its end, on a vector
that lies on the device. Keys, encryption and decryption are left out. Each product is compared with
the one in clear before anything is recorded. On a GPU `matvec256_energy` and
`matvec256_encoded_energy` are the joules of a product, by products that are repeated for `--energy`
seconds. Records belong in bench/results/<device>/linear_maps.jsonl.
"""

import argparse
from pathlib import Path

import numpy as np
from common.energy import add_energy
from common.records import append, device_fields, stamped
from common.waits import timed
from whorl import ckks


def measure(depth: int, given: argparse.Namespace) -> None:
    """Records the products at one depth."""
    random = np.random.default_rng(depth)
    matrix = random.uniform(-1, 1, (given.side, given.side)) / given.side
    x = random.uniform(-1, 1, given.side)
    parameters = ckks.parameters(depth)
    client = ckks.Client(parameters)
    map = ckks.linear_map(matrix)
    keys = client.evaluation_keys(rotations=map.rotations)
    server = ckks.Server(keys, device=given.device)
    vector = server.upload(client.encrypt(x, bound=1.0, packing="real"))
    encoded = server.encode(map)
    for op, call in (
        ("", lambda: server.apply(vector, map)),
        ("_encoded", lambda: server.apply(vector, encoded)),
    ):
        result = call()
        error = float(np.abs(client.decrypt(result, raw=True) - matrix @ x).max())
        if error > 12 * result.error:
            raise SystemExit(f"matvec: an error of {error:.3g} is above what is stated")
        times = timed(server, call, given.runs)
        print(f"depth {depth}{op}: {1e3 * sorted(times)[given.runs // 2]:.3f} ms", flush=True)
        name = f"matvec{given.side}{op}"
        more = {"N": parameters.N, "security_bits": parameters.security_bits}
        fields = {"transfers": "excluded", "threads": server.threads, **more}
        device = device_fields(server.devices)
        line = stamped("linear_maps", name, "ckks", f"depth {depth}", times, **fields, **device)
        line["commit"] = given.commit or line["commit"]
        append(given.record, line)
        add_energy(given.record, line, server, call, given.energy)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda")
    options.add_argument("--side", type=int, default=256)
    options.add_argument("--depths", type=int, nargs="+", default=[7, 16, 34])
    options.add_argument("--runs", type=int, default=25)
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()
    for depth in given.depths:
        measure(depth, given)


if __name__ == "__main__":
    main()
