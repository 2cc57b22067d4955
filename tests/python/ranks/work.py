# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Flows over ranks compute what one process computes. test_cluster.py runs this program."""

import os
import pathlib
import types

import numpy as np
import pytest
from mpi4py import MPI

import flotilla as fl

WORLD = MPI.COMM_WORLD


def move_from_rank_to_rank(rt, ranks, size):
    """Each task runs on the next rank, on its device or on its host, and changes what it finds."""
    image = pathlib.Path(os.environ["FLOTILLA_TEST_KERNELS"]).read_bytes()
    add = rt.load(cpu=image).kernel("saxpy", "float a, float const* x, float* y, int n").over(size)
    flow = fl.Flow(ranks)
    ones = np.ones(size, np.float32)  # each rank uses its own
    y = flow.empty(size, label="y")
    flow.post_host(lambda to: to.fill(1), fl.write(y))
    numbers = []

    def double(array):
        numbers.append(WORLD.rank)
        array *= 2

    for step in range(10):
        flow.post(add, 1.0, ones, fl.update(y), size, rank=step % ranks.ranks)
        flow.post_host(double, fl.update(y), rank=(step + 1) % ranks.ranks)
    expected = 1.0
    for _ in range(10):
        expected = (expected + 1) * 2
    if y.owner == ranks.rank:
        assert np.array_equal(y.get(), np.full(size, expected, np.float32))
    ranks.wait_idle()
    mine = [step for step in range(10) if (step + 1) % ranks.ranks == ranks.rank]
    assert numbers == [WORLD.rank] * len(mine)


def spread_heat(ranks, owners):
    """Bands that read their neighbours, which may belong to other ranks."""
    bands, width, steps = 8, 50, 21
    array = np.linspace(0, 1000, bands * width, dtype=np.float32)
    expected = array.copy()

    def step(before, here, behind, after):
        around = np.concatenate((before[-1:], here, behind[:1]))
        after[:] = here + np.float32(0.25) * (around[:-2] - 2 * here + around[2:])

    flow = fl.Flow(ranks)
    with flow.data(array, label="ring") as now, flow.empty(bands * width) as then:
        with now.tiles(width, owners=owners) as a, then.tiles(width, owners=owners) as b:
            made = owners(bands) if callable(owners) else owners
            assert [each.owner for each in a] == made
            for i in range(bands):  # the contents of the tiles are now on their owners
                flow.post_host(lambda to, value: None, fl.write(b[i]), fl.read(a[i]))
            for _ in range(steps):
                for i in range(bands):
                    near = [fl.read(a[(i + k) % bands]) for k in (-1, 0, 1)]
                    flow.post_host(step, *near, fl.write(b[i]))
                a, b = b, a
            for i in range(bands):  # an odd number of steps: the newest values are in `then`
                flow.post_host(lambda to, value: np.copyto(to, value), fl.write(b[i]), fl.read(a[i]))
    for _ in range(steps):
        expected += np.float32(0.25) * (np.roll(expected, 1) - 2 * expected + np.roll(expected, -1))
    if ranks.rank == 0:  # the end of the 'with' block has brought the tiles to the owner
        assert np.allclose(array, expected, rtol=1e-5)


def add_up(ranks):
    """All ranks add to the same data. Then the program calls MPI itself."""
    flow = fl.Flow(ranks)
    total = flow.data(np.zeros(4, np.int32))

    def add(array):
        array += WORLD.rank + 1

    for rank in range(ranks.ranks):
        flow.post_host(add, fl.reduce(total, "sum"), rank=rank)
    seen = []
    last = ranks.ranks - 1
    flow.post_host(lambda array: seen.append(array.tolist()), fl.read(total), rank=last)
    ranks.wait_idle()
    expected = ranks.ranks * (ranks.ranks + 1) // 2
    assert seen == ([[expected] * 4] if ranks.rank == last else [])
    assert ranks.exclusive(lambda: WORLD.allreduce(ranks.rank + 1)) == expected
    with pytest.raises(ZeroDivisionError):
        ranks.exclusive(lambda: 1 / 0)
    for call in (ranks.wait_idle, ranks.finish, ranks.close, lambda: ranks.exclusive(print)):
        with pytest.raises(fl.WouldDeadlock):
            ranks.exclusive(call)
    ranks.wait_idle()


def own_data(ranks):
    """Only the owner sees the contents."""
    flow = fl.Flow(ranks)
    x = flow.empty(3, "int32", label="x")
    flow.post_host(lambda to: to.fill(7), fl.write(x))
    assert x.owner == 0
    last = ranks.ranks - 1
    x.set_owner(last)
    assert x.owner == last
    if ranks.rank == last:
        assert x.get().tolist() == [7, 7, 7]
        with x.view() as array:
            assert array.tolist() == [7, 7, 7]
    else:
        for look in (x.get, x.wait, x.view().__enter__, x.prefetch):
            with pytest.raises(fl.InvalidArgument, match=f"belong to rank {last}, and this is rank"):
                look()
    if ranks.ranks > 1:
        with pytest.raises(fl.InvalidArgument, match="without a task"):
            x.view(change=True).__enter__()
    x.collect()
    with pytest.raises(fl.InvalidArgument, match=f"the cluster has the ranks 0 to {last}"):
        x.set_owner(ranks.ranks)


def give_tickets(ranks):
    """A ticket is valid on the rank that runs the task."""
    flow = fl.Flow(ranks)
    x = flow.empty(3)
    first = flow.submit_host(lambda to: to.fill(1), fl.write(x), rank=0)
    last = ranks.ranks - 1
    ticket = flow.submit_host(lambda to: to.fill(2), fl.write(x), rank=last)
    assert first.valid == (ranks.rank == 0) and ticket.valid == (ranks.rank == last)
    if ticket.valid:
        ticket.wait()
        assert ticket.done and ticket.error is None
    else:
        for call in (ticket.wait, lambda: ticket.done, lambda: ticket.error, ticket.cancel):
            with pytest.raises(fl.InvalidArgument, match="runs on another rank"):
                call()
    ticket = flow.submit_host(lambda seen: ranks.close(), fl.read(x), rank=0)
    if ticket.valid:
        with pytest.raises(fl.WouldDeadlock, match="inside a function of a task"):
            ticket.wait()
    for rank in (-1, ranks.ranks, "0"):
        with pytest.raises(fl.InvalidArgument, match="rank"):
            flow.post_host(lambda to: None, fl.write(x), rank=rank)


def refuse_owners(ranks):
    x = fl.Flow(ranks).empty(8)
    with pytest.raises(fl.InvalidArgument, match="8 such tiles, but there are 3 owners"):
        x.tiles(1, owners=[0, 0, 0])
    for owners in ("zero", 3, lambda count: None):
        with pytest.raises(fl.InvalidArgument, match="the owners are the numbers of ranks"):
            x.tiles(4, owners=owners)
    with pytest.raises(fl.InvalidArgument, match="cannot own them"):
        x.tiles(4, owners=[0, ranks.ranks])
    assert ranks.blocks(0) == ranks.cyclic(0) == []
    with pytest.raises(fl.InvalidArgument, match="must not be negative"):
        ranks.blocks(-1)


def share_gpus():
    """Ranks of one machine get the GPUs in turn, unless the environment chooses for them."""
    assert fl.share_devices(WORLD) == ""
    chosen, real = os.environ.pop("FLOTILLA_DEVICES"), fl._mpi.devices
    gpus = [types.SimpleNamespace(kind="gpu", uuid=f"GPU-{i}") for i in range(2)]
    fl._mpi.devices = lambda: gpus
    try:
        expected = "cuda:0,1" if WORLD.size == 1 else f"cuda:{WORLD.rank % 2}"
        assert fl.share_devices(WORLD) == expected
        os.environ["FLOTILLA_DEVICES"] = ""  # the same as none
        assert fl.share_devices(WORLD) == expected
    finally:
        os.environ["FLOTILLA_DEVICES"], fl._mpi.devices = chosen, real


def main():
    share_gpus()
    with fl.Runtime() as rt:
        with fl.Cluster(rt, WORLD) as ranks:
            assert (ranks.rank, ranks.ranks) == (WORLD.rank, WORLD.size)
            for size in (8, 1000, 100_000):
                move_from_rank_to_rank(rt, ranks, size)
            spread_heat(ranks, ranks.blocks)
            spread_heat(ranks, ranks.cyclic)
            spread_heat(ranks, [0, 0, 0, 0, 0, 0, 0, ranks.ranks - 1])
            add_up(ranks)
            own_data(ranks)
            give_tickets(ranks)
            refuse_owners(ranks)
            counters = ranks.counters()
            assert (counters["bytes_sent"] > 0) == (ranks.ranks > 1)
            flow = fl.Flow(ranks)
            left = flow.data(np.full(5, 3.0), label="left")
            x = flow.data(np.full(5, 4.0))
            view = x.view().__enter__() if ranks.rank == 0 else np.full(5, 4.0)
        assert ranks.closed
        # Data and flows may outlive the cluster, but cannot be used. Arrays that view data can.
        assert view.tolist() == [4.0] * 5
        for call in (
            lambda: flow.post_host(lambda to: None, fl.write(left)), left.get, left.collect,
            lambda: left.tiles(2), lambda: left.owner, lambda: flow.empty(3), ranks.wait_idle,
            ranks.finish, ranks.counters, lambda: fl.Flow(ranks), lambda: ranks.exclusive(print),
        ):  # fmt: skip
            with pytest.raises(fl.InvalidHandle, match="the cluster is closed"):
                call()
        left.close()
        ranks.close()  # a second call does nothing
        ranks.fail("too late")
        half = WORLD.Split(WORLD.rank % 2)  # the ranks of another communicator
        with fl.Cluster(rt, half) as ranks:
            assert (ranks.rank, ranks.ranks) == (half.rank, half.size)
            half.Free()
            add_up_here(ranks)
    print(f"rank {WORLD.rank} done", flush=True)


def add_up_here(ranks):
    flow = fl.Flow(ranks)
    x = flow.data(np.zeros(1, np.int32))
    for rank in range(ranks.ranks):
        flow.post_host(lambda array: np.add(array, 1, out=array), fl.update(x), rank=rank)
    if ranks.rank == 0:
        assert x.get() == [ranks.ranks]


main()
