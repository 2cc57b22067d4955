# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check recipes` finds code in a document that no source file contains."""

from planted import PlantedTest
from structure.recipes import check_recipes
from structure.rules import Rules

RULES = Rules({"recipes": [{"document": "docs/a.md", "source": "tests/a.cpp"}]})


class Recipes(PlantedTest):
    def check(self):
        return check_recipes(self.root, RULES)

    def test_code_with_another_indent_is_found_in_the_source(self):
        self.plant("docs/a.md", "```cpp\nif (x) {\n  f();\n}\n```\n")
        self.plant("tests/a.cpp", "void g() {\n  if (x) {\n    f();\n  }\n}\n")
        self.assertEqual(self.check(), [])

    def test_code_that_the_source_lacks_is_named(self):
        self.plant("docs/a.md", "# A\n```cpp\nf();\n```\n\n```cpp\nh();\n```\n")
        self.plant("tests/a.cpp", "f();\n")
        self.assertEqual(self.check(), ["docs/a.md:6: this code is not in tests/a.cpp"])

    def test_a_document_without_code_is_reported(self):
        self.plant("docs/a.md", "# A\n")
        self.plant("tests/a.cpp", "f();\n")
        self.assertEqual(self.check(), ["docs/a.md: has no block of C++ code"])
