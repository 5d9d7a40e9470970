"""apps/lookup: tables and grids, the circuit in the clear and encrypted, and the processes."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from applications import check_refused, check_server_apart, numbers_of, run_application
from hypothesis import given, settings
from hypothesis import strategies as st
from lookup import circuit, run
from lookup.table import (
    LAYER_BYTES,
    MOST_LAYERS,
    PLACES,
    Grid,
    Table,
    Values,
    characters,
    layers_of,
    pack,
    unpack,
)
from whorl.bgv import Client, Server

# ---- arithmetic in the clear


@dataclasses.dataclass(frozen=True)
class Slots:
    """What an array of ciphertexts holds: (count, N); it notes what it was rotated by."""

    values: Values
    rotated: set[int]

    def rotate(self, columns: int) -> Slots:
        self.rotated.add(columns)
        halves = self.values.reshape(*self.values.shape[:-1], 2, -1)
        turned = np.roll(halves, -columns, axis=-1)
        return Slots(turned.reshape(self.values.shape), self.rotated)

    def __matmul__(self, diagonals: Values) -> Slots:
        """Maps of diagonals (maps, count, N), GROUP apart, as the library's but for its steps."""
        terms = [
            self.rotate(circuit.GROUP * j).values * diagonals[:, None, j]
            for j in range(diagonals.shape[1])
        ]
        return Slots(np.sum(terms, axis=0) % 65537, set())

    def __mul__(self, other: Any) -> Slots:
        factor = other.values if isinstance(other, Slots) else other
        return Slots(self.values * factor % 65537, self.rotated)

    def __add__(self, other: Slots) -> Slots:
        return Slots((self.values + other.values) % 65537, self.rotated)


class Clear:
    """A server that has no ciphertexts to shrink."""

    def shrink(self, slots: Slots) -> Slots:
        return slots


def simulate(table: Table, across: Values, down: Values) -> tuple[Values, set[int]]:
    """Slots of the answers, (layers, count, N), and the rotations after the maps."""
    plain = circuit.diagonals(table.grid, table.cells())
    answers: Any = circuit.answer(
        cast(Server, Clear()),
        cast(Any, plain),
        *(cast(Any, Slots(values, set())) for values in (across, down)),
    )
    return answers.values, answers.rotated


def read(slots: Values) -> list[str | None]:
    """Rows of answers (layers, count, N)."""
    return [unpack(cell) for cell in np.moveaxis(circuit.read(slots), 0, 1)]


texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=40
).filter(lambda text: len(text.encode()) <= 2 * LAYER_BYTES)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Rows on up to 12 pages, far apart or not."""
    pages = draw(st.lists(st.integers(0, 5000), min_size=1, max_size=12, unique=True))
    codes = [page * PLACES + draw(st.integers(0, PLACES - 1)) for page in pages]
    codes += [page * PLACES + draw(st.integers(0, PLACES - 1)) for page in pages]
    return Table({code: draw(texts) for code in codes})


# ---- tables


@given(texts, st.integers(0, 3))
def test_a_cell_gives_its_text_back(text: str, spare: int) -> None:
    cell = pack(text, layers_of(text) + spare)
    assert cell.min() >= 0 and cell.max() <= 0xFFFF < 65537
    assert unpack(cell) == text
    assert unpack(np.zeros_like(cell)) is None


def test_rows_that_fit_no_cell_are_refused() -> None:
    assert layers_of("x" * LAYER_BYTES) == 1 and layers_of("x" * (LAYER_BYTES + 1)) == 2
    for text in ("", "a\0b", "x" * (LAYER_BYTES * MOST_LAYERS + 1), "é" * 513):
        with pytest.raises(ValueError, match="row"):
            layers_of(text)
    with pytest.raises(ValueError, match="65535"):
        unpack(np.full((1, 32), 65536))


@given(tables())
@settings(max_examples=20, deadline=None)
def test_tables_survive_files(tmp_path_factory: pytest.TempPathFactory, table: Table) -> None:
    path = tmp_path_factory.mktemp("table") / "table.tsv"
    table.save(path)
    assert Table.load(path) == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("41\tA\n42", "line 2"),
        ("41\tA\n41\tB\n", "second time"),
        ("zz\tA\n", "line 1"),
        ("-1\tA\n", "line 1"),
        ("41\t\n", "empty"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Table.load(path)


def test_unicode_is_a_table_of_its_names() -> None:
    table = characters()
    assert len(table.rows) >= 10_000
    assert table.rows[0x20AC] == "EURO SIGN\tSc\tET\tA\t"
    assert table.rows[0xBD] == "VULGAR FRACTION ONE HALF\tNo\tON\tA\t0.5"
    assert len(table.grid.pages) <= 256 and table.grid.layers == 2
    assert 0xAC00 not in table.rows  # a Hangul syllable


def test_a_grid_has_1_to_256_pages() -> None:
    for pages in ([], [2, 1], [1, 1], list(range(257))):
        with pytest.raises(ValueError, match="pages"):
            Grid(pages, 1)
    assert [Grid(list(range(count)), 1).period for count in (1, 2, 3, 5, 256)] == [1, 2, 4, 8, 256]


# ---- the circuit


@given(tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_answers_are_the_rows(table: Table, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = [int(code) for code in random.choice(list(table.rows), size=3)]
    codes += [int(code) // PLACES * PLACES + int(random.integers(PLACES)) for code in codes]
    codes += [5001 * PLACES + 7]  # on a page that holds nothing
    across, down = circuit.question(table.grid, codes)
    slots, rotated = simulate(table, across, down)
    assert read(slots) == [table.rows.get(code) for code in codes]
    assert rotated <= set(circuit.rotations(table.grid))


@pytest.mark.parametrize("pages", [1, 2, 3, 64, 129, 256])
def test_any_number_of_pages(pages: int) -> None:
    table = Table({page * PLACES + 3 * page % PLACES: f"row {page}" for page in range(pages)})
    codes = [0, *list(table.rows)[pages // 2 :: 31], list(table.rows)[-1]]
    slots, rotated = simulate(table, *circuit.question(table.grid, codes))
    assert read(slots) == [table.rows[code] for code in codes]
    assert rotated <= set(circuit.rotations(table.grid))


def test_any_question_gets_one_cell() -> None:
    """Other vectors than one-hot ones: all groups hold the same numbers, so there are 32."""
    table = Table(
        {page * PLACES + place: f"{page} {place}" for page in range(5) for place in (0, 9)}
    )
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    across, down = np.random.default_rng(seed).integers(0, 65537, size=(2, 1, circuit.N))
    slots, _ = simulate(table, across, down)
    groups = slots.reshape(-1, 2, PLACES, circuit.GROUP)
    assert (groups == groups[:, :, :1]).all()
    assert (groups != 0).any()


def test_parameters_are_secure_and_leave_a_budget() -> None:
    """Encrypted, with as many diagonals and as large numbers as there can be."""
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    random = np.random.default_rng(seed)
    params = circuit.choose()
    assert params.N == circuit.N and params.security_bits >= 128
    grid = Grid(list(range(256)), 1)
    cells = random.integers(0, 1 << 16, size=(1, 256, PLACES, 32))
    codes = [0, 65535, int(random.integers(65536))]
    client = Client(params)
    server = Server(client.evaluation_keys(rotations=circuit.rotations(grid)), device="cpu")
    across, down = (server.upload(client.encrypt(each)) for each in circuit.question(grid, codes))
    plain = circuit.diagonals(grid, cells)
    answer = circuit.answer(server, circuit.prepare(server, plain), across, down)
    assert answer.noise_budget > 0
    (found,) = circuit.read(client.decrypt(answer))
    assert (found == [cells[0, code // PLACES, code % PLACES] for code in codes]).all()


# ---- the processes


def test_from_codes_to_rows_in_separate_processes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    codes = ("20AC", "U+1F989", "½", "D800")
    told, words = numbers_of("lookup", work, *codes, "--device", "cpu")
    assert told["right"] == told["queries"] == 4 and told["table_rows"] >= 10_000
    assert [row and row.split("\t")[0] for row in told["rows_encrypted"]] == [
        *("EURO SIGN", "OWL", "VULGAR FRACTION ONE HALF", None)
    ]
    assert told["security_bits"] >= 128
    assert 0 < told["noise_budget_bound"] <= told["noise_budget"]
    assert "EURO SIGN" in words

    check_server_apart("lookup", work, told, "whorl.bgv", "table.tsv", {"answer.whorl"})


def test_questions_are_of_one_size(tmp_path: Path) -> None:
    """What is asked for, and whether it is there, is not seen in what travels; a table of one's
    own serves too."""
    table = tmp_path / "table.tsv"
    Table({0x41: "first", 0x1234: "second"}).save(table)
    sizes = set()
    for code in ("41", "999999"):
        done = run_application("lookup", code, "--table", table, "--workdir", tmp_path / "work")
        assert done.returncode == 0, done.stdout + done.stderr
        names = ("keys.whorl", "query.whorl", "answer.whorl")
        sizes.add(tuple((tmp_path / "work" / "server" / name).stat().st_size for name in names))
    assert len(sizes) == 1


def test_a_wrong_row_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def other_table(self: Table, path: Path) -> None:
        path.write_text("41\tanother\n", encoding="utf-8")

    table = tmp_path / "table.tsv"
    Table({0x41: "first"}).save(table)
    monkeypatch.setattr(Table, "save", other_table)
    arguments = ["41", "--table", str(table), "--workdir", str(tmp_path), "--device", "cpu"]
    assert run.main(arguments) == 1


def test_codes_at_random_end_with_a_gap() -> None:
    table = Table({page * PLACES + place: "row" for page in range(3) for place in range(5)})
    for seed in range(20):
        *codes, last = run.pick(table, seed, 6)
        assert all(code in table.rows for code in codes) and last not in table.rows
    full = Table({place: "row" for place in range(PLACES)})
    assert run.pick(full, 0, 2)[1] not in full.rows
    assert run.pick(full, 0, 1)[0] in full.rows


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text("")
    tables = (("--table", empty), ("--table", tmp_path / "none"))
    check_refused("lookup", *tables, ("--queries", "0"), ("x",))
