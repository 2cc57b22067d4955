#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# gfortran 12.2 (Debian 12): a program measures one second with system_clock. The rate is an integer(4),
# and the times are integer(8), because they may be large.
#
# Guess:  the rate belongs to the clock, so (last - first) / rate is 1, whatever the kinds are.
# Seen:   the rate depends on the kind of the variable that gets it: 1000 for integer(4), and 1000000000 for
#         integer(8). A separate call returns times of integer(8) in nanoseconds. The result is a million
#         seconds. Nothing warns, and the standard allows it.
. "$(dirname "$0")/lib.sh"
version=12.2.0-14+deb12u1
unpack_debian gfortran-12=$version libgfortran-12-dev=$version libgfortran5=$version
multiarch=$(gcc -print-multiarch)
cat > main.f90 <<'CODE'
program main
  integer(8) :: first, last, long_rate
  integer(4) :: rate
  call system_clock(count_rate=rate)
  call system_clock(count_rate=long_rate)
  call system_clock(first)
  call sleep(1)
  call system_clock(last)
  print '(i0, " ", i0)', (last - first) / rate / 1000000, (last - first) / long_rate
end program
CODE
"root/usr/bin/$multiarch-gfortran-12" -Wall -c main.f90
gcc main.o "root/usr/lib/$multiarch/libgfortran.so.5" -o check
expect "millions of seconds with the short rate, seconds with the long rate" \
  "$(LD_LIBRARY_PATH="root/usr/lib/$multiarch" ./check)" "1 1"
