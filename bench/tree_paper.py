"""The decision tree of Xiao et al., §5.3: features of 11 bits, by tables that are not exact.

    .venv/bin/python bench/tree_paper.py [--device cuda] [--flowers 50] [--runs 20]
        [--sets xiao/DECISION_TREE W128_P128_M5 W128_P128] [--batch 50] [--threads 0] [--energy 1]
        [--record FILE] [--commit ID]

The tree is that of `apps/tree/run.py --coarse --seed 13`, with 9 tests. Client and server are one
process here. `tree_paper` is the seconds of one flower alone, and flowers a second in a batch, from
ciphertexts in the host's memory to classes there. All flowers are decrypted first: the record says
how many have the class of the tree in the clear, how many tests on their ways are so near to a cut
that they may go either way, and the rotations of a flower. Records belong in
bench/results/<device>/functions.jsonl.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import common
from common.energy import add_energy
from common.records import ROOT, append, device_fields, stamped
from common.waits import timed
from whorl import binfhe

PEER = {"peer": "Xiao et al., RTX 4090", "peer_version": "TCHES 2025, Table 9"}
SECONDS = 0.38
SEED = 13

APPS = ROOT / "apps"
sys.path.append(str(APPS))
# apps/common is a package with the name of one of bench.
common.__path__.append(str(APPS / "common"))
table, circuits, coarse, model, security = map(
    importlib.import_module,
    ("common.table", "tree.circuit", "tree.coarse", "tree.model", "tree.security"),
)


class Bench:
    """The tree, and client and server of a set."""

    def __init__(self, name: str, given: argparse.Namespace) -> None:
        self.given, irises = given, table.read(APPS / "tree" / "iris.csv")
        training, test = table.split(len(irises.labels), SEED)
        quantiser = model.Quantiser.learn(irises.features[training], coarse.LEVELS, coarse.GUARD)
        learned = model.Trained.load(APPS / "tree" / f"trained_{SEED}.json")
        self.tree = model.Tree.quantise(learned, quantiser)
        self.circuit = circuits.compile_tree(self.tree)
        self.levels = quantiser(irises.features[test][: given.flowers])
        self.parameters = binfhe.parameters(name, allow_insecure=True)
        self.client = binfhe.Client(self.parameters)
        self.server = binfhe.Server(
            self.client.evaluation_keys(),
            device=given.device,
            threads=given.threads,
            allow_insecure=True,
            allow_failure=1,
        )
        self.evaluated = coarse.CoarseTree(self.server, self.circuit)

    def query(self, levels: Any) -> binfhe.Ciphertexts:
        """Levels as the application's client sends them."""
        return self.client.encrypt(levels, p=coarse.LEVELS, padding=True, allow_failure=1)

    def answer(self, query: binfhe.Ciphertexts) -> Any:
        """Classes in the host's memory."""
        return self.evaluated.classify(self.server.upload(query)).to_host()

    def compared(self) -> dict[str, Any]:
        """How often classes are those of the tree in the clear, and how near its cuts are."""
        classes = self.client.decrypt(self.answer(self.query(self.levels)))
        off = coarse.reach(self.parameters)
        near = self.tree.near(self.levels, off)
        agreeing = int((classes == self.tree.classify(self.levels)).sum())
        # A test near its cut may go the other way, and no other.
        if len(self.levels) - agreeing > near:
            raise SystemExit(
                f"{self.parameters.name}: {len(self.levels) - agreeing} classes of "
                f"{len(self.levels)} are wrong, but {near} tests are near their cuts"
            )
        return {"compared": len(self.levels), "agreeing": agreeing, "levels_off": off, "near": near}

    def record(self, batch: int, found: dict[str, Any]) -> None:
        """Times `batch` flowers in a call."""
        query = self.query(self.levels[:batch])
        times = timed(self.server, lambda: self.answer(query), self.given.runs)
        alone = batch == 1
        line = stamped(
            "tree_paper",
            "tree_paper",
            "binfhe",
            self.parameters.name,
            times if alone else [batch / t for t in times],
            batch=batch,
            threads=self.server.threads,
            unit="s" if alone else "1/s",
            transfers="included",
            transform=self.server.transform,
            security_bits=round(self.parameters.security_bits),
            pfail_log2=round(security.coarse_failure(self.parameters, self.circuit).log2, 1),
            shape=f"{len(self.circuit.tests)} tests, {self.circuit.rotations} rotations a flower",
            **found,
            **({**PEER, "peer_median": SECONDS} if alone else {}),
            **device_fields(self.server.devices),
        )
        line["commit"] = self.given.commit or line["commit"]
        if alone:
            line["ratio"] = SECONDS / line["median"]
        print(f"{self.parameters.name}, {batch}: {line['median']:.6g} {line['unit']}", flush=True)
        append(self.given.record, line)
        call = lambda: self.evaluated.classify(self.server.upload(query))  # noqa: E731
        add_energy(self.given.record, line, self.server, call, self.given.energy)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--device", default="cuda")
    options.add_argument("--flowers", type=int, default=50, help="to compare, at most 50")
    options.add_argument("--batch", type=int, default=50, help="flowers in a call, beside one")
    options.add_argument("--runs", type=int, default=20)
    sets = ["xiao/DECISION_TREE", "W128_P128_M5", "W128_P128"]
    options.add_argument("--sets", nargs="*", default=sets)
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()
    for name in given.sets:
        bench = Bench(name, given)
        found = bench.compared()
        print(", ".join(f"{name} {value}" for name, value in found.items()), flush=True)
        for batch in sorted({1, min(given.batch, len(bench.levels))}):
            bench.record(batch, found)


if __name__ == "__main__":
    main()
