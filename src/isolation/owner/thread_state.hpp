// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each calling thread has: its stack of contexts, and a channel to each worker it has called.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/per_thread.hpp"
#include "isolation/channel/channel.hpp"
#include "isolation/owner/worker_process.hpp"
#include "isolation/protocol/layout.hpp"

namespace flotilla::isolated {

class isolated_device;

/// A channel of the calling thread. It is given back when the thread ends, or when it first calls
/// the successor of the worker.
class thread_channel {
 public:
  thread_channel() = default;
  thread_channel(thread_channel const&) = delete;
  thread_channel& operator=(thread_channel const&) = delete;
  ~thread_channel() { drop(); }

  /// Returns the worker of the device, with a channel to it. Null if there is no worker.
  [[nodiscard]] worker_process* of(isolated_device& device);
  [[nodiscard]] int number() const noexcept { return number_; }
  /// The number of the worker to which the channel leads.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  /// If the worker that was called last is lost, waits until its process has ended.
  void wait_if_lost() const {
    if (worker_ != nullptr && worker_->lost().load() != 0) { worker_->wait_for_end(); }
  }

 private:
  void drop() noexcept {
    if (worker_ != nullptr) { worker_->give_back_channel(number_); }
    worker_.reset();
  }
  std::shared_ptr<worker_process> worker_;
  std::uint32_t generation_ = 0;
  int number_ = 0;
};

struct thread_state {
  std::vector<CUcontext> contexts;  // the current one is last
  std::array<thread_channel, max_devices> channels;
  std::array<std::byte, max_answer_bytes> answer;
  std::byte* scratch = nullptr;  // shared memory, through which pageable memory is copied

  static constexpr std::size_t scratch_bytes = std::size_t{256} << 10;
  thread_state() = default;
  thread_state(thread_state const&) = delete;
  thread_state& operator=(thread_state const&) = delete;
  ~thread_state();

  [[nodiscard]] static thread_state& get() { return base::per_thread<thread_state>::get(); }
  [[nodiscard]] CUcontext top() const noexcept {
    return contexts.empty() ? nullptr : contexts.back();
  }
};

}  // namespace flotilla::isolated
