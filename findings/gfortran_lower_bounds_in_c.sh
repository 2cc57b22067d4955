#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# gfortran 12.2 (Debian 12): C code reads CFI_cdesc_t::dim[0].lower_bound of a Fortran array `a(5:10)`.
#
# Guess:  the bound is 5, or 1 as in a Fortran procedure with the dummy argument `x(:)`.
# Seen:   0 if the dummy argument is an assumed-shape array, and 5 if it is allocatable. So C code that
#         subtracts the lower bound works for both, and code that subtracts 1 for neither.
. "$(dirname "$0")/lib.sh"
version=12.2.0-14+deb12u1
unpack_debian gfortran-12=$version libgfortran-12-dev=$version libgfortran5=$version
multiarch=$(gcc -print-multiarch)
own="root/usr/lib/gcc/$multiarch/12"
cat > show.c <<'CODE'
#include <ISO_Fortran_binding.h>
#include <stdio.h>
void show(CFI_cdesc_t* shape, CFI_cdesc_t* allocatable) {
  printf("%d %d\n", (int)shape->dim[0].lower_bound, (int)allocatable->dim[0].lower_bound);
}
CODE
cat > main.f90 <<'CODE'
program main
  interface
    subroutine show(shape, allocatable) bind(c)
      real, intent(in) :: shape(:)
      real, allocatable, intent(in) :: allocatable(:)
    end subroutine
  end interface
  real, allocatable :: a(:)
  allocate(a(5:10))
  call show(a, a)
end program
CODE
"root/usr/bin/$multiarch-gfortran-12" -c main.f90
gcc -I"$own/include" show.c main.o "root/usr/lib/$multiarch/libgfortran.so.5" -o check
expect "assumed shape, allocatable" "$(LD_LIBRARY_PATH="root/usr/lib/$multiarch" ./check)" "0 5"
