#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# libgomp of gcc 12.2 (Debian 12): main calls omp_set_num_threads(2), with OMP_NUM_THREADS=3 in the
# environment. Parallel regions run in main and in a std::thread that starts later.
#
# Guess:  all have 2 threads, because the call sets the number for the program.
# Seen:   the region in the std::thread has 3. The number belongs to the thread that sets it, and a thread
#         that OpenMP has not made starts with the values of the environment.
# So a number that was set to leave cores free does not hold in callbacks and workers of other libraries.
. "$(dirname "$0")/lib.sh"
cat > check.cpp <<'CODE'
#include <omp.h>
#include <cstdio>
#include <thread>
int region() {
  int count = 0;
#pragma omp parallel
#pragma omp single
  count = omp_get_num_threads();
  return count;
}
int main() {
  omp_set_num_threads(2);
  std::printf("%d ", region());
  std::thread([] { std::printf("%d", region()); }).join();
}
CODE
g++ -fopenmp check.cpp -o check
expect "threads of the regions in main, in the std::thread" \
  "$(OMP_NUM_THREADS=3 OMP_DYNAMIC=false OMP_THREAD_LIMIT=64 ./check)" "2 3"
