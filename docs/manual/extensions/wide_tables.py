# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Lets long names in the cells of tables break where a reader expects it: after `_`, `.`, `::` and
`/`, and before an upper-case letter. Otherwise a table with names of tests is wider than the page.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

MAX_LETTERS = 16  # a name with more letters may break
BREAK = re.compile(r"(?<=[_./])(?=\w)|(?<=::)(?=\w)|(?<=[a-z0-9])(?=[A-Z])")


class BreakableNames(SphinxTransform):
    default_priority = 900

    def apply(self, **kwargs: object) -> None:
        for entry in self.document.findall(nodes.entry):
            for literal in list(entry.findall(nodes.literal)):
                if any(len(word) > MAX_LETTERS for word in literal.astext().split()):
                    self.split(literal)

    def split(self, literal: nodes.literal) -> None:
        children: list[nodes.Node] = []
        for part in BREAK.split(literal.astext()):
            if children:
                children.append(nodes.raw("", "<wbr>", format="html"))
            children.append(nodes.Text(part))
        literal.children.clear()
        literal += children


def setup(app: Sphinx) -> dict:
    app.add_transform(BreakableNames)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
