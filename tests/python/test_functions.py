# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Python functions as tasks and continuations."""

import gc
import sys
import threading

import pytest
from conftest import eventually, run_child

import flotilla as fl


# requirement
def test_function_gets_its_task(rt):
    got = []
    rt.submit(
        lambda task: got.extend([task.device, task.stream != 0, task.context != 0]), device=1
    ).wait()
    assert got == [1, True, True]


# requirement: __cuda_stream__ as other packages define it
def test_task_has_a_cuda_stream(rt):
    got = []
    rt.submit(lambda task: got.append(task.__cuda_stream__() == (0, task.stream))).wait()
    assert got == [True]


# error guess
def test_task_context_ends_with_the_function(rt):
    kept = []
    rt.submit(kept.append).wait()
    for name in ["device", "stream", "context"]:
        with pytest.raises(fl.InvalidHandle, match="has returned"):
            getattr(kept[0], name)


# requirement
def test_waits_that_cannot_end_are_refused(rt):
    after = []
    gate = threading.Event()

    def waits(_task):
        gate.wait()
        after[0].wait()

    first = rt.submit(waits, device=0)
    after.append(rt.submit(lambda task: None, after=first))
    gate.set()
    with pytest.raises(fl.WouldDeadlock):
        first.wait()
    with pytest.raises(fl.WouldDeadlock, match="close"):
        rt.submit(lambda task: rt.close()).wait()
    assert not rt.closed
    with pytest.raises(fl.WouldDeadlock):
        rt.submit(lambda task: rt.wait_idle()).wait()


# requirement
def test_host_tasks_run_in_the_order_of_tasks(rt):
    got = []
    first = rt.submit_host(lambda: got.append(1))
    rt.submit_host(lambda: got.append(2), after=first).wait()
    assert got == [1, 2]
    with pytest.raises(TypeError):
        rt.submit_host(None)


# error guess: nobody waits for a continuation, so Python prints its exception
def test_exception_of_a_continuation_is_printed(rt, monkeypatch):
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: printed.append(what.exc_value))
    rt.submit(lambda task: None).then(lambda error: 1 / 0)
    rt.wait_idle()
    assert isinstance(printed[0], ZeroDivisionError)


# error guess: every exception reaches the ticket
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration(1)])
def test_every_exception_reaches_the_ticket(rt, error):
    def fails(_task):
        raise error

    with pytest.raises(type(error)) as raised:
        rt.submit(fails).wait()
    assert raised.value is error


# requirement: functions and what they hold are released
def test_functions_are_released(rt):
    class Thing:
        pass

    thing = Thing()
    before = sys.getrefcount(thing)
    for _ in range(50):
        rt.submit(lambda task, held=thing: None)
        rt.submit_host(lambda held=thing: None)
        rt.submit(lambda task: None).then(lambda error, held=thing: None)
    rt.wait_idle()
    eventually(lambda: sys.getrefcount(thing) == before)
    count = sys.getrefcount(rt)
    gc.collect()
    assert sys.getrefcount(rt) == count


# requirement: a function may submit and use every other thing of flotilla
def test_functions_may_submit(rt):
    got = []

    def outer(_task):
        got.append(rt.submit(lambda task: got.append(2)))

    rt.submit(outer, device=0).wait()
    got[0].wait()
    rt.wait_idle()
    assert 2 in got


# error guess: tasks whose functions still run when the program ends
def test_program_may_end_with_open_tasks():
    said = run_child(
        """
import time, flotilla as fl
rt = fl.Runtime("cpu:1")
rt.submit(lambda task: (time.sleep(0.1), print("first")))
rt.submit_host(lambda: (time.sleep(0.2), print("second")))
rt.submit(lambda task: None).then(lambda error: print("third"))
"""
    )
    short = sorted(line for line in said.splitlines() if len(line) < 8)  # not flotilla's reports
    assert short == ["first", "second", "third"]
