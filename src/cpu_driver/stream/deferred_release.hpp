#pragma once
// Objects that operations of a device may still use, such as the images of unloaded modules. The
// device thread releases them when it is idle.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace flotilla::cpu_driver {

class deferred_release {
 public:
  /// Any thread. Throws std::bad_alloc.
  void add(std::shared_ptr<void const> object) {
    std::lock_guard const lock(mutex_);
    added_.push_back(std::move(object));
    any_added_.store(true, std::memory_order_release);  // pairs with the acquire in collect()
  }

  // The device thread:
  /// Takes over everything added so far. An operation that was pushed before such an object was
  /// added is in the inbox or in a stream by now.
  void collect() {
    if (!any_added_.load(std::memory_order_acquire)) { return; }
    std::lock_guard const lock(mutex_);
    any_added_.store(false, std::memory_order_relaxed);
    for (auto& each : added_) { collected_.push_back(std::move(each)); }
    added_.clear();
  }
  /// Releases everything collected. No operation that may use it is pending any more.
  void release_collected() noexcept { collected_.clear(); }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<void const>> added_;  // guarded by mutex_
  std::atomic<bool> any_added_{false};
  std::vector<std::shared_ptr<void const>> collected_;  // the device thread's
};

}  // namespace flotilla::cpu_driver
