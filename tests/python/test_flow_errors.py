# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Flows: bad tasks, flows that are closed, and the end of a process."""

import pytest
from conftest import ones, run_child

import flotilla as fl


@pytest.fixture
def flow(rt):
    with fl.Flow(rt) as made:
        yield made


# error guess
def test_bad_tasks_are_refused(rt, flow, saxpy, program):
    x, y = flow.data(ones(4), label="x"), flow.empty(4, "int32", label="y")
    good = (2.0, fl.read(x), fl.update(x), 4)
    for arguments, message in [
        ((2.0, fl.read(y), fl.update(x), 4), "data 'y': the data have objects of the type int32"),
        ((2.0, fl.read(x), fl.read(x), 4), "only reads the data, but the parameter .* not refer"),
        ((2.0, fl.read(x), fl.read(flow.token()), 4), "cannot use a token"),
        ((fl.read(x), fl.read(x), fl.update(x), 4), "neither a pointer nor a flotilla::view"),
        ((2.0, fl.read(x)), "argument"),
        ((*good, 5), "4 parameters, but got more"),
        (good, "twice|two uses|more than once"),
        ((2.0, fl.read(flow.empty(4)), fl.update(flow.data(ones(4))), 4), "contents|written"),
    ]:
        with pytest.raises(fl.InvalidArgument, match=message):
            flow.submit(saxpy.over(4), *arguments)
    for what, message in [
        (saxpy, "a kernel with its shape, or a function, but got a Kernel"),
        (saxpy.over(4)(2.0, None, None, 4), "takes the arguments of a kernel itself"),
        (5, "but got a int"),
    ]:
        with pytest.raises(fl.InvalidArgument, match=message):
            flow.submit(what)
    with pytest.raises(fl.InvalidArgument, match="gets uses of data.*but got a Data"):
        flow.submit_host(print, x)
    with pytest.raises(fl.InvalidArgument, match="at most 16 data, but got 17"):
        flow.submit_host(print, *[fl.read(flow.token()) for _ in range(17)])
    with pytest.raises(fl.InvalidArgument, match="is a use of data; submit it as Flow.submit"):
        saxpy.over(4)(2.0, fl.read(x), None, 4)
    with pytest.raises(fl.InvalidArgument, match="1 dimensions of the data|does not have"):
        add_one = program.kernel("add_one", "flotilla::view<float, 2> all")
        flow.submit(add_one.over(4), fl.update(x))
    with pytest.raises(fl.UnknownDevice):
        flow.submit(lambda task, a: None, fl.read(x), device=7)
    with pytest.raises(TypeError):
        fl.read(5)


# error guess
def test_runtimes_and_flows_are_not_mixed(rt, flow, saxpy):
    x = flow.data(ones(4))
    with fl.Flow(rt) as second, pytest.raises(fl.InvalidArgument, match="another flow"):
        second.submit_host(lambda a: None, fl.read(x))
    with fl.Runtime("cpu:1") as other, fl.Flow(other) as foreign:
        with pytest.raises(fl.WrongRuntime, match="different runtimes"):
            foreign.submit_host(lambda a: None, fl.read(x))
        with pytest.raises(fl.WrongRuntime, match="another runtime than the flow"):
            foreign.submit(saxpy.over(4), 2.0, None, None, 4)
        with pytest.raises(fl.WrongRuntime, match="another runtime than the flow"):
            foreign.data(rt.empty(4))


# error guess
def test_closed_flows_and_runtimes_are_refused(rt, saxpy):
    flow = fl.Flow(rt, memory_limit=1 << 20, keeps_graph=True)
    x = flow.data(ones(4))
    flow.submit_host(lambda a: None, fl.read(x), label="first").wait()
    assert "digraph" in flow.dot()
    flow.close()
    flow.close()
    assert flow.closed and (x.get() == 1).all(), "data keep the state of their flow"
    for call in [
        lambda: flow.submit_host(print),
        lambda: flow.submit(saxpy.over(4), 1.0, None, None, 4),
        lambda: flow.empty(3),
        lambda: flow.token(),
        lambda: flow.dot(),
        lambda: flow.repeat(1, print),
    ]:
        with pytest.raises(fl.InvalidHandle, match="the flow is closed"):
            call()
    open_flow = fl.Flow(rt)
    y = open_flow.data(ones(4))
    rt.close()
    for call in [y.get, open_flow.token, lambda: fl.Flow(rt), lambda: y.view().__enter__()]:
        with pytest.raises(fl.RuntimeClosed):
            call()
    for limit in [0, -5]:
        with fl.Runtime("cpu:1") as other, pytest.raises(fl.InvalidArgument, match="positive"):
            fl.Flow(other, memory_limit=limit)


# error guess: at the end of the interpreter, tasks and data are open
def test_program_ends_with_open_flows():
    run_child("""
import numpy as np, flotilla as fl
rt = fl.Runtime("cpu:1")
flow = fl.Flow(rt)
x = flow.data(np.ones(4, np.float32))
for _ in range(100):
    flow.post_host(lambda a: np.add(a, 1, out=a), fl.update(x))
""")


# error guess: a child of fork() must neither hang nor crash
def test_child_of_fork_leaves_flows_alone():
    out = run_child("""
import os, sys, numpy as np, flotilla as fl
rt = fl.Runtime("cpu:1")
flow = fl.Flow(rt)
x = flow.data(np.ones(4, np.float32))
flow.submit_host(lambda a: None, fl.update(x)).wait()
child = os.fork()
if child == 0:
    try:
        flow.post_host(print, fl.read(x))
    except fl.UsedAfterFork:
        del x, flow
        sys.stdout.write("refused")
        sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
""")
    assert "refused" in out
