# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Runtimes: options, closing, fork, the end of the process; and the package itself."""

import gc
import importlib.resources
import os
import threading
import time

import numpy as np
import pytest
from conftest import FOLDER, run_child

import flotilla as fl


# requirement
def test_devices_and_their_properties(rt):
    assert [device.ordinal for device in rt.devices] == [0, 1]
    device = rt.devices[1]
    assert device.kind == "cpu" and device.uuid.startswith("CPU-") and device.memory_bytes > 0
    assert rt.empty(1, device=device.ordinal).device == 1
    free, total = rt.memory(0)
    assert 0 < free <= total
    rt.submit(lambda task: None, device=1).wait()
    rt.wait_idle()
    assert rt.counters(1)["callables"] == 1
    assert "CPU" in rt.driver_text and len(fl.devices()) >= 1
    for call in [rt.memory, rt.counters, rt.settings]:
        with pytest.raises(fl.UnknownDevice):
            call(2)


# requirement: the primary context is the default, because other packages use it
def test_primary_context_is_the_default(monkeypatch):
    with fl.Runtime("cpu:1") as rt:
        assert rt.settings(0)["context"] == "primary"
    with fl.Runtime("cpu:1", context="owned") as rt:
        assert rt.settings(0)["context"] == "owned"
    with fl.Runtime("cpu:1", settings={"0:context": "owned"}) as rt:
        assert rt.settings(0)["context"] == "owned"
    with fl.Runtime("cpu:1/green:16*2") as rt:
        assert rt.settings(0)["context"].startswith("green")
    monkeypatch.setenv("FLOTILLA_SETTINGS", "context=owned")
    monkeypatch.setenv("FLOTILLA_DEVICES", "cpu:1")
    with fl.Runtime() as rt:
        assert rt.settings(0)["context"] == "owned"


# requirement
def test_settings_are_honoured():
    settings = {"schedule": "yield", "0:limits.stack": "64KiB", "map_host": True}
    with fl.Runtime("cpu:2", settings=settings) as rt:
        assert rt.settings(0)["schedule"] == "yield"
        assert (rt.settings(0)["limits.stack"], rt.settings(1)["limits.stack"]) == ("64KiB", "1KiB")
    with fl.Runtime("cpu:1", settings="schedule=spin", window=100, linger_us=1) as rt:
        assert rt.settings(0)["window"] == "100"


# error guess
@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"devices": "abacus"}, fl.InvalidArgument, "abacus"),
        ({"devices": 7}, TypeError, None),
        ({"worker": 1}, fl.InvalidArgument, "no option 'worker'; the options are devices, workers"),
        ({"workers": "two"}, fl.InvalidArgument, "'workers' of a runtime cannot be a str"),
        ({"window": 1}, fl.InvalidArgument, None),
        ({"settings": {"colour": "red"}}, fl.UnknownSetting, "colour"),
        ({"settings": 7}, fl.InvalidArgument, "is a dict or a string, but got a int"),
        ({"context": "borrowed"}, fl.UnknownSetting, "borrowed"),
        ({"checks": "luck"}, fl.UnknownSetting, "luck"),
        ({"on_error": 7}, fl.InvalidArgument, "must be callable, but is a int"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        fl.Runtime(**{"devices": "cpu:1", **options})


# requirement
def test_checks_find_a_missing_order(image):
    with fl.Runtime("cpu:1", checks="order") as rt:
        buffer = rt.empty(4)
        first = rt.submit(buffer.fill(1))
        with pytest.raises(fl.MissingDependency):
            rt.submit(buffer.fill(2))
        first.wait()


# requirement: after close, every call is refused, and nothing crashes
def test_use_after_close_is_refused(image):
    rt = fl.Runtime("cpu:1")
    program = rt.load(cpu=image)
    kernel = program.kernel("empty", "")
    launch = kernel.over(1)()
    buffer, pinned = rt.empty(4), rt.pinned(4)
    op = buffer.fill(1)
    ticket = rt.submit(launch)
    rt.close()
    rt.close()
    assert rt.closed and "closed" in repr(rt)
    ticket.wait()
    assert ticket.done and ticket.error is None and not ticket.cancel()
    ticket.then(lambda error: None)
    calls = [
        lambda: rt.submit(launch), lambda: rt.submit(op), lambda: rt.submit(lambda task: None),
        lambda: rt.post(launch), lambda: rt.submit_host(print), lambda: rt.submit_bulk([launch]),
        lambda: rt.submit_bulk(kernel.over(1), (), 3), lambda: rt.load(cpu=image), rt.wait_idle,
        lambda: rt.empty(1), lambda: rt.pinned(1), rt.pump, lambda: rt.devices, lambda: rt.event_fd,
        lambda: kernel.over(1), lambda: kernel.with_shape(1, 1), lambda: program.kernel("empty"),
        lambda: program.kernel_names, lambda: buffer.address, lambda: buffer.device,
        lambda: pinned.address, lambda: buffer.fill(1), lambda: buffer.copy_from(np.zeros(4)),
        lambda: buffer.copy_to(pinned), lambda: rt.memory(0), lambda: rt.view(np.zeros(4)),
    ]
    for call in calls:
        with pytest.raises(fl.RuntimeClosed):
            call()
    for call in [buffer.numpy, lambda: np.asarray(pinned), lambda: memoryview(buffer)]:
        with pytest.raises((fl.RuntimeClosed, BufferError)):
            call()
    assert "buffer of 4 float32" in repr(buffer) and buffer.shape == (4,)


# requirement: close never takes memory from an array
@pytest.mark.parametrize("kind", ["numpy", "dlpack", "pinned", "memoryview"])
def test_arrays_outlive_the_runtime(kind):
    with fl.Runtime("cpu:1") as rt:
        buffer = rt.pinned(1000) if kind == "pinned" else rt.empty(1000)
        view = {"dlpack": np.from_dlpack, "memoryview": memoryview}.get(kind, np.asarray)(buffer)
        np.asarray(view)[:] = 5
        del buffer
    del rt
    gc.collect()
    assert (np.asarray(view) == 5).all()
    np.asarray(view)[:] = 6
    del view
    gc.collect()


# requirement: without `with` and without close, the runtime ends with its last object
def test_runtime_ends_with_its_last_object(image):
    kernel = fl.Runtime("cpu:1").load(cpu=image).kernel("empty", "")
    gc.collect()
    launch = kernel.over(1)()
    del kernel, launch
    gc.collect()


# requirement: close waits for calls of other threads
def test_close_while_other_threads_wait(image):
    rt = fl.Runtime("cpu:1")
    tickets = [rt.submit(lambda task: time.sleep(0.05)) for _ in range(4)]
    threads = [threading.Thread(target=ticket.wait) for ticket in tickets]
    for thread in [*threads, threading.Thread(target=rt.close)]:
        thread.start()
        threads = [*threads, thread]
    rt.close()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


# requirement
def test_use_after_fork_is_refused(image_file):
    said = run_child(
        """
import os, sys, flotilla as fl
rt = fl.Runtime("cpu:1")
launch = rt.load_file(sys.argv[1]).kernel("empty", "").over(1)()
buffer = rt.empty(4)
ticket = rt.submit(launch)
ticket.wait()
child = os.fork()
if child == 0:
    for call in [lambda: rt.submit(launch), lambda: rt.empty(1), ticket.wait, rt.wait_idle,
                 rt.close, lambda: rt.submit(lambda task: None), lambda: fl.Runtime("cpu:1"),
                 lambda: rt.submit(buffer.fill(1))]:
        try:
            call()
            print("not refused", flush=True)
        except fl.UsedAfterFork:
            print("refused", flush=True)
    del buffer, launch, ticket, rt
    sys.exit(7)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
rt.submit(launch).wait()
rt.close()
""",
        image_file,
    )
    assert said.count("refused") == 8 and "not refused" not in said and "child 7" in said, said


# error guess: objects that live until the interpreter ends
def test_process_may_end_with_open_objects(image_file):
    for last in ["", "sys.exit(0)", "rt.close()", "del rt"]:
        said = run_child(
            f"""
import sys, numpy, flotilla as fl
rt = fl.Runtime("cpu:1")
kernel = rt.load_file(sys.argv[1]).kernel("empty", "")
buffer = rt.empty(1000)
view = buffer.numpy()
step = fl.Recording(rt)
step.add(kernel.over(1)())
tickets = [rt.submit(kernel.over(1)()) for _ in range(100)]
tickets.append(step.replay())
rt.post(buffer.copy_from(numpy.zeros(1000, numpy.float32)))
{last}
""",
            image_file,
        )
        assert said == "", said


# requirement: the import creates no context, loads no driver and starts no thread
def test_import_does_nothing_but_import():
    said = run_child(
        """
import os, flotilla
threads = len(os.listdir("/proc/self/task"))
maps = open("/proc/self/maps").read()
import sys
print(threads, "libcuda" in maps, "numpy" in sys.modules)
"""
    )
    assert said.split() == ["1", "False", "False"]


# requirement: single-threaded mode
def test_program_drives_the_devices_itself(image):
    with fl.Runtime("cpu:1", workers=0) as rt:
        ticket = rt.submit(rt.load(cpu=image).kernel("empty", "").over(1)())
        deadline = time.monotonic() + 20
        while rt.pump():
            assert time.monotonic() < deadline
        assert ticket.done


# requirement: type stubs have all names of the package
def test_package_has_type_stubs():
    folder = importlib.resources.files("flotilla")
    assert (folder / "py.typed").is_file()
    stubs = (folder / "_core.pyi").read_text()
    for name in fl.__all__:
        if name not in ("runtime", "compile_cpu", "log_to", "share_devices"):  # not in the extension
            assert f"class {name}" in stubs or f"def {name}" in stubs, name


# requirement: every status of the interface for C that Python can have is a class of its own
def test_exceptions_have_one_base():
    names = """InvalidArgument InvalidHandle NoDevice UnknownDevice UnknownSymbol UnknownSetting
        BadImage GpuOnlyKernel WrongRuntime MissingDependency RuntimeClosed WindowFull WouldDeadlock
        DependencyFailed BulkError TaskCancelled TaskFailed Poisoned UsedAfterFork DriverError
        TraceFailed OutOfMemory""".split()
    for name in names:
        assert issubclass(getattr(fl, name), fl.Error), name
    assert issubclass(fl.OutOfMemory, MemoryError) and issubclass(fl.InvalidArgument, ValueError)
    assert issubclass(fl.UnknownDevice, fl.InvalidArgument)
    assert fl.Error.__module__ == "flotilla"


# requirement: the page shows the samples unchanged
@pytest.mark.parametrize("name", ["hello_python", "heat_python", "ranks_python"])
def test_page_shows_the_samples(name):
    page = (FOLDER / "../../docs/python.md").read_text()
    sample = (FOLDER / f"../../samples/{name}/main.py").read_text()
    assert len(sample.splitlines()) <= 40
    program = sample[sample.index("import pathlib") :]
    assert f"```python\n{program}```" in page
