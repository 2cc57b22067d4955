# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""What happens when ranks fail, are interrupted, or end with an open cluster. test_cluster.py runs
this program: ends.py CASE."""

import atexit
import contextlib
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from mpi4py import MPI

WORLD = MPI.COMM_WORLD


passed = []  # not empty if the case has ended as it should
open_at_exit = []  # clusters


def report_end():
    """Runs after the handler of flotilla, because it was registered before it."""
    assert not MPI.Is_finalized()
    assert all(each.closed for each in open_at_exit)
    if passed:
        print(f"rank {WORLD.rank} done", flush=True)


atexit.register(report_end)
import flotilla as fl  # noqa: E402


def wait_for_rank_1(ranks):
    """Waits on the other ranks for data that rank 1 does not make."""
    flow = fl.Flow(ranks)
    x = flow.data(np.zeros(64), label="x")
    x.set_owner(1)
    flow.post_host(lambda to: None, fl.write(x))
    flow.submit_host(lambda seen: None, fl.read(x), rank=ranks.rank).wait()


def exception():
    """The other ranks learn the exception that leaves the block of one rank."""
    with fl.Runtime(on_error=lambda error: None) as rt:
        if WORLD.rank == 1:
            with pytest.raises(OSError, match="the input is missing"):
                with fl.Cluster(rt, WORLD):
                    raise OSError("the input is missing")
        else:
            with pytest.raises(fl.RankFailed, match="rank 1 has failed: OSError: the input is missing"):
                with fl.Cluster(rt, WORLD) as ranks:
                    wait_for_rank_1(ranks)
            assert ranks.closed
        with fl.Cluster(rt, WORLD) as ranks:  # a new cluster works
            ranks.wait_idle()


def exception_of_runtime():
    """The end of the block of a runtime closes its clusters, and tells the others the exception."""
    text = "OSError: the disk is full" if WORLD.rank == 1 else "RankFailed: rank 1 has failed"
    with pytest.raises((OSError, fl.RankFailed), match=text.partition(": ")[2]):
        with fl.Runtime(on_error=lambda error: None) as rt:
            ranks = fl.Cluster(rt, WORLD)
            if WORLD.rank == 1:
                raise OSError("the disk is full")
            wait_for_rank_1(ranks)
    assert ranks.closed and rt.closed


def fail():
    with fl.Runtime(on_error=lambda error: None) as rt, fl.Cluster(rt, WORLD) as ranks:
        if WORLD.rank == 1:
            ranks.fail("no convergence")
        else:
            with pytest.raises(fl.RankFailed, match="rank 1 has failed: no convergence") as caught:
                wait_for_rank_1(ranks)
            assert caught.value.rank == 1


def task():
    """A task that fails on one rank makes tasks of others fail that need its results."""

    def raise_error(array):
        raise OSError("the disk is full")

    with fl.Runtime(on_error=lambda error: None) as rt, fl.Cluster(rt, WORLD) as ranks:
        flow = fl.Flow(ranks)
        x = flow.empty(64, label="x")
        first = flow.submit_host(raise_error, fl.write(x), rank=0)
        second = flow.submit_host(lambda seen: None, fl.read(x), rank=1)
        if first.valid:
            with pytest.raises(OSError, match="the disk is full"):
                first.wait()
        if second.valid:
            with pytest.raises(fl.DependencyFailed, match="the disk is full") as caught:
                second.wait()
            cause = caught.value.__cause__
            assert isinstance(cause, fl.RemoteError) and cause.rank == 0
        flow.post_host(lambda to: to.fill(1), fl.write(x), rank=1)  # heals the data
        third = flow.submit_host(lambda seen: None, fl.read(x), rank=0)
        if third.valid:
            third.wait()


def left_early():
    """A rank closes its cluster while another one waits for data of it."""
    with fl.Runtime(on_error=lambda error: None) as rt, fl.Cluster(rt, WORLD) as ranks:
        if WORLD.rank != 1:
            with pytest.raises(fl.RankFailed, match="rank 1 has ended its cluster"):
                wait_for_rank_1(ranks)


def open_cluster():
    """The end of the program closes what is open, in the same order on all ranks."""
    for _ in range(3):
        rt = fl.Runtime("cpu:1")
        open_at_exit.extend(fl.Cluster(rt, WORLD) for _ in range(2))
    flow = fl.Flow(open_at_exit[0])
    x = flow.data(np.zeros(64), label="x")
    for step in range(20):
        flow.post_host(lambda array: np.add(array, 1, out=array), fl.update(x), rank=step % 2)


def exception_at_exit():
    """The exception that ends the program reaches the other ranks."""
    ranks = fl.Cluster(fl.Runtime(on_error=lambda error: None), WORLD)
    open_at_exit.append(ranks)
    if WORLD.rank == 1:
        passed.append(True)
        raise ValueError("rank 1 has bad input")
    with pytest.raises(fl.RankFailed, match="rank 1 has failed: ValueError: rank 1 has bad input"):
        wait_for_rank_1(ranks)


@contextlib.contextmanager
def interrupted():
    """Sends SIGINT to this process, until the block has ended by it."""
    is_over = threading.Event()

    def interrupt():
        while not is_over.wait(0.2):
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    try:
        yield
        raise AssertionError("the block was not interrupted")
    except KeyboardInterrupt:
        pass
    finally:
        is_over.set()
        sender.join()


def check_barrier(ranks):
    """No rank leaves wait_idle before rank 0 has called it."""
    if ranks.rank == 0:
        time.sleep(0.3)
    begun = time.monotonic()
    ranks.wait_idle()
    ended = time.monotonic()
    assert ended >= WORLD.bcast(begun)


def interruptions():
    """Ctrl-C ends waits for other ranks, and the next call goes on."""
    with fl.Runtime() as rt:
        ranks = fl.Cluster(rt, WORLD)
        for call in (ranks.wait_idle, ranks.wait_idle, ranks.close):
            if ranks.rank == 0:
                with interrupted():
                    call()
            WORLD.barrier()
            call()
            if call == ranks.wait_idle:
                check_barrier(ranks)
        assert ranks.closed
        with fl.Cluster(rt, WORLD) as again:
            again.wait_idle()


def interruption_at_exit():
    """After Ctrl-C, rank 0 ends without the others, which the launcher then ends."""
    ranks = fl.Cluster(fl.Runtime(), WORLD)
    if WORLD.rank == 0:
        with interrupted():
            ranks.close()
    else:
        time.sleep(600)


def no_connection():
    """Rank 0 finds no compiler. Rank 1 raises too, and does not wait for rank 0."""
    os.environ["MPICXX"] = "/no/such/wrapper" if WORLD.rank == 0 else ""
    text = "rank 0 cannot connect flotilla with its MPI: NoCompiler: .*/no/such/wrapper"
    with fl.Runtime() as rt, pytest.raises(fl.NoCompiler, match=text):
        fl.Cluster(rt, WORLD)


def interrupted_connection():
    """Ctrl-C ends the compiler of rank 0. Rank 1 raises too."""
    # Python does not end a child that it is just starting, so the command ends soon.
    os.environ["MPICXX"] = "sh -c 'kill -INT $PPID; exec sleep 3'"
    error = KeyboardInterrupt if WORLD.rank == 0 else fl.NoCompiler
    with fl.Runtime() as rt, pytest.raises(error) as caught:
        fl.Cluster(rt, WORLD)
    assert WORLD.rank == 0 or "rank 0 cannot connect" in str(caught.value)


globals()[sys.argv[1]]()
passed.append(True)
