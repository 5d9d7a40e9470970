"""CKKS: what training of apps/logistic takes, and which operations its time goes to.

    .venv/bin/python bench/ckks_workload.py [--device cuda] [--threads 1] [--iterations 32]
        [--runs 3] [--record FILE] [--commit ID]

Client and server are one process here, and nothing goes through files. First the training runs
`--runs` times as the application does it: `helr_iteration` is the time of all iterations, with
their bootstraps, over their number. Uploads, keys and what the server makes once of the data are
left out. The first run, which is not counted, encodes the maps of the bootstraps. Then it runs once
more with a wait after each operation, for the share of each kind: helr_mult_relin, helr_rotate, …
are the seconds of all operations of that kind in a training. Sums of slots count as rotations.
Waits make the whole a little longer, so the shares are of the sum.

The weights are compared with those of the same training in the clear before anything is recorded.
Records belong in bench/results/<device>/ckks_workload.jsonl.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from common.records import ROOT, append, device_fields, stamped

sys.path.append(str(ROOT / "apps"))

from logistic import circuit, digits, model
from logistic.circuit import Layout, Training
from logistic.model import Schedule
from whorl import ckks

KINDS = {
    "square": "mult_relin",
    "rotate": "rotate",
    "rotate_many": "rotate",
    "sum": "rotate",
    "add": "add",
    "sub": "add",
    "negate": "add",
    "relinearise": "relinearise",
    "rescale": "rescale",
    "lower": "lower",
    "bootstrap": "bootstrap",
}
"""The kind of operation that a method of a server is; `multiply` is one of two."""
CLOSE = 1e-3
"""How far weights may be from those in the clear; the largest is above 2."""


class Watched(ckks.Server):
    """A server that waits for each operation, and adds up seconds and calls by kind."""

    __slots__ = ("busy", "calls", "seconds")

    def watch(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self.busy = False


def watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, timed, unless it is called by another that is."""

    @wraps(method)
    def timed(self: Watched, *arguments: Any, **named: Any) -> Any:
        if self.busy:
            return method(self, *arguments, **named)
        kind = KINDS.get(name)
        if kind is None:
            between = isinstance(arguments[1], ckks.EncryptedArray)
            kind = "mult_relin" if between else "mult_plain"
        self.synchronise()
        self.busy, begun = True, time.perf_counter()
        try:
            result = method(self, *arguments, **named)
            self.synchronise()
        finally:
            self.busy = False
        self.seconds[kind] += time.perf_counter() - begun
        self.calls[kind] += 1
        return result

    return timed


for _name in [*KINDS, "multiply"]:
    setattr(Watched, _name, watched(_name, getattr(ckks.Server, _name)))


def main() -> int:
    """Trains, and records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=model.ITERATIONS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--commit", help="of the sources, where there is no repository")
    options = parser.parse_args()

    data = digits.load()
    samples = model.mini_batches(data, 0)
    schedule = Schedule(options.iterations)
    parameters = circuit.choose()
    layout = Layout(slots=parameters.slots)
    client = ckks.Client(parameters)
    keys = client.evaluation_keys(
        rotations=layout.rotations(), bootstrap=[layout.period], threads=options.threads
    )
    query = client.encrypt(layout.pack(samples))
    server = ckks.Server(keys, device=options.device, threads=options.threads)
    known = {
        **device_fields(server.devices),
        "batch": layout.shares,
        "transfers": "excluded",
        "security_bits": round(parameters.security_bits, 1),
        "pfail_log2": round(parameters.log2_failure, 1),
        **({"commit": options.commit} if options.commit else {}),
    }

    def trained(server: ckks.Server) -> tuple[float, ckks.EncryptedArray]:
        """Seconds of all iterations, and the last weights."""
        training = Training(layout, schedule, server.upload(query))
        server.synchronise()
        if isinstance(server, Watched):
            server.watch()
        begun = time.perf_counter()
        weights = list(training.run(lambda state: state.bootstrap()))
        server.synchronise()
        return time.perf_counter() - begun, weights[-1]

    def check(weights: ckks.EncryptedArray) -> None:
        state = client.decrypt(weights.reshape(1), raw=True)
        (got,) = circuit.read(state, schedule, samples.shape[-1])
        *_, wanted = model.train(samples, schedule)
        worst = float(abs(got - wanted).max())
        if not worst < CLOSE:
            raise SystemExit(f"weights are off by {worst:.3g}, at most {CLOSE} was expected")

    def keep(op: str, values: list[float], **more: Any) -> None:
        line = stamped(
            "ckks_workload",
            op,
            "ckks",
            f"{schedule.iterations} iterations",
            values,
            **known,
            **more,
        )
        print(line, flush=True)
        append(options.record, line)

    _, weights = trained(server)
    check(weights)
    bootstraps = (schedule.iterations - 1) // circuit.ROUND
    times = [trained(server)[0] / schedule.iterations for _ in range(options.runs)]
    keep("helr_iteration", times, bootstraps=bootstraps)
    del server, weights

    slow = Watched(keys, device=options.device, threads=options.threads)
    slow.watch()
    slow.prepare_bootstrap(layout.period)
    _, weights = trained(slow)
    check(weights)
    whole = sum(slow.seconds.values())
    for kind, seconds in sorted(slow.seconds.items(), key=lambda each: -each[1]):
        keep(f"helr_{kind}", [seconds], share=round(seconds / whole, 4), calls=slow.calls[kind])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
