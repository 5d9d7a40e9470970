"""Pages of the C++ interface, made of the declarations and doc comments of include/whorl.

This reads what the headers contain, not C++: a declaration ends with `;` or a body, bodies of
functions are left out, and private and protected members too. A doc comment belongs to the
declarations that follow it up to a blank line or another doc comment.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from site_pages import ROOT

INCLUDE = ROOT / "include"
TITLES = {
    "binfhe": "FHEW/TFHE in C++",
    "bgv": "BGV in C++",
    "ckks": "CKKS in C++",
    "networks": "Networks in C++",
    "common": "What all schemes share in C++",
}
"""Pages, by the names of their files; `common` has the headers that belong to no other page."""

SCOPE = re.compile(
    r"(?:template <.*?> )?(?P<kind>class|struct|union|enum(?: class)?) (?P<name>\w+)[^;(]*$"
)
ERROR = re.compile(r"WHORL_DECLARE_ERROR\((\w+), (\w+)\)")


@dataclass
class Group:
    """Declarations that one doc comment explains."""

    doc: list[str]
    declarations: list[str] = field(default_factory=list)


@dataclass
class Scope:
    """What stands in a header or a class: groups, and classes, in their order."""

    title: str
    doc: list[str]
    kind: str = ""
    entries: list[Group | Scope] = field(default_factory=list)


class Reader:
    """Reads a header line by line."""

    def __init__(self, path: Path) -> None:
        text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
        self._lines = iter(text.split("\n"))
        self._doc: list[str] = []
        self._group: Group | None = None

    def read(self, scope: Scope) -> None:
        """Reads entries of a scope up to the brace that closes it, or the end of the file."""
        hidden = scope.kind == "class"
        while (line := self._next()) is not None:
            if line.startswith("}"):
                self._doc, self._group = [], None
                return
            if match := re.fullmatch(r"(public|protected|private):", line):
                hidden, self._group = match[1] != "public", None
            elif line.startswith("///"):
                if self._group:
                    self._doc, self._group = [], None
                self._doc.append(line.removeprefix("///").removeprefix(" "))
            elif not line:
                self._doc, self._group = [], None
            elif not line.startswith(("#", "//")):
                self._declaration(line, scope, hidden)

    def _next(self) -> str | None:
        line = next(self._lines, None)
        return None if line is None else line.strip()

    def _declaration(self, line: str, scope: Scope, hidden: bool) -> None:
        """A declaration that begins with `line`, with the lines that continue it."""
        lines = [line]
        while not re.search(r"[;{}](\s*//.*)?$", lines[-1]):
            lines.append(self._next() or "")
        text = re.sub(r"\s+", " ", " ".join(part.split(" // ")[0] for part in lines[:-1]))
        last = lines[-1]
        text = f"{text} {last}".strip()
        code = text.partition("///<")[0].strip()
        if re.match(r"(inline )?namespace\b", code) and code.endswith("{"):
            inner = Scope("", [])
            self._doc = []
            self.read(inner)
            if "::" not in code or not all(name in code for name in ("lattice", "backend")):
                scope.entries += inner.entries
            return
        head = code.removesuffix("{").strip()
        if code.endswith("{") and (match := SCOPE.fullmatch(head)):
            self._class(head, match, scope, hidden)
            return
        if code.count("{") > code.count("}"):
            code = self._without_body(code)
        elif re.search(r"\) (const |noexcept )*\{.*\}$", code):
            code = re.sub(r" \{.*\}$", ";", code)
        code = re.sub(r"\) : [\w(:<].*$", ");", code) if "(" in code else code
        skipped = (
            r"friend|(template <.*> )?(class|struct) \w+;|using \w+::|static_assert|template <> "
        )
        if hidden or re.match(skipped, code):
            return
        if error := ERROR.match(code):
            code = f"class {error[1]} : public {error[2]};"
        said = [part.partition("///<")[2].strip() for part in lines if "///<" in part]
        # What has a comment of its own behind it is not explained by the doc comment before others.
        own = bool(said) and self._group is not None and bool(self._group.doc)
        if self._group is None or own:
            self._group, self._doc = Group(self._doc), []
            scope.entries.append(self._group)
        comment = f"  // {' '.join(said)}" if said else ""
        self._group.declarations.append("\n    ".join(textwrap.wrap(code, 88)) + comment)

    def _class(self, head: str, match: re.Match[str], scope: Scope, hidden: bool) -> None:
        doc, self._doc, self._group = self._doc, [], None
        if match["kind"].startswith("enum"):
            lines = []
            while (line := self._next()) is not None and not line.startswith("}"):
                lines.append("  " + line.replace("///<", "//"))
            if not hidden:
                whole = "\n".join([head + " {", *lines, "};"])
                scope.entries.append(Scope(head, doc, "enum", [Group([], [whole])]))
            return
        inner = Scope(head, doc, match["kind"])
        self.read(inner)
        if not hidden:
            scope.entries.append(inner)

    def _without_body(self, code: str) -> str:
        """The declaration before a body, whose lines are read; initialisers stay."""
        body = code
        depth = code.count("{") - code.count("}")
        while depth > 0 and (line := self._next()) is not None:
            body += " " + line
            depth += line.count("{") - line.count("}")
        if ")" in code.partition("{")[0]:
            return re.split(r" \{", code)[0] + ";"
        return body


def name_of(declaration: str) -> str:
    """The name that a declaration declares."""
    code = declaration.split("  //")[0].split(" = ")[0]
    if match := re.match(
        r"(?:template <.*> )?(?:using|concept|class|struct|enum class) (\w+)", code
    ):
        return match[1]
    if match := re.search(r"(operator\s*\S+?|~?\w+)\(", code):
        return match[1]
    return re.findall(r"\w+", code.split("{")[0])[-1]


def prose(lines: list[str]) -> str:
    """A doc comment as Markdown: what looks like HTML or a reference does not become one."""
    text = "\n".join(lines).replace("<", "&lt;").replace("*", r"\*")
    text = re.sub(r"`[^`]*`", lambda m: m[0].replace("&lt;", "<").replace(r"\*", "*"), text)
    return re.sub(r"\]\[", r"]\\[", text)


def render(scope: Scope, depth: int) -> Iterator[str]:
    """Lines of Markdown below a heading of a depth."""
    for entry in scope.entries:
        if isinstance(entry, Scope):
            yield f"{'#' * depth} {entry.title.split(' : ')[0].replace(' final', '')}"
            yield ""
            yield prose(entry.doc)
            yield ""
            if entry.kind != "enum" and " : " in entry.title:
                yield f"```cpp\n{entry.title};\n```\n"
            yield from render(entry, depth + 1)
            continue
        names = list(dict.fromkeys(name_of(each) for each in entry.declarations))
        if scope.kind not in ("enum", "struct") and not entry.declarations[0].startswith("class "):
            yield f"{'#' * depth} {', '.join(names)}"
            yield ""
        yield "```cpp\n" + "\n".join(entry.declarations) + "\n```"
        yield ""
        yield prose(entry.doc)
        yield ""


def headers(page: str) -> list[Path]:
    """The headers of a page, in the order of their names; none that only includes others."""
    found = []
    for path in sorted(INCLUDE.rglob("*.h")):
        named = TITLES.keys() - {"common"}
        of = next((name for name in path.relative_to(INCLUDE).parts if name in named), "common")
        if of == page and path.stem not in named:
            found.append(path)
    return found


def read(path: Path) -> Scope:
    """The declarations of a header; its first comment is the doc."""
    first = re.match(r"((?://(?!/).*\n)*)", path.read_text(encoding="utf-8"))
    doc = [line.removeprefix("//").strip() for line in first[0].splitlines()] if first else []
    scope = Scope(path.relative_to(INCLUDE).as_posix(), doc)
    Reader(path).read(scope)
    return scope


def pages() -> dict[str, str]:
    """Markdown of the pages, by their places."""
    made = {}
    for page, title in TITLES.items():
        lines = [f"# {title}", ""]
        for path in headers(page):
            scope = read(path)
            lines += [f"## {scope.title}", "", prose(scope.doc), "", *render(scope, 3)]
        made[f"reference/cpp/{page}.md"] = "\n".join(lines)
    return made
