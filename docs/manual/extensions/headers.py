# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Changes what Breathe makes of a header.

- The names have no namespace around them. Breathe would declare the namespace once in each header,
  which Sphinx refuses, and would indent everything in it.
- Classes come before functions, as they do in the headers.
- An exception without a text has no dash behind it.
"""

from breathe.renderer.sphinxrenderer import SphinxRenderer, WithContext
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


def visit_namespace(renderer: SphinxRenderer, node) -> list[nodes.Node]:
    file_data = renderer.compound_parser.parse(node.refid)
    outer = renderer.context.create_child_context(file_data)
    file_data.compounddef.briefdescription = file_data.compounddef.detaileddescription = None
    with WithContext(renderer, outer.create_child_context(file_data.compounddef)):
        made = renderer.render(file_data, outer)
    sections = [each for each in made if "breathe-sectiondef" in each.get("classes", [])]
    return [each for each in made if each not in sections] + sections


class Dashes(SphinxTransform):
    """Removes a dash at the end of a paragraph."""

    default_priority = 300

    def apply(self, **kwargs: object) -> None:
        for paragraph in self.document.findall(nodes.paragraph):
            removed = []
            for child in reversed(paragraph.children):
                if child.astext().strip() not in ("", "--"):
                    break
                removed.append(child)
            if any(child.astext().strip() for child in removed):
                for child in removed:
                    paragraph.remove(child)


def setup(app: Sphinx) -> dict:
    app.add_transform(Dashes)
    SphinxRenderer.visit_namespace = visit_namespace
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
