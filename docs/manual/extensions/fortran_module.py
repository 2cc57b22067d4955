# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of the Fortran module. `fortran-module` lists what a source file of a module makes
public: constants, types, procedures. A procedure of the interface for C gets a link to its page."""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

CONSTANT = re.compile(r"^  (\S+(?:\(.*?\))?), parameter, public :: (\w+) = (.*)$")
TYPE = re.compile(r"^  type, public(?:, bind\(c\))? :: (\w+)$")
GENERIC = re.compile(r"^  interface (\w+)$")
PROCEDURE = re.compile(r"^ *(?:pure )?(function|subroutine) (\w+)\(")
COMMENT = re.compile(r"^ *!>? ?(.*)$")


class NotUnderstood(Exception):
    """The module has something that this extension does not know."""


def joined(lines: list[str]) -> list[str]:
    """Joins lines that end with & with the next one."""
    made: list[str] = []
    for line in lines:
        if made and made[-1].endswith("&"):
            made[-1] = made[-1][:-1].rstrip() + " " + line.lstrip().lstrip("&").lstrip()
        else:
            made.append(line.rstrip())
    return made


class Module:
    """What the module has, in the order of the source."""

    def __init__(self, source: str):
        self.constants: list[tuple[str, str, str]] = []  # type, name, value
        self.types: list[tuple[str, list[str]]] = []  # name, lines
        self.procedures: list[tuple[str, list[str], list[str]]] = []  # name, lines, comment
        self.specific: dict[str, list[str]] = {}  # name -> lines
        public = set(re.findall(r"^  public :: (.*)$", source, re.M))
        self.public = {name.strip() for names in public for name in names.split(",")}
        self.read(joined(source.split("\n")))

    def read(self, lines: list[str]) -> None:
        comment: list[str] = []
        i = 0
        while i < len(lines):
            line = lines[i]
            i += 1
            if found := CONSTANT.match(line):
                self.constants.append((found[1], found[2], found[3]))
            elif found := TYPE.match(line):
                end = self.end(lines, i, "type")
                self.types.append((found[1], lines[i - 1 : end]))
                i = end
            elif found := GENERIC.match(line):
                end = self.end(lines, i, "interface")
                self.procedures.append((found[1], lines[i : end - 1], comment))
                i = end
            elif found := PROCEDURE.match(line):
                end = self.end(lines, i, found[1])
                self.specific[found[2]] = lines[i - 1 : end]
                if found[2] in self.public:
                    self.procedures.append((found[2], lines[i - 1 : end], comment))
                i = end
            elif found := COMMENT.match(line):
                comment.append(found[1])
                continue
            comment = []

    def end(self, lines: list[str], start: int, what: str) -> int:
        for i in range(start, len(lines)):
            if re.match(rf" *end {what}\b", lines[i]):
                return i + 1
        raise NotUnderstood(f"line {start}: the {what} has no end")


def declaration(module: Module, name: str, lines: list[str]) -> list[str]:
    """Returns the lines of a procedure that say how to call it."""
    if found := re.match(r" *procedure (.*)$", lines[0]):  # a generic name
        made: list[str] = []
        for each in found[1].split(", "):
            specific = declaration(module, each, module.specific[each])
            made += [line.replace(each, name) for line in specific]
        return made
    indent = len(lines[0]) - len(lines[0].lstrip())
    wanted = [lines[0]]
    for line in lines[1:-1]:
        if re.match(r" *import\b|^ *!|^$", line):
            continue
        if "::" not in line:
            break
        if re.search(r"\bintent\(|, value|optional|type\(c_funptr\)|result", line):
            wanted.append(line)
    return [line[indent:] for line in wanted]


class FortranModule(SphinxDirective):
    """The path of the source, from the root of the repository."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = self.arguments[0]
        file = Path(self.env.srcdir) / path
        self.env.note_dependency(str(file))
        module = Module(file.read_text(encoding="utf-8"))
        if not (module.constants and module.types and module.procedures):
            raise self.error(f"{path} makes no constants, types or procedures public")
        text = StringList()

        def add(*lines: str) -> None:
            for line in lines:
                text.append(line, path)

        add("Procedures", "----------", "")
        for name, lines, comment in sorted(module.procedures, key=lambda each: each[0]):
            add(f".. fortran:: {name}", "", "   .. code-block:: fortran", "")
            add(*[f"      {line}" for line in declaration(module, name, lines)], "")
            text_lines = [
                re.sub(r"`+", "``", re.sub(r"^@param (\w+) +", r"`\1`: ", line)) for line in comment
            ]
            add(*[f"   {line}" for line in text_lines], "")
            if "bind(c)" in lines[0]:
                add(f"   As in C: :c:func:`{name}`.", "")
        add("Types", "-----", "")
        for name, lines in module.types:
            add(f".. fortran:: type({name})", "", "   .. code-block:: fortran", "")
            add(*[f"      {line[2:]}" for line in lines], "")
            add(f"   As in C: :c:struct:`{name}`.", "")
        add("Constants", "---------", "", ".. list-table::", "   :header-rows: 1", "")
        add("   * - name", "     - value", "     - type")
        for kind, name, value in module.constants:
            add(f"   * - ``{name}``", f"     - ``{value}``", f"     - ``{kind}``")
        add("")
        node = nodes.section()
        node.document = self.state.document
        nested_parse_with_titles(self.state, text, node)
        return node.children


def setup(app: Sphinx) -> dict:
    app.add_object_type("fortran", "fortran", indextemplate="%s (Fortran)")
    app.add_directive("fortran-module", FortranModule)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
