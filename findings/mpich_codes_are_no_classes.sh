#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# MPICH 5.0.2 with mpi4py 4.1.2: the error code of a message that is too long for its receive.
#
# Guess:  the code that a call returns is MPI_ERR_TRUNCATE.
# Seen:   it is another number, which also says where the error happened, so `code == MPI_ERR_TRUNCATE`
#         is false. MPI_Error_class of the code is MPI_ERR_TRUNCATE. The standard allows this, and a
#         program that was only tried with codes that are classes handles no error.
. "$(dirname "$0")/lib.sh"
pip_install mpich==5.0.2 mpi4py==4.1.2
cat > check.py <<'CODE'
import array
from mpi4py import MPI
self = MPI.COMM_SELF
receive = self.Irecv([array.array("i", [0]), 1, MPI.INT], source=0)
try:
    self.Send([array.array("i", range(4)), 4, MPI.INT], dest=0)
    receive.Wait()
except MPI.Exception as error:
    print(error.Get_error_code() == MPI.ERR_TRUNCATE, error.Get_error_class() == MPI.ERR_TRUNCATE)
CODE
expect "code and class are MPI_ERR_TRUNCATE" \
  "$(PATH="$work/venv/bin:$PATH" venv/bin/python check.py)" "False True"
