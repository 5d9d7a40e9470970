"""The model of torch in docs/networks.md. As a program, with torch, it saves the model's network
and its results, so that `make test` runs it without torch:

    .venv/bin/python tests/python/nn/torch_page.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import whorl.nn

ROOT = Path(__file__).resolve().parents[3]
SAVED = ROOT / "tests" / "data" / "networks" / "torch_cnn.whorlnn"
RESULTS = SAVED.with_suffix(".npz")
"""Inputs, and what torch makes of them in single precision."""


def run_page() -> dict[str, Any]:
    """The names that the page's block gives: `digits`, the model, and `torch_net`."""
    import torch

    page = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8")
    pattern = r"^```python no-run\n(import torch\n.*?)^```$"
    (code,) = re.findall(pattern, page, re.DOTALL | re.MULTILINE)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(1)
    names: dict[str, Any] = {"nn": whorl.nn, "random": np.random.default_rng(1)}
    exec(compile(code, "networks.md", "exec"), names)
    return names


def results_of(model: Any, x: Any) -> Any:
    """What a model of torch makes of inputs in single precision."""
    import torch

    with torch.no_grad():
        return model(torch.from_numpy(x.astype(np.float32))).numpy()


if __name__ == "__main__":
    made = run_page()
    made["torch_net"].save(SAVED)
    inputs = np.random.default_rng(2).uniform(0, 1, (8, 1, 8, 8)).astype(np.float32)
    np.savez(RESULTS, inputs=inputs, results=results_of(made["digits"], inputs))
