# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in another byte order than that of this machine are refused wherever memory is used."""

import ctypes
import types

import numpy as np
import pytest

import flotilla as fl

OTHER = np.dtype(np.float32).newbyteorder().str  # ">f4" on a little-endian machine
PREFIX = OTHER[0]


def refused(dtype=OTHER):
    import re

    return pytest.raises(fl.InvalidArgument, match=re.escape(str(np.dtype(dtype))) + ".*byte order")


# requirement
def test_copies(rt):
    x = rt.empty(4)
    for array in [np.ones(4, OTHER), np.ones((2, 2), OTHER), np.ones((4, 2), OTHER)[:, 0]]:
        with refused():
            x.copy_from(array)
        with refused():
            x.copy_to(array)
    rt.submit(x.copy_from(np.ones(4, OTHER).astype(np.float32))).wait()
    assert x.numpy().tolist() == [1] * 4


# requirement
@pytest.mark.parametrize("types_given", [True, False])
def test_arguments_of_kernels(rt, program, saxpy, types_given):
    kernel = (saxpy if types_given else program.kernel("saxpy")).over(4)
    n, y = np.int32(4), np.ones(4, np.float32)
    with refused():
        kernel(np.float32(1), np.ones(4, OTHER), y, n)
    with refused():
        kernel(np.array(1, OTHER), y, y, n)
    assert kernel(np.ones(1, OTHER)[0], y, y, n)  # NumPy converts such scalars


# requirement
def test_structs(rt, program):
    mixed = np.dtype([("a", np.int32), ("b", OTHER)])
    nested = np.dtype([("a", np.int32), ("b", [("c", OTHER)])])
    names = np.dtype([("a" + PREFIX + "f", np.int32), ("b", np.float32)])
    out = rt.empty(2, "float64")
    kernel = program.kernel("store_pair", "double*, pair").over(1)
    for kind in [mixed, nested]:
        with refused(kind):
            kernel(out, np.zeros(1, kind)[0])
        with refused(kind):
            rt.empty(8, "uint8").copy_from(np.zeros(1, kind))
        with refused(kind):
            rt.empty(8, "uint8").copy_to(np.zeros(1, kind))
    value = np.array([(3, 1.5)], names)
    rt.submit(kernel(out, value[0])).wait()
    assert out.numpy().tolist() == [3, 1.5]


# requirement
def test_bulks(rt, program, saxpy):
    y = rt.empty((4, 4))
    for values in [np.ones(4, OTHER), np.ones((4, 4), OTHER)]:
        with refused():
            rt.submit_bulk(saxpy.over(4), (fl.Each(values), y, y, 4))
        with refused():
            rt.submit_bulk(saxpy.over(4), (1.0, fl.Each(values), y, 4))
        with refused():
            rt.submit_bulk(program.kernel("saxpy").over(4), (np.float32(1), fl.Each(values), y))


# requirement
def test_data_and_buffers(rt):
    flow = fl.Flow(rt)
    with refused():
        flow.data(np.ones(4, OTHER))
    for make in [rt.empty, rt.pinned, flow.empty]:
        with pytest.raises(fl.InvalidArgument, match="byte order"):
            make(4, np.dtype(OTHER))
        with pytest.raises(fl.InvalidArgument, match=OTHER):
            make(4, OTHER)
    with refused():
        rt.view(np.ones(4, OTHER))


# requirement
def test_values_of_fills(rt):
    with refused():
        rt.empty(4).fill(np.array(1, OTHER))
    half = np.dtype(np.float16).newbyteorder().str
    with refused(half):
        rt.empty(4, "float16").fill(np.array(1, half))


# requirement
def test_variables_of_programs(program):
    other = np.dtype(np.int32).newbyteorder().str
    for call in [program.write_global, program.read_global]:
        with refused(other):
            call(0, "offset", np.ones(1, other))


# requirement: other packages than NumPy
def test_other_protocols(rt):
    number = ctypes.c_float.__ctype_be__ if PREFIX == ">" else ctypes.c_float.__ctype_le__
    for array in [memoryview(np.ones(4, OTHER)), (number * 4)()]:
        with pytest.raises(fl.InvalidArgument, match=f"'{PREFIX}f'.*byte order"):
            rt.empty(4).copy_from(array)
    interface = {"shape": (4,), "data": (4096, False), "version": 3}
    for kind in [{"typestr": OTHER}, {"typestr": "|V4", "descr": [("a", [("b", OTHER)])]}]:
        array = types.SimpleNamespace(__cuda_array_interface__={**interface, **kind})
        with pytest.raises(fl.InvalidArgument, match=f"'{OTHER}'.*byte order"):
            rt.view(array)


# boundary: a byte has no order
def test_bytes_have_no_order(rt):
    kind = np.dtype([("a", PREFIX + "i1"), ("b", PREFIX + "u1"), ("c", "S2")])
    rt.submit(rt.empty(8, "uint8").copy_from(np.zeros(2, kind))).wait()
