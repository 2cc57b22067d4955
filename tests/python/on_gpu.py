# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests that need a GPU. A test module that imports them uses them instead of those
of conftest.py."""

import os
import pathlib

import pytest

import flotilla as fl


@pytest.fixture
def rt():
    if not any(device.kind == "gpu" for device in fl.devices()):
        pytest.skip("needs a GPU")
    with fl.Runtime("cuda:0") as made:
        yield made


@pytest.fixture
def saxpy(rt):
    image = pathlib.Path(os.environ.get("FLOTILLA_TEST_IMAGE", "")).with_name("gpu.fatbin")
    if not image.is_file():
        pytest.skip(f"needs kernels for GPUs, but there is no file {image}")
    types = "float, float const*, float*, int"
    return rt.load(gpu=image.read_bytes()).kernel("saxpy", types)
