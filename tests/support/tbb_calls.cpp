// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// All calls of oneTBB's loops in the tests. This file is compiled without ThreadSanitizer: see
// tbb_calls.hpp.
#include "support/tbb_calls.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace flotilla::test::tbb_calls {

void parallel_for(int count, plain_body body, void* context) {
  tbb::parallel_for(
      0, count, [=](int i) { body(context, i); }, tbb::simple_partitioner{});
}

void parallel_for_in_arena(int threads, int count, plain_body body, void* context) {
  tbb::task_arena arena{threads};
  arena.execute([=] { parallel_for(count, body, context); });
}

void task_group(int count, plain_body body, void* context) {
  tbb::task_group group;
  for (int i = 0; i < count; ++i) {
    group.run([=] { body(context, i); });
  }
  group.wait();
}

}  // namespace flotilla::test::tbb_calls
