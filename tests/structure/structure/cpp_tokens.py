# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Splits C++ source into tokens. Removes comments and empties string and character literals."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    text: str
    line: int


TOKEN = re.compile(
    r"""
    (?P<directive>^[ \t]*\#(?:\\\n|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|[^\\\n]|\\.)*)
  | (?P<comment>//(?:\\\n|[^\n])*|/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\((?:.|\n)*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)
  | (?P<mark2>::|->|&&|\|\||\.\.\.)
  | (?P<other>\S)
    """,
    re.VERBOSE | re.MULTILINE,
)
CONDITION = re.compile(
    r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[ \t]*(\S*)"
)


def without_comments(text: str) -> str:
    """Returns the text with empty comments. All lines keep their numbers."""

    def blank(match: re.Match) -> str:
        return "\n" * match.group().count("\n") if match.lastgroup == "comment" else match.group()

    return TOKEN.sub(blank, text)


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of a source text. Keeps only one branch of each #if, because braces might
    not match if several were kept. This is the second branch of `#if 0`, else the first branch."""
    tokens: list[Token] = []
    branches: list[bool] = []  # for each open #if: whether the current branch is kept
    taken: list[bool] = []  # for each open #if: whether a branch has been kept
    line, position = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        kind = match.lastgroup
        if kind == "directive":
            condition = CONDITION.match(match.group())
            word = condition.group(1) if condition else ""
            if word.startswith("if"):
                keep = not (word == "if" and condition.group(2) == "0")
                branches.append(keep)
                taken.append(keep)
            elif word == "endif" and branches:
                branches.pop()
                taken.pop()
            elif word and branches:
                branches[-1] = not taken[-1]
                taken[-1] = True
        elif kind != "comment" and all(branches):
            literal = {"raw": '""', "string": '""', "char": "''"}.get(kind)
            tokens.append(Token(literal or match.group(), line))
    return tokens
