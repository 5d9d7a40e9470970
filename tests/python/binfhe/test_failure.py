"""What fails too often is refused, and accepted knowingly."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import whorl
from support import Kit, make_kit, pickled
from whorl.binfhe import Ciphertexts, EncryptedArray, Lut, Server


@pytest.fixture(scope="module")
def noisy() -> Kit:
    """Few operations but gates of two inputs fail with less than 2^-40: q is 2^8."""
    return make_kit(n=16, gadget=[(16, 7, 4)], q=256, Q_ks=2**14)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, float("nan")])
def test_probabilities(kit: Kit, wrong: float) -> None:
    for work in (
        lambda: Server(kit.keys, device="cpu", allow_failure=wrong),
        lambda: kit.client.encrypt([1], allow_failure=wrong),
    ):
        with pytest.raises(whorl.ParameterError, match="allow_failure"):
            work()
    with pytest.raises(TypeError, match="probability"):
        Server(kit.keys, device="cpu", allow_failure="often")  # type: ignore[arg-type]


def test_every_operation_is_checked(noisy: Kit) -> None:
    client, server = noisy.client, noisy.server
    lenient = Server(noisy.keys, device="cpu", allow_failure=1)

    def on(server: Server) -> list[Callable[[], object]]:
        bits = client.encrypt([0, 1], p=16, allow_failure=1)
        padded = client.encrypt([0, 1], p=8, padding=True, allow_failure=1)
        table = Lut(noisy.parameters, np.arange(8)[::-1], padding=True)
        return [
            lambda: server.and_(bits, bits),
            lambda: server.mux(bits, bits, bits),
            lambda: server.bootstrap(bits),
            lambda: server.apply(table, padded),
            lambda: server.gate("and", *[client.encrypt([0, 1])] * 2, p_out=32),
            lambda: server.linear([9], [server.bootstrap(client.encrypt([0, 1], p=2))]),
        ]

    for work in on(server):
        with pytest.raises(whorl.NoiseError, match="allow_failure"):
            work()
    assert lenient.allow_failure == 1
    for work in on(lenient):
        work()


def loaded(array: EncryptedArray, path: Path | None = None) -> Ciphertexts:
    """What comes of a file, or of a pickle."""
    host = array.to_host()
    if path is None:
        return pickled(host)
    host.save(path)
    return Ciphertexts.load(path, allow_insecure=True)


def test_files_and_pickles_keep_the_noise_of_sums(noisy: Kit, tmp_path: Path) -> None:
    """Adding, saving and loading again and again ends in a refusal, not in wrong answers."""
    server, lenient = noisy.server, Server(noisy.keys, device="cpu", allow_failure=1)
    a = server.bootstrap(noisy.client.encrypt([1, 0], p=2))
    for path in (tmp_path / "sum.whorl", None):
        total = loaded(server.linear([3], [a]), path)
        assert total._core.noise == 9
        assert loaded(server.upload(total)[1], path)._core.noise == 9
        with pytest.raises(whorl.NoiseError, match="decryption of this weighted sum"):
            for _ in range(10):
                total = loaded(server.add(total, total), path)
        loud = loaded(lenient.linear([9], [lenient.upload(loaded(a, path))]), path)
        with pytest.raises(whorl.NoiseError, match="bootstrap with p = 2"):
            server.bootstrap(loud)
    assert loaded(a)._core.noise == 1
    fresh = noisy.client.encrypt([1, 0], p=2)
    assert loaded(server.upload(fresh))._core.noise == fresh._core.noise


def test_the_same_ciphertexts_count_as_the_same(kit: Kit, tmp_path: Path) -> None:
    """By whatever way they come into one call."""
    server, client = kit.server, kit.client
    host = client.encrypt([0, 1, 1, 0])
    one = host._core.noise
    x, y = server.upload(host), client.encrypt([1, 0, 1, 0])

    def noise(*arrays: Ciphertexts | EncryptedArray) -> float:
        return server.linear([1] * len(arrays), arrays)._core.noise / one

    assert noise(x, y) == pytest.approx(2)
    assert noise(x, x) == noise(host, host) == noise(x, host) == pytest.approx(4)
    assert noise(x, x, x, x) == pytest.approx(16)
    assert noise(x[0], x[1]) == noise(x, x[::-1]) == pytest.approx(2)
    assert noise(x[0], x[0]) == noise(x[1:3], x[1:3]) == noise(x[:1], x) == pytest.approx(4)
    assert noise(x, whorl.binfhe.concatenate([host[:2], host[2:]])) == pytest.approx(4)
    assert noise(x, loaded(x)) == noise(x, loaded(x, tmp_path / "x.whorl")) == pytest.approx(4)
    assert noise(server.add(x, y), server.add(x, y[::-1])) == pytest.approx(6)


def test_a_number_meets_itself(noisy: Kit) -> None:
    """As in the recipes: errors add up in g + g, and cancel in g + (1 - g)."""

    def failure(squares: float) -> float:
        return noisy.parameters.gate_failure_log2(squares, 4, noisy.server.transform)

    server = Server(noisy.keys, device="cpu", allow_failure=2 ** ((failure(3.5) + failure(5)) / 2))
    a, b = noisy.client.encrypt([0, 1]), noisy.client.encrypt([1, 1])
    g, carry = server.nand(a, b), server.nor(a, b)
    assert noisy.client.decrypt(server.majority(g[0], ~g[0], carry[0])) == 0
    with pytest.raises(whorl.NoiseError, match="The set W128_P64 would serve"):
        server.majority(g[0], g[0], carry[0])
    assert noisy.client.decrypt(server.majority(g[0], server.bootstrap(g)[0], carry[0])) == 1


def test_tables_of_sums_that_may_have_set_the_padding_bit(kit: Kit, tmp_path: Path) -> None:
    server, client = kit.server, kit.client
    x, y = (client.encrypt(each, p=8, padding=True) for each in ([1, 7], [2, 6]))
    same = Lut(kit.parameters, range(8), padding=True)
    total = server.add(x, y, modular=True)
    assert (x.largest, total.largest) == (7, 15)
    for wrapped in (total, total[0], total.reshape(1, 2), server.sub(x, y, modular=True)):
        with pytest.raises(whorl.EncodingError, match=r"take a larger p, .* largest=…"):
            server.apply(same, wrapped)
    # It is a part of files and pickles.
    for each in (loaded(total, tmp_path / "total.whorl"), loaded(total)):
        assert each.largest == 15
        with pytest.raises(whorl.EncodingError, match="as large as 15"):
            server.apply(same, each)
    # Who knows the sum says so.
    low = client.encrypt([3, 0], p=8, padding=True)
    small = server.add(low, low, largest=6)
    assert small.largest == 6
    assert client.decrypt(server.apply(same, small)).tolist() == [6, 0]
    with pytest.raises(whorl.EncodingError, match="largest = 8 is not below p = 8"):
        server.add(low, low, largest=8)
    with pytest.raises(TypeError, match="largest: an integer is needed"):
        server.sub(low, low, largest=1.5)  # type: ignore[arg-type]


def test_encryption(noisy: Kit) -> None:
    with pytest.raises(whorl.NoiseError, match="a fresh ciphertext with p = 16"):
        noisy.client.encrypt([1], p=16)
    assert noisy.client.encrypt([1], p=16, allow_failure=0.5).p == 16


def test_approximate_tables(kit: Kit, tmp_path: Path) -> None:
    """The flag is a part of the table: in files, pickles, comparisons."""
    values = [0, 3, 3, 0, 7, 7, 0, 1]
    exact, rough = (Lut(kit.parameters, values, padding=True, exact=each) for each in (True, False))
    assert exact.exact and not rough.exact and exact != rough
    assert f"within {rough.error_bound}" in repr(rough)
    rough.save(tmp_path / "t.whorl")
    for again in (Lut.load(tmp_path / "t.whorl", allow_insecure=True), pickled(rough)):
        assert again == rough


def test_approximate_tables_are_refused_where_their_bound_does_not_hold(noisy: Kit) -> None:
    p, server = 16, noisy.server
    smooth = np.minimum(np.arange(p), p - 1 - np.arange(p))
    rough = Lut(noisy.parameters, smooth, padding=True, padding_out=False, exact=False)
    fresh = noisy.client.encrypt([3], p, padding=True, allow_failure=1)
    bound = server.error_bound(rough, fresh)
    assert bound == rough.error_bound > 0
    with pytest.raises(whorl.NoiseError, match=f"off by up to {bound} .* within={bound} accepts"):
        server.apply([[rough]], fresh, bound - 1)
    server.apply(rough, fresh, within=bound)
    server.upload(fresh).apply(rough, within=bound)
    for wrong, error in ((-1, whorl.EncodingError), (1.5, TypeError)):
        with pytest.raises(error, match="within"):
            server.apply(rough, fresh, within=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a table is needed"):
        server.error_bound(smooth, fresh)  # type: ignore[arg-type]
    with pytest.raises(whorl.EncodingError):
        server.error_bound(rough, noisy.client.encrypt([1]))
