# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/failures prints the tests that failed, each with what explains it, and no others.

  python3 failures_test.py CTEST SCRIPT
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = """
add_test(passes "/bin/sh" "-c" "echo 'x.cpp:1: Failure, which does not count'")
add_test(of_googletest "/bin/sh" "-c" "seq 1000 2000; echo 'x.cpp:12: Failure'; echo 'Value of: y'; seq 2000 3000; false")
add_test(of_a_sanitizer "/bin/sh" "-c" "echo 'WARNING: ThreadSanitizer: data race'; echo '#0 z'; exit 66")
add_test(without_a_reason "/bin/sh" "-c" "seq 1000 2000; exit 3")
add_test(too_long "/bin/sleep" "100")
set_tests_properties(too_long PROPERTIES TIMEOUT 1)
add_test(is_skipped "/bin/sh" "-c" "exit 77")
set_tests_properties(is_skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(cannot_start "/no/such/program")
"""


class Failures(unittest.TestCase):
    ctest = script = ""

    def printed(self, *runs: str) -> list[str]:
        """What the script prints after runs of these tests in the same folder."""
        with tempfile.TemporaryDirectory() as folder:
            for tests in runs:
                pathlib.Path(folder, "CTestTestfile.cmake").write_text(tests)
                subprocess.run([self.ctest], cwd=folder, capture_output=True, check=False)
            run = subprocess.run([self.script, folder], capture_output=True, text=True, check=True)
            return run.stdout.splitlines()

    def test_names_each_failed_test(self) -> None:
        names = [line.split()[2] for line in self.printed(TESTS) if line.startswith("===")]
        expected = ["of_googletest", "of_a_sanitizer", "without_a_reason", "too_long", "cannot_start"]
        self.assertEqual(sorted(names), sorted(expected))

    def test_prints_what_explains_it(self) -> None:
        lines = self.printed(TESTS)
        for reason in ("x.cpp:12: Failure", "Value of: y", "WARNING: ThreadSanitizer: data race", "#0 z"):
            self.assertIn(reason, lines)
        for other in ("1500", "2999", "x.cpp:1: Failure, which does not count"):
            self.assertNotIn(other, lines)

    def test_prints_the_end_if_nothing_explains_it(self) -> None:
        self.assertIn("2000", self.printed('add_test(a "/bin/sh" "-c" "seq 1000 2000; false")'))

    def test_prints_nothing_if_all_passed(self) -> None:
        self.assertEqual(self.printed('add_test(a "/bin/sh" "-c" "exit 0")'), [])

    def test_prints_nothing_of_an_earlier_run(self) -> None:
        runs = ('add_test(a "/bin/sh" "-c" "exit 1")', 'add_test(a "/bin/sh" "-c" "exit 0")')
        self.assertEqual(self.printed(*runs), [])


if __name__ == "__main__":
    Failures.script = sys.argv.pop()
    Failures.ctest = sys.argv.pop()
    unittest.main()
