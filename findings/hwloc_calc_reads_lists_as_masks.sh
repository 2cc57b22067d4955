#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# hwloc 2.9 (Debian 12): hwloc-calc gets `2,3` as the location, for a machine with 64 processors. Slurm,
# taskset -c, numactl and /sys write lists of processors like this.
#
# Guess:  these are the processors 2 and 3, or the text is refused because it does not say `pu:`.
# Seen:   it is the mask 0x2,0x3 in groups of 32 bits, without 0x, and the result is the processors 0, 1 and
#         33. `2` alone is ignored with a message, and the status is 0.
# So a job is bound to other processors than the list says. Write pu:2 pu:3.
. "$(dirname "$0")/lib.sh"
unpack_debian hwloc=2.9.0-1 libhwloc15=2.9.0-1
export LD_LIBRARY_PATH="$work/root/usr/lib/$(gcc -print-multiarch)"
processors() { root/usr/bin/hwloc-calc --if synthetic -i "numa:1 pu:64" --po -I pu "$@"; }
expect "pu:2 pu:3" "$(processors pu:2 pu:3)" 2,3
expect "2,3" "$(processors 2,3)" 0,1,33
expect "2" "$(processors 2 2> log; echo "status $?, $(cat log)")" "
status 0, ignored unrecognized argument 2"
