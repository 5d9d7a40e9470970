"""apps/tree: quantisation, the compiler from trees to tables, noise bounds, and the processes."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applications import (
    check_server_apart,
    numbers_of,
    run_application,
    run_server,
    with_few_coefficients,
)
from common import table
from common.output import EXTRA
from common.table import Ints
from hypothesis import given, settings
from hypothesis import strategies as st
from tree import circuit as circuits
from tree import coarse, picture, run, security
from tree import task as tasks
from tree.model import Quantiser, Trained, Tree
from tree.server import Encrypted
from whorl.client.binfhe import Client
from whorl.server.binfhe import Server


@pytest.fixture(scope="module")
def sklearn() -> Any:
    """What trains trees; only a training needs it."""
    pytest.importorskip("sklearn.tree", reason="needs scikit-learn (extra: apps)")
    import sklearn.datasets
    import sklearn.model_selection
    import sklearn.tree

    return sklearn


# ---- arithmetic in the clear, which refuses what ciphertexts would get wrong


@dataclasses.dataclass(frozen=True)
class Messages:
    """What an array of ciphertexts holds."""

    values: Ints
    p: int
    padding: bool

    def __getitem__(self, key: Any) -> Messages:
        return Messages(self.values[key], self.p, self.padding)


class Clear:
    """The tables and sums of a circuit, on numbers."""

    def __init__(self) -> None:
        self.look_ups = 0

    def look_up(
        self, tables: Sequence[list[int]], x: Messages, p_out: int, padding_out: bool
    ) -> Messages:
        assert x.padding, "a table without padding costs two blind rotations"
        assert all(len(table) == x.p for table in tables)
        assert ((x.values >= 0) & (x.values < x.p)).all(), "a message reached the padding bit"
        self.look_ups += len(tables)
        columns = [np.array(table)[x.values[:, j]] for j, table in enumerate(tables)]
        values = np.stack(columns, axis=-1)
        assert ((values >= 0) & (values < p_out)).all()
        return Messages(values, p_out, padding_out)

    def linear(
        self, weights: Sequence[int], columns: Sequence[Messages], constant: int
    ) -> Messages:
        products = [w * column.values for w, column in zip(weights, columns, strict=True)]
        total = constant + np.sum(products, axis=0)
        p, padding = columns[0].p, columns[0].padding
        return Messages(total % (2 * p if padding else p), p, padding)

    def join(self, arrays: Sequence[Messages]) -> Messages:
        values = np.concatenate([array.values for array in arrays], axis=-1)
        return Messages(values, arrays[0].p, arrays[0].padding)

    def zero(self, like: Messages) -> Messages:
        return Messages(np.zeros((len(like.values), 1), dtype=np.int64), like.p, like.padding)


def simulate(tree: Tree, levels: Ints) -> tuple[Ints, Ints, int]:
    """Classes, the leaf reached (from left to right), and look-ups a flower."""
    circuit, clear = circuits.compile_tree(tree), Clear()
    x = Messages(levels, circuit.p_in, True)
    classes = circuits.evaluate(circuit, clear, x).values
    look_ups = clear.look_ups
    bits = circuits.compare_features(circuit, clear, x)
    leaves = circuits.find_leaves(circuit, clear, bits, range(len(circuit.ways))).values
    assert (leaves.sum(axis=1) == 1).all()
    return classes, leaves.argmax(axis=1), look_ups


@st.composite
def trees(draw: st.DrawFn, most_nodes: int = 12) -> Tree:
    """Any shape, from balanced to a chain; cuts that everything or nothing passes included."""
    levels = draw(st.integers(2, 64))
    classes = draw(st.integers(1, 6))
    feature, cut, left, right, label = [-1], [-1], [-1], [-1], [0]
    leaves = [0]
    for _ in range(draw(st.integers(1, most_nodes))):
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        feature[node] = draw(st.integers(0, 3))
        cut[node] = draw(st.integers(-1, levels - 1))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [left[node], right[node]]
        for array in (feature, cut, left, right):
            array += [-1, -1]
        label += [0, 0]
    for leaf in leaves:
        label[leaf] = draw(st.integers(0, classes - 1))
    return Tree(feature, cut, left, right, label, classes, levels)


def chain(length: int, classes: int, levels: int) -> Tree:
    """The deepest tree of `length` tests."""
    inner = range(length)
    return Tree(
        feature=[*(i % 4 for i in inner), *([-1] * (length + 1))],
        cut=[*(levels * (i + 1) // (length + 2) for i in inner), *([-1] * (length + 1))],
        left=[*(length + i for i in inner), *([-1] * (length + 1))],
        right=[*(i + 1 for i in range(length - 1)), 2 * length, *([-1] * (length + 1))],
        label=[*([0] * length), *(i % classes for i in range(length + 1))],
        classes=classes,
        levels=levels,
    )


# ---- quantisation


@given(
    st.lists(st.integers(-300, 300), min_size=2, max_size=60),
    st.integers(2, 64),
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40),
)
def test_levels_keep_the_order_and_the_range(
    training: list[int], levels: int, others: list[int]
) -> None:
    quantiser = Quantiser.learn(np.array(training)[:, None] / 10, levels)
    values = np.sort(np.array(others + training) / 10)
    found = quantiser(values[:, None])[:, 0]
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0 and found.max() <= levels - 1
    # Inside the range of training the error is at most half a step.
    inside = (values >= min(training) / 10) & (values <= max(training) / 10)
    error = np.abs(quantiser.value(0, found) - values)[inside]
    assert (error <= quantiser.step[0] * (0.5 + 1e-6)).all()


@given(st.integers(-300, 300), st.integers(1, 63), st.floats(-40, 40), st.integers(2, 64))
def test_a_cut_is_the_threshold_on_levels(
    lowest: int, width: int, threshold: float, levels: int
) -> None:
    training = np.array([lowest, lowest + 1, lowest + width])[:, None] / 10
    quantiser = Quantiser.learn(training, levels)
    cut = quantiser.cut(0, threshold)
    for level in range(levels):
        passes = float(np.float32(quantiser.value(0, level))) <= threshold
        assert passes == (level <= cut)


def test_64_levels_lose_nothing_of_the_irises(sklearn: Any) -> None:
    for seed in range(40):
        data = run.split(seed, run.TEST)
        fitted = sklearn.tree.DecisionTreeClassifier(random_state=seed)
        fitted.fit(data.training, data.training_classes)
        learned = Trained.learn(data.training, data.training_classes, 3, seed, None)
        quantiser = Quantiser.learn(data.training, 64)
        tree = Tree.quantise(learned, quantiser)
        both = np.concatenate([data.training, data.test])
        clear = fitted.predict(both)
        assert (learned.classify(both) == clear).all(), f"seed {seed}"
        assert (tree.classify(quantiser(both)) == clear).all(), f"seed {seed}"


def test_the_irises_and_their_split_are_scikit_learns(sklearn: Any) -> None:
    iris, rows = sklearn.datasets.load_iris(), table.read(run.IRISES)
    assert (rows.features == iris.data).all() and (rows.labels == iris.target).all()
    assert rows.names == iris.feature_names and rows.classes == iris.target_names.tolist()
    for seed in range(4):
        data = run.split(seed, run.TEST)
        training, test, *_ = sklearn.model_selection.train_test_split(
            iris.data, train_size=100, test_size=50, random_state=seed
        )
        assert (data.training == training).all() and (data.test == test).all()


def test_the_tree_that_comes_along_knows_the_irises() -> None:
    """Other versions of scikit-learn may learn another tree, of which the same is expected."""
    data, learned = run.split(0, run.TEST), Trained.load(run.TRAINED[0])
    assert (learned.classify(data.training) == data.training_classes).all()
    assert (learned.classify(data.test) == data.test_classes).mean() == 0.98
    assert learned.tests == 6


def test_the_split_is_seeded_and_disjoint() -> None:
    one, same, other = run.split(5, 50), run.split(5, 50), run.split(6, 50)
    assert (one.test == same.test).all() and (one.training == same.training).all()
    assert (one.test != other.test).any()
    assert one.training.shape == (100, 4) and one.test.shape == (50, 4)
    everything = np.concatenate([one.training, one.test])
    iris = table.read(run.IRISES).features
    assert sorted(map(tuple, everything)) == sorted(map(tuple, iris))


# ---- a table of one's own


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text('\ufeffage,"who, really", score \n31,b,-1e3\n40,a, 7\n50,b,0.5\n', "utf-8")
    rows = table.read(path, "who, really")
    assert (rows.names, rows.classes) == (["age", "score"], ["a", "b"])
    assert rows.labels.tolist() == [1, 0, 1]
    assert rows.features.tolist() == [[31, -1000], [40, 7], [50, 0.5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a line of names and three rows"),
        ("a,b\n1,x\n2,y\n", "a line of names and three rows"),
        ("a\n1\n2\n3\n", "the columns a; of two or more"),
        ("a,b,b\n1,2,x\n1,2,y\n1,2,z\n", "one must be 'b'"),
        ("a,b\n1,x\n,y\n3,x\n", "line 3, column 'a': '' is not a finite number"),
        ("a,b\n1,x\n2,y\nnan,x\n", "line 4, column 'a': 'nan' is not a finite number"),
        ("a,b\n1,x\n2,y,z\n3,x\n", "line 3 has 3 cells for 2 columns"),
        ("a,b\n1,x\n\n3,y\n", "line 3 has 0 cells for 2 columns"),
        ("a,b\n1,x\n2,x\n3,x\n", "all rows have the class 'x'"),
        ('a,b\n1,"x\n2,y\n3,x\n', "unexpected end of data"),
    ],
)
def test_tables_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message) as error:
        table.read(path)
    assert str(error.value).startswith(f"{path}: ")


def test_without_scikit_learn_a_training_says_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    assert run.main(["--seed", "1"]) == 2
    assert EXTRA in capsys.readouterr().err


# ---- from trees to tables


@given(trees(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_circuits_agree_with_random_trees(tree: Tree, seed: int) -> None:
    levels = np.random.default_rng(seed).integers(0, tree.levels, size=(40, 4))
    classes, leaves, look_ups = simulate(tree, levels)
    ends = np.array([leaf.node for leaf in tree.leaves()])
    assert (classes == tree.classify(levels)).all()
    assert (ends[leaves] == tree.reach(levels)).all()
    nodes = len(tree.internal)
    assert look_ups == circuits.compile_tree(tree).rotations <= 2 * nodes + 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 32), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_circuits_agree_with_trained_trees(
    sklearn: Any, seed: int, classes: int, levels: int, depth: int
) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(0, levels, size=(120, 4))
    x[0], x[1], x[2] = 0, 1, levels - 1  # so that a level is a step of 1
    y = random.integers(0, classes, size=120)
    y[:classes] = np.arange(classes)
    learned = Trained.learn(x.astype(np.float64), y, classes, seed, depth)
    quantiser = Quantiser.learn(x.astype(np.float64), levels)
    tree = Tree.quantise(learned, quantiser)
    others = random.integers(0, levels, size=(200, 4)).astype(np.float64)
    assert (simulate(tree, quantiser(others))[0] == learned.classify(others)).all()


def test_a_class_that_no_training_row_has(sklearn: Any) -> None:
    learned = Trained.learn(np.array([[0.0], [1], [2]]), np.array([0, 2, 2]), 3, 0, None)
    assert learned.classify(np.array([[0.0], [2]])).tolist() == [0, 2]


def test_a_tree_of_one_leaf_is_refused() -> None:
    with pytest.raises(ValueError, match="single leaf"):
        Tree([-1], [-1], [-1], [-1], [0], 3, 16)


def test_trees_and_quantisers_survive_files(tmp_path: Path) -> None:
    tree, quantiser = chain(5, 3, 16), Quantiser([0.1, 2.0], [0.1, 0.25], 16)
    tree.save(tmp_path / "tree.json")
    quantiser.save(tmp_path / "quantiser.json")
    assert Tree.load(tmp_path / "tree.json") == tree
    assert Quantiser.load(tmp_path / "quantiser.json") == quantiser


@given(trees(), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_counts_in_the_picture_add_up(tree: Tree, seed: int) -> None:
    levels = np.random.default_rng(seed).integers(0, tree.levels, size=(30, 4))
    counts = picture.passes(tree, simulate(tree, levels)[1].tolist())
    assert counts[0] == 30
    for node in tree.internal:
        assert counts[node] == counts[tree.left[node]] + counts[tree.right[node]]
    ends, reached = np.unique(tree.reach(levels), return_counts=True)
    assert all(counts[end] == number for end, number in zip(ends, reached, strict=True))


def test_the_benchs_circuit_is_that_of_the_application() -> None:
    """bench/tree/iris.json, followed as bench_tree does."""
    told = json.loads(tasks.FILE.read_text(encoding="utf-8"))
    assert told == json.loads(json.dumps(tasks.task()))
    levels = np.array(told["flowers"])
    assert levels.shape == (run.TEST, 4) and levels.min() >= 0 and levels.max() < told["p_in"]
    tests = list(zip(told["features"], told["tests"], strict=True))
    bits = np.array([[table[row[feature]] for feature, table in tests] for row in levels])
    literals = np.concatenate([bits, 1 - bits, np.zeros((run.TEST, 1), dtype=int)], axis=1)
    sums = literals[:, told["ways"]].sum(axis=2)
    assert sums.max() < told["p_sum"]
    indicators = np.array([[t[s] for t, s in zip(told["ends"], row, strict=True)] for row in sums])
    classes = (told["base"] + indicators @ told["weights"]) % told["p_out"]
    assert classes.tolist() == told["classes"]
    quantiser = Quantiser.learn(run.split(tasks.SEED, run.TEST).training, told["p_in"])
    assert (levels == quantiser(run.split(tasks.SEED, run.TEST).test)).all()


# ---- levels that are known only nearly


@given(trees(), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_products_add_up_the_ways_of_random_trees(tree: Tree, seed: int) -> None:
    levels = np.random.default_rng(seed).integers(0, tree.levels, size=(20, 4))
    circuit = circuits.compile_tree(tree)
    tests = list(zip(circuit.features, circuit.tests, strict=True))
    bits = np.array([[table[row[feature]] for feature, table in tests] for row in levels])
    weights, constants = coarse.agreements(circuit, range(len(circuit.ways)))
    found = bits @ weights.T + constants == [len(way) for way in circuit.ways]
    ends = np.array([leaf.node for leaf in tree.leaves()])
    assert (found.sum(axis=1) == 1).all() and (
        ends[found.argmax(axis=1)] == tree.reach(levels)
    ).all()


def test_a_guard_stays_free_and_the_rest_covers_the_range() -> None:
    training = np.array([[1.0, 5.0], [2.0, 5.0], [6.9, 5.0]])
    quantiser = Quantiser.learn(training, 2048, 128)
    assert quantiser(training)[[0, 2], 0].tolist() == [128, 1919]
    assert quantiser(np.array([[-100.0, 5.0], [100.0, 5.0]]))[:, 0].tolist() == [128, 1919]
    assert quantiser.value(0, 128) == pytest.approx(1) and quantiser.value(
        0, 1919
    ) == pytest.approx(6.9)
    assert (quantiser(training)[:, 1] == 128).all()
    with pytest.raises(ValueError, match="levels: 0 of 256 can be taken"):
        Quantiser.learn(training, 256, 128)


def test_coarse_tests_decide_but_near_their_cuts() -> None:
    """Levels at random, and right beside the cuts, where any side is one of the tree's."""
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    params = with_few_coefficients("W128_P128")
    tree = chain(5, 4, coarse.LEVELS)
    circuit, off = circuits.compile_tree(tree), coarse.reach(params)
    client = Client(params)
    server = Server(client.evaluation_keys(), device="cpu", allow_insecure=True, allow_failure=1)
    used = coarse.GUARD, coarse.LEVELS - coarse.GUARD
    levels = np.random.default_rng(seed).integers(*used, size=(12, 4))
    levels[:5, :] = np.array(tree.cut[:5])[:, None]
    near = np.abs(levels[:, circuit.features] - np.array(tree.cut[:5])) <= off
    query = client.encrypt(levels, p=coarse.LEVELS, padding=True, allow_failure=1)
    evaluated = coarse.CoarseTree(server, circuit)
    bits = evaluated.bits(server.upload(query))
    assert bits.under == "ring"
    sides = client.decrypt(bits)
    right = levels[:, circuit.features] > np.array(tree.cut[:5])
    assert ((sides == right) | near).all() and ((sides == 0) | (sides == 1)).all()
    leaves = client.decrypt(evaluated.leaves(bits, range(len(circuit.ways))))
    assert (leaves.sum(axis=1) == 1).all()
    reached = np.argmax(
        [[all(row[n] == r for n, r in way) for way in circuit.ways] for row in sides], 1
    )
    assert (leaves.argmax(axis=1) == reached).all()
    labels = np.array([leaf.label for leaf in tree.leaves()])
    assert (client.decrypt(evaluated.classify(server.upload(query))) == labels[reached])[
        ~near.any(axis=1)
    ].all()
    assert tree.near(levels, off) <= near.sum()


def test_sets_that_tell_levels_apart_too_little_are_refused() -> None:
    params = security.named("W128_P128")
    assert coarse.reach(params) == 34
    assert coarse.reach(security.named("xiao/DECISION_TREE", insecure=True)) == 124
    with pytest.raises(ValueError, match="W128_P128: a level may be off by 2"):
        coarse.reach(params, 2**14)


def test_the_failure_of_coarse_trees_is_the_gaussian_tail() -> None:
    params = security.named("W128_P128_M5")
    noise, scale = params.noise(), 2 * params.N / params.q
    tree = chain(5, 3, coarse.LEVELS)
    circuit = circuits.compile_tree(tree)
    found = security.coarse_failure(params, circuit)
    rotation = (noise.blind_rotation + noise.rotation_constant) * (params.q / params.Q) ** 2
    variance = (noise.refreshed + 24 * rotation) * scale**2 + noise.rotation_rounding
    margin = 2 * params.N / (4 * 6)
    leaf = math.log2(math.erfc(margin / math.sqrt(2 * variance)))
    assert found.leaves == pytest.approx(leaf + math.log2(len(circuit.needed)))
    assert found.tests == pytest.approx(math.log2(5) - 40)


def test_coarse_flowers_in_separate_processes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    options = ("--coarse", "--seed", "13", "--flowers", "4", "--device", "cpu", "--no-trace")
    told, said = numbers_of("tree", work, *options)
    assert told["levels"] == 2048 and told["nodes"] == 9 and told["depth"] == 6
    assert told["levels_off"] == 34 and "at most 34 levels from a cut" in said
    assert told["agreement_quantised"] == 1 and told["security_bits"] >= 128


# ---- noise


def test_failure_is_the_gaussian_tail() -> None:
    """An independent evaluation of each step where the tail can be computed directly."""
    params = security.named("W128_P128")
    noise, scale = params.noise(), 2 * params.N / params.q

    def tail(margin: float, variance: float) -> float:
        return math.log2(math.erfc(margin / math.sqrt(2 * variance)))

    tree = chain(9, 3, 32)
    circuit = circuits.compile_tree(tree)
    found = security.failure(params, circuit)
    fresh = noise.fresh * scale**2 + noise.rotation_rounding
    assert found.tests == pytest.approx(tail(2 * params.N / (4 * 32), fresh) + math.log2(9))
    ways = [
        tail(
            2 * params.N / (4 * 10), len(way) * noise.refreshed * scale**2 + noise.rotation_rounding
        )
        for way in (circuit.ways[leaf] for leaf in circuit.needed)
    ]
    assert found.leaves == pytest.approx(math.log2(sum(2**way for way in ways)))
    assert found.decryption < -200
    assert found.log2 >= max(found.tests, found.leaves)


def test_levels_follow_the_parameters() -> None:
    assert security.most_levels(security.named("TREE_P40"), 9) == 64
    assert security.most_levels(security.named("W128_P128"), 9) == 32
    for name in security.SETS:
        assert security.named(name).security.bits >= 128
    # Unrolled keys add noise to rotations only, of which the tests' inputs have none.
    circuit = circuits.compile_tree(chain(9, 3, 64))
    plain, unrolled = (
        security.failure(security.named(name), circuit)
        for name in ("TREE_P40", "TREE_P40_UNROLLED")
    )
    assert plain.tests == unrolled.tests
    assert plain.leaves < unrolled.leaves < security.LIMIT_LOG2 - 20


# ---- encrypted


@pytest.mark.parametrize("tree", [chain(7, 5, 32), chain(3, 2, 7)], ids=["deep", "small"])
def test_encrypted_trees_are_the_tables_in_the_clear(tree: Tree) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    params = security.named("W128_P128")
    circuit = circuits.compile_tree(tree)
    assert security.failure(params, circuit).log2 < -38
    client = Client(params)
    arithmetic = Encrypted(Server(client.evaluation_keys(), device="cpu", allow_failure=1))
    levels = np.random.default_rng(seed).integers(0, tree.levels, size=(6, 4))
    query: Any = client.encrypt(levels, p=tree.levels, padding=True)
    answer = client.decrypt(circuits.evaluate(circuit, arithmetic, query))
    assert (answer == tree.classify(levels)).all()


def test_from_flowers_to_classes_in_separate_processes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra: apps)")
    work = tmp_path / "work"
    options = ("--params", "W128_P128", "--flowers", "4", "--seed", "0", "--device", "cpu")
    told, _ = numbers_of("tree", work, *options)
    assert told["classes_encrypted"] == told["classes_clear"]
    assert told["agreement_clear"] == told["agreement_quantised"] == 1
    assert told["leaves_agree"]
    assert told["ciphertexts_in_per_flower"] == 4 and told["ciphertexts_out_per_flower"] == 1
    assert told["security_bits"] >= 128 and told["failure_log2"] <= security.LIMIT_LOG2
    assert (work / "tree.png").read_bytes()[:4] == b"\x89PNG"

    answers = {"answer.whorl", "trace.whorl"}
    check_server_apart("tree", work, told, "whorl.server", "tree.json", answers)


def test_a_tree_of_ones_own_table(sklearn: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    rows = ["age,kind,score"]
    for age, score in zip(random.integers(18, 90, 60), random.normal(size=60), strict=True):
        rows.append(f"{age},{'yes' if age > 50 and score > 0 else 'no'},{score:.3f}")
    path = tmp_path / "own.csv"
    path.write_text("\n".join(rows), "utf-8")
    own = ("--csv", str(path), "--target", "kind", "--depth", "2", "--no-trace")
    told, said = numbers_of(
        "tree", tmp_path / "work", *own, "--params", "W128_P128", "--flowers", "3"
    )
    assert told["flowers"] == 3 and told["training_flowers"] == 40 and told["depth"] == 2
    assert told["ciphertexts_in_per_flower"] == 2
    assert told["agreement_quantised"] == 1 and told["leaves_encrypted"] is None
    assert "3 other rows" in said and "a row" in said


def test_a_query_with_too_few_features_is_refused(tmp_path: Path) -> None:
    client = Client(security.named("W128_P128"))
    client.evaluation_keys().save(tmp_path / "keys.whorl")
    client.encrypt([[1, 2]], p=16, padding=True).save(tmp_path / "query.whorl")
    chain(3, 2, 16).save(tmp_path / "tree.json")
    done = run_server("tree", tmp_path)
    assert done.returncode == 1
    assert "shape (1, 2), but a row of 3 ciphertexts or more" in done.stderr


def test_disagreement_is_a_failure(tmp_path: Path) -> None:
    """Two levels a feature classify other than scikit-learn's tree does."""
    done = run_application(
        "tree",
        *("--params", "W128_P128", "--levels", "2", "--flowers", "10", "--no-trace"),
        *("--workdir", tmp_path),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "agree on less than 98%" in done.stderr
    assert not (tmp_path / "client" / "trace.whorl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--params", "W128_P128", "--levels", "64"), "above 2^-40"),
        (("--params", "W128_P127"), "W128_P128"),
        (("--params", "xiao/DECISION_TREE"), "128 bits are needed"),
        (("--csv", "nosuch.csv"), "nosuch.csv"),
        (("--target", "x"), "--target goes with --csv"),
        (("--depth", "0"), "--depth: 0 is below 1"),
        (("--coarse", "--levels", "64"), "with --coarse a feature has 2048"),
        (("--coarse", "--params", "xiao/DECISION_TREE"), "128 bits are needed"),
    ],
)
def test_bad_parameters_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run_application("tree", *arguments, "--workdir", tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
