#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# mpi4py 4.1.2 (PyPI) with MPICH 4.0.2 (Debian 12), whose library is called libmpich.so.12. The wheel of
# mpi4py works with several MPIs, and the variable MPI4PY_LIBMPI names the library to use.
#
# Guess:  with MPI4PY_LIBMPI=libmpich.so.12, mpi4py uses this library.
# Seen:   mpi4py opens it only to learn its ABI, and then imports a module that is linked to libmpi.so.12.
#         Debian has no such file, so the import fails. With a link of this name in a folder that the
#         loader searches, it works.
. "$(dirname "$0")/lib.sh"
pip_install mpi4py==4.1.2
unpack_debian libmpich12=4.0.2-3+b1 libhwloc15=2.9.0-1 libucx0=1.13.1-1
folder=$(dirname "$(find "$work/root" -name libmpich.so.12)")
cat > check.py <<'CODE'
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
try:
    from mpi4py import MPI
    print(MPI.Get_library_version().split("\n")[0].split()[-1])
except ImportError as error:
    print(str(error).split(":")[0])
CODE
# try_library NAME: what mpi4py says
try_library() {
  LD_LIBRARY_PATH="$folder" MPI4PY_LIBMPI=$1 venv/bin/python check.py
}
expect "MPI4PY_LIBMPI=libmpich.so.12" "$(try_library libmpich.so.12)" "libmpi.so.12"
ln -s libmpich.so.12 "$folder/libmpi.so.12"
expect "the same with a link" "$(try_library libmpich.so.12)" "4.0.2"
