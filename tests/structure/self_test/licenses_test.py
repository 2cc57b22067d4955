# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check licenses` finds source files without the lines of the license."""

import unittest

from structure.licenses import has_license

LINES = "SPDX-FileCopyrightText: The flotilla authors\n{0} SPDX-License-Identifier: Apache-2.0\n"


class Licenses(unittest.TestCase):
    def test_the_lines_are_found_in_comments_of_both_kinds(self):
        self.assertTrue(has_license("// " + LINES.format("//") + "#pragma once\n"))
        self.assertTrue(has_license("#!/bin/sh\n# " + LINES.format("#") + "exit\n"))

    def test_a_file_without_the_lines_is_found(self):
        self.assertFalse(has_license("#pragma once\n"))
        self.assertFalse(has_license(""))
        self.assertFalse(has_license("#pragma once\n// " + LINES.format("//")))
