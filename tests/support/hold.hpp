#pragma once
// Work that is held until a test lets it go: nothing is ever slept for.

#include <atomic>
#include <cstdint>
#include <thread>

#include <flotilla/buffer.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/work.hpp>

#include "support/kernels.hpp"

namespace flotilla::test {

/// Two words in pinned memory on which kernels `hold_until` wait. Destroyed it lets them go, so
/// that a test that failed midway ends.
class held_word {
 public:
  explicit held_word(runtime& rt) : words_{rt, 2} {
    words_[0] = 0;
    words_[1] = 0;
  }
  ~held_word() { release(); }

  /// A launch that runs until `release()`.
  [[nodiscard]] launch launch_of(test_program const& program) const {
    return program.hold.on({1}, {1})(words_.data());
  }
  /// Whether a kernel waits, or waited.
  [[nodiscard]] bool started() const {
    // acquire: pairs with the kernel's store; what was enqueued before it has run.
    return std::atomic_ref{words_[0]}.load(std::memory_order_acquire) != 0;
  }
  void release() {
    // release: pairs with the kernel's load; what the host wrote before is seen by what runs
    // behind.
    if (words_.size() != 0) { std::atomic_ref{words_[1]}.store(1, std::memory_order_release); }
  }

 private:
  host_buffer<std::uint32_t> words_;
};

/// A door for callables and threads: shut until opened, then open for ever.
class gate {
 public:
  void open() noexcept {
    open_.store(true);
    open_.notify_all();
  }
  void pass() const noexcept { open_.wait(false); }
  [[nodiscard]] bool is_open() const noexcept { return open_.load(); }

 private:
  std::atomic<bool> open_{false};
};

/// Opens a gate at the end of a block, however it ends.
class opens_at_end {
 public:
  explicit opens_at_end(gate& which) : which_{which} {}
  ~opens_at_end() { which_.open(); }
  opens_at_end(opens_at_end const&) = delete;
  opens_at_end& operator=(opens_at_end const&) = delete;

 private:
  gate& which_;
};

}  // namespace flotilla::test
