"""Makes libraries to link with, so that what is linked runs on systems older than this one.

usage: old_symbols.py FOLDER [--target aarch64-linux-gnu]

glibc and libstdc++ give each function a version, and keep old ones. A linker takes the newest of
this machine, which an older system lacks. The libraries that this makes have the names of the
system's and no code; of each function they have the newest version of at most those that
manylinux_2_28 allows (the C library of 2018; https://github.com/mayeut/pep600_compliance has its
versions of libstdc++). What is newer than that:

- of libstdc++, comes from libstdc++.a, as in GCC's toolsets for old systems;
- of glibc, is written in compat.c, in terms of older functions.

FOLDER/flags then has what to give to the linker, at the end of its command.
"""

import argparse
import platform
import re
import subprocess
from pathlib import Path

NEWEST = {
    "GLIBC": (2, 28),
    "GLIBCXX": (3, 4, 24),
    "CXXABI": (1, 3, 11),
}
# Libraries of glibc that are parts of its libc.so.6 since 2.34: programs for older ones name them.
PARTS = {"libpthread.so.0": "pthread", "libdl.so.2": "dl", "librt.so.1": "rt"}
LOADERS = {
    "x86_64-linux-gnu": "ld-linux-x86-64.so.2",
    "aarch64-linux-gnu": "ld-linux-aarch64.so.1",
}
VERSION = re.compile(r"([A-Z]+)_((?:\d+\.)*\d+)$")
SYMBOL = re.compile(
    r"^\s*\d+:\s+[0-9a-f]+\s+(?P<size>\w+)\s+(?P<type>FUNC|OBJECT|TLS|IFUNC)\s+"
    r"(?P<bind>GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+(?P<section>\w+)\s+(?P<name>\S+?)@@?(?P<version>\S+)$"
)


def newest_allowed(library: Path, readelf: str) -> dict[str, tuple[str, str, int]]:
    """The version, the type and the size of each name."""
    table = subprocess.run(
        [readelf, "--dyn-syms", "-W", str(library)], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, tuple[tuple[int, ...], str, str, int]] = {}
    for line in table.splitlines():
        symbol = SYMBOL.match(line)
        version = symbol and VERSION.match(symbol["version"])
        if not symbol or not version or symbol["section"] in ("UND", "ABS"):
            continue
        number = tuple(int(part) for part in version[2].split("."))
        if version[1] not in NEWEST or number > NEWEST[version[1]]:
            continue
        size = int(symbol["size"], 0)
        entry = (number, symbol["version"], symbol["type"], size)
        if symbol["name"] not in found or found[symbol["name"]][0] < number:
            found[symbol["name"]] = entry
    return {name: entry[1:] for name, entry in found.items()}


def assembler(symbols: dict[str, tuple[str, str, int]]) -> str:
    sections = {
        "FUNC": ('.section .text,"ax",%progbits', "%function"),
        "IFUNC": ('.section .text,"ax",%progbits', "%function"),
        "OBJECT": ('.section .data,"aw",%progbits', "%object"),
        "TLS": ('.section .tdata,"awT",%progbits', "%tls_object"),
    }
    lines = []
    for number, (name, (version, kind, size)) in enumerate(sorted(symbols.items())):
        section, elf_type = sections[kind]
        label = f"stub_{number}"
        lines += [section, f".globl {label}", f".type {label},{elf_type}", f"{label}:"]
        lines += [f".skip {max(size, 1) if kind in ('OBJECT', 'TLS') else 1}"]
        lines += [f".size {label},{max(size, 1)}", f".symver {label},{name}@@{version}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""])


def make_library(
    folder: Path, soname: str, symbols: dict[str, tuple[str, str, int]], cc: str
) -> None:
    """A shared library of that name with those symbols."""
    source, versions = folder / f"{soname}.s", folder / f"{soname}.map"
    source.write_text(assembler(symbols))
    nodes = sorted({entry[0] for entry in symbols.values()})
    versions.write_text("".join(f"{node} {{ }};\n" for node in nodes) or "{ local: *; };\n")
    subprocess.run(
        [cc, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}",
         "-o", str(folder / soname), str(source)],
        check=True,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="", help="such as aarch64-linux-gnu; this machine's")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    prefix = f"{arguments.target}-" if arguments.target else ""
    cc, readelf = f"{prefix}gcc", f"{prefix}readelf"

    def system(name: str) -> str:
        path = subprocess.run(
            [cc, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        if not Path(path).is_absolute():
            raise SystemExit(f"error: {cc} has no {name}")
        return str(Path(path).resolve())

    for soname, name in {"libc.so.6": "c", "libm.so.6": "m", "libstdc++.so.6": "stdc++"}.items():
        make_library(folder, soname, newest_allowed(Path(system(soname)), readelf), cc)
        if name != "c":
            link = folder / f"lib{name}.so"
            link.unlink(missing_ok=True)
            link.symlink_to(soname)
    for soname, name in PARTS.items():
        make_library(folder, soname, {}, cc)
        link = folder / f"lib{name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(soname)
    compat = folder / "compat.o"
    subprocess.run(
        [cc, "-O2", "-fPIC", "-fvisibility=hidden", "-c", str(Path(__file__).with_name("compat.c")),
         "-o", str(compat)],
        check=True,
    )  # fmt: skip
    loader = system(LOADERS[arguments.target or f"{platform.machine()}-linux-gnu"])
    (folder / "libc.so").write_text(
        f"GROUP ( {folder}/libc.so.6 {compat} {system('libc_nonshared.a')} "
        f"AS_NEEDED ( {loader} ) )\n"
    )
    (folder / "flags").write_text(
        f"-L{folder} -Wl,--exclude-libs,ALL -lstdc++ -l:libstdc++.a -lm "
        "-Wl,--no-as-needed -lpthread -ldl -lrt -Wl,--as-needed\n"
    )


if __name__ == "__main__":
    main()
