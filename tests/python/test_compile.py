# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that are compiled at run time."""

import numpy as np
import pytest

import flotilla as fl

SOURCE = """
#include "factor.hpp"
extern "C" __global__ void scale(float* x, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] *= FACTOR + MORE; }
}
template <int k> __global__ void add(float* x, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] += k; }
}
"""


@pytest.fixture
def options(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "factor.hpp").write_text("#define FACTOR 2")
    return {"include_directories": [tmp_path / "own"], "cache_directory": tmp_path / "cache",
            "defines": ["MORE=1"]}


# requirement
def test_source_compiles_and_runs(rt, options):
    program = rt.compile(SOURCE, name_expressions=["add<5>"], **options)
    x = np.ones(100, np.float32)
    types = "float* x, int n"
    done = rt.submit(program.kernel("scale", types).over(100)(x, 100))
    rt.submit(program.kernel("add<5>", types).over(100)(x, 100), after=done).wait()
    assert (x == 8).all()


# requirement: the second call takes the result from the cache
def test_cache_is_used(rt, options, tmp_path):
    rt.compile(SOURCE, **options)
    assert len(list((tmp_path / "cache").iterdir())) == 1
    rt.compile(SOURCE, **options)
    assert len(list((tmp_path / "cache").iterdir())) == 1
    rt.compile(SOURCE, cache=False, **options)


# requirement
def test_error_has_log_source_and_line(rt, options):
    with pytest.raises(fl.CompileError, match="mine.cu:2: ") as raised:
        rt.compile('\nextern "C" __global__ void f() { missing(); }', name="mine.cu", **options)
    assert raised.value.source == "mine.cu"
    assert raised.value.line == 2
    assert "missing" in raised.value.log


# requirement: bad options are refused by name
@pytest.mark.parametrize("bad, text", [
    ({"standard": 11}, "compile_options::standard"),
    ({"cpu_options": ["-I/x"]}, "compile_options::cpu_options"),
    ({"cpu_options": "-O2"}, "'cpu_options' of compile must be a list of texts"),
    ({"name_expressions": [3]}, "'name_expressions' of compile must be a text"),
    ({"standard": "new"}, "'standard' of compile must be a number"),
    ({"timeout": 0}, "'timeout' of compile"),
    ({"colour": "red"}, "no option 'colour'"),
])
def test_bad_options_are_refused(rt, bad, text):
    with pytest.raises(fl.InvalidArgument, match=text):
        rt.compile(SOURCE, **bad)


# requirement
def test_missing_compiler_and_timeout(rt, options, tmp_path):
    with pytest.raises(fl.NoCompiler, match="/no/such"):
        rt.compile(SOURCE, cpu_compiler="/no/such", **options)
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 100\n")
    slow.chmod(0o700)
    with pytest.raises(fl.TimedOut):
        rt.compile(SOURCE, cpu_compiler=slow, timeout=0.1, **options)


# requirement: NVIDIA's wheels are found
def test_nvrtc_of_wheels(monkeypatch, tmp_path):
    from flotilla import _nvrtc

    monkeypatch.setattr("sys.path", ["", str(tmp_path)])
    assert _nvrtc.find() == ""
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    assert _nvrtc.find() == str(library)
