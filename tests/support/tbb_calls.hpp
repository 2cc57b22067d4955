#pragma once
// oneTBB's loops, as an application uses them. All calls of the tests are in tbb_calls.cpp, which
// is compiled without ThreadSanitizer: the oneTBB library is not instrumented, so TSan would report
// races between its instrumented templates and it. The bodies are instrumented, and `ordered_body`
// tells TSan their order.

#include <atomic>
#include <functional>

namespace flotilla::test {

namespace tbb_calls {

using plain_body = void (*)(void* context, int index);

void parallel_for(int count, plain_body body, void* context);
void parallel_for_in_arena(int threads, int count, plain_body body, void* context);
void task_group(int count, plain_body body, void* context);

/// Each seq_cst increment synchronises with the next one. Static, because TSan does not see that a
/// oneTBB thread uses an atomic only after the caller created it.
inline std::atomic<unsigned> steps{0};

/// A body that runs, for TSan too, after the caller's code before the loop and before the code
/// after it.
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

/// The same in an arena of `threads` threads, the caller included.
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
