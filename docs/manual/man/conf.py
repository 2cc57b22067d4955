# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the man pages. The manual has the same pages (docs/manual/conf.py)."""

import re
from pathlib import Path

root = Path(__file__).resolve().parents[3]
project = "flotilla"
author = "The flotilla authors"
version = release = re.search(
    r"project\(flotilla VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8")
)[1]
root_doc = "flotilla"
highlight_language = "none"
man_pages = [
    ("flotilla", "flotilla", "shows and examines the GPUs of a machine", author, 1),
    ("flotilla_bench", "flotilla_bench", "measures the cost of dispatching tasks", author, 1),
]
