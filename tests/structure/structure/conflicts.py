# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that no file has the marks that git leaves where a merge needs a decision."""

import re
from pathlib import Path

from structure.rules import Rules
from structure.tree import files_under, read_text

MARK = re.compile(r"^(?:<{7}|>{7}) \S")


def check_conflicts(root: Path, rules: Rules) -> list[str]:
    problems = []
    for path in files_under(root, ["."], skip=rules.data["citations"]["skip"]):
        lines = (read_text(root / path) or "").splitlines()
        problems += [
            f"{path}:{number}: the mark of a conflict of a merge"
            for number, line in enumerate(lines, start=1)
            if MARK.match(line)
        ]
    return problems
