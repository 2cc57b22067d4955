# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Spreads heat in a ring of metal on all devices, and compares the result with NumPy."""
import pathlib

import numpy as np

import flotilla as fl

n, bands, steps = 1 << 10, 4, 100  # the ring has `bands` bands of n cells
ring = np.zeros(n * bands, np.float32)
ring[:100] = 1000
expected = ring.copy()
with fl.Runtime("cpu:2") as rt, fl.Flow(rt) as flow:
    program = rt.load(cpu=fl.compile_cpu(pathlib.Path(__file__).with_name("step.cu")))
    step = program.kernel(
        "step", "float const* before, float const* here, float const* behind, float* next, int n"
    ).over(n)
    now = [flow.data(band) for band in np.split(ring, bands)]  # the flow uses these arrays
    then = [flow.empty(n) for _ in now]  # no contents yet

    def advance(old: list[fl.Data], new: list[fl.Data]) -> None:
        for i in range(bands):  # the flow finds the order, and copies bands between devices
            before, here, behind = (fl.read(old[(i + k) % bands]) for k in (-1, 0, 1))
            flow.post(step, before, here, behind, fl.write(new[i]), n)

    def two_steps() -> None:
        advance(now, then)
        advance(then, now)

    flow.repeat(steps // 2, two_steps)  # replays a recording after the first calls
    result = np.concatenate([band.get() for band in now])  # waits; raises if a task failed

for _ in range(steps):
    expected += np.float32(0.25) * (np.roll(expected, 1) - 2 * expected + np.roll(expected, -1))
assert np.allclose(result, expected, rtol=1e-4)
print(f"after {steps} steps, the hottest cell has {result.max():.1f} degrees")
