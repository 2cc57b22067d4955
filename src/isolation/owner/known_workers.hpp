// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which worker of a device each context knows. Several runtimes may use a device, each of them
// through a context of its own. If the device gets another worker, the work of all of them is gone.
// So each of them must learn of it, also those that did not ask for the worker.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace flotilla::isolated {

/// Threads: any.
class known_workers {
 public:
  known_workers();
  known_workers(known_workers const&) = delete;
  known_workers& operator=(known_workers const&) = delete;

  /// The number of the worker that serves the device. 0: there was none.
  [[nodiscard]] std::uint32_t serving() const noexcept {
    return serving_.load(std::memory_order_acquire);  // pairs with `serve_next`
  }
  /// Another worker serves the device. `status` and `why` say how the last one was lost. Call it
  /// with the lock of the device.
  void serve_next(CUresult status, std::string why);

  /// The context knows the worker that serves the device. Call it with the lock of the device.
  void learn(std::uint32_t context) noexcept {
    known_[context].store(serving_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  /// Whether `context`, an object of the device or 0, may use the worker with this number. Nobody
  /// must learn anything who has no context.
  [[nodiscard]] bool knows(std::uint32_t context, std::uint32_t number) const noexcept {
    // relaxed: a runtime changes and reads the entry of its context on threads that it orders.
    return context == 0 || known_[context].load(std::memory_order_relaxed) == number;
  }
  /// The status with which the last worker was lost if the context does not know the worker that
  /// serves the device, or CUDA_SUCCESS.
  [[nodiscard]] CUresult missed(std::uint32_t context) const noexcept {
    return knows(context, serving()) ? CUDA_SUCCESS : last_status();
  }
  [[nodiscard]] CUresult last_status() const noexcept {
    return static_cast<CUresult>(last_status_.load(std::memory_order_relaxed));
  }
  /// Why the last worker was lost.
  [[nodiscard]] std::string last_reason() const;

 private:
  std::atomic<std::uint32_t> serving_{0};
  std::atomic<int> last_status_{0};
  std::mutex mutable mutex_;
  std::string last_reason_;            // guarded by mutex_
  std::atomic<std::uint32_t>* known_;  // by the index of the context
};

}  // namespace flotilla::isolated
