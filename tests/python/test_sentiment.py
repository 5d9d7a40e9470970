"""apps/sentiment: sentences and weights, the network in clear and encrypted, and the processes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applications import check_refused, check_server_apart, numbers_of
from sentiment import budget, circuit, model, run, train, words
from sentiment.circuit import Layout, Network, Plan
from sentiment.model import CELLS, HEIGHT, RANGE, Weights
from sentiment.words import Floats, Sentences, Table
from support import ROOT
from whorl import ckks

POLARITY = ROOT.parent / "shared" / "data" / "text"
LAYOUT = Layout(slots=1024, cells=16, sentences=16)
STEPS = circuit.WORDS + 2


def small_ring() -> ckks.Parameters:
    """The application's primes in a ring of no security."""
    literal = {**circuit.choose().literal(), "N": 2 * LAYOUT.slots, "name": "small"}
    return ckks.parameters(literal=literal, allow_insecure=True)


def weights_at_random(generator: np.random.Generator, cells: int, reach: float = 0.9) -> Weights:
    """Weights with which vectors of values up to 1 stay in the range."""

    def rows(most: float) -> Floats:
        values = generator.normal(size=(cells, cells))
        return values * most / np.abs(values).sum(axis=1, keepdims=True)

    most = reach * RANGE
    return Weights(
        inputs=rows(0.35 * most),
        recurrent=rows(0.6 * most / HEIGHT),
        bias=generator.uniform(-0.05, 0.05, cells) * most,
        head=generator.normal(0, 0.5, cells),
        constant=0.25,
    )


# ---- sentences


def test_a_sentence_is_split_into_words_and_marks() -> None:
    assert words.split('It\'s "co-written", by A/B !') == [
        *("it's", '"', "co-written", '"', ",", "by", "a", "/", "b", "!")
    ]


def test_the_last_words_have_rows() -> None:
    table = Table(["a", "film"], np.arange(8.0).reshape(4, 2) / 8)
    rows = table.rows(["a film", "", "a b a film film"], 4)
    assert rows.tolist() == [[0, 0, 2, 3], [0, 0, 0, 0], [1, 2, 3, 3]]
    assert (table.vectors(["film"], 1) == table.values[[3]]).all()


def test_texts_are_joined() -> None:
    assert words.joined(["a b", "c"], 3, 2) == ["a b", "c a", "b c"]


def test_own_sentences() -> None:
    own = words.read_own()
    assert len(own.texts) == 32 and own.labels.sum() == 16
    assert own[:3].texts == own.texts[:3] and own[np.array([1, 0])].texts == own.texts[1::-1]


@pytest.mark.parametrize("line", ["pos", "pos\t ", "good\ta film", "\ta film"])
def test_lines_of_another_form_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "own.txt"
    path.write_text(f"neg\ta dull film\n{line}\n")
    with pytest.raises(ValueError, match="line 2 is not pos or neg"):
        words.read_own(path)


def test_no_sentence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("")
    with pytest.raises(ValueError, match="there is no sentence"):
        words.read_own(tmp_path / "own.txt")


def write_polarity(folder: Path, count: int) -> None:
    for name, word in (("pos", "good"), ("neg", "bad")):
        lines = [f"{word} film number {i}\x85 more\n" for i in range(count)]
        (folder / f"rt-polarity.{name}").write_text("".join(lines), encoding="utf-8")


def test_the_split_of_the_sentences_is_fixed(tmp_path: Path) -> None:
    write_polarity(tmp_path, 1100)
    training, test = words.read_polarity(tmp_path)
    assert len(test.texts) == 1000 and len(training.texts) == 1200
    assert not set(training.texts) & set(test.texts)
    assert 400 < test.labels.sum() < 600
    for data in (training, test):
        assert [text.startswith("good") for text in data.texts] == data.labels.astype(bool).tolist()
    assert words.read_polarity(tmp_path)[1].texts == test.texts


def test_too_few_sentences_are_refused(tmp_path: Path) -> None:
    write_polarity(tmp_path, 3)
    with pytest.raises(ValueError, match="3 sentences, and 1000 or more"):
        words.read_polarity(tmp_path)


# ---- the model in clear


def test_the_packed_model_is_small_and_stays_in_its_range() -> None:
    size = words.PACKED.stat().st_size + model.PACKED.stat().st_size
    assert size < 1_000_000
    table, weights = Table.load(), model.load()
    assert table.values.shape == (2 + len(table.words), CELLS) and np.abs(table.values).max() <= 1
    assert not table.values[words.NOTHING].any()
    assert 0.5 < weights.reach(table) <= model.REACH
    found = model.run(weights, table.vectors(words.read_own().texts, 32))
    assert 0.3 < found.largest < weights.reach(table)


def test_own_sentences_are_judged() -> None:
    own = words.read_own()
    for function in (model.cubic, np.tanh):
        assert train.accuracy(Table.load(), model.load(), own, function) >= 0.75


@pytest.mark.skipif(not POLARITY.is_dir(), reason=f"{POLARITY} is absent")
def test_packed_weights_are_as_good_as_the_readme_says() -> None:
    _, test = words.read_polarity(POLARITY)
    page = (Path(model.__file__).parent / "README.md").read_text(encoding="utf-8")
    for name, function in (("cubic", model.cubic), ("tanh", np.tanh)):
        share = train.accuracy(Table.load(), model.load(), test, function)
        assert share > 0.72
        assert f"| {name} | {100 * share:.1f} % |" in page


def test_the_cubic_is_close_to_tanh_and_bounded() -> None:
    z = np.linspace(-RANGE, RANGE, 1001)
    assert np.abs(model.cubic(z)).max() <= HEIGHT * (1 + 1e-12)
    near = np.abs(z) < RANGE / 2
    assert np.abs(model.cubic(z) - np.tanh(z))[near].max() < 0.05


def test_weights_that_leave_the_range_are_refused(
    tmp_path: Path, generator: np.random.Generator
) -> None:
    table = Table(["a"], generator.uniform(-1, 1, (3, CELLS)))
    path = tmp_path / "weights.npz"
    good = weights_at_random(generator, CELLS)
    good.save(path)
    loaded = model.load(path, table)
    assert np.abs(loaded.recurrent - good.recurrent).max() < 1e-3
    dataclasses.replace(good, recurrent=2 * good.recurrent).save(path)
    with pytest.raises(ValueError, match="of the range, above"):
        model.load(path, table)


def test_a_table_with_another_number_of_words_is_refused(tmp_path: Path) -> None:
    Table(["a", "b"], np.zeros((3, 2))).save(tmp_path / "table.npz")
    with pytest.raises(ValueError, match=r"2 words have vectors of shape \(3, 2\)"):
        Table.load(tmp_path / "table.npz")


def test_reach_bounds_any_sequence_of_words(generator: np.random.Generator) -> None:
    weights = weights_at_random(generator, 8, 1.0)
    table = Table([str(i) for i in range(30)], generator.uniform(-1, 1, (32, 8)))
    vectors = table.values[generator.integers(0, 32, (200, 20))]
    found = model.run(weights, vectors)
    assert found.largest <= weights.reach(table) <= 1


# ---- the training


def test_gradients_are_differences_of_the_loss(generator: np.random.Generator) -> None:
    at = train.first_weights(7, generator)
    rows, labels = generator.integers(0, 7, (5, 4)), generator.integers(0, 2, 5)
    at["table"][words.NOTHING] = 0
    keep = {name: np.ones((5, CELLS), np.float32) for name in ("words", "last")}

    def loss(tanh: bool) -> float:
        values: dict[str, Any] = {name: each.astype(float) for name, each in at.items()}
        table, constant = values.pop("table"), float(values.pop("constant")[0])
        weights = Weights(**values, constant=constant)
        function = np.tanh if tanh else model.cubic
        scores = model.run(weights, table[rows], function).scores
        return float(np.mean(np.logaddexp(0, np.where(labels == 1, -scores, scores))))

    for tanh in (True, False):
        found, touched = train.gradients(at, rows, labels, tanh, keep)
        for name, gradient in found.items():
            which = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
            index = (touched[which[0]], *which[1:]) if name == "table" else which
            ends = []
            for change in (0.01, -0.02):
                at[name][index] += np.float32(change)
                ends.append(loss(tanh))
            at[name][index] += np.float32(0.01)
            assert gradient[which] == pytest.approx((ends[0] - ends[1]) / 0.02, rel=0.02, abs=1e-4)


def test_large_gradients_are_clipped() -> None:
    large = {"a": np.full(4, 3, np.float32), "b": np.full(7, -4, np.float32)}
    found = train.clipped(large)
    assert np.linalg.norm(np.concatenate(list(found.values()))) == pytest.approx(1)
    assert found["a"][0] / found["b"][0] == pytest.approx(-3 / 4)
    assert train.clipped(found)["a"] == pytest.approx(found["a"])


def test_training_learns_and_stays_in_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STEPS", 4), ("RATE", 0.01), ("AVERAGED", 0.9)):
        monkeypatch.setattr(train, name, value)
    texts = [f"{'a' if i % 3 else 'the'} film is {'good' if i % 2 else 'bad'}" for i in range(640)]
    data = Sentences(texts, np.arange(640) % 2)
    table, weights = train.train(data, epochs=6)
    assert table.words == ["a", "bad", "film", "good", "is", "the"]
    assert train.accuracy(table, weights, data, model.cubic) == 1
    assert 0.3 < weights.reach(table) <= model.REACH


# ---- the circuit


def test_words_lie_in_the_slots_twice() -> None:
    vectors = np.arange(20 * 3 * 16, dtype=float).reshape(20, 3, 16)
    packed = LAYOUT.pack(vectors)
    assert LAYOUT.share == 2 and packed.shape == (2, 2, 1024)
    for sentence, step, cell in ((0, 0, 0), (7, 1, 3), (19, 2, 15)):
        batch, i = divmod(sentence, 16)
        ciphertext, word = divmod(step, 2)
        for copy in (0, 1):
            slot = (2 * word + copy) * LAYOUT.period + cell * 16 + i
            assert packed[batch, ciphertext, slot] == vectors[sentence, step, cell]
    assert not packed[1, 1, 512:].any() and not packed[1, 0, 4:16].any()


@pytest.mark.parametrize("numbers", [(1000, 16, 16), (256, 16, 16), (1024, 16, 0)])
def test_layouts_that_do_not_fit_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"power of two|do not fit"):
        Layout(*numbers)


def test_maps_bring_a_product_of_each_word_to_all_slots(generator: np.random.Generator) -> None:
    matrix = generator.normal(size=(16, 16))
    vectors = generator.normal(size=(16, 2, 16))
    made = LAYOUT.matrix(matrix, LAYOUT.slots)(LAYOUT.pack(vectors)[0, 0])
    for word in (0, 1):
        found = LAYOUT.picked(word)(made).reshape(16, 16)
        assert np.abs(found.T - vectors[:, word] @ matrix.T).max() < 1e-9


def test_bootstraps_come_as_late_as_they_can() -> None:
    params = small_ring()
    levels = circuit.levels(params, 6)
    assert [refreshed for _, refreshed in levels] == [False] * 3 + [True] + [False] * 2
    assert [level for level, _ in levels] == [12, 9, 6, 3, 12, 9]
    assert not any(refreshed for _, refreshed in circuit.levels(params, 4))
    for steps, count in ((32, 7), (200, 49)):
        assert sum(refreshed for _, refreshed in circuit.levels(params, steps)) == count


@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_encrypted_scores_are_those_in_clear(generator: np.random.Generator, steps: int) -> None:
    """With a bootstrap in the longest run, on a ring of no security."""
    weights = weights_at_random(generator, 16)
    vectors = generator.uniform(-1, 1, (20, steps, 16))
    params = small_ring()
    plan = budget.plan(params, LAYOUT, weights, vectors, steps)
    client = ckks.Client(params)
    server = ckks.Server(
        client.evaluation_keys(**circuit.keys(params, LAYOUT, steps)), device="cpu"
    )
    network = Network(server, weights, plan)
    assert network.bootstraps == (steps == STEPS) and network.nbytes > 0
    states: list[Any] = []

    def refresh(u: ckks.EncryptedArray) -> ckks.EncryptedArray:
        states.append((u.level, u.error, u.bound))
        return u.bootstrap()

    scores = network.run(server.upload(client.encrypt(LAYOUT.pack(vectors))), refresh)
    assert len(states) == network.bootstraps and scores.shape == (2,) and scores.length == 16
    for level, error, bound in states:
        assert level == 3 and error <= plan.error * (1 + 1e-9) and bound <= 1 + 1e-9
    found = client.decrypt(scores.lower(0), raw=True).reshape(-1)[:20]
    clear = model.run(weights, vectors)
    assert clear.largest < 1 and clear.scores.std() > 0.01
    assert np.abs(found - clear.scores).max() < 6 * plan.score_error < 0.01
    assert plan.score_error / 2 < scores.error <= plan.score_error * (1 + 1e-9)


def test_errors_do_not_grow_with_the_number_of_words(generator: np.random.Generator) -> None:
    weights, params = weights_at_random(generator, 16), small_ring()
    vectors = generator.uniform(-1, 1, (8, 60, 16))
    plans = [budget.plan(params, LAYOUT, weights, vectors[:, -n:], n) for n in (10, 60)]
    assert plans[1].error < 4 * plans[0].error
    made = budget.dry_run(params, LAYOUT, weights, 60)
    assert plans[1].error >= budget.MARGIN * max(step.error for step in made.recur.values()) / 2


def test_work_grows_with_the_bootstraps(generator: np.random.Generator) -> None:
    weights, params = weights_at_random(generator, 16), small_ring()
    works = []
    for steps in (STEPS - 2, STEPS - 1):
        made = budget.dry_run(params, LAYOUT, weights, steps)
        works.append(made.work(circuit.levels(params, steps), params.depth))
        assert made.recur[12].work > made.recur[6].work > 0
    assert works[1] - works[0] > 10 * made.recur[12].work / (2 + 6)


def test_more_batches_than_run_at_once(generator: np.random.Generator) -> None:
    """On a ring of no security, without a bootstrap."""
    count = (circuit.TOGETHER + 1) * LAYOUT.sentences - 3
    vectors = generator.uniform(-1, 1, (count, 2, 16))
    weights, params = weights_at_random(generator, 16), small_ring()
    plan = budget.plan(params, LAYOUT, weights, vectors, 2)
    client = ckks.Client(params)
    server = ckks.Server(client.evaluation_keys(**circuit.keys(params, LAYOUT, 2)), device="cpu")
    answer = Network(server, weights, plan).answer(client.encrypt(LAYOUT.pack(vectors)))
    assert answer.shape == (circuit.TOGETHER + 1,)
    found = client.decrypt(answer, raw=True).reshape(-1)[:count]
    assert np.abs(found - model.run(weights, vectors).scores).max() < 6 * plan.score_error


# ---- the processes


def told_of(scores: Floats) -> dict[str, Any]:
    """What a run on a server and a client would tell."""
    return {
        "prepared": {
            "keys_seconds": 1.0,
            "encryption_seconds": 1.0,
            "rotation_keys": 30,
            "ciphertexts": 2,
        },
        "served": {
            "parameters": "N = 65536\n",
            "security_bits": 128.0,
            "device": "cpu",
            "load_seconds": 1.0,
            "network_seconds": 9.0,
            "network_cpu_seconds": 9.0,
            "bootstraps": 1,
            "bootstrap_seconds": [3.0],
            "bytes_maps": 10**8,
            "modules": ["whorl.ckks"],
        },
        "read": {"scores": scores.tolist(), "decryption_seconds": 1.0},
        "bytes": {"keys": 10**9, "query": 10**7, "answer": 10**6},
    }


@pytest.mark.parametrize(("off", "status"), [(0.0, 0), (0.5, 1), (float("nan"), 1)])
def test_the_report_compares_with_the_clear(
    off: float,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = words.read_own()
    scores = model.run(model.load(), Table.load().vectors(own.texts, STEPS)).scores
    scores[3] += off
    plan = Plan(Layout(), STEPS, error=1e-4, score_error=1e-3)
    monkeypatch.setattr(run, "classify", lambda *_: (plan, told_of(scores)))
    arguments = ["--steps", str(STEPS), "--workdir", str(tmp_path), "--device", "cpu"]
    assert run.main(arguments) == status
    shown = capsys.readouterr()
    assert "of 32 sentences" in shown.out and "1 bootstrap in between" in shown.out
    assert ("a score differs" in shown.err) == bool(status)


def test_keys_of_gigabytes_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before they are made. The server's folder has the weights, and the client's the table."""
    monkeypatch.setattr(run.Exchange, "run", lambda *_, **__: {})
    arguments = run.arguments_of(["--device", "cpu", "--workdir", str(tmp_path), "--steps", "2"])
    plan, _ = run.classify(run.chosen(arguments), arguments)
    assert "note: keys take" in capsys.readouterr().err
    assert 0 < plan.score_error < 0.01
    assert {path.name for path in (tmp_path / "server").iterdir()} == {"plan.json", "weights.npz"}
    assert {path.name for path in (tmp_path / "client").iterdir()} == {
        *("offer.json", "sentences.json", "table.npz")
    }


def test_sentences_are_chosen(tmp_path: Path) -> None:
    few = run.chosen(run.arguments_of(["--sentences", "3"]))
    assert few.texts == words.read_own().texts[:3]
    write_polarity(tmp_path, 1000)
    many = run.chosen(run.arguments_of(["--data", str(tmp_path), "--sentences", "70"]))
    assert many.texts == words.read_polarity(tmp_path)[1].texts[:70]
    with pytest.raises(ValueError, match="33 are more than the 32"):
        run.chosen(run.arguments_of(["--sentences", "33"]))


def test_bad_arguments_are_refused() -> None:
    wrong = (("--steps", "0"), ("--steps", "201"), ("--sentences", "0"), ("--data", "nosuch"))
    check_refused("sentiment", *wrong, ("x",))


@pytest.mark.slow
def test_from_sentences_to_scores_in_separate_processes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    told, said = numbers_of("sentiment", work, "--device", "cpu", "--steps", str(STEPS))
    assert told["steps"] == STEPS and len(told["seconds_bootstraps"]) == 1
    assert told["security_bits"] >= 128
    assert told["largest_difference"] <= run.DEVIATIONS * told["stated_error"] < 0.05
    assert told["same_as_clear"] >= 31
    assert "estimated security" in said
    owned = {"plan.json", "weights.npz"}
    check_server_apart("sentiment", work, told, "whorl.ckks", owned, {"answer.whorl"})
