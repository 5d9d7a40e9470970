"""Enforce the direction of dependencies: no file may use a layer above its own.

math -> ring -> backend -> run -> lattice -> schemes -> circuits -> bridges -> networks -> io ->
python, and below all of them the public headers that belong to no layer (errors, plain buffers).
Beyond the order:

- public headers include public or system headers only and name no device;
- the folders of src/lattice do not use one another, nor do those of src/schemes, of src/circuits
  and of src/io, but that all may use src/schemes/ring and src/circuits/common;
- what is outside src/backend uses its contract, never a device's folder;
- only a scheme's account (account*, and origin.* of binfhe) writes facts about ciphertexts: the
  other files of a scheme, and circuits, hold them as constants and assign to none of their fields;
- the extension module for servers includes no header of a client's and none for secret keys;
- the Python package imports neither applications (which the command runs as processes, also where
  the build has put them into the package) nor tests nor tools, and nothing imports its CLI;
- no module of it, and no package in it, imports itself by way of others, also in functions and for
  type checkers only;
- no file has more than 600 lines.

usage: check_includes.py [ROOT]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LAYERS = (
    "base", "math", "ring", "backend", "run", "lattice", "schemes", "circuits", "bridges",
    "networks", "io", "python",
)  # fmt: skip
RANK = {layer: rank for rank, layer in enumerate(LAYERS)}
SCHEMES = ("binfhe", "bgv", "ckks")

SOURCE_SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# CUDA's own types and macros, and Whorl's backend namespace.
DEVICE_NAME = re.compile(r"\bcuda[A-Z]\w*|\bCU(?:stream|device|context)\b|__(?:device|global)__"
                         r"|\bbackend::|\bnamespace\s+(?:whorl::)?backend\b")  # fmt: skip
# A device's own file: any folder of src/backend but the contract.
DEVICE_FILE = re.compile(r"backend/(?!contract/)\w+/")
# Facts about ciphertexts that could be written to, or are stated, in circuits.
WRITABLE_FACTS = re.compile(r"(?<!const )\b(?:CiphertextInfo|Account::Info|Origin|Outcome)\b"
                            r"|(?<!const )\bauto&? \w+ = [^;]*\binfo\(\);"
                            r"|(?<![=!]= )\bRest::\w+")  # fmt: skip
# The same in the other files of a scheme: variables, and assignments to fields.
WRITTEN_FACTS = re.compile(r"(?<!const )\b(?:CiphertextInfo|Info|Origin)&? \w+ ?[=;{]"
                           r"|\b(?:info_?|out)(?:\.|->)(?:packing|count|parts|limbs|level|factor"
                           r"|scale|noise|error|bound|low|high|length|vector|rest|sum|largest"
                           r"|as_bits|range|origin) ?(?:[-+*/|]?=|\+\+|--)(?!=)")  # fmt: skip
# What writes them: a scheme's account.
ACCOUNT_FILE = re.compile(r"src/schemes/\w+/(?:account\w*|origin)\.(?:h|cpp)")
# What has secret keys, and what must not: python/src/server, and python/src/common beneath it.
SECRET_HEADER = re.compile(r"(?:\.\./)*(?:client/.*|whorl/(?:\w+/client|io_secret|secret_key)\.h)$")
SERVER_FOLDERS = (("python", "src", "server"), ("python", "src", "common"))
# Layers whose folders are apart, each with the folders that all of them may use.
APART = {"lattice": (), "schemes": ("ring",), "circuits": ("common",), "io": ()}
MOST_LINES = 600
# Folders whose code the package may not import.
OUTSIDE_PACKAGE = ("apps", "tests", "tools", "bench")


def layer_of_public_header(inside: Path) -> str:
    """Layer of include/whorl/`inside`; a header named after no layer or scheme is below all."""
    name = inside.parts[0].removesuffix(".h").partition("_")[0]
    if name in SCHEMES:
        return "schemes"
    return name if name in RANK else "base"


def layer_of_include(text: str) -> str | None:
    """Layer that an include names, or None if it is not one of Whorl's."""
    path = Path(text)
    if path.parts[0] == "whorl" and len(path.parts) > 1:
        return layer_of_public_header(Path(*path.parts[1:]))
    return path.parts[0] if path.parts[0] in RANK and len(path.parts) > 1 else None


def cpp_files(root: Path) -> Iterator[tuple[Path, str]]:
    """C++ files of the library with their layers."""
    for folder, public in ((root / "include" / "whorl", True), (root / "src", False)):
        for path in sorted(folder.rglob("*")):
            if path.suffix in SOURCE_SUFFIXES:
                inside = path.relative_to(folder)
                yield path, layer_of_public_header(inside) if public else inside.parts[0]
    for path in sorted((root / "python" / "src").rglob("*")):
        if path.suffix in SOURCE_SUFFIXES:
            yield path, "python"


def neighbour_of(where: Path, included: str) -> bool:
    """Whether a file of a layer whose folders are apart includes another folder's."""
    if where.parts[0] != "src" or where.parts[1] not in APART or len(where.parts) < 4:
        return False
    layer, own, used = where.parts[1], where.parts[2], Path(included).parts
    if used[0] == "whorl" and len(used) > 2 and used[1] == "circuits":
        return layer == "circuits" and used[2] != own
    if used[0] == "whorl" and len(used) > 1:
        scheme = used[1].removesuffix(".h")
        return layer in ("schemes", "circuits") and scheme in SCHEMES and scheme != own
    return len(used) > 2 and used[0] == layer and used[1] not in (own, *APART[layer])


def check_cpp(root: Path) -> Iterator[str]:
    """One line a wrong include or name in C++ code."""
    for path, layer in cpp_files(root):
        where = path.relative_to(root)
        public = where.parts[0] == "include"
        if layer not in RANK:
            yield f"{where}: src/{layer} is no layer; layers are {', '.join(LAYERS[1:-1])}"
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            quote, included = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            target = layer_of_include(included)
            if target is not None and RANK[target] > RANK[layer]:
                yield f"{where}:{line}: {layer} includes {included}, which is {target}: a step back"
            if neighbour_of(where, included):
                yield f"{where}:{line}: includes {included}, of a neighbour"
            if DEVICE_FILE.match(included) and layer != "backend":
                yield f"{where}:{line}: {layer} includes {included}, a device's own file"
            if where.parts[:3] in SERVER_FOLDERS and SECRET_HEADER.match(included):
                yield f"{where}:{line}: a server's module includes {included}, a client's"
            if public and (
                included.startswith(("cuda", "hwy/")) or (quote == '"' and included[:6] != "whorl/")
            ):
                yield f"{where}:{line}: a public header includes {included}"
        writes = {"circuits": WRITABLE_FACTS, "schemes": WRITTEN_FACTS}.get(layer)
        if writes and not public and not ACCOUNT_FILE.match(where.as_posix()):
            for match in writes.finditer(code := COMMENT.sub("", text)):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{where}:{line}: {match.group()}: only an account writes these facts"
        if public and (named := DEVICE_NAME.search(COMMENT.sub("", text))):
            yield f"{where}: a public header names {named.group().strip()}"


def imported_modules(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a module of `package` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            for alias in node.names:
                yield node.lineno, ".".join([*module, alias.name])


def check_python(root: Path) -> Iterator[str]:
    """One line a wrong import in the Python package."""
    folder = root / "python"
    for path in sorted((folder / "whorl").rglob("*.py")):
        where = path.relative_to(root)
        package = list(path.relative_to(folder).parent.parts)
        of_cli = path.stem == "__main__" or "cli" in where.with_suffix("").parts
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(where))
        for line, name in imported_modules(tree, package):
            if name.split(".")[0] in OUTSIDE_PACKAGE:
                yield f"{where}:{line}: the package imports {name}"
            if f"{name}.".startswith("whorl.cli.") and not of_cli:
                yield f"{where}:{line}: imports {name}; the CLI uses the library, never the reverse"


def circles(uses: dict[str, set[str]]) -> Iterator[str]:
    """One line a name that uses itself by way of others."""
    for start in uses:
        seen: dict[str, str] = {}
        waiting = [(used, start) for used in uses[start]]
        while waiting:
            module, by = waiting.pop()
            if module in seen or module not in uses:
                continue
            seen[module] = by
            waiting += [(used, module) for used in uses[module]]
        if start in seen:
            way, at = [start], seen[start]
            while at != start:
                way.append(at)
                at = seen[at]
            yield f"python: {' <- '.join([*way, start])} is a circle of imports"


def check_circles(root: Path) -> Iterator[str]:
    """One line a module of the Python package, or a package in it, that imports itself by way of
    others."""
    folder = root / "python"
    uses: dict[str, set[str]] = {}
    for path in sorted((folder / "whorl").rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = list(path.relative_to(folder).parent.parts)
        uses[name] = {used for _, used in imported_modules(tree, package)}
    packages: dict[str, set[str]] = {}
    for module, names in uses.items():
        # A name is a module, or something in one. The build makes modules of these names.
        of_package = names - {"whorl._server", "whorl._client"}
        uses[module] = {n if n in uses else n.rpartition(".")[0] for n in of_package} - {module}
        own = package_of(module)
        packages.setdefault(own, set()).update({package_of(n) for n in uses[module]} - {own})
    yield from dict.fromkeys([*circles(uses), *circles(packages)])


def package_of(module: str) -> str:
    """What lies in `whorl` itself and has the module: a package, or the module."""
    return ".".join(module.split(".")[:2])


def check_lengths(root: Path) -> Iterator[str]:
    """One line a file that is too long to have one job."""
    for folder in ("apps", "bench", "include", "python", "src", "tests", "tools"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".inc", ".py"):
                lines = path.read_text(encoding="utf-8").count("\n")
                if lines > MOST_LINES:
                    yield f"{path.relative_to(root)}: {lines} lines; split it above {MOST_LINES}"


def check(root: Path) -> list[str]:
    """Every breach of the rules in the tree at `root`; empty if there is none."""
    return [*check_cpp(root), *check_python(root), *check_circles(root), *check_lengths(root)]


def main() -> int:
    """Print breaches; 1 if there are any, 2 if the tree holds nothing to check."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    if next(cpp_files(root), None) is None:
        print(f"{root}: no C++ files of Whorl here", file=sys.stderr)
        return 2
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
