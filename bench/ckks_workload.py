"""CKKS: what training of apps/logistic takes, and which operations its time goes to.

    .venv/bin/python bench/ckks_workload.py [--device cuda] [--threads 1] [--iterations 32]
        [--samples 16384] [--round 3] [--runs 3] [--energy 1] [--record FILE] [--commit ID]

Client and server are one process here, and nothing goes through files. First the training runs
`--runs` times as the application does it: `helr_iteration` is the time of all iterations, with
their bootstraps, over their number. Uploads, keys and what the server makes once of the data are
left out. The first run, which is not counted, encodes the maps of the bootstraps.

With `--samples` an iteration takes all images, as one mini-batch of so many samples: with 16,384
samples and 14 iterations that is the training of TensorFHE (Fan and others, HPCA 2023, section V),
though not with its parameters, and with its three bootstraps if `--round` is 4. MNIST has 11,982
images of a 3 or an 8. Rows of zeros fill the mini-batch, and the rate is larger by as much, so that
the gradient is the mean over the images. `helr_full` is the time of the whole training, from
ciphertexts on the device to the last weights; what the server makes once of the data,
`preparation`, is in it. docs/performance/tensorfhe.md predicts it.

On a GPU `helr_iteration_energy` is the joules of an iteration, and `helr_full_energy` those of a
training, by trainings that are repeated for `--energy` seconds. Then the training runs once more
with a wait after each operation, for the share of each kind: helr_mult_relin, helr_rotate, … or
helr_full_mult_relin, … are the seconds of all operations of that kind in a training. Sums of slots
count as rotations. Waits make the whole a little longer, so the shares are of the sum.

The weights are compared with those of the same training in the clear before anything is recorded.
Records belong in bench/results/<device>/ckks_workload.jsonl.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common.energy import add_energy
from common.records import ROOT, Record, append, device_fields, stamped

sys.path.append(str(ROOT / "apps"))

from logistic import circuit, digits, model
from logistic.circuit import Layout, Training
from logistic.digits import Digits, Floats
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


class Task(NamedTuple):
    """A training, and the beginning of its operations' names."""

    op: str
    layout: Layout
    schedule: Schedule
    batches: Floats
    round: int

    @property
    def bootstraps(self) -> int:
        return (self.schedule.iterations - 1) // self.round

    @property
    def params(self) -> str:
        """What its records say."""
        whole = f" of {self.layout.batch} samples, {self.round} a bootstrap"
        return f"{self.schedule.iterations} iterations" + (whole if self.op != "helr" else "")


def task_of(data: Digits, slots: int, iterations: int, samples: int | None, round: int) -> Task:
    """The application's, or, with a number of samples, one whose iterations take all images.

    `ValueError` for a number of samples that the layout has no room for.
    """
    if samples is None:
        layout = Layout(slots)
        return Task("helr", layout, Schedule(iterations), model.mini_batches(data, 0), round)
    layout = Layout(slots, samples)
    order = np.random.default_rng(0).permutation(len(data.training))[:samples]
    batches = np.zeros((1, samples, data.training.shape[1]))
    batches[0, : len(order)] = (data.training_labels[:, None] * data.training)[order]
    return Task("helr_full", layout, Schedule(iterations, samples / len(order)), batches, round)


class Trained(NamedTuple):
    """Seconds of what the server makes once of the data, and of all iterations; the weights."""

    preparation: float
    seconds: float
    weights: ckks.EncryptedArray


def refreshed(state: ckks.EncryptedArray) -> ckks.EncryptedArray:
    return state.bootstrap()


def trained(task: Task, server: ckks.Server, data: ckks.EncryptedArray) -> Trained:
    """Trains once on the mini-batches."""
    server.synchronise()
    begun = time.perf_counter()
    training = Training(task.layout, task.schedule, data, task.round)
    server.synchronise()
    prepared = time.perf_counter()
    if isinstance(server, Watched):
        server.watch()
    *_, weights = training.run(refreshed)
    server.synchronise()
    return Trained(prepared - begun, time.perf_counter() - prepared, weights)


def area(weights: Floats, data: Digits) -> float:
    """Under the curve of the test: how often a 3 has a larger margin than an 8."""
    margins = data.test @ weights
    threes = data.test_labels > 0
    return float(np.mean(margins[threes][:, None] > margins[~threes]))


def quality(
    task: Task, client: ckks.Client, weights: ckks.EncryptedArray, data: Digits
) -> dict[str, Any]:
    """Members of a record: how good the model is, beside the same training in the clear.

    Ends the program if the weights are not those in the clear.
    """
    state = client.decrypt(weights.lower(0).reshape(1), raw=True)
    (got,) = circuit.read(state, task.schedule, task.batches.shape[-1])
    *_, wanted = model.train(task.batches, task.schedule)
    worst = float(abs(got - wanted).max())
    if not worst < CLOSE:
        raise SystemExit(f"weights are off by {worst:.3g}, at most {CLOSE} was expected")
    return {
        "weights_differ": worst,
        "accuracy": model.accuracy(got, data),
        "accuracy_clear": model.accuracy(wanted, data),
        "auc": round(area(got, data), 6),
        "auc_clear": round(area(wanted, data), 6),
    }


class Bench:
    """What is measured of a task."""

    def __init__(
        self, task: Task, parameters: ckks.Parameters, data: Digits, options: argparse.Namespace
    ) -> None:
        circuit.check(task.layout, task.batches, task.schedule)
        self.task, self.data, self.options = task, data, options
        self.client = ckks.Client(parameters)
        self.keys = self.client.evaluation_keys(
            rotations=task.layout.rotations(),
            bootstrap=[task.layout.period] if task.bootstraps else [],
            threads=options.threads,
        )
        self.query = self.client.encrypt(task.layout.pack(task.batches))

    def opened(self, kind: type[ckks.Server]) -> ckks.Server:
        server = kind(self.keys, device=self.options.device, threads=self.options.threads)
        self.devices = device_fields(server.devices)
        return server

    def keep(self, op: str, values: list[float], **more: Any) -> Record:
        """Records something."""
        parameters, options = self.client.parameters, self.options
        failure = round(parameters.log2_failure, 1) if self.task.bootstraps else None
        line = stamped(
            "ckks_workload",
            op,
            "ckks",
            self.task.params,
            values,
            **self.devices,
            batch=self.task.layout.shares,
            threads=options.threads,
            transfers="excluded",
            security_bits=round(parameters.security_bits, 1),
            pfail_log2=failure,
            **more,
        )
        line["commit"] = options.commit or line["commit"]
        print(line, flush=True)
        append(options.record, line)
        return line

    def times(self) -> None:
        """Seconds and joules of trainings."""
        task, options, server = self.task, self.options, self.opened(ckks.Server)
        samples = server.upload(self.query)
        found = quality(task, self.client, trained(task, server, samples).weights, self.data)
        runs = [trained(task, server, samples) for _ in range(options.runs)]
        more = {"bootstraps": task.bootstraps, **found}
        call: Callable[[], Any]
        if task.op == "helr":
            count = task.schedule.iterations
            line = self.keep("helr_iteration", [run.seconds / count for run in runs], **more)
            training = Training(task.layout, task.schedule, samples, task.round)
            call = lambda: list(training.run(refreshed))  # noqa: E731
        else:
            count, times = 1, [run.preparation + run.seconds for run in runs]
            more["preparation"] = statistics.median(run.preparation for run in runs)
            more["images"] = int(np.any(task.batches, axis=-1).sum())
            line = self.keep("helr_full", times, **more)
            call = partial(trained, task, server, samples)
        add_energy(options.record, line, server, call, options.energy, count)

    def shares(self) -> None:
        """Seconds of each kind of operation."""
        server = self.opened(Watched)
        assert isinstance(server, Watched)
        server.watch()
        if self.task.bootstraps:
            server.prepare_bootstrap(self.task.layout.period)
        samples = server.upload(self.query)
        quality(self.task, self.client, trained(self.task, server, samples).weights, self.data)
        whole = sum(server.seconds.values())
        for kind, seconds in sorted(server.seconds.items(), key=lambda each: -each[1]):
            share = round(seconds / whole, 4)
            self.keep(f"{self.task.op}_{kind}", [seconds], share=share, calls=server.calls[kind])


def options_of(argv: list[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=model.ITERATIONS)
    parser.add_argument("--samples", type=int, help="of an iteration that takes all images")
    parser.add_argument("--round", type=int, default=circuit.ROUND, help="iterations a bootstrap")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--commit", help="of the sources, where there is no repository")
    return parser.parse_args(argv)


def main() -> int:
    """Trains, and records."""
    options = options_of()
    data, parameters = digits.load(), circuit.choose(options.round)
    task = task_of(data, parameters.slots, options.iterations, options.samples, options.round)
    bench = Bench(task, parameters, data, options)
    bench.times()
    bench.shares()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
