# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Finds NVRTC in NVIDIA's wheels."""

import pathlib
import sys

_PLACES = ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12")


def find():
    """Returns the path of the library in the first folder of sys.path that has it, or ""."""
    for folder in sys.path:
        for place in _PLACES:
            path = pathlib.Path(folder).absolute() / "nvidia" / place
            if folder and path.is_file():
                return str(path)
    return ""
