# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Finds classes, their member functions and their friends in the tokens of a C++ file.

The parser understands declarations but not expressions. That is enough, because classes contain
only declarations, and the parser skips everything in brackets. A file that the parser cannot parse
is an error.
"""

import re
from dataclasses import dataclass, field

from structure.cpp_heads import CLASS_KEYS, HeadReader
from structure.cpp_tokens import Token, tokens_of

ACCESS = {"public", "protected", "private"}
# Words that can stand before parentheses and are not names of functions.
NOT_A_FUNCTION = {
    "(*)",
    "decltype",
    "alignas",
    "noexcept",
    "explicit",
    "__attribute__",
    "__declspec",
    "typeof",
}
# The name of a macro. A call of a macro need not end with a semicolon.
MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")


@dataclass
class ClassInfo:
    name: str  # qualified with namespaces and outer classes
    line: int
    members: list[str] = field(default_factory=list)  # functions that are not defaulted or deleted
    friends: list[str] = field(default_factory=list)  # names of friend classes, as written


def parse_classes(text: str) -> list[ClassInfo]:
    parser = Parser(tokens_of(text))
    parser.scope((), None, None)
    return sorted(parser.classes, key=lambda info: info.line)


class Parser(HeadReader):
    def __init__(self, tokens: list[Token]):
        super().__init__(tokens)
        self.classes: list[ClassInfo] = []

    # ---- scopes ----

    def scope(self, names: tuple[str, ...], info: ClassInfo | None, end: str | None):
        """Parses the declarations of a file, a namespace or a class up to `end`."""
        while True:
            token = self.peek()
            if token == "":
                if end is not None:
                    self.fail(f"'{end}' of {'::'.join(names) or 'a block'} is missing")
                return
            if token == "}":
                if end is None:
                    self.fail("'}' without '{'")
                self.at += 1
                return
            before = self.at
            if token == ";":
                self.at += 1
            elif info and token in ACCESS and self.peek(1) == ":":
                self.at += 2
            else:
                self.declaration(names, info)
            if self.at == before:
                self.fail(f"unexpected '{token}'")

    def declaration(self, names: tuple[str, ...], info: ClassInfo | None):
        while True:
            self.skip_attributes()
            if self.peek() == "template" and self.peek(1) == "<":
                self.at += 1
                self.skip_angles()
            elif self.peek() == "requires":
                self.at += 1
                self.skip_constraint()
            elif MACRO.fullmatch(self.peek()) and self.peek(1) == "(":
                self.at += 1
                self.skip_brackets()
                if self.peek() == "{":  # TEST_F(...) { ... }
                    self.statements(names)
                    return
            elif self.peek() == "extern" and self.peek(1) == '""':
                self.at += 2
                if self.peek() == "{":
                    self.at += 1
                    self.scope(names, info, "}")
                    return
            else:
                break
        token = self.peek()
        if token == "namespace" or (token == "inline" and self.peek(1) == "namespace"):
            self.namespace(names)
        elif token in ("using", "typedef", "static_assert", "concept", "template"):
            self.skip_to_semicolon()
        elif token == "enum":
            self.skip_to_semicolon()
        elif token == "friend":
            self.friend(names, info)
        elif not self.class_definition(names):
            self.function_or_variable(names, info)

    def namespace(self, names: tuple[str, ...]):
        while self.peek() not in ("{", "=", ";", ""):
            self.skip_attributes()
            if self.peek() not in ("namespace", "inline", "::", "{"):
                names += (self.peek(),)
            if self.peek() != "{":
                self.at += 1
        if self.peek() != "{":
            self.skip_to_semicolon()
            return
        self.at += 1
        self.scope(names, None, "}")

    def friend(self, names: tuple[str, ...], info: ClassInfo | None):
        self.at += 1
        start = self.at
        if self.peek() in CLASS_KEYS | {"typename"}:
            self.at += 1
        name = ""
        while self.peek() not in (";", "(", "{", "operator", ""):
            if self.peek() == "<":
                self.skip_angles()
                continue
            name += self.peek()
            self.at += 1
        if self.peek() == ";":
            if info:
                info.friends.append(name)
            self.at += 1
        else:  # a function
            self.at = start
            self.function_or_variable(names, None)

    # ---- classes ----

    def class_definition(self, names: tuple[str, ...]) -> bool:
        """Parses the definition of a class and of the variables declared with it. If no class
        definition begins here, returns False and skips nothing."""
        line = self.line()
        name = self.class_head()
        if name is None:
            return False
        names += (name or "(unnamed)",)
        info = ClassInfo("::".join(names), line)
        self.classes.append(info)
        self.scope(names, info, "}")
        if self.peek() not in (";", "}", ""):
            self.skip_to_semicolon()
        return True

    # ---- functions and variables ----

    def function_or_variable(self, names: tuple[str, ...], info: ClassInfo | None):
        name, defaulted = None, False
        before = ""  # the previous token outside brackets
        while True:
            token = self.peek()
            if token in ("", "}"):
                return  # a macro without a semicolon
            if token == ";":
                self.at += 1
                break
            if token == "operator" and name is None:
                name = self.operator_name()
                self.skip_brackets()
            elif token == "(":
                if name is None and self.is_pointer_declarator():
                    before = "(*)"
                elif name is None and before not in NOT_A_FUNCTION:
                    name = before
                self.skip_brackets()
            elif token == "<" and (before[:1].isalpha() or before[:1] == "_"):
                self.skip_angles()
                continue  # `before` stays the name of the template
            elif token == "[":
                self.skip_brackets()
            elif token == "=":
                defaulted = name is not None and self.peek(1) in ("default", "delete")
                self.skip_to_semicolon()
                break
            elif token == "requires":
                self.at += 1
                self.skip_constraint()
            elif name is not None and token in (":", "{", "try"):
                self.body(names)
                break
            elif token == ":":
                self.skip_to_semicolon()  # a bit field
                break
            elif token == "{":
                self.skip_brackets()  # the initializer of a variable
            else:
                if not (token == "~" or before == "~"):
                    before = token
                else:
                    before = "~" if token == "~" else "~" + token
                self.at += 1
        if info and name is not None and not defaulted:
            info.members.append(name)

    def body(self, names: tuple[str, ...]):
        """Parses member initializers, the body of a function, and the handlers of a
        function-try-block."""
        if self.peek() == "try":
            self.at += 1
        if self.peek() == ":":
            while self.peek() in (":", ","):
                self.at += 1
                self.skip_qualified_name()
                if self.peek() not in ("(", "{"):
                    self.fail("a member initializer must have brackets")
                self.skip_brackets()
                if self.peek() == "...":
                    self.at += 1
        if self.peek() != "{":
            self.fail(f"the body of a function must begin with '{{', but found '{self.peek()}'")
        self.statements(names)
        while self.peek() == "catch":
            self.at += 1
            self.skip_brackets()
            self.statements(names)

    def statements(self, names: tuple[str, ...]):
        """Parses the body of a function. Looks only for classes that are defined in the body."""
        depth = 0
        while True:
            token = self.peek()
            if token == "":
                self.fail("the file ends inside a function")
            if (
                token in CLASS_KEYS
                and self.peek(-1) in ("{", "}", ";", ">")
                and self.class_definition(names)
            ):
                continue
            depth += {"{": 1, "}": -1}.get(token, 0)
            self.at += 1
            if depth == 0:
                return
