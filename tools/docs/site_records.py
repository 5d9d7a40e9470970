"""The page of all records: a heading for each file, which the page's script opens as a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from site_references import RESULTS

FOLDERS = {
    "cpu": "Measured on a CPU",
    "h200": "Measured on one H200",
    "h200x2": "Measured on two H200",
    "h100": "Measured on one H100",
    "h100x2": "Measured on two H100",
    "peers": "Measured of other libraries",
    "rtl": "Counted by the accelerator's simulation and model",
    "synthesis": "Estimated by synthesis of the accelerator",
    "proofs": "Proved of the accelerator",
}


def files() -> Iterator[Path]:
    """All files of records, by folders in the order of the page."""
    for folder in FOLDERS:
        yield from sorted((RESULTS / folder).glob("*.jsonl"))


def page() -> str:
    """The page as Markdown."""
    lines = [
        "# Records",
        "",
        "Every figure of these pages comes from a record: one line of a file below. A record says "
        "what was measured, on which device, with which parameters and batch, how often, and at "
        "which commit of Whorl. [Plots of records](../portal.md) has the same records as plots. "
        "[Contributing](../project/contributing.md#how-to-measure) names their members.",
        "",
        "Open a file to see its records as a table. The button before a record shows all of it. "
        "The name of a file on another page leads here, and a commit behind it leads to the file's "
        "records of that commit, with all members.",
        "",
    ]
    folder = ""
    for path in files():
        if path.parent.name != folder:
            folder = path.parent.name
            lines += [f"## {FOLDERS[folder]}", ""]
        name = f"{folder}/{path.stem}"
        count = len(path.read_text(encoding="utf-8").splitlines())
        lines += [
            f"### {name} {{#{name.replace('/', '-')}}}",
            "",
            f"[The file](../records/{name}.jsonl) has {count} record{'s' if count > 1 else ''}.",
            "",
            f'<details class="whorl-records" data-file="{name}" markdown="0">'
            f"<summary>Records of {name}</summary></details>",
            "",
        ]
    return "\n".join(lines)
