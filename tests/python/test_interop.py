# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Memory and streams of other packages. Without a GPU, objects with the same protocols stand for
those of other packages, and memory of a CPU device for memory of a GPU."""

import gc
import sys

import numpy as np
import pytest
from conftest import eventually

import flotilla as fl


class Foreign:
    """An array of another package in the memory of a device."""

    def __init__(self, buffer, **changes):
        self.__cuda_array_interface__ = {
            "shape": buffer.shape, "typestr": "<f4", "data": (buffer.address, False), "version": 3,
            "strides": None, **changes,
        }


class Stream:
    def __init__(self, protocol):
        self.__cuda_stream__ = protocol


# requirement
def test_memory_of_another_package_can_be_viewed(rt):
    buffer = rt.empty((2, 50))
    foreign = Foreign(buffer)
    view = rt.view(foreign)
    assert (view.shape, view.dtype, view.address) == ((2, 50), "float32", buffer.address)
    rt.submit(view.fill(3)).wait()
    assert (buffer.numpy() == 3).all()
    rt.submit(view[1].copy_from(np.full(50, 4, np.float32))).wait()
    assert (buffer.numpy()[1] == 4).all() and (buffer.numpy()[0] == 3).all()


# requirement: the foreign object lives as long as tasks use its memory
def test_view_keeps_the_object(rt, saxpy, held):
    foreign = Foreign(rt.empty(4))
    before = sys.getrefcount(foreign)
    view = rt.view(foreign)
    rt.submit(saxpy.over(4)(1.0, view, view, 4), after=held.ticket)
    del view
    gc.collect()
    assert sys.getrefcount(foreign) > before
    held.release()
    eventually(lambda: sys.getrefcount(foreign) == before)


# regression: CuPy's arrays have the buffer protocol too, but refuse to give their memory to the host
@pytest.mark.skipif(sys.version_info < (3, 12), reason="a class can have __buffer__ since 3.12")
def test_cuda_interface_comes_before_the_buffer_protocol(rt, program, saxpy):
    class Both(Foreign):
        def __buffer__(self, flags):
            raise TypeError("memory of a GPU")

    buffer = rt.empty(4)
    assert rt.view(Both(buffer)).address == buffer.address
    for kernel in [saxpy, program.kernel("saxpy")]:
        with pytest.raises(fl.InvalidArgument, match="in the memory of a GPU"):
            kernel.over(1)(np.float32(1), Both(buffer), None, np.int32(1))


# error guess
def test_bad_arrays_are_refused(rt, saxpy):
    buffer = rt.empty((4, 4))
    for changes, error in [
        ({"data": (np.zeros(16, np.float32).ctypes.data, False)}, fl.InvalidArgument),
        ({"shape": (2**40,)}, fl.InvalidArgument),
        ({"strides": (32, 4)}, fl.InvalidArgument),
        ({"strides": (4,)}, fl.InvalidArgument),
        ({"typestr": "f"}, fl.InvalidArgument),
        ({"typestr": "<f4444444"}, fl.InvalidArgument),
        ({"data": (1,)}, fl.InvalidArgument),
        ({"data": "here"}, (fl.InvalidArgument, TypeError)),
        ({"shape": (-1,)}, (fl.InvalidArgument, TypeError)),
    ]:
        with pytest.raises(error):
            rt.view(Foreign(buffer, **changes))
    for given in [7, "text", object()]:
        with pytest.raises(fl.InvalidArgument, match="is no array"):
            rt.view(given)
    with pytest.raises(fl.InvalidArgument):
        rt.view(np.zeros(4, np.float32))  # pageable memory of the host
    with pytest.raises(fl.UnknownDevice):
        rt.view(Foreign(buffer), device=9)
    # memory of a GPU cannot be an argument on CPU devices
    with pytest.raises(fl.InvalidArgument, match="in the memory of a GPU"):
        saxpy.over(1)(1.0, Foreign(buffer), None, 1)
    with pytest.raises(fl.InvalidArgument, match="Runtime.view"):
        buffer.copy_from(Foreign(buffer))


# requirement: a buffer of a CPU device must not pretend to be on a GPU
def test_cpu_buffers_have_no_cuda_array_interface(rt):
    assert not hasattr(rt.empty(4), "__cuda_array_interface__")
    assert rt.pinned(4).__dlpack_device__()[0] == 1


# requirement: arrays that only know DLPack
def test_dlpack_arrays_are_arguments(rt, saxpy):
    class Only:
        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    class OnlyDlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x, y = np.ones(8, np.float32), np.ones(8, np.float32)
    rt.submit(saxpy.over(8)(2.0, OnlyDlpack(x), OnlyDlpack(y), 8)).wait()
    assert (y == 3).all()
    buffer = rt.empty(8)
    rt.submit(buffer.copy_from(OnlyDlpack(y))).wait()
    assert (buffer.numpy() == 3).all()


# requirement: a stream of another package waits for a task. The stream is one of a CPU device.
def test_streams_of_other_packages_can_wait(rt):
    ticket = rt.submit(lambda task: None)

    def waits(task):
        ticket.enqueue_wait(task)
        ticket.enqueue_wait(task.stream)
        ticket.enqueue_wait(Stream((0, task.stream)))
        ticket.enqueue_wait(Stream(lambda: (0, task.stream)))

    ticket.wait()
    rt.submit(waits).wait()


# error guess
def test_bad_streams_and_events_are_refused(rt):
    ticket = rt.submit(lambda task: None)
    for stream, message in [
        ("stream", "but got a str"),
        (None, None),
        (Stream((1, 5)), "version 0"),
        (Stream(5), "a version and a handle"),
        (-1, "but got a int"),
    ]:
        with pytest.raises((fl.InvalidArgument, TypeError), match=message):
            ticket.enqueue_wait(stream)
    ticket.wait()
    with pytest.raises(fl.InvalidArgument):
        rt.submit_event(0)
    with pytest.raises(TypeError):
        rt.submit_event("event")
