# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check designators` finds initializers with names of fields."""

from planted import PlantedTest
from structure.designators import check_designators
from structure.rules import Rules

RULES = Rules({"designators": {"folders": ["include"], "suffixes": [".hpp"]}})


class Designators(PlantedTest):
    def check(self, text: str) -> list[int]:
        self.plant("include/a.hpp", text)
        return [int(problem.split(":")[1]) for problem in check_designators(self.root, RULES)]

    def test_each_form_is_found(self):
        self.assertEqual(self.check("p f() { return {.x = 1}; }\n"), [1])
        self.assertEqual(self.check("p const a{\n  .x{1},\n  .y = 2};\n"), [2, 3])
        self.assertEqual(self.check("p const a{1, .x.y = 1};\n"), [1])

    def test_other_code_is_not(self):
        self.assertEqual(self.check("/// f({.x = 1})\nint a[]{b.x, .5};\nf(T{}, x...);\n"), [])
        self.assertEqual(self.check("void f() { g(a, b.x = 1); }\n"), [])

    def test_other_folders_may_have_them(self):
        self.plant("src/a.hpp", "p const a{.x = 1};\n")
        self.assertEqual(self.check(""), [])
