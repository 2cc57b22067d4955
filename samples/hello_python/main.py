# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Computes y = 2 x + y on every device of this machine, and checks each answer."""
import pathlib

import numpy as np

import flotilla as fl

n = 1 << 20
ones = np.ones(n, np.float32)
with fl.Runtime("cpu:2") as rt:  # Runtime(): all GPUs, or CPU devices if there is no GPU
    program = rt.load(cpu=fl.compile_cpu(pathlib.Path(__file__).with_name("saxpy.cu")))
    saxpy = program.kernel("saxpy", "float a, float const* x, float* y, int n")
    for device in rt.devices:
        x, y = (rt.empty(n, "float32", device.ordinal) for _ in range(2))
        filled = [rt.submit(x.copy_from(ones)), rt.submit(y.copy_from(ones))]
        done = rt.submit(saxpy.over(n)(2.0, x, y, n), after=filled)
        result = np.empty(n, np.float32)
        rt.submit(y.copy_to(result), after=done).wait()  # raises the error if a task failed
        right = np.count_nonzero(result == 3.0)
        assert right == n
        print(f"device {device.ordinal}, {device.name}: {right} of {n} right")
