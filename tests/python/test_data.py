# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Logical data: their memory, views, tiles and ends."""

import gc
import threading
import weakref

import numpy as np
import pytest
from conftest import eventually, ones

import flotilla as fl


@pytest.fixture
def flow(rt):
    with fl.Flow(rt) as made:
        yield made


# requirement
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128"])
@pytest.mark.parametrize("shape", [5, (5,), (2, 3), (2, 3, 4)])
def test_shapes_and_types(flow, dtype, shape):
    x = flow.empty(shape, dtype, label="x")
    assert x.shape == (shape if isinstance(shape, tuple) else (shape,)) and x.dtype == dtype
    flow.submit_host(lambda a: a.fill(1), fl.write(x)).wait()
    result = x.get()
    assert result.dtype == dtype and result.shape == x.shape and (result == 1).all()
    assert repr(x) == "<flotilla: data 'x'>"


# error guess
def test_bad_data_are_refused(rt, flow):
    read_only = ones(4)
    read_only.flags.writeable = False
    structured = np.zeros(3, [("a", "i4"), ("b", "f4")])
    for array, message in [
        (read_only, "read-only, but the flow copies results"),
        (ones(8)[::2], "not contiguous"),
        (np.array(1.0), "1 to 3 dimensions, but not 0"),
        (np.zeros((1, 1, 1, 1)), "1 to 3 dimensions, but not 4"),
        (structured, "are numbers"),
        ([1, 2], "made from an array or a buffer, but got a list; .* Flow.empty"),
        (ones(0), "extent"),
    ]:
        with pytest.raises(fl.InvalidArgument, match=message):
            flow.data(array)
    for shape, message in [(-1, "negative"), ((2, -3), "negative"), ("4", "whole numbers"), (0, "extent"), ((), "not 0"),
                           ((1, 1, 1, 1), "not 4"), ((2**40, 2**40), "many bytes")]:
        with pytest.raises(fl.InvalidArgument, match=message):
            flow.empty(shape)
    with pytest.raises(fl.InvalidArgument, match="no type"):
        flow.empty(3, "float7")
    with pytest.raises(fl.InvalidArgument, match="label of data is a string, but got a int"):
        flow.empty(3, label=5)
    x = flow.empty(3, label="x")
    with pytest.raises(fl.InvalidArgument, match="'x'"):
        x.get()
    for call in [x.prefetch, x.is_valid]:
        with pytest.raises(fl.UnknownDevice):
            call(9)
    token = flow.token(label="t")
    for call in [token.get, token.wait, token.view, token.prefetch, lambda: token.tiles(2)]:
        with pytest.raises(fl.InvalidArgument, match="a token has no memory"):
            call()


# requirement
def test_view_changes_data(flow, program):
    x = flow.empty(4, label="x")
    with x.view(change=True) as array:
        array[:] = 3
        with pytest.raises(fl.InvalidArgument, match="views data 'x' on the host"):
            flow.submit_host(lambda a: None, fl.read(x))
    with x.view() as array:
        assert (array == 3).all() and not array.flags.writeable
        flow.submit_host(lambda a: None, fl.read(x)).wait()
        with pytest.raises(fl.InvalidArgument, match="can use it after the end of the 'with'"):
            flow.submit_host(lambda a: None, fl.update(x))
    flow.submit_host(lambda a: None, fl.update(x)).wait()
    view = x.view()
    with view, pytest.raises(fl.InvalidArgument, match="open already"):
        view.__enter__()


# requirement
def test_block_brings_contents_back_to_the_array(flow, saxpy):
    array, kept = ones(4), ones(4)
    with flow.data(array) as x:
        flow.post(saxpy.over(4), 1.0, kept, fl.update(x), 4)
    assert (array == 2).all() and x.closed
    with pytest.raises(KeyError), flow.data(array) as x:
        raise KeyError
    assert x.closed
    with flow.empty(3):
        pass  # nobody wrote it, and nothing is to be brought back


# requirement: the end of data brings their contents back to the array, unless that is switched off
@pytest.mark.parametrize("writes_back", [True, False])
@pytest.mark.parametrize("in_block", [True, False])
def test_end_brings_contents_back_to_the_array(flow, saxpy, writes_back, in_block):
    array, more = np.zeros(1 << 10, np.float32), flow.data(ones(1 << 10))
    x = flow.data(array)
    x.set_write_back(writes_back)
    flow.post(saxpy.over(1 << 10), 2.0, fl.read(more), fl.update(x), 1 << 10)
    if in_block:
        with x:
            pass
    x.close()
    assert (array == (2 if writes_back else 0)).all()


# requirement: the end of the runtime ends data that still exist
def test_end_of_the_runtime_brings_contents_back(image, capfd):
    array = np.zeros(1 << 10, np.float32)
    with fl.Runtime("cpu:2") as rt:
        saxpy = rt.load(cpu=image).kernel("saxpy", "float a, float const* x, float* y, int n")
        flow = fl.Flow(rt)
        more, x = flow.data(ones(1 << 10)), flow.data(array)
        flow.post(saxpy.over(1 << 10), 2.0, fl.read(more), fl.update(x), 1 << 10)
    assert (array == 2).all()
    assert "not written back" not in capfd.readouterr().err


# requirement
def test_prefetch_and_validity(flow):
    x = flow.data(ones(4))
    assert x.is_valid() and not x.is_valid(1)
    x.prefetch(1)
    assert x.is_valid(1)
    flow.submit(lambda task, a: None, fl.update(x), device=1).wait()
    assert not x.is_valid()
    x.prefetch()
    assert x.is_valid()
    x.wait()


# error guess
def test_closed_data_are_refused(flow):
    x = flow.data(ones(4), label="x")
    use = fl.read(x)
    x.close()
    x.close()
    for call in [x.get, x.wait, x.prefetch, x.is_valid, lambda: x.tiles(2),
                 lambda: x.view().__enter__(), lambda: flow.submit_host(print, use)]:
        with pytest.raises(fl.InvalidHandle, match=r"data 'x' cannot be used: close\(\)"):
            call()


# requirement: tasks that were submitted before the end of data still use them
def test_data_end_behind_their_tasks(flow, saxpy, held):
    array, result = ones(1 << 10), flow.data(np.zeros(1 << 10, np.float32))
    x = flow.data(array)
    flow.post(saxpy.over(1 << 10), 1.0, fl.read(x), fl.update(result), 1 << 10, after=held.ticket)
    threading.Timer(0.05, held.release).start()
    del x  # waits for the tasks that use the memory of the array
    array[:] = 99
    assert (result.get() == 1).all()


# error guess: a function of a task drops the last reference to data of later tasks
def test_data_that_end_inside_a_task_keep_their_array(rt, flow):
    class Array(np.ndarray):
        pass

    array = ones(4).view(Array)
    gone = weakref.ref(array)
    holder = [flow.data(array)]
    del array
    result = flow.empty(4)
    gate = threading.Event()
    y = flow.data(ones(1))

    def drop(_y):
        gate.wait()
        holder.clear()

    flow.post_host(drop, fl.update(y))
    last = flow.submit_host(lambda a, r, _y: np.copyto(r, a), fl.read(holder[0]), fl.write(result),
                            fl.read(y))
    gate.set()
    last.wait()
    assert (result.get() == 1).all()
    flow.token()  # a call outside of functions ends the data
    gc.collect()
    eventually(lambda: gc.collect() >= 0 and gone() is None)


# error guess: arrays view the memory of data that are gone
def test_array_keeps_the_memory_of_its_data(image):
    rt = fl.Runtime("cpu:1")
    flow = fl.Flow(rt)
    x = flow.empty(1 << 16)
    with x.view(change=True) as array:
        array[:] = 4
    x.close()
    del x
    assert (array == 4).all()
    rt.close()
    assert (array == 4).all()
    del array, flow, rt
    gc.collect()


# requirement
def test_tiles(flow, program):
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    before = matrix.copy()
    add_one = program.kernel("add_one", "flotilla::view<float, 2> all")
    x = flow.data(matrix, label="x")
    with x.tiles((2, 2)) as tiles:
        assert len(tiles) == 4 and tiles.shape == (2, 2)
        assert [each.shape for each in tiles] == [(2, 2), (2, 2), (1, 2), (1, 2)]
        assert tiles[1, 0].get().tolist() == [[8, 9]] and repr(tiles[-1]) == "<flotilla: data 'x[3]'>"
        for i, tile in enumerate(tiles):
            flow.post(add_one.over(4), fl.update(tile), device=i % 2)
        with pytest.raises(fl.InvalidArgument, match="tile"):
            flow.submit_host(lambda a: None, fl.read(x))
        with tiles[0, 1].view(change=True) as part:
            part += 10
        del part
        for which, error in [(4, IndexError), ((0, 2), IndexError), ((0, 0, 0), IndexError),
                             ("a", TypeError)]:
            with pytest.raises(error):
                tiles[which]
    del tile
    before += 1
    before[:2, 2:] += 10
    assert (x.get() == before).all() and (matrix == before).all()


# error guess
def test_bad_tiles_are_refused(flow):
    x = flow.data(ones(6).reshape(2, 3), label="x")
    for tile, message in [(2, "2 dimensions, but the tile has 1"), ((0, 2), "extent"), ((-1, 2), "negative")]:
        with pytest.raises(fl.InvalidArgument, match=message):
            x.tiles(tile)
    with x.view() as array, pytest.raises(fl.InvalidArgument, match="an array still views data 'x'"):
        x.tiles((1, 1))
    with pytest.raises(fl.InvalidArgument, match="an array still views"):
        x.tiles((1, 1))
    del array
    tiles = x.tiles((1, 3))
    with tiles[0].view() as part:
        pass
    with pytest.raises(fl.InvalidArgument, match=r"close\(\): an array still views data 'x\[0\]'"):
        tiles.close()
    del part
    tiles.close()
    assert x.get().shape == (2, 3)


# regression: close() freed the runtime while another thread ended data that it had taken out
def test_data_end_on_another_thread_while_the_runtime_closes(image):
    for _ in range(30):
        rt = fl.Runtime("cpu:1")
        flow = fl.Flow(rt)
        x = flow.data(ones(1 << 10), label="x")
        inside, go_on = threading.Event(), threading.Event()

        def function(_, inside=inside, go_on=go_on):
            inside.set()
            go_on.wait()

        last = flow.submit_host(function, fl.write(x))
        assert inside.wait(60)
        ending = threading.Thread(target=x.close)
        ending.start()
        threading.Timer(0.005, go_on.set).start()
        rt.close()
        ending.join()
        last.wait()
