"""Networks on ciphertexts against the same polynomials in clear, and against the model."""

from __future__ import annotations

import numpy as np
import pytest
from nn.networks import RandomNetwork, client, server_of


def check(seed: int) -> None:
    random = RandomNetwork(seed)
    net = random.compiled()
    x = random.random.uniform(-0.8, 0.8, (random.images + 1, *random.graph.nodes[0].shape))
    result = net.run(server_of(net), net.ends.encrypt(client(), x))
    got = net.ends.decrypt(client(), result, len(x))
    clear = net.simulate(x)
    assert got.shape == clear.shape == (len(x), *random.graph.nodes[-1].shape)
    error = net.ends.output.error
    assert np.abs(got - clear).max() <= 6 * error, f"seed {seed}: stated {error:.2g}"
    # What is stated is not far above what there is, and far below the values.
    assert error <= 2**-10 * max(1, net.ends.output.scale)


@pytest.mark.parametrize("seed", range(24))
def test_networks_are_within_their_error_of_the_simulation(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_a_thousand_networks(seed: int) -> None:
    check(seed)
