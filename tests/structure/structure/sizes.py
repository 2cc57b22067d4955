# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that no file is longer than the limit, except the files that structure.toml excepts, and that
no comment in C++ code is wider than the limit. clang-format checks the width of code only."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from structure.rules import Rules
from structure.tree import LICENSE_LINES, files_under, read_text


@dataclass(frozen=True)
class Size:
    path: PurePosixPath
    lines: int


def count_lines(text: str) -> int:
    """Counts the lines, but not those of the license and an empty line after them."""
    lines = text.splitlines()
    license_lines = sum(line.endswith(tuple(LICENSE_LINES)) for line in lines[:3])
    if license_lines and lines[license_lines : license_lines + 1] == [""]:
        license_lines += 1
    return len(lines) - license_lines


def find_sizes(root: Path, rules: Rules) -> list[Size]:
    sizes = []
    for path in files_under(root, rules.data["sizes"]["folders"]):
        text = read_text(root / path)
        if text is not None:
            sizes.append(Size(path, count_lines(text)))
    return sizes


def wide_comments(root: Path, rules: Rules) -> list[str]:
    limit = rules.data["limits"].get("comment_columns")
    problems = []
    for path in files_under(root, rules.data["sizes"]["folders"], [".hpp", ".cpp"]):
        for number, line in enumerate((read_text(root / path) or "").splitlines(), start=1):
            if limit and len(line) > limit and line.lstrip().startswith("//"):
                problems.append(f"{path}:{number}: {len(line)} columns, but at most {limit}")
    return problems


def check_sizes(root: Path, rules: Rules) -> list[str]:
    limit = rules.data["limits"]["file_lines"]
    exceptions = {e["path"]: e["reason"] for e in rules.data["sizes"].get("exception", [])}
    lines = {str(size.path): size.lines for size in find_sizes(root, rules)}
    problems = [
        f"{path}: {count} lines, but at most {limit} are allowed"
        for path, count in lines.items()
        if count > limit and path not in exceptions
    ]
    # Report exceptions that are not needed. They would hide a file of that name that becomes too
    # long.
    problems += [
        f"{path}: structure.toml excepts it from the limit of {limit} lines, but it is not longer"
        for path in exceptions
        if lines.get(path, 0) <= limit
    ]
    return problems + wide_comments(root, rules)
