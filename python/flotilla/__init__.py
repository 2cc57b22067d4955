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
    CompileError,
    Data,
    DataView,
    DependencyFailed,
    Device,
    DeviceFault,
    DriverError,
    Each,
    Error,
    Flow,
    GpuOnlyKernel,
    HostView,
    InvalidArgument,
    InvalidHandle,
    Kernel,
    Launch,
    MemoryOp,
    MissingDependency,
    NoCompiler,
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
    TimedOut,
    Tiles,
    Trace,
    TraceFailed,
    TraceSummary,
    UnknownDevice,
    UnknownSetting,
    UnknownSymbol,
    Use,
    UsedAfterFork,
    WindowFull,
    WouldDeadlock,
    WrongRuntime,
    __version__,
    commute,
    devices,
    read,
    reduce,
    update,
    write,
)

runtime = Runtime

__all__ = [name for name in dir() if not name.startswith("_")]

# Functions of tasks need the interpreter, so all tasks end before it does.
_atexit.register(_core._end)
