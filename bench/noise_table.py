"""Writes the measurements of bench/results/cpu/noise.jsonl into docs/noise.md, between its markers.

usage: python bench/noise_table.py
"""

from common.records import RESULTS, ROOT, Record, read, table, write_measured


def row(record: Record) -> list[str]:
    """Cells of one measurement."""
    unit = record["unit"]
    low, high = (edge / record["deviation"] for edge in record["mean_99"])
    peer = f"{record['peer_deviation']:.2f}" if "peer_deviation" in record else ""
    return [
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


def main() -> None:
    head = ["set", "transform", "what", "runs / keys", "σ by formula", "σ measured"]
    head += ["variance ÷ formula", "mean ÷ σ, 99 %", "paper"]
    rows = [row(record) for record in read(RESULTS / "cpu" / "noise.jsonl")]
    write_measured(ROOT / "docs/noise.md", "bench/noise_table.py", table(head, rows))


if __name__ == "__main__":
    main()
