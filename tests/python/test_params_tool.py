"""The parameter tools: the table in the source is the measured one, the search finds our sets."""

import subprocess
import sys
from pathlib import Path

import pytest
from whorl import _search, binfhe

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools" / "params"


def test_included_table_is_generated_from_the_measured_one():
    subprocess.run([sys.executable, str(TOOLS / "security_table.py"), "--check"], check=True)


def test_shipped_table_is_the_shared_one():
    shared = ROOT.parent / "shared" / "data" / "security" / "table.jsonl"
    if not shared.exists():
        pytest.skip(f"{shared} is not here to compare with")
    assert (TOOLS / "table.jsonl").read_text() == shared.read_text()


def test_documented_sets_are_up_to_date():
    subprocess.run([sys.executable, str(TOOLS / "document.py"), "--check"], check=True)


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("W128_P64", _search.Request(N=(1024,), log_Q=(25, 26, 27))),
        (
            "W128_P128",
            _search.Request(
                p=16, padding=True, failure_log2=-128, N=(2048,), log_Q=tuple(range(44, 53))
            ),
        ),
    ],
)
def test_search_finds_the_shipped_set(name, request_):
    seen = []
    found = _search.search(request_, top=3, progress=lambda done, total: seen.append((done, total)))
    assert found, name
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1]
    shipped = binfhe.parameters(name).literal
    best = found[0].literal
    for field, value in best.items():
        if field not in ("name", "source"):
            mine = shipped[field]
            if field == "gadget":
                mine = [tuple(entry) for entry in mine]
            assert mine == value, field
    for candidate in found:
        assert candidate.evaluation.failure_log2 <= request_.failure_log2
        assert candidate.evaluation.lwe_bits >= request_.security
        assert candidate.evaluation.ring_bits >= request_.ring_security
    costs = [candidate.cost.flops for candidate in found]
    assert costs == sorted(costs)


def test_search_says_so_when_nothing_fits():
    impossible = _search.Request(p=4096, padding=True, N=(1024,), log_Q=(26,))
    assert _search.search(impossible) == []


@pytest.mark.parametrize(
    "wrong", [{"p": 3}, {"failure_log2": 1.0}, {"secret": "sparse"}, {"objective": "beauty"}]
)
def test_request_names_what_is_wrong(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        _search.Request(**wrong)


@pytest.mark.parametrize(
    ("log_Q", "N", "prime"),
    [(27, 1024, 134215681), (25, 1024, 33550337), (54, 2048, 18014398509404161)],
)
def test_ring_primes_are_those_of_openfhe(log_Q, N, prime):
    assert _search.ring_prime(log_Q, N) == prime
