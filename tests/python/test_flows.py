# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Flows: their tasks, the order of these tasks, and repetition."""

import threading

import numpy as np
import pytest
from conftest import ones

import flotilla as fl


@pytest.fixture
def flow(rt):
    with fl.Flow(rt) as made:
        yield made


# requirement: the program of docs/python.md in short
def test_flow_orders_launches_and_copies_data(flow, saxpy):
    a = ones(100)
    x, y = flow.data(a, label="x"), flow.data(ones(100))
    flow.submit(saxpy.over(100), 2.0, fl.read(x), fl.update(y), 100, device=0)
    flow.submit(saxpy.over(100), 1.0, fl.read(y), fl.update(x), 100, device=1)
    assert (y.get() == 3).all() and (x.get() == 4).all()
    assert (a == 4).all(), "data use their array as their copy on the host"
    assert flow.counters(1)["misses"] == 2


# requirement
def test_views_and_buffers_are_arguments(rt, flow, program):
    add_one = program.kernel("add_one", "flotilla::view<float, 2> all")
    buffer = rt.empty((4, 3))
    rt.submit(buffer.fill(5)).wait()
    x = flow.data(buffer)
    ticket = flow.submit(add_one.over(12), fl.update(x))
    ticket.wait()
    assert ticket.done and (buffer.numpy() == 6).all()
    sums = program.kernel("add_sum", "float const* x, int n, float* sum")
    total = flow.data(np.zeros(1, np.float32))
    flow.submit(sums.over(1), buffer, 12, fl.update(total)).wait()
    assert total.get().tolist() == [72]


# requirement
def test_host_tasks_get_arrays(flow):
    x, y = flow.data(ones(6).reshape(2, 3)), flow.empty((2, 3), "float32")

    def double(a, b):
        assert isinstance(a, np.ndarray) and a.shape == b.shape == (2, 3)
        assert not a.flags.writeable and b.flags.writeable
        b[:] = 2 * a

    flow.submit_host(double, fl.read(x), fl.write(y)).wait()
    assert (y.get() == 2).all()


# error guess: the memory of an array can be given up after the function has returned
def test_host_task_that_keeps_an_array_fails(flow):
    x, kept = flow.data(ones(3)), []
    ticket = flow.submit_host(lambda a: kept.append(a[1:]), fl.read(x))
    with pytest.raises(fl.InvalidArgument, match="keeps an array of its data"):
        ticket.wait()
    flow.submit_host(lambda a: kept.append(a.copy()), fl.read(x)).wait()


# requirement
def test_exception_of_a_host_task_loses_what_it_writes(flow):
    x, y = flow.data(ones(3), label="x"), flow.empty(3)

    def fail(a, b):
        raise KeyError("nothing")

    with pytest.raises(KeyError, match="nothing"):
        flow.submit_host(fail, fl.read(x), fl.write(y)).wait()
    with pytest.raises(fl.DependencyFailed) as caught:
        y.get()
    assert isinstance(caught.value.__cause__, KeyError)
    assert (x.get() == 1).all(), "data that a failed task only reads are not lost"
    flow.submit_host(lambda b: b.fill(7), fl.write(y)).wait()
    assert (y.get() == 7).all()


# requirement
def test_functions_get_views_of_the_device(flow):
    x, kept = flow.data(ones(6).reshape(2, 3)), []

    def look(task, view):
        kept.append(view)
        assert view.address != 0 and task.device == 1
        return [view.shape, view.strides, view.dtype, view.is_read_only]

    got = []
    flow.submit(lambda task, view: got.extend(look(task, view)), fl.read(x), device=1).wait()
    assert got == [(2, 3), (12, 4), "float32", True]
    with pytest.raises(fl.InvalidHandle, match="has returned"):
        kept[0].address
    with pytest.raises(fl.InvalidHandle):
        kept[0].__cuda_array_interface__


# requirement
def test_tokens_order_functions(flow):
    token, got = flow.token(label="file"), []
    gate = threading.Event()
    flow.post_host(lambda: (gate.wait(), got.append(1)), fl.write(token))
    last = flow.submit_host(lambda: got.append(2), fl.read(token))
    assert not last.done
    gate.set()
    last.wait()
    assert got == [1, 2]


# requirement: each device combines into a result of its own
@pytest.mark.parametrize("operation, expected", [("sum", 40), ("max", 20), ("min", 20)])
def test_reductions(flow, program, operation, expected):
    sums = program.kernel("add_sum", "float const* x, int n, float* sum")
    if operation == "sum":
        x, total = flow.data(ones(20)), flow.data(np.zeros(1, np.float32))
        for device in range(2):
            flow.post(sums.over(1), fl.read(x), 20, fl.reduce(total, operation), device=device)
    else:
        total = flow.empty(1)
        flow.post_host(lambda t: np.copyto(t, 20), fl.write(total))
        flow.post_host(lambda t: np.copyto(t, 20), fl.reduce(total, operation))
    assert total.get().tolist() == [expected]


# error guess
def test_reductions_that_do_not_exist_are_refused(flow):
    for dtype, name in [("float32", "xor"), ("complex64", "max"), ("bool", "sum"), ("int8", "mean")]:
        with pytest.raises(fl.InvalidArgument, match=f"no reduction '{name}' of {dtype}"):
            fl.reduce(flow.empty(1, dtype), name)
    for dtype, name in [("bool", "or"), ("uint64", "and"), ("complex128", "sum"), ("int16", "max")]:
        fl.reduce(flow.empty(1, dtype), name)
    with pytest.raises(fl.InvalidArgument, match="a token has no memory"):
        fl.reduce(flow.token())


# requirement
def test_commuting_tasks_never_run_at_the_same_time(flow):
    x, running = flow.data(np.zeros(1, np.int64)), []

    def add(a):
        running.append(1)
        assert len(running) == 1
        a += 1
        running.pop()

    for _ in range(20):
        flow.post_host(add, fl.commute(x))
    assert x.get().tolist() == [20]


# requirement
def test_repeat_submits_the_tasks_each_time(flow, saxpy):
    x, y, calls = flow.data(ones(8)), flow.data(np.zeros(8, np.float32)), []

    def iteration():
        calls.append(1)
        flow.post(saxpy.over(8), 1.0, fl.read(x), fl.update(y), 8, device=0)

    flow.repeat(50, iteration)
    assert (y.get() == 50).all()
    assert len(calls) < 50, "the flow replays a recording of the iteration"
    flow.repeat(0, iteration)
    with pytest.raises(fl.InvalidArgument, match="must not be negative, but is -1"):
        flow.repeat(-1, iteration)
    with pytest.raises(ZeroDivisionError):
        flow.repeat(3, lambda: 1 / 0)
    with pytest.raises(TypeError):
        flow.repeat(1, None)


# requirement
def test_repeat_while_ends_by_its_condition(flow, saxpy):
    x, y, calls, seen = flow.data(ones(8)), flow.data(np.zeros(8, np.float32)), [], []

    def iteration():
        calls.append(1)
        flow.post(saxpy.over(8), 1.0, fl.read(x), fl.update(y), 8, device=0)

    def goes_on(now):
        seen.append(now)
        return now[3] < 100

    assert flow.repeat_while(y, goes_on, iteration, check_every=7) == 105
    assert (y.get() == 105).all()
    assert len(calls) < 50, "the flow replays a recording of the iteration"
    assert [int(each[0]) for each in seen] == list(range(7, 106, 7)), "each array is a copy"
    assert flow.repeat_while(y, lambda _: True, iteration, most=20) == 20
    with pytest.raises(fl.InvalidArgument, match="check_every is 0"):
        flow.repeat_while(y, goes_on, iteration, check_every=0)
    with pytest.raises(fl.InvalidArgument, match="most must not be negative, but is -1"):
        flow.repeat_while(y, goes_on, iteration, most=-1)
    with pytest.raises(ZeroDivisionError):
        flow.repeat_while(y, lambda _: 1 / 0, iteration)
    with pytest.raises(fl.InvalidArgument, match="a token has no memory"):
        flow.repeat_while(flow.token(), goes_on, iteration)
    for close in (y.close, flow.close):
        with pytest.raises(fl.WouldDeadlock, match="is in use.*inside a function of repeat"):
            flow.repeat_while(y, lambda _, close=close: close(), iteration)
    with pytest.raises(fl.WouldDeadlock, match="is in use"):
        flow.repeat(5, flow.close)
    assert flow.repeat_while(y, lambda _: True, iteration, most=20) == 20, "nothing was closed"


# error guess: a replay uses arrays and buffers after their last Python reference is gone
def test_repeat_keeps_what_its_tasks_use(rt, flow, saxpy):
    y = flow.data(np.zeros(1 << 12, np.float32))

    def prepare():
        x = ones(1 << 12)
        buffer = rt.empty(1 << 12)
        rt.submit(buffer.fill(1)).wait()
        return lambda: [
            flow.post(saxpy.over(1 << 12), 1.0, each, fl.update(y), 1 << 12, device=0)
            for each in (x, buffer)
        ]

    flow.repeat(40, prepare())
    assert (y.get() == 80).all()


# requirement
def test_after_and_labels(rt, flow, program, held):
    x = flow.data(ones(1))
    last = flow.submit_host(lambda a: None, fl.read(x), after=held.ticket, label="last")
    assert not last.done
    held.release()
    last.wait()


# requirement: waits and submits release the GIL, so other Python threads run meanwhile
def test_waits_release_the_gil(rt, flow):
    x, go = flow.data(ones(1)), threading.Event()
    flow.post_host(lambda a: go.wait(), fl.update(x))
    threading.Timer(0.05, go.set).start()
    assert x.get().tolist() == [1]


# requirement
def test_wait_inside_a_task_on_which_it_depends_is_refused(flow):
    x, got = flow.data(ones(1), label="x"), []

    def wait_for_itself(task, _view):
        try:
            x.get()
        except fl.WouldDeadlock as why:
            got.append(why)

    flow.submit(wait_for_itself, fl.update(x)).wait()
    assert len(got) == 1


# stress: several threads use one flow
def test_threads_share_a_flow(flow):
    x = flow.data(np.zeros(1, np.int64))

    def work():
        for _ in range(50):
            flow.post_host(lambda a: np.add(a, 1, out=a), fl.update(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert x.get().tolist() == [200]


# requirement
def test_flow_works_without_workers(image):
    with fl.Runtime("cpu:2", workers=0) as rt, fl.Flow(rt) as flow:
        saxpy = rt.load(cpu=image).kernel("saxpy", "float, float const*, float*, int")
        x, y = flow.data(ones(4)), flow.data(ones(4))
        flow.post(saxpy.over(4), 1.0, fl.read(x), fl.update(y), 4)
        flow.post_host(lambda a: np.multiply(a, 10, out=a), fl.update(y))
        assert (y.get() == 20).all()
