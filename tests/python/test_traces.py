# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Traces. The tests of the C++ library read the files; here they must exist and be complete."""

import pytest

import flotilla as fl


# requirement
def test_block_writes_a_trace(rt, program, tmp_path):
    empty = program.kernel("empty", "").over(1)
    path = tmp_path / "step.pftrace"
    with rt.trace(path) as trace:
        for i in range(50):
            rt.post(empty(), label=f"task number {i}")
        rt.wait_idle()
    summary = trace.end()
    assert (summary.tasks, summary.dropped, summary.unfinished) == (50, 0, 0)
    assert summary.bytes == path.stat().st_size
    content = path.read_bytes()
    assert all(f"task number {i}".encode() in content for i in range(50))


# requirement
def test_sampled_trace_has_a_part_of_the_tasks(rt, program, tmp_path):
    empty = program.kernel("empty", "").over(1)
    trace = rt.trace(str(tmp_path / "sampled"), every=1 << 30)
    for _ in range(50):
        rt.post(empty())
    rt.wait_idle()
    assert trace.end().tasks <= 50


# error guess
def test_bad_traces_are_refused(rt, tmp_path):
    for options, message in [({"every": 0}, "'every' must be from 1"), ({"every": -1}, "but is -1"),
                             ({"every": 1 << 32}, "2\\^32"), ({"memory": -5}, "memory"),
                             ({"memory": 100}, "memory.*100")]:
        with pytest.raises(fl.InvalidArgument, match=message):
            rt.trace(tmp_path / "bad", **options)
    with pytest.raises(fl.InvalidArgument, match="empty"):
        rt.trace("")
    with pytest.raises(fl.TraceFailed, match="No such file"):
        rt.trace(tmp_path / "missing" / "file")
    with pytest.raises(TypeError):
        rt.trace()
    with rt.trace(tmp_path / "first"), pytest.raises(fl.TraceFailed, match="first"):
        rt.trace(tmp_path / "second")


# error guess
def test_full_disk_is_an_error_of_the_trace(rt, program, capfd):
    trace = rt.trace("/dev/full")
    rt.submit(program.kernel("empty", "").over(1)()).wait()
    with pytest.raises(fl.TraceFailed, match="No space"):
        trace.end()
    with pytest.raises(fl.TraceFailed):
        trace.end()


# error guess: the runtime closes before the trace, and a block ends with an exception
def test_runtime_ends_its_trace(image, tmp_path):
    path = tmp_path / "file"
    with fl.Runtime("cpu:1") as rt:
        trace = rt.trace(path)
    assert path.stat().st_size > 0
    with pytest.raises(fl.TraceFailed, match="not completed"):
        trace.end()
    with pytest.raises(fl.RuntimeClosed):
        rt.trace(path)
    with fl.Runtime("cpu:1") as rt:
        with pytest.raises(KeyError), rt.trace(path):
            raise KeyError
        rt.trace(path).end()
