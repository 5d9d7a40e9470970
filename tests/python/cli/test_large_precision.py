"""Signs, rounding and digits on the command line."""

import json
from pathlib import Path

from cli_support import PHRASE, Here, write_phrase

LITERAL = {
    "n": 16,
    "q": 2**15,
    "N": 512,
    "Q": 18014398509404161,
    "Q_ks": 2**35,
    "log_B_ks": 5,
    "gadget": [(16, 18, 2)],
    "small_modulus_gadgets": [(11, 27, 1)],
    "transform": "ntt",
}


def test_bench_of_large_precision(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(json.dumps(LITERAL))
    shell = Here(tmp_path)
    run = ("bench", "run", "--params", "set.json", "--batch", "2", "--runs", "1", "--json")
    ops = ("--op", "evalsign:13", "--op", "evalfloor", "--op", "evaldecomp")
    printed = shell(*run, *ops, "--device", "cpu")
    records = [json.loads(line) for line in printed.splitlines()]
    assert [(r["op"], r["log_modulus"], r["batch"]) for r in records] == [
        (op, log_modulus, batch)
        for op, log_modulus in (("evalsign", 13), ("evalfloor", 15), ("evaldecomp", 15))
        for batch in (1, 2)
    ]
    assert all(record["median"] > 0 and record["pfail_log2"] < -40 for record in records)
    assert "10 … 15 bits" in shell(*run, "--op", "evalsign:16", code=2)
    assert "number of bits" in shell(*run, "--op", "evalsign:x", code=2)


def test_eval_of_numbers_of_many_bits(tmp_path: Path) -> None:
    write_phrase(tmp_path)
    (tmp_path / "set.json").write_text(json.dumps(LITERAL))
    shell = Here(tmp_path)
    shell("keygen", "--params", "set.json", *PHRASE)
    shell("encrypt", "100,37,64", "-p", "128", "-o", "x.whorl", *PHRASE)
    for expression, expected in (
        ("eval_sign(x)", "1 0 1"),
        ("eval_floor(x, 3)", "12 4 8"),
        ("eval_decomp(x, 2)", "2 2 0"),
    ):
        shell("eval", expression, "x=x.whorl", "-o", "y.whorl", "--force", "--allow-insecure")
        assert shell("decrypt", "y.whorl", *PHRASE) == expected + "\n"
    said = shell(
        "eval", "eval_decomp(x, 4)", "x=x.whorl", "-o", "z.whorl", "--allow-insecure", code=2
    )
    assert "there is no digit 4; there are 4" in said
