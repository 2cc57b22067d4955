#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# oneTBB 2021.8 (Debian 12): tbb::concurrent_bounded_queue with set_capacity(2) has one element, and is
# copied, and then moved.
#
# Guess:  both have the capacity 2, because the capacity belongs to the value, as for a container.
# Seen:   neither has a limit: a copy and a moved queue take as many elements as there is memory for.
# So producers that should wait for slow consumers fill the memory instead. Call set_capacity again.
. "$(dirname "$0")/lib.sh"
version=2021.8.0-2+deb12u1
unpack_debian libtbb-dev=$version libtbb12=$version
cat > check.cpp <<'CODE'
#include <tbb/concurrent_queue.h>
#include <cstdio>
#include <utility>
int main() {
  using queue = tbb::concurrent_bounded_queue<int>;
  queue first;
  first.set_capacity(2);
  first.push(1);
  queue copy(first);
  auto room = [](queue& all) {
    int count = 0;
    while (count < 100 && all.try_push(1)) { ++count; }
    std::printf("%d ", count);
  };
  queue moved(std::move(first));
  room(copy);
  room(moved);
}
CODE
multiarch=$(gcc -print-multiarch)
g++ -std=c++20 -Iroot/usr/include check.cpp -o check "root/usr/lib/$multiarch/libtbb.so.12" -pthread
expect "more elements of the copy, of the moved queue, of at most 100" \
  "$(LD_LIBRARY_PATH="root/usr/lib/$multiarch" ./check)" "100 100 "
