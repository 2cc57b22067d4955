# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""What only a GPU shows: memory, streams and events of another user of the primary context."""

import ctypes

import numpy as np
import pytest

import flotilla as fl
from on_gpu import rt, saxpy  # noqa: F401 (fixtures)

N = 1000


class Driver:
    """Another package, which calls the driver itself, with the primary context current."""

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        self._context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), 0)
        self("cuCtxPushCurrent_v2", self._context)

    def __call__(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    def make(self, name, *arguments):
        """Calls a function that writes a handle or an address to its first argument."""
        made = ctypes.c_void_p()
        self(name, ctypes.byref(made), *arguments)
        return made

    def close(self):
        self("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self("cuDevicePrimaryCtxRelease_v2", 0)


class Foreign:
    """An array of the other package."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "shape": (N,), "typestr": "<f4", "data": (address, False), "version": 3,
        }


@pytest.fixture
def driver():
    made = Driver()
    yield made
    made.close()


# requirement
def test_kernel_computes_on_the_gpu(rt, saxpy):
    assert rt.settings(0)["context"] == "primary"
    x, y = rt.empty(N), rt.empty(N)
    result = np.zeros(N, np.float32)
    filled = [rt.submit(x.fill(1)), rt.submit(y.copy_from(np.ones(N, np.float32)))]
    done = rt.submit(saxpy.over(N)(2.0, x, y, N), after=filled)
    rt.submit(y.copy_to(result), after=done).wait()
    assert (result == 3).all()
    values = fl.Each(np.ones(5000, np.float32))
    rt.submit_bulk(saxpy.over(N), (values, x, y, 0)).wait()


# requirement
def test_memory_of_the_host_is_refused(rt, saxpy):
    buffer = rt.empty(N)
    with pytest.raises(fl.InvalidArgument, match="in the memory of the host, which"):
        saxpy.over(N)(2.0, np.ones(N, np.float32), buffer, N)
    for view in [np.asarray, memoryview, np.from_dlpack, fl.Buffer.numpy]:
        with pytest.raises((BufferError, TypeError, RuntimeError)):
            view(buffer)


# requirement
def test_buffers_have_the_protocols_of_gpu_arrays(rt):
    buffer = rt.empty((2, 3), "int32")
    interface = buffer.__cuda_array_interface__
    assert interface["data"] == (buffer.address, False) and interface["typestr"] == "<i4"
    assert interface["shape"] == (2, 3) and interface["version"] == 3
    assert buffer.__dlpack_device__() == (2, rt.devices[0].driver_ordinal)
    assert "dltensor" in repr(buffer.__dlpack__())


# requirement: memory of the other package is an argument, or viewed as a buffer
def test_memory_of_another_package(rt, saxpy, driver):
    memory = driver.make("cuMemAlloc_v2", ctypes.c_size_t(4 * N))
    foreign = Foreign(memory.value)
    view = rt.view(foreign)
    assert view.address == memory.value
    filled = rt.submit(view.fill(1))
    done = rt.submit(saxpy.over(N)(2.0, foreign, foreign, N), after=filled, device=0)
    result = np.zeros(N, np.float32)
    rt.submit(view.copy_to(result), after=done).wait()
    assert (result == 3).all()
    driver("cuMemFree_v2", memory)


# requirement
def test_streams_and_events_of_another_package(rt, driver):
    stream = driver.make("cuStreamCreate", 1)
    event = driver.make("cuEventCreate", 2)
    buffer = rt.empty(N, "uint8")
    result = np.zeros(N, np.uint8)
    # the stream waits for the task, then writes
    rt.submit(buffer.fill(1)).enqueue_wait(stream.value)
    driver("cuMemsetD8Async", ctypes.c_void_p(buffer.address), ctypes.c_ubyte(2),
           ctypes.c_size_t(N), stream)
    # the task waits for the stream
    driver("cuEventRecord", event, stream)
    written = rt.submit_event(event.value)
    rt.submit(buffer.copy_to(result), after=written).wait()
    assert (result == 2).all()
    driver("cuEventDestroy_v2", event)
    driver("cuStreamDestroy_v2", stream)


# requirement: a function of a task enqueues work of the other package
def test_function_uses_its_stream(rt, driver):
    buffer = rt.empty(N, "uint8")
    result = np.zeros(N, np.uint8)

    def writes(task):
        version, stream = task.__cuda_stream__()
        assert version == 0
        driver("cuMemsetD8Async", ctypes.c_void_p(buffer.address), ctypes.c_ubyte(7),
               ctypes.c_size_t(N), ctypes.c_void_p(stream))

    written = rt.submit(writes)
    rt.submit(buffer.copy_to(result), after=written).wait()
    assert (result == 7).all()
