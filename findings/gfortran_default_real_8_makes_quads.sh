#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# gfortran 12.2 (Debian 12): old code is compiled with -fdefault-real-8, so that its `real` has 8 bytes.
#
# Guess:  `double precision` still has 8 bytes, as real(c_double) has.
# Seen:   it has 16 bytes, and gfortran computes with such numbers in software. -fdefault-double-8 in
#         addition, or -freal-4-real-8 instead, keeps the 8 bytes.
# So libraries and kernels in C get arrays of another type, and the rest of the program becomes slow.
. "$(dirname "$0")/lib.sh"
version=12.2.0-14+deb12u1
unpack_debian gfortran-12=$version libgfortran-12-dev=$version libgfortran5=$version
multiarch=$(gcc -print-multiarch)
cat > main.f90 <<'CODE'
program main
  use iso_c_binding, only: c_double
  real :: default_real
  double precision :: double
  real(c_double) :: double_of_c
  print '(i0, " ", i0, " ", i0)', storage_size(default_real) / 8, storage_size(double) / 8, &
    storage_size(double_of_c) / 8
end program
CODE
sizes() {
  "root/usr/bin/$multiarch-gfortran-12" "$@" -c main.f90
  gcc main.o "root/usr/lib/$multiarch/libgfortran.so.5" -o check
  LD_LIBRARY_PATH="root/usr/lib/$multiarch" ./check
}
expect "real, double precision, real(c_double)" "$(sizes)" "4 8 8"
expect "-fdefault-real-8" "$(sizes -fdefault-real-8)" "8 16 8"
expect "-fdefault-real-8 -fdefault-double-8" "$(sizes -fdefault-real-8 -fdefault-double-8)" "8 8 8"
expect "-freal-4-real-8" "$(sizes -freal-4-real-8)" "8 8 8"
