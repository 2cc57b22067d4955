# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Measures a flow over the ranks of mpi4py: mpirun -n 2 python python/bench/ranks.py

Question: how long does a step take in which a kernel changes 1 KiB on the next rank? The control is
the row `chain` of bench/ranks in C++.
"""

import statistics
import time

from mpi4py import MPI

import flotilla as fl

SOURCE = """
extern "C" __global__ void step_words(unsigned* words, unsigned count) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { words[i] += 1; }
}
"""
WORDS, STEPS, ROUNDS = 256, 500, 5


def main():
    with fl.Runtime() as rt, fl.Cluster(rt, MPI.COMM_WORLD) as cluster, fl.Flow(cluster) as flow:
        step = rt.compile(SOURCE).kernel("step_words", "unsigned* words, unsigned count")
        shaped = step.over(WORDS, 32)
        x = flow.empty(WORDS, "uint32")
        flow.post_host(lambda to: to.fill(0), fl.write(x))

        def chain():
            for i in range(STEPS):
                flow.post(shaped, fl.update(x), WORDS, rank=i % cluster.ranks)
            cluster.wait_idle()

        chain()
        times = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            chain()
            times.append((time.perf_counter() - begun) / STEPS * 1e6)
        if cluster.rank == 0:
            all_steps = STEPS * (ROUNDS + 1)
            assert (x.get() == all_steps).all()
            print(f"chain, {cluster.ranks} ranks: {statistics.median(times):.1f} us a step")


main()
