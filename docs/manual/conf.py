# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the manual. The source folder is the root of the repository, so the pages
of docs/ and the READMEs are parts of the manual as they are, and links between them work in
both."""

import os
import re
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
root = here.parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(here / "extensions"))

project = "flotilla"
author = "The flotilla authors"
copyright = "2026 The flotilla authors"
version = release = re.search(
    r"project\(flotilla VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8")
)[1]

extensions = [
    "myst_parser",
    "breathe",
    "headers",
    "fortran_module",
    "repository_links",
    "wide_tables",
]
root_doc = "docs/manual/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**",
    "packaging/README.md",
    "samples/*/README.md",
    "tests/README.md",
]
exclude_patterns = ["build", ".git", "docs/manual/tools", "docs/manual/extensions"]
language = "en"
nitpicky = False
highlight_language = "none"
primary_domain = "cpp"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

breathe_projects = {"flotilla": os.environ["FLOTILLA_DOXYGEN_XML"]}
breathe_default_project = "flotilla"
breathe_default_members = ("members", "undoc-members")
breathe_domain_by_extension = {"hpp": "cpp", "h": "c"}
breathe_show_include = False
breathe_show_define_initializer = False
breathe_order_parameters_first = True

html_theme = "furo"
html_title = f"flotilla {release}"
html_static_path = ["static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
