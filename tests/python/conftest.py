# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share. They run on CPU devices."""

import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import flotilla as fl

FOLDER = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def image():
    return fl.compile_cpu(FOLDER / "kernels.cu")


@pytest.fixture(scope="session")
def image_file(image, tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "kernels.so"
    path.write_bytes(image)
    return path


@pytest.fixture
def rt():
    with fl.Runtime("cpu:2") as made:
        yield made


@pytest.fixture
def program(rt, image):
    return rt.load(cpu=image)


@pytest.fixture
def saxpy(program):
    return program.kernel("saxpy", "float a, float const* x, float* y, int n")


class Held:
    """A task that runs until `release`."""

    def __init__(self, rt, program, **options):
        self.go = rt.pinned(1, "int32")
        self.go.numpy()[0] = 0
        self.ticket = rt.submit(program.kernel("hold", "int const*").over(1)(self.go), **options)

    def release(self):
        self.go.numpy()[0] = 1


@pytest.fixture
def held(rt, program):
    made = Held(rt, program)
    yield made
    made.release()


def eventually(condition):
    """Waits until a condition is true."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition has not become true"
        time.sleep(0.001)


def run_child(code, *arguments, expect=0):
    """Runs Python code in a new process, and returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert done.returncode == expect, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def ones(n):
    return np.ones(n, np.float32)
