# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Finds arrows. An arrow is an include of one file by another. Reports arrows that point up, and
cycles of files and of folders."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from structure.rules import Place, Rules
from structure.tree import files_under, read_text

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Arrow:
    """An #include of a file of this repository."""

    source: PurePosixPath
    line: int
    text: str
    source_place: Place
    target_place: Place
    target: PurePosixPath | None  # None if the build generates the included file
    why_not: str | None  # why the include is forbidden; None if it is allowed

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: includes {self.text}: {self.why_not}"


@dataclass
class Arrows:
    arrows: list[Arrow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # files without a layer or room, and so on

    @property
    def up(self) -> list[Arrow]:
        return [arrow for arrow in self.arrows if arrow.why_not]

    def between_places(self) -> set[tuple[str, str]]:
        return {
            (arrow.source_place.name, arrow.target_place.name)
            for arrow in self.arrows
            if arrow.source_place.name != arrow.target_place.name
        }

    def cycles_of_places(self) -> list[list[str]]:
        return cycles(self.between_places())

    def cycles_of_files(self) -> list[list[str]]:
        return cycles({(str(a.source), str(a.target)) for a in self.arrows if a.target})


def cycles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Returns the strongly connected components that have more than one node or a node with an edge
    to itself. Uses Kosaraju's algorithm."""
    edges = set(edges)
    forward, backward = defaultdict(list), defaultdict(list)
    for source, target in edges:
        forward[source].append(target)
        backward[target].append(source)

    def reach(start: list[str], step: dict, seen: set[str]) -> list[str]:
        """Returns the nodes that can be reached from `start` and are not in `seen`, in the order in
        which a depth-first search finishes them. Adds these nodes to `seen`."""
        finished, stack = [], []
        for first in start:
            if first in seen:
                continue
            seen.add(first)
            stack.append((first, iter(step[first])))
            while stack:
                node, rest = stack[-1]
                following = next((n for n in rest if n not in seen), None)
                if following is None:
                    finished.append(node)
                    stack.pop()
                else:
                    seen.add(following)
                    stack.append((following, iter(step[following])))
        return finished

    nodes = sorted({node for edge in edges for node in edge})
    order = reach(nodes, forward, set())
    seen: set[str] = set()
    found = []
    for node in reversed(order):
        component = reach([node], backward, seen)
        if len(component) > 1 or (component and (node, node) in edges):
            found.append(sorted(component))
    return sorted(found)


def without_comments(text: str) -> str:
    """Returns the text with spaces in place of comments. The lines keep their numbers."""
    return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def resolve(
    root: Path, source: PurePosixPath, quote: str, name: str, search: list[str]
) -> PurePosixPath | None:
    folders = ([source.parent] if quote == '"' else []) + [PurePosixPath(s) for s in search]
    for folder in folders:
        if (root / folder / name).is_file():
            full = (root / folder / name).resolve()
            if full.is_relative_to(root.resolve()):
                return PurePosixPath(full.relative_to(root.resolve()).as_posix())
    return None


def find_arrows(root: Path, rules: Rules) -> Arrows:
    settings = rules.data["includes"]
    generated = settings.get("generated", {})
    result = Arrows()
    for layer, floors in rules.floors.items():
        for room in floors:
            if not (root / rules.layers[layer]["path"] / room).is_dir():
                result.problems.append(
                    f"{layer}/{room}: structure.toml names it, but it does not exist"
                )
    folders = sorted({layer["path"].split("/")[0] for layer in rules.layers.values()})
    for source in files_under(root, folders, settings["suffixes"]):
        place = rules.place_of(source)
        if place is None:
            result.problems.append(f"{source}: belongs to no layer")
            continue
        if place.layer in rules.floors and place.floor is None:
            result.problems.append(f"{source}: belongs to no room of layer {place.layer}")
        text = without_comments(read_text(root / source) or "")
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            written = quote + name + {"<": ">", '"': '"'}[quote]
            line = text.count("\n", 0, match.start()) + 1
            target = resolve(root, source, quote, name, settings["search"])
            if target:
                target_place = rules.place_of(target)
            elif name in generated:
                target_place = Place(generated[name])
            else:
                if quote == '"' or name.startswith("flotilla/"):
                    result.problems.append(
                        f"{source}:{line}: includes {written}, which was not found"
                    )
                continue
            if target_place is None:
                result.problems.append(
                    f"{source}:{line}: includes {written}, which belongs to no layer"
                )
                continue
            why_not = rules.why_not(place, target_place)
            result.arrows.append(Arrow(source, line, written, place, target_place, target, why_not))
    return result
