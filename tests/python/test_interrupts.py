# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends every wait. Each test has a process of its own, which gets SIGINT while it waits."""

import signal
import subprocess
import sys
import time

import pytest

# Prints "waits" before each wait, so that the test knows when to send the signal.
BEGIN = """
import os, sys, threading, time
import numpy as np
import flotilla as fl

image = sys.argv[1]
rt = fl.Runtime("cpu:2", window=64)
program = rt.load_file(image)
go = np.zeros(1, np.int32)
hold = program.kernel("hold", "int const*").over(1)
add = program.kernel("add_at", "int*, int, int").with_shape(1, 1)
never = hold(go)  # ends when the process does

def waits():
    print("waits", flush=True)

def interrupted(call):
    waits()
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""

FLOW = """
flow = fl.Flow(rt)
data = flow.data(np.zeros(4, np.int32))
hold_and_add = program.kernel("hold_and_add", "int const*, int*").with_shape(1, 1)
flow.submit(hold_and_add, go, fl.update(data))
"""

# A task uses the array from which the data were made.
ON_HOST = """
flow = fl.Flow(rt)
data = flow.data(np.zeros(4, np.int32))
flow.submit_host(lambda x: time.sleep(1000), fl.update(data))
"""

LEAVE = "\nos._exit(0)\n"

WAITS = {
    "ticket": "interrupted(rt.submit(never).wait)",
    "ticket with a timeout": "ticket = rt.submit(never); interrupted(lambda: ticket.wait(1000))",
    "wait_idle": "rt.submit(never); interrupted(rt.wait_idle)",
    "close": "rt.submit(never); interrupted(rt.close); interrupted(rt.close); assert rt.closed",
    "with runtime": """
def block():
    with rt:
        rt.submit(never)
interrupted(block)
""",
    "flush_printf": "rt.submit(never); time.sleep(0.3); interrupted(rt.flush_printf)",
    "full window": """
last = rt.submit(never, device=0)
launch = add(rt.empty(1, "int32"), 0, 1)
def fill():
    global last
    while True:
        last = rt.submit(launch, after=last)
interrupted(fill)
""",
    "full window, posts": """
first = rt.submit(never, device=0)
x = rt.empty(1, "int32")
def fill():
    while True:
        rt.post(x.fill(0), after=first)
interrupted(fill)
""",
    "full window, functions": """
first = rt.submit(never, device=0)
def fill():
    while True:
        rt.submit(lambda task: None, after=first, device=0)
interrupted(fill)
""",
    "full window, host functions": """
first = rt.submit(never, device=0)
def fill():
    while True:
        rt.submit_host(lambda: None, after=first)
interrupted(fill)
""",
    "bulk": """
first = rt.submit(never, device=0)
x = rt.empty(1000, "int32")
columns = fl.Each(np.arange(1000, dtype=np.int32))
interrupted(lambda: rt.submit_bulk(add, (x, columns, 1), after=first))
""",
    "list of a bulk": """
first = rt.submit(never, device=0)
x = rt.empty(1, "int32")
interrupted(lambda: rt.submit_bulk([x.fill(0)] * 1000, after=first))
""",
    "replays": """
first = rt.submit(never, device=0)
step = fl.Recording(rt)
step.add(rt.empty(1).fill(0))
def replay():
    while True:
        step.replay(after=first)
interrupted(replay)
""",
    "data.get": FLOW + "interrupted(data.get)",
    "data.wait": FLOW + "interrupted(data.wait)",
    "data.view": FLOW + "interrupted(data.view().__enter__)",
    "changing data.view": FLOW + "interrupted(data.view(change=True).__enter__)",
    "data.close": ON_HOST + "interrupted(data.close); interrupted(data.close); assert data.closed",
    "with data": FLOW + """
def block():
    with data:
        pass
interrupted(block)
""",
    "dropped data": ON_HOST + """
def drop():
    global data
    data = None
    for _ in range(1000):  # raised between two instructions
        time.sleep(0.01)
interrupted(drop)
flow.token()
def get():
    mine = flow.data(np.zeros(4, np.int32))  # goes while the exception is raised
    flow.submit_host(lambda x: time.sleep(1000), fl.update(mine))
    mine.get()
interrupted(get)
""",
    "flow.repeat": """
flow = fl.Flow(rt)
data = flow.data(np.zeros(4, np.int32))
kernel = program.kernel("hold_and_add", "int const*, int*").with_shape(1, 1)
interrupted(lambda: flow.repeat(10000, lambda: flow.post(kernel, go, fl.update(data))))
""",
    "flow.repeat with replays": """
flow = fl.Flow(rt)
buffer = rt.pinned(1, "int32")
buffer.numpy()[0] = 1
data = flow.data(rt.empty(4, "int32"))
kernel = program.kernel("hold_and_add", "int const*, int*").with_shape(1, 1)
flow.post(kernel, buffer, fl.write(data))
rt.wait_idle()
buffer.numpy()[0] = 0
interrupted(lambda: flow.repeat(100000, lambda: flow.post(kernel, buffer, fl.update(data))))
""",
    "flow on a full window": FLOW + """
def fill():
    while True:
        flow.post(add, fl.update(data), 0, 1)
interrupted(fill)
""",
    "lease": """
rt.submit(lambda task: time.sleep(1000), device=0)
time.sleep(0.3)
interrupted(lambda: rt.memory(0))
""",
    "dropped runtime": """
made = fl.Runtime("cpu:1")
never = made.load_file(image).kernel("hold", "int const*").over(1)(go)
made.submit(never)
never = None
def drop():
    global made
    del made
    for _ in range(1000):  # raised between two instructions
        time.sleep(0.01)
interrupted(drop)
""",
    "compile": """
import pathlib, tempfile
script = pathlib.Path(tempfile.mkdtemp()) / "c++"
script.write_text('#!/bin/sh\\ncase "$*" in *--version*) exec c++ "$@";; *) sleep 1000;; esac\\n')
script.chmod(0o755)
source = 'extern "C" __global__ void nothing() {}'
interrupted(lambda: rt.compile(source, cpu_compiler=str(script), cache=False))
""",
    "continuation": """
rt.submit(lambda task: None).then(lambda error: time.sleep(1000))
time.sleep(0.3)
interrupted(rt.wait_idle)
""",
}


class Process:
    """A child that runs a program, which gets a path of kernels."""

    def __init__(self, program, image_file):
        self.child = subprocess.Popen(
            [sys.executable, "-c", program, str(image_file)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def next_line(self):
        return self.child.stdout.readline().strip()

    def interrupt(self):
        """Sends SIGINT some time after the child has said that it begins to wait."""
        time.sleep(0.3)
        self.child.send_signal(signal.SIGINT)

    def end(self):
        said, errors = self.child.communicate(timeout=30)
        return self.child.returncode, said, errors

    def __enter__(self):
        return self

    def __exit__(self, *_why):
        self.child.kill()
        self.child.communicate()


# requirement: a wait ends soon after the signal, although its task never ends
@pytest.mark.parametrize("way", WAITS)
def test_wait_is_interrupted(way, image_file):
    with Process(BEGIN + WAITS[way] + LEAVE, image_file) as process:
        while (line := process.next_line()) == "waits":
            process.interrupt()
            assert process.next_line() == "interrupted", process.end()
        assert line == ""
        status, _, errors = process.end()
        assert status == 0, errors


# requirement: after Ctrl-C has ended a wait, the process ends, and says so in one line
@pytest.mark.parametrize(
    "wait", ["waits(); rt.submit(never).wait()", "interrupted(rt.submit(never).wait)"]
)
def test_process_ends_after_an_interrupt(wait, image_file):
    with Process(BEGIN + wait, image_file) as process:
        assert process.next_line() == "waits"
        process.interrupt()
        _, _, errors = process.end()
        lines = [line for line in errors.splitlines() if line.startswith("flotilla: ")]
        assert len(lines) == 1 and "ends without waiting for tasks" in lines[0], errors


# requirement: Ctrl-C ends the wait at the end of the process
def test_end_of_the_process_is_interrupted(image_file):
    begin = "import atexit\natexit.register(print, 'the last')\n"
    with Process(begin + BEGIN + "rt.submit(never); waits()", image_file) as process:
        assert process.next_line() == "waits"
        time.sleep(1.5)
        assert process.child.poll() is None  # it waits for its task
        process.interrupt()
        status, said, errors = process.end()
        assert errors.count("flotilla: ") == 1 and "ends without waiting" in errors, errors
        assert status == 0 and said == "the last\n"


# requirement: later waits go on after an interrupt, and the end of the program waits again
def test_program_goes_on_after_an_interrupt(image_file):
    program = BEGIN + """
ticket = rt.submit(never)
interrupted(ticket.wait)
go[0] = 1
ticket.wait()
rt.submit_host(lambda: (time.sleep(2), print("done")))
"""
    with Process(program, image_file) as process:
        assert process.next_line() == "waits"
        process.interrupt()
        assert process.next_line() == "interrupted"
        assert process.next_line() == "done"
        status, _, errors = process.end()
        assert status == 0 and "flotilla: " not in errors
