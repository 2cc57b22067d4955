#pragma once
// oneTBB's loops, as an application would use them. All calls of the tests stand in tbb_calls.cpp,
// compiled without ThreadSanitizer: a stock oneTBB is not instrumented, and its templates, if they
// were, would be reported for the order that TSan cannot see. The bodies are instrumented, and the
// order is our own.

#include <atomic>
#include <functional>

namespace flotilla::test {

namespace tbb_calls {

using plain_body = void (*)(void* context, int index);

void parallel_for(int count, plain_body body, void* context);
void parallel_for_in_arena(int threads, int count, plain_body body, void* context);
void task_group(int count, plain_body body, void* context);

/// Each seq_cst step of one synchronises with the next of another. Static: TSan does not see either
/// in which order a thread of oneTBB meets an atomic that the caller has just made.
inline std::atomic<unsigned> steps{0};

/// A body with what orders it: after the caller's code before the loop, before that behind it.
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

/// tbb::parallel_for over [0, count), each index a task of its own.
inline void tbb_parallel_for(int count, std::function<void(int)> const& body) {
  tbb_calls::ordered_body ordered{body};
  ordered.use([&] { tbb_calls::parallel_for(count, &tbb_calls::ordered_body::run, &ordered); });
}

/// The same in an arena of `threads` threads, the caller's included.
inline void tbb_parallel_for_in_arena(int threads, int count,
                                      std::function<void(int)> const& body) {
  tbb_calls::ordered_body ordered{body};
  ordered.use([&] {
    tbb_calls::parallel_for_in_arena(threads, count, &tbb_calls::ordered_body::run, &ordered);
  });
}

/// `count` tasks of one tbb::task_group, and waits for them.
inline void tbb_task_group(int count, std::function<void(int)> const& body) {
  tbb_calls::ordered_body ordered{body};
  ordered.use([&] { tbb_calls::task_group(count, &tbb_calls::ordered_body::run, &ordered); });
}

}  // namespace flotilla::test
