# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Passes the messages of the log to Python."""

from __future__ import annotations

import _thread
import atexit
import os
import sys

from . import _core

# Importing threading, logging, typing or collections.abc would make `import flotilla` slower.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    import threading
    from collections.abc import Callable

_LEVELS = {"error": 40, "warning": 30, "info": 20, "debug": 10}  # those of logging

_lock = _thread.allocate_lock()
_passing: threading.Thread | None = None  # the thread that passes messages on
_is_over = False  # the interpreter ends: messages go to stderr


def _pass_to(logger: logging.Logger) -> Callable[[_core.LogMessage], object]:
    def handle(message: _core.LogMessage) -> None:
        level = _LEVELS[message.level]
        if not logger.isEnabledFor(level):
            return
        record = logger.makeRecord(logger.name, level, "(flotilla)", 0, message.text, (), None)
        # The record was made in the thread that passes messages on, and later than the message.
        record.relativeCreated += (message.time - record.created) * 1000
        record.created = message.time
        record.msecs = int(message.time % 1 * 1000) + 0.0
        record.thread = message.thread
        record.threadName = str(message.thread)
        record.device = message.device
        logger.handle(record)

    return handle


def log_to(target: logging.Logger | Callable[[_core.LogMessage], object] | None) -> None:
    """Sends the messages of the log to a logger, or to a function that gets a LogMessage.

    None sends them to stderr again. The log belongs to the process. A thread of its own calls the
    target, some time after a message was written, so the target may call flotilla. An exception of
    the target goes to sys.unraisablehook.
    """
    global _passing
    import threading

    if target is None:
        _core._log_to(None)
        return
    if not callable(target):
        if not (hasattr(target, "makeRecord") and hasattr(target, "handle")):
            raise _core.InvalidArgument(
                "the log goes to a logger, a function or None, but got a " + type(target).__name__
            )
        target = _pass_to(target)
    with _lock:
        if _is_over:
            return
        _core._log_to(target)
        if _passing is None:
            _passing = threading.Thread(
                target=_core._pass_messages, name="flotilla-log", daemon=True
            )
            _passing.start()
        # Functions of atexit run in the opposite order. logging.shutdown must run after `end`.
        atexit.unregister(end)
        atexit.register(end)


def end() -> None:
    """Ends all runtimes, and passes on the messages that are left."""
    global _is_over
    # Functions of tasks need the interpreter, so all tasks end before it does. If an exception ends
    # the program, the other ranks of clusters learn it.
    _core._end(getattr(sys, "last_value", None))
    with _lock:
        _is_over = True
        _core._stop_log()
    if _passing is not None:
        _passing.join()


def _after_fork_in_child() -> None:
    global _lock, _passing
    _lock = _thread.allocate_lock()
    _passing = None
    _core._forget_log()


atexit.register(end)
os.register_at_fork(after_in_child=_after_fork_in_child)
