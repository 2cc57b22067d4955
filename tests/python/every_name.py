# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Uses every public name as a typed program does. test_types.py checks and runs this program."""

from __future__ import annotations

import logging
import pathlib
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flotilla as fl

SOURCE = """
#include <flotilla/data/view.hpp>
extern "C" __global__ void add(float* x, float y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] += y; }
}
"""
ERRORS: list[type[fl.Error]] = [
    fl.BadImage, fl.BulkError, fl.CompileError, fl.DependencyFailed, fl.DeviceFault, fl.DriverError,
    fl.GpuOnlyKernel, fl.InvalidArgument, fl.InvalidHandle, fl.MissingDependency, fl.NoCompiler,
    fl.NoDevice, fl.OutOfMemory, fl.Poisoned, fl.RankFailed, fl.RemoteError, fl.RuntimeClosed,
    fl.TaskCancelled, fl.TaskFailed, fl.TimedOut, fl.TraceFailed, fl.UnknownDevice, fl.UnknownSetting, fl.UnknownSymbol,
    fl.UsedAfterFork, fl.WindowFull, fl.WouldDeadlock, fl.WrongRuntime,
]  # fmt: skip


def describe(error: fl.Error) -> str:
    if isinstance(error, fl.BulkError):
        return f"item {error.index} of {error.count}"
    if isinstance(error, fl.DeviceFault):
        return f"device {error.device}: {error.suspects}, {error.status}, {error.may_have_run}"
    if isinstance(error, (fl.RankFailed, fl.RemoteError)):
        return f"rank {error.rank}"
    if isinstance(error, fl.DriverError):
        return f"{error.call}: {error.status}"
    if isinstance(error, fl.CompileError):
        return f"{error.source}:{error.line}: {error.log}"
    return str(error)


def kernels(rt: fl.Runtime) -> fl.Kernel:
    image: bytes = fl.compile_cpu(SOURCE, flags=["-DX=1"])
    program: fl.Program = rt.load(cpu=image, name="every_name")
    names: list[str] = program.kernel_names
    kernel = program.kernel(names[0], "float* x, float y, int n")
    assert kernel.name == "add" and kernel.parameter_bytes == [8, 4, 4]
    return kernel


def tasks(rt: fl.Runtime, kernel: fl.Kernel) -> None:
    shaped: fl.ShapedKernel = kernel.over(10)
    x: fl.Buffer = rt.empty(10, "float32", 0)
    fill: fl.MemoryOp = x.fill(1.0)
    ticket: fl.Ticket = rt.submit(fill, label="fill")
    launch: fl.Launch = shaped(x, 2.0, 10)
    grid: tuple[int, int, int] = launch.grid
    rt.submit(launch, after=[ticket], priority=-1, timeout=10.0).wait(timeout=10)
    array: NDArray[np.float32] = x.numpy()
    assert np.array_equal(array, np.full(10, 3.0)) and np.asarray(x).sum() == 30 and grid[0] == 1
    raw = fl.Address(x.address)
    rt.submit(shaped(raw, 1.0, 10), device=x.device).wait()
    rows = rt.empty((4, 10))
    rt.submit(rows.fill(0)).wait()
    rt.submit_bulk(shaped, (fl.Each(rows), fl.Each(np.arange(4, dtype=np.float32)), 10)).wait()
    total: float = rows.numpy().sum()
    assert total == 60 and rows.shape == (4, 10) and rows[1:3].size == 20
    recording = fl.Recording(rt)
    first: int = recording.add(fill)
    recording.add(launch, after=first)
    recording.replay().wait()
    functions(rt)


def functions(rt: fl.Runtime) -> None:
    devices: list[int] = []

    def on_device(task: fl.TaskContext) -> None:
        devices.append(task.device)

    def after(error: BaseException | None) -> None:
        assert error is None

    ticket = rt.submit(on_device)
    ticket.then(after)
    ticket.wait()
    rt.submit_host(lambda: devices.append(1)).wait()
    rt.wait_idle()
    error: BaseException | None = ticket.error
    assert devices == [0, 1] and ticket.done and error is None
    counters: dict[str, int] = rt.counters(0)
    free, total = rt.memory(0)
    assert counters["tasks"] > 0 and 0 < free <= total and rt.settings(0)


def data(rt: fl.Runtime, kernel: fl.Kernel) -> None:
    values = np.ones(12, np.float32)
    with fl.Flow(rt, memory_limit=1 << 20) as flow:
        x: fl.Data = flow.data(values, label="x")
        sum_of_x = flow.data(np.zeros(1, np.float32))
        token = flow.token()
        use: fl.Use = fl.update(x)
        flow.post(kernel.over(12), use, 1.0, 12)

        def add_up(view: NDArray[np.float32], to: NDArray[np.float32]) -> None:
            to += view.sum()

        def on_device(_task: fl.TaskContext, view: fl.DataView) -> None:
            assert view.shape == (12,) and view.strides == (4,) and not view.is_read_only

        flow.submit_host(add_up, fl.read(x), fl.reduce(sum_of_x, "sum"), fl.commute(token))
        flow.submit(on_device, fl.write(x), fl.read(token))
        result: NDArray[Any] = sum_of_x.get()
        assert result.tolist() == [24]
        view: fl.HostView = sum_of_x.view()
        with view as array:
            assert np.array_equal(array, [24])
        tiles: fl.Tiles
        with x.tiles(4) as tiles:
            assert tiles.shape == (3,) and len(tiles) == 3
            flow.repeat(2, lambda: flow.post(kernel.over(4), fl.update(tiles[0]), 1.0, 4))
            flow.repeat_while(
                tiles[0],
                lambda now: bool(now[0] < 0),
                lambda: flow.post(kernel.over(4), fl.update(tiles[0]), 1.0, 4),
                most=2,
            )
        x.wait()


def ranks(rt: fl.Runtime, communicator: object) -> None:
    devices: str = fl.share_devices(communicator)
    all_ranks: fl.Cluster
    with fl.Runtime(devices), fl.Cluster(rt, communicator) as all_ranks, fl.Flow(all_ranks, keeps_graph=True) as flow:
        first: int = all_ranks.rank
        counters: dict[str, int] = all_ranks.counters()
        x = flow.empty(12)
        ticket = flow.submit_host(lambda to: None, fl.write(x), rank=all_ranks.ranks - 1)
        if ticket.valid:
            ticket.wait()
        owners: list[int] = all_ranks.blocks(3)
        for each in (all_ranks.cyclic, owners, None):
            x.tiles(4, owners=each).close()
        x.set_owner(first if counters else x.owner)
        x.collect()
        all_ranks.wait_idle()
        all_ranks.exclusive(lambda: 3)
        all_ranks.finish()
        if all_ranks.closed:
            all_ranks.fail("it is closed")
            all_ranks.close()


def logs(rt: fl.Runtime, folder: pathlib.Path) -> None:
    seen: list[str] = []

    def note(message: fl.LogMessage) -> None:
        seen.append(message.text)

    level: str = fl.log_level()
    fl.set_log_level(level)
    fl.log_to(note)
    fl.log_to(logging.getLogger("flotilla"))
    fl.log_to(None)
    trace: fl.Trace
    with rt.trace(folder / "every_name.pftrace") as trace:
        rt.wait_idle()
    summary: fl.TraceSummary = trace.end()
    assert summary.bytes > 0


def main(folder: pathlib.Path) -> None:
    devices: list[fl.Device] = fl.devices()
    assert devices and fl.runtime is fl.Runtime
    with fl.Runtime("cpu:1", checks="order", stuck_after=100.0, settings={}) as rt:
        kernel = kernels(rt)
        tasks(rt, kernel)
        data(rt, kernel)
        logs(rt, folder)
        try:
            ranks(rt, None)
        except fl.InvalidArgument:
            pass
        try:
            rt.submit(rt.empty(1).copy_from(np.zeros(2)))
        except fl.Error as error:
            assert type(error) in ERRORS and describe(error)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
