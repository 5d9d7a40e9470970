"""Named sets: their contents, which no change of the library may change."""

import re

import numpy as np
import pytest
import whorl
from whorl import ckks, lanes
from whorl.ckks._tracer import TracingServer

DIGESTS = {
    "W128_L13_B20": "a61da8e8b5617cdf7be535db77ec30bf",
    "W128_L12_B21": "fe7c704218c8879f9468ab93b1c2124d",
    "W128_L16_B16": "f401e689f348d90e903d308d149f93a9",
    "W128_L13_B17": "cdc47febdc7344cd34a58605a7d309eb",
    "W128_L7_B28": "48e76deafff0b4cc95128f99b15030b2",
    "W128_L7_B22": "cb13588d9ed88f81e34c4a1ef9ee9a2f",
    "W128_L4_B11": "369780f310d3daa681c4f66992122357",
    "W128_L36_B19": "863a7d4a0cb074e3555780ce52375cc4",
    "W128_L22_B27": "8133bf4c66bbadd855a448ae9c646c52",
    "W128_BITS5_L10": "cab26e56ce0101d884b1e8ed8e48e92c",
    "W128_BITS1_L4": "7fdb5bbd1124725af858ff72155ace93",
    "cheddar/40": "448fa08de9f009e3741ba8f34ef9c211",
    "cheddar/35": "60ca22df579954a5b596a34b2bb52995",
    "cheddar/30": "77c0bec8bff50fd0f98d65659fa3dbdc",
    "lattigo/N16QP1546H192H32": "3ab6a489fc74b2599eadb90fb7c2f9c9",
    "lattigo/N16QP1547H192H32": "53ebb20bf9ffe0139f50473308ba9f22",
    "lattigo/N16QP1553H192H32": "07c01960d26fdb836d477eefc1b1be9e",
    "lattigo/N15QP768H192H32": "9ba8178590dc53ca85a68bdc2f6e87f5",
    "lattigo/N16QP1767H32768H32": "6129a042007deae7725165c922c6328c",
    "lattigo/N16QP1788H32768H32": "eaea502bdce4edfe2f79cdc67083d8e0",
    "lattigo/N16QP1793H32768H32": "99a55a7a5871faf8f0f5510162f775ca",
    "lattigo/N15QP880H16384H32": "4b3ca11149dba4fb6c91749483398269",
    "openfhe/simple-real-numbers": "abffb47d5a528d152b4f8a52864d65f2",
    "openfhe/simple-ckks-bootstrapping-128": "eaad94f61f9e4e8443ca896836674e03",
    "openfhe/simple-ckks-bootstrapping": "178210cdf22cd598a16f80ddf9a1d41b",
    "tensorfhe/default": "eae8bfa24f6977aabf4492658e603e0b",
    "tensorfhe/resnet20": "8ffbb57b229e803305703c66030202d8",
    "tensorfhe/logistic": "1ce18a85e52761180e227120fdb699be",
    "tensorfhe/lstm": "f51d6b42d55a2083318b006aa2cc081e",
    "tensorfhe/packed": "9fc017260ea8e08f924236424f816690",
    "tensorfhe/bootstrap": "0874bbf992ca50486bc4518436e28a5a",
    "tensorfhe/packed-bootstrap": "8034a430115a1eb7cf281ce522d7cf05",
    "tensorfhe/A": "cbbc8cf64f39685f82bdb8040c1cd3c8",
    "tensorfhe/B": "4fe89e4a659615d952c5879e0c53a579",
    "tensorfhe/C": "2204f07dbe15d7989f62183d2109dc75",
}


def test_digests_are_pinned() -> None:
    """Files of keys and ciphertexts under a set stay readable as long as these do not change."""
    found = {
        name: ckks.parameters(name, allow_insecure=True).digest for name in ckks.parameter_sets()
    }
    assert found == DIGESTS


def test_a_server_of_the_fastest_set_takes_less_than_8_gb() -> None:
    """On a device, with the keys and maps of full vectors. A dry run knows the maps' bytes."""
    p = ckks.parameters("W128_L13_B20")
    keys = 2 * p.key_size(bootstrap=[p.slots])  # the halves that travel as seeds are there too
    maps = TracingServer(p, inserts=False).prepare_bootstrap(p.slots)
    assert 5.1e9 < keys < 5.3e9 and 0.3e9 < maps < 0.4e9
    assert keys + maps < 8e9


def test_own_sets_keep_their_names_word() -> None:
    for name in ckks.parameter_sets():
        if not name.startswith("W128"):
            continue
        p = ckks.parameters(name)
        words = dict(re.findall(r"_([A-Z]+)(\d+)", name))
        assert p.depth - p.least_bootstrap_level == int(words["L"])
        assert p.bootstrap is not None and p.bootstrap["bits"] == int(words.get("BITS", 0))
        assert p.security_bits >= 128 and p.sparse_security_bits >= 128


def test_orders_and_arcsines_of_own_sets() -> None:
    for name, last, arcsine in (
        ("W128_L13_B20", 0, 0),
        ("W128_L13_B17", 1, 0),
        ("W128_L7_B28", 0, 7),
        ("W128_L7_B22", 1, 7),
        ("W128_L36_B19", 0, 0),
        ("W128_L22_B27", 0, 7),
    ):
        p = ckks.parameters(name)
        assert p.bootstrap is not None
        assert (p.bootstrap["coefficients_last"], p.bootstrap["arcsine"]) == (last, arcsine)
        assert p.N == (131072 if name in ("W128_L36_B19", "W128_L22_B27") else 65536)


@pytest.mark.parametrize(
    ("name", "levels", "scale"),
    [("cheddar/40", 13, 40), ("cheddar/35", 16, 35), ("cheddar/30", 19, 30)],
)
def test_cheddars_levels(name: str, levels: int, scale: int) -> None:
    p = ckks.parameters(name, allow_insecure=True)
    assert p.depth - p.least_bootstrap_level == levels and p.N == 65536
    assert np.log2(p.scale(0)) == scale and len(p.special) == p.digit_limbs == 12
    # Four maps and eight levels of the sine above those of users.
    assert p.top == p.depth + 12
    assert p.sparse_security_bits >= 128
    if name == "cheddar/40":
        assert p.security_bits >= 128
    else:  # an estimate at a modulus as large as theirs
        assert 126 <= p.security_bits < 127
        with pytest.raises(whorl.ParameterError, match="allow_insecure"):
            ckks.parameters(name)


def test_sets_of_other_libraries() -> None:
    expected = {
        "lattigo/N16QP1546H192H32": (9, 40, 32, 65536),
        "lattigo/N16QP1547H192H32": (5, 45, 64, 65536),
        "lattigo/N16QP1553H192H32": (14, 30, 32, 65536),
        "lattigo/N15QP768H192H32": (3, 25, 32, 32768),
        "lattigo/N16QP1767H32768H32": (13, 40, 32, 65536),
        "lattigo/N16QP1788H32768H32": (9, 45, 64, 65536),
        "lattigo/N16QP1793H32768H32": (25, 30, 32, 65536),
        "lattigo/N15QP880H16384H32": (4, 31, 32, 32768),
        "openfhe/simple-ckks-bootstrapping-128": (10, 50, 64, 131072),
    }
    for name, wanted in expected.items():
        p = ckks.parameters(name)
        levels = p.depth - p.least_bootstrap_level
        assert (levels, np.log2(p.scale(0)), p.word_bits, p.N) == wanted
        assert p.security_bits >= 128 and p.sparse_security_bits >= 128
    plain = ckks.parameters("openfhe/simple-real-numbers")
    assert (plain.depth, np.log2(plain.scale(0)), plain.N) == (1, 50, 16384)
    assert plain.bootstrap is None and plain.security_bits >= 128
    example = ckks.parameters("openfhe/simple-ckks-bootstrapping", allow_insecure=True)
    assert example.depth - example.least_bootstrap_level == 10 and example.N == 4096
    assert example.bootstrap is not None
    assert example.bootstrap["coeffs_to_slots"] == example.bootstrap["slots_to_coeffs"] == 4


# The worst slot, 2 bits less than the median of eight keys. Errors of a slot are products of two
# Gaussians (ckks_values.py): of 1,024 the worst is above four times the median once in 2^30 keys.
BITS = {
    "W128_L13_B20": 23.7,
    "W128_L12_B21": 23.8,
    "W128_L16_B16": 21.0,
    "cheddar/40": 22.9,
    "cheddar/35": 21.2,
    "cheddar/30": 16.4,
    "lattigo/N16QP1546H192H32": 23.7,
    "lattigo/N16QP1547H192H32": 24.7,
    "lattigo/N16QP1553H192H32": 16.1,
    "lattigo/N15QP768H192H32": 11.4,
    "lattigo/N16QP1767H32768H32": 23.8,
    "lattigo/N16QP1788H32768H32": 24.6,
    "lattigo/N16QP1793H32768H32": 16.5,
    "lattigo/N15QP880H16384H32": 16.5,
    "openfhe/simple-ckks-bootstrapping": 17.2,
    "openfhe/simple-ckks-bootstrapping-128": 17.3,
    "tensorfhe/bootstrap": 16.4,
    "tensorfhe/packed-bootstrap": 13.5,
    "W128_L13_B17": 18.2,
    "W128_L7_B28": 32.1,
    "W128_L7_B22": 26.2,
    "W128_L4_B11": 14.5,
    "W128_L36_B19": 23.7,
    "W128_L22_B27": 32.0,
}


# Sets whose bootstraps are made for bits.
FOR_BITS = {"W128_BITS5_L10", "W128_BITS1_L4"}


def test_all_sets_that_bootstrap_are_tested() -> None:
    sets = {name: ckks.parameters(name, allow_insecure=True) for name in ckks.parameter_sets()}
    assert set(BITS) == {
        name for name, p in sets.items() if p.bootstrap and not p.bootstrap["bits"]
    }
    assert FOR_BITS == {name for name, p in sets.items() if p.bootstrap and p.bootstrap["bits"]}


@pytest.mark.parametrize("name", BITS)
def test_sets_refresh(name: str) -> None:
    """In a ring of N = 2048 with the same primes, which is quick; docs/ckks.md has the bits at
    N = 65536, which are fewer."""
    p = ckks.parameters(name, allow_insecure=True)
    small = ckks.parameters(literal={**p.literal(), "N": min(p.N, 2048)}, allow_insecure=True)
    client = ckks.Client(small)
    server = ckks.Server(client.evaluation_keys(bootstrap=[small.slots]), device="cpu", threads=1)
    generator = np.random.default_rng(3)
    values = np.exp(2j * np.pi * generator.uniform(0, 1, small.slots))
    low = server.upload(client.encrypt(values)).lower(small.least_bootstrap_level)
    got = ckks.precision(client.decrypt(low.bootstrap(), raw=True), values).absolute.min
    assert got >= BITS[name]


@pytest.mark.parametrize("name", sorted(FOR_BITS))
def test_sets_for_bits_refresh(name: str) -> None:
    """In a ring of N = 2048 with the same primes: bits are as near as the bound says."""
    p = ckks.parameters(name)
    small = ckks.parameters(literal={**p.literal(), "N": 2048}, allow_insecure=True)
    client = lanes.Client(small)
    server = lanes.Server(client.evaluation_keys(), device="cpu", threads=1)
    bits = np.random.default_rng(3).integers(0, 2, (12, small.slots))
    arrays = server.upload(client.encrypt(bits))
    server.refresh(arrays)
    assert server.bootstraps == 12 and server.log2_failure < -64
    assert arrays.level == small.depth and arrays.error <= server.limit
    assert np.array_equal(client.decrypt(arrays), bits)
