# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Many launches with one ticket."""

import sys

import numpy as np
import pytest
from conftest import eventually, ones

import flotilla as fl


@pytest.fixture
def add(program):
    return program.kernel("add_at", "int* row, int column, int value").with_shape(1, 1)


# requirement
@pytest.mark.parametrize("count", [0, 1, 63, 5000])
def test_each_item_has_its_own_values(rt, add, count):
    out = rt.empty(max(count, 1), "int32")
    zero = rt.submit(out.fill(0))
    columns = np.arange(count, dtype=np.int32)
    values = np.arange(2 * count, dtype=np.int32)[::2]  # with a stride
    ticket = rt.submit_bulk(add, (out, fl.Each(columns), fl.Each(values)), after=zero)
    ticket.wait()
    assert (out.numpy()[:count] == values).all()


# requirement: rows of buffers and of arrays
def test_items_use_rows(rt, add):
    buffer = rt.empty((200, 3), "int32")
    rt.submit(buffer.fill(0)).wait()
    rt.submit_bulk(add, [fl.Each(buffer), 1, fl.Each(np.arange(200, dtype=np.int32))]).wait()
    assert buffer.numpy()[:, 1].tolist() == list(range(200))
    assert not buffer.numpy()[:, ::2].any()
    array = np.zeros((200, 3), np.int32)
    rt.submit_bulk(add, [fl.Each(array), 2, 7], 200).wait()
    assert (array[:, 2] == 7).all() and not array[:, :2].any()


# requirement
def test_lists_of_tasks(rt, add):
    out = rt.empty(100, "int32")
    result = np.zeros(100, np.int32)
    rt.submit(out.fill(0)).wait()
    all_ended = rt.submit_bulk([add(out, i, i) for i in range(100)])
    rt.submit_bulk([out.copy_to(result)], after=all_ended).wait()
    assert result.tolist() == list(range(100))


# requirement: arrays live until the last item has ended
def test_arrays_live_until_the_bulk_has_ended(rt, add, held):
    array = np.zeros((100, 1), np.int32)
    before = sys.getrefcount(array)
    rt.submit_bulk(add, [fl.Each(array), 0, 1], after=held.ticket)
    assert sys.getrefcount(array) > before
    held.release()
    eventually(lambda: sys.getrefcount(array) == before)
    assert (array == 1).all()


# error guess
def test_bad_bulks_are_refused(rt, add, program):
    x = np.zeros(4, np.int32)
    each, five = (fl.Each(np.arange(n, dtype=np.int32)) for n in [4, 5])
    for arguments, count, message in [
        ((x, each, five), None, "has 5 values, but the bulk has 4"),
        ((x, each, 1), 5, "has 4 values, but the bulk has 5"),
        ((x, 1, 1), None, "needs an argument flotilla.Each"),
        ((x, 1, 1), -1, "not negative, but got -1"),
        ((x, 1, 1), 1.5, "not negative, but got 1.5"),
        ((x, fl.Each(np.arange(4)), 1), None, "of the type int64 and have 8 bytes"),
        ((x, fl.Each(np.ones(4, np.float32)), 1), None, "of the type float32"),
        ((x, fl.Each([1, 2, 3, 4]), 1), None, "needs an array or a buffer, but got a list"),
        ((x, fl.Each(np.zeros((4, 2), np.int32)), 1), None, "one dimension"),
        ((fl.Each(ones(4)), 0, 1), None, "has elements of the type float32"),
        ((x, each), None, "only 2 arguments"),
        ((x, each, each, each), None, "got more arguments"),
        (7, None, "are a tuple or a list, but got a int"),
    ]:
        with pytest.raises(fl.InvalidArgument, match=message):
            rt.submit_bulk(add, arguments, count)
    with pytest.raises(fl.InvalidArgument, match="item 1 of the bulk is a int"):
        rt.submit_bulk([add(x, 0, 1), 7])
    with pytest.raises(fl.InvalidArgument, match="needs a kernel with its shape"):
        rt.submit_bulk(7)
    with fl.Runtime("cpu:1") as other, pytest.raises(fl.WrongRuntime):
        other.submit_bulk(add, (x, each, 1))


# requirement
def test_failed_item_is_named(rt, program):
    good, bad = (program.kernel("empty", "").with_shape(grid, 1)() for grid in [1, 0])
    with pytest.raises(fl.BulkError, match="item 2 of 3") as raised:
        rt.submit_bulk([good, good, bad])
    assert (raised.value.index, raised.value.count) == (2, 3)
    assert isinstance(raised.value.__cause__, fl.InvalidArgument)


# requirement: the check of the order knows that each item uses its own row
@pytest.mark.parametrize("pinned", [False, True])
def test_rows_have_an_order(image, pinned):
    with fl.Runtime("cpu:1", checks="order") as rt:
        program = rt.load(cpu=image)
        saxpy = program.kernel("saxpy", "float, float const*, float*, int").over(64)
        x, y = rt.empty(64), (rt.pinned if pinned else rt.empty)((6, 64))
        filled = [rt.submit(x.fill(1))]
        if pinned:
            y.numpy()[:] = 0
        else:
            filled.append(rt.submit(y.fill(0)))
        a = np.arange(4, dtype=np.float32)
        for options in [{}, {"batch": False}]:
            arguments = (fl.Each(a), x, fl.Each(y[1:5]), 64)
            bulk = rt.submit_bulk(saxpy, arguments, after=filled, **options)
            filled = [bulk]
        bulk.wait()
        assert y.numpy()[:, 0].tolist() == [0, 0, 2, 4, 6, 0]
        if pinned:
            return
        bulk = rt.submit_bulk(saxpy, (1.0, x, fl.Each(y), 64))
        with pytest.raises(fl.MissingDependency, match="256 bytes"):
            rt.submit(y[3].fill(0))
        rt.submit(y[3].fill(0), after=bulk).wait()
        add = program.kernel("add_at", "int*, int, int").with_shape(1, 1)
        with pytest.raises(fl.BulkError) as raised:
            rt.submit_bulk(add, (rt.empty(4, "int32"), fl.Each(np.arange(4, dtype=np.int32)), 1))
        assert isinstance(raised.value.__cause__, fl.MissingDependency)


# requirement: launches that only read a buffer need no order
def test_readers_need_no_order(image):
    with fl.Runtime("cpu:1", checks="order") as rt:
        kernel = rt.load(cpu=image).kernel("saxpy", "float, float const*, float*, int").over(4)
        x, y, z = (rt.empty(4) for _ in range(3))
        for each in (x, y, z):
            rt.submit(each.fill(1)).wait()
        rt.submit(kernel(1.0, x, y, 4))
        last = rt.submit(kernel(1.0, x, z, 4))
        with pytest.raises(fl.MissingDependency, match="later task .* reads 16 bytes"):
            rt.submit(kernel(1.0, y, z, 4), after=last)
