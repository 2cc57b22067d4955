# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Programs, kernels and the arguments of launches."""

import ctypes
import os
import pathlib

import numpy as np
import pytest
from conftest import ones

import flotilla as fl


# requirement
def test_launch_computes_with_buffers(rt, saxpy):
    x, y = rt.empty(1000), rt.empty(1000)
    x.numpy()[:] = 1
    y.numpy()[:] = 1
    rt.submit(saxpy.over(1000)(2.0, x, y, 1000)).wait()
    assert (y.numpy() == 3).all()


# requirement: NumPy arrays are arguments without a copy on CPU devices
def test_launch_computes_with_arrays_in_place(rt, saxpy):
    x, y = ones(1000), ones(1000)
    x.flags.writeable = False
    rt.submit(saxpy.over(1000)(2, x, y, np.int64(1000))).wait()
    assert (y == 3).all()


# requirement
def test_numbers_are_converted_to_the_types_of_the_kernel(rt, program):
    types = "double* out, bool, signed char, unsigned short, int, unsigned long long, float, double"
    store = program.kernel("store", types)
    out = np.zeros(7)
    rt.submit(store.over(1)(out, True, -5, 65535, -(2**31), 2**64 - 1, 1, np.float32(0.25))).wait()
    assert out.tolist() == [1, -5, 65535, -(2**31), float(2**64 - 1), 1, 0.25]


# requirement: without types, scalars with a type of their own
def test_typed_scalars_need_no_types_of_the_kernel(rt, program):
    out = np.zeros(7)
    arguments = [np.bool_(1), np.int8(-5), np.uint16(7), ctypes.c_int(-9), np.uint64(11),
                 ctypes.c_float(0.5), np.float64(0.25)]
    rt.submit(program.kernel("store").over(1)(out, *arguments)).wait()
    assert out.tolist() == [1, -5, 7, -9, 11, 0.5, 0.25]


# requirement
def test_structs_are_passed_as_bytes(rt, program):
    kernel = program.kernel("store_pair", "double*, pair")
    value = np.array([(3, 0.5)], dtype=[("a", "i4"), ("b", "f4")])[0]
    out = np.zeros(2)
    rt.submit(kernel.over(1)(out, value.tobytes())).wait()
    assert out.tolist() == [3, 0.5]
    out[:] = 0
    rt.submit(kernel.over(1)(out, value)).wait()
    assert out.tolist() == [3, 0.5]
    with pytest.raises(fl.InvalidArgument, match="it has 3 bytes, but the parameter has 8"):
        kernel.over(1)(out, b"abc")


# requirement
def test_none_and_addresses_are_pointers(rt, program):
    kernel = program.kernel("is_null", "int*, float const*")
    out = np.zeros(1, np.int32)
    rt.submit(kernel.over(1)(out, None)).wait()
    assert out[0] == 1
    rt.submit(kernel.over(1)(out, fl.Address(4096))).wait()
    assert out[0] == 0
    buffer = rt.empty(1, "int32")
    rt.submit(kernel.over(1)(fl.Address(buffer.address), None), device=0).wait()
    assert buffer.numpy()[0] == 1


BAD_ARGUMENTS = [
    ((2.0, "x", "y", 1.5), "argument 3 is the float 1.5, but the type is int32"),
    ((2.0, "x", "y", 2**31), "argument 3 is 2147483648, which no int32 can hold"),
    ((2.0, "x", "y"), "has 4 parameters, but got only 3 arguments$"),
    ((2.0, "x", "y", 1, 1), "has 4 parameters, but got more arguments"),
    (("text", "x", "y", 1), "argument 0 is a str, which is no argument of a kernel"),
    ((None, "x", "y", 1), "argument 0 is an address, but the parameter 'float a' is no pointer"),
    (("x", "x", "y", 1), "argument 0 is an array, but the parameter 'float a' is no pointer"),
    ((2.0, 12345, "y", 1), "is a Python number, but .* is a pointer"),
    ((2.0, "doubles", "y", 1), "has elements of the type float64, but .* points to float32"),
    ((2.0, "x", "double buffer", 1), "has elements of the type float64, but .* points to float32"),
    ((2.0, "x", "read-only", 1), "is read-only, but .* is no pointer to const"),
    ((2.0, "x", "strided", 1), "is not contiguous"),
    ((2.0, "x", "closed", 1), "another runtime"),
    ((2.0, object(), "y", 1), "is a object, which is no argument"),
]


# error guess
@pytest.mark.parametrize("arguments, message", BAD_ARGUMENTS)
def test_bad_argument_is_refused_with_its_name(rt, saxpy, arguments, message):
    read_only = ones(4)
    read_only.flags.writeable = False
    with fl.Runtime("cpu:1") as other:
        closed = other.empty(4)
    named = {
        "x": ones(4), "y": ones(4), "doubles": np.ones(4), "double buffer": rt.empty(4, "float64"),
        "read-only": read_only, "strided": ones(8)[::2], "closed": closed,
    }
    given = [named.get(a, a) if isinstance(a, str) else a for a in arguments]
    with pytest.raises(fl.InvalidArgument, match=message):
        saxpy.over(4)(*given)


# error guess: an int for a float would be no error that the runtime could see
def test_python_numbers_without_types_are_refused(rt, program):
    with pytest.raises(fl.InvalidArgument, match="argument 0 is a Python number, whose type"):
        program.kernel("saxpy").over(1)(2, None, None, np.int32(1))
    with pytest.raises(fl.InvalidArgument, match="it has 8 bytes, but the parameter has 4"):
        program.kernel("saxpy").over(1)(np.float64(2), None, None, np.int32(1))


# error guess
@pytest.mark.parametrize(
    "types, message",
    [
        ("float, float*, float*", "has 4 parameters, but 3 types were given"),
        ("double, float*, float*, int", "parameter 0 of kernel 'saxpy' has 4 bytes, but 'double'"),
        ("float, , float*, int", "parameter 1 of the kernel, ' ', has no type"),
        ("float, float*, float*, flotilla::task_status s", "a task_status, which Python"),
        (7, "are a string .* got a int"),
    ],
)
def test_bad_types_are_refused(program, types, message):
    with pytest.raises(fl.InvalidArgument, match=message):
        program.kernel("saxpy", types)


# error guess
def test_bad_shapes_are_refused(rt, saxpy, program):
    empty = program.kernel("empty", "")
    for grid, block in [(0, 1), (1, 0), ((1, 1, 1), 2000)]:
        with pytest.raises(fl.InvalidArgument):
            rt.submit(empty.with_shape(grid, block)())
    for grid in [-1, "1", (1, 2, 3, 4), 2**40, 1.5]:
        with pytest.raises(fl.InvalidArgument, match="the grid"):
            empty.with_shape(grid, 1)
    with pytest.raises(TypeError):
        empty.with_shape(None, 1)
    with pytest.raises(fl.InvalidArgument, match="-1"):
        empty.over(-1)
    with pytest.raises(fl.InvalidArgument, match="call it with the arguments"):
        rt.submit(empty.over(1))
    assert empty.with_shape((2, 3), (4, 5, 6))().grid == (2, 3, 1)


# requirement
def test_unknown_kernels_and_bad_images_are_refused(rt, program):
    assert sorted(program.kernel_names)[:2] == ["add_at", "add_offset"]
    with pytest.raises(fl.UnknownSymbol, match="saxpi.*saxpy"):
        program.kernel("saxpi")
    with pytest.raises(fl.BadImage):
        rt.load(cpu=b"no image")
    with pytest.raises(fl.BadImage):
        rt.load(gpu=b".version 8.0")
    with pytest.raises(fl.BadImage, match="no_such_file"):
        rt.load_file("no_such_file.fatbin")
    with pytest.raises(fl.InvalidArgument, match="needs code"):
        rt.load()
    with pytest.raises(fl.InvalidArgument, match="must be bytes, but is a int"):
        rt.load(cpu=7)


# requirement
def test_images_of_cmake_and_files_can_be_loaded(rt, image_file):
    assert "saxpy" in rt.load_file(image_file).kernel_names
    made_by_cmake = os.environ.get("FLOTILLA_TEST_IMAGE")
    if made_by_cmake is None:
        pytest.skip("FLOTILLA_TEST_IMAGE does not name an image of flotilla_add_kernels")
    code = pathlib.Path(made_by_cmake).read_bytes()
    assert "saxpy" in rt.load(cpu=bytearray(code), name="made by CMake").kernel_names


# requirement
def test_compile_errors_have_the_output_of_the_compiler(tmp_path):
    with pytest.raises(fl.BadImage, match="no_such_type"):
        fl.compile_cpu('extern "C" __global__ void k(no_such_type x) {\n}\n')
    with pytest.raises(fl.BadImage, match='not extern "C"'):
        fl.compile_cpu("__global__ void k() {\n}\n")
    with pytest.raises(fl.BadImage, match="there is no file"):
        fl.compile_cpu(tmp_path / "missing.cu")
    with pytest.raises(fl.Error, match="no_such_compiler"):
        fl.compile_cpu("int x;\n", compiler="no_such_compiler")


# requirement
def test_variables_are_written_and_read(rt, program):
    program.write_global(0, "offset", np.array([7], np.int32))
    value = np.zeros(1, np.int32)
    program.read_global(0, "offset", value)
    assert value[0] == 7
    out = rt.empty(1, "int32", device=0)
    rt.submit(out.fill(1)).wait()
    rt.submit(program.kernel("add_offset", "int*").with_shape(1, 1)(out)).wait()
    assert out.numpy()[0] == 8
    with pytest.raises(fl.InvalidArgument):
        program.write_global(0, "offset", np.zeros(9, np.int32))
    with pytest.raises(fl.UnknownSymbol):
        program.write_global(0, "nothing", value)
    with pytest.raises(fl.InvalidArgument, match="can be written"):
        program.read_global(0, "offset", b"1234")


# requirement: texts for people
def test_texts_of_objects(rt, program, saxpy):
    assert repr(saxpy) == "<flotilla: kernel 'saxpy'>"
    shaped = saxpy.with_shape((2, 3), 64)
    text = "2 x 3 x 1 blocks of 64 x 1 x 1 threads>"
    assert repr(shaped) == f"<flotilla: kernel 'saxpy' with {text}"
    x = rt.empty((4, 64), "int32", device=1)
    assert repr(x) == "<flotilla: a buffer of 4 x 64 int32 on device 1>"
    assert repr(rt.pinned(3)) == "<flotilla: a pinned buffer of 3 float32>"
    assert repr(shaped(1.0, None, None, 0)) == f"<flotilla: launch with {text}"
