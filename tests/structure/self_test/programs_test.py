# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs `check` and `report` as CTest does."""

import subprocess
import sys
from pathlib import Path

from planted import PlantedTest

FOLDER = Path(__file__).resolve().parent.parent
RULES = """
[limits]
file_lines = 3
member_functions = 1
[[layer]]
name = "low"
path = "src/low"
may_include = []
[[layer]]
name = "high"
path = "src/high"
may_include = ["low"]
[includes]
suffixes = [".hpp", ".cpp"]
search = ["src"]
[sizes]
folders = ["src"]
[classes]
folders = ["src"]
suffixes = [".hpp"]
[citations]
skip = []
folders = ["docs"]
records = "docs/results"
"""


class Programs(PlantedTest):
    def start(self, program: str, *arguments: str) -> subprocess.CompletedProcess:
        self.plant("rules.toml", RULES)
        return subprocess.run(
            [
                sys.executable,
                "-B",
                FOLDER / program,
                *arguments,
                "--root",
                self.root,
                "--rules",
                self.root / "rules.toml",
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_checks_pass_where_nothing_is_wrong(self):
        self.plant("src/low/a.hpp", "struct a { void f(); };\n")
        self.plant("src/high/b.hpp", '#include "low/a.hpp"\n')
        for check in ("arrows", "sizes", "classes", "citations"):
            done = self.start("check", check)
            self.assertEqual((done.returncode, done.stderr), (0, ""), check)
            self.assertIn(f"{check}: 0 violations\n", done.stdout)

    def test_each_check_fails_and_prints_what_was_planted(self):
        self.plant(
            "src/low/a.hpp",
            '#include "high/b.hpp"\n\nstruct a { void f(); void g(); };\n// docs/none.md\n',
        )
        self.plant("src/high/b.hpp")
        for check, said in {
            "arrows": 'src/low/a.hpp:1: includes "high/b.hpp":'
            " layer low may not include layer high",
            "sizes": "src/low/a.hpp: 4 lines, but at most 3 are allowed",
            "classes": "src/low/a.hpp:3: a has 2 member functions, but at most 1 are allowed",
            "citations": "src/low/a.hpp:4: cites docs/none.md, which does not exist",
        }.items():
            done = self.start("check", check)
            self.assertEqual(done.returncode, 1, check)
            self.assertIn(said + "\n", done.stdout)
            self.assertIn(f"{check}: 1 violations\n", done.stdout)

    def test_the_report_has_a_line_for_each_layer(self):
        self.plant("src/low/a.hpp", "struct a { void f(); void g(); };\n")
        self.plant("src/high/b.hpp", '#include "low/a.hpp"\n\n\n\n')
        done = self.start("report")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:4]]
        self.assertEqual(cells[0][:5], ["room", "files", "lines", "median", "longest"])
        self.assertEqual(cells[2], ["low", "1", "1", "1", "1 a.hpp", "2 a", "0", "0"])
        self.assertEqual(cells[3], ["high", "1", "4", "4", "4 b.hpp", "-", "1", "0"])
        self.assertIn("2 files, median 2 lines, 1 longer than 3", lines)
        self.assertIn(
            "1 classes, 1 with more than 1 member functions, 0 pairs of mutual friends", lines
        )
