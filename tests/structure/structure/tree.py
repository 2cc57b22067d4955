# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Finds and reads the files of the repository."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


# The first lines of every source file, as comments.
LICENSE_LINES = [
    "SPDX-FileCopyrightText: The flotilla authors",
    "SPDX-License-Identifier: Apache-2.0",
]


def files_under(
    root: Path, folders: list[str], suffixes: list[str] | None = None, skip: list[str] = ()
) -> Iterator[PurePosixPath]:
    """Yields the files of the folders, sorted, as paths relative to `root`. Leaves out Python's
    caches and the folders in `skip`."""
    skipped = {PurePosixPath(folder) for folder in skip}

    def walk(folder: PurePosixPath) -> Iterator[PurePosixPath]:
        for entry in sorted((root / folder).iterdir()):
            path = folder / entry.name
            if path in skipped or entry.name == "__pycache__":
                continue
            if entry.is_dir() and not entry.is_symlink():
                yield from walk(path)
            elif entry.is_file() and (suffixes is None or entry.suffix in suffixes):
                yield path

    for folder in folders:
        if (root / folder).is_dir():
            yield from walk(PurePosixPath(folder))


def read_text(path: Path) -> str | None:
    """Returns the text of a file, or None if the file is binary."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")
