# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets in asyncio."""

import asyncio
import os
import threading

import pytest

import flotilla as fl


@pytest.fixture(params=[None, 0], ids=["workers", "no workers"])
def any_rt(request):
    with fl.Runtime("cpu:2", workers=request.param) as made:
        yield made


# requirement
def test_await_gives_results_and_errors(any_rt, image):
    kernel = any_rt.load(cpu=image).kernel("add_at", "int*, int, int").with_shape(1, 1)

    async def main():
        buffer = any_rt.empty(1, "int32")
        filled = any_rt.submit(buffer.fill(1))
        assert await any_rt.submit(kernel(buffer, 0, 41), after=filled) is None
        assert buffer.numpy()[0] == 42
        await filled  # has ended
        with pytest.raises(ZeroDivisionError):
            await any_rt.submit(lambda task: 1 / 0)
        failed = any_rt.submit(lambda task: {}["key"])
        with pytest.raises(fl.DependencyFailed):
            await any_rt.submit(buffer.fill(1), after=failed)

    asyncio.run(asyncio.wait_for(main(), 20))


# requirement: no thread for each ticket, and the loop goes on meanwhile
def test_many_awaits_need_few_threads(any_rt, image):
    kernel = any_rt.load(cpu=image).kernel("empty", "").over(1)()
    most = 0

    async def one():
        nonlocal most
        for _ in range(3):
            await any_rt.submit(kernel)
            most = max(most, threads_of_process())

    async def main():
        await asyncio.gather(*(one() for _ in range(300)))

    before = threads_of_process()
    asyncio.run(asyncio.wait_for(main(), 60))
    assert most - before < 50  # a thread for each ticket would be 300


def threads_of_process():
    return len(os.listdir("/proc/self/task"))


# requirement
def test_cancelled_await_leaves_the_task(rt, held):
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_end(held.ticket), 0.05)
        assert not held.ticket.done
        held.release()
        await held.ticket

    asyncio.run(asyncio.wait_for(main(), 20))


async def _end(ticket):
    await ticket


# requirement: loops come and go, and a runtime may serve several
def test_several_loops(any_rt):
    async def main():
        await any_rt.submit(lambda task: None)

    for _ in range(3):
        asyncio.run(asyncio.wait_for(main(), 20))
    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


# error guess
def test_await_without_a_loop_is_refused(rt):
    ticket = rt.submit(lambda task: None)
    with pytest.raises(RuntimeError, match="no running event loop"):
        ticket.__await__()


# error guess: the runtime closes while a task is awaited
def test_runtime_closes_while_a_task_is_awaited(image):
    async def main():
        rt = fl.Runtime("cpu:1")
        waiting = asyncio.ensure_future(_end(rt.submit_host(lambda: None)))
        await asyncio.sleep(0)
        rt.close()
        await waiting

    asyncio.run(asyncio.wait_for(main(), 20))
