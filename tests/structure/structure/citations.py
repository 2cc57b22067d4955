# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks citations, that is, places where a file of the repository names another.

1. Every file that another file names by its path must exist.
2. Every link in a document to a file or a heading of this repository must have a target.
3. The README.md in the folder of records must name every record and no other file.
"""

import re
from pathlib import Path, PurePosixPath

from structure.rules import Rules
from structure.tree import files_under, read_text

URL = re.compile(r"\w+://\S+")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *#* *$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
RECORD = re.compile(r"`([\w.-]+\.(?:txt|json))`")  # a record that the README names


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def blank(pattern: re.Pattern, text: str) -> str:
    """Returns the text with spaces in place of every match. The lines keep their numbers."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def citation(folders: list[str]) -> re.Pattern:
    """Returns a pattern for paths that start with one of the folders. The pattern matches neither
    `<docs/a.h>` nor `x/docs/a.h`."""
    return re.compile(r"(?<![\w./<-])(?:" + "|".join(map(re.escape, folders)) + r")/[\w./*-]*\.\w+")


def check_paths(root: Path, path: PurePosixPath, text: str, cited: re.Pattern) -> list[str]:
    problems = []
    text = blank(URL, text)
    for match in cited.finditer(text):
        name = match.group()
        # A path is relative to the top of the repository or, as in CMake, to the folder of the
        # citing file.
        found = any(
            any(top.glob(name)) if "*" in name else (top / name).exists()
            for top in (root, root / path.parent)
        )
        if not found:
            problems.append(
                f"{path}:{line_of(text, match.start())}: cites {name}, which does not exist"
            )
    return problems


def anchors_of(text: str) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a document."""
    anchors: set[str] = set()
    for match in HEADING.finditer(blank(CODE_BLOCK, text)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1))
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number, unique = 0, name
        while unique in anchors:
            number += 1
            unique = f"{name}-{number}"
        anchors.add(unique)
    return anchors


def check_links(root: Path, path: PurePosixPath, text: str) -> list[str]:
    problems = []
    text = blank(CODE_BLOCK, text)
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = root / path.parent / target if target else root / path
        where = f"{path}:{line_of(text, match.start())}: links to {match.group(1)}"
        if not file.exists():
            problems.append(f"{where}, which does not exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(read_text(file) or ""):
            problems.append(f"{where}, but that document has no such heading")
    return problems


def check_records(root: Path, folder: PurePosixPath) -> list[str]:
    readme = root / folder / "README.md"
    named = set(RECORD.findall(readme.read_text())) if readme.exists() else set()
    there = {path.name for path in files_under(root, [str(folder)])} - {"README.md"}
    return [
        f"{folder}/README.md: does not say what {name} is" for name in sorted(there - named)
    ] + [
        f"{folder}/README.md: names {name}, which does not exist" for name in sorted(named - there)
    ]


def check_citations(root: Path, rules: Rules) -> list[str]:
    settings = rules.data["citations"]
    cited = citation(settings["folders"])
    records = PurePosixPath(settings["records"])
    problems = []
    for path in files_under(root, ["."], skip=settings["skip"]):
        if path.is_relative_to(records) and path.name != "README.md":
            continue
        text = read_text(root / path)
        if text is None:
            continue
        problems += check_paths(root, path, text, cited)
        if path.suffix == ".md":
            problems += check_links(root, path, text)
    return problems + check_records(root, records)
