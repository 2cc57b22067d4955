# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every exception class of the library reaches the other languages: code that translates
exceptions catches each class, before its base. Compilers accept code that has forgotten one."""

import re
from pathlib import Path

from structure.cpp_tokens import without_comments
from structure.rules import Rules
from structure.tree import read_text

CLASS = r"class\s+(?:FLOTILLA_EXPORT\s+)?(\w+)\s+(?:final\s+)?:\s+public\s+([\w:]+)\s*\{"


def check_exceptions(root: Path, rules: Rules) -> list[str]:
    settings = rules.data["exceptions"]
    bases = {}
    for header in settings["headers"]:
        bases |= dict(re.findall(CLASS, without_comments(read_text(root / header) or "")))
    problems = [] if bases else [f"no exception class in {', '.join(settings['headers'])}"]
    for place in settings["translations"]:
        text = without_comments(read_text(root / place) or "")
        caught = re.findall(r"catch\s*\(\s*(?:\w+::)*(\w+)\s+const\s*&", text)
        for name, base in bases.items():
            if base not in bases:
                continue  # the base of all of them, which code may catch as any other exception
            if name not in caught:
                problems.append(f"{place}: the exception {name} is not caught")
            elif base in caught and caught.index(base) < caught.index(name):
                problems.append(f"{place}: {name} is caught after its base {base}")
    return problems
