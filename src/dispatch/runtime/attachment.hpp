// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// An object of a higher layer that belongs to a runtime.

#include <memory>
#include <mutex>
#include <utility>

namespace flotilla::dispatch {

/// The object is made at its first use and ends with the runtime. Threads: any.
class attachment {
 public:
  /// Returns the object; null if there is none.
  [[nodiscard]] void* get() {
    std::lock_guard const lock{mutex_};
    return object_.get();
  }
  /// Keeps `made`, unless another thread was faster. @return the object that is kept.
  void* keep(std::shared_ptr<void> made) {
    std::lock_guard const lock{mutex_};
    if (object_ == nullptr) { object_ = std::move(made); }
    return object_.get();
  }
  void destroy() {
    std::shared_ptr<void> last;  // destroyed after the mutex is unlocked
    std::lock_guard const lock{mutex_};
    last = std::exchange(object_, nullptr);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<void> object_;
};

}  // namespace flotilla::dispatch
