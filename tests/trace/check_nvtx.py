# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a tool that listens to NVTX gets a range for each launch of a batch."""
import os
import subprocess
import sys

program, listener = sys.argv[1:]

os.environ["FLOTILLA_DEVICES"] = "cpu:1"
os.environ["NVTX_INJECTION64_PATH"] = listener
rounds = 4
done = subprocess.run([program, str(rounds)], capture_output=True, text=True, timeout=60)
assert done.returncode == 0, done.stderr
lines = done.stderr.splitlines()
ranges = [line for line in lines if line.startswith("range ")]
assert len(ranges) == lines.count("end"), "ranges and their ends: " + done.stderr
for i in range(rounds):
    assert any(f"first {i}" in line for line in ranges), f"no range of 'first {i}': {ranges}"
assert any("label 'call'" in line for line in ranges), f"no range of the callable: {ranges}"

del os.environ["NVTX_INJECTION64_PATH"]
quiet = subprocess.run([program, str(rounds)], capture_output=True, text=True, timeout=60)
assert quiet.returncode == 0 and "range" not in quiet.stderr, quiet.stderr
print(len(ranges), "ranges")
