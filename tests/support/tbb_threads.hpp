#pragma once
// What an application around flotilla does with oneTBB: grants many threads, or one, or keeps them
// all.

#include <tbb/global_control.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/hold.hpp"

namespace flotilla::test {

/// As many oneTBB threads as the widest tests need, the caller's included: 8 workers.
inline constexpr int all_threads = 9;

/// At most `threads` oneTBB threads, the callers included, while it lives.
class parallelism {
 public:
  explicit parallelism(int threads)
      : control_{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)} {}

 private:
  tbb::global_control control_;
};

/// Runs `body` once on each of `threads` oneTBB threads at the same time, the caller's among them.
/// @return false if they did not come in time; then `body` ran on none.
[[nodiscard]] bool on_each_tbb_thread(int threads, std::function<void()> const& body);

/// Keeps every oneTBB thread inside a parallel_for as long as it lives: each body submits to a
/// runtime of its own and waits, some times, and then stays.
class crowd {
 public:
  explicit crowd(int threads);
  ~crowd();
  crowd(crowd const&) = delete;
  crowd& operator=(crowd const&) = delete;

 private:
  void occupy(int threads);

  std::atomic<int> inside_{0};  // threads that have come to stay; negative: they never came
  gate go_home_;
  std::thread host_;
};

}  // namespace flotilla::test
