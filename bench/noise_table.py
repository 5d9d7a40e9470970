"""docs/noise.md: the measurements of bench/results/cpu/noise.jsonl."""

from pathlib import Path

from common.records import Record, records_of
from common.tables import table


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


def measured(_: Path) -> dict[str, list[str]]:
    """The part of the page that is made of records."""
    head = ["set", "transform", "what", "runs / keys", "σ by formula", "σ measured"]
    head += ["variance ÷ formula", "mean ÷ σ, 99 %", "paper"]
    return {"noise": table(head, [row(record) for record in records_of("cpu", "noise")])}
