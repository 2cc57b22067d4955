# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that no class has too many member functions, and that no classes are mutual friends."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from structure.class_parser import ClassInfo, parse_classes
from structure.cpp_cursor import ParseError
from structure.rules import Rules
from structure.tree import files_under, read_text


@dataclass(frozen=True)
class FoundClass:
    path: PurePosixPath
    info: ClassInfo

    @property
    def where(self) -> str:
        return f"{self.path}:{self.info.line}"


def find_classes(root: Path, rules: Rules) -> tuple[list[FoundClass], list[str]]:
    """Returns all classes, and a message for each file that the parser cannot parse."""
    settings = rules.data["classes"]
    found, problems = [], []
    for path in files_under(root, settings["folders"], settings["suffixes"]):
        try:
            found += [
                FoundClass(path, info) for info in parse_classes(read_text(root / path) or "")
            ]
        except ParseError as error:
            problems.append(f"{path}: the class parser cannot parse this file: {error}")
    return found, problems


def mutual_friends(found: list[FoundClass]) -> list[tuple[FoundClass, FoundClass]]:
    by_name = {c.info.name: c for c in found}

    def resolve(written: str, scope: str) -> FoundClass | None:
        """Returns the class to which the name `written` refers inside `scope`. As in C++, names of
        inner scopes hide names of outer scopes."""
        parts = scope.split("::")
        for length in range(len(parts), -1, -1):
            candidate = by_name.get("::".join(parts[:length] + [written.removeprefix("::")]))
            if candidate:
                return candidate
        return None

    befriended = set()
    for c in found:
        for written in c.info.friends:
            friend = resolve(written, c.info.name)
            if friend:
                befriended.add((c.info.name, friend.info.name))
    return [
        (by_name[a], by_name[b]) for a, b in sorted(befriended) if a < b and (b, a) in befriended
    ]


def check_classes(root: Path, rules: Rules) -> list[str]:
    limit = rules.data["limits"]["member_functions"]
    found, problems = find_classes(root, rules)
    for c in found:
        count = len(c.info.members)
        if count > limit:
            problems.append(
                f"{c.where}: {c.info.name} has {count} member functions,"
                f" but at most {limit} are allowed"
            )
    for a, b in mutual_friends(found):
        problems.append(
            f"{a.where}: {a.info.name} and {b.info.name} ({b.where}) are friends of each other"
        )
    return problems
