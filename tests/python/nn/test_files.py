"""Files of networks: what they carry, and that nothing else is read."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from nn.networks import RandomNetwork
from nn.torch_page import RESULTS, SAVED
from whorl import nn
from whorl.nn._file import DIGEST
from whorl.nn._saved import ends_from, network_from


@pytest.fixture(scope="module")
def net() -> nn.Network:
    return RandomNetwork(3).compiled()


@pytest.mark.parametrize("seed", range(6))
def test_files_carry_networks(seed: int, tmp_path: Path) -> None:
    network = RandomNetwork(seed)
    net = network.compiled()
    net.save(tmp_path / "net")
    net.ends.save(tmp_path / "ends")
    again = nn.load(tmp_path / "net", allow_insecure=True)
    ends = nn.load_ends(tmp_path / "ends", allow_insecure=True)
    assert again.to_bytes() == net.to_bytes()
    assert ends.to_bytes() == net.ends.to_bytes()
    assert np.array_equal(again.simulate(network.examples), net.simulate(network.examples))
    assert again.keys == net.keys and again.levels == net.levels
    assert again.difference is None and net.difference is not None
    assert again.summary() == net.summary().rpartition("\n")[0]


def test_insecure_parameters_want_consent(net: nn.Network, tmp_path: Path) -> None:
    net.save(tmp_path / "net")
    with pytest.raises(whorl.ParameterError, match="security"):
        nn.load(tmp_path / "net")


def test_other_files_are_refused(net: nn.Network, tmp_path: Path) -> None:
    data = net.to_bytes()
    path = tmp_path / "net"
    for changed, error, text in [
        (b"", whorl.TruncatedError, "no network"),
        (b"x" * 100, whorl.FormatError, "WHORLNN"),
        (data[:7] + b"9" + data[8:], whorl.VersionError, "version"),
        (data[:-1] + bytes([data[-1] ^ 1]), whorl.CorruptionError, "digest"),
        (net.ends.to_bytes(), whorl.FormatError, "kind"),
    ]:
        path.write_bytes(changed)
        with pytest.raises(error, match=text) as caught:
            nn.load(path, allow_insecure=True)
        assert str(path) in str(caught.value)
    path.write_bytes(data)
    with pytest.raises(whorl.OversizedError):
        nn.load(path, allow_insecure=True, max_bytes=len(data) - 1)
    with pytest.raises(whorl.IoError):
        nn.load(tmp_path / "absent")


def test_a_saved_model_of_torch_runs_without_torch() -> None:
    """The network of docs/networks.md; `torch_page.py` saves it."""
    net = nn.load(SAVED)
    with np.load(RESULTS) as found:
        x, expected = found["inputs"].astype(np.float64), found["results"]
    client = whorl.ckks.Client(net.parameters)
    server = whorl.ckks.Server(client.evaluation_keys(**net.keys), device="cpu")
    got = net.ends.decrypt(client, net.run(server, net.ends.encrypt(client, x)), len(x))
    assert np.abs(got - expected).max() <= 6 * net.ends.output.error + 1e-5
    again = nn.compile(net.graph, x, images=8)
    assert again.levels == net.levels
    assert np.abs(again.simulate(x) - expected).max() < 1e-5


def resealed(data: bytes) -> bytes:
    return data + hashlib.blake2b(data, digest_size=DIGEST).digest()


def test_steps_that_do_not_fit_the_levels_are_refused(net: nn.Network) -> None:
    shallow, keys = whorl.ckks.parameters(depth=1), {**net.keys, "low_rotations": {}}
    ends = dataclasses.replace(net.ends, parameters=shallow, keys=keys)
    data = dataclasses.replace(net, ends=ends).to_bytes()
    with pytest.raises(whorl.FormatError, match="takes more than the 1 levels"):
        network_from(data, None, True)


def test_hostile_headers_are_refused(net: nn.Network) -> None:
    body = net.to_bytes()[:-DIGEST]
    header = 16 + int.from_bytes(body[8:16], "little")
    fields = json.loads(body[16:header])

    def read(changed: dict[str, Any]) -> None:
        text = json.dumps({**fields, **changed}).encode()
        data = body[:8] + len(text).to_bytes(8, "little") + text + body[header:]
        network_from(resealed(data), None, True)

    read({})
    vast = {**fields["nodes"][0], "shape": [2**26, 32]}
    other = {**fields["ends"]["output"], "scale": 10**400}
    hostile: list[dict[str, Any]] = [
        {"nodes": [vast, *fields["nodes"][1:]]},
        {"ends": {**fields["ends"], "output": other}},
        {"ends": {**fields["ends"], "input": fields["ends"]["output"]}},
        {"refreshes": [[1, 0]] * 1000},
        {"ends": {**fields["ends"], "images": 3}},
        {"steps": [{**each, "level": 0} for each in fields["steps"]]},
    ]
    for changed in hostile:
        with pytest.raises(whorl.FormatError):
            read(changed)


@pytest.mark.parametrize("seed", range(4))
def test_changed_files_raise_errors_of_the_library(net: nn.Network, seed: int) -> None:
    """Changes of the header, with a digest that fits, are read or refused, and nothing else."""
    choose = random.Random(seed)
    for whole, read in [(net.to_bytes(), network_from), (net.ends.to_bytes(), ends_from)]:
        body = whole[:-DIGEST]
        header = 16 + int.from_bytes(body[8:16], "little")
        for _ in range(150):
            data = bytearray(body)
            for _ in range(choose.choice([1, 1, 2, 4])):
                at = choose.randrange(8, header)
                data[at] = choose.choice(b'0123456789[]{},":-.en')
            try:
                read(resealed(bytes(data)), None, True)
            except whorl.Error:
                continue
