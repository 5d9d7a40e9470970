"""Tutorials as notebooks: prose becomes cells of Markdown, blocks of Python become cells of code.

tests/python/test_docs.py runs the same blocks, so that a notebook is a tutorial that was tested.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def lines(text: str) -> list[str]:
    """A cell's source: lines that keep their ends."""
    return text.strip("\n").splitlines(keepends=True)


def notebook(markdown: str) -> str:
    """The notebook of a tutorial, in Jupyter's format 4.5. What a print shows stays a comment."""
    cells = []
    for number, part in enumerate(BLOCK.split(markdown)):
        if not part.strip():
            continue
        cell = {"id": f"cell-{number}", "metadata": {}, "source": lines(part)}
        if number % 2:
            cells.append({"cell_type": "code", "execution_count": None, "outputs": [], **cell})
        else:
            cells.append({"cell_type": "markdown", **cell})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def with_link(markdown: str, place: str) -> str:
    """A tutorial with a link to its notebook below the title."""
    title, _, rest = markdown.partition("\n")
    name = PurePosixPath(place).with_suffix(".ipynb").name
    return f"{title}\n\n[Download this tutorial as a notebook]({name}){{ download }}\n{rest}"
