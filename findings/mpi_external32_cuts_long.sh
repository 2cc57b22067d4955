#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# MPICH 5.0.2 with mpi4py 4.1.2 (PyPI): a program writes numbers of MPI_LONG with MPI_Pack_external, in
# the format "external32" that files and other machines read. long has 8 bytes.
#
# Guess:  the number is read back as it was, or an error says that it does not fit.
# Seen:   external32 has 4 bytes for MPI_LONG, as the standard says. 2^40 + 5 is read back as 5, and all
#         calls succeed. MPI_INT64_T keeps the number.
# So indexes and offsets of large data are damaged only once they pass 2^31.
. "$(dirname "$0")/lib.sh"
pip_install mpich==5.0.2 mpi4py==4.1.2
cat > check.py <<'CODE'
from array import array
from mpi4py import MPI
for datatype in MPI.LONG, MPI.INT64_T:
    number = array("l", [2**40 + 5])
    packed = bytearray(datatype.Pack_external_size("external32", 1))
    datatype.Pack_external("external32", number, packed, 0)
    back = array("l", [0])
    datatype.Unpack_external("external32", packed, 0, back)
    print(datatype.Get_size(), len(packed), back[0] - 2**40, end="; ")
CODE
expect "bytes in memory, bytes packed, number minus 2^40, for MPI_LONG and MPI_INT64_T" \
  "$(venv/bin/python check.py)" "8 4 $((5 - (1 << 40))); 8 8 5; "
