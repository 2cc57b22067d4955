# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Reads structure.toml. Finds the layer and the room of a file."""

import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Place:
    """The layer and the room of a file. `room` is None if the layer has no rooms. `floor` is None
    if structure.toml does not name the room."""

    layer: str
    room: str | None = None
    floor: int | None = None

    @property
    def name(self) -> str:
        return f"{self.layer}/{self.room}" if self.room else self.layer

    def __str__(self) -> str:
        return f"{self.name} (floor {self.floor})" if self.floor else self.name


class Rules:
    def __init__(self, data: dict):
        self.data = data
        self.layers = {layer["name"]: layer for layer in data.get("layer", [])}
        self.recipes = data.get("recipes", [])
        self.floors: dict[str, dict[str, int]] = {}
        for rooms in data.get("rooms", []):
            self.floors[rooms["layer"]] = {
                room: floor
                for floor, names in enumerate(rooms["floors"], start=1)
                for room in names
            }

    @classmethod
    def read(cls, path: Path) -> "Rules":
        with path.open("rb") as file:
            return cls(tomllib.load(file))

    def place_of(self, path: PurePosixPath) -> Place | None:
        """Returns the place of a file, or None if no layer contains the file. `path` is relative to
        the top of the repository."""
        for layer in self.layers.values():
            top = PurePosixPath(layer["path"])
            if not path.is_relative_to(top):
                continue
            floors = self.floors.get(layer["name"])
            if floors is None:
                return Place(layer["name"])
            room = path.relative_to(top).parts[0] if path.parent != top else None
            return Place(layer["name"], room, floors.get(room))
        return None

    def why_not(self, source: Place, target: Place) -> str | None:
        """Returns why a file of `source` may not include a file of `target`, or None if it may."""
        if source.layer != target.layer:
            if target.layer in self.layers[source.layer]["may_include"]:
                return None
            return f"layer {source.layer} may not include layer {target.layer}"
        if source.room == target.room or source.floor is None or target.floor is None:
            # The same room, or a file outside the rooms. find_arrows reports such files.
            return None
        if target.floor > source.floor:
            return f"{source} may not include {target}, which is higher"
        if target.floor == source.floor:
            return f"{source} and {target} may not include each other"
        return None
