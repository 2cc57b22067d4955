# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""A small test repository in a temporary folder, with its own rules. Tests add violations to it."""

import tempfile
import unittest
from pathlib import Path

from structure.rules import Rules

LAYERS = {
    "layer": [
        {"name": "public", "path": "include/flotilla", "may_include": []},
        {"name": "low", "path": "src/low", "may_include": ["public"]},
        {"name": "hidden", "path": "src/hidden", "may_include": ["public", "low"]},
        {"name": "high", "path": "src/high", "may_include": ["public", "low"]},
    ],
    "rooms": [{"layer": "high", "floors": [["cellar"], ["left", "right"], ["roof"]]}],
    "includes": {
        "suffixes": [".hpp", ".cpp", ".inc"],
        "search": ["src", "include"],
        "generated": {"flotilla/version.hpp": "public"},
    },
    "limits": {"file_lines": 10, "member_functions": 2, "comment_columns": 100},
    "sizes": {"folders": ["src"], "exception": []},
    "classes": {"folders": ["src"], "suffixes": [".hpp", ".cpp"]},
    "citations": {"skip": ["build"], "folders": ["docs", "src"], "records": "docs/results"},
}
ROOMS = ["cellar", "left", "right", "roof"]


class PlantedTest(unittest.TestCase):
    """`self.plant(path, text)` writes a file. Checks take `self.root` and `self.rules`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.rules = Rules(LAYERS)
        for room in ROOMS:
            (self.root / "src/high" / room).mkdir(parents=True)

    def plant(self, path: str, text: str = ""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
