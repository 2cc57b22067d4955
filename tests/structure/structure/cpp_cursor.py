# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""A position in the tokens of a C++ file, with functions that skip groups of tokens."""

from structure.cpp_tokens import Token

CLOSING = {"(": ")", "[": "]", "{": "}"}


class ParseError(Exception):
    """The parser does not understand the source."""


class Cursor:
    def __init__(self, tokens: list[Token]):
        self.tokens = tokens
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def line(self) -> int:
        return self.tokens[min(self.at, len(self.tokens) - 1)].line if self.tokens else 0

    def fail(self, why: str):
        raise ParseError(f"line {self.line()}: {why}")

    def skip_brackets(self):
        """Skips an opening bracket and everything up to the matching closing bracket."""
        start = self.line()
        open_brackets = [CLOSING[self.peek()]]
        self.at += 1
        while open_brackets:
            token = self.peek()
            if token == "":
                raise ParseError(f"line {start}: a bracket is never closed")
            if token in CLOSING:
                open_brackets.append(CLOSING[token])
            elif token in CLOSING.values():
                if token != open_brackets.pop():
                    self.fail(f"'{token}' closes a bracket of another kind, opened on line {start}")
            self.at += 1

    def skip_angles(self):
        """Skips `<` and everything up to the matching `>`. If no `>` matches, `<` is a "less than",
        and only this token is skipped."""
        start, depth = self.at, 0
        while True:
            token = self.peek()
            if token in ("", ";", "}", ")", "]"):
                self.at = start + 1
                return
            if token in CLOSING:
                self.skip_brackets()
                continue
            depth += {"<": 1, ">": -1}.get(token, 0)
            self.at += 1
            if depth == 0:
                return

    def skip_to_semicolon(self):
        while self.peek() != ";":
            if self.peek() == "":
                self.fail("the file ends inside a declaration")
            if self.peek() == "}":
                return  # a macro without a semicolon
            if self.peek() in CLOSING:
                self.skip_brackets()
            else:
                self.at += 1
        self.at += 1

    def skip_attributes(self):
        while True:
            if self.peek() == "[" and self.peek(1) == "[":
                self.skip_brackets()
            elif self.peek() in ("alignas", "__attribute__", "__declspec") and self.peek(1) == "(":
                self.at += 1
                self.skip_brackets()
            else:
                return

    def skip_constraint(self):
        """Skips the expression of a `requires` clause: primary expressions joined by && and ||."""
        while True:
            while self.peek() == "!":
                self.at += 1
            if self.peek() == "(":
                self.skip_brackets()
            elif self.peek() == "requires":
                self.at += 1
                if self.peek() == "(":
                    self.skip_brackets()
                self.skip_brackets()
            else:
                self.skip_qualified_name()
            if self.peek() not in ("&&", "||"):
                return
            self.at += 1

    def skip_qualified_name(self):
        while True:
            if self.peek() in ("::", "typename", "template"):
                self.at += 1
                continue
            self.at += 1
            if self.peek() == "<":
                self.skip_angles()
            if self.peek() != "::":
                return
