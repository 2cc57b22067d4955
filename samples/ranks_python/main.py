# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Computes how heat spreads in a ring of metal, on the devices of all ranks of an MPI program."""

import pathlib

import numpy as np
from mpi4py import MPI  # initializes MPI, and finalizes it at the end of the program

import flotilla as fl

bands, width, steps, heat = 16, 256, 500, 1_000_000_000
ring = np.zeros(bands * width, np.uint32)  # on each rank; the contents on rank 0 count
ring[0] = heat
source = pathlib.Path(__file__).with_name("step.cu").read_text()
devices = fl.share_devices(MPI.COMM_WORLD)  # this rank's share of the machine's GPUs
with fl.Runtime(devices) as rt, fl.Cluster(rt, MPI.COMM_WORLD) as cluster:
    step = rt.compile(source).kernel(
        "heat_step", "unsigned const*, unsigned const*, unsigned const*, unsigned*, unsigned n"
    )
    flow, owners = fl.Flow(cluster), cluster.blocks  # the first bands belong to rank 0
    with flow.data(ring) as now, flow.empty(bands * width, "uint32") as then:
        with now.tiles(width, owners=owners) as a, then.tiles(width, owners=owners) as b:
            for _ in range(steps):  # each rank submits all tasks; the owner of `next` runs them
                for i in range(bands):
                    left, here, right = (fl.read(a[(i + k) % bands]) for k in (-1, 0, 1))
                    flow.post(step.over(width), left, here, right, fl.write(b[i]), width)
                a, b = b, a  # after an even number of steps, `now` has the result
    if cluster.rank == 0:  # the end of the block has brought the bands to the owner of the ring
        print(f"{cluster.ranks} ranks, {steps} steps: {ring.sum()} of {heat} units of heat")
        assert ring.sum() == heat
print(f"rank {cluster.rank} done")
