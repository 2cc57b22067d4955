# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the functions of tasks keep no memory alive."""

import asyncio
import gc
import sys
import traceback
import weakref

import numpy as np
import pytest
from conftest import eventually

import flotilla as fl


class Thing:
    """Something that a program holds while it waits."""


def bad(*_arguments):
    raise ValueError("a mistake of the function")


def waits(rt):
    thing = Thing()
    ticket = rt.submit(bad)
    for _ in range(3):
        with pytest.raises(ValueError, match="a mistake"):
            ticket.wait()
    return weakref.ref(thing)


def waits_for_a_host_task(rt):
    thing = Thing()
    ticket = rt.submit_host(bad)
    try:
        ticket.wait()
    except ValueError as error:
        thing.error = error
    return weakref.ref(thing)


def reads_the_error(rt):
    thing = Thing()
    thing.ticket = rt.submit(bad)
    rt.wait_idle()
    thing.errors = [thing.ticket.error, thing.ticket.error]
    for error in thing.errors:
        error.thing = thing
    return weakref.ref(thing)


def waits_for_a_successor(rt):
    thing = Thing()
    first = rt.submit(bad)
    second = rt.submit(lambda task: None, after=first)
    try:
        second.wait()
    except fl.DependencyFailed as error:
        try:
            raise error.__cause__
        except ValueError:
            pass
    return weakref.ref(thing)


def awaits(rt):
    async def main():
        thing = Thing()
        ticket = rt.submit(bad)
        try:
            await ticket
        except ValueError:
            pass
        return weakref.ref(thing)

    return asyncio.run(main())


def continues(rt):
    thing = Thing()
    thing.errors = []
    ticket = rt.submit(bad)

    def then(error):
        try:
            raise error
        except ValueError:
            thing.errors.append((error, ticket))

    ticket.then(then)
    rt.wait_idle()
    return weakref.ref(thing)


def never_waits(rt):
    class Job(Thing):
        def work(self, _task):
            bad()

        def wrong_name(self):
            return self.no_such_name

    job = Job()
    job.tickets = [
        rt.submit(job.work),
        rt.submit(lambda task: job.work(task)),
        rt.submit_host(lambda: job.wrong_name()),
        rt.submit_host(job.wrong_name),
    ]
    job.later = rt.submit(lambda task: None, after=job.tickets)
    rt.wait_idle()
    return weakref.ref(job)


def fails_with_a_cause(rt):
    thing = Thing()

    def work(_task):
        try:
            bad(thing)
        except ValueError as error:
            raise KeyError(3) from error

    thing.ticket = rt.submit(work)
    with pytest.raises(KeyError) as raised:
        thing.ticket.wait()
    assert isinstance(raised.value.__cause__, ValueError)
    return weakref.ref(thing)


def fails_with_a_group(rt):
    thing = Thing()

    def work(_task):
        try:
            bad(thing)
        except ValueError as error:
            raise ExceptionGroup("several", [error])  # noqa: B904, F821

    thing.ticket = rt.submit(work)
    rt.wait_idle()
    return weakref.ref(thing)


def replays(rt):
    thing = Thing()
    recording = fl.Recording(rt)
    recording.add(rt.empty(1).fill(0))
    replay = recording.replay(after=rt.submit(bad))
    with pytest.raises(fl.DependencyFailed):
        replay.wait()
    return weakref.ref(thing)


def submits_a_bulk(rt):
    thing = Thing()
    bulk = rt.submit_bulk([rt.empty(1).fill(0)] * 3, after=rt.submit(bad))
    with pytest.raises(fl.BulkError) as raised:
        bulk.wait()
    assert isinstance(raised.value.__cause__.__cause__, ValueError)
    return weakref.ref(thing)


def loses_data(rt):
    thing = Thing()
    thing.flow = fl.Flow(rt)
    thing.data = thing.flow.data(np.zeros(4, np.float32))
    thing.flow.post_host(lambda x: bad(thing), fl.update(thing.data))
    with pytest.raises(fl.DependencyFailed):
        thing.data.get()
    thing.ticket = thing.flow.submit_host(lambda x: bad(thing), fl.write(thing.data))
    with pytest.raises(ValueError, match="a mistake"):
        thing.ticket.wait()
    return weakref.ref(thing)  # the flow and the data were not closed


def repeats(rt):
    thing = Thing()
    flow = fl.Flow(rt)
    with pytest.raises(ValueError, match="a mistake"):
        flow.repeat(3, bad)
    return weakref.ref(thing)


WAYS = [
    waits, waits_for_a_host_task, reads_the_error, waits_for_a_successor, awaits, continues,
    never_waits, fails_with_a_cause, replays, submits_a_bulk, loses_data, repeats,
]  # fmt: skip
if sys.version_info >= (3, 11):
    WAYS.append(fails_with_a_group)


# requirement: what the waiting code holds, and what the function uses, goes with the ticket
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_failures_keep_nothing(way):
    with fl.Runtime("cpu:1", on_error=lambda error: None) as rt:
        thing = way(rt)

        def is_gone():
            gc.collect()
            rt.wait_idle()
            return thing() is None

        eventually(is_gone)


# requirement: device memory that a local variable holds is free after a failure
def test_failures_keep_no_device_memory():
    with fl.Runtime("cpu:1") as rt:

        def fails_once():
            buffer = rt.empty(1 << 28, "uint8")
            ticket = rt.submit(bad)
            try:
                ticket.wait()
            except ValueError:
                return buffer.nbytes

        def is_free():
            gc.collect()
            rt.wait_idle()
            return rt.memory(0)[0] == free

        free = rt.memory(0)[0]
        for _ in range(3):
            assert fails_once() == 1 << 28
        eventually(is_free)


class Unusual(OSError):
    """An exception that cannot be made of its `args`."""

    __slots__ = ("slot",)

    def __init__(self, number):
        super().__init__(number, f"failed with {number}", "a file")
        self.slot = number + 1
        self.attribute = number + 2


# requirement: every wait raises an exception with the same contents and lines
@pytest.mark.parametrize(
    "make",
    [
        lambda: Unusual(5),
        lambda: KeyError("missing"),
        lambda: SystemExit(3),
        lambda: UnicodeDecodeError("ascii", b"\xff", 0, 1, "no"),
        lambda: StopIteration(7),
        lambda: ImportError("no module", name="x", path="y"),
        lambda: fl.TimedOut("late"),
    ],
)
def test_every_wait_raises_the_same(rt, make):
    def fails(_task):
        raise make()

    ticket = rt.submit(fails)
    seen = []
    for _ in range(3):
        with pytest.raises(BaseException) as raised:  # noqa: B017, PT011
            ticket.wait()
        seen.append(raised.value)
    first = seen[0]
    lines = traceback.extract_tb(first.__traceback__)
    assert lines[-1].name == "fails" and lines[-1].line == "raise make()"
    for other in seen[1:]:
        assert type(other) is type(first) and other.args == first.args
        assert str(other) == str(first) and vars(other) == vars(first)
        assert traceback.extract_tb(other.__traceback__)[-1] == lines[-1]
        assert len(traceback.extract_tb(other.__traceback__)) == len(lines)
        for name in ["slot", "errno", "filename", "filename2", "code", "start", "value", "name"]:
            assert getattr(other, name, None) == getattr(first, name, None), name
    assert traceback.format_exception(first)[-1] == traceback.format_exception(seen[1])[-1]
