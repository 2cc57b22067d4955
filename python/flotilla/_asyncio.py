# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets in asyncio. No thread waits for one: the end of a task makes a descriptor readable."""

import asyncio
import itertools
import os
import weakref

from . import _core

_bridges = weakref.WeakKeyDictionary()  # event loop -> _Bridge


def end_of(ticket):
    """Returns a future that gets the result of a task. Cancelling it does not affect the task."""
    loop = asyncio.get_running_loop()
    bridge = _bridges.get(loop)
    if bridge is None:
        bridge = _bridges[loop] = _Bridge()
    return bridge.watch(loop, ticket)


class _Bridge:
    """What one event loop waits for. It holds no reference to the loop between tasks."""

    def __init__(self):
        self._notifier = _core.Notifier()
        self._numbers = itertools.count()
        self._waiting = {}  # number -> (future, ticket)
        self._pumps = {}  # key of a single-threaded runtime -> _Pump

    def watch(self, loop, ticket):
        future = loop.create_future()
        if ticket.done:
            _set_result(future, ticket)
            return future
        number = next(self._numbers)
        if not self._waiting:
            loop.add_reader(self._notifier.fileno(), self._notice_ends)
        self._waiting[number] = (future, ticket)
        try:
            self._notifier.watch(ticket, number)
            if ticket._needs_pump():
                self._start_pump(loop, ticket)
        except BaseException:
            self._forget(loop, number)
            raise
        return future

    def _forget(self, loop, number):
        del self._waiting[number]
        if not self._waiting:
            loop.remove_reader(self._notifier.fileno())

    def _notice_ends(self):
        for number in self._notifier.take():
            if number not in self._waiting:
                continue
            future, ticket = self._waiting[number]
            loop = future.get_loop()
            self._forget(loop, number)
            if ticket._needs_pump():
                self._stop_pump(loop, ticket)
            if not future.done():
                _set_result(future, ticket)

    def _start_pump(self, loop, ticket):
        key = ticket._runtime_key()
        if key not in self._pumps:
            self._pumps[key] = _Pump(loop, ticket)
        self._pumps[key].users += 1

    def _stop_pump(self, loop, ticket):
        pump = self._pumps[ticket._runtime_key()]
        pump.users -= 1
        if pump.users == 0:
            del self._pumps[ticket._runtime_key()]
            pump.stop(loop)


class _Pump:
    """Drives a runtime in single-threaded mode while the loop waits for its tasks."""

    def __init__(self, loop, ticket):
        self.users = 0
        # A copy, because the runtime may end before the loop forgets the descriptor.
        self._descriptor = os.dup(ticket._event_fd())
        loop.add_reader(self._descriptor, ticket._pump)
        ticket._pump()

    def stop(self, loop):
        loop.remove_reader(self._descriptor)
        os.close(self._descriptor)


def _set_result(future, ticket):
    error = ticket.error
    if error is None:
        future.set_result(None)
    elif isinstance(error, StopIteration):  # a future refuses it
        future.set_exception(RuntimeError(f"the function of the task raised {error!r}"))
    else:
        future.set_exception(error)
