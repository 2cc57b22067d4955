#pragma once
// Work that a test holds back until it releases it, so that no test has to sleep.

#include <atomic>
#include <cstdint>
#include <thread>

#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/callable.hpp>

#include "support/kernels.hpp"

namespace flotilla::test {

/// Two words in pinned memory on which the kernel `hold_until` waits. The destructor releases the
/// kernels, so that a test that fails midway still ends.
class held_word {
 public:
  explicit held_word(runtime& rt) : words_{rt, 2} {
    words_[0] = 0;
    words_[1] = 0;
  }
  ~held_word() { release(); }

  /// A launch that runs until `release()`.
  [[nodiscard]] launch launch_of(test_program const& program) const {
    return program.hold.with_shape({1}, {1})(words_.data());
  }
  /// Whether a kernel has begun to wait.
  [[nodiscard]] bool started() const {
    // acquire: pairs with the kernel's store, so that effects of work enqueued before it are seen.
    return std::atomic_ref{words_[0]}.load(std::memory_order_acquire) != 0;
  }
  void release() {
    // release: pairs with the kernel's load, so that later tasks see what the host wrote before.
    if (words_.size() != 0) { std::atomic_ref{words_[1]}.store(1, std::memory_order_release); }
  }

 private:
  host_buffer<std::uint32_t> mutable words_;  // kernels write to it
};

/// Blocks callables and threads until it is opened. It stays open.
class latch {
 public:
  void open() noexcept {
    open_.store(true);
    open_.notify_all();
  }
  void wait() const noexcept { open_.wait(false); }
  [[nodiscard]] bool is_open() const noexcept { return open_.load(); }

 private:
  std::atomic<bool> open_{false};
};

/// Opens a latch when the block ends, also if the test fails midway.
class open_on_exit {
 public:
  explicit open_on_exit(latch& closed) : latch_{closed} {}
  ~open_on_exit() { latch_.open(); }
  open_on_exit(open_on_exit const&) = delete;
  open_on_exit& operator=(open_on_exit const&) = delete;

 private:
  latch& latch_;
};

}  // namespace flotilla::test
