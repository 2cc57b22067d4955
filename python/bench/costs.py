# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what flotilla costs in Python, on one CPU device. docs/python.md has the targets.

Question: how long does one call take? The control is an empty Python function with the same call.
"""

import statistics
import subprocess
import sys
import time

import numpy

import flotilla as fl

EMPTY = """
extern "C" __global__ void empty(int value) {
}
"""
TASKS = 10_000
ROUNDS = 30


def nanoseconds(call, each, rounds=ROUNDS):
    """The median time of a call in ns, divided by `each`, after some rounds that warm up."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - begin) / each)
    return statistics.median(times[5:])


def imports():
    """The time of `import flotilla` in ms, in a new process."""
    code = "import time; t = time.perf_counter; a = t(); import flotilla; print((t() - a) * 1e3)"
    return statistics.median(
        float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)
    )


def main():
    print(f"import: {imports():.1f} ms")
    with fl.Runtime("cpu:1") as rt:
        empty = rt.load(cpu=fl.compile_cpu(EMPTY)).kernel("empty", "int")
        launch = empty.over(1)(1)
        tickets = [None] * 1000

        def submits():
            for i in range(1000):
                tickets[i] = rt.submit(launch)

        def builds():
            for i in range(1000):
                tickets[i] = rt.submit(empty.over(1)(i))

        def control():
            for i in range(1000):
                tickets[i] = nothing(launch)

        def timed(function):
            def run():
                function()

            times = []
            for _ in range(ROUNDS):
                begin = time.perf_counter_ns()
                run()
                times.append((time.perf_counter_ns() - begin) / 1000)
                rt.wait_idle()
            return statistics.median(times[5:])

        print(f"empty Python function: {timed(control):.0f} ns")
        print(f"submit of a launch: {timed(submits):.0f} ns")
        print(f"make a launch and submit it: {timed(builds):.0f} ns")
        alone = nanoseconds(lambda: rt.submit(launch).wait(), 1)
        print(f"submit and wait, one at a time: {alone:.0f} ns")

        values = fl.Each(numpy.arange(TASKS, dtype=numpy.int32))
        shaped = empty.over(1)

        def bulk():
            begin = time.perf_counter_ns()
            ticket = rt.submit_bulk(shaped, (values,))
            submitted = time.perf_counter_ns()
            ticket.wait()
            return (submitted - begin) / TASKS, (time.perf_counter_ns() - begin) / TASKS

        both = [bulk() for _ in range(ROUNDS)][5:]
        submitted, ended = (statistics.median(times) for times in zip(*both))
        print(f"submit_bulk of {TASKS}: {submitted:.1f} ns a task")
        print(f"the same until all have ended: {ended:.1f} ns a task")


def nothing(what):
    return what


if __name__ == "__main__":
    main()
