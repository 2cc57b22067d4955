# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file begins with the names of the authors and the license."""

from pathlib import Path

from structure.rules import Rules
from structure.tree import LICENSE_LINES, files_under, read_text


def has_license(text: str) -> bool:
    """Returns whether the lines are at the top of the file, after `#!` if there is such a line."""
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    found = [line.removeprefix("//").removeprefix("#").strip() for line in lines[:2]]
    return found == LICENSE_LINES


def check_licenses(root: Path, rules: Rules) -> list[str]:
    settings = rules.data["licenses"]
    return [
        f"{path}: does not begin with the lines {LICENSE_LINES}"
        for path in files_under(root, settings["folders"], settings["suffixes"])
        if not has_license(read_text(root / path) or "")
    ]
