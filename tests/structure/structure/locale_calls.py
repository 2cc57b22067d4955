# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Finds calls whose result depends on the locale. The library runs in programs that set a locale, and
then "1.5" could be no number, or be written "1,5". Programs of the project run in the C locale."""

import re
from pathlib import Path

from structure.cpp_tokens import without_comments
from structure.rules import Rules
from structure.tree import files_under, read_text

# What the library must not use, and what it uses instead.
IN_LIBRARY = [
    (r"\b(?:strto(?:d|f|ld)|atof|sto(?:d|f|ld))\s*\(", "std::from_chars"),
    (r"\b(?:sscanf|fscanf|scanf)\s*\(", "std::from_chars"),
    (
        r"\b(?:isalnum|isalpha|isblank|iscntrl|isdigit|isgraph|islower|isprint|ispunct|isspace"
        r"|isupper|isxdigit|tolower|toupper)\s*\(",
        "base/ascii.hpp",
    ),
    (r"\bo?stringstream\b", "std::to_string of a whole number, or std::to_chars"),
    (r"\bstd::(?:regex|put_time|get_time|locale)\b|\bstrftime\s*\(|\bstrcoll\s*\(", "none of these"),
    # a text for printf with a floating-point number
    (r'"(?:[^"\\\n]|\\.)*?(%[-+ #0-9.*]*(?:l|L)?[efgEFG])(?![a-zA-Z0-9_])', "std::to_chars"),
]
# What no code of the project may do.
ANYWHERE = [
    (r"\b(?:setlocale|uselocale)\s*\(|\blocale::global\b|\bimbue\s*\(", "the C locale"),
]


def check_locale(root: Path, rules: Rules) -> list[str]:
    settings = rules.data["locale"]
    allowed = {(each["file"], each["text"]) for each in settings["exception"]}
    used = set()
    problems = []
    for folders, rows in (
        (settings["library"], IN_LIBRARY + ANYWHERE),
        (settings["programs"], ANYWHERE),
    ):
        for path in files_under(root, folders, settings["suffixes"]):
            lines = without_comments(read_text(root / path) or "").splitlines()
            for number, line in enumerate(lines, start=1):
                for pattern, instead in rows:
                    for found in re.finditer(pattern, line):
                        text = found.group(found.lastindex or 0).rstrip("( ")
                        if (str(path), text) in allowed:
                            used.add((str(path), text))
                            continue
                        problems.append(
                            f"{path}:{number}: '{text}' depends on the locale; use {instead}"
                        )
    problems += [
        f"structure.toml: the exception of the locale for '{text}' in {file} is not needed"
        for file, text in sorted(allowed - used)
    ]
    return problems
