# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""The exception classes: each exception of C++ has one, and tasks raise them."""

import re
import threading
import time
import types

import pytest
from conftest import FOLDER

import flotilla as fl

TOP = FOLDER.parents[1]


def classes_of_cxx():
    """The exception classes of C++, and their bases."""
    headers = TOP / "include" / "flotilla" / "error"
    text = (headers / "error.hpp").read_text() + (headers / "compile_error.hpp").read_text()
    return dict(re.findall(r"class FLOTILLA_EXPORT (\w+) : public ([\w:]+) \{", text))


def name_in_python(cxx):
    return "".join(part.capitalize() for part in cxx.split("_"))


# What python/src/errors.cpp catches, in its order, and the class that it raises. C++ exceptions
# cannot be thrown from here, so the test reads the source.
def caught():
    source = (TOP / "python" / "src" / "errors.cpp").read_text()
    kinds = re.search(r"enum kinds : unsigned \{(.*?)kinds_count", source, re.S)[1]
    entries = re.search(r"entries\[kinds_count\] = \{(.*?)\n\};", source, re.S)[1]
    names = re.findall(r'\{"(\w+)",', entries)
    class_of = dict(zip(re.findall(r"\w+", kinds), names, strict=True))
    convert = source[source.index("nb::object convert("):]
    block = r"catch \((\w+) const& e\) \{(?:(?!catch).)*?make\((\w+), e\.what"
    found = re.findall(block, convert, re.S)
    return [(cxx, class_of[kind]) for cxx, kind in found]


CLASSES = classes_of_cxx()


# requirement: every exception of C++ has a class of its own, with the same base
@pytest.mark.parametrize("cxx", CLASSES)
def test_class_of_an_exception(cxx):
    raises = dict(caught())
    assert cxx in raises, f"python/src/errors.cpp does not catch {cxx}"
    assert raises[cxx] == name_in_python(cxx)
    made = getattr(fl, name_in_python(cxx))
    if CLASSES[cxx] in CLASSES:
        assert issubclass(made, getattr(fl, name_in_python(CLASSES[cxx])))


@pytest.fixture
def blocker(rt):
    """A task whose successors are not launched until `go` is set."""
    go = threading.Event()
    task = rt.submit_host(lambda: go.wait(20))
    yield types.SimpleNamespace(task=task, go=go)
    go.set()


# requirement: a task that does not begin in time ends with TimedOut, and never runs
@pytest.mark.parametrize("way", ["launch", "function", "host", "bulk"])
def test_task_that_does_not_begin_in_time(rt, program, blocker, way):
    ran = []
    options = {"after": blocker.task, "timeout": 0.02, "label": "late"}
    if way == "launch":
        task = rt.submit(program.kernel("empty", "").over(1)(), **options)
    elif way == "function":
        task = rt.submit(ran.append, **options)
    elif way == "host":
        task = rt.submit_host(lambda: ran.append(1), **options)
    else:
        task = rt.submit_bulk([program.kernel("empty", "").over(1)()] * 3, **options)
    with pytest.raises(fl.BulkError if way == "bulk" else fl.TimedOut, match="late") as raised:
        task.wait(20)
    why = raised.value.__cause__ if way == "bulk" else raised.value
    assert type(why) is fl.TimedOut and isinstance(why, TimeoutError)
    assert "did not begin before its deadline" in str(why)
    assert type(task.error) is type(raised.value)
    assert not blocker.task.done
    blocker.go.set()
    rt.wait_idle()
    assert ran == []


# requirement: a replay ends with TimedOut after its predecessor, if it has not begun in time
def test_replay_that_does_not_begin_in_time(rt, program, blocker):
    step = fl.Recording(rt)
    step.add(program.kernel("empty", "").over(1)())
    step.replay(timeout=60).wait()
    task = step.replay(after=blocker.task, timeout=0.02)
    time.sleep(0.05)
    blocker.go.set()
    with pytest.raises(fl.TimedOut):
        task.wait(20)


# requirement: tasks that begin in time run, and bad timeouts are refused
def test_timeouts(rt, program):
    empty = program.kernel("empty", "").over(1)
    rt.submit(empty(), timeout=60).wait()
    rt.submit(empty(), timeout=float("inf")).wait()
    rt.post(empty(), timeout=1e12)
    for bad in [-1, float("nan")]:
        with pytest.raises(fl.InvalidArgument, match="timeout"):
            rt.submit(empty(), timeout=bad)
    with pytest.raises(TypeError):
        rt.submit(empty(), timeout="soon")
