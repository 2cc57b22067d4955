# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Links of the pages to files and folders of the repository that are no pages.

A link to a file leads to a page with the text of the file. A link to a folder leads to the page
that describes the folder, or to a page with the names of its files. The name of a document, such as
`docs/kernels.md`, becomes a link.
"""

import html
import posixpath
import re
from pathlib import Path

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

FOLDER = "source"  # of the site
LEXERS = {".cu": "cuda", ".f90": "fortran"}


def page_of(path: str) -> str:
    """Returns the name of the page of a file or folder."""
    return f"{FOLDER}/{path or 'repository'}"


class RepositoryLinks(SphinxTransform):
    """Replaces links that Sphinx would make downloads of, and links to folders."""

    default_priority = 200

    def apply(self, **kwargs: object) -> None:
        for node in list(self.document.findall(addnodes.download_reference)):
            if node.get("reftype") == "myst":
                self.replace(node, self.path(node["reftarget"]))
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node.get("reftype") != "myst" or "#" in node["reftarget"]:
                continue
            path = self.path(node["reftarget"])
            if (Path(self.env.srcdir) / path).is_dir():
                self.link_folder(node, path)

    def path(self, target: str) -> str:
        here = posixpath.dirname(self.env.docname)
        path = posixpath.normpath(posixpath.join(here, target))
        return "" if path == "." else path

    def link_folder(self, node: addnodes.pending_xref, path: str) -> None:
        for page in (f"{path}/README", path):
            if page in self.env.found_docs:
                here = posixpath.dirname(self.env.docname)
                node["reftarget"] = posixpath.relpath(f"{page}.md", here or ".")
                return
        if path == "docs":
            path_of_root = self.config.root_doc
            node["reftarget"] = posixpath.relpath(
                f"{path_of_root}.md", posixpath.dirname(self.env.docname) or "."
            )
            return
        self.replace(node, path)

    def replace(self, node: nodes.Element, path: str) -> None:
        if not hasattr(self.env, "repository_pages"):
            self.env.repository_pages = set()
        self.env.repository_pages.add(path)
        uri = relative_uri(f"{self.env.docname}.html", f"{page_of(path)}.html")
        link = nodes.reference("", "", *node.children, internal=True, refuri=uri)
        node.replace_self(link)


class DocumentNames(SphinxTransform):
    """Makes links of names such as `docs/kernels.md#twins`, which comments of headers have."""

    default_priority = 210

    def apply(self, **kwargs: object) -> None:
        for node in list(self.document.findall(nodes.literal)):
            found = re.fullmatch(r"(docs/[\w/]+)\.md(#[\w-]+)?", node.astext())
            if not found or found[1] not in self.env.found_docs:
                continue
            if isinstance(node.parent, nodes.reference | addnodes.pending_xref):
                continue
            uri = relative_uri(f"{self.env.docname}.html", f"{found[1]}.html") + (found[2] or "")
            node.replace_self(nodes.reference("", "", node.deepcopy(), internal=True, refuri=uri))


def lexer_of(path: Path) -> str:
    if path.suffix in LEXERS:
        return LEXERS[path.suffix]
    try:
        return get_lexer_for_filename(path.name).aliases[0]
    except (ClassNotFound, IndexError):
        return "text"


def collect_pages(app: Sphinx):
    """Makes the pages of files and folders, and of the files of these folders."""
    root = Path(app.srcdir)
    waiting = sorted(getattr(app.env, "repository_pages", set()))
    made = set()
    while waiting:
        path = waiting.pop()
        if path in made:
            continue
        made.add(path)
        file = root / path
        if file.is_dir():
            names = sorted(each.name for each in file.iterdir() if each.is_file())
            waiting += [posixpath.join(path, name) for name in names]
            here = f"{page_of(path)}.html"
            items = []
            for name in names:
                uri = relative_uri(here, f"{page_of(posixpath.join(path, name))}.html")
                items.append(f'<li><a href="{uri}"><code>{html.escape(name)}</code></a></li>')
            body = f"<ul>{''.join(items)}</ul>"
        else:
            text = file.read_text(encoding="utf-8")
            body = app.builder.highlighter.highlight_block(text, lexer_of(file))
        title = f"<code>{html.escape(path)}</code>"
        yield (
            page_of(path),
            {"title": path, "body": f"<h1>{title}</h1>{body}", "display_toc": False},
            "page.html",
        )


def merge(app, env, docnames, other) -> None:
    pages = getattr(env, "repository_pages", set())
    env.repository_pages = pages | getattr(other, "repository_pages", set())


def setup(app: Sphinx) -> dict:
    app.add_transform(RepositoryLinks)
    app.add_transform(DocumentNames)
    app.connect("html-collect-pages", collect_pages)
    app.connect("env-merge-info", merge)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
