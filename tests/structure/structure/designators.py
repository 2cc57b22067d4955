# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that public headers name no fields where they initialize objects, as in `{.grid = 1}`. In a
template, nvcc gives its host compiler `{grid: 1}`, of which clang warns (-Wgnu-designator)."""

from itertools import islice
from pathlib import Path

from structure.cpp_tokens import tokens_of
from structure.rules import Rules
from structure.tree import files_under, read_text


def check_designators(root: Path, rules: Rules) -> list[str]:
    problems = []
    where = rules.data["designators"]
    for path in files_under(root, where["folders"], where["suffixes"]):
        tokens = tokens_of(read_text(root / path) or "")
        following = zip(tokens, *(islice(tokens, n, None) for n in (1, 2, 3)))
        problems += [
            f"{path}:{dot.line}: a header must not name the field {name.text} in an initializer"
            for before, dot, name, after in following
            if before.text in "{," and dot.text == "." and name.text.isidentifier() and after.text in "={.["
        ]
    return problems
