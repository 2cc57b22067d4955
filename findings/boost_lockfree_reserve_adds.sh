#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Boost.Lockfree 1.74 (Debian 12): reserve(4) of a queue and of a stack that were made for 4 objects.
#
# Guess:  as for std::vector, reserve(4) makes sure that there is room for 4 objects, so nothing changes.
# Seen:   reserve adds 4 nodes each time, so bounded_push succeeds 8 times, and 12 times after a
#         second reserve. A program that calls reserve for each batch grows for ever.
. "$(dirname "$0")/lib.sh"
unpack_debian libboost1.74-dev=1.74.0+ds1-21
cat > check.cpp <<'CODE'
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/stack.hpp>
#include <cstdio>
template <class Container>
int room(int reserves) {
  Container all(4);
  for (int i = 0; i < reserves; ++i) { all.reserve(4); }
  int count = 0;
  while (all.bounded_push(1)) { ++count; }
  return count;
}
template <class Container>
void print() { std::printf("%d %d %d ", room<Container>(0), room<Container>(1), room<Container>(2)); }
int main() {
  print<boost::lockfree::queue<int>>();
  print<boost::lockfree::stack<int>>();
}
CODE
g++ -std=c++17 -O0 -Iroot/usr/include check.cpp -o check -latomic
expect "room of a queue, then of a stack, after 0, 1 and 2 calls" "$(./check)" "4 8 12 4 8 12 "
