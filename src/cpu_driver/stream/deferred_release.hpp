// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps objects alive while pending operations of a device may use them, for example the images of
// unloaded modules. The device thread releases the objects when it has no pending operations. API
// threads destroy them: the destructor of an image needs the lock of the dynamic loader, which a
// thread may hold that waits for the device thread, such as a destructor that dlclose runs.

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace flotilla::cpu_driver {

class deferred_release {
 public:
  /// An object to keep alive, in a list node of its own. The owner of the object makes the entry
  /// early, because only this step allocates memory. The later steps cannot fail.
  class entry {
   public:
    /// Throws std::bad_alloc.
    explicit entry(std::shared_ptr<void const> object) { node_.push_back(std::move(object)); }

   private:
    friend class deferred_release;
    std::list<std::shared_ptr<void const>> node_;
  };

  /// Thread-safe.
  void add(entry object) noexcept {
    std::lock_guard const lock(mutex_);
    added_.splice(added_.end(), object.node_);
    any_added_.store(true, std::memory_order_release);  // pairs with the acquire in collect()
  }
  /// Destroys all released objects. Thread-safe.
  void destroy_released() noexcept {
    std::list<std::shared_ptr<void const>> taken;
    std::lock_guard const lock(mutex_);
    taken.swap(released_);  // `lock` is destroyed first, so the objects are destroyed without it
  }

  // For the device thread:
  /// Collects all objects added so far. The operations that may use these objects were pushed
  /// before the objects were added. So each of these operations has ended, or is in the inbox or in
  /// a stream.
  void collect() noexcept {
    if (!any_added_.load(std::memory_order_acquire)) { return; }
    std::lock_guard const lock(mutex_);
    any_added_.store(false, std::memory_order_relaxed);
    collected_.splice(collected_.end(), added_);
  }
  /// Releases all collected objects. The caller guarantees that no pending operation uses them.
  void release_collected() noexcept {
    if (collected_.empty()) { return; }
    std::lock_guard const lock(mutex_);
    released_.splice(released_.end(), collected_);
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<void const>> added_;     // guarded by mutex_
  std::list<std::shared_ptr<void const>> released_;  // guarded by mutex_
  std::atomic<bool> any_added_{false};
  std::list<std::shared_ptr<void const>> collected_;  // used by the device thread only
};

}  // namespace flotilla::cpu_driver
