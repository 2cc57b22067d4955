# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets: waits, errors, order, cancellation."""

import gc
import signal
import threading
import time

import numpy as np
import pytest
from conftest import eventually, ones, run_child

import flotilla as fl


# requirement
def test_wait_with_a_timeout(rt, held):
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        held.ticket.wait(0.05)
    assert time.monotonic() - begin >= 0.05
    assert not held.ticket.done and held.ticket.error is None
    assert "has not ended" in repr(held.ticket)
    held.release()
    held.ticket.wait(20)
    assert held.ticket.done and "has ended" in repr(held.ticket)
    for bad in [-1, float("nan")]:
        with pytest.raises(fl.InvalidArgument, match="timeout"):
            held.ticket.wait(bad)
    with pytest.raises(TypeError):
        held.ticket.wait("soon")


# requirement: other threads run while one waits
def test_wait_releases_the_gil(rt, held):
    thread = threading.Thread(target=held.ticket.wait)
    thread.start()
    held.release()  # never reached if the wait kept the GIL
    thread.join(20)
    assert not thread.is_alive()


# requirement
def test_wait_can_be_interrupted(rt, held):
    def interrupt(_signal, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            held.ticket.wait()
    finally:
        signal.signal(signal.SIGALRM, before)


# requirement: a task runs after its predecessors, also across devices
def test_order_by_after(rt, program):
    buffer = rt.empty(1, "int32", device=0)
    add = program.kernel("add_at", "int*, int, int").with_shape(1, 1)
    last = rt.submit(buffer.fill(0))
    for i in range(100):
        last = rt.submit(add(buffer, 0, i), after=[last], device=i % 2)
    last.wait()
    assert buffer.numpy()[0] == sum(range(100))
    assert last.device == 1


# requirement
def test_failures_reach_the_ticket_and_its_successors(rt):
    def fails(_task):
        raise KeyError("missing")

    first = rt.submit(fails, label="first")
    second = rt.submit(lambda task: None, after=first)
    third = rt.submit(lambda task: None, after_end=first)
    for _ in range(2):
        with pytest.raises(KeyError, match="missing"):
            first.wait()
    with pytest.raises(fl.DependencyFailed, match="KeyError: 'missing'") as raised:
        second.wait()
    assert isinstance(raised.value.__cause__, KeyError)
    third.wait()
    assert isinstance(first.error, KeyError) and third.error is None


# requirement
def test_cancelled_task_does_not_run(rt, held):
    ran = []
    middle = rt.submit(lambda task: None, after=held.ticket)
    ticket = rt.submit_host(lambda: ran.append(1), after=[held.ticket, middle])
    assert ticket.cancel()
    held.release()
    with pytest.raises(fl.TaskCancelled):
        ticket.wait()
    assert not ran


# requirement
def test_then_gets_the_error(rt):
    got = []
    ticket = rt.submit(lambda task: 1 / 0)
    ticket.then(got.append)
    rt.submit(lambda task: None).then(got.append)
    rt.wait_idle()
    assert sorted(type(error).__name__ for error in got) == ["NoneType", "ZeroDivisionError"]


# error guess
def test_bad_options_are_refused(rt, saxpy):
    launch = saxpy.over(1)(1.0, None, None, 0)
    with fl.Runtime("cpu:1") as other:
        foreign = other.submit(lambda task: None)
        for options, error, message in [
            ({"after": 7}, fl.InvalidArgument, "after needs a ticket or a sequence .* got a int"),
            ({"after": [None]}, fl.InvalidArgument, "after needs tickets, but got a NoneType"),
            ({"after_end": "abc"}, fl.InvalidArgument, "after_end needs a ticket"),
            ({"after": foreign}, fl.WrongRuntime, None),
            ({"device": 2}, fl.UnknownDevice, None),
            ({"device": "0"}, fl.InvalidArgument, "by its ordinal"),
            ({"device": -1}, fl.InvalidArgument, "by its ordinal"),
            ({"label": 3}, fl.InvalidArgument, "label of a task is a string"),
            ({"prioritie": 3}, TypeError, None),
        ]:
            with pytest.raises(error, match=message):
                rt.submit(launch, **options)
        with pytest.raises(fl.WrongRuntime):
            other.submit(launch)
    for what in [7, "text", rt, rt.empty(1)]:
        with pytest.raises(fl.InvalidArgument, match="a task is a launch, a copy"):
            rt.submit(what)


# error guess: objects that were never constructed
@pytest.mark.filterwarnings("ignore:nanobind")
def test_objects_without_constructor_are_refused(rt):
    for kind in [fl.Launch, fl.MemoryOp, fl.Ticket, fl.Buffer]:
        broken = kind.__new__(kind)
        for call in [lambda: rt.submit(broken), lambda: rt.submit(lambda task: 0, after=broken)]:
            with pytest.raises((fl.Error, TypeError)):
                call()
    with pytest.raises(TypeError):
        fl.Ticket()
    for view in [np.asarray, memoryview, np.from_dlpack]:
        with pytest.raises((BufferError, TypeError)):
            view(fl.Buffer.__new__(fl.Buffer))


# requirement
def test_posted_errors_reach_the_handler(image):
    errors = []
    with fl.Runtime("cpu:1", on_error=errors.append) as rt:
        rt.post(lambda task: 1 / 0)
        rt.wait_idle()
        program = rt.load(cpu=image)
        x = ones(4)
        fails = rt.submit(lambda task: {}["key"])
        rt.post(program.kernel("saxpy").over(4)(np.float32(1), x, x, np.int32(4)), after=fails)
        rt.post(rt.empty(4).fill(0), after=fails)
        rt.wait_idle()
    types = [type(error) for error in errors]
    assert types == [ZeroDivisionError, fl.DependencyFailed, fl.DependencyFailed]


# requirement: a full window blocks without the GIL
def test_submit_waits_for_room(image):
    with fl.Runtime("cpu:1", window=64) as rt:
        buffer = rt.empty(1, "int32")
        rt.submit(buffer.fill(0)).wait()
        add = rt.load(cpu=image).kernel("add_at", "int*, int, int").with_shape(1, 1)(buffer, 0, 1)
        last = rt.submit(lambda task: time.sleep(0.05))
        for _ in range(300):
            last = rt.submit(add, after=last)
        last.wait()
        assert buffer.numpy()[0] == 300


# stress: tickets and arrays that many threads drop at any time
def test_many_threads(rt, program):
    out = rt.empty(4, "int32")
    rt.submit(out.fill(0)).wait()
    add = program.kernel("add_at", "int*, int, int").with_shape(1, 1)

    def work(column):
        last = None
        for _ in range(200):
            last = rt.submit(add(out, column, 1), after=last)
        last.wait()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out.numpy().tolist() == [200] * 4


# requirement: a fault of a kernel poisons the driver, so it has a process of its own
def test_fault_poisons_the_runtime(image_file):
    said = run_child(
        """
import sys, flotilla as fl
with fl.Runtime("cpu:1") as rt:
    fault = rt.load_file(sys.argv[1]).kernel("fault", "").over(1)()
    for call in [lambda: rt.submit(fault).wait(), lambda: rt.submit(fault)]:
        try:
            call()
        except fl.Poisoned as e:
            print("poisoned", e.status, "fault" in str(e))
""",
        image_file,
    )
    assert said.count("poisoned 715 True") + said.count("poisoned 719 True") == 2, said
