# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check exceptions` finds exception classes that a translation has forgotten."""

from planted import PlantedTest
from structure.exceptions import check_exceptions
from structure.rules import Rules

RULES = Rules({"exceptions": {"headers": ["error.hpp"], "translations": ["c.cpp"]}})
CLASSES = """
class FLOTILLA_EXPORT error : public std::runtime_error {
};
class FLOTILLA_EXPORT bad : public error {
};
class worse : public bad {
};
// class old : public error {
"""


class Exceptions(PlantedTest):
    def check(self, *catches: str, classes: str = CLASSES) -> list[str]:
        self.plant("error.hpp", classes)
        self.plant("c.cpp", "try {}" + "".join(f" catch ({each}) {{}}" for each in catches) + "\n")
        return check_exceptions(self.root, RULES)

    def test_all_are_caught(self):
        self.assertEqual(self.check("worse const& e", "flotilla::bad const&", "..."), [])
        self.assertEqual(self.check("worse const&", "bad const&", "error const&"), [])

    def test_a_forgotten_class_is_found(self):
        self.assertEqual(self.check("bad const&"), ["c.cpp: the exception worse is not caught"])

    def test_the_order_counts(self):
        found = ["c.cpp: worse is caught after its base bad"]
        self.assertEqual(self.check("bad const&", "worse const&"), found)

    def test_headers_without_classes_are_a_mistake(self):
        self.assertEqual(self.check(classes=""), ["no exception class in error.hpp"])
