# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Type checkers understand the package."""

import re
import subprocess
import sys

import pytest
from conftest import FOLDER

import flotilla as fl

SAMPLES = FOLDER.parents[1] / "samples"
PROGRAMS = [FOLDER / "every_name.py", *sorted(SAMPLES.glob("*_python/main.py"))]


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mypy")  # the runs share a cache

    def run(program):
        command = [sys.executable, "-m", "mypy", "--strict", str(program)]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)

    return run


# requirement: mypy finds no fault in typed programs
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.parent.name)
def test_mypy_accepts_programs(mypy, program):
    done = mypy(program)
    assert done.returncode == 0, done.stdout + done.stderr


# requirement
def test_program_with_every_name_runs(tmp_path):
    subprocess.run([sys.executable, PROGRAMS[0], tmp_path], check=True)


# requirement: the program has each public name, and each public name is in __all__
def test_every_name_is_used_and_public():
    used = set(re.findall(r"\bfl\.(\w+)", PROGRAMS[0].read_text()))
    assert set(fl.__all__) <= used
    public = {name for name in dir(fl) if not name.startswith("_")}
    assert public == set(fl.__all__)
    assert sorted(fl.__all__) == fl.__all__


# requirement: a mistake is found
def test_mypy_finds_mistakes(mypy, tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text("import flotilla as fl\nfl.Runtime('cpu:1').empty(3).numpy().no_such_name\n")
    done = mypy(program)
    assert "no_such_name" in done.stdout and done.returncode == 1
