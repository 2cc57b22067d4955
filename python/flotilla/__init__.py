# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Dispatches work to every GPU of a machine. docs/python.md describes the package."""

import atexit as _atexit

from . import _core
from ._compile import compile_cpu
from ._core import (
    Address,
    BadImage,
    Buffer,
    BulkError,
    DependencyFailed,
    Device,
    DeviceFault,
    DriverError,
    Each,
    Error,
    GpuOnlyKernel,
    InvalidArgument,
    InvalidHandle,
    Kernel,
    Launch,
    MemoryOp,
    MissingDependency,
    NoDevice,
    OutOfMemory,
    Poisoned,
    Program,
    Recording,
    Runtime,
    RuntimeClosed,
    ShapedKernel,
    TaskCancelled,
    TaskContext,
    TaskFailed,
    Ticket,
    UnknownDevice,
    UnknownSetting,
    UnknownSymbol,
    UsedAfterFork,
    WindowFull,
    WouldDeadlock,
    WrongRuntime,
    __version__,
    devices,
)

runtime = Runtime

__all__ = [name for name in dir() if not name.startswith("_")]

# Functions of tasks need the interpreter, so all tasks end before it does.
_atexit.register(_core._end)
