# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy, Numba and PyTorch beside flotilla on one GPU: arrays both ways without copies, and the
order of their streams and flotilla's tasks. Each test needs a GPU and its package."""

import ctypes

import numpy as np
import pytest

import flotilla as fl
from on_gpu import rt, saxpy  # noqa: F401 (fixtures)

N = 1 << 20
STEPS = 50


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return found


# requirement
def test_cupy_views_a_buffer(rt, cupy):
    buffer = rt.empty((4, 5))
    for array in [cupy.asarray(buffer), cupy.from_dlpack(buffer)]:
        assert array.data.ptr == buffer.address
        assert (array.shape, array.dtype) == ((4, 5), np.float32)
    rt.submit(buffer.fill(0)).wait()
    array += 7
    cupy.cuda.get_current_stream().synchronize()
    result = np.zeros((4, 5), np.float32)
    rt.submit(buffer.copy_to(result)).wait()
    assert (result == 7).all()


# requirement
def test_arrays_of_cupy_are_arguments_and_views(rt, saxpy, cupy):
    x, y = cupy.ones(N, np.float32), cupy.zeros(N, np.float32)
    cupy.cuda.get_current_stream().synchronize()
    rt.submit(saxpy.over(N)(2.0, x, y, N), device=0).wait()
    assert bool((y == 2).all())
    view = rt.view(y)
    assert view.address == y.data.ptr
    rt.submit(view.fill(3)).wait()
    assert bool((y == 3).all())


# requirement: each step of one side sees all writes of the other side's step before
@pytest.mark.parametrize("blocking", [False, True])
def test_streams_of_cupy_and_tasks_take_turns(rt, saxpy, cupy, blocking):
    stream = cupy.cuda.Stream(non_blocking=not blocking)
    event = cupy.cuda.Event(disable_timing=True)
    x, y = cupy.ones(N, np.float32), cupy.zeros(N, np.float32)
    cupy.cuda.get_current_stream().synchronize()
    for _ in range(STEPS):
        with stream:
            y *= 2
            event.record()
        ready = rt.submit_event(event.ptr)
        rt.submit(saxpy.over(N)(1.0, x, y, N), device=0, after=ready).enqueue_wait(stream.ptr)
    with stream:
        expected = y.dtype.type(2.0) ** np.float32(STEPS) - 1
        assert bool((y == expected).all())


# requirement: a kernel of CuPy in a task, on the stream of the task
def test_function_launches_with_cupy(rt, cupy):
    double = cupy.ElementwiseKernel("float32 a", "float32 b", "b = 2 * a", "double_it")
    buffer, result = rt.empty(N), np.zeros(N, np.float32)
    filled = rt.submit(buffer.copy_from(np.full(N, 21, np.float32)))

    def compute(task):
        with cupy.cuda.Stream.from_external(task):
            array = cupy.asarray(buffer)
            double(array, array)

    computed = rt.submit(compute, after=filled, device=0)
    rt.submit(buffer.copy_to(result), after=computed).wait()
    assert (result == 42).all()


# requirement
def test_torch_views_a_buffer(rt, torch):
    buffer = rt.empty((4, 5))
    for tensor in [torch.from_dlpack(buffer), torch.as_tensor(buffer, device="cuda")]:
        assert tensor.data_ptr() == buffer.address
        assert tuple(tensor.shape) == (4, 5) and tensor.dtype == torch.float32
    rt.submit(buffer.fill(0)).wait()
    tensor += 7
    torch.cuda.synchronize()
    result = np.zeros((4, 5), np.float32)
    rt.submit(buffer.copy_to(result)).wait()
    assert (result == 7).all()


# requirement
def test_tensors_are_arguments_and_views(rt, saxpy, torch):
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    rt.submit(saxpy.over(N)(2.0, x, y, N), device=0).wait()
    assert bool((y == 2).all())
    view = rt.view(y)
    assert view.address == y.data_ptr()
    rt.submit(view.fill(3)).wait()
    assert bool((y == 3).all())


# requirement: each step of one side sees all writes of the other side's step before
def test_streams_of_torch_and_tasks_take_turns(rt, saxpy, torch):
    stream = torch.cuda.Stream()
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(STEPS):
            y *= 2
            event = torch.cuda.Event()
            event.record(stream)
            ready = rt.submit_event(event.cuda_event)
            task = rt.submit(saxpy.over(N)(1.0, x, y, N), device=0, after=ready)
            task.enqueue_wait(stream)
            ready.wait()  # the event must live until then
        assert bool((y == 2.0**STEPS - 1).all().cpu())


# requirement: a matrix product of PyTorch in a task, between tasks of flotilla
def test_function_calls_torch(rt, saxpy, torch):
    side = 256
    a, b = rt.empty((side, side)), rt.empty((side, side))
    filled = [rt.submit(a.copy_from(np.eye(side, dtype=np.float32) * 2)),
              rt.submit(b.copy_from(np.ones((side, side), np.float32)))]
    product = rt.empty((side, side))

    def multiply(task):
        with torch.cuda.stream(torch.cuda.ExternalStream(task.stream)):
            out = torch.from_dlpack(product)
            torch.mm(torch.from_dlpack(a), torch.from_dlpack(b), out=out)

    done = rt.submit(multiply, after=filled, device=0)
    added = rt.submit(saxpy.over(side * side)(1.0, b, product, side * side), after=done)
    result = np.zeros((side, side), np.float32)
    rt.submit(product.copy_to(result), after=added).wait()
    assert (result == 3).all()


# requirement
def test_numba_views_a_buffer(rt):
    cuda = pytest.importorskip("numba.cuda")
    buffer = rt.empty(N)
    rt.submit(buffer.fill(0)).wait()
    array = cuda.as_cuda_array(buffer)
    assert array.device_ctypes_pointer.value == buffer.address
    array[:] = np.float32(5)
    cuda.synchronize()
    result = np.zeros(N, np.float32)
    rt.submit(buffer.copy_to(result)).wait()
    assert (result == 5).all()
    view = rt.view(cuda.to_device(np.ones(N, np.float32)))
    rt.submit(view.copy_to(result)).wait()
    assert (result == 1).all()


# requirement: all of them use one context
def test_all_share_the_primary_context(rt, cupy, torch):
    torch.zeros(1, device="cuda")
    cupy.zeros(1)
    seen = set()

    def look(task):
        driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0
        seen.add(context.value)

    look(None)
    rt.submit(look, device=0).wait()
    assert len(seen) == 1
