# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check sizes` finds files that are too long, and exceptions that are not needed."""

import copy

from planted import LAYERS, PlantedTest
from structure.rules import Rules
from structure.sizes import check_sizes, count_lines


class Sizes(PlantedTest):
    def test_a_file_as_long_as_the_limit_is_allowed(self):
        self.plant("src/a.txt", "line\n" * 10)
        self.assertEqual(check_sizes(self.root, self.rules), [])

    def test_a_file_that_is_too_long_is_found_whatever_its_kind(self):
        self.plant("src/low/a.cpp", "line\n" * 11)
        self.plant("src/run", "line\n" * 10 + "the last line ends without a newline")
        self.assertEqual(
            check_sizes(self.root, self.rules),
            [
                "src/low/a.cpp: 11 lines, but at most 10 are allowed",
                "src/run: 11 lines, but at most 10 are allowed",
            ],
        )

    def test_a_comment_that_is_too_wide_is_found(self):
        self.plant("src/a.hpp", "/// " + "x" * 96 + "\n  // " + "x" * 96 + "\n")
        self.assertEqual(
            check_sizes(self.root, self.rules), ["src/a.hpp:2: 101 columns, but at most 100"]
        )

    def test_binary_files_and_other_folders_are_left_out(self):
        (self.root / "src/picture").write_bytes(b"\0\n" * 20)
        self.plant("docs/long.md", "line\n" * 20)
        self.assertEqual(check_sizes(self.root, self.rules), [])

    def test_an_exception_is_allowed_while_it_is_needed(self):
        rules = copy.deepcopy(LAYERS)
        rules["sizes"]["exception"] = [{"path": "src/list.inc", "reason": "generated"}]
        self.plant("src/list.inc", "line\n" * 20)
        self.assertEqual(check_sizes(self.root, Rules(rules)), [])
        self.plant("src/list.inc", "line\n" * 5)
        self.assertEqual(
            check_sizes(self.root, Rules(rules)),
            [
                "src/list.inc: structure.toml excepts it from the limit of 10 lines,"
                " but it is not longer"
            ],
        )

    def test_lines_are_counted_as_an_editor_does(self):
        self.assertEqual(
            [count_lines(text) for text in ("", "a", "a\n", "a\nb", "\n\n")], [0, 1, 1, 2, 2]
        )
