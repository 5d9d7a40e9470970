"""apps/logistic: the packed digits, the training in the clear and encrypted, and the processes."""

from __future__ import annotations

import dataclasses
import gzip
import importlib.util
import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from applications import check_refused, check_server_apart, make_mnist, numbers_of
from common import output, table
from logistic import circuit, digits, model, pack, picture, run
from logistic.circuit import Layout, Training
from logistic.digits import Digits, Floats
from logistic.model import Schedule
from support import ckks_literal
from whorl import ckks

LAYOUTS = [
    *(Layout(512, 64, 16), Layout(512, 16, 64), Layout(256, 128, 16)),
    *(Layout(256, 128, 64), Layout(512, 256, 128)),  # two and four giant steps
    Layout(),
]


@pytest.fixture(scope="module")
def data() -> Digits:
    return digits.load()


def samples_at_random(generator: np.random.Generator, count: int, layout: Layout) -> Floats:
    """Mini-batches with one feature less than there is room for."""
    values = generator.uniform(-1, 1, (count, layout.batch, layout.features - 1))
    return cast(Floats, values / np.sqrt(layout.features / 8))


# ---- arithmetic in the clear, which refuses what ciphertexts would get wrong


class Slots:
    """What an array of ciphertexts holds; it counts key switches, and notes rotations."""

    def __init__(self, values: Floats, level: int, used: Counter[int | str], due: int = 0) -> None:
        self.values, self.level, self.used, self.due = values, level, used, due

    def _like(self, values: Floats, spent: int = 0, due: int | None = None) -> Slots:
        level = self.level - spent
        assert level >= 0
        return Slots(values, level, self.used, self.due if due is None else due)

    def _switch(self, what: int | str) -> None:
        self.used[what] += int(np.prod(self.values.shape[:-1]))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Any) -> Slots:
        return self._like(self.values[key])

    def _meet(self, other: Slots) -> int:
        assert self.values.shape[-1] == other.values.shape[-1], "lengths differ"
        assert self.due == other.due
        return min(self.level, other.level)

    def __add__(self, other: Any) -> Slots:
        if isinstance(other, Slots):
            sums = self.values + other.values
            return Slots(sums, self._meet(other), self.used, self.due)
        return self._like(self.values + other)

    def __sub__(self, other: Slots) -> Slots:
        return Slots(self.values - other.values, self._meet(other), self.used, self.due)

    def __mul__(self, other: Any) -> Slots:
        if isinstance(other, Slots):
            return self.multiply(other, relinearise=False, rescale=False).relinearise().rescale()
        return self._like(self.values * other, spent=0 if isinstance(other, int) else 1)

    def multiply(self, other: Slots, relinearise: bool, rescale: bool) -> Slots:
        assert not relinearise and not rescale and not self.due
        return Slots(self.values * other.values, self._meet(other), self.used, due=2)

    def relinearise(self) -> Slots:
        assert self.due == 2
        self._switch("relinearise")
        return self._like(self.values, due=1)

    def rescale(self) -> Slots:
        assert self.due == 1
        return self._like(self.values, spent=1, due=0)

    def square(self) -> Slots:
        return self * self

    def rotate(self, slots: int) -> Slots:
        assert not self.due
        self._switch(slots)
        return self._like(np.roll(self.values, -slots, axis=-1))

    def rotate_many(self, slots: Sequence[int]) -> list[Slots]:
        self._switch("hoisted")
        return [self.rotate(each) for each in slots]

    def sum(self, period: int) -> Slots:
        x = self
        for step in circuit.doublings(period, self.values.shape[-1]):
            x = x + x.rotate(step)
        return x._like(x.values[..., :period])

    def repeat(self, length: int) -> Slots:
        return self._like(np.tile(self.values, length // self.values.shape[-1]))

    def lower(self, level: int) -> Slots:
        return self._like(self.values, spent=self.level - level)

    def with_bound(self, bound: float) -> Slots:
        assert np.abs(self.values).max() <= bound * (1 + 1e-9)
        return self

    def with_error(self, error: float) -> Slots:
        return self


def stack_slots(arrays: Sequence[Slots], axis: int = 0) -> Slots:
    level = min(each.level for each in arrays)
    values = np.stack([each.values for each in arrays], axis=axis)
    return Slots(values, level, arrays[0].used)


@dataclasses.dataclass
class Simulated:
    weights: Floats
    used: Counter[int | str]
    refreshed: int


def simulate(
    layout: Layout, schedule: Schedule, samples: Floats, patch: pytest.MonkeyPatch
) -> Simulated:
    """The circuit in the clear: the weights after each iteration, what it used in them, and how
    often it refreshed."""
    patch.setattr(circuit, "stack", stack_slots)
    used: Counter[int | str] = Counter()
    top = circuit.depth()
    packed = Slots(layout.pack(samples), top, used)
    training = Training(layout, schedule, cast(Any, packed))
    prepared = set(used)
    used.clear()
    refreshed = []

    def refresh(state: Any) -> Any:
        assert state.level >= 0 and state.values.shape == (layout.period,)
        assert np.abs(state.values).max() <= 1
        refreshed.append(state.level)
        return Slots(state.values, top, used)

    steps: list[Any] = list(training.run(refresh))
    values = np.stack([step.values for step in steps])
    assert {step for step in prepared | set(used) if isinstance(step, int)} <= set(
        layout.rotations()
    )
    weights = circuit.read(values, schedule, samples.shape[-1])
    return Simulated(weights, used, len(refreshed))


# ---- the packed digits


def test_the_file_holds_mnists_threes_and_eights(data: Digits) -> None:
    assert digits.PACKED.stat().st_size < 3_000_000
    assert data.training.shape == (11982, 197) and data.test.shape == (1984, 197)
    assert (data.training_labels == 1).sum() == 6131 and (data.test_labels == 1).sum() == 1010
    assert set(np.unique(data.training_labels)) == {-1, 1}
    for pixels in (data.training, data.test):
        assert (pixels[:, 0] == 1).all() and pixels.min() == 0 and pixels.max() == 1
        assert 0.1 < pixels[:, 1:].mean() < 0.2  # MNIST's mean is 0.13, 3 and 8 have more ink


def test_packing_takes_averages_of_the_digits_wanted(tmp_path: Path) -> None:
    images = np.random.default_rng(1).integers(0, 256, (5, 28, 28))
    labels = [8, 1, 3, 0, 3]
    make_mnist(tmp_path, images, labels)
    pack.main([str(tmp_path), "--to", str(tmp_path / "packed.npz")])
    packed = digits.load(tmp_path / "packed.npz")
    assert packed.training_labels.tolist() == [-1, 1, 1]
    third = images[2, 4:6, 6:8].mean()  # the pixel in row 2, column 3 of the second digit wanted
    assert abs(packed.training[1, 1 + 2 * 14 + 3] * 255 - third) <= 0.5
    assert (packed.training == packed.test).all()


@pytest.mark.parametrize("content", [b"", b"x", gzip.compress(b"\0\0\x08\1\0\0\0\5abc", mtime=0)])
def test_packing_refuses_other_files(tmp_path: Path, content: bytes) -> None:
    for prefix in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            (tmp_path / f"{prefix}-{kind}-ubyte.gz").write_bytes(content)
    with pytest.raises(SystemExit, match="error"):
        pack.main([str(tmp_path), "--to", str(tmp_path / "packed.npz")])
    assert not (tmp_path / "packed.npz").exists()


# ---- the training in the clear


def test_the_cubic_is_close_to_the_sigmoid() -> None:
    x = np.linspace(-16, 16, 1001)
    c0, c1, c2 = model.SIGMOID
    assert np.abs(c0 + c1 * x + c2 * x**3 - 1 / (1 + np.exp(x))).max() < 0.22


def test_momenta_are_nesterovs() -> None:
    momenta = Schedule(200).momenta()
    assert momenta[0] == pytest.approx(0.99, abs=1e-3)
    assert momenta[1] == pytest.approx(0, abs=1e-4)
    assert momenta[2] == pytest.approx(-0.281, abs=1e-3)  # (1 - t_2)/t_3 of Beck and Teboulle
    assert all(one > other for one, other in itertools.pairwise(momenta))
    assert momenta[-1] > -1


@pytest.mark.parametrize("seed", range(4))
def test_the_model_tells_digits_apart(data: Digits, seed: int) -> None:
    batches = model.mini_batches(data, seed)
    assert batches.shape == (11, 1024, 197)
    *_, weights = model.train(batches, Schedule())
    assert model.accuracy(weights, data) == pytest.approx(0.964, abs=0.003)
    assert model.loss(weights, data) < 0.12
    assert model.accuracy(-weights, data) < 0.05


# ---- a table of one's own


def table_of(count: int, features: int = 2) -> table.Table:
    """Rows whose class depends on the first feature."""
    values = np.random.default_rng(1).uniform(-50, 50, (count, features))
    names = [f"x{i}" for i in range(features)]
    return table.Table(values, (values[:, 0] < 3).astype(np.int64), names, ["high", "low"])


def test_a_table_of_ones_own_is_learned() -> None:
    rows = table_of(300)
    rows.features[:, 1] = 7.0  # a constant
    data = digits.of_table(rows, 0)
    assert data.training.shape == (200, 3) and data.test.shape == (100, 3)
    assert (data.training[:, 0] == 1).all() and (data.training[:, 2] == 0).all()
    assert data.training[:, 1].min() == 0 and data.training[:, 1].max() == 1
    assert data.test.min() >= 0 and data.test.max() <= 1
    training, _ = table.split(300, 0)
    assert (data.training_labels == np.where(rows.labels[training] == 0, 1, -1)).all()
    batches, schedule = model.mini_batches(data, 0), Schedule(16, rate=0.5)
    assert batches.shape == (1, 1024, 3)
    assert len(np.unique(batches.reshape(-1, 3), axis=0)) == 200  # all rows, some again
    circuit.check(Layout(), batches, schedule)
    *_, weights = model.train(batches, schedule)
    assert model.accuracy(weights, data) > 0.85


def test_tables_that_do_not_serve() -> None:
    rows = table_of(30)
    three = table.Table(rows.features, np.arange(30) % 3, rows.names, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"the table has 3 classes \(a, b, c\)"):
        digits.of_table(three, 0)
    few = table.Table(rows.features[:4], np.array([0, 1, 0, 1]), rows.names, ["a", "b"])
    with pytest.raises(ValueError, match="of 4 rows, 1 are for the test, and all of them are of"):
        digits.of_table(few, 0)
    data = digits.of_table(table_of(30, 256), 0)
    with pytest.raises(ValueError, match="256 features are more than the 255"):
        circuit.check(Layout(), model.mini_batches(data, 0), Schedule(1))


def test_a_training_that_leaves_its_bounds_is_refused(
    generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check` refuses what `Slots` would; both look at the same numbers."""
    layout, schedule = Layout(256, 128, 16), Schedule(6)
    samples = samples_at_random(generator, 2, layout)
    circuit.check(layout, samples, schedule)
    simulate(layout, schedule, samples, monkeypatch)
    with pytest.raises(ValueError, match=r"is \S+, above the .* a smaller --rate"):
        circuit.check(layout, 200 * samples, schedule)
    with pytest.raises(AssertionError):
        simulate(layout, schedule, 200 * samples, monkeypatch)


# ---- the circuit


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_sample_lies_in_the_shares_once(layout: Layout) -> None:
    shape = (1, layout.batch, layout.features)
    packed = layout.pack(np.arange(np.prod(shape), dtype=np.float64).reshape(shape))
    assert packed.shape == (1, layout.shares, layout.slots)
    assert (np.sort(packed.reshape(-1)) == np.arange(np.prod(shape))).all()


@pytest.mark.parametrize("numbers", [(500, 64, 16), (512, 512, 16), (512, 64, 8), (512, 4, 512)])
def test_layouts_that_do_not_fit_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"power of two|do not fit"):
        Layout(*numbers)


@pytest.mark.parametrize("layout", LAYOUTS[:-1], ids=str)
def test_the_circuit_is_the_training(
    layout: Layout, generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, schedule = samples_at_random(generator, 2, layout), Schedule(8, rate=0.7)
    found = simulate(layout, schedule, samples, monkeypatch)
    assert np.abs(found.weights - list(model.train(samples, schedule))).max() < 1e-9
    assert found.refreshed == len(run.rounds(8)) == 2


def test_the_whole_training_stays_in_bounds(data: Digits, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the digits themselves; `Slots` checks each bound and each level."""
    batches, layout = model.mini_batches(data, 0), Layout()
    found = simulate(layout, Schedule(), batches, monkeypatch)
    assert np.abs(found.weights - list(model.train(batches, Schedule()))).max() < 1e-9
    assert found.refreshed == len(run.rounds(model.ITERATIONS)) == 10
    assert found.used["hoisted"] == 2 * model.ITERATIONS


def test_key_switches_are_those_that_the_page_states(
    data: Digits, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for iterations in (2, 3, 4):
        batches = model.mini_batches(data, 0)[:iterations]
        used = simulate(Layout(), Schedule(iterations), batches, monkeypatch).used
        rotations = sum(count for step, count in used.items() if isinstance(step, int))
        counts.append((rotations, used["relinearise"]))
    one = counts[1][0] - counts[0][0], counts[1][1] - counts[0][1]
    between = counts[2][0] - counts[1][0] - one[0], counts[2][1] - counts[1][1] - one[1]
    assert one == (31, 5) and between == (2, 2)
    page = (Path(circuit.__file__).parent / "README.md").read_text(encoding="utf-8")
    assert f"{one[0]} rotations" in page and f"{one[1]} relinearisations" in page
    assert len(set(Layout().rotations())) == 31


def test_many_shares_take_few_rotations(
    generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """128 ciphertexts, as of 16,384 samples on the ring of the application."""
    layout, counts = Layout(512, 256, 256), []
    assert (layout.shares, layout.babies, layout.giants) == (128, 16, 8)
    samples = samples_at_random(generator, 1, layout) / 4
    for iterations in (4, 5):
        used = simulate(layout, Schedule(iterations), samples, monkeypatch).used
        rotations = sum(count for step, count in used.items() if isinstance(step, int))
        counts.append((rotations, used["relinearise"]))
    # 15 baby and 7 giant steps forth and back, one round each sample forth and back, and one sum.
    assert counts[1][0] - counts[0][0] == 2 * (15 + 7 + 1) + 1
    assert counts[1][1] - counts[0][1] == 2 * 8 + 3


@pytest.mark.parametrize("batches", [1, 2])
def test_data_that_iterations_take_again_are_lowered_once(
    batches: int, generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 8 iterations, of which each third is at the same level."""
    layout, lowered = Layout(512, 64, 16), Counter[int]()

    def counted(self: Slots, level: int) -> Slots:
        lowered[level] += 1
        return self._like(self.values, spent=self.level - level)

    monkeypatch.setattr(Slots, "lower", counted)
    samples = samples_at_random(generator, batches, layout)
    simulate(layout, Schedule(8), samples, monkeypatch)
    once = circuit.depth() - circuit.LEVELS + 1  # for what is made of the data once
    assert lowered.pop(once) == 1
    assert list(lowered.values()) == 2 * circuit.ROUND * [batches]


@pytest.mark.parametrize("layout", [Layout(512, 64, 16), Layout(512, 256, 128)], ids=str)
def test_encrypted_training_is_the_clear_one(
    layout: Layout, generator: np.random.Generator
) -> None:
    """On a ring of no security. In place of the bootstrap the client decrypts and encrypts."""
    schedule = Schedule(5)
    params = ckks.parameters(literal=ckks_literal(circuit.depth()), allow_insecure=True)
    client = ckks.Client(params)
    keys = client.evaluation_keys(rotations=layout.rotations())
    assert params.slots == layout.slots
    server = ckks.Server(keys, device="cpu")
    samples = samples_at_random(generator, 2, layout)
    training = Training(layout, schedule, server.upload(client.encrypt(layout.pack(samples))))
    levels = []

    def refresh(state: ckks.EncryptedArray) -> ckks.EncryptedArray:
        levels.append(state.level)
        assert state.bound <= 1 and state.length == layout.period
        return server.upload(client.encrypt(client.decrypt(state, raw=True)))

    steps = list(training.run(refresh))
    assert levels == [0]
    state = np.stack([client.decrypt(step.lower(0), raw=True) for step in steps])
    found = circuit.read(state, schedule, samples.shape[-1])
    clear = np.array(list(model.train(samples, schedule)))
    scales = circuit.UNIT / (1 - np.array(schedule.momenta()))
    assert np.abs(clear).max() > 0.01
    assert (np.abs(found - clear) <= 6 * circuit.ERROR * scales[:, None]).all()


@pytest.mark.slow
def test_real_digits_under_secure_parameters(data: Digits) -> None:
    """A round on the ring of the application, which needs no bootstrap; errors are as stated."""
    params = ckks.parameters(depth=circuit.depth(), N=65536)
    assert params.security_bits >= 128
    layout, schedule = Layout(), Schedule(circuit.ROUND)
    client = ckks.Client(params)
    keys = client.evaluation_keys(rotations=layout.rotations())
    server = ckks.Server(keys, device="cpu")
    batches = model.mini_batches(data, 0)[: circuit.ROUND]
    training = Training(layout, schedule, server.upload(client.encrypt(layout.pack(batches))))

    def refresh(state: ckks.EncryptedArray) -> ckks.EncryptedArray:
        raise AssertionError("a round needs none")

    *_, last = training.run(refresh)
    state = client.decrypt(last.lower(0), raw=True)
    *_, clear = model.train(batches, schedule)
    scale = circuit.UNIT / (1 - schedule.momenta()[-1])
    differences = state[: clear.size] - clear / scale
    assert differences.std() < circuit.ERROR / 16
    (found,) = circuit.read(state[None], schedule, clear.size)
    assert model.accuracy(found, data) == pytest.approx(model.accuracy(clear, data), abs=0.001)


# ---- the processes


@pytest.mark.slow
def test_from_digits_to_weights_in_separate_processes(tmp_path: Path, data: Digits) -> None:
    work = tmp_path / "work"
    told, words = numbers_of("logistic", work, "--device", "cpu")
    assert told["iterations"] == run.FEW and len(told["seconds_bootstraps"]) == 1
    assert told["security_bits"] >= 128
    assert abs(told["accuracy_encrypted"] - told["accuracy_clear"]) <= run.DIFFERENCE
    assert told["weights_differ"] < 0.01 * told["largest_weight"]
    encrypted, clear = np.array(told["curve_encrypted"]), np.array(told["curve_clear"])
    assert encrypted.shape == clear.shape == (run.FEW, 2)
    assert np.abs(encrypted[-1] - clear[-1]).max() < 0.003
    assert (work / "training.png").read_bytes()[:4] == b"\x89PNG"
    assert "estimated security" in words

    answers = {"answer.whorl", "trace.whorl"}
    check_server_apart("logistic", work, told, "whorl.ckks", "plan.json", answers)


def told_of(weights: Floats, trace: list[Floats] | None) -> dict[str, Any]:
    """What a training on a server and a client would tell."""
    iterations = 4
    return {
        "prepared": {
            "keys_seconds": 1.0,
            "encryption_seconds": 1.0,
            "rotation_keys": 31,
            "ciphertexts": 8 * iterations,
        },
        "served": {
            "parameters": "N = 65536\n",
            "security_bits": 128.0,
            "device": "cpu",
            "load_seconds": 1.0,
            "training_seconds": 9.0,
            "training_cpu_seconds": 9.0,
            "bootstrap_seconds": [3.0],
            "modules": ["whorl.ckks"],
        },
        "read": {
            "weights": weights.tolist(),
            "trace": trace and [each.tolist() for each in trace],
            "decryption_seconds": 1.0,
        },
        "bytes": {"keys": 10**9, "query": 10**8, "answer": 10**6},
    }


def has_matplotlib() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def test_a_picture_without_matplotlib_says_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    curves = [(0.5, 1.0)], [(0.5, 1.0)]
    path = tmp_path / "a.png"
    assert not output.picture("picture", path, lambda to: picture.draw(*curves, [], "a", to))
    assert output.EXTRA in capsys.readouterr().out and not path.exists()


@pytest.mark.parametrize(
    ("factor", "traced", "status"), [(1, True, 0), (1, False, 0), (-1, True, 1)]
)
def test_the_report_compares_with_the_clear(
    factor: int,
    traced: bool,
    status: int,
    data: Digits,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps = [factor * each for each in model.train(model.mini_batches(data, 3)[:4], Schedule(4))]
    told = told_of(steps[-1], steps if traced else None)
    monkeypatch.setattr(run, "train", lambda *_: told)
    arguments = ["--iterations", "4", "--seed", "3", "--workdir", str(tmp_path)]
    assert run.main(arguments) == status
    shown = capsys.readouterr()
    accuracy = 100 * model.accuracy(steps[-1], data)
    assert f"{accuracy:.2f} % of 1,984 other digits" in shown.out
    assert ("which is more than 0.3 %" in shown.err) == bool(status)
    assert (tmp_path / "training.png").exists() == (traced and has_matplotlib())


def test_keys_of_gigabytes_are_announced(
    data: Digits,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before they are made."""
    monkeypatch.setattr(run.Exchange, "run", lambda *_, **__: {})
    arguments = run.arguments_of(["--device", "cpu", "--workdir", str(tmp_path)])
    run.train(model.mini_batches(data, 0)[:4], Schedule(4), arguments)
    assert "note: keys take 2734.7 MB in each folder" in capsys.readouterr().err


def test_bad_arguments_are_refused() -> None:
    wrong = (("--iterations", "0"), ("--iterations", "201"), ("--rate", "0"), ("--target", "x"))
    check_refused("logistic", *wrong, ("x",))


def test_cpus_do_a_part_and_gpus_all() -> None:
    assert run.arguments_of(["--device", "cpu"]).iterations == 4
    assert run.arguments_of(["--device", "cuda:1"]).iterations == 32
    assert run.rounds(3) == [] and run.rounds(4) == [3] and run.rounds(7) == [3, 6]
