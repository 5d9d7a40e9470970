"""Parameters: named sets, and literals of one's own."""

import pytest
import whorl
from support import TOY, Kit
from whorl._core.text import at_least_bits
from whorl.binfhe import parameter_sets, parameters


def test_every_named_set_exists_and_says_what_it_is() -> None:
    assert parameter_sets()[0].startswith("W128")
    for name in parameter_sets():
        chosen = parameters(name, allow_insecure=True)
        assert chosen.name == name
        assert f"{at_least_bits(chosen.security.bits)} bits" in repr(chosen)
        assert "failure 2^-" in repr(chosen)
        assert parameters(chosen.literal(), allow_insecure=True) == chosen
        assert chosen.noise().refreshed > 0
        assert chosen.key_bytes > 1e5
        # Of GINX: those of each digit of both components, and back.
        transforms = sum(count * (2 * digits + 2) for count, _, digits in chosen.gadget)
        kind = chosen.rotation[0]
        if kind == "ginx":
            assert chosen.rotation_transforms == transforms
        else:
            assert kind in ("ap", "automorphism", "block", "unrolled", "unrolled_all")
            if kind in ("block", "unrolled", "unrolled_all"):  # one product for each group
                groups = sum(
                    -(-count // chosen.rotation[1]) * (2 * digits + 2)
                    for count, _, digits in chosen.gadget
                )
                assert chosen.rotation_transforms == groups
            else:
                assert chosen.rotation_transforms > 1.25 * transforms
        if chosen.security.bits < 128:
            with pytest.raises(whorl.ParameterError):
                parameters(name)
        else:
            assert parameters(name) == chosen


def test_parameters_are_immutable_values(kit: Kit) -> None:
    with pytest.raises(AttributeError):
        kit.parameters.n = 3
    with pytest.raises(AttributeError):
        kit.parameters.anything = 3  # type: ignore[attr-defined]
    kit.parameters.literal()["n"] = 3
    assert kit.parameters.n == TOY["n"]
    same = parameters(TOY, allow_insecure=True)
    assert same == kit.parameters and hash(same) == hash(kit.parameters)
    assert same.digest == kit.parameters.digest and len(same.digest) == 32
    assert parameters({**TOY, "q": 1024}, allow_insecure=True) != kit.parameters


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"n": 15}, "n"),
        ({"n": -1}, "n"),
        ({"n": 2**40}, "n"),
        ({"n": 32.0}, "n"),
        ({"N": 1000}, "N"),
        ({"Q": 134215683}, "Q"),
        ({"q": 1000}, "q"),
        ({"Q_ks": 8}, "Q_ks"),
        ({"gadget": [(31, 7, 4)]}, "gadget"),
        ({"gadget": [7, 4]}, "gadget"),
        ({"lwe_secret": "trinary"}, "lwe_secret"),
        ({"transform": "dft"}, "transform"),
        ({"sigma_lwe": -1.0}, "sigma_lwe"),
        ({"sigma_lwe": "3"}, "sigma_lwe"),
        ({"padding": 1}, "padding"),
        ({"colour": 1}, "colour"),
        ({"name": "x" * 65}, "name"),
    ],
)
def test_a_bad_literal_names_the_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
        parameters({**TOY, **changes}, allow_insecure=True)


def test_a_literal_needs_its_fields() -> None:
    for field in ("n", "q", "N", "Q", "Q_ks", "gadget"):
        with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
            parameters({key: TOY[key] for key in TOY if key != field}, allow_insecure=True)
    with pytest.raises(TypeError):
        parameters(3)  # type: ignore[arg-type]
    with pytest.raises(whorl.ParameterError, match="W128_P64"):
        parameters("W128_P46")
    with pytest.raises(whorl.ParameterError):
        parameters(TOY)


def test_a_literal_names_the_method_of_rotation() -> None:
    binary = {**TOY, "lwe_secret": "binary"}
    ginx = parameters(binary, allow_insecure=True)
    assert ginx.rotation == ("ginx", 1, 1)
    blocks = {**TOY, "lwe_secret": "block_binary"}
    for kind, group in (
        ("unrolled", 2),
        ("unrolled_all", 2),
        ("ap", 32),
        ("automorphism", 10),
        ("block", 4),
    ):
        literal = blocks if kind == "block" else binary
        chosen = parameters({**literal, "rotation": (kind, group)}, allow_insecure=True)
        assert chosen.rotation == (kind, group, 1)
        assert chosen.literal()["rotation"] == (kind, group, 1)
        assert chosen != ginx
        assert parameters(chosen.literal(), allow_insecure=True) == chosen
        assert f"{kind} {group}" in chosen._repr_html_()
    for wrong in ("ginx", ("ginx",), ("spiral", 1), ("unrolled", "two"), ("unrolled", 9), 3):
        with pytest.raises(whorl.ParameterError, match=r"rotation|spiral"):
            parameters({**binary, "rotation": wrong}, allow_insecure=True)
    for secret, wrong in (("binary", ("block", 4)), ("block_binary", ("ginx", 1))):
        with pytest.raises(whorl.ParameterError, match="block-binary"):
            parameters({**TOY, "lwe_secret": secret, "rotation": wrong}, allow_insecure=True)
    with pytest.raises(whorl.ParameterError, match="multiple of the length of blocks, 3"):
        parameters({**blocks, "rotation": ("block", 3)}, allow_insecure=True)


def test_block_binary_keys_are_not_estimated() -> None:
    named = parameters("BLOCK4_P64", allow_insecure=True)
    assert named.security.lwe_bits == 0 and named.security.ring_bits > 128
    assert named.rotation == ("block", 4, 1) and named.lwe_secret == "block_binary"
    with pytest.raises(whorl.ParameterError, match=r"no block-binary secret was measured.*guess"):
        parameters("BLOCK4_P64")
    loaded = whorl.binfhe.Parameters.from_bytes(named.to_bytes(), allow_insecure=True)
    assert loaded == named and loaded.literal() == named.literal()


@pytest.mark.parametrize(
    "rotation",
    [("unrolled", 3), ("unrolled_all", 2), ("ap", 32), ("automorphism", 10), ("block", 4)],
)
def test_gates_by_every_method(rotation: tuple[str, int]) -> None:
    secret = "block_binary" if rotation[0] == "block" else "binary"
    chosen = parameters({**TOY, "lwe_secret": secret, "rotation": rotation}, allow_insecure=True)
    client = whorl.binfhe.Client(chosen)
    server = whorl.binfhe.Server(client.evaluation_keys(), device="cpu", allow_failure=1)
    a, b = client.encrypt([0, 0, 1, 1]), client.encrypt([0, 1, 0, 1])
    assert client.decrypt(server.nand(a, b)).tolist() == [1, 1, 1, 0]
    assert client.decrypt(server.xor(a, b)).tolist() == [0, 1, 1, 0]
