# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with two ranks of an MPI and FLOTILLA_TRACE, and merges the traces."""
import os
import re
import subprocess
import sys

run_ranks, mpirun, program, tool = sys.argv[1:]
files = ["ranks.pftrace.rank0", "ranks.pftrace.rank1"]
for left in files:  # by an earlier run
    if os.path.exists(left):
        os.remove(left)
subprocess.run([run_ranks, mpirun, "2", program], check=True, timeout=80,
               env={**os.environ, "FLOTILLA_TRACE": "ranks.pftrace"})
shown = subprocess.run([tool, "trace", *files, "--merged", "merged.pftrace", "--top", "10000"],
                       capture_output=True, text=True, timeout=60)
assert shown.returncode == 0 and os.path.exists("merged.pftrace"), shown
lines = shown.stdout.splitlines()
assert lines[0] == f"rank 0: {files[0]}", lines
assert re.fullmatch(re.escape(f"rank 1: {files[1]}, clock known to ") + r"\d+\.\d us", lines[1]), lines
tasks = shown.stdout.split("critical path")[0]
assert "rank 0, host" in tasks and "rank 1, host" in tasks, shown.stdout
print(lines[1])
