"""What bench_tree (bench/tree) classifies: the compiled tree, and flowers with their classes.

usage: python apps/tree/task.py [FILE]      default: bench/tree/iris.json
       python apps/tree/task.py --train     trains the trees that come with the application anew

The tree is that of `run.py --seed 0`, its circuit that of `circuit.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tree import circuit as circuits
from tree import run, security
from tree.model import Quantiser, Trained, Tree

SEED = 0
FILE = Path(__file__).resolve().parents[2] / "bench" / "tree" / "iris.json"


def task() -> dict[str, Any]:
    """The members of `TreeTask` in bench/tree/task.h."""
    data = run.split(SEED, run.TEST)
    quantiser = Quantiser.learn(data.training, security.MOST_LEVELS)
    tree = Tree.quantise(Trained.load(run.TRAINED[SEED]), quantiser)
    circuit = circuits.compile_tree(tree)
    flowers = quantiser(data.test)
    return {
        "parameters": security.TREE_P40,
        "p_in": circuit.p_in,
        "p_sum": circuit.p_sum,
        "p_out": circuit.p_out,
        "features": circuit.features,
        "tests": circuit.tests,
        "ways": circuit.literals(circuit.needed),
        "ends": [circuit.ends[leaf] for leaf in circuit.needed],
        "weights": [circuit.weights[leaf] for leaf in circuit.needed],
        "base": circuit.base,
        "flowers": flowers.tolist(),
        "classes": tree.classify(flowers).tolist(),
    }


def train(seed: int) -> Trained:
    """The tree of the irises, as scikit-learn learns it."""
    data = run.split(seed, run.TEST)
    return Trained.learn(data.training, data.training_classes, len(data.classes), seed, None)


if __name__ == "__main__":
    if sys.argv[1:] == ["--train"]:
        for seed, path in run.TRAINED.items():
            train(seed).save(path)
        sys.exit()
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in task().items())
    to.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
