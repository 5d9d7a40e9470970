"""The server's half has nothing that makes, loads or uses a secret key."""

import pickle
import re
import shutil
from pathlib import Path

import pytest
import whorl
import whorl._client
import whorl._server
from support import ROOT, BgvKit, CkksKit, Kit, run_python

LABEL = re.compile(r'PrivateStream \w+\("([^"]+)"\)')
OF_SECRET_FILES = (b"crypto_pwhash", b"crypto_aead_xchacha20poly1305_ietf_decrypt")
"""What the library takes from libsodium for secret keys alone."""


def compiled(name: str) -> bytes:
    path = getattr(whorl, name).__file__
    assert path is not None
    return Path(path).read_bytes()


def test_the_servers_module_links_no_client() -> None:
    """Streams of randomness have labels, which are in the file of whatever draws from them."""
    sources = [
        path
        for path in (ROOT / "src").rglob("*.cpp")
        if "schemes" not in path.parts or hasattr(whorl, path.parent.name)
    ]
    labels = {each for path in sources for each in LABEL.findall(path.read_text(encoding="utf-8"))}
    assert len(labels) >= 6
    server, client = compiled("_server"), compiled("_client")
    # Error messages may have the words of a label in them; a label ends where its string does.
    marks = {*(label.encode() + b"\0" for label in labels), *OF_SECRET_FILES}
    assert {mark for mark in marks if mark not in client} == set()
    assert {mark for mark in marks if mark in server} == set()


def test_the_server_half_has_no_client() -> None:
    done = run_python(
        "import sys, whorl.server as s\n"
        "for half in (s, s.binfhe, s.bgv, s.ckks):\n"
        "    names = {n for n in vars(half) if 'client' in n.lower() or 'secret' in n.lower()}\n"
        "    assert not names and not hasattr(half, 'Client'), names\n"
        "s.binfhe.Server, s.binfhe.EvaluationKeys, s.binfhe.parameters('W128_P64')\n"
        "s.bgv.Server, s.bgv.PublicKey, s.bgv.parameters(1)\n"
        "s.ckks.Server, s.ckks.PublicKey, s.ckks.parameters(1)\n"
        "import whorl.nn\n"  # servers load networks
        "assert not [m for m in sys.modules if m.startswith('whorl') and 'client' in m]\n"
        "print('alone')"
    )
    assert done.stdout == "alone\n", done.stderr


def test_the_server_half_works_without_the_clients_module(
    kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit, tmp_path: Path
) -> None:
    """In a copy of the package that lacks it, and the programs that use it."""
    package = Path(whorl.__file__).parent
    ignored = shutil.ignore_patterns("_client*", "client", "cli", "_apps", "__pycache__")
    shutil.copytree(package, tmp_path / "whorl", ignore=ignored)
    assert not list((tmp_path / "whorl").rglob("*client*"))
    bits, row = kit.client.encrypt([0, 1]), toy_bgv.client.encrypt([2, 3])
    numbers = toy_ckks.client.encrypt([0.5, -0.5])
    path = tmp_path / "work"
    path.write_bytes(pickle.dumps((kit.keys, bits, toy_bgv.keys, row, toy_ckks.keys, numbers)))
    code = (
        "import pickle, sys\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "import whorl\n"
        "from whorl.server import bgv, binfhe, ckks\n"
        "whorl.allow_insecure_pickles()\n"
        "gate_keys, bits, keys, row, ckks_keys, numbers = pickle.load(open(sys.argv[1], 'rb'))\n"
        "gates, vectors = (binfhe.Server(gate_keys, 'cpu'), bgv.Server(keys, 'cpu'))\n"
        "product = ckks.Server(ckks_keys, 'cpu').multiply(numbers, [0.5, 0.25])\n"
        "results = (gates.nand(bits, bits).to_host(), (vectors.upload(row) ** 2).to_host())\n"
        "results += (product.to_host(),)\n"
        "pickle.dump(results, open(sys.argv[1], 'wb'))\n"
        "try:\n"
        "    import whorl.client\n"
        "except ImportError:\n"
        "    print(whorl.__file__)"
    )
    done = run_python(code, str(path), str(tmp_path))
    assert done.stdout == f"{tmp_path / 'whorl' / '__init__.py'}\n", done.stderr
    with whorl.allow_insecure_pickles():
        nand, square, product = pickle.loads(path.read_bytes())
    assert kit.client.decrypt(nand).tolist() == [1, 0]
    assert toy_bgv.client.decrypt(square)[:2].tolist() == [4, 9]
    assert toy_ckks.client.decrypt(product, raw=True).round(6).tolist() == [0.25, -0.125]


@pytest.mark.parametrize("half", ["client", "server"])
def test_halves_have_all_schemes(half: str) -> None:
    module = getattr(whorl, half)
    main = {"client": "Client", "server": "Server"}[half]
    for scheme in ("binfhe", "bgv", "ckks"):
        part = getattr(module, scheme)
        assert getattr(part, main) is getattr(getattr(whorl, scheme), main)
        assert part.Ciphertexts is getattr(whorl, scheme).Ciphertexts


def test_resident_memory_with_std128_keys(tmp_path: Path) -> None:
    """At most 300 MiB with one STD128 evaluation key loaded in a server, in a process of its own.

    Pages of files are left out: how much of a module is mapped depends on the system.
    """
    make = (
        "import sys, whorl\n"
        "p = whorl.binfhe.parameters('openfhe_1_6/STD128', allow_insecure=True)\n"
        "whorl.binfhe.Client(p).evaluation_keys().save(sys.argv[1])"
    )
    serve = (
        "import sys, whorl.server\n"
        "server = whorl.server.binfhe.Server(sys.argv[1], device='cpu', allow_insecure=True)\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(next(int(l.split()[1]) for l in lines if l.startswith('RssAnon:')))"
    )
    path = tmp_path / "keys.whorl"
    assert run_python(make, str(path)).returncode == 0
    assert path.stat().st_size < 91.5e6  # a tenth of OpenFHE's file
    done = run_python(serve, str(path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 300 * 1024  # a second copy would be 218 MB more


def test_imports_bring_no_progress_bars() -> None:
    """The package itself imports quickly: rich and typer are the command's."""
    code = "import sys, whorl.binfhe; print([m for m in ('rich', 'typer') if m in sys.modules])"
    assert run_python(code).stdout == "[]\n"
