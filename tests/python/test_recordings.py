# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings."""

import gc

import numpy as np
import pytest

import flotilla as fl


# requirement
def test_replays_run_all_tasks_in_order(rt, program):
    add = program.kernel("add_at", "int*, int, int").with_shape(1, 1)
    buffer, pinned = rt.empty(2, "int32"), rt.pinned(2, "int32")
    step = fl.Recording(rt)
    filled = step.add(buffer.fill(10))
    added = step.add(add(buffer, 1, 1), after=filled)
    step.add(buffer.copy_to(pinned), after=[added])
    assert len(step) == 3
    del buffer
    gc.collect()  # the recording keeps its buffers
    step.finish()
    for _ in range(3):
        step.replay(label="step").wait()
        assert pinned.numpy().tolist() == [10, 11]
    step.set(filled, rt.empty(2, "int32").fill(0))
    step.replay().wait()
    assert pinned.numpy()[1] == 12


# requirement: replays keep arrays, also those that `set` has replaced
def test_replays_keep_arrays(rt, program, held):
    add = program.kernel("add_at", "int*, int, int").with_shape(1, 1)
    first, second = np.zeros(1, np.int32), np.zeros(1, np.int32)
    step = fl.Recording(rt)
    step.add(add(first, 0, 1))
    step.replay(after=held.ticket)
    step.set(0, add(second, 0, 1))
    last = step.replay(after=held.ticket)
    del step
    gc.collect()
    held.release()
    last.wait()
    rt.wait_idle()
    assert (first[0], second[0]) == (1, 1)


# error guess
def test_bad_recordings_are_refused(rt, program):
    empty = program.kernel("empty", "").over(1)()
    step = fl.Recording(rt)
    with pytest.raises(fl.InvalidArgument):
        step.replay()
    for what in [7, lambda task: None]:
        with pytest.raises(fl.InvalidArgument, match="a recording has launches, copies and fills"):
            step.add(what)
    with pytest.raises(fl.InvalidArgument, match="pageable"):
        step.add(rt.empty(1).copy_from(np.zeros(1, np.float32)))
    for after in [0, [1], "a", -1]:
        with pytest.raises(fl.InvalidArgument):
            step.add(empty, after=after)
    with pytest.raises(fl.InvalidArgument, match="no.* with the number 5"):
        step.set(5, empty)
    step.add(empty)
    step.finish()
    with pytest.raises(fl.InvalidArgument):
        step.add(empty)
    with fl.Runtime("cpu:1") as other, pytest.raises(fl.WrongRuntime):
        fl.Recording(other).add(empty)
    with pytest.raises(TypeError):
        fl.Recording(7)


# error guess
def test_recording_of_a_closed_runtime_is_refused(image):
    with fl.Runtime("cpu:1") as rt:
        step = fl.Recording(rt)
        step.add(rt.load(cpu=image).kernel("empty", "").over(1)())
        step.replay().wait()
    with pytest.raises(fl.RuntimeClosed):
        step.replay()
    with pytest.raises(fl.RuntimeClosed):
        fl.Recording(rt)
