# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check conflicts` finds the marks of a merge that is not finished."""

from planted import PlantedTest
from structure.conflicts import check_conflicts


class Conflicts(PlantedTest):
    def test_marks_are_found_in_any_file(self):
        begin, end = "<" * 7 + " HEAD\n", ">" * 7 + " branch\n"
        self.plant("docs/a.md", "# A\n" + begin + "one\n=======\nother\n" + end)
        self.assertEqual(
            check_conflicts(self.root, self.rules),
            [
                "docs/a.md:2: the mark of a conflict of a merge",
                "docs/a.md:6: the mark of a conflict of a merge",
            ],
        )

    def test_other_lines_are_no_marks(self):
        self.plant("docs/a.md", "A\n=======\n  " + "<" * 7 + " b\n" + "<" * 8 + " c\n")
        self.assertEqual(check_conflicts(self.root, self.rules), [])
