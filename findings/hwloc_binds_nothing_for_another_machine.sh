#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# hwloc 2.9 (Debian 12): a program binds itself to a processor of a synthetic topology, as tests of
# placement do.
#
# Guess:  the calls fail with ENOSYS, or with an error because the machine has no such processor.
# Seen:   binding to processor 255 of 256, even with HWLOC_CPUBIND_STRICT, returns 0, and so does asking
#         for the binding, which is then the whole topology. Only the support flags, and
#         hwloc_topology_is_thissystem, tell that nothing happens.
. "$(dirname "$0")/lib.sh"
unpack_debian libhwloc-dev=2.9.0-1 libhwloc15=2.9.0-1
cat > check.c <<'CODE'
#include <hwloc.h>
#include <stdio.h>
int main(void) {
  hwloc_topology_t all;
  hwloc_topology_init(&all);
  hwloc_topology_set_synthetic(all, "node:2 core:64 pu:2");
  hwloc_topology_load(all);
  hwloc_obj_t last = hwloc_get_obj_by_type(all, HWLOC_OBJ_PU, 255);
  int bound = hwloc_set_cpubind(all, last->cpuset, HWLOC_CPUBIND_STRICT);
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  int asked = hwloc_get_cpubind(all, set, 0);
  printf("%d %d %d %d %d\n", bound, asked, hwloc_bitmap_weight(set),
         hwloc_topology_get_support(all)->cpubind->set_thisproc_cpubind,
         hwloc_topology_is_thissystem(all));
}
CODE
multiarch=$(gcc -print-multiarch)
gcc -Iroot/usr/include -I"root/usr/include/$multiarch" check.c -o check "root/usr/lib/$multiarch/libhwloc.so.15"
expect "set, get, processors, supported, this system" \
  "$(LD_LIBRARY_PATH="root/usr/lib/$multiarch" ./check)" "0 0 256 0 0"
