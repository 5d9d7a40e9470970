"""Bootstrapping: refreshed ciphertexts hold the same values, at the level of fresh ones."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import DEVIATIONS, check, random_complex
from support import ROOT, CkksKit, check_bad_files, pickled, run_python
from whorl import ckks
from whorl.ckks import EvaluationKeys, Parameters, Server, parameters

SLOTS = (1, 4, 8, 64, 1024)
LENGTHS = (5, 1023)
"""Vectors of these lengths do not fill their slots."""


def make_kit(slots: Iterable[int], **requirements: Any) -> CkksKit:
    """Small and insecure: the primes of secure parameters with bootstrapping, at N = 2048."""
    secure = parameters(2, bootstrap=True, **requirements)
    literal = {**secure.literal(), "N": 2048, "name": "toy"}
    chosen = parameters(literal=literal, allow_insecure=True)
    client = ckks.Client(chosen)
    keys = client.evaluation_keys(bootstrap=slots)
    return CkksKit(chosen, client, keys, Server(keys, device="cpu", threads=1))


@pytest.fixture(scope="module")
def kit() -> CkksKit:
    return make_kit(SLOTS)


def check_refreshed(kit: CkksKit, x: ckks.EncryptedArray, values: Any) -> ckks.EncryptedArray:
    """From the lowest level that serves; within the stated error, and with 20 bits."""
    y = x.lower(kit.parameters.least_bootstrap_level).bootstrap()
    assert y.level == kit.parameters.depth and y.scale == kit.parameters.scale()
    assert (y.packing, y.shape, y.length, y.parts) == (x.packing, x.shape, x.length, 2)
    check(kit, y, values)
    assert ckks.precision(kit.client.decrypt(y, raw=True), values).absolute.min > 20
    return y


# ---- values


def test_short_vectors_by_the_keys_of_long_ones(generator: np.random.Generator) -> None:
    kit = make_kit([64])
    for length in (1, 3, 8, 64):
        for bound in (0.25, 1.0):
            values = generator.uniform(-bound, bound, (2, length))
            x = kit.server.upload(kit.client.encrypt(values, bound=bound))
            y = x.lower(kit.parameters.least_bootstrap_level)
            y = kit.server.bootstrap(y, slots=64)
            assert y.length == length and y.level == kit.parameters.depth
            check(kit, y, values)
        large = kit.server.upload(kit.client.encrypt(2 * values, bound=2.0))
        with pytest.raises(whorl.EncodingError, match="above 1"):
            kit.server.bootstrap(large, slots=64)
    for slots, text in ((32, "64 slots meet maps"), (48, "power of two"), (2048, "power of two")):
        with pytest.raises(whorl.ShapeError, match=text):
            kit.server.bootstrap(x, slots=slots)


@pytest.mark.parametrize("length", [1, 1024, *LENGTHS])
@pytest.mark.parametrize("packing", ["real", "complex"])
def test_any_length(
    kit: CkksKit, generator: np.random.Generator, length: int, packing: str
) -> None:
    of_real = packing == "real"
    shape = (2, length)
    values = generator.uniform(-1, 1, shape) if of_real else random_complex(generator, *shape)
    x = kit.server.upload(kit.client.encrypt(values))
    y = check_refreshed(kit, x, values)
    check_refreshed(kit, y, values)
    check(kit, y * y * y, values**3)


def test_batches_of_any_shape(kit: CkksKit, generator: np.random.Generator) -> None:
    values = generator.uniform(-1, 1, (2, 3, 4))
    x = kit.server.upload(kit.client.encrypt(values)).lower(3)
    y = check_refreshed(kit, x, values)
    # A whole batch has the bits of its parts.
    for i in np.ndindex(2, 3):
        assert np.array_equal(x[i].bootstrap().to_host().data, y[i].to_host().data)
    single = check_refreshed(kit, x[1, 2], values[1, 2])
    assert single.shape == ()
    check_refreshed(kit, x.reshape(6, 1), values.reshape(6, 1, 4))


def test_vectors_with_zeros_behind(kit: CkksKit) -> None:
    values = np.array([0.5, -0.25, 1.0])
    check_refreshed(kit, kit.server.upload(kit.client.encrypt(values)), values)
    assert kit.server.bootstrap(kit.client.encrypt(values)).length == 3


def test_values_at_the_bound(kit: CkksKit) -> None:
    for values in (np.ones(4), -np.ones(4), np.full(4, 1j), np.zeros(4)):
        check_refreshed(kit, kit.server.upload(kit.client.encrypt(values)), values)


def test_results_and_more_levels_than_there_are(kit: CkksKit) -> None:
    """Fifteen squarings, of which parameters without bootstrapping would have five."""
    values = np.array([0.999, -0.5, 0.998, 1.0])
    x = kit.server.upload(kit.client.encrypt(values))
    for _ in range(15):
        if x.level == kit.parameters.least_bootstrap_level:
            x = x.bootstrap()
        x, values = x.square(), values**2
    assert np.abs(kit.client.decrypt(x, raw=True) - values).max() < 0.01
    y = kit.server.upload(kit.client.encrypt([0.5, -0.5, 1.0, 0.25]))
    bare = y.multiply(y, relinearise=False)
    check_refreshed(kit, bare, [0.25, 0.25, 1, 0.0625])


def test_words_of_64_bits(generator: np.random.Generator) -> None:
    kit = make_kit([8], scale_bits=46, word_bits=64)
    assert kit.parameters.word_bits == 64
    values = random_complex(generator, 2, 8)
    check_refreshed(kit, kit.server.upload(kit.client.encrypt(values)), values)


# ---- what is encoded


class Counting:
    """The library's server, which counts what it encodes."""

    def __init__(self, core: Any) -> None:
        self._inner, self.encoded = core, list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def encode_bootstrap(self, slots: int, progress: Any) -> Any:
        self.encoded.append(slots)
        return self._inner.encode_bootstrap(slots, progress)


def test_maps_are_encoded_once(kit: CkksKit, generator: np.random.Generator) -> None:
    server = Server(kit.keys, device="cpu", threads=1)
    counting: Any = Counting(server._core)
    server._core = counting
    values = generator.uniform(-1, 1, 4)
    fresh = kit.client.encrypt(values)
    results: list[Any] = []

    def work() -> None:
        results.append(server.upload(fresh).bootstrap().to_host().data)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert counting.encoded == [4] and len(results) == 4
    assert all(np.array_equal(each, results[0]) for each in results)
    size = server.prepare_bootstrap(64)
    assert size == server.prepare_bootstrap(64) == kit.server.prepare_bootstrap(64)
    assert 0 < server.prepare_bootstrap(4) < size
    assert counting.encoded == [4, 64]


def test_encoding_reports_and_stops(kit: CkksKit) -> None:
    server = Server(kit.keys, device="cpu", threads=1)
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))
        assert not server.prepared_bootstraps  # reports may ask the server

    server.prepare_bootstrap(64, progress=note)
    total = seen[0][1]
    assert seen == [(done, total) for done in range(total + 1)] and total > 10

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt(f"{done} of {total}")

    with pytest.raises(KeyboardInterrupt, match="3 of"):
        server.prepare_bootstrap(4, progress=stop)
    assert list(server.prepared_bootstraps) == [64]
    assert server.prepare_bootstrap(4, progress=True) == kit.server.prepare_bootstrap(4)
    with pytest.raises(TypeError, match="progress: a bool or a callable is needed, not 5"):
        server.prepare_bootstrap(1, progress=5)  # type: ignore[arg-type]


# ---- keys


def test_keys_hold_what_was_asked_for(kit: CkksKit) -> None:
    assert kit.keys.bootstrap[-1] == 1024 and {*SLOTS} <= {*kit.keys.bootstrap}
    assert kit.keys.relinearise == 3 and kit.keys.conjugate
    assert "64, 1024 slots" in repr(kit.keys)
    for arguments in ({"bootstrap": [64]}, {"bootstrap": SLOTS, "rotations": [7], "sums": 4}):
        keys = kit.client.evaluation_keys(**arguments)
        assert keys.nbytes == kit.parameters.key_size(**arguments)
    # The rotations over the lowest levels are not for users.
    one = kit.client.evaluation_keys(bootstrap=[64])
    server = Server(one, device="cpu")
    a = server.upload(kit.client.encrypt(np.linspace(-1, 1, 64)))
    assert one.rotations
    for distance in one.rotations:
        assert a.rotate(distance).length == 64
    assert kit.client.evaluation_keys(rotations=[1, 2]).bootstrap == ()
    # Each number of slots that keys name can be refreshed.
    for slots in one.bootstrap:
        x = server.upload(kit.client.encrypt(np.linspace(-1, 1, slots)))
        assert x.bootstrap().level == kit.parameters.depth


def test_missing_keys_are_named(kit: CkksKit) -> None:
    bare = Server(kit.client.evaluation_keys(rotations=[1]), device="cpu")
    other = Server(kit.client.evaluation_keys(bootstrap=[4]), device="cpu")
    assert other.upload(kit.client.encrypt([0.5] * 3)).bootstrap().length == 3
    for server in (bare, other):
        x = server.upload(kit.client.encrypt([0.5] * 60))
        with pytest.raises(
            whorl.MissingKeyError,
            match=r"^a bootstrap needs keys .*client\.evaluation_keys\(bootstrap=\[64\]\)$",
        ):
            x.bootstrap()


# ---- refusals


def test_bounds(kit: CkksKit) -> None:
    x = kit.server.upload(kit.client.encrypt([0.5, 0.25], bound=1.5))
    message = r"values of up to 1\.5 are above 1; multiply by a smaller number"
    with pytest.raises(whorl.EncodingError, match=message):
        x.bootstrap()
    with pytest.raises(whorl.EncodingError, match="values of up to 2 are above 1"):
        (x.with_bound(1) * 2).bootstrap()
    check_refreshed(kit, x.with_bound(1), [0.5, 0.25])


def test_levels_and_packings(kit: CkksKit) -> None:
    x = kit.server.upload(kit.client.encrypt([0.5, 0.25]))
    with pytest.raises(whorl.NoiseError, match="level 2 is below level 3"):
        x.lower(2).bootstrap()
    for length in (4, 2000):
        flat = kit.client.encrypt(np.full(length, 1 / 2000), packing="coefficients")
        with pytest.raises(whorl.EncodingError, match="the values are coefficients"):
            kit.server.bootstrap(flat)


def test_numbers_of_slots(kit: CkksKit) -> None:
    client: Any = kit.client
    for ask in (
        lambda slots: client.evaluation_keys(bootstrap=[4, slots]),
        lambda slots: client.parameters.key_size(bootstrap=[slots]),
        lambda slots: kit.server.prepare_bootstrap(slots),
    ):
        for slots in (3, 2048, 2**63):
            with pytest.raises(whorl.ShapeError, match=rf"slots = {slots} is not a power of two"):
                ask(slots)
        for wrong in (0, -4, 2.0, "4", True, 2**64):
            with pytest.raises(whorl.ParameterError, match="bootstrap: slots: "):
                ask(wrong)
    with pytest.raises(whorl.ParameterError, match="bootstrap: 64 is not a list"):
        client.evaluation_keys(bootstrap=64)


def test_other_parameters_and_keys(kit: CkksKit, toy_ckks: CkksKit) -> None:
    with pytest.raises(whorl.ParameterMismatchError):
        kit.server.bootstrap(toy_ckks.client.encrypt([0.5]))
    with pytest.raises(whorl.KeyMismatchError):
        kit.server.bootstrap(ckks.Client(kit.parameters).encrypt([0.5]))
    with pytest.raises(TypeError, match="ciphertexts"):
        kit.server.bootstrap([0.5])  # type: ignore[arg-type]
    x = toy_ckks.server.upload(toy_ckks.client.encrypt([0.5]))
    assert toy_ckks.keys.bootstrap == ()
    for work in (
        lambda: x.bootstrap(),
        lambda: toy_ckks.server.prepare_bootstrap(1),
        lambda: toy_ckks.client.evaluation_keys(bootstrap=[1]),
        lambda: toy_ckks.parameters.key_size(bootstrap=[1]),
        lambda: toy_ckks.parameters.least_bootstrap_level,
        lambda: toy_ckks.parameters.sparse_security_bits,
        lambda: toy_ckks.parameters.log2_failure,
    ):
        with pytest.raises(whorl.ParameterError, match='"toy" have no bootstrapping'):
            work()


# ---- parameters


def test_parameters() -> None:
    p = parameters(depth=2, bootstrap=True)
    assert p.bootstrap is not None and p.N == 65536 and p.security_bits >= 128
    assert p.least_bootstrap_level == p.bootstrap["slots_to_coeffs"] == 3
    assert p.depth == 2 + p.least_bootstrap_level
    shape = p.bootstrap
    above = shape["coeffs_to_slots"] + shape["doublings"] + shape["degree"].bit_length()
    assert p.top == p.depth + above == len(p.levels) - 1
    assert p.sparse_security_bits >= 128 and p.log2_failure < -64
    assert p.log2_Q() == p.log2_Q(p.depth) < p.log2_Q(p.top)
    assert p.scale() == p.scale(p.depth) != p.scale(p.top)
    with pytest.raises(whorl.ParameterError, match=f"level: {p.top + 1} is outside 0 … {p.top}"):
        p.scale(p.top + 1)
    for text in (repr(p), p._repr_html_()):
        assert "bootstrap" in text
        assert f"{p.log2_Q(p.top):.0f} + {p.log2_P:.0f} bits" in text
    assert "from level 3, slots to coefficients first<" in p._repr_html_()
    assert "bootstrapping from level 3" in p.describe()
    assert "values are 2^-13.5 of the modulus" in p.describe()
    usual = parameters(depth=2)
    assert usual.bootstrap is None and usual.top == usual.depth and usual != p
    with pytest.raises(whorl.ParameterError, match="bootstrap: 1 is not a bool"):
        parameters(bootstrap=1)  # type: ignore[arg-type]
    with pytest.raises(whorl.ParameterError, match=r"no parameters for depth 2 .* N = 32768"):
        parameters(depth=2, N=32768, bootstrap=True)


def test_large_scales_leave_a_smaller_ratio() -> None:
    """The sine's last scale must stay below 2^61."""
    ratios = []
    for scale_bits in (47, 48, 50):
        p = parameters(depth=13, scale_bits=scale_bits, bootstrap=True)
        assert p.bootstrap is not None
        ratios.append(p.bootstrap["log2_ratio"])
        assert f"values are 2^-{ratios[-1]:g} of the modulus" in p.describe()
        assert p.scale(p.depth + 1) < 2**61
    assert ratios[0] == 13.5 and min(ratios) >= 6
    assert ratios[1] < 13  # what there would be room for if no scale grew on the way up
    small = parameters(literal={**p.literal(), "N": 2048}, allow_insecure=True)
    client = ckks.Client(small)
    server = Server(client.evaluation_keys(bootstrap=[16]), device="cpu", threads=1)
    values = np.cos(np.arange(16))
    y = server.upload(client.encrypt(values)).lower(small.least_bootstrap_level).bootstrap()
    assert np.abs(client.decrypt(y, raw=True) - values).max() < DEVIATIONS * y.error < 2**-14


def test_literals(kit: CkksKit) -> None:
    p = kit.parameters
    literal = p.literal()
    assert parameters(literal=literal, allow_insecure=True) == p == pickled(p)
    assert pickled(p).literal() == literal
    chosen = {"log2_ratio": 13.5}  # the other fields are the defaults
    again: Any = {**literal, "bootstrap": chosen}
    assert parameters(literal=again, allow_insecure=True).literal() == literal
    sparser = {**again, "bootstrap": {**chosen, "weight": 48}}
    other = parameters(literal=sparser, allow_insecure=True)
    assert other != p and other.bootstrap == {**(p.bootstrap or {}), "weight": 48}
    assert other.log2_failure > p.log2_failure
    taylor = {**again, "bootstrap": {**chosen, "series": 1}}
    assert parameters(literal=taylor, allow_insecure=True) != p
    users = {**again, "bootstrap": None, "levels": p.levels[: p.depth + 1]}
    bare = parameters(literal=users, allow_insecure=True)
    assert bare != p and bare.bootstrap is None and bare.depth == bare.top == p.depth
    for wrong, match in (
        ({"weight": 7}, r"bootstrap\.weight = 7 is outside 8 … 192"),
        ({"weight": 32.0}, r"bootstrap\.weight: 32\.0 is not an integer"),
        ({"range": -1}, r"bootstrap\.range: -1 is outside"),
        ({"degree": 200}, r"bootstrap\.degree = 200"),
        ({"log2_ratio": 30}, r"bootstrap\.log2_ratio = 30"),
        ({"series": 2}, r"bootstrap\.series = 2 is outside 0 … 1"),
        ({"log2_ratio": "a"}, r"bootstrap\.log2_ratio: 'a' is not a number"),
        ({"Weight": 32}, r"bootstrap\.Weight: no field has this name; the fields are weight, "),
        (
            {"coeffs_to_slots": 6, "slots_to_coeffs": 6, "doublings": 6},
            "levels; bootstrapping needs",
        ),
        (3, "bootstrap: 3 is neither a mapping nor None"),
    ):
        with pytest.raises(whorl.ParameterError, match=match):
            parameters(literal={**again, "bootstrap": wrong}, allow_insecure=True)
    with pytest.raises(whorl.ParameterError, match="bootstrap = True is given beside a literal"):
        parameters(bootstrap=True, literal=literal)


def test_named_sets() -> None:
    names = ckks.parameter_sets()
    own = [name for name in names if name.startswith("W128")]
    assert own and names[: len(own)] == own
    for name in names:
        p = parameters(name, allow_insecure=True)
        assert p.name == name and Parameters.from_bytes(p.to_bytes(), True) == p
        if p.security_bits < 128:
            assert name not in own
            with pytest.raises(whorl.ParameterError, match="allow_insecure"):
                parameters(name)
    p = parameters("W128_L13_B20")
    assert p.depth - p.least_bootstrap_level == 13 and p.security_bits >= 128
    with pytest.raises(whorl.ParameterError, match=r'no parameter set "W1"; .*"W128_L13_B20"'):
        parameters("W1")
    with pytest.raises(whorl.ParameterError, match="dnum = 5 is given beside a named set"):
        parameters(own[0], dnum=5)
    with pytest.raises(whorl.ParameterError, match="bootstrap = True is given beside a named set"):
        parameters(own[0], bootstrap=True)
    with pytest.raises(whorl.ParameterError, match="literal"):
        parameters(own[0], literal=p.literal())


# ---- slots to coefficients last, and arcsines


@pytest.mark.parametrize("arcsine", [0, 7])
def test_coefficients_last(generator: np.random.Generator, arcsine: int) -> None:
    kit = make_kit(SLOTS, scale_bits=45, coefficients_last=True, arcsine=arcsine)
    p = kit.parameters
    assert p.least_bootstrap_level == 0 and p.depth == 2 and p.bootstrap is not None
    assert (p.bootstrap["coefficients_last"], p.bootstrap["arcsine"]) == (1, arcsine)
    assert "from level 0, slots to coefficients last" in p._repr_html_()
    assert ("arcsine of degree 7" in p._repr_html_()) == (arcsine == 7)
    assert p.top == p.depth + p.bootstrap["slots_to_coeffs"] + 8 + arcsine.bit_length() + 4
    assert parameters(literal=p.literal(), allow_insecure=True) == p == pickled(p)
    assert "1024 slots" in repr(kit.keys) and kit.keys.bootstrap[-1] == 1024
    least = 26 if arcsine else 19
    for values in (np.ones(4), random_complex(generator, 1024), generator.uniform(-1, 1, 5)):
        for level in (0, 2):
            x = kit.server.upload(kit.client.encrypt(values)).lower(level)
            y = x.bootstrap()
            assert y.level == p.depth and y.packing == x.packing
            check(kit, y, values)
            bits = ckks.precision(kit.client.decrypt(y, raw=True), values).absolute.min
            assert bits > least, (len(values), level)


def test_shapes_are_checked(kit: CkksKit) -> None:
    for field, value in (("coefficients_last", True), ("arcsine", 7)):
        said = f"{field} = {value} is given without bootstrap=True; only bootstraps have it"
        with pytest.raises(whorl.ParameterError, match=said):
            parameters(2, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(whorl.ParameterError, match="arcsine: 16 is outside 0 … 15"):
        parameters(2, bootstrap=True, arcsine=16)
    for degree in (1, 4):
        said = f"arcsine: {degree} is neither 0 nor an odd degree of 3 … 15"
        with pytest.raises(whorl.ParameterError, match=said):
            parameters(2, bootstrap=True, arcsine=degree)
    with pytest.raises(whorl.ParameterError, match="coefficients_last: 1 is not a bool"):
        parameters(2, bootstrap=True, coefficients_last=1)  # type: ignore[arg-type]
    # The scale of level 0 is too close to its modulus.
    shape: Any = {**(kit.parameters.bootstrap or {}), "coefficients_last": 1}
    with pytest.raises(whorl.ParameterError, match="above the bits of level 0's modulus"):
        literal: Any = {**kit.parameters.literal(), "bootstrap": shape}
        parameters(literal=literal, allow_insecure=True)


def test_weights_of_the_encapsulated_secret() -> None:
    literal: Any = parameters(4, bootstrap=True).literal()
    shape = {**literal["bootstrap"], "weight": 192, "range": 40, "degree": 63, "coeffs_to_slots": 3}
    p = parameters(literal={**literal, "bootstrap": shape})
    assert p.sparse_security_bits >= 128 and -80 < p.log2_failure < -60
    with pytest.raises(whorl.ParameterError, match="only 32, which bounds larger ones"):
        parameters(literal={**literal, "bootstrap": {**shape, "weight": 24}})


# ---- what a server keeps


def test_kept_maps_can_be_seen_and_dropped(kit: CkksKit) -> None:
    server = Server(kit.keys, device="cpu", threads=1)
    assert server.prepared_bootstraps == {} and server.drop_bootstrap() == 0
    sizes = {slots: server.prepare_bootstrap(slots) for slots in (64, 4)}
    assert server.prepared_bootstraps == dict(sorted(sizes.items())) and min(sizes.values()) > 0
    assert list(server.prepared_bootstraps) == [4, 64]
    assert server.drop_bootstrap(1024) == 0
    assert server.drop_bootstrap(64) == sizes[64]
    assert server.prepared_bootstraps == {4: sizes[4]}
    # What was dropped comes back when it is used, and gives the same bits.
    values = np.linspace(-1, 1, 64)
    low = server.upload(kit.client.encrypt(values)).lower(kit.parameters.least_bootstrap_level)
    first = low.bootstrap().to_host()
    assert server.prepared_bootstraps == dict(sorted(sizes.items()))
    assert server.drop_bootstrap() == sum(sizes.values())
    assert server.prepared_bootstraps == {}
    assert np.array_equal(low.bootstrap().to_host().data, first.data)
    for wrong in (0, -1, 2.5):
        with pytest.raises((whorl.ParameterError, TypeError)):
            server.drop_bootstrap(wrong)  # type: ignore[arg-type]


def test_maps_are_dropped_while_others_bootstrap(kit: CkksKit) -> None:
    server = Server(kit.keys, device="cpu", threads=1)
    values = np.linspace(-1, 1, 4)
    low = server.upload(kit.client.encrypt(values)).lower(kit.parameters.least_bootstrap_level)
    wanted = low.bootstrap().to_host().data
    failures: list[bool] = []

    def refresh() -> None:
        for _ in range(4):
            failures.append(not np.array_equal(low.bootstrap().to_host().data, wanted))

    thread = threading.Thread(target=refresh)
    thread.start()
    while thread.is_alive():
        server.drop_bootstrap()
    thread.join()
    assert failures == [False] * 4


# ---- files


def test_files(kit: CkksKit, tmp_path: Path, generator: np.random.Generator) -> None:
    path = tmp_path / "parameters.whorl"
    kit.parameters.save(path)
    chosen = Parameters.load(path, True)
    assert chosen == kit.parameters and chosen.literal() == kit.parameters.literal()
    keys = kit.client.evaluation_keys(5, [9], bootstrap=[4])
    path = tmp_path / "keys.whorl"
    keys.save(path)
    values = random_complex(generator, 2, 4)
    fresh = kit.client.encrypt(values)
    expected = Server(keys, device="cpu", threads=1).bootstrap(fresh).to_host()
    for again in (EvaluationKeys.load(path, True), pickled(keys)):
        for name in ("key_id", "nbytes", "relinearise", "rotations", "conjugate", "bootstrap"):
            assert getattr(again, name) == getattr(keys, name)
        assert again.to_bytes() == keys.to_bytes()
        result = Server(again, device="cpu", threads=2).bootstrap(fresh).to_host()
        assert np.array_equal(result.data, expected.data)
    refreshed = pickled(expected)
    assert (refreshed.level, refreshed.error) == (kit.parameters.depth, expected.error)
    errors = np.abs(kit.client.decrypt(refreshed, raw=True) - values)
    assert errors.max() < DEVIATIONS * expected.error
    others = [tmp_path / "parameters.whorl"]
    check_bad_files(lambda file: EvaluationKeys.load(file, True), path, others, tmp_path)


def test_more_iterations_give_more_bits(kit: CkksKit, generator: np.random.Generator) -> None:
    values = generator.uniform(-1, 1, (2, 64))
    x = kit.server.upload(kit.client.encrypt(values))
    y = x.bootstrap(iterations=2)
    assert y.level == kit.parameters.depth - 1 and y.error < x.bootstrap().error
    check(kit, y, values)
    for wrong in (0, 5, 1.5):
        with pytest.raises(whorl.ParameterError, match="iterations: "):
            x.bootstrap(wrong)  # type: ignore[arg-type]


def test_ctrl_c_stops_within_one_bootstrap() -> None:
    """Not only behind the call: of 300 ciphertexts it would take 75 times as long as of 4."""
    code = (
        "import os, signal, sys, threading, time\n"
        "sys.path[:0] = sys.argv[1:]\n"
        "import numpy as np\n"
        "from test_bootstrap import make_kit\n"
        "kit = make_kit([1024])\n"
        "one = kit.server.upload(kit.client.encrypt(np.zeros((1, 1024))))\n"
        "one.bootstrap()\n"
        "start = time.monotonic()\n"
        "one[np.zeros(4, int)].bootstrap()\n"
        "whole = 75 * (time.monotonic() - start)\n"
        "many = one[np.zeros(300, int)]\n"
        "def send():\n"
        "    time.sleep(0.2)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=send).start()\n"
        "start = time.monotonic()\n"
        "try:\n"
        "    many.bootstrap()\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', time.monotonic() - start < whole / 4)\n"
        "again = kit.client.decrypt(one.bootstrap(), raw=True)\n"
        "print(abs(again).max() < 2**-18)\n"
    )
    folder = ROOT / "tests" / "python"
    done = run_python(code, str(folder), str(folder / "ckks"))
    assert done.stdout == "stopped True\nTrue\n", done.stderr
