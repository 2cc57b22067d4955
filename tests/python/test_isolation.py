# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Isolated devices: they survive what would end the process, and nothing here touches their memory."""

import numpy as np
import pytest

import flotilla as fl
from conftest import ones


@pytest.fixture
def rt():
    with fl.Runtime("cpu:2", settings={"isolation": "process", "context": "owned"}) as made:
        yield made


@pytest.fixture
def saxpy(rt, image):
    return rt.load(cpu=image).kernel("saxpy", "float a, float const* x, float* y, int n")


# requirement: kernels and copies work, and the device lives on after a fault
def test_device_survives_a_fault(rt, saxpy):
    x, y = rt.empty(100, device=0), rt.empty(100, device=0)
    result = np.zeros(100, np.float32)
    rt.submit(x.fill(1)).wait()
    rt.submit(y.fill(2)).wait()
    rt.submit(saxpy.over(100)(3.0, x, y, 100)).wait()
    with pytest.raises(fl.DeviceFault, match="saxpy"):
        rt.submit(saxpy.over(100)(3.0, fl.Address(64), y, 100)).wait()
    rt.submit(saxpy.over(100)(0.0, x, x, 100)).wait()
    rt.submit(x.copy_to(result)).wait()
    assert (result == 1).all()


# requirement: memory of the device is not lent to other packages, nor theirs to the device
def test_memory_is_not_shared(rt, saxpy):
    isolated = rt.empty(4, device=0)
    for view in [np.asarray, memoryview, np.from_dlpack, fl.Buffer.numpy]:
        with pytest.raises((BufferError, TypeError, RuntimeError)):
            view(isolated)
    with pytest.raises(BufferError, match="an isolated device"):
        isolated.numpy()
    with pytest.raises(fl.InvalidArgument, match="which an isolated device cannot use"):
        saxpy.over(4)(1.0, ones(4), isolated, 4)


# requirement: a function of a task has no stream there
def test_functions_have_no_stream(rt):
    seen = []

    def asks(task):
        seen.append(task.device)
        task.stream

    with pytest.raises(fl.InvalidArgument, match="device 0 is isolated"):
        rt.submit(asks, device=0).wait()
    with fl.Runtime("cpu:1") as other:
        other.submit(asks).wait()
    assert seen == [0, 0]
