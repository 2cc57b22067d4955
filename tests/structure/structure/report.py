# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of the structure: a table with a line for each layer and room, and a summary."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import median

from structure.arrows import Arrows, find_arrows
from structure.classes import find_classes, mutual_friends
from structure.rules import Rules
from structure.sizes import Size, find_sizes


def arrow_summary(found: Arrows) -> str:
    places = {arrow.source_place.name for arrow in found.arrows}
    places |= {arrow.target_place.name for arrow in found.arrows}
    up = found.up
    up_places = {(arrow.source_place.name, arrow.target_place.name) for arrow in up}
    lines = [
        f"{len(places)} layers and rooms, {len(found.between_places())} arrows between them,"
        f" {len(up_places)} of these up ({len(up)} includes),"
        f" {len(found.cycles_of_places())} cycles of layers and rooms,"
        f" {len(found.cycles_of_files())} cycles of files"
    ]
    lines += [f"cycle: {', '.join(cycle)}" for cycle in found.cycles_of_places()]
    return "\n".join(lines)


@dataclass
class Line:
    """A line of the table: one layer, room or folder."""

    name: str
    sizes: list[Size]
    largest_class: str
    arrows: int
    arrows_up: int

    def cells(self) -> list[str]:
        longest = max(self.sizes, key=lambda size: size.lines)
        return [
            self.name,
            str(len(self.sizes)),
            str(sum(size.lines for size in self.sizes)),
            f"{median(size.lines for size in self.sizes):.0f}",
            f"{longest.lines} {longest.path.name}",
            self.largest_class,
            str(self.arrows),
            str(self.arrows_up),
        ]


HEAD = ["room", "files", "lines", "median", "longest", "largest class", "arrows", "up"]


def report(root: Path, rules: Rules) -> str:
    found = find_arrows(root, rules)
    classes, problems = find_classes(root, rules)

    def name_of(path: PurePosixPath) -> str:
        place = rules.place_of(path)
        return place.name if place else path.parts[0]

    sizes: dict[str, list[Size]] = {}
    for size in find_sizes(root, rules):
        sizes.setdefault(name_of(size.path), []).append(size)
    largest: dict[str, tuple[int, str]] = {}
    for c in classes:
        entry = (len(c.info.members), c.info.name.split("::")[-1])
        largest[name_of(c.path)] = max(entry, largest.get(name_of(c.path), (0, "")))
    arrows = Counter(source for source, _ in found.between_places())
    up = Counter(
        source
        for source, _ in {(arrow.source_place.name, arrow.target_place.name) for arrow in found.up}
    )

    order = []  # layers and rooms in the order of structure.toml, then the other folders
    for name, layer in rules.layers.items():
        order += [f"{name}/{room}" for room in rules.floors.get(name, {})] + [name]
    order += sorted(name for name in sizes if name not in order)

    rows = []
    for name in order:
        if name in sizes:
            count, of = largest.get(name, (0, ""))
            rows.append(
                Line(
                    name, sizes[name], f"{count} {of}" if count else "-", arrows[name], up[name]
                ).cells()
            )
    widths = [max(len(row[i]) for row in rows + [HEAD]) for i in range(len(HEAD))]

    def text(cells: list[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"

    everything = [size for group in sizes.values() for size in group]
    exceptions = {e["path"] for e in rules.data["sizes"].get("exception", [])}
    limits = rules.data["limits"]
    too_long = [
        s for s in everything if s.lines > limits["file_lines"] and str(s.path) not in exceptions
    ]
    too_large = [c for c in classes if len(c.info.members) > limits["member_functions"]]
    lines = [text(HEAD), "|" + "|".join("-" * (width + 2) for width in widths) + "|"]
    lines += [text(row) for row in rows]
    lines += [
        "",
        arrow_summary(found),
        f"{len(everything)} files, median {median(s.lines for s in everything):.0f} lines,"
        f" {len(too_long)} longer than {limits['file_lines']}",
        f"{len(classes)} classes,"
        f" {len(too_large)} with more than {limits['member_functions']} member functions,"
        f" {len(mutual_friends(classes))} pairs of mutual friends",
    ]
    return "\n".join(lines + problems)
