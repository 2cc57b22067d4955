"""Finds classes, their member functions and their friends in the tokens of a C++ file.

It knows declarations, not expressions: that is enough, because a class holds declarations only, and
what lies in brackets is skipped as a whole. A file that it cannot follow is an error.
"""

import re
from dataclasses import dataclass, field

from structure.cpp_heads import CLASS_KEYS, HeadReader
from structure.cpp_tokens import Token, tokens_of

ACCESS = {"public", "protected", "private"}
# A name that is followed by parentheses and yet is no function.
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
# The call of a macro, which may stand without a semicolon.
MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")


@dataclass
class ClassInfo:
    name: str  # with its namespaces and outer classes
    line: int
    members: list[str] = field(default_factory=list)  # neither `= default` nor `= delete`
    friends: list[str] = field(default_factory=list)  # classes, as written


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
        """The declarations of a file, a namespace or a class, up to `end`."""
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
                self.fail(f"cannot follow '{token}'")

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
        """A class and the variables declared with it. Skips nothing if it is no definition."""
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
        before = ""  # the token before this one, brackets left out
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
                continue  # before: the name of the template
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
                self.skip_to_semicolon()  # bit fields
                break
            elif token == "{":
                self.skip_brackets()  # a variable's initializer
            else:
                if not (token == "~" or before == "~"):
                    before = token
                else:
                    before = "~" if token == "~" else "~" + token
                self.at += 1
        if info and name is not None and not defaulted:
            info.members.append(name)

    def body(self, names: tuple[str, ...]):
        """Member initializers, the body of a function, and handlers of a function-try-block."""
        if self.peek() == "try":
            self.at += 1
        if self.peek() == ":":
            while self.peek() in (":", ","):
                self.at += 1
                self.skip_qualified_name()
                if self.peek() not in ("(", "{"):
                    self.fail("a member initializer without brackets")
                self.skip_brackets()
                if self.peek() == "...":
                    self.at += 1
        if self.peek() != "{":
            self.fail(f"a function's body was expected, but there is '{self.peek()}'")
        self.statements(names)
        while self.peek() == "catch":
            self.at += 1
            self.skip_brackets()
            self.statements(names)

    def statements(self, names: tuple[str, ...]):
        """A body. Only the classes that it defines matter."""
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
