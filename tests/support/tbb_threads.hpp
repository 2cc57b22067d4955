#pragma once
// What an application can do with oneTBB's threads while it uses flotilla: leave many, leave one,
// or keep them all busy.

#include <tbb/global_control.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/hold.hpp"

namespace flotilla::test {

/// oneTBB threads that the largest tests need: 8 workers and the caller.
inline constexpr int max_tbb_threads = 9;

/// Limits oneTBB to `threads` threads, callers included, until it is destroyed.
class parallelism {
 public:
  explicit parallelism(int threads)
      : control_{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)} {}

 private:
  tbb::global_control control_;
};

/// Runs `body` at the same time on `threads` oneTBB threads, one of which is the caller's.
/// @return false if oneTBB did not provide the threads in time; then no thread ran `body`.
[[nodiscard]] bool on_each_tbb_thread(int threads, std::function<void()> const& body);

/// Keeps every oneTBB thread inside a parallel_for until it is destroyed. Each body first submits
/// to a runtime of its own and waits, then blocks.
class tbb_hog {
 public:
  /// @throws std::runtime_error  oneTBB did not provide the threads.
  explicit tbb_hog(int threads);
  ~tbb_hog();
  tbb_hog(tbb_hog const&) = delete;
  tbb_hog& operator=(tbb_hog const&) = delete;

 private:
  void occupy(int threads);

  std::atomic<int> blocked_{0};  // threads that block in their body; -1: the threads never came
  latch release_;
  std::thread host_;
};

}  // namespace flotilla::test
