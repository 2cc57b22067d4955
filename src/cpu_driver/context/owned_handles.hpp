#pragma once
// Handles that a context closes when it ends. A context does not know the types behind them:
// whoever adds a handle says how to close it.

#include <mutex>
#include <unordered_map>

namespace flotilla::cpu_driver {

/// Threads: any.
template <class Handle>
class owned_handles {
 public:
  using closer = bool (*)(Handle);  // false if the handle was not open

  /// Throws std::bad_alloc, and then the handle has been closed.
  void add(Handle handle, closer closing) {
    try {
      std::lock_guard const lock(mutex_);
      open_.emplace(handle, closing);
    } catch (...) {
      closing(handle);
      throw;
    }
  }

  /// False if the handle is not open (any more).
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
