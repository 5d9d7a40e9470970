"""The recurrent network of apps/sentiment on 32 encrypted sentences: seconds, and accuracy.

    .venv/bin/python bench/rnn.py FOLDER [--device cuda] [--runs 9] [--threads 1]
        [--steps 32 --steps 200] [--sentences 1000] [--energy 1] [--record FILE] [--commit ID]

FOLDER has rt-polarity.pos and rt-polarity.neg (Pang, Lee, ACL 2005). Client and server are one
process here, and nothing goes through files. A run is what the server does from encrypted words,
which lie on its device, to encrypted scores, with a wait at the end. Keys, maps, encryption and
decryption are left out. Each record is of 32 sentences: `rnn32` reads their last 32 words, and
`rnn200` 200 words of sentences that follow one another. Before anything is recorded, each score of
`--sentences` sentences of the test (for 200 words: of 32 texts) is compared with that of the same
polynomials in clear: none may be off by more than six of the deviations that the plan states. The
record of 32 words has the accuracies: encrypted, in clear, and with tanh in clear. On a GPU
rnn32_energy and rnn200_energy are the joules of a sentence, by runs that are repeated for
`--energy` seconds. Records belong in bench/results/<device>/networks.jsonl.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.energy import add_energy
from common.records import ROOT, append, device_fields, stamped
from common.waits import timed

sys.path.append(str(ROOT / "apps"))

from sentiment import budget, circuit, model, words
from sentiment.circuit import Layout, Network, Plan
from sentiment.words import Floats, Sentences, Table
from whorl import ckks

DEVIATIONS = 6


class Bench:
    """Client, server and network of a number of steps."""

    def __init__(self, client: ckks.Client, server: ckks.Server, plan: Plan) -> None:
        self._client, self._server, self.plan = client, server, plan
        self._weights = model.load()
        begun = time.perf_counter()
        self.network = Network(server, self._weights, plan)
        server.synchronise()
        seconds, size = time.perf_counter() - begun, self.network.nbytes / 1e9
        print(f"{plan.steps} steps: maps of {size:.2f} GB in {seconds:.1f} s", flush=True)

    def query(self, vectors: Floats) -> ckks.EncryptedArray:
        """The words on the device."""
        return self._server.upload(self._client.encrypt(self.plan.layout.pack(vectors)))

    def compared(self, vectors: Floats) -> tuple[Floats, float]:
        """The decrypted scores, and their largest difference from the scores in clear."""
        each = circuit.TOGETHER * self.plan.layout.sentences
        parts = [vectors[i : i + each] for i in range(0, len(vectors), each)]
        found = [
            self._client.decrypt(self.network.run(self.query(part)), raw=True) for part in parts
        ]
        scores = np.concatenate([each.reshape(-1) for each in found])[: len(vectors)]
        clear = model.run(self._weights, vectors)
        if not clear.largest <= model.REACH:
            raise SystemExit(f"rnn: values reach {clear.largest:.3g} of the range")
        largest = float(np.abs(scores - clear.scores).max())
        if not largest <= DEVIATIONS * self.plan.score_error:
            raise SystemExit(
                f"rnn: a score is off by {largest:.3g}, and the plan states a deviation of "
                f"{self.plan.score_error:.3g}"
            )
        return scores, largest


def accuracies(table: Table, data: Sentences, scores: Floats) -> dict[str, Any]:
    """Members of a record: the shares of sentences that are judged as their labels do."""
    weights, vectors = model.load(), table.vectors(data.texts, model.STEPS)
    clear = model.run(weights, vectors).scores
    tanh = model.run(weights, vectors, np.tanh).scores

    def right(of: Floats) -> float:
        return round(float(np.mean((of > 0) == data.labels)), 4)

    return {
        "agreeing": int(((scores > 0) == (clear > 0)).sum()),
        "accuracy": right(scores),
        "accuracy_clear": right(clear),
        "accuracy_tanh": right(tanh),
    }


def main() -> None:
    """Compares, measures, and records."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--steps", type=int, action="append", help="default: 32 and 200")
    options.add_argument("--sentences", type=int, default=words.TEST, help="compared, of the test")
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()

    all_steps = given.steps or [32, 200]
    table, weights = Table.load(), model.load()
    test = words.read_polarity(given.folder)[1]
    params = circuit.choose()
    layout = Layout(slots=params.slots)
    client = ckks.Client(params)
    begun = time.perf_counter()
    wanted = circuit.keys(params, layout, max(all_steps))
    keys = client.evaluation_keys(**wanted, threads=given.threads)
    print(f"keys in {time.perf_counter() - begun:.1f} s", flush=True)
    server = ckks.Server(keys, device=given.device, threads=given.threads)
    if wanted["bootstrap"]:
        server.prepare_bootstrap(layout.period)
    for steps in all_steps:
        texts = test.texts
        if steps > model.STEPS:
            texts = words.joined(texts, layout.sentences, steps)
        vectors = table.vectors(texts[: given.sentences], steps)
        plan = budget.plan(params, layout, weights, budget.examples(table, layout, steps), steps)
        bench = Bench(client, server, plan)
        scores, largest = bench.compared(vectors)
        judged = test[: len(scores)]
        more = accuracies(table, judged, scores) if steps == model.STEPS else {}
        print(f"{len(scores)} scores differ by up to {largest:.2g}; {more}", flush=True)
        run = partial(bench.network.run, bench.query(vectors[: layout.sentences]))
        times = timed(server, run, given.runs)
        print(f"{sorted(times)[len(times) // 2]:.3f} s for {layout.sentences}", flush=True)
        line = stamped(
            "networks",
            f"rnn{steps}",
            "ckks",
            params.name,
            times,
            batch=layout.sentences,
            transfers="excluded",
            threads=server.threads,
            security_bits=round(params.security_bits, 1),
            pfail_log2=round(params.log2_failure, 1),
            compared=len(scores),
            bootstraps=bench.network.bootstraps,
            key_bytes=params.key_size(**wanted),
            map_bytes=bench.network.nbytes,
            largest_difference=largest,
            **more,
            **device_fields(server.devices),
        )
        line["commit"] = given.commit or line["commit"]
        append(given.record, line)
        add_energy(given.record, line, server, run, given.energy)


if __name__ == "__main__":
    main()
