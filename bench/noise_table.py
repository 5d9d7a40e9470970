"""Writes the measurements of bench/results/cpu/noise.jsonl into docs/noise.md, between its markers.

usage: python bench/noise_table.py
"""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- measured: bench/noise_table.py -->", "<!-- end of measured -->"


def row(record: dict) -> str:
    unit = record["unit"]
    low, high = (edge / record["deviation"] for edge in record["mean_99"])
    peer = f"{record['peer_deviation']:.2f}" if "peer_deviation" in record else ""
    cells = [
        f"`{record['params']}`",
        record["transform"].upper(),
        record["op"],
        f"{record['runs']:,} / {record['keys']}",
        f"{record['predicted_mean_square'] ** 0.5:.5g} ({unit})",
        f"{record['deviation']:.5g}",
        f"{record['ratio_to_formula']:.3f}",
        f"{low:+.3f} … {high:+.3f}",
        peer,
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    lines = (ROOT / "bench/results/cpu/noise.jsonl").read_text().splitlines()
    table = [
        "| set | transform | what | runs / keys | σ by formula | σ measured | variance ÷ formula "
        "| mean ÷ σ, 99 % | paper |",
        "|---|---|---|---|---|---|---|---|---|",
        *(row(json.loads(line)) for line in lines),
    ]
    page = ROOT / "docs/noise.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + "\n".join([BEGIN, "", *table, "", END]) + after)


if __name__ == "__main__":
    main()
