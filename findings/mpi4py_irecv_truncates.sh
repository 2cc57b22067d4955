#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# mpi4py 4.1.2 with MPICH 5.0.2 (PyPI): Python objects are sent with isend. The receiver replaces recv by
# irecv, to do other work meanwhile.
#
# Guess:  irecv gets each object that recv gets. The size of the pickled object is not the user's business.
# Seen:   irecv makes a buffer of 32 KiB before it knows the size, and wait raises MPI_ERR_TRUNCATE for a
#         larger object. recv gets it. irecv needs the argument `buf` with enough bytes.
# So a program that works with small objects in its tests fails with real ones.
. "$(dirname "$0")/lib.sh"
pip_install mpich==5.0.2 mpi4py==4.1.2
cat > check.py <<'CODE'
from mpi4py import MPI
self = MPI.COMM_SELF
for size in 30_000, 40_000:
    message = bytes(size)
    sent = self.isend(message, dest=0)
    print(len(self.recv(source=0)), end=" ")
    sent.wait()
    for buffer in bytearray(50_000), None:
        received = self.irecv(buffer, source=0)
        self.isend(message, dest=0)
        try:
            print(len(received.wait()), end=" ")
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_TRUNCATE and "truncated")
CODE
expect "recv, irecv with a buffer, irecv of 30000 and 40000 bytes" "$(venv/bin/python check.py)" \
  "30000 30000 30000 40000 40000 truncated"
