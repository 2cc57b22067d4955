// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of handles that a context closes when it ends. The context does not know the types of the
// objects. Therefore each handle is added together with a function that closes it.

#include <mutex>
#include <unordered_map>

namespace flotilla::cpu_driver {

/// Threads: any.
template <class Handle>
class owned_handles {
 public:
  using closer = bool (*)(Handle);  // returns false if the handle was not open

  /// Adds a handle. If memory runs out, closes the handle and throws std::bad_alloc.
  void add(Handle handle, closer closing) {
    try {
      std::lock_guard const lock(mutex_);
      open_.emplace(handle, closing);
    } catch (...) {
      closing(handle);
      throw;
    }
  }

  /// Closes a handle. Returns false if the handle was not open.
  [[nodiscard]] bool close(Handle handle) {
    typename map::node_type found;
    {
      std::lock_guard const lock(mutex_);
      found = open_.extract(handle);
    }
    return !found.empty() && found.mapped()(handle);
  }

  void close_all() {
    map all;
    {
      std::lock_guard const lock(mutex_);
      all.swap(open_);
    }
    for (auto const& [handle, closing] : all) { closing(handle); }
  }

 private:
  using map = std::unordered_map<Handle, closer>;
  std::mutex mutex_;
  map open_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
