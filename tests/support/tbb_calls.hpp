// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneTBB's parallel loops and task groups. All calls of oneTBB are in tbb_calls.cpp, which is
// compiled without ThreadSanitizer (TSan). The oneTBB library is not instrumented, and TSan would
// report false races between the library and instrumented oneTBB templates. The loop bodies are
// instrumented, and `ordered_body` tells TSan the order of the bodies and the caller's code.

#include <atomic>
#include <functional>

namespace flotilla::test {

namespace tbb_calls {

using plain_body = void (*)(void* context, int index);

void parallel_for(int count, plain_body body, void* context);
void parallel_for_in_arena(int threads, int count, plain_body body, void* context);
void task_group(int count, plain_body body, void* context);

/// Each seq_cst increment synchronises with the next increment. The variable is global, because for
/// a local variable TSan would report a race between its creation and its use on a oneTBB thread.
inline std::atomic<unsigned> steps{0};

/// Wraps a loop body so that TSan sees this order: first the caller's code before the loop, then
/// the loop bodies, then the caller's code after the loop.
struct ordered_body {
  std::function<void(int)> const& body;

  static void run(void* context, int index) {
    ++steps;
    static_cast<ordered_body*>(context)->body(index);
    ++steps;
  }
  void use(auto&& loop) {
    ++steps;
    loop();
    ++steps;
  }
};

}  // namespace tbb_calls

/// tbb::parallel_for over [0, count), with one task per index.
inline void tbb_parallel_for(int count, std::function<void(int)> const& body) {
  tbb_calls::ordered_body ordered{body};
  ordered.use([&] { tbb_calls::parallel_for(count, &tbb_calls::ordered_body::run, &ordered); });
}

/// Like tbb_parallel_for(), but in a task_arena of `threads` threads, including the caller.
inline void tbb_parallel_for_in_arena(int threads, int count,
                                      std::function<void(int)> const& body) {
  tbb_calls::ordered_body ordered{body};
  ordered.use([&] {
    tbb_calls::parallel_for_in_arena(threads, count, &tbb_calls::ordered_body::run, &ordered);
  });
}

/// Runs `count` tasks in one tbb::task_group and waits for them.
inline void tbb_task_group(int count, std::function<void(int)> const& body) {
  tbb_calls::ordered_body ordered{body};
  ordered.use([&] { tbb_calls::task_group(count, &tbb_calls::ordered_body::run, &ordered); });
}

}  // namespace flotilla::test
