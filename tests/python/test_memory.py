# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers, copies and fills, and arrays that view buffers."""

import gc
import sys

import numpy as np
import pytest
from conftest import eventually, ones

import flotilla as fl


# requirement
def test_copies_and_fills(rt):
    buffer = rt.empty((3, 4), "int32", device=1)
    assert (buffer.shape, buffer.dtype, buffer.size, buffer.nbytes) == ((3, 4), "int32", 12, 48)
    assert buffer.device == 1 and len(buffer) == 3
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    up = rt.submit(buffer.copy_from(values))
    other = rt.empty((3, 4), np.int32, device=0)
    over = rt.submit(other.copy_from(buffer), after=up)
    result = np.zeros((3, 4), np.int32)
    rt.submit(other.copy_to(result), after=[over]).wait()
    assert (result == values).all()
    rt.submit(other[1].fill(-1)).wait()
    assert other.numpy().tolist()[1] == [-1] * 4 and other.numpy()[2, 0] == 8


# requirement
def test_pinned_memory(rt):
    pinned = rt.pinned(8, "float32")
    assert pinned.is_pinned and pinned.device is None
    pinned.numpy()[:] = 2
    buffer = rt.empty(8)
    rt.submit(buffer.copy_from(pinned)).wait()
    assert (buffer.numpy() == 2).all()
    rt.submit(buffer.fill(3)).wait()
    rt.submit(buffer.copy_to(pinned)).wait()
    assert (pinned.numpy() == 3).all()
    with pytest.raises(fl.InvalidArgument, match="both sides of the copy are on the host"):
        pinned.copy_from(ones(8))
    with pytest.raises(fl.InvalidArgument, match="fill it with NumPy"):
        pinned.fill(1)


# requirement
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float32", "float64", "complex64", "complex128"]
)
def test_types_of_elements(rt, dtype):
    buffer = rt.empty(5, dtype)
    value = {"bool": True}.get(dtype, 3)
    rt.submit(buffer.fill(value)).wait()
    array = np.asarray(buffer)
    assert array.dtype == dtype and (array == value).all()


# requirement: a view is no copy, in both directions
def test_array_of_a_buffer_is_a_view(rt):
    buffer = rt.empty((2, 3))
    first, second = buffer.numpy(), np.asarray(buffer)
    first[:] = 7
    assert (second == 7).all() and first.ctypes.data == buffer.address
    assert memoryview(buffer).shape == (2, 3)
    assert (np.from_dlpack(buffer) == 7).all()
    assert np.from_dlpack(buffer).ctypes.data == buffer.address
    assert buffer.__dlpack_device__() == (1, 0)


# requirement
def test_parts_of_buffers(rt):
    buffer = rt.empty((4, 2), "int32")
    buffer.numpy()[:] = np.arange(8).reshape(4, 2)
    assert buffer[1:3].numpy().tolist() == [[2, 3], [4, 5]]
    assert buffer[-1].numpy().tolist() == [6, 7] and buffer[1][1].numpy() == 3
    assert buffer[2:].address == buffer.address + 16 and buffer[4:].size == 0
    with pytest.raises(IndexError, match="step"):
        buffer[::2]
    with pytest.raises(IndexError, match="not inside"):
        buffer[4]
    with pytest.raises(TypeError):
        buffer["a"]
    with pytest.raises(IndexError, match="no dimensions"):
        buffer[0][0][0]


# error guess
def test_bad_copies_are_refused(rt):
    buffer = rt.empty(4)
    read_only = ones(4)
    read_only.flags.writeable = False
    for given, message in [
        (np.ones(4), "cannot be copied from or to the ndarray of float64"),
        (ones(5), "has 16 bytes, but the ndarray has 20"),
        (ones(8)[::2], "not contiguous"),
        ("text", "needs a buffer or an array, but got a str"),
        (rt.empty(4, "int32"), "float32 cannot be copied from or to the other buffer of int32"),
    ]:
        with pytest.raises(fl.InvalidArgument, match=message):
            buffer.copy_from(given)
    with pytest.raises(fl.InvalidArgument, match="read-only"):
        buffer.copy_to(read_only)
    for call in [buffer.copy_from, buffer.copy_to, buffer.fill]:
        with pytest.raises(TypeError):
            call(None)
    for value, message in [("a", "is a str"), (2**200, "no float32 can hold")]:
        with pytest.raises(fl.InvalidArgument, match=message):
            buffer.fill(value)
    with fl.Runtime("cpu:1") as other:
        with pytest.raises(fl.WrongRuntime, match="different runtimes"):
            buffer.copy_from(other.empty(4))
        with pytest.raises(fl.WrongRuntime, match="belongs to another runtime"):
            other.submit(buffer.fill(1))


# error guess
def test_bad_buffers_are_refused(rt):
    for shape in [-1, (2, -3), "4", 1.5, (2**40, 2**40)]:
        with pytest.raises(fl.InvalidArgument):
            rt.empty(shape)
    with pytest.raises(fl.InvalidArgument, match="'float31' is no type of an element"):
        rt.empty(4, "float31")
    with pytest.raises(fl.InvalidArgument):
        rt.empty(4, object())
    with pytest.raises(fl.UnknownDevice):
        rt.empty(4, device=2)
    with pytest.raises(fl.DriverError, match="OUT_OF_MEMORY") as raised:
        rt.empty(2**50, "int8")
    assert raised.value.status == 2 and raised.value.call
    assert rt.empty(0).numpy().size == 0


# requirement: an array that a task uses lives until the task has ended, also if its ticket is gone
def test_arrays_live_until_their_task_has_ended(rt, program, saxpy, held):
    x, y = ones(1000), ones(1000)
    before = sys.getrefcount(x)
    ticket = rt.submit(saxpy.over(1000)(2.0, x, y, 1000), after=held.ticket)
    gc.collect()
    assert sys.getrefcount(x) > before
    del ticket
    gc.collect()
    assert sys.getrefcount(x) > before
    copy = rt.submit(rt.empty(1000).copy_from(x), after=held.ticket)
    held.release()
    copy.wait()
    eventually(lambda: sys.getrefcount(x) == before)
    assert (y == 3).all()


# requirement: a launch keeps its buffers, and a dropped buffer is freed behind its last task
def test_buffers_live_until_their_tasks_have_ended(rt, saxpy):
    x, y = rt.empty(1000), rt.empty(1000)
    rt.submit(x.fill(1)).wait()
    launch = saxpy.over(1000)(2.0, x, y, 1000)
    view = y.numpy()
    view[:] = 1
    del x, y
    gc.collect()
    rt.submit(launch).wait()
    assert (view == 3).all()


# requirement: the memory of a dropped buffer can be used again
def test_dropped_buffers_are_freed(rt):
    _, total = rt.memory(0)
    for _ in range(5):
        buffer = rt.empty(total * 6 // 10, "int8")
        del buffer


# regression: memory must not grow with the number of tasks
def test_nothing_leaks(rt, saxpy):
    x, y = ones(16), ones(16)
    x_count, saxpy_count = sys.getrefcount(x), sys.getrefcount(saxpy)
    for _ in range(500):
        rt.submit(saxpy.over(16)(0.0, x, y, 16))
        rt.submit(rt.empty(16).copy_from(x))
        rt.post(saxpy.over(16)(0.0, x, y, 16))
    rt.wait_idle()
    eventually(lambda: sys.getrefcount(x) == x_count)
    assert sys.getrefcount(saxpy) == saxpy_count
