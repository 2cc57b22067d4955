# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Parses the heads of classes, the names of operators, and the declarators of pointers."""

from structure.cpp_cursor import Cursor

CLASS_KEYS = {"class", "struct", "union"}
# The specifiers that may stand before `class X {`.
SPECIFIERS = {
    "static",
    "constexpr",
    "inline",
    "const",
    "mutable",
    "volatile",
    "thread_local",
    "export",
}


class HeadReader(Cursor):
    def class_head(self) -> str | None:
        """If a class definition begins here, returns the name of the class and stops after the
        `{`. Otherwise returns None and skips nothing."""
        start = self.at
        while self.peek() in SPECIFIERS:
            self.at += 1
            self.skip_attributes()
        if self.peek() in CLASS_KEYS:
            self.at += 1
            name = self.class_name()
            if name is not None and self.skip_bases():
                return name
        self.at = start
        return None

    def class_name(self) -> str | None:
        name = ""
        while True:
            self.skip_attributes()
            token = self.peek()
            if token in (":", "{"):
                return name
            if token == "<":
                first = self.at
                self.skip_angles()
                name += "".join(token.text for token in self.tokens[first : self.at])
                continue
            if token == "::":
                name += token
            elif token[:1].isalpha() or token[:1] == "_":
                if token != "final":  # the last name is the class; names before it are macros
                    name = name + token if name.endswith("::") else token
            else:
                return None
            self.at += 1

    def skip_bases(self) -> bool:
        while self.peek() != "{":
            if self.peek() == "<":
                self.skip_angles()
            elif self.peek() == "(":
                self.skip_brackets()
            elif self.peek() in ("", ";", "}"):
                return False
            else:
                self.at += 1
        self.at += 1
        return True

    def operator_name(self) -> str:
        """Returns the name of an operator, for example `operator bool`. Stops at the parameters."""
        name = "operator"
        self.at += 1
        if self.peek() == "(" and self.peek(1) == ")":
            self.at += 2
            return name + "()"
        while self.peek() != "(":
            if self.peek() in ("", ";", "}"):
                self.fail("an operator must have parameters")
            name += " " if name[-1].isalnum() and self.peek()[0].isalnum() else ""
            name += self.peek()
            self.at += 1
        return name

    def is_pointer_declarator(self) -> bool:
        """Whether the parentheses contain `*x`, `&x` or `C::*x`, as in `void (*x)(int)`."""
        ahead = 1
        while self.peek(ahead) == "::" or self.peek(ahead + 1) == "::":
            ahead += 1
        if self.peek(ahead) not in ("*", "&", "&&"):
            return False
        while self.peek(ahead) in ("*", "&", "&&", "const") or self.peek(ahead)[:1].isalnum():
            ahead += 1
        return self.peek(ahead) != "("  # `void (*f(int))(int)` is a function that returns a pointer
