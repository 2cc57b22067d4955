// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels, callables and threads that run until the test releases them. Tests use them instead of
// sleeping.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>

#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/callable.hpp>

#include "support/kernels.hpp"

namespace flotilla::test {

/// Two words in pinned memory for the kernel `hold_until`. The kernel sets the first word when it
/// starts, and runs until the host sets the second word. The destructor sets the second word, so a
/// test that fails early does not hang.
class held_word {
 public:
  explicit held_word(runtime& rt) : words_{rt, 2} {
    words_[0] = 0;
    words_[1] = 0;
  }
  ~held_word() { release(); }

  /// Returns a launch of a kernel that runs until `release()` is called.
  [[nodiscard]] launch launch_of(test_program const& program) const {
    return program.hold.with_shape({1}, {1})(words_.data());
  }
  /// Whether a kernel that waits for this word has started.
  [[nodiscard]] bool started() const {
    // acquire: pairs with the kernel's store. The caller then sees the effects of work that ran
    // before the kernel.
    return std::atomic_ref{words_[0]}.load(std::memory_order_acquire) != 0;
  }
  void release() {
    // release: pairs with the kernel's load. Later tasks then see earlier writes of the host.
    if (words_.size() != 0) { std::atomic_ref{words_[1]}.store(1, std::memory_order_release); }
  }

 private:
  host_buffer<std::uint32_t> mutable words_;  // mutable, because kernels write to the words
};

/// Releases a word after `limit` unless it is destroyed before. So a thread that waits for the held
/// kernel, and must not, goes on, and the test can fail.
class release_after {
 public:
  release_after(held_word& word, std::chrono::seconds limit)
      : thread_{[this, &word, limit](std::stop_token stop) {
          std::unique_lock lock{mutex_};
          if (stopped_.wait_for(lock, stop, limit, [] { return false; }) || stop.stop_requested()) {
            return;
          }
          is_late_.store(true);
          word.release();
        }} {}
  [[nodiscard]] bool is_late() const noexcept { return is_late_.load(); }

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::atomic<bool> is_late_{false};
  std::jthread thread_;  // last, because it uses the other members
};

/// Blocks threads in `wait` until another thread calls `open`. Cannot be closed again.
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

/// Opens a latch at the end of a block, even if the test fails early.
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
