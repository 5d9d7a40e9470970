"""The accelerator's model as a device: what it answers is what the CPU answers, bit for bit."""

import os

import numpy as np
import pytest
import whorl
from whorl import binfhe


@pytest.fixture(scope="module", params=["fpga/I_M1", "fpga/I_M2", "fpga/I_M4"])
def client(request: pytest.FixtureRequest) -> binfhe.Client:
    return binfhe.Client(binfhe.parameters(request.param, allow_insecure=True))


def ran(server: binfhe.Server, results: int) -> bool:
    """Whether the last runs of the core, not of the CPU behind it, gave so many results."""
    counters = server.device_counters()
    return [counters[run]["RESULTS"] for run in ("rotate", "key_switch")] == [results, results]


def test_gates_and_tables_are_the_cpus(client: binfhe.Client) -> None:
    keys = client.evaluation_keys()
    cpu = binfhe.Server(keys, device="cpu")
    model = binfhe.Server(keys, device="rtl-model:PES=2,K=2")
    assert model.device == "rtl-model:PES=2,K=2"
    a = client.encrypt([0, 0, 1, 1, 1])
    b = client.encrypt([0, 1, 0, 1, 0])
    for gate in ("nand", "xor", "or_"):
        results = [getattr(server, gate)(a, b) for server in (cpu, model)]
        hosts = [result.to_host() for result in results]
        assert np.array_equal(hosts[0].data, hosts[1].data)
    assert ran(model, 5)
    assert cpu.device_counters() == {}
    assert client.decrypt(hosts[1]).tolist() == [0, 1, 1, 1, 1]
    luts = [binfhe.Lut(keys.parameters, table, p=2, padding=True) for table in ([1, 0], [0, 1])]
    x = client.encrypt([0, 1], p=2, padding=True)
    results = [server.apply(luts, x).to_host() for server in (cpu, model)]
    assert np.array_equal(results[0].data, results[1].data)
    assert client.decrypt(results[1]).tolist() == [1, 1]


def test_other_sets_run_on_the_cpu_behind_it_with_a_warning() -> None:
    client = binfhe.Client(binfhe.parameters("W128_P64"))
    with pytest.warns(RuntimeWarning, match="no key of W128_P64 .* leaves all work to the CPU"):
        server = binfhe.Server(client.evaluation_keys(), device="rtl-model")
    a, b = client.encrypt([0, 1, 1]), client.encrypt([1, 1, 0])
    assert client.decrypt(server.nand(a, b)).tolist() == [1, 0, 1]
    assert server.device_counters() == {}


def test_lanes_that_a_ring_has_not_are_refused(client: binfhe.Client) -> None:
    with pytest.raises(whorl.DeviceError, match="LOG_B"):
        binfhe.Server(client.evaluation_keys(), device="rtl-model:LOG_B=5")


@pytest.mark.parametrize("name", ["rtl-model:", "rtl-model:M=2", "rtl-model:K=0", "rtl-model:K"])
def test_odd_cores_are_refused(client: binfhe.Client, name: str) -> None:
    with pytest.raises(whorl.DeviceError, match="rtl-model"):
        binfhe.Server(client.evaluation_keys(), device=name)


def test_a_missing_core_says_how_to_build_it(
    client: binfhe.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHORL_RTL_CORE", os.devnull)
    with pytest.raises(whorl.DeviceError, match=r"library\.mk"):
        binfhe.Server(client.evaluation_keys(), device="rtl")


@pytest.mark.skipif("WHORL_RTL_CORE" not in os.environ, reason="WHORL_RTL_CORE names no core")
def test_the_simulated_core_is_the_cpu() -> None:
    client = binfhe.Client(binfhe.parameters("fpga/I_M2", allow_insecure=True))
    keys = client.evaluation_keys()
    a, b = client.encrypt([0, 1, 1]), client.encrypt([1, 1, 0])
    cpu, core = (binfhe.Server(keys, device=device) for device in ("cpu", "rtl"))
    results = [server.nand(a, b).to_host() for server in (cpu, core)]
    assert np.array_equal(results[0].data, results[1].data)
    assert ran(core, 3)
    assert client.decrypt(results[1]).tolist() == [1, 0, 1]
    luts = [binfhe.Lut(keys.parameters, table, p=2, padding=True) for table in ([1, 0], [0, 1])]
    x = client.encrypt([0, 1], p=2, padding=True)
    results = [server.apply(luts, x).to_host() for server in (cpu, core)]
    assert np.array_equal(results[0].data, results[1].data)
    assert ran(core, 2)
    assert client.decrypt(results[1]).tolist() == [1, 1]
