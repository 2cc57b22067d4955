# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""The log: its level, and its targets. Each test restores them, because they belong to the process."""

import logging
import threading
import time

import pytest
from conftest import eventually, run_child

import flotilla as fl


@pytest.fixture(autouse=True)
def restored_log():
    before = fl.log_level()
    yield
    fl.log_to(None)
    fl.set_log_level(before)


def fail(_task):
    raise KeyError("of the task")


def failures(messages):
    """The messages that `fails_a_task` causes. A busy machine may cause others."""
    return [each for each in messages if "a posted task failed" in each.text]


def fails_a_task(rt, count=1):
    """Lets tasks fail that nobody waits for. A thread of the runtime writes the messages."""
    for _ in range(count):
        rt.post(fail)
    rt.wait_idle()


# requirement
def test_level():
    for level in ["error", "warning", "info", "debug"]:
        fl.set_log_level(level)
        assert fl.log_level() == level
    for bad in ["loud", "", "INFO"]:
        with pytest.raises(fl.UnknownSetting, match="levels are error, warning"):
            fl.set_log_level(bad)
    with pytest.raises(TypeError):
        fl.set_log_level(10)
    assert fl.log_level() == "debug"


# requirement: a function gets the messages of all threads
def test_function_gets_messages(rt, image, capfd):
    got = []
    fl.log_to(got.append)
    begin = time.time()
    fails_a_task(rt, 3)
    eventually(lambda: len(failures(got)) == 3)
    for message in failures(got):
        assert isinstance(message, fl.LogMessage)
        assert (message.level, message.device) == ("error", None)
        assert "of the task" in message.text
        assert begin - 1 < message.time < time.time() + 1
        assert message.thread > 0 and "posted task" in repr(message)
    assert capfd.readouterr().err == ""


# requirement: messages below the level do not come
def test_level_chooses_messages(rt):
    source = 'extern "C" __global__ void nothing() {}\n'
    got = []
    fl.log_to(got.append)
    fl.set_log_level("warning")
    rt.compile(source, name="first.cu", cache=False)
    fl.set_log_level("info")
    rt.compile(source, name="second.cu", cache=False)
    eventually(lambda: any("second.cu" in each.text for each in got))
    assert not any("first.cu" in each.text for each in got)
    assert {each.level for each in got} == {"info"}


# requirement: a logger gets records with the level, time and thread of the messages
def test_logger_gets_records(rt, caplog):
    logger = logging.getLogger("flotilla")
    got = []
    fl.log_to(got.append)
    fails_a_task(rt)
    eventually(lambda: got)
    fl.log_to(logger)
    with caplog.at_level(logging.ERROR, logger="flotilla"):
        fails_a_task(rt)
        eventually(lambda: caplog.records)
    [record] = caplog.records
    assert (record.name, record.levelname) == ("flotilla", "ERROR")
    assert "a posted task failed" in record.getMessage()
    assert abs(record.created - time.time()) < 60 and record.thread > 0
    assert record.device is None
    with caplog.at_level(logging.CRITICAL, logger="flotilla"):
        fails_a_task(rt)
        fl.log_to(got.append)
        fails_a_task(rt)
        eventually(lambda: len(failures(got)) == 2)
    assert len(caplog.records) == 1


# requirement: errors of tasks that use arrays of other packages are messages too
def test_message_of_a_task_with_an_array(rt, program):
    import numpy as np

    got = []
    fl.log_to(got.append)
    before = rt.submit(fail)
    array = np.zeros(4, np.float32)
    rt.post(rt.empty(4).copy_from(array), after=before)
    rt.wait_idle()
    eventually(lambda: any("posted task failed" in each.text for each in got))


# error guess: an exception of the target, after which messages still come
def test_target_raises(rt, monkeypatch):
    raised = []
    monkeypatch.setattr("sys.unraisablehook", raised.append)
    got = []

    def target(message):
        got.append(message)
        raise ValueError("of the target")

    fl.log_to(target)
    fails_a_task(rt, 2)
    eventually(lambda: len(raised) >= 2)
    assert len(failures(got)) == 2
    assert all(isinstance(each.exc_value, ValueError) for each in raised)


# error guess: the target calls flotilla, which it could not do while a thread holds a lease
def test_target_calls_flotilla(rt):
    done = []

    def target(_message):
        rt.submit(lambda task: None).wait()
        rt.wait_idle()
        done.append(threading.current_thread().name)

    fl.log_to(target)
    fails_a_task(rt)
    eventually(lambda: done)
    assert done == ["flotilla-log"]


# error guess
def test_bad_targets():
    adapter = logging.LoggerAdapter(logging.getLogger("flotilla"), {})
    for bad in ["flotilla", 3, adapter]:
        with pytest.raises(fl.InvalidArgument, match="a logger, a function or None"):
            fl.log_to(bad)


# requirement: None sends messages to stderr again
def test_back_to_stderr(rt, capfd):
    got = []
    fl.log_to(got.append)
    fl.log_to(None)
    fails_a_task(rt)
    assert "a posted task failed" in capfd.readouterr().err
    assert got == []


# stress: messages of several threads while the target changes
def test_many_messages(rt):
    got = []

    def change():
        for _ in range(50):
            fl.log_to(lambda message: got.append(message))

    fl.log_to(got.append)
    threads = [threading.Thread(target=change) for _ in range(2)]
    for each in threads:
        each.start()
    fails_a_task(rt, 500)
    for each in threads:
        each.join()
    eventually(lambda: len(failures(got)) == 500)


# requirement: messages that are written while the interpreter ends come before logging ends
def test_messages_at_the_end():
    code = """
import atexit, logging, sys
import flotilla as fl
logging.basicConfig(stream=sys.stdout, format="%(levelname)s of %(name)s: %(message)s")
fl.log_to(logging.getLogger("flotilla"))
rt = fl.Runtime("cpu:1")
def fail(task):
    raise KeyError("late")
for _ in range(100):
    rt.post(fail)
"""
    output = run_child(code)
    assert output.count("ERROR of flotilla: a posted task failed") == 100, output
    assert "Traceback" not in output


# error guess: a program that ends while its target is busy
def test_end_with_a_slow_target():
    code = """
import time
import flotilla as fl
def target(message):
    time.sleep(0.2)
    print("got", message.level, flush=True)
fl.log_to(target)
rt = fl.Runtime("cpu:1")
def fail(task):
    raise KeyError("late")
rt.post(fail)
rt.post(fail)
"""
    assert run_child(code).count("got error") == 2


# error guess: the thread that passes messages on does not exist in a child of fork()
def test_child_of_fork():
    code = """
import os, sys
import flotilla as fl
got = []
fl.log_to(got.append)
child = os.fork()
if child == 0:
    with fl.Runtime("cpu:1") as rt:
        rt.post(lambda task: 1 / 0)
        rt.wait_idle()
        print("in the child:", len(got), flush=True)
        fl.log_to(lambda message: print("the child got", message.level, flush=True))
        rt.post(lambda task: 1 / 0)
    sys.exit()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    output = run_child(code)
    assert "in the child: 0" in output and "the child got error" in output
    assert output.count("a posted task failed") == 1  # on stderr


# requirement: the option stuck_after, in seconds
def test_kernel_that_takes_too_long_is_reported(image):
    texts = []
    fl.log_to(lambda message: texts.append(message.text))
    try:
        with fl.Runtime("cpu:1", stuck_after=0.01) as rt:
            go = rt.pinned(1, "int32")
            go.numpy()[0] = 0
            hold = rt.load(cpu=image).kernel("hold", "int const*").over(1)
            rt.submit(hold(go), label="the slow one")
            eventually(lambda: any("the slow one" in text for text in texts))
            go.numpy()[0] = 1
    finally:
        fl.log_to(None)
    for bad in [-1, "soon", float("nan")]:
        with pytest.raises(fl.InvalidArgument, match="'stuck_after' of a runtime must be 0 or more"):
            fl.Runtime("cpu:1", stuck_after=bad)
