# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that documents show code that is compiled: every block of C++ code in a document must be a
part of the source file that belongs to the document."""

import re
import textwrap
from pathlib import Path

from structure.rules import Rules
from structure.tree import read_text

CPP_BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)


def without_indent(text: str) -> str:
    """Returns the lines without leading and trailing spaces, because a source file may indent its
    code more than a document does."""
    return "\n".join(line.strip() for line in textwrap.dedent(text).strip().splitlines())


def check_recipes(root: Path, rules: Rules) -> list[str]:
    problems = []
    for recipe in rules.recipes:
        document, source = root / recipe["document"], root / recipe["source"]
        text = read_text(document)
        code = without_indent(read_text(source))
        blocks = list(CPP_BLOCK.finditer(text))
        if not blocks:
            problems.append(f"{recipe['document']}: has no block of C++ code")
        for block in blocks:
            if without_indent(block.group(1)) not in code:
                line = text.count("\n", 0, block.start()) + 1
                problems.append(
                    f"{recipe['document']}:{line}: this code is not in {recipe['source']}"
                )
    return problems
